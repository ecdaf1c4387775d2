/* analyze/run/manager_fields.c - the fields of what a manager found, each once: the run, its rows
 * and the documented JSON are written from these tables. */
#include "analyze/run/manager_run.h"

#include <math.h>
#include <string.h>

#include "base/finding.h"
#include "base/units.h"
#include "stats/describe/quantile.h"

/* Fields of S, the struct at hand. */
#define F(member)          AS_FIELD(S, member)
#define K(key, member)     AS_FIELD_KEY(S, key, member, NULL, NULL)
#define NAME(member)       AS_FIELD_AS(S, #member, member, AS_FIELD_NAME)
#define KNOWN(key, member) AS_FIELD_AS(S, key, member, AS_FIELD_KNOWN)
#define BYTES(key, member) AS_FIELD_AS(S, key, member, AS_FIELD_BYTES)
#define MADE(key, writer)  AS_FIELD_DERIVED(key, writer)
#define TEXTS(name, member, count)                                                                 \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_LIST, .item = AS_FIELD_NAME,                               \
        .offset = offsetof(S, member), .size = sizeof(const char *),                               \
        .count_offset = offsetof(S, count), .count_size = sizeof(size_t), .max = MAX_NAMES         \
    }
#define INSIDE(name, member, of)                                                                   \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_OBJECT, .offset = offsetof(S, member),                     \
        .size = sizeof(((S *)0)->member), .shape = &(of)                                           \
    }
