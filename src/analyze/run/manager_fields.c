/* analyze/run/manager_fields.c - the fields of what a manager found, each once: the run, its rows
 * and the documented JSON are written from these tables. */
#include "analyze/run/manager_run.h"

#include <math.h>
#include <string.h>

#include "base/finding.h"
#include "base/units.h"
#include "stats/describe/quantile.h"

#define NAME(type, member)   AS_FIELD_AS(type, #member, member, AS_FIELD_NAME)
#define KNOWN(type, key, at) AS_FIELD_AS(type, key, at, AS_FIELD_KNOWN)
#define BYTES(type, key, at) AS_FIELD_AS(type, key, at, AS_FIELD_BYTES)
#define KEY(type, key, at)   AS_FIELD_KEY(type, key, at, NULL, NULL)
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
#define SHAPE(name, type, list) const struct as_json_shape name = AS_SHAPE(type, list)

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
static const struct as_json_field session_fields[] = {
    AS_FIELD(S, start_time),
    AS_FIELD(S, end_time),
    AS_FIELD(S, duration_seconds),
    AS_FIELD(S, sessions),
    AS_FIELD(S, calls),
    AS_FIELD(S, seconds_per_call),
    AS_FIELD(S, feeding_seconds),
    KEY(S, "total_seconds", cost_seconds),
    KEY(S, "share", cost_share),
    AS_FIELD(S, feed_failures),
};
SHAPE(as_manager_session_shape, S, session_fields);
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
static const struct as_json_field stats_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, call_count),
    AS_FIELD(S, failed_count),
    AS_FIELD(S, total_time),
    AS_FIELD(S, min_time),
    AS_FIELD(S, max_time),
    AS_FIELD(S, mean_time),
    AS_FIELD(S, std_time),
    AS_FIELD(S, std_time_sample),
    KEY(S, "coefficient_of_variation", cv),
    AS_FIELD(S, self_time),
    AS_FIELD(S, failed_time),
    KEY(S, "p50_time", p50),
    KEY(S, "p95_time", p95),
    KEY(S, "p99_time", p99),
    AS_FIELD_DERIVED("percentile_method", put_method),
    AS_FIELD(S, percentile_error),
    AS_FIELD_DERIVED("percentiles_of", put_which),
    AS_FIELD_VALUES(S, execution_times, n_execution_times, MAX_TIMES),
    AS_FIELD_VALUES(S, self_times, n_self_times, MAX_TIMES),
    AS_FIELD(S, percentiles_newest),
    AS_FIELD(S, nested),
};
SHAPE(as_layer_stats_shape, S, stats_fields);
#undef S

#define S struct assay_metadata
static const struct as_json_field pair_fields[] = {
    NAME(S, key),
    AS_FIELD(S, text),
    AS_FIELD(S, number),
};
static SHAPE(pair_shape, S, pair_fields);
#undef S

static void put_status(struct as_json_writer *w, const void *object)
{
    as_json_text(w, ((const struct assay_layer_event *)object)->failed ? "failed" : "ok");
}

#define S struct assay_layer_event
static const struct as_json_field event_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, execution_time),
    AS_FIELD(S, self_time),
    AS_FIELD(S, timestamp),
    AS_FIELD(S, cumulative_time),
    AS_FIELD(S, cumulative_self_time),
    AS_FIELD_DERIVED("status", put_status),
    AS_FIELD(S, reason),
    AS_FIELD(S, depth),
    AS_FIELD(S, thread),
    AS_FIELD(S, failed),
    AS_FIELD_LIST(S, metadata, n_metadata, &pair_shape, MAX_PAIRS),
};
SHAPE(as_layer_event_shape, S, event_fields);
#undef S

#define S struct assay_layer_rank
static const struct as_json_field rank_fields[] = {NAME(S, layer), AS_FIELD(S, value)};
SHAPE(as_layer_rank_shape, S, rank_fields);
#undef S

/* ---- memory ---- */

static void put_known(struct as_json_writer *w, const void *object)
{
    const struct as_memory_profile_summary *s = object;

    as_json_text(w, s->baseline_bytes == ASSAY_MEMORY_UNKNOWN ? "unavailable" : "ok");
}

