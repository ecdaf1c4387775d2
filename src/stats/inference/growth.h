/* stats/inference/growth.h - whether a series keeps growing all along, or only rose once, swung or
 * was noise. Growth is a trend that steps do not explain, in both halves, with a floor that rises
 * too. */
#ifndef AS_STATS_INFERENCE_GROWTH_H
#define AS_STATS_INFERENCE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define AS_GROWTH_MIN 12   /* values; fewer could not be sure enough even if each were greater */
#define AS_GROWTH_MAX 1000 /* values */

struct as_growth_rule {
    double p;        /* surer than this */
    double min_rise; /* of the line, from its first to its last value */
};

/* Every condition is filled only as far as it was needed: the cheap ones come first, and the first
 * that fails decides. */
struct as_growth {
    bool grows;
    double slope;      /* Theil and Sen: units a value */
    double start;      /* of that line at the first value; as_growth_measure() alone fills it */
    double floor_rise; /* least value of the second half less that of the first */
    double inflation;  /* values that are worth one independent value */
    double tau, p;     /* Mann and Kendall's, two-sided, of what the inflation leaves of n */
};

/* Whether `y` grows by that rule. It does when all hold:
 *  1. the line rises by `min_rise`, and the least value of the second half is above that of the
 *     first by a third of what the line says: what swings comes down to the same floor each time;
 *  2. the line of either half has at least a third of the slope: warm-up fades, and a late rise has
 *     to go on before it counts;
 *  3. after the (at most) two steps that explain most of the ranks are taken away, one with fewer
 *     than 40 values, what is left still rises: Mann and Kendall's sums of the parts together, with
 *     p below the rule's;
 *  4. that p is of the effective number of values: the variance is multiplied by the sum of the
 *     autocorrelations of the ranks of what line and steps leave, up to the first that is small.
 * Fails (USAGE) for a number of values outside the limits or one that is not finite, and when
 * memory runs out. */
AS_MUST_USE int as_growth_test(struct as_growth *out, const double *y, size_t n,
                               const struct as_growth_rule *rule, struct assay_error *err);

/* Slope, start, tau and p of the whole series, steps and all; the number of values has no upper
 * limit. */
AS_MUST_USE int as_growth_measure(struct as_growth *out, const double *y, size_t n,
                                  struct assay_error *err);

#endif
