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

#endif
