/* cmd/bench/bench_finish.c - what follows the measuring of `assay bench`: the witness is checked,
 * results are written and shown, the bundle is packed. */
#include <assay/experiment/bundle.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file/file_guard.h"
#include "cmd/bench/bench_work.h"
#include "cmd/common/console.h"
#include "experiment/witness/witness_check.h"
#include "report/bench/bench_files.h"

/* ---- the witness ---- */

/* Another folder's witness of the same setting: the same chain? */
static int hold_against(struct as_bench_work *w, size_t i, const char *folder,
                        struct assay_witness_comparison *compared, struct assay_error *err)
{
    char mine[PATH_MAX], theirs[PATH_MAX], witness[PATH_MAX];
    int rc;

    if (snprintf(witness, sizeof witness, "%s/witness", folder) >= (int)sizeof witness)
        return as_fail(err, ASSAY_ERR_USAGE, "--against %.60s... is too long", folder);
    rc = as_witness_path(w->witness, &w->bench.settings[i], mine, sizeof mine, err);
    if (rc == ASSAY_OK)
        rc = as_witness_path(witness, &w->bench.settings[i], theirs, sizeof theirs, err);
    return rc == ASSAY_OK ? assay_witness_compare(mine, theirs, compared, err) : rc;
}

/* Computes some samples again, on another number of threads. */
static int replay(struct as_bench_work *w, size_t i, uint64_t most, struct as_attention_again *out,
                  struct assay_error *err)
{
    char path[PATH_MAX];
    int rc = as_witness_path(w->witness, &w->bench.settings[i], path, sizeof path, err);

    return rc == ASSAY_OK ? as_attention_replay(&w->attention_plan, &w->bench.settings[i], path,
                                                w->threads == 1 ? 2 : 1, most, out, err)
                          : rc;
}

/* The first difference stands on the page and in the files; all of them are told here. */
static void tell_difference(struct as_bench_work *w, size_t i, const char *sentence)
{
    as_console_note(w->line, "%s: %s", w->bench.settings[i].name, sentence);
    if (!w->witness_differs[0])
        (void)snprintf(w->witness_differs, sizeof w->witness_differs, "%.60s: %s",
                       w->bench.settings[i].name, sentence);
}

static int judge(struct as_bench_work *w, size_t i, uint64_t most, const char *against,
                 struct assay_error *err)
{
    struct assay_witness_comparison compared = {.same = true};
    struct as_attention_again again = {.same = true};
    int rc = most ? replay(w, i, most, &again, err) : ASSAY_OK;

    if (rc == ASSAY_OK && against)
        rc = hold_against(w, i, against, &compared, err);
    if (rc < 0)
        return rc;
    if (most || against)
        w->verdicts[i] = again.same && compared.same ? AS_VERDICT_MET : AS_VERDICT_MISSED;
    if (!again.same)
        tell_difference(w, i, again.sentence);
    if (!compared.same)
        tell_difference(w, i, compared.sentence);
    return ASSAY_OK;
}

static void add_note(struct as_bench_work *w, const char *joint, const char *words)
{
    size_t used = strlen(w->witness_note);

    (void)snprintf(w->witness_note + used, sizeof w->witness_note - used, "%s%s", used ? joint : "",
                   words);
}

int as_bench_check_witness(struct as_bench_work *w, struct assay_error *err)
{
    const char *against = as_opt_text(w->line, "against");
    uint64_t most = as_opt_number(w->line, "replay-samples", 16);
    int rc = ASSAY_OK;

    w->verdicts = as_alloc_zero(w->bench.n_settings, sizeof *w->verdicts);
    if (!w->verdicts)
        return as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < w->bench.n_settings; i++) {
        if (i == w->bench.baseline || w->bench.settings[i].failed)
            continue;
        as_progress_show(&w->progress, "computing decisions again",
                         (double)i / (double)w->bench.n_settings);
        rc = judge(w, i, most, against, err);
    }
    as_progress_end(&w->progress);
    if (most > w->bench.n_samples)
        most = w->bench.n_samples;
    if (most)
        (void)snprintf(w->witness_note, sizeof w->witness_note,
                       "%llu sample%s of each setting were computed again here on %u thread%s%s",
                       (unsigned long long)most, most == 1 ? "" : "s", w->threads == 1 ? 2U : 1U,
                       w->threads == 1 ? "s" : "",
                       against ? "" : "; --against compares it with another machine's");
    if (against) {
        add_note(w, "; ", "the whole chain was compared with ");
        add_note(w, "", against);
    }
    if (w->witness_differs[0])
        add_note(w, "; ", w->witness_differs);
    return rc;
}

