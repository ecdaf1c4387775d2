/* analyze/run/run_events.h - what a run has beside layers: messages, instant events, spans across
 * threads, flows and locks. Gathered while the threads of a run are walked one after another. */
#ifndef AS_ANALYZE_RUN_RUN_EVENTS_H
#define AS_ANALYZE_RUN_RUN_EVENTS_H

#include <assay/scope.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "trace/run/span_walk.h"

#define AS_MESSAGES_KEPT   256               /* the last ones */
#define AS_MAX_LINK_POINTS ((size_t)2 << 20) /* of async spans and flows that are followed */

struct as_message {
    uint64_t ns, thread; /* thread: its index */
    char text[ASSAY_MESSAGE_MAX + 1];
};

struct as_instant {
    uint32_t site;
    const struct as_run_site *info;
    uint64_t count, first_ns, last_ns;
};

/* Async spans or flows of one name. Those that ended are `n`. */
struct as_link {
    uint32_t site;
    const struct as_run_site *info;
    uint64_t n;
    uint64_t steps;       /* of flows */
    uint64_t open;        /* begun and not ended */
    uint64_t begun_again; /* begun with the id of one that was open, which then has no end */
    uint64_t stray;       /* ends and steps without a begin */
    uint64_t crossed;     /* ended on another thread than they began on */
    double total_ns, mean_ns, min_ns, p50_ns, p95_ns, max_ns; /* begin to end; NaN when n is 0 */
    bool p95_supported;
};

struct as_lock {
    uint32_t site;
    const struct as_run_site *info;
    uint64_t acquisitions; /* taken and given back; the others are counted below alone */
    uint64_t contended;    /* of those, after a wait */
    uint64_t wait_ns, max_wait_ns, held_ns, max_held_ns;
    uint64_t given_up; /* waited for and not taken */
    uint64_t open;     /* held or waited for at the end, or when events were lost */
    uint32_t n_threads;
};

/* Lists are in the order of their sites but for messages, which are by time. */
struct as_run_events {
    struct as_message *message; /* at most AS_MESSAGES_KEPT */
    size_t n_messages;
    uint64_t messages; /* all of them */
    struct as_instant *instant;
    size_t n_instants;
    struct as_link *async, *flow;
    size_t n_async, n_flows;
    uint64_t unfollowed; /* points of async spans and flows past AS_MAX_LINK_POINTS */
    struct as_lock *lock;
    size_t n_locks;
    uint64_t stray_locks;
};

/* One point of an async span or a flow. */
struct as_link_point;

/* The half that sees events. {0} is empty. */
struct as_event_collector {
    struct as_run *run;
    struct as_message *message; /* up to twice as many as are kept */
    size_t n_messages;
    uint64_t messages;
    struct as_instant *instant; /* [site], made with the first */
    struct as_lock *lock;       /* the same */
    uint32_t *lock_thread;      /* [site]: the thread that used it last, plus one */
    uint32_t thread;            /* the number of the one now walked, plus one */
    struct as_link_point *point;
    size_t n_points, capacity;
    uint64_t unfollowed;
    bool no_memory;
};

/* The visitors of as_span_visitor; `user` is handed on as the collector. */
void as_events_on_point(struct as_event_collector *c, const struct as_point *point);
void as_events_on_lock(struct as_event_collector *c, const struct as_lock_span *lock);

/* Turns what was gathered into the result, in `arena`. */
AS_MUST_USE int as_events_finish(struct as_event_collector *c, struct as_arena *arena,
                                 struct as_run_events *out, struct assay_error *err);

void as_event_collector_fini(struct as_event_collector *c);

#endif
