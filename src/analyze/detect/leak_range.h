/* analyze/detect/leak_range.h - one range of a series of memory readings: whether it grows and by
 * how much. What looks at the newest range and what looks at all of them have this in common. */
#ifndef AS_ANALYZE_DETECT_LEAK_RANGE_H
#define AS_ANALYZE_DETECT_LEAK_RANGE_H

#include "analyze/detect/leak_trend.h"

#define AS_LEAK_RANGE_QUARTERS  11
#define AS_LEAK_WINDOW_QUARTERS 4
#define AS_LEAK_FLOOR_WINDOWS   12
#define AS_LEAK_BACK_SHARE      0.25 /* of a growth: below, it came back */
#define AS_LEAK_SAME_SWING      1.25

/* By the least of its first and of its last window: swings in between are no matter. */
struct as_leak_rise {
    double floor, growth;
};

size_t as_leak_range_points(const struct as_leak_rule *rule);

/* The least of `n` points, at least one. */
double as_leak_floor_mb(const struct as_leak_sample *points, size_t n);

/* How many points at the beginning are warm-up. `work` has room for 2n. */
size_t as_leak_warm_up(const struct as_leak_sample *points, size_t n,
                       const struct as_leak_rule *rule, double *work);

AS_MUST_USE int as_leak_judge(bool *grows, const double *values, size_t n,
                              const struct as_leak_rule *rule, struct assay_error *err);

/* Joins `n` points threefold in place; returns how many there are. */
size_t as_leak_join_points(struct as_leak_sample *points, size_t n);

void as_leak_take_values(double *values, const struct as_leak_sample *points, size_t n);

/* The least of each window. */
void as_leak_take_floors(double *floors, const struct as_leak_sample *points, size_t n_windows,
                         size_t window);

struct as_leak_rise as_leak_find_rise(const struct as_leak_series *s, size_t from, size_t to,
                                      const struct as_leak_rule *rule);

/* Of points `from` to `to`, by the line of Theil and Sen: a few readings at the edges move nothing.
 * `work` has room for as many. */
AS_MUST_USE int as_leak_fill_incident(struct assay_leak_incident *out,
                                      const struct as_leak_series *s, size_t from, size_t to,
                                      const struct as_leak_rule *rule, double *work,
                                      struct assay_error *err);

#endif