#define DESCRIBE(name, ...)                                                                        \
    static const struct as_json_field name##_fields[] = {__VA_ARGS__};                             \
    const struct as_json_shape name = AS_SHAPE(S, name##_fields)
#define DESCRIBE_OWN(name, ...)                                                                    \
    static const struct as_json_field name##_fields[] = {__VA_ARGS__};                             \
    static const struct as_json_shape name = AS_SHAPE(S, name##_fields)

enum {
    MAX_TIMES = 1 << 20, /* of one layer */
    MAX_PAIRS = 64,
    MAX_NAMES = 1 << 16,
};

#define MOST_CALLS   ((uint64_t)1 << 53)
#define MOST_SECONDS 1e10 /* three centuries */

static void put_null(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_null(w);
}

static void put_no_device(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_text(w, "no GPU is measured in this session");
}

/* ---- the session ---- */

#define S struct assay_manager_session
DESCRIBE(as_manager_session_shape, K("start_time", start_time_seconds),
         K("end_time", end_time_seconds), F(duration_seconds), F(sessions), F(calls),
         F(seconds_per_call), F(feeding_seconds), F(wait_seconds), F(cpu_seconds),
         K("total_seconds", cost_seconds), K("share", cost_share), F(feed_failures));
#undef S

/* ---- layers ---- */

static void put_method(struct as_json_writer *w, const void *object)
{
    const struct assay_layer_stats *s = object;
    bool exact = s->percentile_error == 0;

    as_json_text(w, as_quantile_name(exact ? AS_QUANTILE_LINEAR : AS_QUANTILE_NEAREST_RANK));
}

static void put_which(struct as_json_writer *w, const void *object)
{
    const struct assay_layer_stats *s = object;

    as_json_text(w, s->percentiles_newest ? "newest calls" : "all calls");
}

#define S struct assay_layer_stats
DESCRIBE(as_layer_stats_shape, NAME(layer), F(call_count), F(failed_count),
         K("total_time", total_seconds), K("min_time", min_seconds), K("max_time", max_seconds),
         K("mean_time", mean_seconds), K("std_time", std_seconds),
         K("std_time_sample", std_sample_seconds), K("coefficient_of_variation", cv),
         K("self_time", self_seconds), K("failed_time", failed_seconds), K("p50_time", p50_seconds),
         K("p95_time", p95_seconds), K("p99_time", p99_seconds),
         MADE("percentile_method", put_method), F(percentile_error),
         MADE("percentiles_of", put_which),
         AS_FIELD_KEY_VALUES(S, "execution_times", execution_times_seconds, n_execution_times,
                             MAX_TIMES),
         AS_FIELD_KEY_VALUES(S, "self_times", self_times_seconds, n_self_times, MAX_TIMES),
         F(percentiles_newest), F(nested));
#undef S

#define S struct assay_metadata
DESCRIBE_OWN(pair_shape, NAME(key), F(text), F(number));
#undef S

static void put_status(struct as_json_writer *w, const void *object)
{
    as_json_text(w, ((const struct assay_layer_event *)object)->failed ? "failed" : "ok");
}

#define S struct assay_layer_event
DESCRIBE(as_layer_event_shape, NAME(layer), K("execution_time", execution_seconds),
         K("self_time", self_seconds), K("timestamp", timestamp_seconds),
         K("cumulative_time", cumulative_seconds),
         K("cumulative_self_time", cumulative_self_seconds), MADE("status", put_status), F(reason),
         F(depth), F(thread), F(failed),
         AS_FIELD_LIST(S, metadata, n_metadata, &pair_shape, MAX_PAIRS));
#undef S

#define S struct assay_layer_rank
DESCRIBE(as_layer_rank_shape, NAME(layer), F(value));
#undef S

/* ---- memory ---- */

static void put_known(struct as_json_writer *w, const void *object)
{
    const struct as_memory_profile_summary *s = object;

    as_json_text(w, s->baseline_bytes == ASSAY_UNKNOWN ? "unavailable" : "ok");
}

#define S struct assay_memory_counts
DESCRIBE_OWN(counts_shape, AS_FIELD_KEY_NUMBERS(S, "current", current_bytes, current_bytes[0]),
             AS_FIELD_KEY_NUMBERS(S, "peak", peak_bytes, peak_bytes[0]),
             AS_FIELD_NUMBERS(S, added, added[0]), K("current_total", current_total_bytes),
             K("peak_total", peak_total_bytes), F(mistakes), F(any));
#undef S

#define S struct as_memory_profile_summary
DESCRIBE(as_memory_summary_shape, MADE("status", put_known), K("reason", why),
         F(baseline_memory_mb), KNOWN("baseline_memory_bytes", baseline_bytes), F(peak_memory_mb),
         KNOWN("peak_memory_bytes", peak_bytes),
         BYTES("peak_rss_kernel_bytes", peak_rss_kernel_bytes),
         BYTES("memory_total_bytes", memory_total_bytes), F(total_snapshots), F(snapshots_kept),
         F(snapshots_dropped), F(metadata_dropped), K("layers", n_layers),
         K("calls_of_layers_joined", layers_joined), KNOWN("sampler_readings", samples),
         KNOWN("sampler_cpu_ns", sampler_cpu_ns), KNOWN("sampler_wall_ns", sampler_wall_ns),
         MADE("peak_gpu_memory_mb", put_null), MADE("gpu_reason", put_no_device),
         F(memory_growth_mb), AS_FIELD_OBJECT(S, counts, &counts_shape));
#undef S

#define S struct as_memory_layer_row
DESCRIBE(as_memory_row_shape, NAME(layer), F(call_count), K("calls_known", n_known),
         F(mean_memory_mb), F(std_memory_mb), F(min_memory_mb), F(max_memory_mb),
         KNOWN("min_memory_bytes", min_bytes), KNOWN("max_memory_bytes", max_bytes),
         BYTES("counted_peak_within_bytes", counted_peak_bytes),
         BYTES("cpu_memory_rise_bytes", rss_rise_bytes), KNOWN("minor_faults", minor_faults),
         KNOWN("major_faults", major_faults), MADE("mean_gpu_memory_mb", put_null),
         MADE("max_gpu_memory_mb", put_null), MADE("gpu_reason", put_no_device));
#undef S

static void put_net(struct as_json_writer *w, const void *object)
{
    const struct as_memory_layer_reading *r = object;

    if (r->counted_known)
        as_json_i64(w, r->counted_net_bytes);
    else
        as_json_null(w);
}

/* One JSON value of the program's; what a run holds may be none. */
static void put_metadata(struct as_json_writer *w, const void *object)
{
    const struct as_memory_layer_reading *r = object;

    as_json_raw_checked(w, r->metadata);
}

#define S struct as_memory_layer_reading
DESCRIBE(as_memory_reading_shape, NAME(layer), F(timestamp), F(cpu_memory_mb),
         KNOWN("cpu_memory_bytes", rss_after_bytes), F(memory_delta_mb), F(cpu_memory_percent),
         BYTES("cpu_memory_before_bytes", rss_before_bytes),
         BYTES("cpu_memory_peak_bytes", rss_peak_bytes), KNOWN("peak_samples", rss_samples),
         F(before_age_ns), F(after_age_ns), BYTES("counted_before_bytes", counted_before_bytes),
         BYTES("counted_after_bytes", counted_after_bytes),
         BYTES("counted_peak_within_bytes", counted_peak_bytes), MADE("counted_net_bytes", put_net),
         KNOWN("minor_faults", minor_faults), KNOWN("major_faults", major_faults),
         MADE("gpu_memory_mb", put_null), MADE("gpu_reserved_mb", put_null),
         MADE("gpu_peak_mb", put_null), MADE("gpu_reason", put_no_device), K("reason", why),
         MADE("metadata", put_metadata), K("net_bytes", counted_net_bytes), F(counted_known),
         F(growth_mb), K("metadata_json", metadata));

DESCRIBE(as_memory_growth_shape, NAME(layer), F(timestamp), K("memory_growth_mb", growth_mb));
#undef S

/* ---- leaks ---- */

#define S struct assay_leak
DESCRIBE(as_leak_shape, F(start_memory_mb), F(end_memory_mb), F(increase_mb),
         F(growth_rate_mb_per_step), F(window_size),
         TEXTS("layers_involved", layers_involved, n_layers_involved),
         K("timestamp", timestamp_seconds));
#undef S

/* NULL: it is known. */
static void put_exhaustion_reason(struct as_json_writer *w, const void *object)
{
    const struct assay_leak_incident *i = object;

    as_json_text(w, isfinite(i->seconds_to_exhaustion) ? NULL
                    : isfinite(i->mb_per_second)       ? "how much memory is left is unknown"
                                                       : "no time passed between the samples");
}

#define S struct assay_leak_incident
DESCRIBE(as_incident_shape, F(layer), K("first_reading", first), K("last_reading", last),
         KNOWN("first_step", first_step), KNOWN("last_step", last_step),
         K("start_time_unix_seconds", start_time_seconds),
         K("end_time_unix_seconds", end_time_seconds), F(start_memory_mb), F(end_memory_mb),
         F(net_growth_mb), K("growth_mb_per_step", mb_per_step),
         K("growth_mb_per_second", mb_per_second), F(p_value), K("kendall_tau", tau),
         F(seconds_to_exhaustion), MADE("seconds_to_exhaustion_reason", put_exhaustion_reason));
#undef S

#define S struct assay_leak_summary
DESCRIBE(as_leak_summary_shape, F(has_leaks), F(leak_count), F(total_memory_leaked_mb),
         K("average_growth_rate", average_growth_mb_per_step), F(leaks_dropped), F(growing),
         K("series", n_series), K("readings", n_readings),
         K("layer_readings_dropped", layers_dropped));
#undef S

#define S struct assay_layer_leak
DESCRIBE(as_layer_leak_shape, NAME(layer), F(growth_mb), F(mb_per_step), F(mb_per_second),
         F(p_value), K("share", process_share), KNOWN("first_step", first_step),
         KNOWN("last_step", last_step));
#undef S

/* ---- bottlenecks ---- */

static const char *const type_name[] = {
#define X(name, text) text,
    ASSAY_BOTTLENECK_TYPES(X)
#undef X
};
static const char *const priority_name[] = {"low", "medium", "high"};

#define S struct assay_bottleneck
DESCRIBE(as_bottleneck_shape, NAME(layer), K("mean_execution_time", mean_execution_seconds),
         K("execution_time_std", std_execution_seconds), K("threshold", threshold_seconds),
         F(overhead_percentage), K("mean_memory_usage", mean_memory_usage_mb), F(io_intensity),
         K("gpu_utilization", gpu_utilization_percent),
         AS_FIELD_NAMED_ARRAY(S, "bottleneck_type", type, n_types, type_name), F(severity_score));
#undef S

#define S struct assay_recommendation
DESCRIBE(as_recommendation_shape, NAME(layer), NAME(type), NAME(category),
         AS_FIELD_NAMED(S, priority, priority_name), NAME(recommendation), NAME(details));
#undef S

#define S struct assay_cause
DESCRIBE_OWN(cause_shape, AS_FIELD_NAMED(S, type, type_name), F(strength), NAME(evidence));
#undef S

#define S struct assay_ranked_layer
DESCRIBE(as_ranked_layer_shape, NAME(layer), F(calls), F(failed), F(self_seconds), F(share),
         F(speedup_bound), F(mean_seconds), F(cv), F(roof_fraction), F(severity),
         {.key = "causes",
          .kind = AS_FIELD_ARRAY,
          .item = AS_FIELD_OBJECT,
          .offset = offsetof(S, cause),
          .size = sizeof(struct assay_cause),
          .count_offset = offsetof(S, n_causes),
          .count_size = sizeof(size_t),
          .shape = &cause_shape,
          .max = ASSAY_BOTTLENECK_TYPE_COUNT});
#undef S

#define S struct assay_bottleneck_summary
DESCRIBE(as_bottleneck_summary_shape, F(total_bottlenecks), F(critical_bottlenecks),
         F(total_overhead_ms), AS_FIELD_NUMBERS(S, by_type, by_type[0]));
#undef S

#define S struct assay_bottleneck_result
DESCRIBE(as_bottleneck_totals_shape, K("threshold_seconds", threshold_seconds), F(threshold_exact),
         K("total_self_seconds", total_self_seconds), K("calls", n_calls),
         K("failed_calls", n_failed), F(dropped_calls), K("layers", n_layers),
         AS_FIELD_OBJECT(S, summary, &as_bottleneck_summary_shape));
#undef S

/* ---- anomalies ---- */

static void put_test(struct as_json_writer *w, const void *object)
{
    as_json_text(w, assay_anomaly_test_name(((const struct assay_anomaly *)object)->tests));
}

#define S struct assay_anomaly
DESCRIBE(as_anomaly_shape, NAME(layer), NAME(metric), F(value),
         K("timestamp_unix_seconds", timestamp_seconds), MADE("test", put_test), K("z_score", z),
         F(mean), K("std_population", std), F(median), K("fence_low", low), K("fence_high", high),
         K("window_values", n_window),
         AS_FIELD_ENUM(S, tests, (ASSAY_ANOMALY_Z | ASSAY_ANOMALY_IQR) + 1));
#undef S

#define S struct assay_anomaly_layer
DESCRIBE(as_anomaly_layer_shape, NAME(layer), K("values", n_values), K("anomalies", n_anomalies));
#undef S

#define S struct assay_anomaly_summary
DESCRIBE(as_anomaly_summary_shape, K("anomaly_count", n_anomalies), K("values", n_values),
         K("values_dropped", n_dropped), K("anomalies_forgotten", n_forgotten),
         K("series", n_series), F(sensitivity), K("window_values", window), F(z_threshold),
         F(iqr_factor));
#undef S

/* ---- backends ---- */

static void put_level(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_f64(w, 0.95);
}

static const char *const difference_name[] = {"not tested", "no significant difference",
                                              "different"};

#define S struct assay_speedup_test
DESCRIBE(as_speedup_test_shape, AS_FIELD_KEY_NAMED(S, "verdict", difference, difference_name),
         K("speedup_low", low), K("speedup_high", high), F(p_value),
         K("degrees_of_freedom", degrees), MADE("level", put_level));
#undef S

static void put_calls(struct as_json_writer *w, const void *object)
{
    const struct assay_backend_data *data = object;

    if (data->call_count)
        as_json_u64(w, data->call_count);
    else
        as_json_null(w);
}

#define S struct assay_backend_data
DESCRIBE(as_backend_data_shape, K("mean_time", mean_seconds), K("std_time", std_seconds),
         K("total_time", total_seconds), MADE("call_count", put_calls), NAME(backend),
         K("calls", call_count));
#undef S

#define S struct assay_layer_comparison
DESCRIBE(as_layer_comparison_shape, NAME(layer),
         AS_FIELD_LIST(S, backend_data, n_backends, &as_backend_data_shape, MAX_NAMES),
         F(fastest_backend), F(slowest_backend), F(speedup), F(time_difference_ms),
         F(call_counts_differ), INSIDE("significance", test, as_speedup_test_shape));
#undef S

#define S struct assay_backend_total
DESCRIBE(as_backend_total_shape, NAME(backend), K("total_time", total_seconds),
         K("normalized_time", normalized_seconds), F(layer_wins), F(sure_wins), F(peak_memory_mb),
         F(energy_j), K("timestamp", timestamp_seconds));
#undef S

#define S struct assay_comparison_summary
DESCRIBE(as_comparison_summary_shape, F(fastest_backend), F(slowest_backend), F(overall_speedup),
         F(recommendation), K("most_wins_backend", most_wins), K("unequal_because", why_unequal),
         INSIDE("significance", test, as_speedup_test_shape), F(least_memory_backend),
         F(least_energy_backend), F(normalized));
#undef S

/* ---- nodes ---- */

static void put_origin(struct as_json_writer *w, const void *object)
{
    as_json_text(w, ((const struct assay_node_load *)object)->from_layers ? "layers" : "total");
}

#define S struct assay_node_load
DESCRIBE(as_node_load_shape, NAME(id), K("time_seconds", seconds), MADE("time_from", put_origin),
         K("over_mean_share", over_mean), F(communication_ms), F(synchronization_ms),
         F(barrier_wait_ms), F(from_layers));
#undef S

static void put_seconds(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_text(w, "seconds");
}

#define S struct assay_load_balance
DESCRIBE(as_load_balance_shape, K("mean_time", mean_seconds), K("std_time", std_seconds),
         K("max_time", max_seconds), K("min_time", min_seconds), F(imbalance_factor),
         F(slowest_node), F(fastest_node), F(is_balanced),
         K("imbalance_max_over_mean", max_over_mean), MADE("time_unit", put_seconds),
         K("nodes_without_time", n_without_time), F(error), F(telling_metric), F(telling_value),
         F(telling_others));
#undef S

#define S struct assay_operation_total
DESCRIBE(as_operation_total_shape, F(count), F(total_time_ms), F(total_data_mb),
         K("bandwidth_mib_per_second", mib_per_second), NAME(type));
#undef S

static void put_mib_rate(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_text(w, "MiB per second, mean over events");
}

#define S struct assay_communication_overhead
DESCRIBE(as_communication_shape, F(total_communication_time_ms), F(total_data_transferred_mb),
         F(event_count), K("mean_bandwidth_mbps", mean_bandwidth_mib_per_second),
         MADE("mean_bandwidth_mbps_unit", put_mib_rate),
         K("bandwidth_mib_per_second", mib_per_second),
         K("bandwidth_bytes_per_second", bytes_per_second),
         K("bandwidth_megabits_per_second", megabits_per_second), F(busy_time_ms),
         K("overlap_time_ms", overlap_ms), K("communication_percent", percent),
         K("node_time_percent", node_percent), K("events_with_start_time", n_placed),
         K("events_kept", n_kept));
#undef S

#define S struct assay_synchronization_overhead
DESCRIBE(as_synchronization_shape, F(total_sync_time_ms), F(total_barrier_wait_ms), F(event_count),
         K("events_with_barrier_wait", n_with_wait), F(node_time_ms),
         K("barrier_wait_node_time_ms", barrier_node_time_ms),
         K("synchronization_percent", percent), K("node_time_percent", node_percent),
         K("barrier_wait_node_time_percent", barrier_node_percent),
         K("events_with_start_time", n_placed), K("events_kept", n_kept));
#undef S

#define S struct assay_distributed_bottleneck
DESCRIBE(as_distributed_bottleneck_shape, NAME(type), NAME(severity), NAME(details),
         NAME(recommendation));
#undef S

#define S struct assay_metric_total
DESCRIBE(as_metric_total_shape, NAME(node), NAME(metric), F(count), F(mean), F(min), F(max),
         F(last), K("last_timestamp_unix_seconds", last_timestamp_seconds));
#undef S

/* ---- the run ---- */

#define S struct as_manager_extra
DESCRIBE_OWN(extra_shape, NAME(name), F(json), F(reason));
#undef S

#define S struct as_manager_run
#define RANKS(name, member)                                                                        \
    AS_FIELD_KEY_LIST(S, name, layers.member, layers.n_##member, &as_layer_rank_shape, 64)

/* All but the tables below. */
DESCRIBE_OWN(head_shape, NAME(assay_version), F(timestamp),
             INSIDE("session", session, as_manager_session_shape), AS_FIELD_NUMBERS(S, on, on[0]),
             AS_FIELD_NUMBERS(S, reason, reason[0]), K("timeline_dropped", layers.timeline_dropped),
             K("total_time", layers.total_seconds), K("total_self_time", layers.total_self_seconds),
             K("total_calls", layers.total_calls), K("failed_calls", layers.failed_calls),
             K("average_time_per_call", layers.average_seconds_per_call), RANKS("slowest", slowest),
             RANKS("most_variable", most_variable), RANKS("most_variable_cv", most_variable_cv),
             K("calls_unnamed", layers.calls_unnamed), K("calls_too_deep", layers.calls_too_deep),
             K("calls_abandoned", layers.calls_abandoned), K("calls_dropped", layers.calls_dropped),
             K("metadata_dropped", layers.metadata_dropped), K("open_dropped", layers.open_dropped),
             TEXTS("open_at_end", layers.open_at_end, layers.n_open_at_end),
             K("n_threads", layers.n_threads),
             INSIDE("memory", memory.summary, as_memory_summary_shape),
             INSIDE("leaks", leaks.summary, as_leak_summary_shape),
             K("outside_heap_mb", leaks.outside_heap_mb), K("held_source", held.source),
             K("held_mb", held.all_mb),
             INSIDE("bottlenecks", bottlenecks, as_bottleneck_totals_shape),
             INSIDE("anomalies", anomalies.summary, as_anomaly_summary_shape),
             K("total_nodes", distributed.total_nodes),
             INSIDE("load_balance", distributed.load, as_load_balance_shape),
             INSIDE("communication", distributed.communication, as_communication_shape),
             INSIDE("synchronization", distributed.synchronization, as_synchronization_shape),
             K("backends_error", backends.error),
             TEXTS("available_backends", backends.available_backends, backends.n_available),
             TEXTS("unknown_backends", backends.unknown_backends, backends.n_unknown),
             INSIDE("backends_summary", backends.summary, as_comparison_summary_shape));

/* The tables: where each stands in the struct, and how many rows of it are read. */
#define TABLE(name, member, count, of, limit)                                                      \
    {                                                                                              \
        (name), &(of), offsetof(S, member), offsetof(S, count), (limit)                            \
    }
static const struct {
    const char *name;
    const struct as_json_shape *shape;
    size_t at, count, max;
} table[] = {
    TABLE("layers", layers.layers, layers.n_layers, as_layer_stats_shape, 1u << 20),
    TABLE("history", layers.timeline, layers.n_timeline, as_layer_event_shape, 1u << 24),
    TABLE("snapshots", memory.snapshot, memory.n_snapshots, as_memory_reading_shape, 1u << 24),
    TABLE("memory_layers", memory.layer, memory.n_layers, as_memory_row_shape, 1u << 20),
    TABLE("leaks", leaks.leaks, leaks.n_leaks, as_leak_shape, 1u << 20),
    TABLE("incidents", leaks.incidents, leaks.n_incidents, as_incident_shape, 1u << 20),
    TABLE("layer_leaks", held.leak, held.n, as_layer_leak_shape, 1u << 20),
    TABLE("bottlenecks", bottlenecks.bottlenecks, bottlenecks.n_bottlenecks, as_bottleneck_shape,
          1u << 20),
    TABLE("recommendations", bottlenecks.recommendations, bottlenecks.n_recommendations,
          as_recommendation_shape, 1u << 20),
    TABLE("ranked", bottlenecks.ranked, bottlenecks.n_ranked, as_ranked_layer_shape, 1u << 20),
    TABLE("findings", bottlenecks.findings, bottlenecks.n_findings, as_finding_shape, 1u << 20),
    TABLE("anomalies", anomalies.list, anomalies.n, as_anomaly_shape, 1u << 24),
    TABLE("anomaly_layers", anomalies.layer, anomalies.n_layers, as_anomaly_layer_shape, 1u << 20),
    TABLE("backends", backends.backends, backends.n_backends, as_backend_total_shape, 1u << 16),
    TABLE("layer_comparisons", backends.layers, backends.n_layers, as_layer_comparison_shape,
          1u << 20),
    TABLE("nodes", distributed.load.nodes, distributed.load.n_nodes, as_node_load_shape, 1u << 20),
    TABLE("operations", distributed.communication.by_operation_type,
          distributed.communication.n_operation_types, as_operation_total_shape, 1u << 20),
    TABLE("synchronizations", distributed.synchronization.by_sync_type,
          distributed.synchronization.n_sync_types, as_operation_total_shape, 1u << 20),
    TABLE("node_bottlenecks", distributed.bottlenecks, distributed.n_bottlenecks,
          as_distributed_bottleneck_shape, 1u << 10),
    TABLE("node_findings", distributed.findings, distributed.n_findings, as_finding_shape,
          1u << 10),
    TABLE("node_metrics", distributed.metrics, distributed.n_metrics, as_metric_total_shape,
          1u << 24),
    TABLE("extensions", extra, n_extra, extra_shape, 1u << 10),
};

void as_manager_run_put(struct as_run_maker *maker, const struct as_manager_run *from)
{
    as_run_maker_put(maker, "manager", &head_shape, from);
    for (size_t i = 0; i < AS_COUNT_OF(table); i++) {
        const void *rows;
        size_t n;

        memcpy(&rows, (const char *)from + table[i].at, sizeof rows);
        memcpy(&n, (const char *)from + table[i].count, sizeof n);
        if (n)
            as_run_maker_rows(maker, table[i].name, table[i].shape, rows, n);
    }
}

static bool is_time(double seconds)
{
    return isnan(seconds) || (seconds >= 0 && seconds <= MOST_SECONDS);
}

/* What shapes cannot tell: times that no clock measured, counts that nobody counted, lists that
 * belong together. */
static bool is_sound(struct as_manager_run *run)
{
    struct assay_layer_stats *layers = (struct assay_layer_stats *)(uintptr_t)run->layers.layers;

    for (size_t i = 0; i < run->layers.n_layers; i++) {
        struct assay_layer_stats *l = &layers[i];
        const double time[] = {l->total_seconds, l->self_seconds, l->min_seconds,
                               l->max_seconds,   l->mean_seconds, l->std_seconds,
                               l->p50_seconds,   l->p95_seconds,  l->p99_seconds};

        for (size_t k = 0; k < AS_COUNT_OF(time); k++)
            if (!is_time(time[k]))
                return false;
        if (l->call_count > MOST_CALLS || l->failed_count > MOST_CALLS ||
            (l->n_self_times && l->n_self_times != l->n_execution_times))
            return false;
        if (!l->nested)
            l->self_times_seconds = l->execution_times_seconds;
        else if (!l->n_self_times)
            l->self_times_seconds = NULL;
        l->n_self_times = l->self_times_seconds ? l->n_execution_times : 0;
    }
    return is_time(run->session.duration_seconds) && run->layers.n_threads <= MAX_NAMES;
}

int as_manager_run_get(struct as_run *run, struct as_manager_run *to, struct assay_error *err)
{
    int rc = as_run_get(run, "manager", &head_shape, to, err);

    for (size_t i = 0; i < AS_COUNT_OF(table) && rc == ASSAY_OK; i++) {
        char *at = (char *)to + table[i].at;
        size_t n;

        rc = as_run_get_rows(run, table[i].name, table[i].shape, table[i].max, at, &n, err);
        memcpy((char *)to + table[i].count, &n, sizeof n);
    }
    if (rc == ASSAY_OK && !is_sound(to))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: it holds layers that no manager measured",
                     run->path);
    if (rc == ASSAY_OK)
        to->leaks.summary.n_incidents = to->leaks.n_incidents;
    return rc;
}