#define S struct assay_memory_counts
static const struct as_json_field counts_fields[] = {
    AS_FIELD_NUMBERS(S, current, current[0]),
    AS_FIELD_NUMBERS(S, peak, peak[0]),
    AS_FIELD_NUMBERS(S, added, added[0]),
    AS_FIELD(S, current_total),
    AS_FIELD(S, peak_total),
    AS_FIELD(S, mistakes),
    AS_FIELD(S, any),
};
static SHAPE(counts_shape, S, counts_fields);
#undef S

#define S struct as_memory_profile_summary
static const struct as_json_field memory_fields[] = {
    AS_FIELD_DERIVED("status", put_known),
    KEY(S, "reason", why),
    AS_FIELD(S, baseline_memory_mb),
    KNOWN(S, "baseline_memory_bytes", baseline_bytes),
    AS_FIELD(S, peak_memory_mb),
    KNOWN(S, "peak_memory_bytes", peak_bytes),
    BYTES(S, "peak_rss_kernel_bytes", peak_rss_kernel_bytes),
    BYTES(S, "memory_total_bytes", memory_total_bytes),
    AS_FIELD(S, total_snapshots),
    AS_FIELD(S, snapshots_kept),
    AS_FIELD(S, snapshots_dropped),
    AS_FIELD(S, metadata_dropped),
    KEY(S, "layers", n_layers),
    KEY(S, "calls_of_layers_joined", layers_joined),
    KNOWN(S, "sampler_readings", samples),
    KNOWN(S, "sampler_cpu_ns", sampler_cpu_ns),
    KNOWN(S, "sampler_wall_ns", sampler_wall_ns),
    AS_FIELD_DERIVED("peak_gpu_memory_mb", put_null),
    AS_FIELD_DERIVED("gpu_reason", put_no_device),
    AS_FIELD(S, memory_growth_mb),
    AS_FIELD_OBJECT(S, counts, &counts_shape),
};
SHAPE(as_memory_summary_shape, S, memory_fields);
#undef S

#define S struct as_memory_layer_row
static const struct as_json_field memory_row_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, call_count),
    KEY(S, "calls_known", n_known),
    AS_FIELD(S, mean_memory_mb),
    AS_FIELD(S, std_memory_mb),
    AS_FIELD(S, min_memory_mb),
    AS_FIELD(S, max_memory_mb),
    KNOWN(S, "min_memory_bytes", min_bytes),
    KNOWN(S, "max_memory_bytes", max_bytes),
    BYTES(S, "counted_peak_within_bytes", counted_peak_bytes),
    BYTES(S, "cpu_memory_rise_bytes", rss_rise_bytes),
    KNOWN(S, "minor_faults", minor_faults),
    KNOWN(S, "major_faults", major_faults),
    AS_FIELD_DERIVED("mean_gpu_memory_mb", put_null),
    AS_FIELD_DERIVED("max_gpu_memory_mb", put_null),
    AS_FIELD_DERIVED("gpu_reason", put_no_device),
};
SHAPE(as_memory_row_shape, S, memory_row_fields);
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
static const struct as_json_field reading_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, timestamp),
    AS_FIELD(S, cpu_memory_mb),
    KNOWN(S, "cpu_memory_bytes", rss_after_bytes),
    AS_FIELD(S, memory_delta_mb),
    AS_FIELD(S, cpu_memory_percent),
    BYTES(S, "cpu_memory_before_bytes", rss_before_bytes),
    BYTES(S, "cpu_memory_peak_bytes", rss_peak_bytes),
    KNOWN(S, "peak_samples", rss_samples),
    AS_FIELD(S, before_age_ns),
    AS_FIELD(S, after_age_ns),
    BYTES(S, "counted_before_bytes", counted_before_bytes),
    BYTES(S, "counted_after_bytes", counted_after_bytes),
    BYTES(S, "counted_peak_within_bytes", counted_peak_bytes),
    AS_FIELD_DERIVED("counted_net_bytes", put_net),
    KNOWN(S, "minor_faults", minor_faults),
    KNOWN(S, "major_faults", major_faults),
    AS_FIELD_DERIVED("gpu_memory_mb", put_null),
    AS_FIELD_DERIVED("gpu_reserved_mb", put_null),
    AS_FIELD_DERIVED("gpu_peak_mb", put_null),
    AS_FIELD_DERIVED("gpu_reason", put_no_device),
    KEY(S, "reason", why),
    AS_FIELD_DERIVED("metadata", put_metadata),
    KEY(S, "net_bytes", counted_net_bytes),
    AS_FIELD(S, counted_known),
    AS_FIELD(S, growth_mb),
    KEY(S, "metadata_json", metadata),
};
SHAPE(as_memory_reading_shape, S, reading_fields);

