/* report/bottleneck/bottleneck_json.c - a bottleneck analysis as a JSON object, with the documented
 * keys. Strict: what is not known, and an unbounded speed-up, is null. */
#include "report/bottleneck/bottleneck_report.h"

#define TOP 5 /* as many as the documented summary has */

static void put_bottleneck(struct as_json_writer *w, const struct assay_bottleneck *b)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, b, layer, mean_execution_time, execution_time_std, threshold,
                   overhead_percentage, mean_memory_usage, io_intensity, gpu_utilization);
    as_json_kv_array(w, "bottleneck_type");
    for (size_t i = 0; i < b->n_types; i++)
        as_json_text(w, assay_bottleneck_type_name(b->type[i]));
    as_json_array_end(w);
    as_json_kv_f64(w, "severity_score", b->severity_score);
    as_json_object_end(w);
}

static void put_recommendation(struct as_json_writer *w, const struct assay_recommendation *r)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, r, layer, type, category);
    as_json_kv_text(w, "priority", assay_priority_name(r->priority));
    as_json_kv_text(w, "recommendation", r->recommendation);
    as_json_kv_text(w, "details", r->details);
    as_json_object_end(w);
}

static void put_summary(struct as_json_writer *w, const struct assay_bottleneck_result *r)
{
    const struct assay_bottleneck_summary *s = &r->summary;

    as_json_kv_object(w, "summary");
    AS_JSON_FIELDS(w, s, total_bottlenecks, critical_bottlenecks, total_overhead_ms);
    as_json_kv_object(w, "bottleneck_types");
    for (unsigned i = 0; i < ASSAY_BOTTLENECK_TYPE_COUNT; i++) {
        if (s->by_type[i])
            as_json_kv_u64(w, assay_bottleneck_type_name((enum assay_bottleneck_type)i),
                           s->by_type[i]);
    }
    as_json_object_end(w);
    as_json_kv_array(w, "top_bottlenecks");
    for (size_t i = 0; i < r->n_bottlenecks && i < TOP; i++) {
        as_json_object(w);
        as_json_kv_text(w, "layer", r->bottlenecks[i].layer);
        as_json_kv_f64(w, "overhead_percentage", r->bottlenecks[i].overhead_percentage);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_ranked(struct as_json_writer *w, const struct assay_ranked_layer *layer)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, layer, layer, calls, failed, self_seconds, share, speedup_bound, mean_seconds,
                   cv, roof_fraction, severity);
    as_json_kv_array(w, "causes");
    for (size_t i = 0; i < layer->n_causes; i++) {
        as_json_object(w);
        as_json_kv_text(w, "type", assay_bottleneck_type_name(layer->cause[i].type));
        as_json_kv_f64(w, "strength", layer->cause[i].strength);
        as_json_kv_text(w, "evidence", layer->cause[i].evidence);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_advice(struct as_json_writer *w, const struct assay_bottleneck_advice *advice)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, advice, rule, layer, recommendation, evidence, expected_gain, confidence);
    as_json_kv_text(w, "priority", assay_priority_name(advice->priority));
    as_json_object_end(w);
}

/* One list of the result under its key. */
#define PUT_LIST(w, r, key, n, put)                                                                \
    do {                                                                                           \
        as_json_kv_array(w, #key);                                                                 \
        for (size_t i_ = 0; i_ < (r)->n; i_++)                                                     \
            put(w, &(r)->key[i_]);                                                                 \
        as_json_array_end(w);                                                                      \
    } while (0)

int as_bottleneck_json(struct as_json_writer *w, const struct assay_bottleneck_result *result,
                       struct assay_error *err)
{
    if (!result)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no bottleneck analysis to write");
    as_json_object(w);
    PUT_LIST(w, result, bottlenecks, n_bottlenecks, put_bottleneck);
    PUT_LIST(w, result, recommendations, n_recommendations, put_recommendation);
    put_summary(w, result);
    PUT_LIST(w, result, ranked, n_ranked, put_ranked);
    PUT_LIST(w, result, advice, n_advice, put_advice);
    as_json_kv_f64(w, "threshold_seconds", result->threshold);
    as_json_kv_bool(w, "threshold_exact", result->threshold_exact);
    as_json_kv_f64(w, "total_self_seconds", result->total_self_seconds);
    as_json_kv_u64(w, "calls", result->n_calls);
    as_json_kv_u64(w, "failed_calls", result->n_failed);
    as_json_kv_u64(w, "dropped_calls", result->dropped_calls);
    as_json_kv_u64(w, "layers", result->n_layers);
    as_json_object_end(w);
    return ASSAY_OK;
}
