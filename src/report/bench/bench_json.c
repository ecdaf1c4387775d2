/* report/bench/bench_json.c - the results of an experiment as JSON (schema assay.bench) and as one
 * CSV table. Base units in the keys; what is unknown is null or empty. */

#include "base/json/json_writer.h"
#include "base/text/csv.h"
#include "base/units.h"
#include "report/bench/bench_report.h"
#include "report/machine/machine_report.h"

static void put_estimate(struct as_json_writer *w, const char *key,
                         const struct as_bench_estimate *e)
{
    as_json_kv_object(w, key);
    as_json_kv_f64(w, "value", e->value);
    as_json_kv_f64(w, "ci95_low", e->low);
    as_json_kv_f64(w, "ci95_high", e->high);
    as_json_kv_u64(w, "n", e->n);
    as_json_object_end(w);
}

static void put_latency(struct as_json_writer *w, const struct as_bench_row *row)
{
    const struct as_summary *s = &row->wall;

    as_json_kv_object(w, "latency");
    as_json_kv_f64(w, "median_ns", s->median);
    as_json_kv_f64(w, "ci95_low_ns", row->median_ns.low);
    as_json_kv_f64(w, "ci95_high_ns", row->median_ns.high);
    as_json_kv_f64(w, "mean_ns", s->mean);
    as_json_kv_f64(w, "std_ns", s->std_sample);
    as_json_kv_f64(w, "min_ns", s->min);
    as_json_kv_f64(w, "max_ns", s->max);
    as_json_kv_f64(w, "p90_ns", s->percentile[AS_SUMMARY_P90]);
    as_json_kv_f64(w, "p95_ns", s->percentile[AS_SUMMARY_P95]);
    as_json_kv_bool(w, "p95_supported", s->supported[AS_SUMMARY_P95]);
    as_json_kv_f64(w, "p99_ns", s->percentile[AS_SUMMARY_P99]);
    as_json_kv_bool(w, "p99_supported", s->supported[AS_SUMMARY_P99]);
    as_json_kv_text(w, "percentile_method", as_quantile_name(s->method));
    as_json_kv_f64(w, "kernel_mean_ns", row->kernel_mean_ns);
    as_json_kv_f64(w, "user_mean_ns", row->user_mean_ns);
    as_json_kv_f64(w, "system_mean_ns", row->system_mean_ns);
    as_json_kv_f64(w, "decide_mean_ns", row->decide_ns.value);
    as_json_kv_u64(w, "samples", s->n);
    as_json_kv_f64(w, "items", row->setting->items);
    as_json_kv_f64(w, "median_ns_per_item", row->item_ns.value);
    as_json_kv_f64(w, "items_per_second", 1e9 / row->item_ns.value);
    as_json_object_end(w);
}

static void put_savings(struct as_json_writer *w, const struct as_bench_row *row)
{
    put_estimate(w, "kv_cache_reduction", &row->kv_cache_reduction);
    put_estimate(w, "peak_mem_reduction", &row->peak_mem_reduction);
    put_estimate(w, "energy_reduction", &row->energy_reduction);
    put_estimate(w, "latency_reduction", &row->latency_reduction);
    put_estimate(w, "time_ratio", &row->time_ratio);
    as_json_kv_f64(w, "p_value", row->p);
    as_json_kv_f64(w, "samples_to_show_10_percent", row->samples_for_10);
    as_json_kv_bool(w, "near_shell_start", row->near_shell);
    as_json_kv_f64(w, "p95_change", row->p95_change);
    as_json_key(w, "same_outputs");
    if (row->outputs_known)
        as_json_bool(w, row->same_outputs);
    else
        as_json_null(w);
}

static void put_quality(struct as_json_writer *w, const struct as_bench_row *row)
{
    put_estimate(w, "coherence_delta", &row->coherence_delta);
    AS_JSON_FIELDS(w, row, coherence_loss, accuracy, contradiction_rate, max_abs_error);
    put_estimate(w, "edges_kept", &row->edges_kept);
    put_estimate(w, "cuts", &row->cuts);
    as_json_kv_f64(w, "deciding_share", row->deciding);
}

