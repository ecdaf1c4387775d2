/* experiment/replay.c - computes again what a witness tells of, and compares.
 * The plan stands in the journal of the experiment's folder: beside the witness/ of a file. */
#include "experiment/replay.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "experiment/load_attention.h"

struct place {
    char folder[PATH_MAX]; /* of the experiment */
    char only[PATH_MAX];   /* the one witness that is meant; "": all of them */
};

/* "x/witness/a.jsonl" is of folder x; a folder is one itself. */
static int find_place(const char *path, struct place *place, struct assay_error *err)
{
    struct stat st;
    char *slash;

    *place = (struct place){0};
    if (snprintf(place->folder, sizeof place->folder, "%s", path) >= (int)sizeof place->folder)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return ASSAY_OK;
    slash = strrchr(place->folder, '/');
    (void)snprintf(place->only, sizeof place->only, "%s", slash ? slash + 1 : place->folder);
    if (!slash) {
        (void)snprintf(place->folder, sizeof place->folder, "..");
        return ASSAY_OK;
    }
    *slash = '\0';
    slash = strrchr(place->folder, '/');
    if (slash)
        *slash = '\0';
    else
        (void)snprintf(place->folder, sizeof place->folder, ".");
    return ASSAY_OK;
}

static int read_plan(const struct place *place, struct as_attention_plan *plan,
                     struct assay_error *err)
{
    struct as_arena arena = {0};
    const struct as_json_value *all = NULL, *own;
    struct assay_error why = {0};
    char path[PATH_MAX];
    int rc = ASSAY_ERR_UNSUPPORTED;

    if (snprintf(path, sizeof path, "%s/journal.jsonl", place->folder) < (int)sizeof path)
        rc = as_journal_plan(path, &arena, &all, &why);
    own = rc == ASSAY_OK ? as_json_get(all, "attention") : NULL;
    if (own)
        rc = as_attention_plan_read(plan, own, &why);
    else
        rc = ASSAY_ERR_UNSUPPORTED;
    as_arena_fini(&arena);
    if (rc == ASSAY_OK)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                   "it cannot be computed again: %.80s has no plan of an attention experiment%s%s",
                   path, why.msg[0] ? "; " : "", why.msg);
}

static bool is_meant(const struct place *place, const char *path)
{
    const char *name = strrchr(path, '/');

    /* A bundle stands for all its witnesses. */
    return !place->only[0] || strstr(place->only, ".rvf") ||
           strcmp(place->only, name ? name + 1 : path) == 0;
}

static int replay_setting(const struct as_attention_plan *plan,
                          const struct as_bench_setting *setting, const char *path,
                          struct as_replay_report *report, struct assay_error *err)
{
    struct as_attention_again again;
    int rc = as_attention_replay(plan, setting, path, 1, 0, &again, err);

    if (rc < 0)
        return rc;
    report->checked += again.checked;
    report->differing += !again.same;
    if (!again.same && !report->sentence[0])
        (void)snprintf(report->sentence, sizeof report->sentence, "%.60s: %.170s", setting->name,
                       again.sentence);
    return ASSAY_OK;
}

int as_replay_check(const char *path, struct as_replay_report *report, struct assay_error *err)
{
    struct as_attention_plan plan;
    struct as_bench bench = {0};
    struct place place;
    char witness[PATH_MAX + 16], file[2 * PATH_MAX];
    int rc = find_place(path, &place, err);

    *report = (struct as_replay_report){0};
    if (rc == ASSAY_OK)
        rc = read_plan(&place, &plan, err);
    if (rc == ASSAY_OK)
        rc = as_attention_plan_settings(&plan, &bench, err);
    (void)snprintf(witness, sizeof witness, "%s/witness", place.folder);
    for (size_t i = 0; rc == ASSAY_OK && i < bench.n_settings; i++) {
        if (i == bench.baseline)
            continue;
        rc = as_witness_path(witness, &bench.settings[i], file, sizeof file, err);
        if (rc == ASSAY_OK && is_meant(&place, file))
            rc = replay_setting(&plan, &bench.settings[i], file, report, err);
    }
    as_bench_fini(&bench);
    if (rc == ASSAY_OK && report->checked == 0)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "%.150s holds nothing that its plan tells of",
                     path);
    return rc;
}
