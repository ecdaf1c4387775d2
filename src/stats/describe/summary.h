/* stats/describe/summary.h - all the usual figures of one set of samples, in the unit of the
 * samples. What the samples cannot give is NaN, never 0; the arrays are the caller's and end up
 * sorted. */
#ifndef AS_STATS_DESCRIBE_SUMMARY_H
#define AS_STATS_DESCRIBE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/describe/moments.h"
#include "stats/describe/quantile.h"

enum as_summary_p {
    AS_SUMMARY_P25,
    AS_SUMMARY_P50,
    AS_SUMMARY_P75,
    AS_SUMMARY_P90,
    AS_SUMMARY_P95,
    AS_SUMMARY_P99,
    AS_SUMMARY_P99_9,
    AS_SUMMARY_P_COUNT
};

struct as_summary {
    size_t n;
    double sum, min, max, mean;
    double std_population;          /* divides by n */
    double std_sample;              /* divides by n - 1: NaN for one sample */
    double cv;                      /* std_sample / mean; NaN when either is missing or mean is 0 */
    double median;                  /* the two middle ones averaged, whatever the method */
    double mad;                     /* median distance from the median, not scaled */
    enum as_quantile_method method; /* of `percentile` */
    double percentile[AS_SUMMARY_P_COUNT]; /* by enum as_summary_p */
    bool supported[AS_SUMMARY_P_COUNT];    /* n is enough for that tail */
    struct as_total total;                 /* exact, of integer samples; empty for doubles */
};

/* Sorts `samples` with `scratch`, both of `n` values, and fills `out`. Cannot fail; n may be 0. */
void as_summary_u64(struct as_summary *out, uint64_t *samples, size_t n, uint64_t *scratch,
                    enum as_quantile_method method);

/* The same for doubles. A NaN or an infinity is refused, and the samples then stay as they were. */
AS_MUST_USE int as_summary_f64(struct as_summary *out, double *samples, size_t n, double *scratch,
                               enum as_quantile_method method, struct assay_error *err);

/* The same for what is sorted already; `total` stays empty. */
void as_summary_sorted(struct as_summary *out, const struct as_sorted *s,
                       enum as_quantile_method method);

#endif
