/* stats/inference/series_interval.h - how well samples taken one after the other pin down their
 * median. Noise of a machine comes in bursts: neighbours are alike, and count as fewer than they
 * are. */
#ifndef AS_STATS_INFERENCE_SERIES_INTERVAL_H
#define AS_STATS_INFERENCE_SERIES_INTERVAL_H

#include "stats/inference/interval.h"

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
