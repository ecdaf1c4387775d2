/* cmd/bench/bench_recheck.c - the results in a folder of `assay bench`, computed again from the
 * samples of its run and compared byte by byte; the run is held against the journal. */
#include <assay/error.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analyze/run/run_document.h"
#include "base/file/file_open.h"
#include "base/file/new_file.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"
#include "experiment/bench/bench_journal.h"
#include "experiment/witness/witness_check.h"
#include "format/mapped_file.h"
#include "report/bench/bench_files.h"
#include "report/run/show.h"

/* Where the files are written again: each folder is flat, so that a signal can remove it. */
enum { ROOT, CSV, FIGS, N_PLACES };
static const char *const prefixes[N_PLACES] = {"", "csv/", "figs/"};

struct recheck {
    struct as_folder_check *check;
    struct as_run *run;
    struct as_temporary *held[N_PLACES];
    char path[N_PLACES][AS_TEMPORARY_PATH];
    char made_by[64]; /* the version that measured; "" when it is this one or unknown */
};

/* Whether an error is about the file's content; what memory or the disk refuse is about neither
 * file nor content, and ends the check. */
static bool is_answer(int rc)
{
    return rc < 0 && rc != ASSAY_ERR_NOMEM && rc != ASSAY_ERR_IO;
}

static int pass_up(struct assay_error *err, const struct assay_error *why, int rc)
{
    if (err && rc < 0)
        *err = *why;
    return rc;
}

/* ---- results against samples ---- */

static int same_bytes(const char *a, const char *b, bool *same, struct assay_error *err)
{
    struct as_mapped_file x = {0}, y = {0};
    int rc = as_mapped_file_open(&x, a, err);

    if (rc == ASSAY_OK)
        rc = as_mapped_file_open(&y, b, err);
    *same = rc == ASSAY_OK && x.size == y.size &&
            (x.size == 0 || memcmp(x.bytes, y.bytes, (size_t)x.size) == 0);
    as_mapped_file_close(&x);
    as_mapped_file_close(&y);
    return rc;
}

static int compare_file(struct recheck *r, size_t place, const char *name, struct assay_error *err)
{
    char inner[PATH_MAX], again[PATH_MAX];
    struct as_folder_item *item;
    bool same = false;
    int rc;

    if (snprintf(inner, sizeof inner, "%s%s", prefixes[place], name) >= (int)sizeof inner ||
        snprintf(again, sizeof again, "%s/%s", r->path[place], name) >= (int)sizeof again)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", name);
    item = as_folder_find(r->check, inner);
    if (!item)
        return as_folder_miss(r->check, inner, "the samples of the run give one", err);
    if (item->missing || strcmp(inner, "run.assay") == 0)
        return ASSAY_OK;
    if (!item->whole && item->kind == AS_FOLDER_FILE)
        return ASSAY_OK; /* perhaps not a regular file */
    rc = same_bytes(item->path, again, &same, err);
    if (rc < 0)
        return rc;
    item->recomputed = same;
    if (!same)
        as_folder_blame(item, "it differs from what the samples of the run give%s%s",
                        r->made_by[0] ? "; it was made by assay " : "", r->made_by);
    return ASSAY_OK;
}

static int compare_place(struct recheck *r, size_t place, struct assay_error *err)
{
    DIR *dir = opendir(r->path[place]);
    int rc = ASSAY_OK;

    if (!dir)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", r->path[place]);
    for (const struct dirent *e;
         rc == ASSAY_OK && (e = as_next_entry(dir, r->path[place], &rc, err)) != NULL;)
        if (e->d_name[0] != '.')
            rc = compare_file(r, place, e->d_name, err);
    (void)closedir(dir);
    return rc;
}