static void put_criteria(struct as_json_writer *w, const struct as_bench_row *row)
{
    as_json_kv_object(w, "criteria");
    for (int c = 0; c < AS_CRITERION_COUNT; c++)
        as_json_kv_text(w, as_criterion_name((enum as_criterion)c),
                        as_verdict_name(row->criteria[c]));
    as_json_object_end(w);
}

static void put_setting(struct as_json_writer *w, const struct as_bench_report *report, size_t i)
{
    const struct as_bench_result *r = report->result;
    const struct as_bench_row *row = &r->rows[i];
    const struct as_bench_setting *s = row->setting;

    as_json_object(w);
    as_json_kv_text(w, "setting", s->name);
    as_json_kv_bool(w, "baseline", i == r->bench->baseline);
    as_json_kv_text(w, "error", s->failed ? s->why : NULL);
    if (report->grid) {
        as_json_kv_object(w, "values");
        for (size_t a = 0; a < report->grid->n_axes; a++)
            as_json_kv_text(w, report->grid->axes[a].name, as_grid_value(report->grid, i, a));
        as_json_object_end(w);
    }
    as_json_kv_text(w, "config_hash", report->config_hashes ? report->config_hashes[i] : NULL);
    as_json_kv_f64(w, "lambda", s->lambda);
    as_json_kv_f64(w, "tau", s->tau);
    put_latency(w, row);
    as_json_kv_f64(w, "peak_mem_bytes", row->peak_mem_bytes);
    put_estimate(w, "mean_mem_bytes", &row->mean_mem_bytes);
    put_estimate(w, "energy_j", &row->energy_j);
    put_savings(w, row);
    if (r->judged) {
        put_quality(w, row);
        if (i != r->bench->baseline)
            put_criteria(w, row);
    }
    as_json_object_end(w);
}

void as_bench_json(const struct as_bench_report *report, struct as_json_writer *w)
{
    const struct as_bench_result *r = report->result;

    as_json_kv_text(w, "workload", r->bench->kind);
    as_json_kv_text(w, "title", report->title);
    if (report->isa)
        as_isa_json(w, report->isa);
    as_json_kv_text(w, "experiment_hash", report->experiment_hash);
    as_json_key(w, "fingerprint");
    as_json_raw_checked(w, report->fingerprint);
    as_json_kv_u64(w, "samples", r->bench->n_samples);
    as_json_kv_text(w, "compared_by", r->by_item ? "item" : "sample");
    if (report->shell) {
        as_json_kv_object(w, "shell_subtracted");
        as_json_kv_f64(w, "median_ns", report->shell->median_ns.value);
        as_json_kv_f64(w, "ci95_low_ns", report->shell->median_ns.low);
        as_json_kv_f64(w, "ci95_high_ns", report->shell->median_ns.high);
        as_json_kv_f64(w, "user_mean_ns", report->shell->user_ns);
        as_json_kv_f64(w, "system_mean_ns", report->shell->system_ns);
        as_json_object_end(w);
    }
    as_json_kv_text(w, "energy_source", report->energy_source);
    as_json_kv_bool(w, "energy_is_assumed", r->limits.energy_is_assumed);
    as_json_kv_text(w, "energy_reason", report->energy_why);
    as_json_kv_text(w, "witness_note", report->witness_note);
    if (r->judged)
        as_json_kv_u64(w, "settings_that_meet_the_criteria", r->n_met);
    as_json_kv_array(w, "settings");
    for (size_t i = 0; i < r->bench->n_settings; i++)
        put_setting(w, report, i);
    as_json_array_end(w);
}

/* ---- CSV ---- */

static void csv_estimate(struct as_csv_writer *w, const struct as_bench_estimate *e)
{
    as_csv_f64(w, e->value);
    as_csv_f64(w, e->low);
    as_csv_f64(w, e->high);
}