static const struct as_json_field growth_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, timestamp),
    KEY(S, "memory_growth_mb", growth_mb),
};
SHAPE(as_memory_growth_shape, S, growth_fields);
#undef S

/* ---- leaks ---- */

#define S struct assay_leak
static const struct as_json_field leak_fields[] = {
    AS_FIELD(S, start_memory_mb), AS_FIELD(S, end_memory_mb),
    AS_FIELD(S, increase_mb),     AS_FIELD(S, growth_rate_mb_per_step),
    AS_FIELD(S, window_size),     TEXTS("layers_involved", layers_involved, n_layers_involved),
    AS_FIELD(S, timestamp),
};
SHAPE(as_leak_shape, S, leak_fields);
#undef S

/* NULL: it is known. */
static void put_exhaustion_reason(struct as_json_writer *w, const void *object)
{
    const struct assay_leak_incident *i = object;

    as_json_text(w, isfinite(i->seconds_to_exhaustion) ? NULL
                    : isfinite(i->mb_per_second)       ? "how much memory is left was not told"
                                                       : "no time passed between the readings");
}

#define S struct assay_leak_incident
static const struct as_json_field incident_fields[] = {
    AS_FIELD(S, layer),
    KEY(S, "first_reading", first),
    KEY(S, "last_reading", last),
    KNOWN(S, "first_step", first_step),
    KNOWN(S, "last_step", last_step),
    KEY(S, "start_time_unix_seconds", start_time),
    KEY(S, "end_time_unix_seconds", end_time),
    AS_FIELD(S, start_memory_mb),
    AS_FIELD(S, end_memory_mb),
    AS_FIELD(S, net_growth_mb),
    KEY(S, "growth_mb_per_step", mb_per_step),
    KEY(S, "growth_mb_per_second", mb_per_second),
    AS_FIELD(S, p_value),
    KEY(S, "kendall_tau", tau),
    AS_FIELD(S, seconds_to_exhaustion),
    AS_FIELD_DERIVED("seconds_to_exhaustion_reason", put_exhaustion_reason),
};
SHAPE(as_incident_shape, S, incident_fields);
#undef S

#define S struct assay_leak_summary
static const struct as_json_field leak_summary_fields[] = {
    AS_FIELD(S, has_leaks),
    AS_FIELD(S, leak_count),
    AS_FIELD(S, total_memory_leaked_mb),
    AS_FIELD(S, average_growth_rate),
    AS_FIELD(S, leaks_dropped),
    AS_FIELD(S, growing),
    KEY(S, "series", n_series),
    KEY(S, "readings", n_readings),
    KEY(S, "layer_readings_dropped", layers_dropped),
};
SHAPE(as_leak_summary_shape, S, leak_summary_fields);
#undef S

#define S struct assay_layer_leak
static const struct as_json_field layer_leak_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, growth_mb),
    AS_FIELD(S, mb_per_step),
    AS_FIELD(S, mb_per_second),
    AS_FIELD(S, p_value),
    KEY(S, "share", process_share),
    KNOWN(S, "first_step", first_step),
    KNOWN(S, "last_step", last_step),
};
SHAPE(as_layer_leak_shape, S, layer_leak_fields);
#undef S

/* ---- bottlenecks ---- */

static const char *const type_name[] = {
#define X(name, text) text,
    ASSAY_BOTTLENECK_TYPES(X)
#undef X
};
static const char *const priority_name[] = {"low", "medium", "high"};

