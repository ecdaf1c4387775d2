/* assay/manager.h - one object that profiles a program while it runs: layers, memory, leaks,
 * bottlenecks, anomalies, backends, nodes, and whatever profiler a program adds.
 *
 *     struct assay_manager *m;
 *     if (assay_manager_new(&m, NULL, &err) < 0 || assay_manager_start(m, &err) < 0)
 *         return fprintf(stderr, "%s\n", err.msg), 1;
 *     for (uint64_t i = 0; i < 100; i++) {
 *         assay_manager_step(m, i);
 *         ASSAY_MANAGER_LAYER(m, "conv1"); // until the end of this block
 *         work();
 *     }
 *     assay_manager_end(m, &err);
 *     assay_manager_print(m, stdout, &err);
 *     assay_manager_export(m, "out/net.assay", &err);
 *     assay_manager_free(m);
 *
 * Link with -lassay. Layers may be marked from any thread and nest; every thread has layers of its
 * own. All other calls may come from any thread too; what is documented as borrowed stays valid
 * until the call that is named. A call that gets NULL where it needs something returns
 * ASSAY_ERR_USAGE, or does nothing when it returns no code.
 *
 * A mark goes into a lane of its thread, as those of the recorder do: it takes no lock and no
 * memory, except for the first mark of a thread, which maps its lane under a lock of the manager,
 * and the first mark of a name, which registers it. A thread of the manager takes the calls out and
 * hands them to the profilers within 0.2 s; every call that reads results does so first, so that it
 * sees all layers that have ended.
 *
 * fork(): in a child every mark of its parent's managers does nothing, and every other call on them
 * returns ASSAY_ERR_STATE. The child may create a manager of its own.
 *
 * Signal handlers may mark layers, whatever they interrupt. With the leak profiler on, a handler
 * must not be installed with SA_NODEFER: the heap is not read while a signal is blocked that has a
 * handler. longjmp(): ending an outer layer drops the layers that were left inside it without an
 * end, and counts them in calls_abandoned.
 *
 * Times are seconds, timestamps UNIX seconds, MB is MiB, as the documented fields mean it. A value
 * that cannot be had is NaN here and null in JSON, where `<key>_reason` beside it gives the reason.
 */
#ifndef ASSAY_MANAGER_H
#define ASSAY_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <assay/anomaly.h>
#include <assay/bottlenecks.h>
#include <assay/compare.h>
#include <assay/distributed.h>
#include <assay/error.h>
#include <assay/leaks.h>
#include <assay/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_manager;

/* The profilers, by the names that enable and disable them. */
#define ASSAY_PROFILERS(XX)                                                                        \
    XX(LAYER, "layer")                                                                             \
    XX(MEMORY, "memory")                                                                           \
    XX(LEAK, "leak")                                                                               \
    XX(BOTTLENECK, "bottleneck")                                                                   \
    XX(COMPARATIVE, "comparative")                                                                 \
    XX(DISTRIBUTED, "distributed")                                                                 \
    XX(GPU, "gpu")

enum assay_profiler_id {
#define XX(name, text) ASSAY_PROFILER_##name,
    ASSAY_PROFILERS(XX)
#undef XX
        ASSAY_PROFILER_COUNT
};

/* "layer" and so on; NULL for a number that is not a profiler. */
ASSAY_API const char *assay_profiler_name(enum assay_profiler_id id);

/* ---- making one ---- */