int as_bench_summary_csv(const struct as_bench_report *report, struct as_out *out,
                         struct assay_error *err)
{
    static const char *const names[] = {"setting",
                                        "error",
                                        "samples",
                                        "median_ns",
                                        "median_low_ns",
                                        "median_high_ns",
                                        "mean_ns",
                                        "std_ns",
                                        "min_ns",
                                        "max_ns",
                                        "p95_ns",
                                        "p99_ns",
                                        "kernel_mean_ns",
                                        "decide_mean_ns",
                                        "peak_mem_bytes",
                                        "energy_j",
                                        "time_ratio",
                                        "time_ratio_low",
                                        "time_ratio_high",
                                        "p_value",
                                        "memory_saved",
                                        "memory_saved_low",
                                        "memory_saved_high",
                                        "items",
                                        "median_ns_per_item"};
    const struct as_bench_result *r = report->result;
    struct as_csv_writer w = {.out = out};

    (void)err;
    for (size_t i = 0; i < AS_COUNT_OF(names); i++)
        as_csv_text(&w, names[i]);
    as_csv_row_end(&w);
    for (size_t i = 0; i < r->bench->n_settings; i++) {
        const struct as_bench_row *row = &r->rows[i];
        const double figures[] = {row->wall.median,
                                  row->median_ns.low,
                                  row->median_ns.high,
                                  row->wall.mean,
                                  row->wall.std_sample,
                                  row->wall.min,
                                  row->wall.max,
                                  row->wall.percentile[AS_SUMMARY_P95],
                                  row->wall.percentile[AS_SUMMARY_P99],
                                  row->kernel_mean_ns,
                                  row->decide_ns.value,
                                  row->peak_mem_bytes,
                                  row->energy_j.value};

        as_csv_text(&w, row->setting->name);
        as_csv_text(&w, row->setting->failed ? row->setting->why : "");
        as_csv_u64(&w, row->wall.n);
        for (size_t k = 0; k < AS_COUNT_OF(figures); k++)
            as_csv_f64(&w, figures[k]);
        csv_estimate(&w, &row->time_ratio);
        as_csv_f64(&w, row->p);
        csv_estimate(&w, &row->peak_mem_reduction);
        as_csv_f64(&w, row->setting->items);
        as_csv_f64(&w, row->item_ns.value);
        as_csv_row_end(&w);
    }
    return ASSAY_OK;
}

static void csv_whole(struct as_csv_writer *w, uint64_t value)
{
    if (value == AS_BENCH_UNKNOWN)
        as_csv_empty(w);
    else
        as_csv_u64(w, value);
}

int as_bench_details_csv(const struct as_bench_setting *setting, struct as_out *out,
                         struct assay_error *err)
{
    static const char *const names[] = {"sample_id",      "seq_len",         "wall_time_ns",
                                        "kernel_time_ns", "decide_time_ns",  "peak_mem_bytes",
                                        "energy_j",       "coherence_delta", "l2_distance",
                                        "max_abs_error",  "decision_flips",  "path_length_change",
                                        "positions_kept", "positions_total", "edges_kept",
                                        "edges_total",    "cut_cost",        "decisions",
                                        "cuts",           "status",          "output_hash"};
    struct as_csv_writer w = {.out = out};

    (void)err;
    for (size_t i = 0; i < AS_COUNT_OF(names); i++)
        as_csv_text(&w, names[i]);
    as_csv_row_end(&w);
    for (size_t i = 0; i < setting->n; i++) {
        const struct as_bench_sample *s = &setting->samples[i];

        csv_whole(&w, s->sample_id);
        csv_whole(&w, s->seq_len);
        csv_whole(&w, s->wall_ns);
        csv_whole(&w, s->kernel_ns);
        csv_whole(&w, s->decide_ns);
        csv_whole(&w, s->peak_mem_bytes);
        as_csv_f64(&w, s->energy_j);
        as_csv_f64(&w, s->coherence_delta);
        as_csv_f64(&w, s->l2);
        as_csv_f64(&w, s->max_abs);
        csv_whole(&w, s->decision_flips);
        as_csv_f64(&w, s->path_length_change);
        csv_whole(&w, s->positions_kept);
        csv_whole(&w, s->positions_total);
        csv_whole(&w, s->edges_kept);
        csv_whole(&w, s->edges_total);
        as_csv_f64(&w, s->cut_cost);
        csv_whole(&w, s->decisions);
        csv_whole(&w, s->cuts);
        csv_whole(&w, s->status);
        as_csv_text(&w, s->output_hash);
        as_csv_row_end(&w);
    }
    return ASSAY_OK;
}