#define S struct assay_bottleneck
static const struct as_json_field bottleneck_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, mean_execution_time),
    AS_FIELD(S, execution_time_std),
    AS_FIELD(S, threshold),
    AS_FIELD(S, overhead_percentage),
    AS_FIELD(S, mean_memory_usage),
    AS_FIELD(S, io_intensity),
    AS_FIELD(S, gpu_utilization),
    AS_FIELD_NAMED_ARRAY(S, "bottleneck_type", type, n_types, type_name),
    AS_FIELD(S, severity_score),
};
SHAPE(as_bottleneck_shape, S, bottleneck_fields);
#undef S

#define S struct assay_recommendation
static const struct as_json_field recommendation_fields[] = {
    NAME(S, layer),          NAME(S, type),
    NAME(S, category),       AS_FIELD_NAMED(S, priority, priority_name),
    NAME(S, recommendation), NAME(S, details),
};
SHAPE(as_recommendation_shape, S, recommendation_fields);
#undef S

#define S struct assay_cause
static const struct as_json_field cause_fields[] = {
    AS_FIELD_NAMED(S, type, type_name),
    AS_FIELD(S, strength),
    NAME(S, evidence),
};
static SHAPE(cause_shape, S, cause_fields);
#undef S

#define S struct assay_ranked_layer
static const struct as_json_field ranked_fields[] = {
    NAME(S, layer),
    AS_FIELD(S, calls),
    AS_FIELD(S, failed),
    AS_FIELD(S, self_seconds),
    AS_FIELD(S, share),
    AS_FIELD(S, speedup_bound),
    AS_FIELD(S, mean_seconds),
    AS_FIELD(S, cv),
    AS_FIELD(S, roof_fraction),
    AS_FIELD(S, severity),
    {.key = "causes",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_OBJECT,
     .offset = offsetof(S, cause),
     .size = sizeof(struct assay_cause),
     .count_offset = offsetof(S, n_causes),
     .count_size = sizeof(size_t),
     .shape = &cause_shape,
     .max = ASSAY_BOTTLENECK_TYPE_COUNT},
};
SHAPE(as_ranked_layer_shape, S, ranked_fields);
#undef S

#define S struct assay_bottleneck_summary
static const struct as_json_field bottleneck_summary_fields[] = {
    AS_FIELD(S, total_bottlenecks),
    AS_FIELD(S, critical_bottlenecks),
    AS_FIELD(S, total_overhead_ms),
    AS_FIELD_NUMBERS(S, by_type, by_type[0]),
};
SHAPE(as_bottleneck_summary_shape, S, bottleneck_summary_fields);
#undef S

#define S struct assay_bottleneck_result
static const struct as_json_field bottleneck_totals_fields[] = {
    KEY(S, "threshold_seconds", threshold),
    AS_FIELD(S, threshold_exact),
    KEY(S, "total_self_seconds", total_self_seconds),
    KEY(S, "calls", n_calls),
    KEY(S, "failed_calls", n_failed),
    AS_FIELD(S, dropped_calls),
    KEY(S, "layers", n_layers),
    AS_FIELD_OBJECT(S, summary, &as_bottleneck_summary_shape),
};
SHAPE(as_bottleneck_totals_shape, S, bottleneck_totals_fields);
#undef S

/* ---- anomalies ---- */

static void put_test(struct as_json_writer *w, const void *object)
{
    as_json_text(w, assay_anomaly_test_name(((const struct assay_anomaly *)object)->tests));
}

#define S struct assay_anomaly
static const struct as_json_field anomaly_fields[] = {
    NAME(S, layer),
    NAME(S, metric),
    AS_FIELD(S, value),
    KEY(S, "timestamp_unix_seconds", timestamp),
    AS_FIELD_DERIVED("test", put_test),
    KEY(S, "z_score", z),
    AS_FIELD(S, mean),
    KEY(S, "std_population", std),
    AS_FIELD(S, median),
    KEY(S, "fence_low", low),
    KEY(S, "fence_high", high),
    KEY(S, "window_values", n_window),
    AS_FIELD_ENUM(S, tests, (ASSAY_ANOMALY_Z | ASSAY_ANOMALY_IQR) + 1),
};
SHAPE(as_anomaly_shape, S, anomaly_fields);
#undef S

