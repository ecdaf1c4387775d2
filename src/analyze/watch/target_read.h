/* analyze/watch/target_read.h - the data blocks of a run that tell of a program, into struct
 * as_target. For analyze/watch/target.c alone; what cannot be trusted is passed over and counted.
 */
#ifndef AS_ANALYZE_WATCH_TARGET_READ_H
#define AS_ANALYZE_WATCH_TARGET_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/watch/target.h"
#include "base/json/json_fields.h"

/* The live bytes of one heap site over time. */
struct as_site_history {
    uint32_t heap, id;
    double *seconds, *live_bytes;
    size_t n_seconds, n_live;
};

/* The lists as they grow; begun by as_target_reader_init(). */
struct as_target_reader {
    struct as_target *target;
    struct as_arena *scratch; /* gone after the analysis */
    struct as_rows processes, frames, places, traces, layers, gemm, series, marks;
    size_t frames_from;     /* where those of the heap begin */
    uint32_t frames_of;     /* the heap whose they are */
    struct as_rows heaps;   /* struct as_heap_span, by number less one as long as there is room */
    uint64_t greatest_peak; /* of one heap */
    uint32_t heap;          /* blocks of heaps so far: lists belong to the last */
    int64_t marks_pid;      /* whose iterations are taken: of the first that tells */
    bool has_program, has_end; /* what was written at its start, at its end */
};

void as_target_reader_init(struct as_target_reader *r, struct as_target *target,
                           struct as_arena *scratch);

/* One data block; kinds of others are passed over. NOMEM alone: malformed JSON is counted. */
AS_MUST_USE int as_target_read_block(struct as_target_reader *r, const char *kind, const char *json,
                                     size_t size, struct assay_error *err);

/* ---- target_series.c ---- */

/* Fills rss, heap_live and cpu from the channels of the run. Long series are thinned. */
AS_MUST_USE int as_target_channels(struct as_target *target, struct as_run *run,
                                   struct as_arena *scratch, struct assay_error *err);

/* How many of the first samples tell whether memory grows: those until `until` (NaN: all),
 * without the fall at the very end, where a program gives everything back. */
size_t as_series_judged(const double *seconds, const double *value, size_t n, double until);

/* Joins the series with the places, which it leaves sorted by heap and id. */
AS_MUST_USE int as_target_growth(struct as_target *target, const struct as_site_history *series,
                                 size_t n, struct assay_error *err);

/* ---- target_frames.c ---- */

/* A frame as older runs have it: "function+0x12 (module)", "0x1234 (module)", "0x7f0123". NULL
 * without memory. */
const struct as_heap_frame *as_heap_frame_parse(const char *text, struct as_arena *arena);

/* Joins sites and stacks with their frames. */
AS_MUST_USE int as_target_join_frames(struct as_target *target, struct assay_error *err);

/* ---- target_callers.c ---- */

/* Finds who allocates at each site, and sorts the rows. Places and traces stay where they are from
 * then on. */
AS_MUST_USE int as_target_find_callers(struct as_target *target, struct assay_error *err);

/* ---- target_stacks.c ---- */

/* An estimate from fewer samples than this says little. */
#define AS_TRACE_FEW_SAMPLES 10

/* No estimate stays above the count of its site, or of all heaps where the site is not known. */
void as_target_bound_stacks(struct as_target *target);

/* ---- heap_overlap.c ---- */

/* One watched program, from when it began to be watched until it was over or became another by
 * exec. */
struct as_heap_span {
    uint64_t from_ns, to_ns;          /* 0 and UINT64_MAX where they are not known */
    uint64_t peak_bytes, slack_bytes; /* its peak is at most so much lower */
    uint32_t heap;                    /* whose: as_target_site.heap */
    bool together; /* filled: it is one of those that can have held most together */
};

/* The sum of the peaks of those that were there at one time, the greatest such sum; the true peak
 * is at most `*slack_bytes` lower. */
uint64_t as_heap_overlap(struct as_heap_span *span, size_t n, uint64_t *slack_bytes);

#endif
