/* api/manager/manager_internal.h - the inside of a manager, for the files that make it up and the
 * reports. Marks go into lanes without a lock; all else is under the manager's. */
#ifndef AS_API_MANAGER_MANAGER_INTERNAL_H
#define AS_API_MANAGER_MANAGER_INTERNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include <assay/manager.h>

#include "analyze/run/manager_run.h"
#include "probe/process/memory_probe.h"
#include "profiler/fork_guard.h"
#include "profiler/layer_profile.h"
#include "profiler/mark_lane.h"
#include "profiler/memory_profile.h"

#define AS_MANAGER_EXTENSIONS 32
#define AS_MANAGER_BIT(name)  (1u << ASSAY_PROFILER_##name)
/* These want to hear of every call; the others are asked only when somebody reads. */
#define AS_MANAGER_FED      (AS_MANAGER_BIT(MEMORY) | AS_MANAGER_BIT(LEAK) | AS_MANAGER_BIT(BOTTLENECK))
#define AS_MANAGER_WATCHED  (1u << ASSAY_PROFILER_COUNT) /* anomalies are looked for */
#define AS_MANAGER_EXTENDED (2u << ASSAY_PROFILER_COUNT)

struct as_manager_extension {
    struct assay_profiler table;
    char *name;
    void *state;
};

/* What the calls of a layer left behind so far, without the layers inside. */
struct as_layer_held {
    const struct as_layer_name *name; /* NULL: not called yet */
    double mb;
};

/* Memory that the layers leave behind, by the heap's own account or by resident pages. */
struct as_manager_held {
    struct assay_leak_detector *by_layer; /* fed with what each layer left behind so far */
    struct assay_leak_detector *whole;    /* fed with what the heap holds, whoever took it */
    struct as_layer_held *layer;          /* by the layer's id */
    size_t capacity;
    double all_mb;                       /* by all layers together */
    _Atomic bool heap;                   /* from the heap; false: from resident pages */
    _Atomic unsigned n, n_timed, n_slow; /* samples; those that were timed; of the last 64 of them,
                                            those that took long */
    struct assay_layer_leak *leak;
    size_t n_leaks;
};

struct assay_manager {
    uint64_t generation;      /* of the process that made it: see profiler/fork_guard.h */
    _Atomic uint32_t enabled; /* bits of the profilers, and the two above */
    _Atomic bool active;
    _Atomic uint64_t step;
    double usage_min_seconds;
    bool always_watched;
    double call_ns; /* an empty layer costs */
    struct as_layer_clock clock;
    struct as_mark_set *marks;
    sigset_t usual_mask;               /* signals blocked outside handlers, for all we know */
    _Atomic uint64_t n_marks, cost_ns; /* of marks, and their time */
    _Atomic uint64_t feeding_ns;       /* CPU time of handing calls to the profilers */

    pthread_mutex_t life; /* of start and end; taken before the lock */
    pthread_t drainer;    /* the thread that takes what lanes hold */
    bool drains;
    _Atomic bool stop;

    pthread_mutex_t lock; /* all below */
    struct as_mark_scratch *scratch;
    struct as_layer_profile *layers;
    struct as_layer_day day;
    uint64_t memory_interval_ns;
    struct as_memory_profile *memory;
    struct as_memory_reader reader;              /* lanes peek at it */
    _Atomic bool unread;                         /* a reading of a lane's thread failed */
    const char *memory_why;                      /* why memory could not be read; NULL: it could */
    struct as_own_faults own;                    /* of the threads that drain */
    uint64_t own_minor_before, own_major_before; /* of those that ended */
    uint64_t leak_fed_ticks;
    struct assay_leak_detector *leak;
    struct as_manager_held held;
    struct assay_bottleneck_analyzer *bottleneck;
    struct assay_anomaly_detector *anomaly;
    struct assay_anomaly *anomaly_list;         /* as assay_manager_anomalies() last gave them */
    struct assay_anomaly_layer *anomaly_layers; /* likewise */
    struct assay_distributed *distributed;
    struct assay_compare *compare;
    size_t n_backends; /* added so far */
    struct as_manager_extension extension[AS_MANAGER_EXTENSIONS];
    size_t n_extensions;
    /* The session. */
    double start_time, end_time;
    uint64_t started_ns, lasted_ns, sessions;
    uint64_t feed_failures;
    uint64_t started_cpu_ns, lasted_cpu_ns; /* CPU time of the process */
};

/* ---- manager_cost.c ---- */

/* The time of a mark from its first instruction to its last: of one in 5 where profilers are fed,
 * of one in 17 elsewhere, which counts for all of them. */
struct as_mark_cost {
    uint64_t from_ticks; /* known where profilers are fed, or it is measured */
    uint64_t waited_ns;
    uint32_t weight; /* 0: it is not measured */
};
struct as_mark_cost as_mark_cost_begin(const struct assay_manager *m, struct as_mark_thread *t,
                                       bool fed);