/* Zero means the default. What is pointed to is copied. */
struct assay_manager_options {
    size_t size; /* sizeof(struct assay_manager_options) */
    /* The profilers to begin with. NULL: all of them. Not NULL and none: none. */
    const char *const *profilers;
    size_t n_profilers;
    const struct assay_leak_detector_options *leak;             /* NULL: the defaults */
    const struct assay_bottleneck_analyzer_options *bottleneck; /* likewise */
    /* Not NULL: times of calls are watched for anomalies whatever is on. NULL: with the defaults,
     * while the bottleneck profiler is on. Its alert is called with the manager's lock held, on the
     * manager's thread or in a call that reads results. */
    const struct assay_anomaly_detector_options *anomaly;
    const struct assay_distributed_options *distributed;
    /* Memory is read at the end of a layer, unless the last sample is younger than this. 0: at
     * every end. */
    uint64_t memory_interval_us;
    /* CPU time, page faults and context switches of a call are read for layers that take at least
     * this many seconds on average; 0: 20e-6. Negative: never. What layers inside it used is left
     * out; where shorter ones take a 20th of a call's own time or more, its use is not known. */
    double usage_min_seconds;
    size_t max_layers;        /* names; calls of others are put together as "(other)": 65,536 */
    size_t max_timeline;      /* calls kept one by one, the newest: 10,000 */
    size_t max_history_bytes; /* for the times of calls and the timeline: 256 MiB */
    /* A thread reads resident memory this often from the start of a session to its end, for peaks
     * within layers: 1,000 to 60,000,000, shifted at random by up to a tenth. 0: no thread; then
     * the peak of a layer is the greater of its two ends, and what it takes and gives back between
     * them is seen by the kernel's own peak alone (peak_rss_kernel_mb). */
    uint64_t memory_sample_us;
};

/* `options` may be NULL. USAGE for a name that is not a profiler. Takes some 5 ms: it finds out how
 * long a tick of the CPU's counter is, and what an empty layer costs. */
ASSAY_API int assay_manager_new(struct assay_manager **out,
                                const struct assay_manager_options *options,
                                struct assay_error *err);
/* Accepts NULL. No layer may be open any more. */
ASSAY_API void assay_manager_free(struct assay_manager *manager);

/* Switches a profiler on or off, before or during a session. USAGE for a name that is not a
 * profiler, with the nearest one in the message. `gpu` may be switched on but no device is read
 * yet: its part of the report is unavailable, with that reason. */
ASSAY_API int assay_manager_enable(struct assay_manager *manager, const char *name,
                                   struct assay_error *err);
ASSAY_API int assay_manager_disable(struct assay_manager *manager, const char *name,
                                    struct assay_error *err);
ASSAY_API bool assay_manager_is_enabled(const struct assay_manager *manager, const char *name);

/* Begins a session; STATE when one is running. What was gathered before stays: see reset. NOMEM
 * when a thread of the manager could not be started: then there is no session. */
ASSAY_API int assay_manager_start(struct assay_manager *manager, struct assay_error *err);
/* Ends it. STATE when none is running. Layers still open are forgotten: the session ends all the
 * same, returns how many there were, and assay_manager_layers() names them. Ending one of them
 * later does nothing. */
ASSAY_API int assay_manager_end(struct assay_manager *manager, struct assay_error *err);
ASSAY_API bool assay_manager_is_active(const struct assay_manager *manager);

/* Hands every layer that has ended to the profilers now: alerts and calls of profilers of your own
 * that these cause have been made when it returns. */
ASSAY_API int assay_manager_flush(struct assay_manager *manager, struct assay_error *err);

/* Forgets everything gathered, extensions' too; switches, options, extensions and backends stay.
 * STATE while a session runs. */
ASSAY_API int assay_manager_reset(struct assay_manager *manager, struct assay_error *err);

/* ---- marking layers ---- */

/* A fact about one call. */
struct assay_metadata {
    const char *key;
    const char *text; /* NULL: it is a number */
    double number;
};

/* One open layer; kept by the caller from begin to end, on the same thread. */
struct assay_manager_span {
    void *thread;
    uint64_t manager;
    uint64_t serial; /* 0: nothing was begun, and nothing will be ended */
    uint32_t site, depth;
};

/* Begins a layer on this thread. Never fails: while no session runs, with a NULL manager, or with
 * more than 1,024 layers open, the span is empty and ending it does nothing. Names are copied and
 * cut at 1,000 bytes. While a recording session (session.h) is open the layer is marked there too.
 */
ASSAY_API struct assay_manager_span assay_manager_layer_begin(struct assay_manager *manager,
                                                              const char *name);

/* Ends it and hands the call to every profiler that is on. `metadata` may be NULL; at most 32 pairs
 * are kept, texts and keys are cut at 255 bytes. Numbers called memory_usage (MiB), io_operations,
 * gpu_utilization (percent), flops and bytes go to the bottleneck analyzer; the last two are of the
 * call itself, without layers begun inside it.
 * Layers begun inside it that are still open are dropped and counted as abandoned. STATE, and
 * nothing changes, when it was ended before, or on another thread or manager than it was begun.
 * USAGE without a span. */
