/* cmd/bench_folder.c - the folder of `assay bench`: made, or found and respected. Nothing that is
 * there is written over unless the user says so. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "cmd/bench_work.h"
#include "cmd/console.h"

static int join(char out[PATH_MAX], const char *folder, const char *name, struct assay_error *err)
{
    if (snprintf(out, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder);
    return ASSAY_OK;
}

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), n = strlen(end);

    return size > n && strcmp(name + size - n, end) == 0;
}

/* Witnesses of an older run would stand in the way of new ones. */
static int clear_witness(const struct as_bench_work *w, struct assay_error *err)
{
    DIR *dir = opendir(w->witness);
    const struct dirent *entry;
    int rc = ASSAY_OK;

    if (!dir)
        return errno == ENOENT ? ASSAY_OK
                               : as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", w->witness);
    while (rc == ASSAY_OK && (entry = readdir(dir)) != NULL) {
        if (!ends_with(entry->d_name, ".jsonl") && !ends_with(entry->d_name, ".rvf"))
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot remove %s/%s", w->witness, entry->d_name);
    }
    (void)closedir(dir);
    return rc;
}

static int clear_old(const struct as_bench_work *w, struct assay_error *err)
{
    if (unlink(w->journal_path) != 0 && errno != ENOENT)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot remove %s", w->journal_path);
    return clear_witness(w, err);
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
                       "%s holds an experiment already; --resume goes on with it, --force begins "
                       "anew",
                       w->folder);
    if (!force && (is_there(w->folder, "csv") || is_there(w->folder, "witness") ||
                   is_there(w->folder, "figs")))
        return as_fail(err, ASSAY_ERR_STATE,
                       "%s holds files that would be written over; choose another --output-dir, "
                       "or --force",
                       w->folder);
    return ASSAY_OK;
}

static int make_folders(struct as_bench_work *w, struct assay_error *err)
{
    static const char *const parts[] = {"csv", "figs"};
    char path[PATH_MAX];
    int rc = as_folder_make(w->folder, 0777, err);

    for (size_t i = 0; rc == ASSAY_OK && i < 2; i++) {
        rc = join(path, w->folder, parts[i], err);
        if (rc == ASSAY_OK)
            rc = as_folder_make(path, 0777, err);
    }
    if (rc == ASSAY_OK && strcmp(w->kind->name, "attention") == 0)
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
    if (!w->resumed) {
        /* Without a journal no result of an older run is worth anything. */
        rc = clear_witness(w, err);
        return rc == ASSAY_OK ? as_journal_create(&w->journal, w->journal_path, plan, err) : rc;
    }
    rc = as_journal_resume(&w->journal, w->journal_path, plan, as_bench_keep, &w->bench, err);
    if (rc == ASSAY_OK) {
        w->bench.n_kept = as_bench_done(&w->bench);
        as_console_note(w->line, "going on with %s: %llu of %llu samples are there%s", w->folder,
                        (unsigned long long)w->bench.n_kept,
                        (unsigned long long)(w->bench.n_samples * w->bench.n_settings),
                        w->journal.torn ? "; one that was cut short is taken again" : "");
    }
    return rc;
}
