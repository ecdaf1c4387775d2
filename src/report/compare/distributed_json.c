/* report/compare/distributed_json.c - nodes, talking and waiting of a training, as JSON.
 * Documented keys first, then those that name their unit; what cannot be had is null. */
#include "report/compare/compare_report.h"

static void put_nodes(struct as_json_writer *w, const struct assay_load_balance *load)
{
    as_json_kv_array(w, "nodes");
    for (size_t i = 0; i < load->n_nodes; i++) {
        const struct assay_node_load *node = &load->nodes[i];

        as_json_object(w);
        as_json_kv_text(w, "id", node->id);
        as_json_kv_f64(w, "time_seconds", node->seconds);
        as_json_kv_text(w, "time_from", node->from_layers ? "layers" : "total");
        as_json_kv_f64(w, "over_mean_share", node->over_mean);
        AS_JSON_FIELDS(w, node, communication_ms, synchronization_ms, barrier_wait_ms);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_load(struct as_json_writer *w, const char *key,
                     const struct assay_load_balance *load)
{
    as_json_kv_object(w, key);
    if (load->error) {
        as_json_kv_text(w, "error", load->error);
        put_nodes(w, load);
        as_json_object_end(w);
        return;
    }
    as_json_kv_object(w, "node_times");
    for (size_t i = 0; i < load->n_nodes; i++)
        as_json_kv_f64(w, load->nodes[i].id, load->nodes[i].seconds);
    as_json_object_end(w);
    AS_JSON_FIELDS(w, load, mean_time, std_time, max_time, min_time, imbalance_factor, slowest_node,
                   fastest_node, is_balanced);
    as_json_kv_f64(w, "imbalance_max_over_mean", load->max_over_mean);
    as_json_kv_text(w, "time_unit", "seconds");
    as_json_kv_u64(w, "nodes_without_time", load->n_without_time);
    put_nodes(w, load);
    if (load->telling_metric) {
        as_json_kv_object(w, "slowest_node_metric");
        as_json_kv_text(w, "metric", load->telling_metric);
        as_json_kv_f64(w, "mean", load->telling_value);
        as_json_kv_f64(w, "mean_of_others", load->telling_others);
        as_json_object_end(w);
    } else {
        as_json_kv_null(w, "slowest_node_metric");
    }
    as_json_object_end(w);
}

static void put_types(struct as_json_writer *w, const char *key,
                      const struct assay_operation_total *types, size_t n, bool data)
{
    as_json_kv_object(w, key);
    for (size_t i = 0; i < n; i++) {
        as_json_kv_object(w, types[i].type);
        as_json_kv_u64(w, "count", types[i].count);
        as_json_kv_f64(w, "total_time_ms", types[i].total_time_ms);
        if (data) {
            as_json_kv_f64(w, "total_data_mb", types[i].total_data_mb);
            as_json_kv_f64(w, "bandwidth_mib_per_second", types[i].mib_per_second);
        }
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

static void put_communication(struct as_json_writer *w, const char *key,
                              const struct assay_communication_overhead *c)
{
    as_json_kv_object(w, key);
    AS_JSON_FIELDS(w, c, total_communication_time_ms, total_data_transferred_mb, event_count,
                   mean_bandwidth_mbps);
    put_types(w, "by_operation_type", c->by_operation_type, c->n_operation_types, true);
    as_json_kv_text(w, "mean_bandwidth_mbps_unit", "MiB per second, mean over events");
    as_json_kv_f64(w, "bandwidth_mib_per_second", c->mib_per_second);
    as_json_kv_f64(w, "bandwidth_bytes_per_second", c->bytes_per_second);
    as_json_kv_f64(w, "bandwidth_megabits_per_second", c->megabits_per_second);
    as_json_kv_f64(w, "busy_time_ms", c->busy_time_ms);
    as_json_kv_f64(w, "overlap_time_ms", c->overlap_ms);
    as_json_kv_f64(w, "communication_percent", c->percent);
    as_json_kv_f64(w, "node_time_percent", c->node_percent);
    as_json_kv_u64(w, "events_with_start_time", c->n_placed);
    as_json_kv_u64(w, "events_kept", c->n_kept);
    as_json_object_end(w);
}

static void put_synchronization(struct as_json_writer *w, const char *key,
                                const struct assay_synchronization_overhead *s)
{
    as_json_kv_object(w, key);
    AS_JSON_FIELDS(w, s, total_sync_time_ms, total_barrier_wait_ms, event_count);
    put_types(w, "by_sync_type", s->by_sync_type, s->n_sync_types, false);
    as_json_kv_u64(w, "events_with_barrier_wait", s->n_with_wait);
    as_json_kv_f64(w, "node_time_ms", s->node_time_ms);
    as_json_kv_f64(w, "barrier_wait_node_time_ms", s->barrier_node_time_ms);
    as_json_kv_f64(w, "synchronization_percent", s->percent);
    as_json_kv_f64(w, "node_time_percent", s->node_percent);
    as_json_kv_f64(w, "barrier_wait_node_time_percent", s->barrier_node_percent);
    as_json_kv_u64(w, "events_with_start_time", s->n_placed);
    as_json_kv_u64(w, "events_kept", s->n_kept);
    as_json_object_end(w);
}

/* `numbers`: beside the documented keys, what was compared with what. */
static void put_findings(struct as_json_writer *w, const char *key,
                         const struct assay_distributed_finding *findings, size_t n, bool numbers)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, &findings[i], type, severity, details, recommendation);
        if (numbers) {
            as_json_kv_f64(w, "value", findings[i].value);
            as_json_kv_f64(w, "threshold", findings[i].threshold);
        }
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_metrics(struct as_json_writer *w, const struct assay_distributed_result *r)
{
    as_json_kv_array(w, "node_metrics");
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct assay_metric_total *m = &r->metrics[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, m, node, metric, count, mean, min, max, last);
        as_json_kv_f64(w, "last_timestamp_unix_seconds", m->last_timestamp);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_analyses(struct as_json_writer *w, const struct assay_distributed_result *r)
{
    put_load(w, "load_balance", &r->load);
    put_communication(w, "communication_overhead", &r->communication);
    put_synchronization(w, "synchronization_overhead", &r->synchronization);
}

int as_distributed_json(struct as_json_writer *w, struct assay_distributed *d,
                        struct assay_error *err)
{
    const struct assay_distributed_result *r;
    int rc = assay_distributed_analyze(d, &r, err);

    if (rc < 0)
        return rc;
    as_json_object(w);
    as_json_kv_u64(w, "total_nodes", r->total_nodes);
    as_json_kv_u64(w, "communication_events", r->communication.event_count);
    as_json_kv_u64(w, "synchronization_events", r->synchronization.event_count);
    put_analyses(w, r);
    as_json_kv_object(w, "bottleneck_analysis");
    put_findings(w, "bottlenecks", r->bottlenecks, r->n_bottlenecks, false);
    put_analyses(w, r);
    as_json_object_end(w);
    put_findings(w, "findings", r->findings, r->n_findings, true);
    put_metrics(w, r);
    as_json_kv_text(w, "mb_means", "MiB");
    as_json_object_end(w);
    return ASSAY_OK;
}

int as_distributed_dashboard_json(struct as_json_writer *w, struct assay_distributed *d,
                                  struct assay_error *err)
{
    const struct assay_distributed_result *r;
    int rc = assay_distributed_analyze(d, &r, err);

    if (rc < 0)
        return rc;
    as_json_object(w);
    put_load(w, "load_balance", &r->load);
    put_communication(w, "communication", &r->communication);
    as_json_object_end(w);
    return ASSAY_OK;
}
