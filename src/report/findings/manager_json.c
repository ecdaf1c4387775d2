/* report/findings/manager_json.c - what a manager found as JSON, with the documented keys. A part
 * that is not there is null, and `<key>_reason` says why. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/findings/findings_report.h"

static size_t rows_of(size_t n, size_t top)
{
    return top && top < n ? top : n;
}

static void put_none(struct as_json_writer *w, const char *key, const char *why)
{
    char name[300];

    (void)snprintf(name, sizeof name, "%.256s_reason", key);
    as_json_kv_null(w, key);
    as_json_kv_text(w, name, why);
}

/* Whether the part is there; otherwise the key says why not. */
static bool has(struct as_json_writer *w, const struct as_manager_run *run, const char *key,
                enum as_manager_part part)
{
    if (run->reason[part])
        put_none(w, key, run->reason[part]);
    else
        as_json_key(w, key);
    return !run->reason[part];
}

static void put_texts(struct as_json_writer *w, const char *key, const char *const *text, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++)
        as_json_text(w, text[i]);
    as_json_array_end(w);
}

/* ---- layers ---- */

static void put_self_times(struct as_json_writer *w, const struct assay_layer_stats *s)
{
    /* Where no layer ran inside, they would be the same once more. */
    if (!s->nested)
        return;
    if (!s->self_times_seconds) {
        put_none(w, "self_times", "the capacity was exceeded: see max_history_bytes");
        return;
    }
    as_json_kv_array(w, "self_times");
    for (size_t i = 0; i < s->n_self_times; i++)
        as_json_f64(w, s->self_times_seconds[i]);
    as_json_array_end(w);
}

