/* experiment/witness/replay.c - computes again what a witness tells of, and compares.
 * The plan stands in the journal of the experiment's folder and inside its bundle. What is compared
 * is the file that was named, and no other. */
#include "experiment/witness/replay.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "experiment/bench/workload.h"
#include "experiment/bundle/rvf.h"

enum { MAX_VALUES = 1 << 20 }; /* of a JSON */

struct replay {
    struct as_attention_plan plan;
    struct as_bench bench; /* the settings of the plan */
    struct as_replay_report *report;
};

/* ---- the plan ---- */

static int use_plan(struct replay *r, const struct as_json_value *all, struct assay_error *err)
{
    const struct as_json_value *own = as_json_get(all, "attention");
    int rc =
        own ? as_attention_plan_read(&r->plan, own, err)
            : as_fail(err, ASSAY_ERR_UNSUPPORTED, "it does not belong to an attention experiment");

    return rc == ASSAY_OK ? as_attention_plan_settings(&r->plan, &r->bench, err) : rc;
}

static int plan_of_journal(struct replay *r, const char *path, struct assay_error *err)
{
    struct as_arena arena = {0};
    const struct as_json_value *all = NULL;
    int rc = as_journal_plan(path, &arena, &all, err);

    if (rc == ASSAY_OK)
        rc = use_plan(r, all, err);
    as_arena_fini(&arena);
    return rc;
}

/* Among the facts in the first segment, as a text. */
static int plan_of_bundle(struct replay *r, const struct assay_bundle *bundle,
                          struct assay_error *err)
{
    const struct as_rvf_segment *first = bundle->frame.n ? &bundle->frame.segments[0] : NULL;
    const struct as_json_value *meta = NULL, *all = NULL;
    struct as_arena arena = {0};
    const char *text = NULL;
    int rc = ASSAY_ERR_UNSUPPORTED;

    if (first && first->type == AS_RVF_METADATA)
        rc = as_json_tree_read(&meta, &arena, first->payload, (size_t)first->payload_bytes,
                               MAX_VALUES, err);
    if (rc == ASSAY_OK)
        text = as_json_words(as_json_path(as_json_get(meta, "meta"), "facts", "plan"));
    if (text)
        rc = as_json_tree_read(&all, &arena, text, strlen(text), MAX_VALUES, err);
    else if (rc == ASSAY_OK || rc == ASSAY_ERR_UNSUPPORTED)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "it does not contain a plan");
    if (rc == ASSAY_OK)
        rc = use_plan(r, all, err);
    as_arena_fini(&arena);
    return rc;
}

/* That of a bundle which is whole. */
static int plan_of_bundle_at(struct replay *r, const char *path, struct assay_error *err)
{
    struct assay_bundle_report report;
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_verify(path, NULL, &report, err);

    if (rc == ASSAY_OK && !report.whole)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%.100s is not intact", path);
    if (rc == ASSAY_OK)
        rc = assay_bundle_open(&bundle, path, err);
    if (rc == ASSAY_OK)
        rc = plan_of_bundle(r, bundle, err);
    assay_bundle_close(bundle);
    return rc;
}

/* The journal of its experiment, or a bundle in the same folder. */
static int plan_beside(struct replay *r, const char *path, struct assay_error *err)
{
    static const char *const places[] = {"../journal.jsonl", "journal.jsonl", "witness.rvf"};
    const char *slash = strrchr(path, '/');
    int n_folder = slash ? (int)(slash + 1 - path) : 0;

    for (size_t i = 0; i < AS_COUNT_OF(places); i++) {
        struct assay_error why = {0};
        char beside[PATH_MAX];
        struct stat st;
        int rc;

        if (snprintf(beside, sizeof beside, "%.*s%s", n_folder, path, places[i]) >=
            (int)sizeof beside)
            return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", path);
        if (stat(beside, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        rc = strstr(places[i], ".rvf") ? plan_of_bundle_at(r, beside, &why)
                                       : plan_of_journal(r, beside, &why);
        if (rc == ASSAY_OK)
            return ASSAY_OK;
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "it cannot be replayed: %.80s has no plan: %.100s", beside, why.msg);
    }
    return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                   "it cannot be replayed: neither journal.jsonl nor witness.rvf, which hold the "
                   "plan, is in the folder of %.100s",
                   path);
}

/* ---- comparing ---- */

static void add(struct replay *r, const char *name, const struct as_attention_again *again)
{
    r->report->checked += again->checked;
    r->report->differing += !again->same;
    if (!again->same && !r->report->sentence[0])
        (void)snprintf(r->report->sentence, sizeof r->report->sentence, "%.60s: %.170s", name,
                       again->sentence);
}

