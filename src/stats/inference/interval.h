/* stats/inference/interval.h - how well the samples pin down their median.
 * The interval is exact for any distribution and says which coverage it achieved. */
#ifndef AS_STATS_INFERENCE_INTERVAL_H
#define AS_STATS_INFERENCE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/describe/sorted.h"

struct as_interval {
    double low, high;
    double level;    /* asked for, for instance 0.95 */
    double coverage; /* achieved */
    bool reached; /* coverage >= level; when false, low and high are the extremes of the samples */
};

/* Between two order statistics, as close to the middle as the level allows: the binomial
 * distribution gives the coverage, whatever the samples' distribution, and ties only raise it.
 * Fewer than 6 samples cannot reach 0.95. Fails (USAGE) without samples or for a level not inside
 * (0, 1). */
AS_MUST_USE int as_interval_median(struct as_interval *out, const struct as_sorted *s, double level,
                                   struct assay_error *err);

/* ---- series_interval.c ---- */

#define AS_SERIES_METHOD "order statistics of the effective number of samples"

struct as_series_interval {
    struct as_interval interval; /* of the median, as if `n_effective` samples were independent */
    size_t n, n_effective;
    double inflation; /* samples that are worth one independent sample; 1: all are */
};

/* `samples` in the order they were taken; `sorted` the same ones ascending. The inflation is the
 * largest that is seen in the signs of the samples around the median: by their correlation from one
 * to the next, by means of blocks of every length that leaves ten of them, and, where longer blocks
 * go on showing more, by what blocks as long as the series would show. Fails (USAGE) as
 * as_interval_median(), and when memory runs out. */
AS_MUST_USE int as_series_interval(struct as_series_interval *out, const double *samples,
                                   const struct as_sorted *sorted, double level,
                                   struct assay_error *err);

#endif
