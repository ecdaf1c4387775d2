/* stats/inference/interval.h - how well the samples pin down their median.
 * One interval is exact for any distribution, the other resamples; both say what they achieved. */
#ifndef AS_STATS_INFERENCE_INTERVAL_H
#define AS_STATS_INFERENCE_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/describe/sorted.h"

struct as_interval {
    double low, high;
    double level;    /* asked for, for instance 0.95 */
    double coverage; /* achieved; for a bootstrap the level itself, which is only nearly kept */
    bool reached; /* coverage >= level; when false, low and high are the extremes of the samples */
};

struct as_bootstrap {
    double level;
    size_t n_resamples; /* at least AS_BOOTSTRAP_MIN */
    uint64_t seed;
    double *scratch; /* room for twice n_resamples, the caller's */
};

#define AS_BOOTSTRAP_MIN 100

/* Between two order statistics, as close to the middle as the level allows: the binomial
 * distribution gives the coverage, whatever the samples' distribution, and ties only raise it.
 * Fewer than 6 samples cannot reach 0.95. Fails (USAGE) without samples or for a level not inside
 * (0, 1). */
AS_MUST_USE int as_interval_median(struct as_interval *out, const struct as_sorted *s, double level,
                                   struct assay_error *err);

/* Percentiles of the medians of resamples. Each such median is drawn directly, from the joint
 * distribution of the middle ranks of a resample, which costs the same for any n and has the very
 * distribution of drawing n samples with replacement. The same seed gives the same interval.
 * Fails (USAGE) as above, and for too few resamples. */
AS_MUST_USE int as_interval_bootstrap(struct as_interval *out, const struct as_sorted *s,
                                      const struct as_bootstrap *how, struct assay_error *err);

#endif
