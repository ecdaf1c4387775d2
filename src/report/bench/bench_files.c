/* report/bench/bench_files.c - the folder of an experiment: run.assay, results.json, summary.md,
 * fingerprint.json and figures; results.csv, or for an attention workload csv/ with what is
 * documented for it. */
#include "report/bench/bench_files.h"

#include <assay/experiment/bench_csv.h>
#include <limits.h>
#include <stdio.h>

#include "analyze/run/run_document.h"
#include "base/alloc.h"
#include "base/units.h"
#include "experiment/bench/bench_csv_schema.h"
#include "report/run/show.h"

/* ---- paths ---- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("._-+=,", c) != NULL;
}

bool as_bench_file_name(const char *name, size_t setting, const char *suffix, char *out,
                        size_t capacity)
{
    char plain[AS_GRID_NAME];
    bool changed = name[0] == '.' || name[0] == '-' || strlen(name) > 150;
    size_t n = 0;
    int size;

    for (; n < 150 && name[n]; n++) {
        plain[n] = name[n];
        if (!is_plain(name[n])) {
            plain[n] = '_';
            changed = true;
        }
    }
    plain[n] = '\0';
    /* Two names may become one: the number tells them apart. */
    size = changed ? snprintf(out, capacity, "%zu_%s%s", setting, plain, suffix)
                   : snprintf(out, capacity, "%s%s", plain, suffix);
    return size > 0 && (size_t)size < capacity;
}

static int join(const struct as_bench_folder *folder, const char *name, char out[PATH_MAX],
                struct assay_error *err)
{
    bool table = folder->csv && strncmp(name, "csv/", 4) == 0;

    if (snprintf(out, PATH_MAX, "%s/%s", table ? folder->csv : folder->path,
                 table ? name + 4 : name) >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder->path);
    return ASSAY_OK;
}

int as_bench_file(const struct as_bench_folder *folder, size_t setting, const char *suffix,
                  char *out, size_t capacity, struct assay_error *err)
{
    const struct as_bench *bench = folder->report->result->bench;
    const char *name = setting == bench->baseline ? "baseline" : bench->settings[setting].name;
    char file[AS_GRID_NAME + 64], table[AS_GRID_NAME + 72], path[PATH_MAX];

    if (as_bench_file_name(name, setting, suffix, file, sizeof file) &&
        snprintf(table, sizeof table, "csv/%s", file) < (int)sizeof table &&
        join(folder, table, path, NULL) == ASSAY_OK &&
        snprintf(out, capacity, "%s", path) < (int)capacity)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder->path);
}

/* ---- rows ---- */

/* Of one setting, or of the whole experiment (SIZE_MAX), whose hash is that of the deciding facts.
 */
static struct assay_csv_stamp stamp_of(const struct as_bench_folder *folder, size_t setting)
{
    const struct as_bench_report *r = folder->report;

    return (struct assay_csv_stamp){
        .size = sizeof(struct assay_csv_stamp),
        .config_hash = r->config_hashes && setting != SIZE_MAX ? r->config_hashes[setting] : NULL,
        .fingerprint = folder->fingerprint};
}

static int write_samples(const struct as_bench_folder *folder, size_t setting,
                         struct assay_error *err)
{
    const struct as_bench_setting *s = &folder->report->result->bench->settings[setting];
    struct assay_csv_stamp stamp = stamp_of(folder, setting);
    struct assay_sample_row *rows = as_alloc_zero(s->n + 1, sizeof *rows);
    char path[PATH_MAX];
    int rc =
        rows ? as_bench_file(folder, setting, ".csv", path, sizeof path, err) : as_fail_nomem(err);

