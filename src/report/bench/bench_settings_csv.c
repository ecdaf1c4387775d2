/* report/bench/bench_settings_csv.c - a bench as CSV: settings.csv has a row for each setting, as
 * the page has, samples.csv one for each sample. What is unknown is empty. */
#include "base/units.h"
#include "report/bench/bench_report.h"

static const char *const setting_columns[] = {
    "setting",        "baseline",        "error",   "samples",          "median_ns",
    "ci95_low_ns",    "ci95_high_ns",    "mean_ns", "std_ns",           "min_ns",
    "max_ns",         "p90_ns",          "p95_ns",  "p99_ns",           "user_mean_ns",
    "system_mean_ns", "kernel_mean_ns",  "items",   "items_per_second", "time_ratio",
    "time_ratio_low", "time_ratio_high", "p_value", "peak_mem_bytes",   "energy_j",
    "same_outputs"};

static void put_times(struct as_csv_writer *w, const struct as_bench_row *row)
{
    const struct as_summary *s = &row->wall;
    bool measured = s->n > 0 && !row->setting->failed;
    const double ns[] = {s->median,
                         row->median_ns.low,
                         row->median_ns.high,
                         s->mean,
                         s->std_sample,
                         s->min,
                         s->max,
                         s->percentile[AS_SUMMARY_P90],
                         s->percentile[AS_SUMMARY_P95],
                         s->percentile[AS_SUMMARY_P99],
                         row->user_mean_ns,
                         row->system_mean_ns,
                         row->kernel_mean_ns};

    as_csv_u64(w, s->n);
    for (size_t i = 0; i < AS_COUNT_OF(ns); i++)
        as_csv_ns(w, measured ? ns[i] : AS_UNKNOWN);
}

static int put_settings(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_bench_result *r = ((const struct as_bench_report *)of)->result;

    (void)err;
    for (size_t i = 0; i < AS_COUNT_OF(setting_columns); i++)
        as_csv_text(w, setting_columns[i]);
    as_csv_row_end(w);
    for (size_t i = 0; i < r->bench->n_settings; i++) {
        const struct as_bench_row *row = &r->rows[i];

        as_csv_text(w, row->setting->name);
        as_csv_u64(w, i == r->bench->baseline);
        as_csv_text(w, row->setting->failed ? row->setting->why : NULL);
        put_times(w, row);
        as_csv_f64(w, row->setting->items);
        as_csv_f64(w, row->wall.n ? 1e9 / row->item_ns.value : AS_UNKNOWN);
        as_csv_f64(w, row->time_ratio.value);
        as_csv_f64(w, row->time_ratio.low);
        as_csv_f64(w, row->time_ratio.high);
        as_csv_f64(w, row->p);
        as_csv_f64(w, row->peak_mem_bytes);
        as_csv_f64(w, row->energy_j.value);
        as_csv_f64(w, row->outputs_known ? row->same_outputs : AS_UNKNOWN);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

static void put_known(struct as_csv_writer *w, uint64_t value)
{
    if (value == AS_BENCH_UNKNOWN)
        as_csv_empty(w);
    else
        as_csv_u64(w, value);
}

static int put_samples(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    static const char *const columns[] = {"setting",   "sample",         "wall_ns", "user_ns",
                                          "system_ns", "peak_mem_bytes", "energy_j"};
    const struct as_bench *bench = ((const struct as_bench_report *)of)->result->bench;

    (void)err;
    for (size_t i = 0; i < AS_COUNT_OF(columns); i++)
        as_csv_text(w, columns[i]);
    as_csv_row_end(w);
    for (size_t i = 0; i < bench->n_settings; i++)
        for (size_t k = 0; k < bench->settings[i].n; k++) {
            const struct as_bench_sample *s = &bench->settings[i].samples[k];

            as_csv_text(w, bench->settings[i].name);
            as_csv_u64(w, s->sample_id);
            put_known(w, s->wall_ns);
            put_known(w, s->user_ns);
            put_known(w, s->system_ns);
            put_known(w, s->peak_mem_bytes);
            as_csv_f64(w, s->energy_j);
            as_csv_row_end(w);
        }
    return ASSAY_OK;
}

int as_bench_csv(const struct as_bench_report *report, const struct as_csv_target *to,
                 struct assay_error *err)
{
    int rc = as_csv_target_open(to, err);

    if (rc == ASSAY_OK)
        rc = as_csv_target_put(to, "settings.csv", put_settings, report, err);
    if (rc == ASSAY_OK && to->folder)
        rc = as_csv_target_put(to, "samples.csv", put_samples, report, err);
    return rc < 0 ? rc : to->folder ? 2 : 1;
}