#define S struct assay_anomaly_layer
static const struct as_json_field anomaly_layer_fields[] = {
    NAME(S, layer),
    KEY(S, "values", n_values),
    KEY(S, "anomalies", n_anomalies),
};
SHAPE(as_anomaly_layer_shape, S, anomaly_layer_fields);
#undef S

#define S struct assay_anomaly_summary
static const struct as_json_field anomaly_summary_fields[] = {
    KEY(S, "anomaly_count", n_anomalies),
    KEY(S, "values", n_values),
    KEY(S, "values_dropped", n_dropped),
    KEY(S, "anomalies_forgotten", n_forgotten),
    KEY(S, "series", n_series),
    AS_FIELD(S, sensitivity),
    KEY(S, "window_values", window),
    AS_FIELD(S, z_threshold),
    AS_FIELD(S, iqr_factor),
};
SHAPE(as_anomaly_summary_shape, S, anomaly_summary_fields);
#undef S

/* ---- backends ---- */

static void put_level(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_f64(w, 0.95);
}

static const char *const difference_name[] = {"not tested", "no difference shown", "different"};

#define S struct assay_speedup_test
static const struct as_json_field speedup_fields[] = {
    AS_FIELD_KEY_NAMED(S, "verdict", difference, difference_name),
    KEY(S, "speedup_low", low),
    KEY(S, "speedup_high", high),
    AS_FIELD(S, p_value),
    KEY(S, "degrees_of_freedom", degrees),
    AS_FIELD_DERIVED("level", put_level),
};
SHAPE(as_speedup_test_shape, S, speedup_fields);
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
static const struct as_json_field backend_data_fields[] = {
    AS_FIELD(S, mean_time),  AS_FIELD(S, std_time),
    AS_FIELD(S, total_time), AS_FIELD_DERIVED("call_count", put_calls),
    NAME(S, backend),        KEY(S, "calls", call_count),
};
SHAPE(as_backend_data_shape, S, backend_data_fields);
#undef S

#define S struct assay_layer_comparison
static const struct as_json_field layer_comparison_fields[] = {
    NAME(S, layer),
    AS_FIELD_LIST(S, backend_data, n_backends, &as_backend_data_shape, MAX_NAMES),
    AS_FIELD(S, fastest_backend),
    AS_FIELD(S, slowest_backend),
    AS_FIELD(S, speedup),
    AS_FIELD(S, time_difference_ms),
    AS_FIELD(S, call_counts_differ),
    INSIDE("significance", test, as_speedup_test_shape),
};
SHAPE(as_layer_comparison_shape, S, layer_comparison_fields);
#undef S

#define S struct assay_backend_total
static const struct as_json_field backend_total_fields[] = {
    NAME(S, backend),        AS_FIELD(S, total_time), AS_FIELD(S, normalized_time),
    AS_FIELD(S, layer_wins), AS_FIELD(S, sure_wins),  AS_FIELD(S, peak_memory_mb),
    AS_FIELD(S, energy_j),   AS_FIELD(S, timestamp),
};
SHAPE(as_backend_total_shape, S, backend_total_fields);
#undef S

#define S struct assay_comparison_summary
static const struct as_json_field comparison_fields[] = {
    AS_FIELD(S, fastest_backend),
    AS_FIELD(S, slowest_backend),
    AS_FIELD(S, overall_speedup),
    AS_FIELD(S, recommendation),
    KEY(S, "most_wins_backend", most_wins),
    KEY(S, "unequal_because", why_unequal),
    INSIDE("significance", test, as_speedup_test_shape),
    AS_FIELD(S, least_memory_backend),
    AS_FIELD(S, least_energy_backend),
    AS_FIELD(S, normalized),
};
SHAPE(as_comparison_summary_shape, S, comparison_fields);
#undef S

/* ---- nodes ---- */

static void put_origin(struct as_json_writer *w, const void *object)
{
    as_json_text(w, ((const struct assay_node_load *)object)->from_layers ? "layers" : "total");
}

