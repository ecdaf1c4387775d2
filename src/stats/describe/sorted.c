/* stats/describe/sorted.c - one view of ascending samples, be they integers or doubles. */
#include "stats/describe/sorted.h"

#include <math.h>

#include "base/units.h"

double as_sorted_median(const struct as_sorted *s)
{
    size_t low, high;

    if (s->n == 0)
        return AS_UNKNOWN;
    low = (s->n - 1) / 2;
    high = s->n / 2;
    return as_sorted_at(s, low) + as_sorted_gap(s, low, high) / 2;
}

/* Distances are taken from a middle sample and then corrected by half the gap between the two
 * middle ones, so that integers too large for a double keep their distances exact. */
static double distance_below(const struct as_sorted *s, size_t i)
{
    size_t low = (s->n - 1) / 2;

    return as_sorted_gap(s, i, low) + as_sorted_gap(s, low, s->n / 2) / 2;
}

static double distance_above(const struct as_sorted *s, size_t i)
{
    size_t high = s->n / 2;

    return as_sorted_gap(s, high, i) + as_sorted_gap(s, (s->n - 1) / 2, high) / 2;
}

double as_sorted_mad(const struct as_sorted *s)
{
    size_t n = s->n, below = (n + 1) / 2,
           above = below; /* sample below - 1 and sample above are next */
    double last = 0, before_last = 0;

    if (n == 0)
        return AS_UNKNOWN;
    for (size_t taken = 0; taken <= n / 2; taken++) {
        double down = below > 0 ? distance_below(s, below - 1) : (double)INFINITY;
        double up = above < n ? distance_above(s, above) : (double)INFINITY;

        before_last = last;
        if (down <= up) {
            last = down;
            below--;
        } else {
            last = up;
            above++;
        }
    }
    return n % 2 ? last : before_last + (last - before_last) / 2;
}

double as_sorted_mean_deviation(const struct as_sorted *s)
{
    double sum = 0;

    if (s->n == 0)
        return AS_UNKNOWN;
    for (size_t i = 0; i < s->n; i++)
        sum += i < (s->n + 1) / 2 ? distance_below(s, i) : distance_above(s, i);
    return sum / (double)s->n;
}

size_t as_sorted_count_below(const struct as_sorted *s, double x)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (as_sorted_at(s, middle) < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t as_sorted_count_above(const struct as_sorted *s, double x)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (as_sorted_at(s, middle) > x)
            high = middle;
        else
            low = middle + 1;
    }
    return s->n - low;
}