/* The setting that was configured so; NULL, counted as a difference: none of the plan's. */
static int find_setting(struct replay *r, const char *name, const char *config_hash,
                        const struct as_bench_setting **out, struct assay_error *err)
{
    struct as_attention_again none = {
        .sentence = "it is of another configuration than all settings of the plan"};

    *out = NULL;
    for (size_t i = 0; i < r->bench.n_settings; i++) {
        char hash[ASSAY_HASH_HEX];
        int rc = i == r->bench.baseline
                     ? ASSAY_OK
                     : as_attention_config_hash(&r->plan, &r->bench.settings[i], hash, err);

        if (rc < 0)
            return rc;
        if (i != r->bench.baseline && config_hash && strcmp(hash, config_hash) == 0) {
            *out = &r->bench.settings[i];
            return ASSAY_OK;
        }
    }
    add(r, name, &none);
    return ASSAY_OK;
}

static int replay_witness(struct replay *r, const char *path, struct assay_error *err)
{
    const struct as_bench_setting *setting = NULL;
    struct assay_witness_report report;
    const char *slash = strrchr(path, '/');
    struct as_attention_again again;
    int rc = plan_beside(r, path, err);

    if (rc == ASSAY_OK)
        rc = assay_witness_verify(path, NULL, NULL, &report, err);
    if (rc == ASSAY_OK)
        rc = find_setting(r, slash ? slash + 1 : path, report.config_hash, &setting, err);
    if (rc < 0 || !setting)
        return rc;
    rc = as_attention_replay(&r->plan, setting, path, 1, 0, &again, err);
    if (rc == ASSAY_OK)
        add(r, setting->name, &again);
    return rc;
}

static int replay_segment(struct replay *r, const struct assay_bundle *bundle, size_t i,
                          struct assay_error *err)
{
    const struct as_rvf_segment *segment = &bundle->frame.segments[i];
    const struct as_json_value *told = as_bundle_witness(bundle, i);
    const struct as_bench_setting *setting = NULL;
    const char *name = as_json_words(as_json_get(told, "name"));
    struct as_attention_again again;
    int rc;

    if (segment->type != AS_RVF_WITNESS)
        return ASSAY_OK;
    rc = find_setting(r, name ? name : "a witness", as_json_words(as_json_get(told, "config_hash")),
                      &setting, err);
    if (rc < 0 || !setting)
        return rc;
    rc = as_attention_replay_chain(&r->plan, setting, segment->payload,
                                   segment->payload_bytes / AS_RVF_ENTRY_BYTES, 1, &again, err);
    if (rc == ASSAY_OK)
        add(r, setting->name, &again);
    return rc;
}

/* Its own plan and its own entries: nothing beside it is looked at. */
static int replay_bundle(struct replay *r, const char *path, struct assay_error *err)
{
    struct assay_error why = {0};
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_open(&bundle, path, err);

    if (rc == ASSAY_OK && plan_of_bundle(r, bundle, &why) < 0)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED,
                     "it cannot be replayed: %.100s has no plan: %.100s", path, why.msg);
    for (size_t i = 0; rc == ASSAY_OK && i < bundle->frame.n; i++)
        rc = replay_segment(r, bundle, i, err);
    assay_bundle_close(bundle);
    return rc;
}

/* Every witness that the plan of its journal tells of. */
static int replay_folder(struct replay *r, const char *path, struct assay_error *err)
{
    char witness[PATH_MAX], file[2 * PATH_MAX];
    struct assay_error why = {0};
    int rc;

    if (snprintf(witness, sizeof witness, "%s/journal.jsonl", path) >= (int)sizeof witness)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", path);
    rc = plan_of_journal(r, witness, &why);
    if (rc < 0)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "it cannot be replayed: %.80s has no plan: %.100s", witness, why.msg);
    (void)snprintf(witness, sizeof witness, "%s/witness", path);
    for (size_t i = 0; rc == ASSAY_OK && i < r->bench.n_settings; i++) {
        struct as_attention_again again;

        if (i == r->bench.baseline)
            continue;
        rc = as_witness_path(witness, &r->bench.settings[i], file, sizeof file, err);
        if (rc == ASSAY_OK)
            rc = as_attention_replay(&r->plan, &r->bench.settings[i], file, 1, 0, &again, err);
        if (rc == ASSAY_OK)
            add(r, r->bench.settings[i].name, &again);
    }
    return rc;
}

int as_replay_check(const char *path, enum as_replay_kind kind, struct as_replay_report *report,
                    struct assay_error *err)
{
    struct replay r = {.report = report};
    int rc;

    *report = (struct as_replay_report){0};
    if (kind == AS_REPLAY_FOLDER)
        rc = replay_folder(&r, path, err);
    else if (kind == AS_REPLAY_BUNDLE)
        rc = replay_bundle(&r, path, err);
    else
        rc = replay_witness(&r, path, err);
    as_bench_fini(&r.bench);
    if (rc == ASSAY_OK && report->checked == 0 && report->differing == 0)
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "%.150s has none of the records its plan names",
                     path);
    return rc;
}