    for (size_t i = 0; rc == ASSAY_OK && i < s->n; i++)
        rows[i] = (struct assay_sample_row){
            .sample_id = s->samples[i].sample_id,
            .seq_len = s->samples[i].seq_len,
            .wall_time_ns = s->samples[i].wall_ns,
            .peak_mem_bytes = s->samples[i].peak_mem_bytes,
            .energy_j = s->samples[i].energy_j,
        };
    if (rc == ASSAY_OK)
        rc = assay_csv_write_samples(path, rows, s->n, folder->unstamped ? NULL : &stamp, err);
    as_free(rows);
    return rc;
}

static int write_latency(const struct as_bench_folder *folder, size_t setting,
                         struct assay_error *err)
{
    const struct as_bench_setting *s = &folder->report->result->bench->settings[setting];
    struct assay_csv_stamp stamp = stamp_of(folder, setting);
    struct assay_latency_record *rows = as_alloc_zero(s->n + 1, sizeof *rows);
    char path[PATH_MAX];
    int rc = rows ? as_bench_file(folder, setting, ".latency.csv", path, sizeof path, err)
                  : as_fail_nomem(err);

    for (size_t i = 0; rc == ASSAY_OK && i < s->n; i++)
        rows[i] = (struct assay_latency_record){
            .sample_id = s->samples[i].sample_id,
            .wall_time_ns = s->samples[i].wall_ns,
            .kernel_time_ns = s->samples[i].kernel_ns,
            .kernel_available = s->samples[i].kernel_ns != AS_BENCH_UNKNOWN,
            .seq_len = s->samples[i].seq_len,
        };
    if (rc == ASSAY_OK)
        rc = assay_csv_write_latency(path, rows, s->n, folder->unstamped ? NULL : &stamp, err);
    as_free(rows);
    return rc;
}

static int write_details(const struct as_bench_folder *folder, size_t setting,
                         struct assay_error *err)
{
    static const struct as_csv_schema details = {.name = "details"};
    struct assay_csv_stamp stamp = stamp_of(folder, setting);
    char path[PATH_MAX];
    struct as_out out;
    int rc = as_bench_file(folder, setting, ".details.csv", path, sizeof path, err);

    if (rc == ASSAY_OK)
        rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = as_bench_details_csv(&folder->report->result->bench->settings[setting], &out, err);
    if (rc < 0) {
        as_out_drop(&out);
        return rc;
    }
    rc = as_out_close(&out, err);
    return rc == ASSAY_OK && !folder->unstamped
               ? as_bench_csv_stamp(path, &details,
                                    folder->report->result->bench->settings[setting].n, &stamp, err)
               : rc;
}

/* ---- results ---- */

static void fill_row(struct assay_result_row *out, const struct as_bench_row *row)
{
    const double no = AS_UNKNOWN;

    if (row->setting->failed) { /* half of its samples would pass for all of them */
        *out = (struct assay_result_row){
            row->setting->name, row->setting->lambda, row->setting->tau, no, no, no, no, no, no};
        return;
    }
    *out = (struct assay_result_row){
        .setting = row->setting->name,
        .lambda = row->setting->lambda,
        .tau = row->setting->tau,
        .coherence_delta = row->coherence_delta.value,
        .kv_cache_reduction = row->kv_cache_reduction.value,
        .peak_mem_reduction = row->peak_mem_reduction.value,
        .energy_reduction = row->energy_reduction.value,
        .p95_latency_us = row->wall.percentile[AS_SUMMARY_P95] / 1000,
        .accuracy = row->accuracy,
    };
}

static int write_results(const struct as_bench_folder *folder, struct assay_error *err)
{
    const struct as_bench_result *r = folder->report->result;
    struct assay_csv_stamp stamp = stamp_of(folder, SIZE_MAX);
    struct assay_result_row *rows = as_alloc_zero(r->bench->n_settings, sizeof *rows);
    char path[PATH_MAX];
    size_t n = 0;
    int rc = rows ? join(folder, "csv/results.csv", path, err) : as_fail_nomem(err);

    for (size_t i = 0; rc == ASSAY_OK && i < r->bench->n_settings; i++)
        if (i != r->bench->baseline)
            fill_row(&rows[n++], &r->rows[i]);
    if (rc == ASSAY_OK)
        rc = assay_csv_write_results9(path, rows, n, folder->unstamped ? NULL : &stamp, err);
    if (rc == ASSAY_OK)
        rc = join(folder, "csv/results_7.csv", path, err);
    if (rc == ASSAY_OK)
        rc = assay_csv_write_results(path, rows, n, folder->unstamped ? NULL : &stamp, err);
    as_free(rows);
    return rc;
}

