/* stats/describe/total.h - exact count, sum, least and greatest of unsigned samples.
 * {0} is empty. The sum has 128 bits, so no number of samples can make it wrap. */
#ifndef AS_STATS_DESCRIBE_TOTAL_H
#define AS_STATS_DESCRIBE_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
