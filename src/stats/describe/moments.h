/* stats/describe/moments.h - mean and spread of samples that are seen once and not kept.
 * {0} is empty. Parts gathered apart are merged; the totals stay exact, mean and std nearly so. */
#ifndef AS_STATS_DESCRIBE_MOMENTS_H
#define AS_STATS_DESCRIBE_MOMENTS_H

#include <stdint.h>

#include "stats/describe/total.h"

struct as_moments {
    struct as_total total; /* exact */
    double mean;           /* running, by Welford's update */
    double m2;             /* sum of squared distances from the mean */
};

void as_moments_add(struct as_moments *m, uint64_t value);

/* Chan's formula: as if `into` had seen the samples of `from` too, but for rounding. */
void as_moments_merge(struct as_moments *into, const struct as_moments *from);

/* From the exact sum; NaN without samples. */
double as_moments_mean(const struct as_moments *m);

/* Divides by n; 0 for one sample, NaN for none. */
double as_moments_std_population(const struct as_moments *m);

/* Divides by n - 1; NaN for fewer than two samples. */
double as_moments_std_sample(const struct as_moments *m);

#endif
