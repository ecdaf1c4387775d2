/* stats/describe/total.c - exact count, sum, least and greatest of unsigned samples.
 * {0} is empty. The sum has 128 bits, so no number of samples can make it wrap. */
#include "stats/describe/total.h"

#include <math.h>

#include "base/units.h"

void as_total_merge(struct as_total *into, const struct as_total *from)
{
    if (from->n == 0)
        return;
    if (into->n == 0 || from->min < into->min)
        into->min = from->min;
    if (from->max > into->max)
        into->max = from->max;
    into->n += from->n;
    into->sum_low += from->sum_low;
    into->sum_high += from->sum_high + (into->sum_low < from->sum_low);
}

bool as_total_sum(const struct as_total *t, uint64_t *out)
{
    *out = t->sum_high ? UINT64_MAX : t->sum_low;
    return t->sum_high == 0;
}

double as_total_sum_f64(const struct as_total *t)
{
    return t->sum_high ? ldexp((double)t->sum_high, 64) + (double)t->sum_low : (double)t->sum_low;
}

/* A sum of 64 bits is split into quotient and remainder first, so that a mean of whole numbers
 * comes out whole however long the sum is. */
double as_total_mean(const struct as_total *t)
{
    uint64_t whole, rest;

    if (t->n == 0)
        return AS_UNKNOWN;
    if (t->sum_high)
        return as_total_sum_f64(t) / (double)t->n;
    whole = t->sum_low / t->n;
    rest = t->sum_low % t->n;
    return (double)whole + (double)rest / (double)t->n;
}
