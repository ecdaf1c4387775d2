/* analyze/run/manager_run.h - all that a manager (assay/manager.h) found out, as a run of kind
 * "manager": put into one when it reports, and read back whoever shows it. Times in seconds, memory
 * in MiB, as the documented fields have them; NaN: unknown. */
#ifndef AS_ANALYZE_RUN_MANAGER_RUN_H
#define AS_ANALYZE_RUN_MANAGER_RUN_H

#include <assay/manager.h>

#include "analyze/detect/leak_detector.h"
#include "analyze/run/layers.h"
#include "profiler/memory_profile.h"
#include "trace/run/run_maker.h"

#define AS_KIND_MANAGER "manager"

/* What may be missing, with its reason. */
enum as_manager_part {
    AS_PART_LAYERS,
    AS_PART_MEMORY,
    AS_PART_LEAKS,
    AS_PART_BOTTLENECKS,
    AS_PART_GPU, /* always */
    AS_PART_DISTRIBUTED,
    AS_PART_BACKENDS,
    AS_PART_ANOMALIES,
    AS_PART_COUNT
};

/* What an extension wrote. */
struct as_manager_extra {
    const char *name;
    const char *json;   /* one value; NULL: it failed */
    const char *reason; /* why */
};

/* Values that do not belong to those before them. */
struct as_anomaly_report {
    struct assay_anomaly_summary summary;
    const struct assay_anomaly *list; /* the oldest first */
    size_t n;
    const struct assay_anomaly_layer *layer;
    size_t n_layers;
};

/* What layers leave behind. */
struct as_held_report {
    const char *source; /* of the numbers */
    double all_mb;      /* by all layers together */
    const struct assay_layer_leak *leak;
    size_t n;
};

struct as_manager_run {
    const char *assay_version;
    double timestamp;
    struct assay_manager_session session;
    bool on[ASSAY_PROFILER_COUNT];
    const char *reason[AS_PART_COUNT]; /* NULL: the part is there */
    struct assay_layer_profile layers;
    struct as_memory_report memory;
    struct as_leak_report leaks;
    struct as_held_report held;
    struct assay_bottleneck_result bottlenecks;
    struct assay_distributed_result distributed;
    struct assay_comparison backends;
    struct as_anomaly_report anomalies;
    const struct as_manager_extra *extra;
    size_t n_extra;
};

/* Adds it to a run that is being made. */
void as_manager_run_put(struct as_run_maker *maker, const struct as_manager_run *from);

/* Reads it back, into the run's memory. The run is hostile: FORMAT for what no manager can have
 * found. */
AS_MUST_USE int as_manager_run_get(struct as_run *run, struct as_manager_run *to,
                                   struct assay_error *err);

/* Its layers as those of any run, which must outlive them. */
AS_MUST_USE int as_manager_run_layers(struct as_layers **out, struct as_run *run,
                                      const struct as_manager_run *from, struct assay_error *err);

/* In `arena`, in the order of their ages. */
AS_MUST_USE int as_anomaly_report(const struct assay_anomaly_detector *detector,
                                  struct as_arena *arena, struct as_anomaly_report *out,
                                  struct assay_error *err);

/* ---- manager_fields.c: the documented keys ---- */

extern const struct as_json_shape as_manager_session_shape, as_layer_stats_shape,
    as_layer_event_shape, as_layer_rank_shape, as_memory_summary_shape, as_memory_row_shape,
    as_memory_reading_shape, as_memory_growth_shape, as_leak_summary_shape, as_leak_shape,
    as_incident_shape, as_layer_leak_shape, as_bottleneck_shape, as_recommendation_shape,
    as_ranked_layer_shape, as_bottleneck_totals_shape, as_bottleneck_summary_shape,
    as_anomaly_shape, as_anomaly_layer_shape, as_anomaly_summary_shape, as_speedup_test_shape,
    as_backend_data_shape, as_layer_comparison_shape, as_backend_total_shape,
    as_comparison_summary_shape, as_node_load_shape, as_load_balance_shape,
    as_operation_total_shape, as_communication_shape, as_synchronization_shape,
    as_distributed_bottleneck_shape, as_metric_total_shape;

#endif
