/* report/findings/findings_json.c - memory, leaks and bottlenecks as JSON. What is unknown is null
 * with its reason. */
#include <math.h>

#include "base/finding.h"
#include "base/units.h"
#include "report/findings/findings_report.h"

#define TOP 5 /* as many as the documented summary has */
#define METHOD                                                                                     \
    "Theil-Sen slope and Mann-Kendall test within the levels left by at most two steps, "          \
    "corrected "                                                                                   \
    "for autocorrelation; growth in both halves and of the floor; warm-up left out"

static size_t rows_of(size_t n, size_t top)
{
    return top && top < n ? top : n;
}

void as_leak_json(struct as_json_writer *w, const struct as_leak_report *leaks, size_t top)
{
    as_json_object(w);
    as_json_fields_some(w, &as_leak_summary_shape, NULL, "leaks_dropped", &leaks->summary);
    as_json_fields_list(w, "leaks", &as_leak_shape, leaks->leaks, rows_of(leaks->n_leaks, top));
    as_json_fields_some(w, &as_leak_summary_shape, "leaks_dropped", "series", &leaks->summary);
    as_json_fields_list(w, "incidents", &as_incident_shape, leaks->incidents,
                        rows_of(leaks->n_incidents, top));
    as_json_kv_f64(w, "outside_heap_mb", leaks->outside_heap_mb);
    as_json_fields_some(w, &as_leak_summary_shape, "series", NULL, &leaks->summary);
    as_json_kv_text(w, "method", METHOD);
    as_json_kv_text(w, "mb_means", "MiB");
    as_json_object_end(w);
}

static void put_summary(struct as_json_writer *w, const struct assay_bottleneck_result *r)
{
    as_json_kv_object(w, "summary");
    as_json_fields_some(w, &as_bottleneck_summary_shape, NULL, "by_type", &r->summary);
    as_json_kv_object(w, "bottleneck_types");
    for (unsigned i = 0; i < ASSAY_BOTTLENECK_TYPE_COUNT; i++) {
        if (r->summary.by_type[i])
            as_json_kv_u64(w, assay_bottleneck_type_name((enum assay_bottleneck_type)i),
                           r->summary.by_type[i]);
    }
    as_json_object_end(w);
    as_json_kv_array(w, "top_bottlenecks");
    for (size_t i = 0; i < r->n_bottlenecks && i < TOP; i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, &r->bottlenecks[i], layer, overhead_percentage);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

void as_bottleneck_json(struct as_json_writer *w, const struct assay_bottleneck_result *r,
                        size_t top)
{
    as_json_object(w);
    as_json_fields_list(w, "bottlenecks", &as_bottleneck_shape, r->bottlenecks,
                        rows_of(r->n_bottlenecks, top));
    as_json_fields_list(w, "recommendations", &as_recommendation_shape, r->recommendations,
                        rows_of(r->n_recommendations, top));
    put_summary(w, r);
    as_json_fields_list(w, "ranked", &as_ranked_layer_shape, r->ranked, rows_of(r->n_ranked, top));
    as_json_fields_list(w, "findings", &as_finding_shape, r->findings, rows_of(r->n_findings, top));
    as_json_fields_some(w, &as_bottleneck_totals_shape, NULL, "summary", r);
    as_json_object_end(w);
}

/* ---- of a recorded run ---- */

static void put_status(struct as_json_writer *w, const char *why)
{
    as_json_kv_text(w, "status", why ? "unavailable" : "ok");
    as_json_kv_text(w, "reason", why);
}

static void put_bytes(struct as_json_writer *w, const char *key, double mb)
{
    as_json_kv_f64(w, key, isfinite(mb) ? round(mb * AS_MIB) : mb);
}

static void put_series(struct as_json_writer *w, const struct as_memory_curve *m)
{
    as_json_kv_array(w, "series");
    for (size_t i = 0; i < m->n; i++) {
        as_json_object(w);
        as_json_kv_f64(w, "seconds", m->seconds[i]);
        put_bytes(w, "bytes", m->mb[i]);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_layers(struct as_json_writer *w, const struct as_layers *layers)
{
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < layers->n_layers; i++) {
        const struct as_layer_memory *m = &layers->layer[i].memory;

        if (!m->samples)
            continue;
        as_json_object(w);
        as_json_kv_text(w, "layer", layers->layer[i].info->name);
        as_json_kv_u64(w, "call_count", m->samples);
        as_json_kv_f64(w, "mean_memory_mb", m->mean_mb);
        as_json_kv_f64(w, "std_memory_mb", m->std_mb);
        as_json_kv_f64(w, "min_memory_mb", m->min_mb);
        as_json_kv_f64(w, "max_memory_mb", m->max_mb);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_findings_memory_json(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_memory_curve *m = &report->view->memory;
    double unknown = AS_UNKNOWN;

    as_json_kv_object(w, "memory");
    put_status(w, m->why);
    as_json_kv_text(w, "what", m->what);
    put_bytes(w, "baseline_bytes", m->why ? unknown : m->baseline_mb);
    put_bytes(w, "peak_bytes", m->why ? unknown : m->peak_mb);
    put_bytes(w, "last_bytes", m->why ? unknown : m->last_mb);
    as_json_kv_f64(w, "baseline_memory_mb", m->why ? unknown : m->baseline_mb);
    as_json_kv_f64(w, "peak_memory_mb", m->why ? unknown : m->peak_mb);
    as_json_kv_u64(w, "total_snapshots", m->snapshots);
    put_series(w, m);
    put_layers(w, report->layers);
    as_json_object_end(w);
}

void as_findings_leaks_json(struct as_json_writer *w, const struct as_run_findings *findings)
{
    as_json_key(w, "leaks");
    if (!findings->leaks.why) {
        as_leak_json(w, &findings->leaks.found, 0);
        return;
    }
    as_json_object(w);
    put_status(w, findings->leaks.why);
    as_json_object_end(w);
}

void as_findings_no_bottlenecks_json(struct as_json_writer *w, const char *why)
{
    as_json_kv_object(w, "bottlenecks");
    put_status(w, why);
    as_json_object_end(w);
}
