/* trace/run/ring_reader.h - takes the events a killed or still running program has in its ring.
 * Whatever the run file already holds is passed over; a ring of another run is ignored. */
#ifndef AS_TRACE_RUN_RING_READER_H
#define AS_TRACE_RUN_RING_READER_H

#include "trace/run/run_reader.h"

/* What was found in the ring file, before the run file is read: a chunk moved meanwhile is then in
 * one or the other. */
struct as_ring_catch {
    struct as_arena arena;
    struct as_ring_piece *pieces; /* newest first */
    uint8_t id[AS_RUN_ID_BYTES];
    bool found, live;
    long live_pid;
    int sys; /* as in the ring's header: why the run lacks its end, and the session's account */
    uint64_t lost[AS_LOSS_REASON_COUNT];
};

/* Reads the ring beside `path`, if there is one. Only running out of memory is an error. */
AS_MUST_USE int as_ring_catch(struct as_ring_catch *ring, const char *path,
                              struct assay_error *err);

/* Adds what the run lacks. */
AS_MUST_USE int as_ring_merge(struct as_ring_catch *ring, struct as_run *run,
                              struct assay_error *err);

void as_ring_catch_fini(struct as_ring_catch *ring);

#endif