ASSAY_API int assay_manager_layer_end(struct assay_manager *manager,
                                      const struct assay_manager_span *span,
                                      const struct assay_metadata *metadata, size_t n_metadata,
                                      struct assay_error *err);
/* The same for a call whose work failed: counted apart and in no time. `reason` may be NULL. */
ASSAY_API int assay_manager_layer_fail(struct assay_manager *manager,
                                       const struct assay_manager_span *span, const char *reason,
                                       struct assay_error *err);

/* Iteration `n` begins: leaks are then reported per iteration. A recording session gets it too. */
ASSAY_API void assay_manager_step(struct assay_manager *manager, uint64_t n);

/* ---- reading: layers ---- */

/* One layer. Times are of calls that did not fail; what profiling the layers begun inside it took
 * is in none of them, so that total_seconds is self_seconds and the total_seconds of those. */
struct assay_layer_stats {
    const char *layer;
    uint64_t call_count, failed_count;
    double total_seconds, min_seconds, max_seconds, mean_seconds;
    double std_seconds;        /* population */
    double std_sample_seconds; /* n - 1; NaN for one call */
    double self_seconds;       /* total without layers begun inside */
    double failed_seconds;
    double cv; /* std_seconds / mean_seconds */
    double p50_seconds, p95_seconds, p99_seconds;
    double percentile_error; /* 0: exact (linear between ranks). Otherwise by nearest rank, and the
                                bound of |reported - exact| / exact */
    bool percentiles_newest; /* max_history_bytes was reached: of the newest calls only */
    const double *execution_times_seconds; /* the newest 1,000; several threads by their share */
    size_t n_execution_times;
    const double *self_times_seconds; /* of the same calls; NULL: max_history_bytes was reached */
    size_t n_self_times;
    bool nested; /* layers were begun inside it: self_times_seconds differ */
};

/* One call, in the order of their ends. */
struct assay_layer_event {
    const char *layer;
    double execution_seconds, self_seconds;
    double timestamp_seconds;                           /* of its end */
    double cumulative_seconds, cumulative_self_seconds; /* sums over all calls up to this one */
    bool failed;
    const char *reason;                    /* of a failure; may be NULL */
    uint32_t depth;                        /* 0: outermost */
    uint32_t thread;                       /* counted from 0 in the order of their first layer */
    const struct assay_metadata *metadata; /* keys of the fields above are prefixed "metadata_" */
    size_t n_metadata;
};

struct assay_layer_rank {
    const char *layer;
    double value;
};

/* A copy of all that is known of the layers; it does not change while the program goes on. */
struct assay_layer_profile {
    size_t size;                            /* set by the library */
    const struct assay_layer_stats *layers; /* in the order of their first call */
    size_t n_layers;
    const struct assay_layer_event *timeline;
    size_t n_timeline;
    uint64_t timeline_dropped; /* calls older than those */
    double total_seconds, total_self_seconds;
    uint64_t total_calls, failed_calls;
    double average_seconds_per_call;
    /* The first `top` each: by mean, by std, by std / mean. */
    const struct assay_layer_rank *slowest, *most_variable, *most_variable_cv;
    size_t n_slowest, n_most_variable, n_most_variable_cv;
    const char *const *open_at_end; /* layers a session ended in, outermost first */
    size_t n_open_at_end;
    /* What exceeded a limit. */
    uint64_t calls_unnamed;    /* put together as "(other)": too many names */
    uint64_t calls_too_deep;   /* not recorded: too many open at once, or no memory */
    uint64_t calls_abandoned;  /* begun and left without an end, by longjmp or pthread_exit */
    uint64_t calls_dropped;    /* the lane of their thread was full for 2 s */
    uint64_t metadata_dropped; /* pairs */
    uint64_t open_dropped;     /* beyond the 1,000 named in open_at_end */
    uint32_t n_threads;
};

/* `top` 0 means 5. Free with assay_layer_profile_free(). */
ASSAY_API int assay_manager_layers(struct assay_manager *manager, size_t top,
                                   struct assay_layer_profile **out, struct assay_error *err);
ASSAY_API void assay_layer_profile_free(struct assay_layer_profile *profile);
/* The layer of that name; NULL: there is none. */
ASSAY_API const struct assay_layer_stats *
assay_layer_profile_find(const struct assay_layer_profile *profile, const char *layer);

