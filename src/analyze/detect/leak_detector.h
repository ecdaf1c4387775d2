/* analyze/detect/leak_detector.h - readings of memory one after the other, in bounded room.
 * Beyond the room, threes of neighbours are joined: their median, their least, their last time. */
#ifndef AS_ANALYZE_DETECT_LEAK_DETECTOR_H
#define AS_ANALYZE_DETECT_LEAK_DETECTOR_H

#include <assay/leaks.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* ---- leak_series.c ---- */

#define AS_LEAK_MAX_FOLD   24 /* 3^24 readings a point; what comes after is not kept */
#define AS_LEAK_MAX_SCALES 8

struct as_leak_sample {
    double mb;     /* the reading, or the median of those joined (a median of medians of three) */
    double low_mb; /* the least of them */
    double time;   /* of the last of them */
    uint64_t step;
};

struct as_leak_three {
    struct as_leak_sample at[3];
    unsigned n;
};

/* Begun by as_leak_series_init(). */
struct as_leak_series {
    const char *layer;             /* NULL: the process */
    struct as_leak_sample *points; /* the oldest first; point i is of readings i * per_point on */
    size_t n, capacity, max;       /* max is a multiple of 3 */
    unsigned fold;
    uint64_t per_point; /* readings a point is made of: 3^fold */
    uint64_t n_readings;
    struct as_leak_three *waiting; /* readings not yet a point, by how often they were joined */
    /* What leak_trend.c remembers from one reading to the next. */
    size_t checked[AS_LEAK_MAX_SCALES]; /* points of that scale when it was last looked at */
    size_t checked_floors;
    size_t warm_up, warm_up_at; /* points left out, and how many there were when it was found */
    bool told;
    uint64_t told_last; /* the last reading of the incident that was told */
    double told_floor_mb, told_growth_mb;
    double withdrawn_mb; /* the greatest growth that came back */
};

/* `max_points` at least 3. */
void as_leak_series_init(struct as_leak_series *s, const char *layer, size_t max_points);
void as_leak_series_fini(struct as_leak_series *s);

AS_MUST_USE int as_leak_series_add(struct as_leak_series *s, const struct as_leak_sample *reading,
                                   struct assay_error *err);

/* One point for three. */
struct as_leak_sample as_leak_join(const struct as_leak_sample three[3]);

/* ---- leak_trend.c ---- */

struct as_leak_rule {
    size_t quarter;       /* readings in a quarter window */
    size_t min_readings;  /* of a series too short for the ranges above, to be judged whole */
    double p, min_growth; /* as in struct assay_leak_detector_options */
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

/* ---- leak_range.c ---- */

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

/* Whether a range grows, and how sure that is. */
struct as_leak_verdict {
    bool grows;
    double p; /* of a range that grows; below the rule's */
};

AS_MUST_USE int as_leak_judge(struct as_leak_verdict *out, const double *values, size_t n,
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
 * `work` has room for as many. `p` is that of the verdict the incident rests on. */
AS_MUST_USE int as_leak_fill_incident(struct assay_leak_incident *out,
                                      const struct as_leak_series *s, size_t from, size_t to,
                                      const struct as_leak_rule *rule, double p, double *work,
                                      struct assay_error *err);

/* ---- leak_window.c ---- */

#define AS_LEAK_MAX_KEPT  10000
#define AS_LEAK_MAX_NAMES 4000000 /* of layers in all leaks kept, together */

struct as_leak_reading {
    double mb, time;
    const char *layer; /* the same pointer for the same layer; NULL: the process */
};

/* Begun by as_leak_window_init(). */
struct as_leak_window {
    double threshold_mb;
    size_t size;
    struct as_leak_reading *ring; /* reading r is at r % size */
    uint64_t n_readings;
    struct assay_leak *leaks;
    size_t n_leaks, capacity, n_names;
    uint64_t n_seen; /* all of them, kept or not */
    double sum_increase_mb, sum_rate;
    uint64_t told_until; /* readings below this are in a window that was told */
    struct as_arena arena;
};

AS_MUST_USE int as_leak_window_init(struct as_leak_window *w, double threshold_mb, size_t size,
                                    struct assay_error *err);
void as_leak_window_fini(struct as_leak_window *w);
void as_leak_window_reset(struct as_leak_window *w);

/* 1: the window that ends here grew by more than the threshold and does not overlap one that was
 * told; `tell` is it, borrowed until the next call. */
AS_MUST_USE int as_leak_window_add(struct as_leak_window *w, const struct as_leak_reading *reading,
                                   struct assay_leak *tell, struct assay_error *err);

/* ---- leak_detector.c ---- */

/* Whether the heap's own account stayed level while readings of resident memory came in: small
 * growth of the process is then no incident but what as_leak_outside_heap_mb() tells. */
void as_leak_set_heap_level(struct assay_leak_detector *detector, bool level);

/* By how much resident memory grew while the heap did not, as of the last search for incidents; 0:
 * it did not. */
double as_leak_outside_heap_mb(const struct assay_leak_detector *detector);

/* All that a detector tells, borrowed from it until the next call that changes it. */
struct as_leak_report {
    struct assay_leak_summary summary;
    double outside_heap_mb;
    const struct assay_leak *leaks;
    size_t n_leaks;
    const struct assay_leak_incident *incidents;
    size_t n_incidents;
};
AS_MUST_USE int as_leak_report(struct assay_leak_detector *detector, struct as_leak_report *out,
                               struct assay_error *err);

#endif
