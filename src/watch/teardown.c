/* watch/teardown.c - where a program begins to tear down what it holds: the fall of its live
 * bytes at the very end, which says nothing of how they grew before. */
#include "watch/teardown.h"

#include "base/units.h"

enum { LEAST_READINGS = 3, PART = 20 };

void as_last_fall_add(struct as_last_fall *fall, double seconds, uint64_t bytes)
{
    fall->seconds[fall->n % AS_FALL_CAPACITY] = seconds;
    fall->bytes[fall->n % AS_FALL_CAPACITY] = bytes;
    fall->n++;
}

static uint64_t bytes_at(const struct as_last_fall *fall, uint64_t i)
{
    return fall->bytes[i % AS_FALL_CAPACITY];
}

double as_last_fall_seconds(const struct as_last_fall *fall)
{
    uint64_t most = fall->n / PART > LEAST_READINGS ? fall->n / PART : LEAST_READINGS, first, at;

    if (fall->n < 2)
        return AS_UNKNOWN;
    if (most > AS_FALL_CAPACITY - 1)
        most = AS_FALL_CAPACITY - 1;
    first = fall->n - 1;
    while (first > 0 && fall->n - first <= most &&
           bytes_at(fall, first - 1) >= bytes_at(fall, first))
        first--;
    for (at = first; at + 1 < fall->n; at++)
        if (bytes_at(fall, at + 1) < bytes_at(fall, at))
            return (fall->seconds[at % AS_FALL_CAPACITY] +
                    fall->seconds[(at + 1) % AS_FALL_CAPACITY]) /
                   2;
    return AS_UNKNOWN;
}