static int write_again(struct recheck *r, const struct as_bench_view *view, struct assay_error *err)
{
    struct as_bench_report report = view->report;
    const struct as_bench_folder folder = {
        .path = r->path[ROOT],
        .csv = r->path[CSV],
        .figs = r->path[FIGS],
        .unstamped = true,
        .report = &report,
        .run = r->run,
    };
    int rc = ASSAY_OK;

    report.wide = true;
    for (size_t i = 0; rc == ASSAY_OK && i < N_PLACES; i++)
        rc = as_temporary_folder_make(&r->held[i], r->path[i], err);
    if (rc == ASSAY_OK)
        rc = as_bench_write(&folder, err);
    for (size_t i = 0; rc == ASSAY_OK && i < N_PLACES; i++)
        rc = compare_place(r, i, err);
    for (size_t i = 0; i < N_PLACES; i++)
        as_temporary_folder_remove(r->held[i]);
    return rc;
}

/* A run that cannot be shown is at fault; only memory and the disk end the check. */
static int check_results(struct recheck *r, struct assay_error *err)
{
    struct as_folder_item *item = as_folder_find(r->check, "run.assay");
    struct assay_error why = {0};
    struct as_bench_view view;
    int rc = as_bench_view_init(&view, r->run, &why);

    if (rc == ASSAY_OK)
        rc = write_again(r, &view, err);
    else if (is_answer(rc)) {
        as_folder_blame(item, "%.200s", why.msg);
        rc = ASSAY_OK;
    } else
        rc = pass_up(err, &why, rc);
    as_bench_view_fini(&view);
    return rc;
}

/* ---- the run against the journal ---- */

static int keep(void *user, const struct as_bench_sample *sample, const char *why,
                struct assay_error *err)
{
    return as_bench_keep(user, sample, why, err);
}

static int sample_text(const struct as_bench_sample *sample, struct as_out *out,
                       struct assay_error *err)
{
    struct as_json_writer w;
    int rc = as_out_memory(out, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_bench_sample_write(sample, &w);
    as_json_object_end(&w);
    rc = as_json_writer_finish(&w, err);
    return rc == ASSAY_OK && !as_out_ok(out) ? as_fail_nomem(err) : rc;
}

static int same_sample(const struct as_bench_sample *a, const struct as_bench_sample *b, bool *same,
                       struct assay_error *err)
{
    struct as_out x = {0}, y = {0};
    int rc = sample_text(a, &x, err);

    if (rc == ASSAY_OK)
        rc = sample_text(b, &y, err);
    *same = rc == ASSAY_OK && x.used == y.used && memcmp(x.buf, y.buf, x.used) == 0;
    as_out_drop(&x);
    as_out_drop(&y);
    return rc;
}

static int compare_samples(const struct as_bench *run, const struct as_bench *journal,
                           struct as_folder_item *item, struct assay_error *err)
{
    bool same = true;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && same && i < run->n_settings; i++) {
        const struct as_bench_setting *a = &run->settings[i], *b = &journal->settings[i];

        same = a->n == b->n && a->failed == b->failed;
        for (size_t k = 0; rc == ASSAY_OK && same && k < a->n; k++)
            rc = same_sample(&a->samples[k], &b->samples[k], &same, err);
        if (rc == ASSAY_OK && !same)
            as_folder_blame(item, "its samples of %.100s are not those of the journal", a->name);
    }
    item->recomputed = rc == ASSAY_OK && same;
    return rc;
}

static void take_version(struct recheck *r, const struct as_json_value *plan)
{
    const char *version = as_json_words(as_json_get(plan, "version"));

    if (version && strcmp(version, ASSAY_VERSION) != 0)
        (void)snprintf(r->made_by, sizeof r->made_by, "%s", version);
}

static int read_journal(struct recheck *r, const char *path, const struct as_bench_view *view,
                        struct as_bench *journal, struct assay_error *err)
{
    const struct as_json_value *plan = NULL;
    struct as_arena arena = {0};
    int rc = as_bench_init(journal, view->facts.kind, view->bench.n_settings, err);

