/* stats/describe/sorted.h - one view of ascending samples, be they integers or doubles.
 * Borrows the array; the caller promises the order, and that doubles hold no NaN. */
#ifndef AS_STATS_DESCRIBE_SORTED_H
#define AS_STATS_DESCRIBE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Made by one of the two functions below. */
struct as_sorted {
    union {
        const uint64_t *u64; /* when `integers` */
        const double *f64;
    };
    size_t n;
    bool integers;
};

static inline struct as_sorted as_sorted_u64(const uint64_t *v, size_t n)
{
    return (struct as_sorted){.u64 = v, .n = n, .integers = true};
}

static inline struct as_sorted as_sorted_f64(const double *v, size_t n)
{
    return (struct as_sorted){.f64 = v, .n = n};
}

/* The value at `i`; integers past 2^53 are rounded to the nearest double. */
static inline double as_sorted_at(const struct as_sorted *s, size_t i)
{
    return s->integers ? (double)s->u64[i] : s->f64[i];
}

/* The value at `high` less the one at `low`, subtracted before it is rounded; needs low <= high. */
static inline double as_sorted_gap(const struct as_sorted *s, size_t low, size_t high)
{
    return s->integers ? (double)(s->u64[high] - s->u64[low]) : s->f64[high] - s->f64[low];
}

/* The middle value, or the mean of the two middle ones; NaN without samples. */
double as_sorted_median(const struct as_sorted *s);

/* The median of the distances from the median, not scaled to any distribution; NaN without samples.
 * Walks outwards from the middle: no memory, at most n steps. */
double as_sorted_mad(const struct as_sorted *s);

/* The mean of the distances from the median; NaN without samples. */
double as_sorted_mean_deviation(const struct as_sorted *s);

/* How many samples are below `x`, by bisection. */
size_t as_sorted_count_below(const struct as_sorted *s, double x);

/* How many samples are above `x`, by bisection. */
size_t as_sorted_count_above(const struct as_sorted *s, double x);

/* ---- sort.c ---- */

/* The bits of a double as a number that is greater when the double is: negative doubles grow
 * downwards, so all their bits are turned, and the others move above them. */
static inline uint64_t as_sort_key(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* The double of a key. */
static inline double as_sort_unkey(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Ascending. Bits that are the same in all values cost no pass, so durations take five or six. */
void as_sort_u64(uint64_t *v, size_t n, uint64_t *scratch);

/* Ascending in the total order of IEEE 754, where -0 comes before +0. A NaN would be placed by its
 * sign at one of the ends: callers refuse it before, with as_sort_find_bad(). */
void as_sort_f64(double *v, size_t n, double *scratch);

/* The index of the first value that is a NaN or infinite, or `n` when all are fine. */
size_t as_sort_find_bad(const double *v, size_t n);

#endif
