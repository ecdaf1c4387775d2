/* trace/run/thread_events.h - the events of one thread in the order of time, a chunk at a time.
 * Puts back what a signal handler overtook, and never hands out a time that runs backwards. */
#ifndef AS_TRACE_RUN_THREAD_EVENTS_H
#define AS_TRACE_RUN_THREAD_EVENTS_H

#include "trace/record/event_code.h"
#include "trace/record/ring.h"
#include "trace/run/run_reader.h"

struct as_thread_events {
    const struct as_run *run;
    const struct as_run_thread *thread;
    size_t next_chunk;
    uint8_t *bytes; /* a payload as read from the file */
    size_t bytes_capacity;
    struct as_event *event; /* the batch */
    size_t event_capacity;
    size_t waiting_at, n_waiting; /* of the batch: held back until the next chunk is known */
    bool gap;                     /* a chunk was missing before the events that wait */
    uint64_t last_time;           /* of the last event handed out */
    uint64_t n_displaced;         /* overtaken by a handler's, and put back in their place */
    uint64_t n_backwards; /* whose clock ran backwards; given the time of the event before */
    uint64_t n_bad;       /* left out because a block did not hold what it said */
};

struct as_event_batch {
    const struct as_event *event; /* borrowed until the next call */
    size_t n_events;
    bool after_gap; /* at least one chunk before this one is missing */
};

/* Begins at the thread's first event. Holds memory: end with as_thread_events_fini(). */
void as_thread_events_init(struct as_thread_events *e, const struct as_run *run,
                           const struct as_run_thread *thread);

/* 1 with a batch, 0 at the end, or a negative code when the file cannot be read or memory runs out.
 */
AS_MUST_USE int as_thread_events_next(struct as_thread_events *e, struct as_event_batch *batch,
                                      struct assay_error *err);

void as_thread_events_fini(struct as_thread_events *e);

#endif
