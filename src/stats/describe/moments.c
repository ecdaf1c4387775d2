/* stats/describe/moments.c - mean and spread of samples that are seen once and not kept. */
#include "stats/describe/moments.h"

#include <math.h>

#include "base/units.h"

void as_moments_add(struct as_moments *m, uint64_t value)
{
    double x = (double)value, off = x - m->mean;

    as_total_add(&m->total, value);
    m->mean += off / (double)m->total.n;
    m->m2 += off * (x - m->mean);
}

void as_moments_merge(struct as_moments *into, const struct as_moments *from)
{
    double n_into = (double)into->total.n, n_from = (double)from->total.n;
    double off = from->mean - into->mean;

    if (from->total.n == 0)
        return;
    as_total_merge(&into->total, &from->total);
    into->mean += off * (n_from / (n_into + n_from));
    into->m2 += from->m2 + off * off * (n_into * n_from / (n_into + n_from));
}

double as_moments_mean(const struct as_moments *m)
{
    return as_total_mean(&m->total);
}

double as_moments_std_population(const struct as_moments *m)
{
    return m->total.n ? sqrt(m->m2 / (double)m->total.n) : AS_UNKNOWN;
}

double as_moments_std_sample(const struct as_moments *m)
{
    return m->total.n > 1 ? sqrt(m->m2 / (double)(m->total.n - 1)) : AS_UNKNOWN;
}

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
