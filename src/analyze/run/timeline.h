/* analyze/run/timeline.h - every call of a run in the order the calls ended, all threads together.
 * Streams: memory does not grow with the length of the run. */
#ifndef AS_ANALYZE_RUN_TIMELINE_H
#define AS_ANALYZE_RUN_TIMELINE_H

#include "trace/run/run_reader.h"
#include "trace/run/span_walk.h"

struct as_timeline;

struct as_timeline_entry {
    struct as_span span;
    uint64_t number;        /* from 0 */
    uint64_t cumulative_ns; /* running sum of the durations of complete calls, this one included */
};

/* NULL when memory ran out. `run` is borrowed. Phases, channels and keys are no calls and do not
 * appear. */
struct as_timeline *as_timeline_new(struct as_run *run);

/* 1 with the next entry, 0 at the end, or a negative code. */
AS_MUST_USE int as_timeline_next(struct as_timeline *timeline, struct as_timeline_entry *out,
                                 struct assay_error *err);

/* Accepts NULL. */
void as_timeline_free(struct as_timeline *timeline);

#endif
