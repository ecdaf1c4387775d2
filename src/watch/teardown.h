/* watch/teardown.h - where a program begins to tear down what it holds: the fall of its live
 * bytes at the very end, which says nothing of how they grew before. */
#ifndef AS_WATCH_TEARDOWN_H
#define AS_WATCH_TEARDOWN_H

#include <stddef.h>
#include <stdint.h>

#define AS_FALL_CAPACITY 64 /* samples at the end that are looked at */

/* {0} is empty. */
struct as_last_fall {
    double seconds[AS_FALL_CAPACITY]; /* a ring, as are the bytes */
    uint64_t bytes[AS_FALL_CAPACITY];
    uint64_t n; /* samples so far */
};

void as_last_fall_add(struct as_last_fall *fall, double seconds, uint64_t bytes);

/* The time between the last reading before the fall and the next one; NaN: it does not fall within
 * the last twentieth of the samples. */
double as_last_fall_seconds(const struct as_last_fall *fall);

#endif