/* ---- reading: the others ---- */

/* Analyses what was gathered. Borrowed until a layer ends or another call on the manager: ask when
 * no layers run. STATE when the bottleneck profiler is off and nothing was gathered. */
ASSAY_API int assay_manager_analyze_bottlenecks(struct assay_manager *manager,
                                                const struct assay_bottleneck_result **out,
                                                struct assay_error *err);

/* The documented window test, over resident memory at the ends of layers. */
ASSAY_API int assay_manager_leak_summary(struct assay_manager *manager,
                                         struct assay_leak_summary *out, struct assay_error *err);

/* A layer whose calls leave memory behind while the process grows. */
struct assay_layer_leak {
    const char *layer;
    double growth_mb;     /* left behind by its calls, inner layers not counted */
    double mb_per_step;   /* Theil and Sen; per call when no steps were given */
    double mb_per_second; /* NaN when time did not pass */
    double p_value;
    double process_share; /* of what all layers together left behind, both in the whole session */
    uint64_t first_step, last_step; /* ASSAY_UNKNOWN when no steps were given */
};
/* The layers that leak, the worst first: those whose calls leave memory behind with a trend that is
 * sure, while what all layers leave behind grows too, and by no more than that: memory that another
 * layer gives back is not a leak. Returns how many. Borrowed until a layer ends or another call. */
ASSAY_API int assay_manager_layer_leaks(struct assay_manager *manager,
                                        const struct assay_layer_leak **out,
                                        struct assay_error *err);

/* What the window test found (assay/leaks.h), and the growth that a trend test confirms. Both
 * return how many; borrowed until a layer ends or another call on the manager. */
ASSAY_API int assay_manager_leaks(struct assay_manager *manager, const struct assay_leak **out,
                                  struct assay_error *err);
ASSAY_API int assay_manager_leak_incidents(struct assay_manager *manager,
                                           const struct assay_leak_incident **out,
                                           struct assay_error *err);

/* The memory that all layers together left behind. */
struct assay_left_memory {
    size_t size;            /* set by the library */
    const char *source;     /* "heap in use" or "resident memory"; static */
    double left_behind_mb;  /* by all layers of all sessions since the last reset */
    double outside_heap_mb; /* growth of resident memory while the heap did not grow; 0: none */
    size_t n_layer_leaks;   /* layers that assay_manager_layer_leaks() returns */
};
ASSAY_API int assay_manager_left_memory(struct assay_manager *manager,
                                        struct assay_left_memory *out, struct assay_error *err);

/* The newest calls that do not belong to those before them, the oldest first. Returns how many.
 * Borrowed until the next call of this function, a reset or free. */
ASSAY_API int assay_manager_anomalies(struct assay_manager *manager,
                                      const struct assay_anomaly **out, struct assay_error *err);
/* Values and anomalies by layer, in order of first appearance; returned and borrowed likewise. */
ASSAY_API int assay_manager_anomaly_layers(struct assay_manager *manager,
                                           const struct assay_anomaly_layer **out,
                                           struct assay_error *err);
/* Totals, thresholds, and what exceeded the limits. */
ASSAY_API int assay_manager_anomaly_summary(struct assay_manager *manager,
                                            struct assay_anomaly_summary *out,
                                            struct assay_error *err);

/* Memory of the process at the end of one call. Counts and bytes that are unavailable are
 * ASSAY_UNKNOWN, MiB and seconds are NaN. */
struct assay_memory_reading {
    const char *layer;
    double timestamp_seconds;  /* UNIX seconds */
    double cpu_memory_mb;      /* resident after the call */
    double memory_delta_mb;    /* the same less the baseline */
    double cpu_memory_percent; /* of the machine's or the container's memory */
    double memory_growth_mb;   /* resident after the call, less after the first call of all */
    uint64_t rss_before_bytes, rss_after_bytes;
    uint64_t rss_peak_bytes; /* peak within the call, both ends included */
    uint64_t rss_samples;    /* of the sampler within the call; 0: only the ends are known */
    double before_age_seconds, after_age_seconds; /* age of the values at begin and end */
    uint64_t minor_faults, major_faults;          /* within the call, of the whole process */
    /* The program's own account (assay/memory.h). */
    uint64_t counted_before_bytes, counted_after_bytes; /* of all threads */
    uint64_t counted_peak_bytes; /* rise of this thread above its account at begin; exact */
    int64_t counted_net_bytes;   /* taken less given back by this thread; 0 when unavailable */
    bool counted_known;          /* counted_net_bytes is available */
    const char *metadata;        /* one JSON object; NULL: the call has none */
    const char *reason;          /* why a value above is unavailable; NULL: none is */
};

