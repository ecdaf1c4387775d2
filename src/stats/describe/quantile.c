/* stats/describe/quantile.c - percentiles of sorted samples, by two definitions that carry their
 * names. */
#include "stats/describe/quantile.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/units.h"

#define BEYOND 10 /* samples a tail must hold before its percentile is supported */

static const char *const method_name[] = {
    [AS_QUANTILE_NEAREST_RANK] = "nearest_rank",
    [AS_QUANTILE_LINEAR] = "linear",
};
_Static_assert(AS_COUNT_OF(method_name) == AS_QUANTILE_COUNT, "name every method");

const char *as_quantile_name(enum as_quantile_method method)
{
    return (unsigned)method < AS_QUANTILE_COUNT ? method_name[method] : "unknown";
}

/* A NaN is held to 0, so that no percentage can lead outside the array. */
static double hold_percent(double p)
{
    return p > 0 ? fmin(p, 100) : 0;
}

/* The least whole number not below x, where a rounding error does not count as a fraction. */
static double ceil_but_rounding(double x)
{
    double near = round(x);

    return fabs(x - near) <= 4 * DBL_EPSILON * x ? near : ceil(x);
}

uint64_t as_quantile_rank(uint64_t n, double p)
{
    double rank = ceil_but_rounding(hold_percent(p) * (double)n / 100);

    if (n == 0 || rank <= 1)
        return 0;
    return rank >= (double)n ? n - 1 : (uint64_t)rank - 1;
}

static double linear_at(const struct as_sorted *s, double p)
{
    double rank = hold_percent(p) / 100 * (double)(s->n - 1);
    double whole = floor(rank), part = rank - whole;
    size_t i = (size_t)whole;

    if (i >= s->n - 1)
        return as_sorted_at(s, s->n - 1);
    /* From the nearer neighbor, so that the result never falls outside the two. */
    if (part < 0.5)
        return as_sorted_at(s, i) + as_sorted_gap(s, i, i + 1) * part;
    return as_sorted_at(s, i + 1) - as_sorted_gap(s, i, i + 1) * (1 - part);
}

double as_quantile_at(const struct as_sorted *s, double p, enum as_quantile_method method)
{
    if (s->n == 0)
        return AS_UNKNOWN;
    if (method == AS_QUANTILE_LINEAR)
        return linear_at(s, p);
    return as_sorted_at(s, (size_t)as_quantile_rank(s->n, p));
}

uint64_t as_quantile_nearest_u64(const uint64_t *sorted, size_t n, double p)
{
    return sorted[as_quantile_rank(n, p)];
}

uint64_t as_quantile_needs(double p)
{
    double tail = fmin(hold_percent(p), 100 - hold_percent(p));
    double needs = tail > 0 ? BEYOND * 100 / tail : (double)INFINITY;

    if (tail == 50)
        return 1;
    /* 100 - 99.9 is already off in its 14th digit, more than one rounding accounts for. */
    needs = ceil(needs - needs * 1e-9);
    return needs < 0x1p63 ? (uint64_t)needs : UINT64_MAX;
}

bool as_quantile_supported(uint64_t n, double p)
{
    return n != UINT64_MAX && n >= as_quantile_needs(p);
}
