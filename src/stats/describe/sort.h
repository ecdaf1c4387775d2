/* stats/describe/sort.h - sorts samples in linear time, by the digits of their binary form.
 * The scratch is as long as the array, does not overlap it, and holds rubbish afterwards. */
#ifndef AS_STATS_DESCRIBE_SORT_H
#define AS_STATS_DESCRIBE_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
