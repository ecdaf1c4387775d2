/* analyze/detect/leak_series.h - readings of memory one after the other, in bounded room.
 * Beyond the room, threes of neighbours are joined: their median, their least, their last time. */
#ifndef AS_ANALYZE_DETECT_LEAK_SERIES_H
#define AS_ANALYZE_DETECT_LEAK_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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
    /* What analyze/detect/leak_trend.h remembers from one reading to the next. */
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

#endif