/* ---- the bundle ---- */

/* The results without the run itself, which a bundle has no room for. */
static int results_text(const struct as_bench_report *report, struct as_out *out,
                        struct assay_error *err)
{
    struct as_json_writer json;
    int rc = as_out_memory(out, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&json, out, 2);
    as_json_object(&json);
    as_json_kv_text(&json, "schema", "assay.bench");
    as_bench_json(report, &json);
    as_json_object_end(&json);
    as_out_char(out, '\n');
    rc = as_json_writer_finish(&json, err);
    if (rc < 0)
        as_out_drop(out);
    return rc;
}

/* Every file of the folder, so that a signature covers it. */
static int list_files(const struct as_bench_work *w, struct as_json_writer *json,
                      struct assay_error *err)
{
    struct as_bench_names names = {0};
    int rc = as_bench_names_init(&names, &w->bench, err);

    if (rc == ASSAY_OK)
        rc = as_folder_list_put(json, w->folder, names.name, names.n, err);
    as_bench_names_fini(&names);
    return rc;
}

/* What the bundle is of, in the words a bundle has for it. */
static int meta_text(const struct as_bench_work *w, struct as_out *out, struct assay_error *err)
{
    struct as_json_writer json;
    int rc = as_out_memory(out, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&json, out, 0);
    as_json_object(&json);
    as_json_kv_text(&json, "config_hash", w->experiment_hash);
    as_json_kv_text(&json, "model_commit", "assay " ASSAY_VERSION);
    as_json_kv_text(&json, "weights_hash", w->data_hash);
    as_json_kv_text(&json, "host", w->host);
    as_json_kv_text(&json, "fingerprint", w->fingerprint_hash);
    as_json_key(&json, "facts");
    as_json_raw(&json, w->fingerprint_json, strlen(w->fingerprint_json));
    rc = list_files(w, &json, err);
    as_json_object_end(&json);
    if (rc == ASSAY_OK)
        rc = as_json_writer_finish(&json, err);
    if (rc == ASSAY_OK && !as_out_ok(out))
        rc = as_fail_nomem(err);
    if (rc < 0)
        as_out_drop(out);
    return rc;
}

static int bundle_path(const struct as_bench_work *w, char path[PATH_MAX], struct assay_error *err)
{
    const char *name = w->attention ? "witness/witness.rvf" : AS_FOLDER_BUNDLE_NAME;

    return snprintf(path, PATH_MAX, "%s/%s", w->folder, name) < PATH_MAX
               ? ASSAY_OK
               : as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", w->folder);
}

static int pack(struct as_bench_work *w, const char *const *paths, size_t n, struct as_out *stats,
                struct assay_error *err)
{
    char path[PATH_MAX];
    struct assay_bundle_options options = {
        .size = sizeof options,
        .output = path,
        .witnesses = paths,
        .n_witnesses = n,
        .key_path = as_opt_text(w->line, "sign-key"),
    };
    struct as_out meta = {0};
    int rc = meta_text(w, &meta, err);

    if (rc < 0)
        return rc;
    options.meta = as_out_get(&meta, &options.meta_bytes);

    options.stats = as_out_get(stats, &options.stats_bytes);
    rc = bundle_path(w, path, err);
    if (rc == ASSAY_OK)
        rc = assay_bundle_pack(&options, err);
    as_out_drop(&meta);
    return rc;
}

/* The signature of an experiment that was finished before is not thrown away for want of its key,
 * and neither are the files it covers. */
static bool is_signed(const struct as_bench_work *w)
{
    struct assay_bundle_report report;
    char path[PATH_MAX];

    return w->resumed && !as_opt_given(w->line, "sign-key") &&
           bundle_path(w, path, NULL) == ASSAY_OK &&
           assay_bundle_verify(path, NULL, &report, NULL) == ASSAY_OK &&
           report.signature != ASSAY_BUNDLE_SIGNATURE_NONE;
}

