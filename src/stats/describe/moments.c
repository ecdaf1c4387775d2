/* stats/describe/moments.c - mean and spread of samples that are seen once and not kept.
 * {0} is empty. Parts gathered apart are merged; the totals stay exact, mean and std nearly so. */
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