/* Over all calls of one layer. */
struct assay_layer_memory {
    const char *layer;
    uint64_t call_count;
    uint64_t n_known; /* calls whose memory was read */
    double mean_memory_mb, std_memory_mb, min_memory_mb, max_memory_mb; /* std: population */
    uint64_t min_memory_bytes, max_memory_bytes;
    uint64_t counted_peak_bytes; /* by the program's own account, greatest within one call */
    uint64_t rss_rise_bytes;     /* greatest rise above the memory at its begin, within one call */
    uint64_t minor_faults, major_faults; /* over all calls */
};

/* A copy of what the memory profiler knows. */
struct assay_memory_profile {
    size_t size;        /* sizeof(struct assay_memory_profile) as the library knows it */
    bool started;       /* a baseline was taken; false: nothing below is known */
    const char *reason; /* why a value below is unavailable; NULL: none is */
    double baseline_memory_mb, peak_memory_mb; /* the peak of all snapshots and of the sampler */
    uint64_t baseline_memory_bytes, peak_memory_bytes;
    double memory_growth_mb;                     /* the last snapshot less the first */
    uint64_t peak_rss_kernel_bytes;              /* since the process began */
    uint64_t memory_total_bytes;                 /* of the machine or the container */
    uint64_t total_snapshots, snapshots_dropped; /* dropped: older than those kept */
    uint64_t metadata_dropped;                   /* snapshots whose metadata exceeded 4,096 bytes */
    uint64_t calls_joined; /* calls of layers beyond the first 4,096, which share one row */
    /* Of the sampler (memory_sample_us); ASSAY_UNKNOWN and NaN without one. */
    uint64_t sampler_samples;
    double sampler_cpu_seconds, sampler_seconds;
    struct assay_memory_counts categories;   /* the program's own account, now */
    const struct assay_layer_memory *layers; /* in the order of their first end */
    size_t n_layers;
    const struct assay_memory_reading *snapshots; /* the oldest first */
    size_t n_snapshots;
};
/* Free with assay_memory_profile_free(), which accepts NULL. */
ASSAY_API int assay_manager_memory(struct assay_manager *manager, struct assay_memory_profile **out,
                                   struct assay_error *err);
ASSAY_API void assay_memory_profile_free(struct assay_memory_profile *profile);

/* To feed with nodes and their events; the manager's. Borrowed; one thread at a time, and not while
 * a report is made. */
ASSAY_API struct assay_distributed *assay_manager_distributed(struct assay_manager *manager);

/* What the session did and what profiling it cost. */
struct assay_manager_session {
    size_t size;                                 /* set by the library */
    double start_time_seconds, end_time_seconds; /* UNIX seconds; NaN: not started, not ended */
    double duration_seconds; /* of all sessions since the last reset, up to now */
    uint64_t sessions;
    uint64_t calls;          /* of layers that ended */
    double seconds_per_call; /* of an empty layer, measured by assay_manager_new() */
    double feeding_seconds;  /* CPU time of handing calls to the profilers */
    double wait_seconds;     /* threads waited because their lanes were full */
    double cpu_seconds;      /* CPU time of the whole process in that duration */
    double cost_seconds;     /* of all marks, one in 5 of which is measured where profilers beside
                                layer are on and one in 17 otherwise, little of those in which the
                                thread was preempted; feeding_seconds and wait_seconds */
    double cost_share;       /* cost_seconds / (cpu_seconds + wait_seconds); NaN without a call */
    uint64_t feed_failures;  /* calls that a profiler could not take, as for lack of memory */
};
ASSAY_API void assay_manager_read_session(struct assay_manager *manager,
                                          struct assay_manager_session *out);

