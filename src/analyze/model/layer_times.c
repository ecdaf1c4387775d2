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

/* The time of every row in every inference: [row * n_runs + run]. */
static void add_times(double *time, bool *runs, const struct as_profile_data *d,
                      const size_t *row_of_step, size_t n_rows)
{
    for (size_t s = 0; s < d->n_steps; s++) {
        size_t row = row_of_step ? row_of_step[s] : s;

        if (row >= n_rows)
            continue;
        runs[row] = true;
        for (size_t i = 0; i < d->n_runs; i++)
            time[row * d->n_runs + i] += (double)d->steps[s].self_ns[i];
    }
}

int as_layer_times(double *ns, double *sum_ns, const struct as_profile_data *d,
                   const size_t *row_of_step, size_t n_rows, struct assay_error *err)
{
    double *time = as_alloc_zero(n_rows * d->n_runs + 1, sizeof *time);
    double *scratch = as_alloc_zero(d->n_runs + 1, sizeof *scratch);
    bool *runs = as_alloc_zero(n_rows + 1, sizeof *runs);
    int rc = time && scratch && runs ? ASSAY_OK : as_fail_nomem(err);

    *sum_ns = 0;
    if (rc == ASSAY_OK && d->n_runs > 0) {
        add_times(time, runs, d, row_of_step, n_rows);
        for (size_t i = 0; i < n_rows; i++) {
            ns[i] = runs[i] ? median_of(time + i * d->n_runs, d->n_runs, scratch) : AS_UNKNOWN;
            *sum_ns += runs[i] ? ns[i] : 0;
        }
    }
    as_free(time);
    as_free(scratch);
    as_free(runs);
    return rc;
}