/* ---- what was watched ---- */

/* A resumed run adds to what its earlier parts left. */
static int write_memory(const struct as_bench_folder *folder, struct assay_error *err)
{
    size_t n = assay_memory_tracker_snapshots(folder->memory, NULL, 0), before = 0;
    struct assay_csv_stamp stamp = stamp_of(folder, SIZE_MAX);
    struct assay_csv_rows *old = NULL;
    struct assay_memory_snapshot *all;
    char path[PATH_MAX];
    int rc = join(folder, "csv/memory.csv", path, err);

    if (rc == ASSAY_OK && folder->resumed && assay_csv_read_memory(path, &old, NULL) == ASSAY_OK)
        before = assay_csv_rows_count(old);
    all = as_alloc_zero(before + n + 1, sizeof *all);
    if (rc == ASSAY_OK && !all)
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        if (before)
            memcpy(all, assay_csv_rows_memory(old), before * sizeof *all);
        n = assay_memory_tracker_snapshots(folder->memory, all + before, n);
        rc = assay_csv_write_memory(path, all, before + n, &stamp, err);
    }
    as_free(all);
    assay_csv_rows_free(old);
    return rc;
}

static int write_power(const struct as_bench_folder *folder, struct assay_error *err)
{
    size_t n = assay_power_tracker_samples(folder->power, NULL, 0), before = 0;
    struct assay_csv_stamp stamp = stamp_of(folder, SIZE_MAX);
    struct assay_csv_rows *old = NULL;
    struct assay_power_sample *all;
    char path[PATH_MAX];
    int rc = join(folder, "csv/power.csv", path, err);

    if (rc == ASSAY_OK && folder->resumed && assay_csv_read_power(path, &old, NULL) == ASSAY_OK)
        before = assay_csv_rows_count(old);
    all = as_alloc_zero(before + n + 1, sizeof *all);
    if (rc == ASSAY_OK && !all)
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        if (before)
            memcpy(all, assay_csv_rows_power(old), before * sizeof *all);
        n = assay_power_tracker_samples(folder->power, all + before, n);
        rc = assay_csv_write_power(path, all, before + n, &stamp, err);
    }
    as_free(all);
    assay_csv_rows_free(old);
    return rc;
}

/* ---- pages ---- */

static int put_summary(const struct as_bench_folder *folder, struct as_out *out,
                       struct assay_error *err)
{
    const struct as_term term = {.unicode = true, .width = AS_TERM_WIDTH_MAX};
    const struct as_show show = {.thread = -1, .markdown = true, .wide = true};
    int rc = as_show_page(folder->run, &show, out, &term, err);

    return rc < 0 ? rc : ASSAY_OK;
}

static int put_fingerprint(const struct as_bench_folder *folder, struct as_out *out,
                           struct assay_error *err)
{
    (void)err;
    as_out_text(out, folder->report->fingerprint ? folder->report->fingerprint : "null");
    as_out_char(out, '\n');
    return ASSAY_OK;
}

static int put_json(const struct as_bench_folder *folder, struct as_out *out,
                    struct assay_error *err)
{
    const struct as_show show = AS_SHOW_INIT;
    int rc = as_show_json(folder->run, &show, out, err);

    return rc < 0 ? rc : ASSAY_OK; /* also when the criteria are not met */
}

static int put_run(const struct as_bench_folder *folder, struct as_out *out,
                   struct assay_error *err)
{
    return as_run_copy(folder->run, out, err);
}