/* Adds the statistics of the layers as they are now under the name of a backend; run the same work
 * on another, after a reset, and add that. STATE when the comparative profiler is off or no layer
 * was called. A reset of the manager keeps the backends; this one forgets them. */
ASSAY_API int assay_manager_compare_backends(struct assay_manager *manager, const char *name,
                                             struct assay_error *err);
ASSAY_API void assay_manager_forget_backends(struct assay_manager *manager);
/* Compares those named, or all when `names` is NULL; as assay_compare_run(). Borrowed until the
 * next call on the manager. */
ASSAY_API int assay_manager_comparison(struct assay_manager *manager, const char *const *names,
                                       size_t n, const struct assay_comparison **out,
                                       struct assay_error *err);

/* ---- reports ---- */

/* Writes everything into the file `path`, making missing folders above it: as a run when its name
 * ends in ".assay", else as JSON (schema "assay.manager", indented by 2), which holds the run.
 * `assay report` shows either. The complete file appears, or nothing does. */
ASSAY_API int assay_manager_export(struct assay_manager *manager, const char *path,
                                   struct assay_error *err);

/* Prints the page that `assay report` shows of an export: as wide as the terminal, or 80 columns,
 * without color. IO when the file does not take it. */
ASSAY_API int assay_manager_print(struct assay_manager *manager, FILE *file,
                                  struct assay_error *err);

/* The same text as an export, NUL-terminated, and the one for dashboards. `size` may be NULL. Free
 * with assay_manager_text_free(). */
ASSAY_API int assay_manager_report(struct assay_manager *manager, char **text, size_t *size,
                                   struct assay_error *err);
ASSAY_API int assay_manager_dashboard(struct assay_manager *manager, char **text, size_t *size,
                                      struct assay_error *err);
ASSAY_API void assay_manager_text_free(char *text);

/* ---- profilers of your own ---- */

/* A call of a layer that ended, as profilers see it. */
struct assay_layer_call {
    size_t size; /* sizeof(struct assay_layer_call) as the library knows it */
    const char *layer;
    double execution_seconds, self_seconds, timestamp_seconds;
    uint32_t depth, thread;
    uint64_t step;    /* ASSAY_UNKNOWN: none was given */
    double memory_mb; /* resident at its end; NaN: not read */
    bool failed;
    const char *reason;
    const struct assay_metadata *metadata;
    size_t n_metadata;
};

/* Where an extension writes its part of the report: members of one JSON object. `key` is NULL
 * inside an array, and only there. */
struct assay_json;
ASSAY_API void assay_json_number(struct assay_json *json, const char *key, double value);
ASSAY_API void assay_json_count(struct assay_json *json, const char *key, uint64_t value);
ASSAY_API void assay_json_text(struct assay_json *json, const char *key, const char *value);
ASSAY_API void assay_json_flag(struct assay_json *json, const char *key, bool value);
ASSAY_API void assay_json_object(struct assay_json *json, const char *key);
ASSAY_API void assay_json_array(struct assay_json *json, const char *key);
/* Ends the innermost object or array. */
ASSAY_API void assay_json_close(struct assay_json *json);

/* A profiler. All calls but create and destroy are made with the manager's lock held: they must not
 * call the manager. layer_end is called on the manager's thread, or in a call that reads results.
 * Any but name may be NULL. */
struct assay_profiler {
    size_t size;      /* sizeof(struct assay_profiler) */
    const char *name; /* its key under `extensions`; a word of its own */
    void *context;    /* handed to create */
    int (*create)(void *context, void **state, struct assay_error *err);
    void (*start)(void *state); /* a session begins */
    void (*layer_end)(void *state, const struct assay_layer_call *call);
    int (*report)(void *state, struct assay_json *out, struct assay_error *err);
    void (*reset)(void *state);
    void (*destroy)(void *state);
};

/* Adds one; at most 32. The struct is copied. USAGE for a name that is taken, STATE while a session
 * runs; otherwise the code that create returned. */
ASSAY_API int assay_manager_add_profiler(struct assay_manager *manager,
                                         const struct assay_profiler *profiler,
                                         struct assay_error *err);

/* ---- scopes ---- */

/* A layer that ends by itself. Kept in a variable only through the macros below. */
struct assay_manager_scope {
    struct assay_manager *manager;
    struct assay_manager_span span;
    const struct assay_metadata *metadata; /* borrowed until the scope ends */
    size_t n_metadata;
    const char *reason;
    bool failed;
};

