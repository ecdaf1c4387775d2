/* stats/inference/trend.h - whether a series rises or falls, and how steeply, without being fooled
 * by spikes. Values are in order of time; neighbors that depend on each other make the p-value too
 * small. */
#ifndef AS_STATS_INFERENCE_TREND_H
#define AS_STATS_INFERENCE_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define AS_TREND_EXACT_MAX 1000 /* points; beyond, their half a million pairs would be too many */

struct as_trend_line {
    size_t n;         /* points given */
    size_t n_used;    /* points whose pairs were compared: n, or AS_TREND_EXACT_MAX */
    bool exact;       /* all pairs; otherwise pairs of the medians of equal consecutive blocks */
    double slope;     /* median of the slopes of the pairs: units of y per unit of x */
    double intercept; /* median of y - slope * x, over all points in either case */
};

struct as_trend_test {
    size_t n;
    int64_t s;       /* rising pairs less falling ones */
    double variance; /* of s, were all orders equally likely; ties are taken off */
    double tau;      /* Kendall's tau-b against time, from -1 to 1; NaN when all values are equal */
    double z;        /* with continuity and tie correction; 0 when all values are equal */
    double p;        /* two-sided, normal approximation: good from about 10 values on */
};

/* The line of Theil and Sen. `x` never falls; NULL stands for 0, 1, 2 ... Pairs with equal x are
 * passed over. Fails (USAGE) with fewer than two different x, a falling x or a value that is not
 * finite, and when memory runs out. */
AS_MUST_USE int as_trend_line(struct as_trend_line *out, const double *x, const double *y, size_t n,
                              struct assay_error *err);

/* Mann and Kendall's test, in n log n. Fails (USAGE) with fewer than three values, more than 2^31,
 * or one that is not finite, and when memory runs out. */
AS_MUST_USE int as_trend_test(struct as_trend_test *out, const double *y, size_t n,
                              struct assay_error *err);

#endif
