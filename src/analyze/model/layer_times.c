/* analyze/model/layer_times.c - how long each layer typically takes. */
#include "analyze/model/layer_times.h"

#include <math.h>

#include "base/alloc.h"
#include "base/units.h"

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* Shares of every inference, row after row: [row * n_runs + run]. The last row is that of all. */
static void add_shares(double *share, bool *runs, const struct as_profile_data *d,
                       const size_t *row_of_step, size_t n_rows)
{
    for (size_t s = 0; s < d->n_steps; s++) {
        size_t row = row_of_step ? row_of_step[s] : s;

        if (row >= n_rows)
            continue;
        runs[row] = true;
        for (size_t i = 0; i < d->n_runs; i++) {
            double part = (double)d->steps[s].self_ns[i] / d->runs[i].run_ns;

            share[row * d->n_runs + i] += part;
            share[n_rows * d->n_runs + i] += part;
        }
    }
}

int as_layer_times(double *ns, double *sum_ns, const struct as_profile_data *d,
                   const size_t *row_of_step, size_t n_rows, struct assay_error *err)
{
    double *share = as_alloc_zero((n_rows + 1) * d->n_runs + 1, sizeof *share);
    double *scratch = as_alloc_zero(d->n_runs + 1, sizeof *scratch);
    bool *runs = as_alloc_zero(n_rows + 1, sizeof *runs);
    double sum = 0, stretch;
    int rc = share && scratch && runs ? ASSAY_OK : as_fail_nomem(err);

    *sum_ns = 0;
    if (rc == ASSAY_OK && d->n_runs > 0) {
        add_shares(share, runs, d, row_of_step, n_rows);
        for (size_t i = 0; i < n_rows; i++) {
            ns[i] = runs[i] ? median_of(share + i * d->n_runs, d->n_runs, scratch) *
                                  d->profiled_median_ns
                            : AS_UNKNOWN;
            sum += runs[i] ? ns[i] : 0;
        }
        *sum_ns = median_of(share + n_rows * d->n_runs, d->n_runs, scratch) * d->profiled_median_ns;
        stretch = sum > 0 ? *sum_ns / sum : 1;
        for (size_t i = 0; i < n_rows; i++)
            ns[i] *= stretch;
    }
    as_free(share);
    as_free(scratch);
    as_free(runs);
    return rc;
}