void as_mark_cost_end(struct assay_manager *m, const struct as_mark_cost *cost, uint64_t ticks);

uint64_t as_manager_process_cpu_ns(void);

/* Marks count as nothing from here on; the lock is held. */
void as_manager_forget_cost(struct assay_manager *m);

/* What an empty layer costs on this machine, in nanoseconds: measured. NaN: it could not be. */
double as_manager_call_cost(uint64_t generation);

/* STATE in a forked child, USAGE without a manager. */
AS_MUST_USE int as_manager_check(const struct assay_manager *m, struct assay_error *err);

/* ---- manager_probe.c: samples on the thread of a layer ---- */

/* Whether a profiler hears of every call. */
static inline bool as_manager_is_fed(uint32_t on)
{
    return on & (AS_MANAGER_FED | AS_MANAGER_WATCHED | AS_MANAGER_EXTENDED);
}

/* Whether the use of the thread is to be read for the layer that begins. */
bool as_manager_wants_usage(const struct assay_manager *m, uint32_t on,
                            const struct as_mark_thread *t, uint32_t site, uint32_t slot);
void as_manager_probe_begin(struct assay_manager *m, uint32_t on, struct as_mark_thread *t,
                            struct as_mark_frame *frame, bool usage);
/* `outer` may be NULL. */
void as_manager_probe_end(struct assay_manager *m, uint32_t on, struct as_mark_thread *t,
                          struct as_mark_frame *frame, struct as_mark_frame *outer,
                          struct as_mark_fields *out);
/* Notes resident memory, ours left out, with the layer now open in the recording session. */
void as_manager_note_memory(struct assay_manager *m);

/* ---- manager_drain.c: taking what lanes hold ---- */

/* Takes the lock, and all calls that have ended by now. */
void as_manager_lock(struct assay_manager *m);
/* The same, and those whose marks are being made just now. */
void as_manager_lock_all(struct assay_manager *m);
void as_manager_unlock(struct assay_manager *m);

/* The thread that does so while a session runs; the life lock is held. */
AS_MUST_USE int as_manager_drain_start(struct assay_manager *m, struct assay_error *err);
void as_manager_drain_stop(struct assay_manager *m);

/* ---- manager_feed.c ---- */

/* Takes one unit of a lane; the lock is held. */
void as_manager_feed(void *manager, struct as_mark_thread *t, const struct as_mark_unit *unit);

/* UNIX seconds of a time stamp. */
static inline double as_manager_seconds(const struct assay_manager *m, uint64_t ticks)
{
    return as_layer_day_seconds(&m->day, ticks);
}

/* ---- extension_json.c ---- */

/* What the extension writes, in `arena`. NOMEM alone is a failure: what it does wrong is a reason.
 */
AS_MUST_USE int as_manager_write_extension(const struct as_manager_extension *e,
                                           struct as_arena *arena, struct as_manager_extra *to,
                                           struct assay_error *err);

/* ---- what layers leave behind; with the lock held ---- */

AS_MUST_USE int as_manager_held_init(struct as_manager_held *held,
                                     const struct assay_leak_detector_options *options,
                                     struct assay_error *err);
void as_manager_held_fini(struct as_manager_held *held);
void as_manager_held_reset(struct as_manager_held *held);
/* Bytes in use of the heap now; UNKNOWN: it does not report them, or too slowly. Needs no lock; not
 * in a signal handler, which may have interrupted malloc(). */
uint64_t as_manager_held_heap(struct as_manager_held *held);
/* A call of that layer left `bytes` behind. */
AS_MUST_USE int as_manager_held_add(struct as_manager_held *held, const struct as_layer_name *layer,
                                    int64_t bytes, uint64_t step, double timestamp,
                                    struct assay_error *err);
/* The heap holds `bytes`. */
AS_MUST_USE int as_manager_held_note(struct as_manager_held *held, uint64_t bytes, uint64_t step,
                                     double timestamp, struct assay_error *err);
/* Tells the detector of resident memory whether the heap grew beside it; before it is asked. */
AS_MUST_USE int as_manager_held_tell(struct as_manager_held *held,
                                     struct assay_leak_detector *resident, struct assay_error *err);
/* The layers that leak, the worst first; fills held->leak. Returns how many. */
int as_manager_held_judge(struct as_manager_held *held, struct assay_error *err);
/* Both reports of leaks: of resident memory, borrowed from `resident`, and of all layers. */
AS_MUST_USE int as_manager_held_read(struct as_manager_held *held,
                                     struct assay_leak_detector *resident,
                                     struct as_leak_report *report, struct assay_left_memory *out,
                                     struct assay_error *err);

#endif
