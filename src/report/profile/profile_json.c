/* report/profile/profile_json.c - how fast a network runs and why, as JSON (schema assay.profile).
 * Base units in the keys; what cannot be had is null; keys always come in the same order. */
#include <string.h>

#include "base/json/json_writer.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/machine/machine_report.h"
#include "report/profile/profile_report.h"

static void put_model(struct as_json_writer *w, const struct as_profile *p)
{
    as_json_kv_object(w, "model");
    as_json_kv_text(w, "path", p->data->model.path);
    as_json_kv_u64(w, "parameters", p->data->model.parameters);
    as_json_kv_u64(w, "parameter_bytes", p->memory.parameter_bytes);
    as_json_kv_u64(w, "macs", p->data->model.macs);
    as_json_kv_u64(w, "flops", p->data->model.flops);
    as_json_kv_bool(w, "counts_complete", p->data->model.complete);
    as_json_kv_u64(w, "nodes", p->data->model.nodes);
    as_json_kv_u64(w, "steps", p->n_layers);
    as_json_kv_u64(w, "batch", p->data->model.batch);
    as_json_kv_array(w, "inputs");
    for (size_t i = 0; i < p->data->n_inputs; i++) {
        const struct as_input_choice *c = &p->data->inputs[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, c, name, dtype, shape);
        as_json_kv_text(w, "filled_with", c->how);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_peaks(struct as_json_writer *w, const struct as_profile *p)
{
    static const char *const bandwidth[] = {"l1_bytes_per_second", "l2_bytes_per_second",
                                            "l3_bytes_per_second", "dram_bytes_per_second"};
    static const char *const compute[] = {"peak_f32_flops_per_second", "peak_f64_flops_per_second",
                                          "peak_bf16_flops_per_second", "peak_i8_ops_per_second"};

    _Static_assert(AS_COUNT_OF(bandwidth) == AS_PEAK_LEVEL_COUNT, "every level");
    _Static_assert(AS_COUNT_OF(compute) == AS_PEAK_TYPE_COUNT, "every type");
    for (int i = 0; i < AS_PEAK_TYPE_COUNT; i++)
        as_json_kv_f64(w, compute[i],
                       p->peaks ? as_peak_flops(p->peaks, (enum as_peak_type)i, p->data->threads)
                                : AS_UNKNOWN);
    for (int i = 0; i < AS_PEAK_LEVEL_COUNT; i++)
        as_json_kv_f64(w, bandwidth[i],
                       p->peaks
                           ? as_peak_bandwidth(p->peaks, (enum as_peak_level)i, p->data->threads)
                           : AS_UNKNOWN);
    as_json_kv_text(w, "peaks_unavailable", p->peaks ? NULL : p->data->why_no_peaks);
}

static void put_machine(struct as_json_writer *w, const struct as_profile *p)
{
    const char *library = p->data->library, *why = p->data->why_no_library;

    as_json_kv_object(w, "machine");
    as_json_kv_text(w, "cpu", p->data->topology.cpu.model);
    as_json_kv_u64(w, "usable_threads", p->data->topology.n_usable);
    as_isa_json(w, &p->data->topology.isa);
    as_json_kv_text(w, "library", library);
    as_json_kv_text(w, "library_unavailable", library ? NULL : why);
    put_peaks(w, p);
    as_json_kv_array(w, "findings");
    for (size_t i = 0; i < p->fitness.n; i++)
        as_json_fields_write(w, &as_finding_shape, &p->fitness.findings[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_config(struct as_json_writer *w, const struct as_profile *p)
{
    as_json_kv_object(w, "config");
    as_json_kv_u64(w, "threads", p->data->threads);
    as_json_fields_put(w, &as_profile_config_shape, &p->data->config);
    as_json_object_end(w);
}

/* A percentile that the number of runs does not carry is null. */
static void put_percentile(struct as_json_writer *w, const char *key, const struct as_summary *s,
                           enum as_summary_p which)
{
    as_json_kv_f64(w, key, s->supported[which] ? s->percentile[which] : AS_UNKNOWN);
}

static void put_latency(struct as_json_writer *w, const struct as_profile *p)
{
    const struct as_latency_run *run = &p->data->latency;
    const struct as_summary *s = &run->figures.summary;
    bool known = run->figures.median.interval.reached;

    as_json_kv_object(w, "latency");
    as_json_kv_f64(w, "median_ns", s->median);
    /* Too few runs give no interval: what they span is no 95 %. */
    as_json_kv_f64(w, "ci95_low_ns", known ? run->figures.median.interval.low : AS_UNKNOWN);
    as_json_kv_f64(w, "ci95_high_ns", known ? run->figures.median.interval.high : AS_UNKNOWN);
    as_json_key(w, "earlier_runs");
    if (run->n_earlier) {
        as_json_object(w);
        as_json_kv_u64(w, "runs", run->n_earlier);
        as_json_kv_f64(w, "spread_share", run->earlier_spread);
        as_json_kv_bool(w, "widened_interval", run->widened);
        as_json_object_end(w);
    } else {
        as_json_null(w);
    }
    as_json_kv_u64(w, "effective_runs", run->figures.median.n_effective);
    as_json_kv_f64(w, "mean_ns", s->mean);
    as_json_kv_f64(w, "std_ns", s->std_sample);
    as_json_kv_f64(w, "min_ns", s->min);
    as_json_kv_f64(w, "max_ns", s->max);
    as_json_kv_f64(w, "mad_ns", s->mad);
    as_json_kv_f64(w, "cv", s->cv);
    put_percentile(w, "p50_ns", s, AS_SUMMARY_P50);
    put_percentile(w, "p90_ns", s, AS_SUMMARY_P90);
    put_percentile(w, "p95_ns", s, AS_SUMMARY_P95);
    put_percentile(w, "p99_ns", s, AS_SUMMARY_P99);
    as_json_kv_u64(w, "runs", run->n);
    as_json_kv_u64(w, "calls_per_run", run->batch);
    as_json_kv_u64(w, "warmup_runs", run->warm_up.runs);
    as_json_kv_bool(w, "steady", run->steady);
    as_json_kv_text(w, "stopped_by", as_latency_stop_name(run->stop));
    AS_JSON_FIELDS(w, p->data, cold_ns, prepare_ns, load_ns);
    as_json_kv_f64(w, "timer_cost_ns", run->timer_cost_ns);
    as_json_kv_u64(w, "outliers", run->n_outliers);
    as_json_kv_object(w, "outlier_causes");
    for (int i = 0; i < AS_CAUSE_COUNT; i++) {
        as_json_kv_object(w, as_cause_name((enum as_cause)i));
        as_json_kv_bool(w, "known", run->causes[i].known);
        as_json_kv_u64(w, "count", run->causes[i].n);
        as_json_kv_u64(w, "outliers_with", run->causes[i].n_outliers);
        as_json_kv_bool(w, "suspected", run->causes[i].suspected);
        as_json_object_end(w);
    }
    as_json_object_end(w);
    as_json_kv_array(w, "samples_ns");
    for (size_t i = 0; i < run->n; i++)
        as_json_f64(w, run->samples_ns[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void put_counted(struct as_json_writer *w, const struct as_profile_memory *m,
                        const char *key, uint64_t bytes)
{
    if (m->counted)
        as_json_kv_u64(w, key, bytes);
    else
        as_json_kv_null(w, key);
}

static void put_memory(struct as_json_writer *w, const struct as_profile *p)
{
    const struct as_profile_memory *m = &p->memory;

    as_json_kv_object(w, "memory");
    as_json_kv_u64(w, "parameter_bytes", m->parameter_bytes);
    as_json_kv_u64(w, "held_parameter_bytes", m->held_bytes);
    put_counted(w, m, "activation_bytes", m->activation_bytes);
    if (m->planned)
        as_json_kv_u64(w, "planned_activation_bytes", m->planned_bytes);
    else
        as_json_kv_null(w, "planned_activation_bytes");
    put_counted(w, m, "workspace_bytes", m->workspace_bytes);
    put_counted(w, m, "kv_cache_bytes", m->kv_cache_bytes);
    put_counted(w, m, "peak_bytes", m->peak_bytes);
    as_json_kv_text(w, "memory_unavailable", m->why);
    if (m->rss_known) {
        AS_JSON_FIELDS(w, m, base_rss_bytes, rss_bytes, peak_rss_bytes);
    } else {
        as_json_kv_null(w, "base_rss_bytes");
        as_json_kv_null(w, "rss_bytes");
        as_json_kv_null(w, "peak_rss_bytes");
    }
    as_json_kv_text(w, "peak_rss_since",
                    m->peak_rss_fresh ? "before the model was prepared" : "the program began");
    as_json_kv_f64(w, "memory_efficiency", m->efficiency);
    as_json_kv_f64(w, "parameter_memory_mb", (double)m->parameter_bytes / 0x1p20);
    as_json_kv_f64(w, "activation_memory_mb",
                   m->counted ? (double)m->activation_bytes / 0x1p20 : AS_UNKNOWN);
    as_json_kv_f64(w, "peak_memory_mb", m->counted ? (double)m->peak_bytes / 0x1p20 : AS_UNKNOWN);
    as_json_object_end(w);
}

/* What of a layer is not counted is not nothing. */
static void put_count(struct as_json_writer *w, const char *key, uint64_t count, bool counted)
{
    if (counted)
        as_json_kv_u64(w, key, count);
    else
        as_json_kv_null(w, key);
}

static void put_roof(struct as_json_writer *w, const struct as_roof *roof, bool counted)
{
    as_json_kv_text(w, "bound", as_bound_name(roof->bound));
    as_json_kv_text(w, "bound_level",
                    roof->bound == AS_BOUND_MEMORY ? as_peak_level_name(roof->level) : NULL);
    as_json_kv_f64(w, "roof_fraction", counted ? roof->roof_fraction : AS_UNKNOWN);
    as_json_kv_f64(w, "arithmetic_intensity", counted ? roof->intensity : AS_UNKNOWN);
    as_json_kv_f64(w, "gflops_per_second", counted ? roof->achieved * 1e-9 : AS_UNKNOWN);
    as_json_kv_f64(w, "attainable_gflops_per_second",
                   counted ? roof->attainable * 1e-9 : AS_UNKNOWN);
    as_json_kv_f64(w, "bytes_per_second",
                   counted || roof->bandwidth > 0 ? roof->bandwidth : AS_UNKNOWN);
    as_json_kv_bool(w, "inconsistent", roof->inconsistent);
}

static void put_layer(struct as_json_writer *w, const struct as_profile_layer *layer,
                      bool memory_counted)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, layer->step, name, op, fused, kernel, layout);
    as_json_kv_bool(w, "reorder", layer->step->is_reorder);
    as_json_kv_array(w, "nodes");
    for (size_t i = 0; i < layer->step->n_nodes; i++)
        as_json_text(w, layer->step->nodes[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "calls", layer->step->calls);
    AS_JSON_FIELDS(w, layer, self_ns, mean_ns, std_ns, min_ns, max_ns, p95_ns, share,
                   cumulative_share);
    as_json_kv_bool(w, "counted", layer->step->counted);
    put_count(w, "macs", layer->step->macs, layer->step->counted);
    put_count(w, "flops", layer->step->flops, layer->step->counted);
    put_count(w, "bytes", layer->step->bytes, layer->step->counted || layer->step->bytes > 0);
    as_json_kv_u64(w, "weight_bytes", layer->step->weight_bytes);
    put_count(w, "live_bytes", layer->step->live_bytes, memory_counted);
    put_roof(w, &layer->roof, layer->step->counted);
    as_json_object_end(w);
}

static void put_group(struct as_json_writer *w, const struct as_profile_group *group)
{
    as_json_object(w);
    as_json_kv_text(w, "name", group->name);
    as_json_kv_u64(w, "layers", group->n_layers);
    AS_JSON_FIELDS(w, group, calls, self_ns, share, cumulative_share);
    put_count(w, "macs", group->macs, group->counted);
    put_count(w, "flops", group->flops, group->counted);
    as_json_kv_u64(w, "bytes", group->bytes);
    put_roof(w, &group->roof, group->counted);
    as_json_object_end(w);
}

static void put_decoder(struct as_json_writer *w, const struct as_profile_data *d)
{
    static const char *const kinds[] = {"cached", "fixed_context", "without_cache", "stream"};
    const struct as_token_run *t = d->has_tokens ? &d->tokens : NULL;

    as_json_kv_text(w, "decoder_unavailable", t ? NULL : d->why_no_tokens);
    as_json_key(w, "decoder");
    if (!t) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
    as_json_kv_text(w, "kind", kinds[t->kind]);
    as_json_kv_i64(w, "batch", t->batch);
    as_json_kv_i64(w, "prompt_tokens", t->prompt);
    as_json_kv_u64(w, "decode_tokens", t->n_steps);
    as_json_kv_bool(w, "shortened", t->shortened);
    as_json_kv_f64(w, "prefill_ns", t->prompt_ns);
    as_json_kv_f64(w, "prefill_tokens_per_second", t->prompt_tokens_per_s);
    as_json_kv_f64(w, "decode_median_ns", t->median_ns);
    as_json_kv_f64(w, "decode_p95_ns", t->p95_ns);
    as_json_kv_f64(w, "decode_tokens_per_second", t->tokens_per_s);
    as_json_kv_f64(w, "decode_slope_ns_per_token", t->slope_ns);
    as_json_kv_f64(w, "shape_inference_ns", t->shapes_ns);
    as_json_kv_u64(w, "cache_bytes", t->n_steps ? t->steps[t->n_steps - 1].cache_bytes : 0);
    as_json_kv_u64(w, "cache_peak_bytes",
                   t->peak_cache_bytes); /* the old copy beside the new one */
    put_count(w, "cache_formula_bytes", t->formula_bytes, t->formula_bytes > 0);
    as_json_kv_u64(w, "peak_bytes", t->peak_bytes);
    as_json_kv_array(w, "steps");
    for (size_t i = 0; i < t->n_steps; i++) {
        as_json_object(w);
        AS_JSON_FIELDS(w, &t->steps[i], context, ns, cache_bytes);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

/* The fields of a forward profile under their documented names, and sums. */
static void put_summary(struct as_json_writer *w, const struct as_profile *p)
{
    double peak = p->peaks ? as_peak_flops(p->peaks, AS_PEAK_F32, p->data->threads) : AS_UNKNOWN;

    as_json_kv_object(w, "summary");
    as_json_kv_u64(w, "total_layers", p->n_layers);
    as_json_kv_f64(w, "total_time_ns", p->sum_ns);
    as_json_kv_f64(w, "latency_ms", p->data->latency.figures.summary.median * 1e-6);
    as_json_kv_f64(w, "samples_per_second", p->samples_per_second);
    as_json_kv_f64(w, "tokens_per_second", p->tokens_per_second);
    put_roof(w, &p->roof, p->data->model.complete);
    as_json_kv_f64(w, "memory_bandwidth_mbs",
                   p->data->model.complete ? p->roof.bandwidth / 0x1p20 : AS_UNKNOWN);
    as_json_kv_f64(w, "computational_efficiency",
                   p->data->model.complete ? p->roof.achieved / peak : AS_UNKNOWN);
    as_json_kv_bool(w, "is_memory_bound", p->roof.bound == AS_BOUND_MEMORY);
    as_json_kv_bool(w, "is_compute_bound", p->roof.bound == AS_BOUND_COMPUTE);
    as_json_kv_text(w, "bottleneck", as_bound_name(p->roof.bound));
    as_json_kv_f64(w, "compute_bound_share", p->bound_share[AS_BOUND_COMPUTE]);
    as_json_kv_f64(w, "memory_bound_share", p->bound_share[AS_BOUND_MEMORY]);
    as_json_kv_f64(w, "overhead_bound_share", p->bound_share[AS_BOUND_OVERHEAD]);
    as_json_kv_f64(w, "unknown_bound_share", p->bound_share[AS_BOUND_UNKNOWN]);
    as_json_kv_f64(w, "reorder_share", p->reorder_share);
    as_json_kv_f64(w, "plain_kernel_share", p->plain_share);
    as_json_kv_f64(w, "layers_cover_share", p->covered_share);
    as_json_kv_text(w, "slowest_layer", p->n_layers ? p->layers[p->by_time[0]].step->name : NULL);
    as_json_object_end(w);
}

static void put_recommendations(struct as_json_writer *w, const struct as_profile *p)
{
    as_json_kv_array(w, "recommendations");
    for (size_t i = 0; i < p->n_findings; i++)
        as_json_fields_write(w, &as_finding_shape, &p->findings[i]);
    as_json_array_end(w);
}

static void put_cost(struct as_json_writer *w, const struct as_profile_data *d)
{
    bool known = d->profiled;

    as_json_kv_object(w, "profiling_cost");
    as_json_kv_f64(w, "share", known ? d->cost_share : AS_UNKNOWN);
    as_json_kv_f64(w, "share_low", known ? d->cost_low_share : AS_UNKNOWN);
    as_json_kv_f64(w, "share_high", known ? d->cost_high_share : AS_UNKNOWN);
    as_json_kv_f64(w, "plain_median_ns", known ? d->plain_median_ns : AS_UNKNOWN);
    as_json_kv_f64(w, "profiled_median_ns", known ? d->profiled_median_ns : AS_UNKNOWN);
    as_json_kv_u64(w, "runs", known ? d->n_runs : 0);
    as_json_object_end(w);
}

int as_profile_json(const struct as_profile_report *report, struct as_json_writer *w,
                    struct assay_error *err)
{
    struct as_profile *p = report->profile;
    const uint32_t *order = as_profile_order(p, report->sort);

    if (!order)
        return as_fail_nomem(err);
    as_json_kv_text(w, "tool_version", ASSAY_VERSION);
    put_model(w, p);
    put_machine(w, p);
    put_config(w, p);
    put_latency(w, p);
    put_memory(w, p);
    put_summary(w, p);
    put_decoder(w, p->data);
    as_json_kv_array(w, "operators");
    for (size_t i = 0; i < p->n_ops; i++)
        put_group(w, &p->ops[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "scopes");
    for (size_t i = 0; i < p->n_scopes; i++)
        put_group(w, &p->scopes[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < p->n_layers && (!report->top || i < report->top); i++)
        put_layer(w, &p->layers[order[i]], p->data->memory_counted);
    as_json_array_end(w);
    put_recommendations(w, p);
    put_cost(w, p->data);
    return ASSAY_OK;
}
