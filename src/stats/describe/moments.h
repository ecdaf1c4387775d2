/* stats/describe/moments.h - mean and spread of samples that are seen once and not kept.
 * {0} is empty. Parts gathered apart are merged; the totals stay exact, mean and std nearly so. */
#ifndef AS_STATS_DESCRIBE_MOMENTS_H
#define AS_STATS_DESCRIBE_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Exact count, sum, least and greatest; {0} is empty. The sum has 128 bits, so that no number of
 * samples makes it wrap. */
struct as_total {
    uint64_t n;
    uint64_t sum_low, sum_high; /* the sum is sum_high * 2^64 + sum_low */
    uint64_t min, max;          /* 0 while n is 0 */
};

static inline void as_total_add(struct as_total *t, uint64_t value)
{
    if (t->n == 0 || value < t->min)
        t->min = value;
    if (value > t->max)
        t->max = value;
    t->n++;
    t->sum_low += value;
    t->sum_high += t->sum_low < value;
}

/* Afterwards `into` is what it would be had it seen the samples of `from` too. */
void as_total_merge(struct as_total *into, const struct as_total *from);

/* False when the sum does not fit; `out` is then UINT64_MAX. */
bool as_total_sum(const struct as_total *t, uint64_t *out);

/* The sum as a double, whatever its size; rounded once past 2^53, twice past 2^64. */
double as_total_sum_f64(const struct as_total *t);

/* NaN without samples. */
double as_total_mean(const struct as_total *t);

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
