/* measure/latency/latency_metrics.c - what a series of times of one thing says: its median and how
 * sure that is, its spread, what lies far off, and whether it drifted. Times stay as they were
 * taken. */
#include "measure/latency/latency_run.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/sorted.h"
#include "stats/inference/trend.h"

enum { TREND_BLOCKS = 20, TREND_MIN = 10 };

#define TREND_P     0.01
#define DRIFT_SHARE 0.01

/* A sorted copy, and as much room again. NULL without memory. */
static double *sorted_copy(const double *samples, size_t n)
{
    double *copy = as_alloc_zero(n ? n : 1, 2 * sizeof *copy);

    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, samples, n * sizeof *copy);
    as_sort_f64(copy, n, copy + n);
    return copy;
}

/* Medians of blocks, so that a burst is one value and not many that are alike. */
static size_t fold(double *blocks, const double *samples, size_t n, double *work)
{
    size_t n_blocks = n < TREND_BLOCKS ? n : TREND_BLOCKS;

    for (size_t b = 0; b < n_blocks; b++) {
        size_t from = b * n / n_blocks, size = (b + 1) * n / n_blocks - from;
        struct as_sorted s = as_sorted_f64(work, size);

        memcpy(work, samples + from, size * sizeof *work);
        as_sort_f64(work, size, work + n);
        blocks[b] = as_sorted_median(&s);
    }
    return n_blocks;
}

static int find_drift(struct as_latency_metrics *out, const double *samples, size_t n, double *work,
                      struct assay_error *err)
{
    double blocks[TREND_BLOCKS];
    struct as_trend_test test;
    struct as_trend_line line;
    size_t n_blocks;
    int rc;

    out->trend_p = out->drift_share = AS_UNKNOWN;
    if (n < TREND_MIN)
        return ASSAY_OK;
    n_blocks = fold(blocks, samples, n, work);
    rc = as_trend_test(&test, blocks, n_blocks, err);
    if (rc == ASSAY_OK)
        rc = as_trend_line(&line, NULL, blocks, n_blocks, err);
    if (rc != ASSAY_OK)
        return rc;
    out->trend_tested = true;
    out->trend_p = test.p;
    out->drift_share = out->summary.median > 0
                           ? line.slope * (double)(n_blocks - 1) / out->summary.median
                           : AS_UNKNOWN;
    out->drifted = test.p < TREND_P && fabs(out->drift_share) > DRIFT_SHARE;
    return ASSAY_OK;
}

int as_latency_metrics(struct as_latency_metrics *out, const double *samples, size_t n,
                       double level, struct assay_error *err)
{
    size_t bad = as_sort_find_bad(samples, n);
    struct as_sorted sorted;
    double *work;
    int rc;

    *out = (struct as_latency_metrics){0};
    if (bad < n)
        return as_fail(err, ASSAY_ERR_USAGE, "sample %zu is not a finite number", bad);
    work = sorted_copy(samples, n);
    if (!work)
        return as_fail_nomem(err);
    sorted = as_sorted_f64(work, n);
    as_summary_sorted(&out->summary, &sorted, AS_QUANTILE_LINEAR);
    as_outlier_fences(&out->fences, &sorted);
    rc = as_series_interval(&out->median, samples, &sorted, level, err);
    if (rc == ASSAY_OK) /* the sorted ones are not needed any more */
        rc = find_drift(out, samples, n, work, err);
    as_free(work);
    return rc;
}

int as_latency_interval(struct as_series_interval *out, const double *samples, size_t n,
                        double level, double *median, struct assay_error *err)
{
    double *work = sorted_copy(samples, n);
    struct as_sorted sorted;
    int rc;

    if (!work)
        return as_fail_nomem(err);
    sorted = as_sorted_f64(work, n);
    *median = as_sorted_median(&sorted);
    rc = as_series_interval(out, samples, &sorted, level, err);
    as_free(work);
    return rc;
}
