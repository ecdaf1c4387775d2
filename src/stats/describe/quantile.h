/* stats/describe/quantile.h - percentiles of sorted samples, by two definitions that carry their
 * names. For 10, 20 .. 100 the median is 50 by nearest rank, 55 by linear: print the name beside
 * it. */
#ifndef AS_STATS_DESCRIBE_QUANTILE_H
#define AS_STATS_DESCRIBE_QUANTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/describe/sorted.h"

enum as_quantile_method {
    AS_QUANTILE_NEAREST_RANK, /* the sample at ceil(p/100 * n), counted from 1, at least 1 */
    AS_QUANTILE_LINEAR,       /* between the neighbors of rank p/100 * (n - 1), counted from 0 */
    AS_QUANTILE_COUNT
};

/* "nearest_rank" or "linear"; "unknown" for a number that is neither. */
const char *as_quantile_name(enum as_quantile_method method);

/* The index, from 0, of the nearest rank among `n` samples; 0 when n is 0. `p` is held to 0..100. A
 * product p * n that is whole but for rounding counts as whole, so p = 55 of 100 is the 55th. */
uint64_t as_quantile_rank(uint64_t n, double p);

/* The percentile `p`, held to 0..100; NaN without samples. */
double as_quantile_at(const struct as_sorted *s, double p, enum as_quantile_method method);

/* The nearest-rank percentile as the integer it is; needs n >= 1. */
uint64_t as_quantile_nearest_u64(const uint64_t *sorted, size_t n, double p);

/* How many samples a percentile needs before it is more than a guess: ten beyond it, on its thinner
 * side; one for the median. UINT64_MAX for 0 and 100, which no number of samples settles. */
uint64_t as_quantile_needs(double p);

/* Whether `n` is that many. */
bool as_quantile_supported(uint64_t n, double p);

#endif