#define S struct assay_node_load
static const struct as_json_field node_fields[] = {
    NAME(S, id),
    KEY(S, "time_seconds", seconds),
    AS_FIELD_DERIVED("time_from", put_origin),
    KEY(S, "over_mean_share", over_mean),
    AS_FIELD(S, communication_ms),
    AS_FIELD(S, synchronization_ms),
    AS_FIELD(S, barrier_wait_ms),
    AS_FIELD(S, from_layers),
};
SHAPE(as_node_load_shape, S, node_fields);
#undef S

static void put_seconds(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_text(w, "seconds");
}

#define S struct assay_load_balance
static const struct as_json_field load_fields[] = {
    AS_FIELD(S, mean_time),
    AS_FIELD(S, std_time),
    AS_FIELD(S, max_time),
    AS_FIELD(S, min_time),
    AS_FIELD(S, imbalance_factor),
    AS_FIELD(S, slowest_node),
    AS_FIELD(S, fastest_node),
    AS_FIELD(S, is_balanced),
    KEY(S, "imbalance_max_over_mean", max_over_mean),
    AS_FIELD_DERIVED("time_unit", put_seconds),
    KEY(S, "nodes_without_time", n_without_time),
    AS_FIELD(S, error),
    AS_FIELD(S, telling_metric),
    AS_FIELD(S, telling_value),
    AS_FIELD(S, telling_others),
};
SHAPE(as_load_balance_shape, S, load_fields);
#undef S

#define S struct assay_operation_total
static const struct as_json_field operation_fields[] = {
    AS_FIELD(S, count),
    AS_FIELD(S, total_time_ms),
    AS_FIELD(S, total_data_mb),
    KEY(S, "bandwidth_mib_per_second", mib_per_second),
    NAME(S, type),
};
SHAPE(as_operation_total_shape, S, operation_fields);
#undef S

static void put_mib_rate(struct as_json_writer *w, const void *object)
{
    (void)object;
    as_json_text(w, "MiB per second, mean over events");
}

#define S struct assay_communication_overhead
static const struct as_json_field communication_fields[] = {
    AS_FIELD(S, total_communication_time_ms),
    AS_FIELD(S, total_data_transferred_mb),
    AS_FIELD(S, event_count),
    AS_FIELD(S, mean_bandwidth_mbps),
    AS_FIELD_DERIVED("mean_bandwidth_mbps_unit", put_mib_rate),
    KEY(S, "bandwidth_mib_per_second", mib_per_second),
    KEY(S, "bandwidth_bytes_per_second", bytes_per_second),
    KEY(S, "bandwidth_megabits_per_second", megabits_per_second),
    AS_FIELD(S, busy_time_ms),
    KEY(S, "overlap_time_ms", overlap_ms),
    KEY(S, "communication_percent", percent),
    KEY(S, "node_time_percent", node_percent),
    KEY(S, "events_with_start_time", n_placed),
    KEY(S, "events_kept", n_kept),
};
SHAPE(as_communication_shape, S, communication_fields);
#undef S

#define S struct assay_synchronization_overhead
static const struct as_json_field synchronization_fields[] = {
    AS_FIELD(S, total_sync_time_ms),
    AS_FIELD(S, total_barrier_wait_ms),
    AS_FIELD(S, event_count),
    KEY(S, "events_with_barrier_wait", n_with_wait),
    AS_FIELD(S, node_time_ms),
    KEY(S, "barrier_wait_node_time_ms", barrier_node_time_ms),
    KEY(S, "synchronization_percent", percent),
    KEY(S, "node_time_percent", node_percent),
    KEY(S, "barrier_wait_node_time_percent", barrier_node_percent),
    KEY(S, "events_with_start_time", n_placed),
    KEY(S, "events_kept", n_kept),
};
SHAPE(as_synchronization_shape, S, synchronization_fields);
#undef S

#define S struct assay_distributed_bottleneck
static const struct as_json_field distributed_bottleneck_fields[] = {
    NAME(S, type),
    NAME(S, severity),
    NAME(S, details),
    NAME(S, recommendation),
};
SHAPE(as_distributed_bottleneck_shape, S, distributed_bottleneck_fields);
#undef S