#ifndef ASSAY_DISABLE
static inline struct assay_manager_scope assay_manager_scope_open_(struct assay_manager *manager,
                                                                   const char *name)
{
    struct assay_manager_scope scope = {manager, {NULL, 0, 0, 0, 0}, NULL, 0, NULL, false};

    scope.span = assay_manager_layer_begin(manager, name);
    return scope;
}

static inline void assay_manager_scope_close_(struct assay_manager_scope *scope)
{
    if (scope->failed)
        (void)assay_manager_layer_fail(scope->manager, &scope->span, scope->reason, NULL);
    else
        (void)assay_manager_layer_end(scope->manager, &scope->span, scope->metadata,
                                      scope->n_metadata, NULL);
}
#endif

/* The scope will end as failed; `reason` is borrowed until then and may be NULL. */
static inline void assay_manager_scope_fail(struct assay_manager_scope *scope, const char *reason)
{
    scope->failed = true;
    scope->reason = reason;
}

/* The scope will end with these facts, borrowed until then. */
static inline void assay_manager_scope_tell(struct assay_manager_scope *scope,
                                            const struct assay_metadata *metadata, size_t n)
{
    scope->metadata = metadata;
    scope->n_metadata = n;
}

#ifdef __cplusplus
}
#endif

#ifdef ASSAY_DISABLE /* nothing is left of them but the expressions they stand around */

#define ASSAY_MANAGER_LAYER_NAMED(var, manager, name)                                              \
    struct assay_manager_scope var                                                                 \
        __attribute__((unused)) = {NULL, {NULL, 0, 0, 0, 0}, NULL, 0, NULL, false}
#define ASSAY_MANAGER_LAYER(manager, name)     ((void)(0 && (manager)))
#define ASSAY_MANAGER_FUNCTION(manager)        ((void)(0 && (manager)))
#define ASSAY_MANAGER_CALL(manager, name, ...) (__VA_ARGS__)
#define ASSAY_MANAGER_WRAP(type, wrapper, manager, function, parameters, arguments)                \
    static inline type wrapper parameters                                                          \
    {                                                                                              \
        return function arguments;                                                                 \
    }

#else

#define ASSAY_MANAGER_JOIN2_(a, b) a##b
#define ASSAY_MANAGER_JOIN_(a, b)  ASSAY_MANAGER_JOIN2_(a, b)

/* A layer from here to the end of the enclosing block, whichever way it is left. The second form
 * names the variable, for assay_manager_scope_fail() and assay_manager_scope_tell(). */
#define ASSAY_MANAGER_LAYER(manager, name)                                                         \
    ASSAY_MANAGER_LAYER_NAMED(ASSAY_MANAGER_JOIN_(assay_manager_scope_, __COUNTER__), manager, name)
#define ASSAY_MANAGER_LAYER_NAMED(var, manager, name)                                              \
    struct assay_manager_scope var __attribute__((cleanup(assay_manager_scope_close_), unused)) =  \
        assay_manager_scope_open_((manager), (name))

/* The same for the rest of a function, under the function's name. */
#define ASSAY_MANAGER_FUNCTION(manager) ASSAY_MANAGER_LAYER(manager, __func__)

/* Evaluates an expression inside a layer and gives its value:
 *
 *     int y = ASSAY_MANAGER_CALL(m, "conv1", conv(x, n));
 */
#define ASSAY_MANAGER_CALL(manager, name, ...)                                                     \
    __extension__({                                                                                \
        ASSAY_MANAGER_LAYER(manager, name);                                                        \
        __VA_ARGS__;                                                                               \
    })

/* Defines `wrapper`, which calls `function` inside a layer of that function's name; `manager` is an
 * expression that is looked at in every call:
 *
 *     ASSAY_MANAGER_WRAP(int, timed_conv, my_manager, conv, (const float *x, int n), (x, n)) */
#define ASSAY_MANAGER_WRAP(type, wrapper, manager, function, parameters, arguments)                \
    static inline type wrapper parameters                                                          \
    {                                                                                              \
        ASSAY_MANAGER_LAYER(manager, #function);                                                   \
        return function arguments;                                                                 \
    }

#endif
#endif
