/* analyze/run/saved_profile.h - what a session found, whichever way it is kept: a run file, or the
 * JSON that assay_manager_export() wrote. One struct for the pages, the classic text and diff. */
#ifndef AS_ANALYZE_RUN_SAVED_PROFILE_H
#define AS_ANALYZE_RUN_SAVED_PROFILE_H

#include <assay/bottlenecks.h>
#include <assay/leaks.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/run/layers.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_tree.h"

/* ---- saved_profile_parts.c ---- */

/* Numbers are NaN and texts "" where the file does not tell them; `why` of a part says why it is
 * not there at all, NULL: it is. */
struct as_view_anomaly {
    const char *layer, *metric, *test;
    double value, median, z; /* z: NaN too when the values before had no spread */
};

struct as_view_anomalies {
    const char *why;
    uint64_t count, values;             /* `count` of `values` stand out */
    const struct as_view_anomaly *list; /* the farthest from those before it first */
    size_t n;
};

struct as_view_finding {
    const char *type, *severity, *details, *recommendation;
};

struct as_view_node {
    const char *id;
    double seconds, over_mean, communication_ms, synchronization_ms, barrier_wait_ms;
};

struct as_view_distributed {
    const char *why;
    uint64_t nodes;
    const struct as_view_finding *finding;
    size_t n_findings;
    const struct as_view_node *node;
    size_t n_nodes;
};

struct as_view_backend {
    const char *name;
    double total_time, layer_wins, peak_memory_mb, energy_j;
};

struct as_view_backends {
    const char *why;
    const char *recommendation, *verdict; /* verdict: of the test between the first and the last */
    const char *unequal;                  /* why their work was not the same; "": it was */
    const struct as_view_backend *list;   /* in the order they were added */
    size_t n;
};

struct as_view_parts {
    struct as_view_anomalies anomalies;
    struct as_view_distributed distributed;
    struct as_view_backends backends;
};

/* `root` is the file, hostile; what is told lives as long as it and the arena. */
AS_MUST_USE int as_view_parts_read(struct as_view_parts *to, struct as_arena *arena,
                                   const struct as_json_value *root, struct assay_error *err);

/* ---- the whole ---- */

/* Times in seconds, memory in MiB, as the documented fields have them. NaN: not known. */
struct as_view_layer {
    const char *name;
    uint32_t site; /* in the run; 0: from JSON */
    uint64_t calls, failed;
    bool calls_unknown, failed_unknown; /* then they are 0 */
    double total_time, self_time, min_time, max_time, mean_time, std_time;
    double std_time_sample, cv, p50_time, p95_time,
        p99_time;                     /* NaN from a run, which has its own */
    size_t place;                     /* in the file: the order of first calls */
    const struct as_json_value *json; /* what the file says of it; NULL: from a run */
    uint64_t memory_readings;
    double mean_memory_mb, std_memory_mb, min_memory_mb, max_memory_mb;
};

struct as_view_memory {
    const char *why;  /* not known, and why; NULL: known */
    const char *what; /* "resident memory of the process", or of the tree */
    double baseline_mb, peak_mb, last_mb;
    double kernel_peak_mb; /* VmHWM, since the process began: no reading can miss it */
    uint64_t snapshots;
    double *seconds, *mb; /* over time, since the first; may be thinned */
    size_t n;
};

struct as_view_leaks {
    const char *why;
    struct assay_leak_summary summary;
    const struct assay_leak *leaks;
    size_t n_leaks;
    const struct assay_leak_incident *incidents;
    size_t n_incidents;
    double outside_heap_mb; /* resident memory grew by so much, the heap did not; 0: nothing */
    size_t again; /* readings of the process that `leaks` was judged from anew; 0: it was not */
};

struct as_view_gpu {
    const char *why;
    double mean_utilization_percent, peak_memory_mb;
};

struct as_saved_profile {
    struct as_arena arena;
    const char *name;                              /* of the program or the file; never NULL */
    double start_time, end_time, duration_seconds; /* UNIX seconds; NaN: not known */
    struct as_view_layer *layer;
    size_t n_layers;
    enum as_layer_sort order; /* of them; by total time, largest first, unless asked for another */
    uint64_t calls, failed;
    double total_time; /* of all layers, begin to end: nested ones count twice */
    double cost_share; /* of profiling; NaN: not known */
    const char *odd;   /* what the file says that cannot be, and is not known; NULL: nothing */
    struct as_view_memory memory;
    struct as_view_leaks leaks;
    /* Of a run of `assay run`, whose memory is judged by analyze/watch/target_findings.h: its
     * headline. Set by the caller, borrowed; NULL: of another run. */
    const char *program_verdict;
    struct assay_bottleneck_result bottlenecks;
    struct as_view_gpu gpu;
    struct as_view_parts parts; /* of JSON alone */

    /* The makers of the above. */
    struct assay_leak_detector *detector;
    struct assay_bottleneck_analyzer *analyzer;
    const struct as_json_value *json; /* the whole file; NULL: from a run */
};

/* Thresholds and this machine's peaks; NULL members mean the defaults. */
struct as_view_options {
    const struct assay_bottleneck_options *bottlenecks;
    const struct assay_leak_options *leaks;
};

/* From a run, whose layers were analysed; both must outlive the view. `options` may be NULL. */
AS_MUST_USE int as_saved_profile_run(struct as_saved_profile **out, struct as_run *run,
                                     const struct as_layers *layers,
                                     const struct as_view_options *options,
                                     struct assay_error *err);

/* Whether bytes look like the JSON of a session, and not like a run. */
bool as_saved_profile_is_json(const void *data, size_t size);

/* From that JSON, hostile. `name` is what the view shall be called. */
AS_MUST_USE int as_saved_profile_json(struct as_saved_profile **out, const char *name,
                                      const void *data, size_t size, struct assay_error *err);

/* The file of either kind: NOTFOUND, and nothing read, when it is not JSON. */
AS_MUST_USE int as_saved_profile_file(struct as_saved_profile **out, const char *path,
                                      struct assay_error *err);

/* Orders the layers; those without the figure come last. */
void as_saved_profile_order(struct as_saved_profile *view, enum as_layer_sort sort);

/* Judges windows of the readings of memory that the JSON holds, with other limits than the session
 * had: of resident memory as it is, ours included. USAGE when it holds none. */
AS_MUST_USE int as_saved_profile_judge_leaks(struct as_saved_profile *view,
                                             const struct assay_leak_options *options,
                                             struct assay_error *err);

/* Accepts NULL. */
void as_saved_profile_free(struct as_saved_profile *view);

#endif