#define S struct assay_metric_total
static const struct as_json_field metric_fields[] = {
    NAME(S, node),      NAME(S, metric),
    AS_FIELD(S, count), AS_FIELD(S, mean),
    AS_FIELD(S, min),   AS_FIELD(S, max),
    AS_FIELD(S, last),  KEY(S, "last_timestamp_unix_seconds", last_timestamp),
};
SHAPE(as_metric_total_shape, S, metric_fields);
#undef S

/* ---- the run ---- */

#define S struct as_manager_extra
static const struct as_json_field extra_fields[] = {
    NAME(S, name),
    AS_FIELD(S, json),
    AS_FIELD(S, reason),
};
static SHAPE(extra_shape, S, extra_fields);
#undef S

#define S struct as_manager_run
#define RANKS(name, member)                                                                        \
    AS_FIELD_KEY_LIST(S, name, layers.member, layers.n_##member, &as_layer_rank_shape, 64)

/* All but the tables below. */
static const struct as_json_field head_fields[] = {
    NAME(S, assay_version),
    AS_FIELD(S, timestamp),
    INSIDE("session", session, as_manager_session_shape),
    AS_FIELD_NUMBERS(S, on, on[0]),
    AS_FIELD_NUMBERS(S, reason, reason[0]),
    KEY(S, "timeline_dropped", layers.timeline_dropped),
    KEY(S, "total_time", layers.total_time),
    KEY(S, "total_self_time", layers.total_self_time),
    KEY(S, "total_calls", layers.total_calls),
    KEY(S, "failed_calls", layers.failed_calls),
    KEY(S, "average_time_per_call", layers.average_time_per_call),
    RANKS("slowest", slowest),
    RANKS("most_variable", most_variable),
    RANKS("most_variable_cv", most_variable_cv),
    KEY(S, "calls_unnamed", layers.calls_unnamed),
    KEY(S, "calls_too_deep", layers.calls_too_deep),
    KEY(S, "metadata_dropped", layers.metadata_dropped),
    KEY(S, "open_dropped", layers.open_dropped),
    TEXTS("open_at_end", layers.open_at_end, layers.n_open_at_end),
    KEY(S, "n_threads", layers.n_threads),
    INSIDE("memory", memory.summary, as_memory_summary_shape),
    INSIDE("leaks", leaks.summary, as_leak_summary_shape),
    KEY(S, "outside_heap_mb", leaks.outside_heap_mb),
    KEY(S, "held_source", held.source),
    KEY(S, "held_mb", held.all_mb),
    INSIDE("bottlenecks", bottlenecks, as_bottleneck_totals_shape),
    INSIDE("anomalies", anomalies.summary, as_anomaly_summary_shape),
    KEY(S, "total_nodes", distributed.total_nodes),
    INSIDE("load_balance", distributed.load, as_load_balance_shape),
    INSIDE("communication", distributed.communication, as_communication_shape),
    INSIDE("synchronization", distributed.synchronization, as_synchronization_shape),
    KEY(S, "backends_error", backends.error),
    TEXTS("available_backends", backends.available_backends, backends.n_available),
    TEXTS("unknown_backends", backends.unknown_backends, backends.n_unknown),
    INSIDE("backends_summary", backends.summary, as_comparison_summary_shape),
};
static SHAPE(head_shape, S, head_fields);

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
        const double time[] = {l->total_time, l->self_time, l->min_time, l->max_time, l->mean_time,
                               l->std_time,   l->p50,       l->p95,      l->p99};

        for (size_t k = 0; k < AS_COUNT_OF(time); k++)
            if (!is_time(time[k]))
                return false;
        if (l->call_count > MOST_CALLS || l->failed_count > MOST_CALLS ||
            (l->n_self_times && l->n_self_times != l->n_execution_times))
            return false;
        if (!l->nested)
            l->self_times = l->execution_times;
        else if (!l->n_self_times)
            l->self_times = NULL;
        l->n_self_times = l->self_times ? l->n_execution_times : 0;
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
