/* watch/heap_series.h - the live bytes of every heap site over time, in at most 256 points.
 * When they are full every second one goes, and the next come half as often. */
#ifndef AS_WATCH_HEAP_SERIES_H
#define AS_WATCH_HEAP_SERIES_H

#include "base/arena.h"
#include "probe/heap/heap_watch.h"
#include "watch/watch_record.h"

#define AS_HEAP_SERIES_SAMPLES 256
#define AS_SITE_SERIES_MAX     256 /* sites that held most */

struct as_heap_sample {
    double seconds;
    uint64_t *live_bytes; /* [id] */
    size_t n;
};

/* {0} is empty. */
struct as_heap_series {
    struct as_heap_sample point[AS_HEAP_SERIES_SAMPLES];
    size_t n;
    uint32_t stride, waited; /* readings between two points; 0: every one */
    double next_seconds;     /* not before: one costs */
};

/* Takes a reading of the sites with ids below `n_ids`, or leaves it when the last is not long ago,
 * or without memory. */
void as_heap_series_add(struct as_heap_series *points, struct as_heap_watch *watch, size_t n_ids,
                        double seconds);

/* The series of the sites that held most at any point, in `arena`. */
AS_MUST_USE int as_heap_series_series(const struct as_heap_series *points, struct as_arena *arena,
                                      struct as_site_series **out, size_t *n,
                                      struct assay_error *err);

void as_heap_series_fini(struct as_heap_series *points);

#endif