/* Only a bundle of witnesses is made without a key. */
int as_bench_pack(struct as_bench_work *w, struct assay_error *err)
{
    char(*text)[PATH_MAX];
    const char **paths;
    struct as_out stats = {0};
    size_t n = 0;
    int rc;

    if (w->keeps_signed || !w->folder[0] || (!w->attention && !as_opt_given(w->line, "sign-key")))
        return ASSAY_OK;
    text = as_alloc_zero(w->bench.n_settings, sizeof *text);
    paths = as_alloc_zero(w->bench.n_settings, sizeof *paths);
    rc = text && paths ? results_text(&w->view.report, &stats, err) : as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && w->attention && i < w->bench.n_settings; i++) {
        if (i == w->bench.baseline)
            continue;
        rc = as_witness_path(w->witness, &w->bench.settings[i], text[n], sizeof *text, err);
        paths[n] = text[n];
        n++;
    }
    if (rc == ASSAY_OK)
        rc = pack(w, paths, n, &stats, err);
    as_out_drop(&stats);
    as_free(paths);
    as_free(text);
    return rc;
}

/* ---- results ---- */

static struct as_bench_data data_of(const struct as_bench_work *w)
{
    struct as_bench_limits limits = AS_BENCH_LIMITS_INIT;

    limits.energy_is_assumed = w->has_power && strncmp(w->power.name, "constant", 8) == 0;
    return (struct as_bench_data){
        .facts = {.title = w->title,
                  .experiment_hash = w->experiment_hash,
                  .fingerprint = w->fingerprint_json,
                  .energy_source = as_opt_text(w->line, "power"),
                  .energy_why = !w->has_power       ? "no source of power was given (--power)"
                                : w->meter.n_failed ? w->meter.why.msg
                                                    : NULL,
                  .witness_note = w->witness_note[0] ? w->witness_note : NULL,
                  .runs_kernels = w->kind->runs_kernels,
                  .is_named = w->is_named,
                  .has_shell = w->has_shell,
                  .limits = limits},
        .topology = &w->topology,
        .bench = &w->bench,
        .grid = w->kind->has_grid ? &w->grid : NULL,
        .config_hashes = w->attention ? as_load_attention_hashes(w->attention) : NULL,
        .verdicts = w->verdicts,
    };
}

/* The run of what was measured; everything that is written and shown comes from it. */
int as_bench_make_run(struct as_bench_work *w, const struct as_interrupted_fact *early,
                      struct assay_error *err)
{
    struct as_bench_data data = data_of(w);
    struct as_run_maker maker;
    int rc = as_run_maker_open(&maker, as_show_run_path(w->line), "bench", err);

    if (rc < 0)
        return rc;
    if (early)
        as_interrupted_put(&maker, early);
    as_bench_put(&maker, &data);
    rc = as_run_maker_finish(&maker, &w->run, err);
    return rc < 0 ? rc : as_bench_view_init(&w->view, w->run, err);
}

/* What an earlier part of the experiment left is written anew. */
static int renew(const struct as_bench_work *w, struct assay_error *err)
{
    struct as_bench_names names = {0};
    char path[PATH_MAX];
    int rc = w->resumed ? as_bench_names_init(&names, &w->bench, err) : ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < names.n; i++)
        if (snprintf(path, sizeof path, "%s/%s", w->folder, names.name[i]) < (int)sizeof path)
            as_guard_renew_path(path);
    if (rc == ASSAY_OK && w->resumed && bundle_path(w, path, NULL) == ASSAY_OK)
        as_guard_renew_path(path);
    as_bench_names_fini(&names);
    return rc;
}

int as_bench_results(struct as_bench_work *w, struct assay_error *err)
{
    struct as_bench_report report;
    struct as_bench_folder folder;
    int rc = as_bench_make_run(w, NULL, err);

    if (rc < 0 || !w->folder[0])
        return rc;
    w->keeps_signed = is_signed(w);
    if (w->keeps_signed) {
        as_console_note(w->line, "%s is signed and stays as it is; --sign-key signs anew",
                        w->folder);
        return ASSAY_OK;
    }
    rc = renew(w, err);
    if (rc < 0)
        return rc;
    report = w->view.report;
    report.wide = true;
    folder = (struct as_bench_folder){
        .path = w->folder,
        .report = &report,
        .run = w->run,
        .fingerprint = w->fingerprint,
        .memory = w->memory,
        .power = w->has_power ? w->meter.tracker : NULL,
        .resumed = w->resumed,
    };
    return as_bench_write(&folder, err);
}
