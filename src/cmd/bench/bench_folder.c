/* cmd/bench/bench_folder.c - the folder of `assay bench`: made, or found and respected. Nothing
 * that is there is written over unless the user says so. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"
#include "cmd/common/console.h"
#include "report/bench/bench_files.h"

static int join(char out[PATH_MAX], const char *folder, const char *name, struct assay_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder);
    return ASSAY_OK;
}

/* A file of ours in that folder; one that is not there is fine. */
static int remove_file(const char *folder, const char *name, const char *suffix,
                       struct assay_error *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix) >= (int)sizeof path ||
        unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
        return ASSAY_OK;
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot remove %s", path);
}

/* What a setting left in csv/. */
static int remove_tables(const char *csv, size_t setting, const char *name, struct assay_error *err)
{
    static const char *const suffixes[] = {".csv", ".details.csv", ".latency.csv"};
    char file[AS_GRID_NAME + 64];
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(suffixes); i++) {
        if (!as_bench_file_name(name, setting, suffixes[i], file, sizeof file))
            continue;
        rc = remove_file(csv, file, "", err);
        if (rc == ASSAY_OK)
            rc = remove_file(csv, file, ".meta.json", err);
    }
    return rc;
}

static int remove_setting(const struct as_bench_work *w, size_t setting, const char *name,
                          struct assay_error *err)
{
    char csv[PATH_MAX];
    int rc = join(csv, w->folder, "csv", err);

    if (rc == ASSAY_OK)
        rc = remove_tables(csv, setting, name, err);
    if (rc == ASSAY_OK && !strchr(name, '/'))
        rc = remove_file(w->witness, name, ".jsonl", err);
    return rc;
}

/* What every experiment may have left, whatever its settings were. */
static int remove_common(const struct as_bench_work *w, struct assay_error *err)
{
    static const char *const files[] = {
        "figs/latency.svg", "figs/tradeoff.svg",   "figs/lengths.svg", "figs/axis.svg",
        "figs/energy.svg",  "results.json",        "run.assay",        "summary.md",
        "fingerprint.json", "witness/witness.rvf", "results.csv",      "latency.svg",
        "axis.svg",         "energy.svg"};
    static const char *const tables[] = {"results.csv", "results_7.csv", "memory.csv", "power.csv",
                                         "summary.csv"};
    char csv[PATH_MAX];
    int rc = join(csv, w->folder, "csv", err);

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(files); i++)
        rc = remove_file(w->folder, files[i], "", err);
    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(tables); i++) {
        rc = remove_file(csv, tables[i], "", err);
        if (rc == ASSAY_OK)
            rc = remove_file(csv, tables[i], ".meta.json", err);
    }
    return rc == ASSAY_OK ? remove_tables(csv, 0, "baseline", err) : rc;
}

/* Exactly what the plan of the older run names, and nobody else's files. */
static int clear_planned(const struct as_bench_work *w, struct assay_error *err)
{
    struct as_arena arena = {0};
    const struct as_json_value *plan = NULL, *names;
    size_t at = 0;
    int rc = ASSAY_OK;

    if (as_journal_plan(w->journal_path, &arena, &plan, NULL) == ASSAY_OK) {
        names = as_json_get(plan, "settings");
        for (const struct as_json_value *v = names ? names->first : NULL; rc == ASSAY_OK && v;
             v = v->next, at++)
            rc = v->type == AS_TYPE_TEXT ? remove_setting(w, at, v->text, err) : ASSAY_OK;
    }
    for (size_t i = 0; rc == ASSAY_OK && i < w->bench.n_settings; i++)
        rc = remove_setting(w, i, w->bench.settings[i].name, err);
    if (rc == ASSAY_OK)
        rc = remove_common(w, err);
    as_arena_fini(&arena);
    return rc;
}

/* Not while somebody writes it. */
static int clear_old(const struct as_bench_work *w, struct assay_error *err)
{
    int fd = open(w->journal_path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int rc = ASSAY_OK;

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        rc = as_fail(err, ASSAY_ERR_STATE, "another process is writing %s", w->journal_path);
    if (rc == ASSAY_OK)
        rc = clear_planned(w, err);
    if (rc == ASSAY_OK && unlink(w->journal_path) != 0 && errno != ENOENT)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot remove %s", w->journal_path);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    return join(path, folder, name, NULL) == ASSAY_OK && lstat(path, &st) == 0;
}

/* The folder is there: what is in it? */
static int look_at(struct as_bench_work *w, struct assay_error *err)
{
    bool resume = as_opt_given(w->line, "resume"), force = as_opt_given(w->line, "force");
    bool journal = is_there(w->folder, "journal.jsonl");

    if (force && (journal || is_there(w->folder, "witness")))
        return clear_old(w, err);
    if (journal && resume) {
        w->resumed = true;
        return ASSAY_OK;
    }
    if (journal)
        return as_fail(err, ASSAY_ERR_STATE,
                       "%s already holds an experiment; --resume continues it, --force starts over",
                       w->folder);
    if (!force && (is_there(w->folder, "csv") || is_there(w->folder, "witness") ||
                   is_there(w->folder, "figs") || is_there(w->folder, "results.json")))
        return as_fail(
            err, ASSAY_ERR_STATE,
            "%s holds files that would be overwritten; choose another --output-dir, or --force",
            w->folder);
    return ASSAY_OK;
}

static int make_folders(struct as_bench_work *w, struct assay_error *err)
{
    static const char *const parts[] = {"csv", "figs"};
    bool attention = strcmp(w->kind->name, "attention") == 0;
    char path[PATH_MAX];
    int rc = as_folder_make(w->folder, 0777, err);

    for (size_t i = 0; rc == ASSAY_OK && attention && i < 2; i++) {
        rc = join(path, w->folder, parts[i], err);
        if (rc == ASSAY_OK)
            rc = as_folder_make(path, 0777, err);
    }
    if (rc == ASSAY_OK && attention)
        rc = as_folder_make(w->witness, 0777, err);
    if (rc == ASSAY_OK && access(w->folder, W_OK) != 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot write into %s", w->folder);
    return rc;
}

int as_bench_folder_open(struct as_bench_work *w, struct assay_error *err)
{
    struct stat st;
    const char *plan = as_out_get(&w->plan_text, NULL);
    int rc = join(w->journal_path, w->folder, "journal.jsonl", err);

    if (rc == ASSAY_OK)
        rc = join(w->witness, w->folder, "witness", err);
    if (rc < 0)
        return rc;
    if (stat(w->folder, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return as_fail(err, ASSAY_ERR_IO, "%s is a file; --output-dir must be a folder",
                           w->folder);
        rc = look_at(w, err);
    }
    if (rc == ASSAY_OK)
        rc = make_folders(w, err);
    if (rc < 0)
        return rc;
    if (!w->resumed)
        return as_journal_create(&w->journal, w->journal_path, plan, err);
    rc = as_journal_resume(&w->journal, w->journal_path, plan, as_bench_keep, &w->bench, err);
    if (rc == ASSAY_OK) {
        uint64_t all = w->bench.n_samples * w->bench.n_settings;

        w->bench.n_kept = as_bench_done(&w->bench);
        as_console_note(w->line, "resuming %s: %llu of %llu samples are done%s", w->folder,
                        (unsigned long long)w->bench.n_kept, (unsigned long long)all,
                        w->journal.torn ? "; an incomplete one is measured again" : "");
    }
    return rc;
}