static int put_table(const struct as_bench_folder *folder, struct as_out *out,
                     struct assay_error *err)
{
    return as_bench_summary_csv(folder->report, out, err);
}

static const struct {
    const char *name;
    int (*put)(const struct as_bench_folder *folder, struct as_out *out, struct assay_error *err);
    bool attention, others; /* for which workloads */
} pages[] = {
    {"run.assay", put_run, true, true},          {"results.json", put_json, true, true},
    {"summary.md", put_summary, true, true},     {"fingerprint.json", put_fingerprint, true, true},
    {"csv/summary.csv", put_table, true, false}, {"results.csv", put_table, false, true},
};

static int stamp_summary(const struct as_bench_folder *folder, struct assay_error *err)
{
    static const struct as_csv_schema summary = {.name = "summary"};
    struct assay_csv_stamp stamp = stamp_of(folder, SIZE_MAX);
    char path[PATH_MAX];
    int rc = join(folder, "csv/summary.csv", path, err);

    return rc == ASSAY_OK
               ? as_bench_csv_stamp(path, &summary, folder->report->result->bench->n_settings,
                                    &stamp, err)
               : rc;
}

static int write_page(const struct as_bench_folder *folder, size_t i, struct assay_error *err)
{
    char path[PATH_MAX];
    struct as_out out;
    int rc = join(folder, pages[i].name, path, err);

    if (rc == ASSAY_OK)
        rc = as_out_file(&out, path, err);
    if (rc < 0)
        return rc;
    rc = pages[i].put(folder, &out, err);
    if (rc == ASSAY_OK)
        return as_out_close(&out, err);
    as_out_drop(&out);
    return rc;
}

static int write_pages(const struct as_bench_folder *folder, struct assay_error *err)
{
    bool judged = folder->report->result->judged;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(pages); i++)
        if (judged ? pages[i].attention : pages[i].others)
            rc = write_page(folder, i, err);
    return rc;
}

/* The tables that are documented for an attention workload. */
static int write_tables(const struct as_bench_folder *folder, struct assay_error *err)
{
    const struct as_bench *bench = folder->report->result->bench;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++) {
        rc = write_samples(folder, i, err);
        if (rc == ASSAY_OK)
            rc = write_latency(folder, i, err);
        if (rc == ASSAY_OK)
            rc = write_details(folder, i, err);
    }
    if (rc == ASSAY_OK)
        rc = write_results(folder, err);
    if (rc == ASSAY_OK && folder->memory)
        rc = write_memory(folder, err);
    if (rc == ASSAY_OK && folder->power)
        rc = write_power(folder, err);
    return rc;
}

/* Pictures are shown around, as Markdown is: without arguments of commands. */
static int write_plots(const struct as_bench_folder *folder, const char *figs,
                       struct assay_error *err)
{
    const bool redacted = folder->run->redacted;
    struct as_bench_view view;
    int rc;

    folder->run->redacted = true;
    rc = as_bench_view_init(&view, folder->run, err);
    folder->run->redacted = redacted;
    if (rc == ASSAY_OK)
        rc = as_bench_plots(&view.report, figs, err);
    as_bench_view_fini(&view);
    return rc;
}

int as_bench_write(const struct as_bench_folder *folder, struct assay_error *err)
{
    bool judged = folder->report->result->judged;
    char figs[PATH_MAX];
    int rc = judged ? write_tables(folder, err) : ASSAY_OK;

    if (rc == ASSAY_OK)
        rc = write_pages(folder, err);
    if (rc == ASSAY_OK && judged && !folder->unstamped)
        rc = stamp_summary(folder, err);
    if (rc == ASSAY_OK)
        rc = join(folder, judged ? "figs" : ".", figs, err);
    if (rc == ASSAY_OK)
        rc = write_plots(folder, judged && folder->figs ? folder->figs : figs, err);
    return rc;
}
