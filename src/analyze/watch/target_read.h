/* analyze/watch/target_read.h - the data blocks of a run that tell of a program, into struct
 * as_target. For analyze/watch/target.c alone; what cannot be trusted is passed over and counted.
 */
#ifndef AS_ANALYZE_WATCH_TARGET_READ_H
#define AS_ANALYZE_WATCH_TARGET_READ_H

#include "analyze/watch/heap_overlap.h"
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
    struct as_rows processes, places, traces, layers, gemm, series, marks;
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

#endif