    journal->n_samples = view->bench.n_samples;
    journal->baseline = view->bench.baseline;
    if (rc == ASSAY_OK)
        rc = as_journal_read(path, &arena, &plan, keep, journal, err);
    if (rc == ASSAY_OK)
        take_version(r, plan);
    as_arena_fini(&arena);
    return rc;
}

static int check_journal(struct recheck *r, struct assay_error *err)
{
    struct as_folder_item *item = as_folder_find(r->check, "journal.jsonl");
    struct assay_error why = {0};
    struct as_bench journal = {0};
    struct as_bench_view view;
    int rc;

    if (!item || item->missing)
        return as_folder_miss(r->check, "journal.jsonl", "the samples cannot be checked", err);
    if (!item->whole)
        return ASSAY_OK;
    rc = as_bench_samples_read(&view, r->run, &why);
    if (rc == ASSAY_OK) {
        rc = read_journal(r, item->path, &view, &journal, &why);
        item->recomputed = rc == ASSAY_OK;
        if (rc == ASSAY_OK)
            rc =
                compare_samples(&view.bench, &journal, as_folder_find(r->check, "run.assay"), &why);
    } else {
        item = as_folder_find(r->check, "run.assay");
    }
    if (is_answer(rc)) {
        as_folder_blame(item, "%.200s", why.msg);
        rc = ASSAY_OK;
    }
    as_bench_fini(&journal);
    as_bench_view_fini(&view);
    return pass_up(err, &why, rc);
}

/* ---- all of it ---- */

/* Whether the folder is that of an experiment, or what is left of it. */
static bool has_results(struct as_folder_check *check)
{
    return as_folder_find(check, "results.json") || as_folder_find(check, "journal.jsonl") ||
           as_folder_find(check, "run.assay");
}

/* An attention workload always has a bundle of its witnesses. */
static int check_bundle(struct as_folder_check *check, const struct as_bench_facts *facts,
                        struct assay_error *err)
{
    if (!facts->kind || strcmp(facts->kind, "attention") != 0)
        return ASSAY_OK;
    return as_folder_find(check, "witness/witness.rvf")
               ? ASSAY_OK
               : as_folder_miss(check, "witness/witness.rvf", "an attention workload has one", err);
}

static int check_run(struct recheck *r, struct assay_error *err)
{
    struct as_bench_view view;
    struct assay_error why = {0};
    int rc = as_bench_samples_read(&view, r->run, &why);

    rc = rc == ASSAY_OK  ? check_bundle(r->check, &view.facts, err)
         : is_answer(rc) ? ASSAY_OK
                         : pass_up(err, &why, rc);
    as_bench_view_fini(&view);
    if (rc == ASSAY_OK)
        rc = check_journal(r, err);
    return rc == ASSAY_OK ? check_results(r, err) : rc;
}

int as_bench_recheck(struct as_folder_check *check, struct assay_error *err)
{
    struct as_folder_item *item = as_folder_find(check, "run.assay");
    struct recheck r = {.check = check};
    struct assay_error why = {0};
    int rc = ASSAY_OK;

    if (!has_results(check))
        return ASSAY_OK;
    if (!item || item->missing) {
        rc = as_folder_miss(check, "run.assay", "results cannot be computed again without it", err);
    } else if (item->whole || item->hash_fits) {
        rc = as_run_open(&r.run, item->path, &why);
        if (rc == ASSAY_OK && strcmp(as_run_kind(r.run), "bench") != 0)
            as_folder_blame(item, "it is not a run of assay bench");
        else if (rc == ASSAY_OK && as_run_what_is_broken(r.run))
            as_folder_blame(item, "the run %s", as_run_what_is_broken(r.run));
        else if (rc == ASSAY_OK)
            rc = check_run(&r, err);
        else if (is_answer(rc)) {
            as_folder_blame(item, "%.200s", why.msg);
            rc = ASSAY_OK;
        } else
            rc = pass_up(err, &why, rc);
        as_run_close(r.run);
    }
    if (rc == ASSAY_OK)
        as_folder_conclude(check);
    return rc;
}