static void put_stats(struct as_json_writer *w, const struct assay_layer_profile *p,
                      const uint32_t *order, size_t top)
{
    as_json_object(w);
    for (size_t i = 0; i < rows_of(p->n_layers, top); i++) {
        const struct assay_layer_stats *s = &p->layers[order ? order[i] : i];

        as_json_kv_object(w, s->layer);
        as_json_fields_some(w, &as_layer_stats_shape, "call_count", "self_times", s);
        put_self_times(w, s);
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

static void put_history(struct as_json_writer *w, const struct assay_layer_profile *p, size_t top)
{
    as_json_array(w);
    for (size_t i = 0; i < rows_of(p->n_timeline, top); i++) {
        const struct assay_layer_event *e = &p->timeline[i];

        as_json_object(w);
        as_json_fields_some(w, &as_layer_event_shape, NULL, "failed", e);
        for (size_t k = 0; k < e->n_metadata; k++) {
            as_json_key(w, e->metadata[k].key);
            if (e->metadata[k].text)
                as_json_text(w, e->metadata[k].text);
            else
                as_json_f64(w, e->metadata[k].number);
        }
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

/* Pairs of name and value, as documented. */
static void put_ranks(struct as_json_writer *w, const char *key,
                      const struct assay_layer_rank *rank, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++)
        as_json_fields_row(w, &as_layer_rank_shape, &rank[i]);
    as_json_array_end(w);
}

static void put_layers(struct as_json_writer *w, const struct assay_layer_profile *p,
                       const uint32_t *order, size_t top)
{
    as_json_object(w);
    as_json_key(w, "layer_stats");
    put_stats(w, p, order, top);
    as_json_key(w, "execution_history");
    put_history(w, p, top);
    as_json_kv_object(w, "summary");
    as_json_kv_u64(w, "total_layers", p->n_layers);
    as_json_kv_f64(w, "total_time", p->total_seconds);
    as_json_kv_u64(w, "total_calls", p->total_calls);
    as_json_kv_f64(w, "average_time_per_call", p->average_seconds_per_call);
    put_ranks(w, "slowest_layers", p->slowest, p->n_slowest);
    put_ranks(w, "most_variable_layers", p->most_variable, p->n_most_variable);
    put_ranks(w, "most_variable_layers_by_cv", p->most_variable_cv, p->n_most_variable_cv);
    as_json_kv_f64(w, "total_self_time", p->total_self_seconds);
    as_json_kv_u64(w, "failed_calls", p->failed_calls);
    as_json_kv_u64(w, "threads", p->n_threads);
    put_texts(w, "open_at_end", p->open_at_end, p->n_open_at_end);
    as_json_object_end(w);
    as_json_object_end(w);
}

/* ---- memory ---- */

/* Without a word from the program its counts say nothing: they are null then, not 0. */
static void put_category(struct as_json_writer *w, const struct assay_memory_counts *c, int kind)
{
    const bool all = kind == ASSAY_MEMORY_KIND_COUNT;
    const double current = (double)(all ? c->current_total_bytes : c->current_bytes[kind]);
    const double peak = (double)(all ? c->peak_total_bytes : c->peak_bytes[kind]);

    as_json_kv_object(w, all ? "total" : assay_memory_kind_name((enum assay_memory_kind)kind));
    as_json_kv_f64(w, "current_bytes", c->any ? current : AS_UNKNOWN);
    as_json_kv_f64(w, "current_mb", c->any ? current / AS_MIB : AS_UNKNOWN);
    as_json_kv_f64(w, "peak_bytes", c->any ? peak : AS_UNKNOWN);
    as_json_kv_f64(w, "peak_mb", c->any ? peak / AS_MIB : AS_UNKNOWN);
    if (!all)
        as_json_kv_f64(w, "allocations", c->any ? (double)c->added[kind] : AS_UNKNOWN);
    as_json_object_end(w);
}

static void put_categories(struct as_json_writer *w, const struct assay_memory_counts *c)
{
    as_json_kv_object(w, "categories");
    as_json_kv_text(w, "status", c->any ? "ok" : "unavailable");
    as_json_kv_text(w, "reason",
                    c->any ? NULL : "the program does not count its memory by category");
    for (int kind = 0; kind <= ASSAY_MEMORY_KIND_COUNT; kind++)
        put_category(w, c, kind);
    as_json_kv_f64(w, "mistakes", c->any ? (double)c->mistakes : AS_UNKNOWN);
    as_json_object_end(w);
}

/* Into an object that is open. */
static void put_memory_summary(struct as_json_writer *w, const struct as_memory_report *m,
                               size_t top)
{
    as_json_fields_some(w, &as_memory_summary_shape, NULL, "counts", &m->summary);
    as_json_fields_list(w, "memory_growth", &as_memory_growth_shape, m->snapshot,
                        rows_of(m->n_snapshots, top));
}

static void put_snapshots(struct as_json_writer *w, const char *key,
                          const struct as_memory_report *m, size_t top)
{
    const struct as_json_shape shape =
        as_json_shape_part(&as_memory_reading_shape, NULL, "net_bytes");

    as_json_fields_list(w, key, &shape, m->snapshot, rows_of(m->n_snapshots, top));
}

void as_memory_json(struct as_json_writer *w, const struct as_memory_report *m, size_t top)
{
    as_json_object(w);
    put_memory_summary(w, m, top);
    as_json_fields_list(w, "layer_stats", &as_memory_row_shape, m->layer,
                        rows_of(m->n_layers, top));
    put_categories(w, &m->summary.counts);
    put_snapshots(w, "snapshots", m, top);
    as_json_object_end(w);
}

static void put_held(struct as_json_writer *w, const struct as_held_report *held, size_t top)
{
    const struct as_json_shape shape = as_json_shape_part(&as_layer_leak_shape, NULL, "first_step");

    as_json_kv_object(w, "memory_leaks_by_layer");
    as_json_kv_bool(w, "has_leaks", held->n > 0);
    as_json_kv_text(w, "source", held->source);
    as_json_kv_f64(w, "left_behind_mb", held->all_mb);
    as_json_fields_list(w, "layers", &shape, held->leak, rows_of(held->n, top));
    as_json_object_end(w);
}

/* ---- anomalies ---- */

void as_anomaly_json(struct as_json_writer *w, const struct as_anomaly_report *a, size_t top)
{
    const struct as_json_shape layer = as_json_shape_part(&as_anomaly_layer_shape, "values", NULL);
    const struct as_json_shape each = as_json_shape_part(&as_anomaly_shape, NULL, "tests");

    as_json_object(w);
    as_json_fields_put(w, &as_anomaly_summary_shape, &a->summary);
    as_json_fields_map(w, "by_layer", &layer, a->layer, rows_of(a->n_layers, top),
                       offsetof(struct assay_anomaly_layer, layer));
    as_json_fields_list(w, "anomalies", &each, a->list, rows_of(a->n, top));
    as_json_object_end(w);
}

/* ---- backends ---- */

static void put_layer_comparison(struct as_json_writer *w, const struct assay_layer_comparison *l)
{
    const struct as_json_shape data = as_json_shape_part(&as_backend_data_shape, NULL, "backend");

    as_json_kv_object(w, l->layer);
    as_json_kv_text(w, "layer", l->layer);
    as_json_fields_map(w, "backend_data", &data, l->backend_data, l->n_backends,
                       offsetof(struct assay_backend_data, backend));
    as_json_fields_some(w, &as_layer_comparison_shape, "fastest_backend", NULL, l);
    as_json_object_end(w);
}

/* An object of one metric of each backend. */
static void put_metric(struct as_json_writer *w, const char *key, const struct assay_comparison *c,
                       size_t offset, bool count)
{
    as_json_kv_object(w, key);
    for (size_t i = 0; i < c->n_backends; i++) {
        const char *at = (const char *)&c->backends[i] + offset;
        double number;
        size_t n;

        memcpy(&n, at, sizeof n);
        memcpy(&number, at, sizeof number);
        as_json_kv_f64(w, c->backends[i].backend, count ? (double)n : number);
    }
    as_json_object_end(w);
}
#define AT(member) offsetof(struct assay_backend_total, member)

static void put_comparison_summary(struct as_json_writer *w, const struct assay_comparison *c)
{
    const struct assay_comparison_summary *s = &c->summary;

    as_json_kv_object(w, "summary");
    as_json_fields_some(w, &as_comparison_summary_shape, NULL, "recommendation", s);
    put_metric(w, "total_times", c, AT(total_seconds), false);
    put_metric(w, "layer_wins", c, AT(layer_wins), true);
    as_json_fields_some(w, &as_comparison_summary_shape, "recommendation", "most_wins_backend", s);
    put_metric(w, "sure_layer_wins", c, AT(sure_wins), true);
    put_metric(w, "normalized_times", c, AT(normalized_seconds), false);
    as_json_kv_text(w, "compared_by", s->normalized ? "normalized_times" : "total_times");
    put_metric(w, "peak_memory_mb", c, AT(peak_memory_mb), false);
    put_metric(w, "energy_j", c, AT(energy_j), false);
    as_json_fields_some(w, &as_comparison_summary_shape, "most_wins_backend", "normalized", s);
    as_json_object_end(w);
}

void as_compare_json(struct as_json_writer *w, const struct assay_comparison *c, size_t top)
{
    as_json_object(w);
    if (c->error) {
        as_json_kv_text(w, "error", c->error);
        put_texts(w, "available_backends", c->available_backends, c->n_available);
        as_json_object_end(w);
        return;
    }
    as_json_kv_array(w, "backends");
    for (size_t i = 0; i < c->n_backends; i++)
        as_json_text(w, c->backends[i].backend);
    as_json_array_end(w);
    put_texts(w, "unknown_backends", c->unknown_backends, c->n_unknown);
    as_json_kv_object(w, "layer_comparisons");
    for (size_t i = 0; i < rows_of(c->n_layers, top); i++)
        put_layer_comparison(w, &c->layers[i]);
    as_json_object_end(w);
    put_comparison_summary(w, c);
    as_json_object_end(w);
}

/* ---- nodes ---- */

static void put_load(struct as_json_writer *w, const struct assay_load_balance *load, size_t top)
{
    const struct as_json_shape node = as_json_shape_part(&as_node_load_shape, NULL, "from_layers");

    as_json_kv_object(w, "load_balance");
    if (load->error) {
        as_json_kv_text(w, "error", load->error);
        as_json_fields_list(w, "nodes", &node, load->nodes, rows_of(load->n_nodes, top));
        as_json_object_end(w);
        return;
    }
    as_json_kv_object(w, "node_times");
    for (size_t i = 0; i < rows_of(load->n_nodes, top); i++)
        as_json_kv_f64(w, load->nodes[i].id, load->nodes[i].seconds);
    as_json_object_end(w);
    as_json_fields_some(w, &as_load_balance_shape, NULL, "error", load);
    as_json_fields_list(w, "nodes", &node, load->nodes, rows_of(load->n_nodes, top));
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
                      const struct assay_operation_total *types, size_t n, const char *until)
{
    const struct as_json_shape shape = as_json_shape_part(&as_operation_total_shape, NULL, until);

    as_json_fields_map(w, key, &shape, types, n, offsetof(struct assay_operation_total, type));
}

static void put_communication(struct as_json_writer *w, const char *key,
                              const struct assay_communication_overhead *c)
{
    as_json_kv_object(w, key);
    as_json_fields_some(w, &as_communication_shape, NULL, "mean_bandwidth_mbps_unit", c);
    put_types(w, "by_operation_type", c->by_operation_type, c->n_operation_types, "type");
    as_json_fields_some(w, &as_communication_shape, "mean_bandwidth_mbps_unit", NULL, c);
    as_json_object_end(w);
}

static void put_overheads(struct as_json_writer *w, const struct assay_distributed_result *r,
                          size_t top)
{
    const struct assay_synchronization_overhead *s = &r->synchronization;

    put_load(w, &r->load, top);
    put_communication(w, "communication_overhead", &r->communication);
    as_json_kv_object(w, "synchronization_overhead");
    as_json_fields_some(w, &as_synchronization_shape, NULL, "events_with_barrier_wait", s);
    put_types(w, "by_sync_type", s->by_sync_type, s->n_sync_types, "total_data_mb");
    as_json_fields_some(w, &as_synchronization_shape, "events_with_barrier_wait", NULL, s);
    as_json_object_end(w);
}

void as_distributed_json(struct as_json_writer *w, const struct assay_distributed_result *r,
                         size_t top)
{
    as_json_object(w);
    as_json_kv_u64(w, "total_nodes", r->total_nodes);
    as_json_kv_u64(w, "communication_events", r->communication.event_count);
    as_json_kv_u64(w, "synchronization_events", r->synchronization.event_count);
    put_overheads(w, r, top);
    as_json_kv_object(w, "bottleneck_analysis");
    as_json_fields_list(w, "bottlenecks", &as_distributed_bottleneck_shape, r->bottlenecks,
                        r->n_bottlenecks);
    put_overheads(w, r, top);
    as_json_object_end(w);
    as_json_fields_list(w, "findings", &as_finding_shape, r->findings, r->n_findings);
    as_json_fields_list(w, "node_metrics", &as_metric_total_shape, r->metrics,
                        rows_of(r->n_metrics, top));
    as_json_kv_text(w, "mb_means", "MiB");
    as_json_object_end(w);
}

/* ---- the whole ---- */

static void put_extras(struct as_json_writer *w, const struct as_manager_run *run)
{
    as_json_kv_object(w, "extensions");
    for (size_t i = 0; i < run->n_extra; i++) {
        const struct as_manager_extra *e = &run->extra[i];

        if (e->json) {
            as_json_key(w, e->name);
            as_json_raw_checked(w, e->json);
        } else {
            put_none(w, e->name, e->reason);
        }
    }
    as_json_object_end(w);
}

static void put_session(struct as_json_writer *w, const struct as_manager_run *run)
{
    as_json_kv_object(w, "profiling_session");
    as_json_fields_some(w, &as_manager_session_shape, NULL, "calls", &run->session);
    as_json_object_end(w);
    as_json_kv_object(w, "profilers");
    for (int i = 0; i < ASSAY_PROFILER_COUNT; i++)
        as_json_kv_bool(w, assay_profiler_name((enum assay_profiler_id)i), run->on[i]);
    as_json_object_end(w);
}

static void put_cost(struct as_json_writer *w, const struct as_manager_run *run)
{
    const struct assay_layer_profile *p = &run->layers;

    put_extras(w, run);
    as_json_kv_object(w, "cost_of_profiling");
    as_json_fields_some(w, &as_manager_session_shape, "calls", "feed_failures", &run->session);
    as_json_object_end(w);
    as_json_kv_object(w, "dropped");
    as_json_kv_u64(w, "timeline_calls", p->timeline_dropped);
    as_json_kv_u64(w, "calls_unnamed", p->calls_unnamed);
    as_json_kv_u64(w, "calls_too_deep", p->calls_too_deep);
    as_json_kv_u64(w, "calls_abandoned", p->calls_abandoned);
    as_json_kv_u64(w, "calls_dropped", p->calls_dropped);
    as_json_kv_u64(w, "metadata", p->metadata_dropped);
    as_json_kv_u64(w, "open_layers", p->open_dropped);
    as_json_kv_u64(w, "feed_failures", run->session.feed_failures);
    as_json_object_end(w);
}

static void put_gpu(struct as_json_writer *w, const struct as_manager_run *run,
                    const char *const key[2])
{
    for (size_t i = 0; i < 2; i++)
        put_none(w, key[i], run->reason[AS_PART_GPU]);
}

static void put_leaks(struct as_json_writer *w, const struct as_manager_run *run, const char *key,
                      size_t top)
{
    if (!has(w, run, key, AS_PART_LEAKS))
        return;
    as_leak_json(w, &run->leaks, top);
    put_held(w, &run->held, top);
}

static void put_rest(struct as_json_writer *w, const struct as_manager_run *run, uint32_t wanted,
                     size_t top)
{
    if ((wanted >> AS_SECTION_BACKENDS & 1) && has(w, run, "backend_comparison", AS_PART_BACKENDS))
        as_compare_json(w, &run->backends, top);
    if ((wanted >> AS_SECTION_ANOMALIES & 1) && has(w, run, "anomalies", AS_PART_ANOMALIES))
        as_anomaly_json(w, &run->anomalies, top);
}

void as_manager_json(struct as_json_writer *w, const struct as_manager_run *run, uint32_t sections,
                     const uint32_t *order, size_t top)
{
    static const char *const gpu[] = {"gpu_utilization", "gpu_recommendations"};
    const uint32_t wanted = sections ? sections : ~UINT32_C(0);
    const bool summary = wanted >> AS_SECTION_SUMMARY & 1;

    as_json_kv_text(w, "assay_version", run->assay_version);
    as_json_kv_f64(w, "timestamp", run->timestamp);
    if (summary)
        put_session(w, run);
    if ((wanted >> AS_SECTION_LAYERS & 1) && has(w, run, "layer_profiling", AS_PART_LAYERS))
        put_layers(w, &run->layers, order, top);
    if ((wanted >> AS_SECTION_MEMORY & 1) && has(w, run, "memory_profiling", AS_PART_MEMORY))
        as_memory_json(w, &run->memory, top);
    if (wanted >> AS_SECTION_LEAKS & 1)
        put_leaks(w, run, "memory_leaks", top);
    if ((wanted >> AS_SECTION_BOTTLENECKS & 1) && has(w, run, "bottlenecks", AS_PART_BOTTLENECKS))
        as_bottleneck_json(w, &run->bottlenecks, top);
    if (summary)
        put_gpu(w, run, gpu);
    if ((wanted >> AS_SECTION_DISTRIBUTED & 1) &&
        has(w, run, "distributed_training", AS_PART_DISTRIBUTED))
        as_distributed_json(w, &run->distributed, top);
    put_rest(w, run, wanted, top);
    if (summary)
        put_cost(w, run);
}

/* ---- the dashboard ---- */

static void put_dashboard_memory(struct as_json_writer *w, const struct as_manager_run *run)
{
    static const char *const key[] = {"memory_snapshots", "memory_growth", "memory_summary"};
    const struct as_memory_report *m = &run->memory;

    if (run->reason[AS_PART_MEMORY]) {
        for (size_t i = 0; i < AS_COUNT_OF(key); i++)
            put_none(w, key[i], run->reason[AS_PART_MEMORY]);
        return;
    }
    put_snapshots(w, key[0], m, 0);
    as_json_fields_list(w, key[1], &as_memory_growth_shape, m->snapshot, m->n_snapshots);
    as_json_kv_object(w, key[2]);
    put_memory_summary(w, m, 0);
    as_json_object_end(w);
}

static void put_dashboard_bottlenecks(struct as_json_writer *w, const struct as_manager_run *run)
{
    static const char *const key[] = {"bottlenecks", "recommendations", "ranked", "findings"};
    const struct assay_bottleneck_result *b = &run->bottlenecks;

    for (size_t i = 0; run->reason[AS_PART_BOTTLENECKS] && i < AS_COUNT_OF(key); i++)
        put_none(w, key[i], run->reason[AS_PART_BOTTLENECKS]);
    if (run->reason[AS_PART_BOTTLENECKS])
        return;
    as_json_fields_list(w, key[0], &as_bottleneck_shape, b->bottlenecks, b->n_bottlenecks);
    as_json_fields_list(w, key[1], &as_recommendation_shape, b->recommendations,
                        b->n_recommendations);
    as_json_fields_list(w, key[2], &as_ranked_layer_shape, b->ranked, b->n_ranked);
    as_json_fields_list(w, key[3], &as_finding_shape, b->findings, b->n_findings);
}

void as_manager_dashboard_json(struct as_json_writer *w, const struct as_manager_run *run)
{
    static const char *const gpu[] = {"gpu_metrics", "gpu_summary"};

    as_json_kv_f64(w, "timestamp", run->timestamp);
    if (has(w, run, "execution_history", AS_PART_LAYERS))
        put_history(w, &run->layers, 0);
    if (has(w, run, "layer_stats", AS_PART_LAYERS))
        put_stats(w, &run->layers, NULL, 0);
    put_dashboard_memory(w, run);
    put_leaks(w, run, "memory_leak_summary", 0);
    put_dashboard_bottlenecks(w, run);
    put_gpu(w, run, gpu);
    if (has(w, run, "distributed_metrics", AS_PART_DISTRIBUTED)) {
        as_json_object(w);
        put_load(w, &run->distributed.load, 0);
        put_communication(w, "communication", &run->distributed.communication);
        as_json_object_end(w);
    }
    put_rest(w, run, ~UINT32_C(0), 0);
    put_extras(w, run);
}
