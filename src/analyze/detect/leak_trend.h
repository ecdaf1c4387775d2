/* analyze/detect/leak_trend.h - the sound half of leak detection: where a series keeps growing.
 * Ranges of eleven quarter windows are judged by stats/inference/growth.h; those that grow are
 * merged.
 *
 * A window is ten times the documented one, in readings: 100. Judged are, at every quarter window,
 * the last eleven quarters of readings, of medians of three readings, of nine and so on as far as
 * they are kept, so that slow growth shows in time; and at every window the least readings of the
 * last twelve windows, so that growth below a swing shows whatever the swing's height.
 *
 * Left out at the beginning is the initial rise: the line through the medians of the first and last
 * third of the second half of the series is drawn back, and going back from the middle, warm-up
 * ends where the median of a sixty-fourth of the series (at least five points) is first below that
 * line by more than four standard deviations (by the MAD) of the second half around it, eight where
 * the series begins.
 *
 * Growth is withdrawn when the series later comes down to a quarter of it or less; a later growth
 * that is no more than a quarter greater than the greatest withdrawn one is the same swing again.
 */
#ifndef AS_ANALYZE_DETECT_LEAK_TREND_H
#define AS_ANALYZE_DETECT_LEAK_TREND_H

#include <assay/leaks.h>

#include "analyze/detect/leak_series.h"

struct as_leak_rule {
    size_t quarter;       /* readings in a quarter window */
    size_t min_readings;  /* of a series too short for the ranges above, to be judged whole */
    double p, min_growth; /* as in struct assay_leak_options */
    double warm_up;       /* 0: found */
    double capacity_mb;   /* NaN: unknown */
};

/* Grows with as_leak_incidents_add(); {0} is empty. */
struct as_leak_incidents {
    struct assay_leak_incident *at;
    size_t n, capacity;
};

/* After every reading. 1: an incident that was not told before ends here, and `found` is it. What
 * it costs does not depend on how many readings came before. */
AS_MUST_USE int as_leak_trend_watch(struct as_leak_series *s, const struct as_leak_rule *rule,
                                    struct assay_leak_incident *found, struct assay_error *err);

/* All incidents of the series, added to `out`. */
AS_MUST_USE int as_leak_trend_find(const struct as_leak_series *s, const struct as_leak_rule *rule,
                                   struct as_leak_incidents *out, struct assay_error *err);

#endif
