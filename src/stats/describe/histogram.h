/* stats/describe/histogram.h - counts by size: every octave split into 2^k buckets of equal width.
 * Memory is fixed, all of uint64_t fits, small values are exact, and merging is addition. */
#ifndef AS_STATS_DESCRIBE_HISTOGRAM_H
#define AS_STATS_DESCRIBE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "stats/describe/moments.h"

#define AS_HISTOGRAM_MIN_BITS     3
#define AS_HISTOGRAM_DEFAULT_BITS 5
#define AS_HISTOGRAM_MAX_BITS     8

/* How many buckets 2^bits per octave make: 1920, or 15 KB, for the default. */
#define AS_HISTOGRAM_BUCKETS(bits) ((size_t)(65 - (bits)) << (bits))

struct as_histogram {
    uint64_t *count; /* the caller's, AS_HISTOGRAM_BUCKETS(sub_bits) of them */
    unsigned sub_bits;
    struct as_total total; /* exact */
};

/* Empties the histogram and its buckets, which are borrowed from the caller until it stops using
 * the histogram. Fails (USAGE) for bits outside the limits above. */
AS_MUST_USE int as_histogram_init(struct as_histogram *h, unsigned sub_bits, uint64_t *count,
                                  struct assay_error *err);

/* Where a value is counted. Values below 2^(bits + 1) have a bucket each. */
static inline size_t as_histogram_bucket(unsigned sub_bits, uint64_t value)
{
    unsigned octave, shift;

    if (value >> sub_bits == 0)
        return (size_t)value;
    octave = 63u - (unsigned)__builtin_clzll(value);
    shift = octave - sub_bits;
    return ((size_t)shift << sub_bits) + (size_t)(value >> shift);
}

/* The least value counted in a bucket. */
uint64_t as_histogram_bucket_low(unsigned sub_bits, size_t bucket);

/* The greatest value counted in a bucket. */
uint64_t as_histogram_bucket_high(unsigned sub_bits, size_t bucket);

/* Budget: 5 ns of CPU time per call. */
static inline void as_histogram_record(struct as_histogram *h, uint64_t value)
{
    h->count[as_histogram_bucket(h->sub_bits, value)]++;
    as_total_add(&h->total, value);
}

/* The nearest-rank percentile, within as_histogram_error() of the exact one; the first and the last
 * rank are exact. False without values. */
bool as_histogram_quantile(const struct as_histogram *h, double p, uint64_t *out);

/* The bound of |estimate - exact| / exact: 2^-(bits + 1), about 1.6 % for the default. */
double as_histogram_error(const struct as_histogram *h);

#endif
