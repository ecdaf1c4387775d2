/* profiler/layer_profile.h - the times of a program's layers, gathered per thread and merged when
 * they are read. A thread takes only a lock of its own, which nobody else holds but a reader. */
#ifndef AS_PROFILER_LAYER_PROFILE_H
#define AS_PROFILER_LAYER_PROFILE_H

#include <assay/bottlenecks.h>
#include <assay/manager.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profiler/layer_clock.h"
#include "profiler/memory_profile.h"

/* ---- layer_usage.c ---- */

/* Counts of a thread since it began, or between two readings. */
struct as_layer_usage {
    double cpu_seconds;
    uint64_t minor_faults, major_faults, switches, sleeps, io_blocks;
};

/* Of the calling thread. False: the system does not tell. */
bool as_layer_usage_read(struct as_layer_usage *out);

/* Adds what passed between two readings. */
void as_layer_usage_add(struct as_layer_usage *to, const struct as_layer_usage *from,
                        const struct as_layer_usage *until);

/* Fills the metrics of a call with what it used itself: `until` less `from`, less `inner`. */
void as_layer_usage_tell(struct assay_layer_metrics *out, const struct as_layer_usage *from,
                         const struct as_layer_usage *until, const struct as_layer_usage *inner);

/* ---- layer_profile.c ---- */

#define AS_LAYER_EXACT      4096u /* calls whose times are all kept; more are counted by size */
#define AS_LAYER_NEWEST     1000u /* times told one by one */
#define AS_LAYER_MAX_DEPTH  1024u
#define AS_LAYER_MAX_NAME   1023u
#define AS_LAYER_MAX_PAIRS  32u
#define AS_LAYER_MAX_TEXT   255u
#define AS_LAYER_MAX_OPEN   1000u
#define AS_LAYER_MAX_THREAD 4096u /* threads at once */

struct as_layer_profile;

struct as_layer_limits {
    size_t max_layers, max_timeline, max_history_bytes;
};

/* A layer, the same on all threads; lives as long as the profile. */
struct as_layer_name {
    uint32_t id, size;
    uint32_t site; /* in the recorder, 0 until it is asked for; atomic */
    char text[];
};

/* What the manager keeps with an open layer. */
struct as_layer_note {
    uint64_t epoch; /* of the recording session it was marked in; 0: none */
    bool held_known, held_heap, memory_begun, usage_known;
    bool entered_known;          /* `entered` is: the layer around it will leave out what it used */
    int64_t inner_bytes;         /* left behind by layers inside it */
    uint64_t held_bytes;         /* by the program when it began */
    uint64_t unread_ns;          /* spent in layers inside it whose usage was not read */
    struct as_layer_usage usage; /* when it began */
    struct as_layer_usage inner; /* by layers inside it, and by us around them */
    struct as_layer_usage entered; /* before we did anything for its begin */
    struct as_memory_span memory;
};

/* A call that ended. What profiling the layers inside it took is in neither time. */
struct as_layer_call {
    struct as_layer_name *name;
    uint64_t duration_ns, self_ns;
    uint64_t end_ticks;
    uint32_t depth, thread;
    struct as_layer_note *note;  /* as the manager left it; until this thread begins another */
    struct as_layer_note *outer; /* of the layer around it, likewise; NULL: there is none */
    bool known;                  /* false: the span was empty or forgotten, nothing ended */
};

/* How a call ends. */
struct as_layer_end {
    uint64_t ticks; /* when, taken before anything else */
    bool failed, keep;
    const char *reason;
    const struct assay_metadata *metadata;
    size_t n_metadata;
};

AS_MUST_USE int as_layer_profile_new(struct as_layer_profile **out,
                                     const struct as_layer_limits *limits, struct assay_error *err);
void as_layer_profile_free(struct as_layer_profile *p);

const struct as_layer_clock *as_layer_profile_clock(const struct as_layer_profile *p);

/* A layer that was begun. `note` is where the manager may keep something until it ends. */
struct as_layer_opened {
    struct as_layer_note *note;
    struct as_layer_name *name;
    uint64_t *start_ticks; /* the layer's time begins when the caller says so */
    uint64_t *before_ns;   /* what the caller did before that took: no time of the layers around */
    void *cell;            /* the thread's figures of it */
    struct as_layer_note *outer; /* of the layer around it; NULL: there is none */
};
struct assay_manager_span as_layer_profile_begin(struct as_layer_profile *p, const char *name,
                                                 struct as_layer_opened *opened);

/* Whether the layer's calls on this thread took less than that on average; no for its first. */
bool as_layer_profile_is_short(struct as_layer_profile *p, const struct as_layer_opened *opened,
                               double seconds);

/* Ends it; fills `call`. */
AS_MUST_USE int as_layer_profile_end(struct as_layer_profile *p,
                                     const struct assay_manager_span *span,
                                     const struct as_layer_end *how, struct as_layer_call *call,
                                     struct assay_error *err);

/* Drops the innermost open layer when it was begun inside the layer of `span`, which ends at
 * `ticks`, and counts it as abandoned. Returns what the manager kept with it; NULL: there is none.
 */
struct as_layer_note *as_layer_profile_abandon(struct as_layer_profile *p,
                                               const struct assay_manager_span *span,
                                               uint64_t ticks);

/* Time that belongs to nobody passed on this thread: no layer that is open counts it. */
void as_layer_profile_excuse(struct as_layer_profile *p, uint64_t ns);

/* Calls that ended since the last reset, and how many threads made some. */
uint64_t as_layer_profile_calls(struct as_layer_profile *p, uint32_t *n_threads);

/* Forgets all open layers, remembers their names, returns how many there were. */
size_t as_layer_profile_close(struct as_layer_profile *p);

/* Forgets all figures; no layer is open. */
void as_layer_profile_reset(struct as_layer_profile *p);

/* Merges what all threads have. */
AS_MUST_USE int as_layer_profile_read(struct as_layer_profile *p, size_t top,
                                      struct assay_layer_profile **out, struct assay_error *err);

#endif
