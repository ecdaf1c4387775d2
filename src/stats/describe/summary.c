/* stats/describe/summary.c - all the usual figures of one set of samples, in the unit of the
 * samples. */
#include "stats/describe/summary.h"

#include <math.h>

#include "base/units.h"
#include "stats/describe/sorted.h"

static const double percent[] = {
    [AS_SUMMARY_P25] = 25, [AS_SUMMARY_P50] = 50, [AS_SUMMARY_P75] = 75,     [AS_SUMMARY_P90] = 90,
    [AS_SUMMARY_P95] = 95, [AS_SUMMARY_P99] = 99, [AS_SUMMARY_P99_9] = 99.9,
};
_Static_assert(AS_COUNT_OF(percent) == AS_SUMMARY_P_COUNT, "give every percentage");

/* A sum that keeps what each addition rounds away (Neumaier). */
struct exact_sum {
    double sum, lost;
};

static void sum_add(struct exact_sum *s, double x)
{
    double next = s->sum + x;

    s->lost += fabs(s->sum) >= fabs(x) ? s->sum - next + x : x - next + s->sum;
    s->sum = next;
}

static double sum_get(const struct exact_sum *s)
{
    return s->sum + s->lost;
}

/* Squares are taken from a middle sample, which is never more than one standard deviation from the
 * mean: nothing cancels, however far the samples are from zero. */
static void fill_spread(struct as_summary *out, const struct as_sorted *s)
{
    size_t middle = s->n / 2;
    struct exact_sum first = {0}, second = {0};
    double n = (double)s->n, squares;

    for (size_t i = 0; i < s->n; i++) {
        double off = i < middle ? -as_sorted_gap(s, i, middle) : as_sorted_gap(s, middle, i);

        sum_add(&first, off);
        sum_add(&second, off * off);
    }
    squares = fmax(sum_get(&second) - sum_get(&first) * (sum_get(&first) / n), 0);
    out->mean = as_sorted_at(s, middle) + sum_get(&first) / n;
    out->std_population = sqrt(squares / n);
    if (s->n > 1)
        out->std_sample = sqrt(squares / (n - 1));
}

static double sum_of(const struct as_sorted *s)
{
    struct exact_sum sum = {0};

    for (size_t i = 0; i < s->n; i++)
        sum_add(&sum, as_sorted_at(s, i));
    return sum_get(&sum);
}

void as_summary_sorted(struct as_summary *out, const struct as_sorted *s,
                       enum as_quantile_method method)
{
    *out = (struct as_summary){
        .n = s->n,
        .min = AS_UNKNOWN,
        .max = AS_UNKNOWN,
        .mean = AS_UNKNOWN,
        .std_population = AS_UNKNOWN,
        .std_sample = AS_UNKNOWN,
        .cv = AS_UNKNOWN,
        .median = as_sorted_median(s),
        .mad = as_sorted_mad(s),
        .method = method,
    };
    for (unsigned i = 0; i < AS_SUMMARY_P_COUNT; i++) {
        out->percentile[i] = as_quantile_at(s, percent[i], method);
        out->supported[i] = as_quantile_supported(s->n, percent[i]);
    }
    if (s->n == 0)
        return;
    out->sum = sum_of(s);
    out->min = as_sorted_at(s, 0);
    out->max = as_sorted_at(s, s->n - 1);
    fill_spread(out, s);
    if (out->mean != 0)
        out->cv = out->std_sample / out->mean;
}

void as_summary_u64(struct as_summary *out, uint64_t *samples, size_t n, uint64_t *scratch,
                    enum as_quantile_method method)
{
    struct as_sorted s = as_sorted_u64(samples, n);

    as_sort_u64(samples, n, scratch);
    as_summary_sorted(out, &s, method);
    for (size_t i = 0; i < n; i++)
        as_total_add(&out->total, samples[i]);
    out->sum = as_total_sum_f64(&out->total);
    out->mean = as_total_mean(&out->total);
}

int as_summary_f64(struct as_summary *out, double *samples, size_t n, double *scratch,
                   enum as_quantile_method method, struct assay_error *err)
{
    struct as_sorted s = as_sorted_f64(samples, n);
    size_t bad = as_sort_find_bad(samples, n);

    if (bad < n)
        return as_fail(err, ASSAY_ERR_USAGE, "sample %zu is not a finite number", bad);
    as_sort_f64(samples, n, scratch);
    as_summary_sorted(out, &s, method);
    return ASSAY_OK;
}
