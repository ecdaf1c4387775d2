/* profiler/layer_profile.h - the statistics of a program's layers, from marks that their threads
 * made. One call at a time: the owner holds its own lock. */
#ifndef AS_PROFILER_LAYER_PROFILE_H
#define AS_PROFILER_LAYER_PROFILE_H

#include <assay/manager.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profiler/layer_clock.h"
#include "trace/record/site_table.h"
#include "trace/run/run_maker.h"

#define AS_LAYER_EXACT     4096u /* calls whose times are all kept; more are counted by size */
#define AS_LAYER_NEWEST    1000u /* times reported one by one */
#define AS_LAYER_MAX_PAIRS 32u
#define AS_LAYER_MAX_TEXT  255u
#define AS_LAYER_MAX_OPEN  1000u

struct as_layer_profile;
struct as_layer_thread; /* the open layers of one thread */

struct as_layer_limits {
    size_t max_layers, max_timeline, max_history_bytes;
    const struct as_site_table *names; /* NULL: the recorder's */
};

/* A layer, the same on all threads; lives as long as the profile. */
struct as_layer_name {
    uint32_t id, size;
    char text[];
};

/* A call that ended. What profiling the layers inside it took is in neither time. */
struct as_layer_call {
    const struct as_layer_name *name;
    uint64_t duration_ns, self_ns;
    uint64_t end_ticks;
    uint32_t depth, thread;
};

/* How a call ends. */
struct as_layer_end {
    uint64_t ticks;
    bool failed, keep; /* keep: its times count */
    const char *reason;
    const struct assay_metadata *metadata;
    size_t n_metadata;
};

AS_MUST_USE int as_layer_profile_new(struct as_layer_profile **out,
                                     const struct as_layer_limits *limits, struct assay_error *err);
void as_layer_profile_free(struct as_layer_profile *p);

const struct as_layer_clock *as_layer_profile_clock(const struct as_layer_profile *p);

/* A thread without open layers; the profile's. NULL: no memory. */
struct as_layer_thread *as_layer_profile_thread(struct as_layer_profile *p);

/* Another thread, of that number, goes on in its place. What was open is counted as abandoned. */
void as_layer_thread_restart(struct as_layer_profile *p, struct as_layer_thread *t, uint32_t number,
                             uint32_t tid);

/* A layer begins. `site` is of the table of names (trace/record/site_table.h); 0: one of too many.
 * `before_ns` of profiling before it are no time of the layers around it. */
void as_layer_profile_begin(struct as_layer_profile *p, struct as_layer_thread *t, uint32_t site,
                            uint64_t ticks, uint64_t before_ns);

/* The innermost one ends; fills `call`. False: none was open that is known. */
bool as_layer_profile_end(struct as_layer_profile *p, struct as_layer_thread *t,
                          const struct as_layer_end *how, struct as_layer_call *call);

/* The innermost `n` were left without an end. */
void as_layer_profile_abandon(struct as_layer_profile *p, struct as_layer_thread *t, uint64_t n);

/* Time of no layer passed on this thread. */
void as_layer_profile_excuse(struct as_layer_thread *t, uint64_t ns);

/* Calls that ended since the last reset. */
uint64_t as_layer_profile_calls(const struct as_layer_profile *p);

/* Forgets all open layers, remembers their names, returns how many there were. */
size_t as_layer_profile_close(struct as_layer_profile *p);

/* Forgets all statistics; no layer is open. */
void as_layer_profile_reset(struct as_layer_profile *p);

/* Adds the newest calls to a run, as spans. */
void as_layer_profile_put_spans(const struct as_layer_profile *p, struct as_run_maker *to);

/* A copy of all that is known. */
AS_MUST_USE int as_layer_profile_read(struct as_layer_profile *p, size_t top,
                                      struct assay_layer_profile **out, struct assay_error *err);

#endif
