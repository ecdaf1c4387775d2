/* trace/run/span_walk.h - replays a thread's events as nested spans, in nanoseconds since the run
 * began. Never joins a begin and an end across a loss; what is unbalanced is marked and counted,
 * not repaired in silence. */
#ifndef AS_TRACE_RUN_SPAN_WALK_H
#define AS_TRACE_RUN_SPAN_WALK_H

#include "trace/record/record.h"
#include "trace/run/run_reader.h"

#define AS_LOCKS_HELD     32 /* locks of one thread at a time that are followed */
#define AS_SPAN_MAX_NOTES 8

enum as_span_state {
    AS_SPAN_OK,
    AS_SPAN_FAILED,   /* the program said so */
    AS_SPAN_UNCLOSED, /* its end is missing; it ends where its parent did */
    AS_SPAN_CUT,      /* events were lost while it was open; it ends where the loss began */
    AS_SPAN_OPEN      /* still open when the recording ended */
};

struct as_span_note {
    uint32_t key; /* a site */
    double value;
};

struct as_span {
    const struct as_run_thread *thread;
    uint64_t start_ns, end_ns;
    uint64_t child_ns; /* spent in spans inside it */
    uint32_t site, depth;
    enum as_span_state state;
    uint32_t n_notes;
    struct as_span_note note[AS_SPAN_MAX_NOTES];
};

struct as_iteration {
    const struct as_run_thread *thread;
    uint64_t number, start_ns, end_ns, cpu_ns, length;
    bool has_cpu, has_length;
    bool cut; /* it ended with the recording or in a loss, not with a mark */
};

/* An instant event, a message, or a point of an async span or a flow. */
struct as_point {
    const struct as_run_thread *thread;
    uint64_t ns, id;
    uint32_t site;
    enum as_point_role role;
    const char *text; /* of a message, NUL-terminated and not yet checked; "" for the others */
};

enum as_lock_state {
    AS_LOCK_FREED,    /* taken and given back */
    AS_LOCK_GIVEN_UP, /* waited for and not taken; held and freed are where the wait was found over
                       */
    AS_LOCK_CUT,      /* events were lost meanwhile */
    AS_LOCK_OPEN      /* held or waited for when the recording ended */
};

/* One time that a thread took a lock. */
struct as_lock_span {
    const struct as_run_thread *thread;
    uint64_t wait_ns, held_ns, freed_ns; /* the wait began, the lock was taken, given back */
    uint32_t site;
    uint32_t slot;  /* no two that overlap on a thread have the same */
    bool contended; /* the thread waited; wait_ns equals held_ns otherwise */
    bool taken;     /* false: it was still waiting */
    enum as_lock_state state;
};

/* Any of these may be NULL. Times never run backwards within a thread. */
struct as_span_visitor {
    void *user;
    void (*begin)(void *user, uint32_t site, uint32_t depth, uint64_t ns);
    void (*end)(void *user, const struct as_span *span);
    void (*iteration)(void *user, const struct as_iteration *iteration);
    void (*sample)(void *user, uint32_t channel, uint64_t ns, double value);
    void (*loss)(void *user, uint64_t from_ns, uint64_t to_ns,
                 uint64_t n_events); /* 0 events: how many is unknown */
    void (*wait)(void *user, uint64_t from_ns, uint64_t to_ns);
    void (*point)(void *user, const struct as_point *point);   /* once its data is known: before the
                                                                  next event */
    void (*lock)(void *user, const struct as_lock_span *lock); /* when it is given back */
};

/* What one walk saw beside the spans. */
struct as_walk_counts {
    uint64_t events, spans;
    uint64_t stray_ends;       /* no such span was open */
    uint64_t stray_after_loss; /* the same, but its begin may have been lost */
    uint64_t too_deep;         /* begun below AS_RUN_MAX_DEPTH levels; not followed */
    uint64_t stray_locks;      /* given back and not held; or more held at once than are followed */
    uint64_t displaced, backwards, bad;
    uint64_t first_ns, last_ns; /* of the thread's events */
};

/* A walk that can be taken step by step, so that several threads can be followed side by side. */
struct as_span_walker;

/* NULL when memory ran out. The visitor is borrowed until as_span_walker_free(). */
struct as_span_walker *as_span_walker_new(struct as_run *run, const struct as_run_thread *thread,
                                          const struct as_span_visitor *visitor);

/* Visits the next few thousand events; 1 when there may be more, 0 after the last, or a negative
 * code. */
AS_MUST_USE int as_span_walker_step(struct as_span_walker *walker, struct assay_error *err);

void as_span_walker_counts(const struct as_span_walker *walker, struct as_walk_counts *out);

/* Accepts NULL. */
void as_span_walker_free(struct as_span_walker *walker);

/* Walks one thread from its first event to its last. `counts` may be NULL. */
AS_MUST_USE int as_span_walk(struct as_run *run, const struct as_run_thread *thread,
                             const struct as_span_visitor *visitor, struct as_walk_counts *counts,
                             struct assay_error *err);

#endif
