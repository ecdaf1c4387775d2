/* cmd/bench/bench_folder.c - the folder of `assay bench`: made, or found and respected. Nothing
 * that is there is written over unless the user says so. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/output.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/bench/bench_work.h"
#include "cmd/common/console.h"
#include "experiment/witness/witness_check.h"
#include "report/bench/bench_files.h"

static int join(char out[PATH_MAX], const char *folder, const char *name, struct assay_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder);
    return ASSAY_OK;
}

/* ---- the names of our files ---- */

/* Takes a name beneath the folder. */
typedef int (*take_name)(void *user, const char *name, struct assay_error *err);

static int take(take_name to, void *user, struct assay_error *err, const char *folder,
                const char *name, const char *suffix)
{
    char path[AS_GRID_NAME + 128];

    return snprintf(path, sizeof path, "%s%s%s", folder, name, suffix) < (int)sizeof path
               ? to(user, path, err)
               : ASSAY_OK;
}

/* What a setting leaves in csv/. */
static int each_table(size_t setting, const char *name, take_name to, void *user,
                      struct assay_error *err)
{
    static const char *const suffixes[] = {".csv", ".details.csv", ".latency.csv"};
    char file[AS_GRID_NAME + 64];
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(suffixes); i++) {
        if (!as_bench_file_name(name, setting, suffixes[i], file, sizeof file))
            continue;
        rc = take(to, user, err, "csv/", file, "");
        if (rc == ASSAY_OK)
            rc = take(to, user, err, "csv/", file, ".meta.json");
    }
    return rc;
}

static int each_of_setting(size_t setting, const char *name, take_name to, void *user,
                           struct assay_error *err)
{
    int rc = each_table(setting, name, to, user, err);

    return rc == ASSAY_OK && !strchr(name, '/') ? take(to, user, err, "witness/", name, ".jsonl")
                                                : rc;
}

/* What every experiment may have left, whatever its settings were: bundles and journal aside. */
static int each_common(take_name to, void *user, struct assay_error *err)
{
    static const char *const files[] = {"figs/latency.svg", "figs/tradeoff.svg", "figs/lengths.svg",
                                        "figs/axis.svg",    "figs/energy.svg",   "results.json",
                                        "run.assay",        "summary.md",        "fingerprint.json",
                                        "results.csv",      "latency.svg",       "axis.svg",
                                        "energy.svg"};
    static const char *const tables[] = {"results.csv", "results_7.csv", "memory.csv", "power.csv",
                                         "summary.csv"};
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(files); i++)
        rc = to(user, files[i], err);
    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(tables); i++) {
        rc = take(to, user, err, "csv/", tables[i], "");
        if (rc == ASSAY_OK)
            rc = take(to, user, err, "csv/", tables[i], ".meta.json");
    }
    return rc == ASSAY_OK ? each_table(0, "baseline", to, user, err) : rc;
}

/* ---- names for a bundle ---- */

static int keep_name(void *user, const char *name, struct assay_error *err)
{
    struct as_bench_names *names = user;
    char *copy = as_arena_text(&names->arena, name, strlen(name));

    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return ASSAY_OK;
    if (!copy || !AS_VEC_RESERVE(names->name, names->n, names->capacity))
        return as_fail_nomem(err);
    names->name[names->n++] = copy;
    return ASSAY_OK;
}

int as_bench_names_init(struct as_bench_names *names, const struct as_bench *bench,
                        struct assay_error *err)
{
    int rc = keep_name(names, "journal.jsonl", err);

    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++)
        rc = each_of_setting(i, bench->settings[i].name, keep_name, names, err);
    return rc == ASSAY_OK ? each_common(keep_name, names, err) : rc;
}

void as_bench_names_fini(struct as_bench_names *names)
{
    as_free(names->name);
    as_arena_fini(&names->arena);
}

/* ---- an older experiment ---- */

/* A file of ours in that folder; one that is not there is fine. */
static int remove_file(void *user, const char *name, struct assay_error *err)
{
    const struct as_bench_work *w = user;
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", w->folder, name) >= (int)sizeof path ||
        unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
        return ASSAY_OK;
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot remove %s", path);
}

static int remove_common(struct as_bench_work *w, struct assay_error *err)
{
    int rc = each_common(remove_file, w, err);

    if (rc == ASSAY_OK)
        rc = remove_file(w, "witness/witness.rvf", err);
    return rc == ASSAY_OK ? remove_file(w, AS_FOLDER_BUNDLE_NAME, err) : rc;
}

/* Exactly what the plan of the older run names, and nobody else's files. */
static int clear_planned(struct as_bench_work *w, struct assay_error *err)
{
    struct as_arena arena = {0};
    const struct as_json_value *plan = NULL, *names;
    size_t at = 0;
    int rc = ASSAY_OK;

    if (as_journal_plan(w->journal_path, &arena, &plan, NULL) == ASSAY_OK) {
        names = as_json_get(plan, "settings");
        for (const struct as_json_value *v = names ? names->first : NULL; rc == ASSAY_OK && v;
             v = v->next, at++)
            rc = v->type == AS_TYPE_TEXT ? each_of_setting(at, v->text, remove_file, w, err)
                                         : ASSAY_OK;
    }
    for (size_t i = 0; rc == ASSAY_OK && i < w->bench.n_settings; i++)
        rc = each_of_setting(i, w->bench.settings[i].name, remove_file, w, err);
    if (rc == ASSAY_OK)
        rc = remove_common(w, err);
    as_arena_fini(&arena);
    return rc;
}

/* Not while somebody writes it. */
static int clear_old(struct as_bench_work *w, struct assay_error *err)
{
    int fd = as_open(w->journal_path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
    int rc = ASSAY_OK;

    if (fd >= 0 && as_lock_file(fd, LOCK_EX | LOCK_NB) != 0)
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

/* A link would have us write, or remove, elsewhere. */
static int refuse_links(const struct as_bench_work *w, struct assay_error *err)
{
    static const char *const parts[] = {"csv", "figs", "witness"};
    char path[PATH_MAX];
    struct stat st;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(parts); i++) {
        rc = join(path, w->folder, parts[i], err);
        if (rc == ASSAY_OK && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            rc = as_fail(err, ASSAY_ERR_IO,
                         "%s is a symbolic link; remove it, or choose another --output-dir", path);
    }
    return rc;
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
        rc = refuse_links(w, err);
        if (rc == ASSAY_OK)
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
