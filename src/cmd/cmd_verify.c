/* cmd/cmd_verify.c - all of `assay verify`: checks a run, a witness, a bundle or a folder of them.
 * What a file is follows from its content. The answer is no when something in it cannot be relied
 * on. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/run/run_document.h"
#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/units.h"
#include "cmd/bench/bench_work.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "experiment/witness/replay.h"
#include "experiment/witness/witness_check.h"
#include "report/run/run_health.h"
#include "report/run/show.h"
#include "report/witness/witness_text.h"
#include "trace/run/run_format.h"

static const struct as_opt verify_opts[] = {
    {.name = "public-key",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help =
         "the bundle, or that of the folder, must be signed with the Ed25519 public key in FILE "
         "(PEM)"},
    {.name = "same-as",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "OTHER",
     .help = "compare a witness with that of a repetition: every entry except its time must be the "
             "same"},
    {.name = "replay",
     .kind = AS_OPT_FLAG,
     .help = "compute again what the file records, and compare"},
    AS_OPTS_LIMITS("3600"),
    AS_OPTS_FORMAT(as_format_at),
    AS_OPT_CSV_SAFE,
    {.name = NULL},
};

/* ---- runs ---- */

static int print_run(const struct as_cmd_line *line, const struct as_verified *found,
                     struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (as_format_of(line) == AS_FORMAT_JSON)
        rc = as_verify_json(found, &console.out, err);
    else if (as_format_of(line) == AS_FORMAT_CSV)
        as_verify_csv(found, &(struct as_csv_writer){.out = &console.out,
                                                     .safe = as_opt_given(line, "csv-safe")});
    else
        rc = as_verify_page(found, as_format_of(line) == AS_FORMAT_MARKDOWN, &console.out,
                            &console.term, err);
    return as_console_close(&console, rc, err);
}

static int check_metrics(struct as_run *run, struct assay_error *why)
{
    const struct as_run_kind *kind = as_run_kind_of(run, why);
    struct as_metrics metrics = {.no_memory = false};
    int rc = kind && kind->metrics ? kind->metrics(run, &metrics, why) : ASSAY_OK;

    as_metrics_fini(&metrics);
    return rc;
}

/* Whether its kind can read every part of it: it is shown to nobody. */
static int check_parts(struct as_run *run, struct assay_error *why, struct assay_error *err)
{
    const struct as_show show = AS_SHOW_INIT;
    struct as_out out;
    int rc = as_out_memory(&out, err);

    if (rc < 0)
        return rc;
    rc = as_show_json(run, &show, &out, why);
    as_out_drop(&out);
    if (rc >= 0)
        rc = check_metrics(run, why);
    if (rc == ASSAY_ERR_NOMEM)
        return as_fail_nomem(err);
    if (rc != ASSAY_ERR_IO)
        return ASSAY_OK;
    if (err) /* the disk's fault, not the run's */
        *err = *why;
    return rc;
}

static int verify_run(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_layers_options how = AS_LAYERS_OPTIONS_INIT;
    struct as_layers *layers = NULL;
    struct as_verified found = {0};
    struct assay_error why = {0};
    struct as_run *run = NULL;
    int rc = as_run_open_any(&run, line->operand[0], err);

    if (rc == ASSAY_OK)
        rc = as_layers_analyze(&layers, run, &how, err);
    if (rc == ASSAY_OK)
        rc = check_parts(run, &why, err);
    if (rc == ASSAY_OK) {
        found = (struct as_verified){layers, as_run_kind(run), why.code ? why.msg : NULL};
        rc = print_run(line, &found, err);
    }
    if (rc == ASSAY_OK && (found.faulty || !as_health_is_whole(layers)))
        rc = AS_ANSWER_NO;
    as_layers_free(layers);
    as_run_close(run);
    return rc;
}

/* ---- witnesses, bundles, folders ---- */

/* One of the three reports, put where the command line says. */
struct found {
    const struct assay_witness_report *witness;
    const struct assay_bundle_report *bundle;
    const struct as_folder_check *folder;
    const struct assay_witness_comparison *compared; /* of the witness; NULL: with none */
    bool whole;
};

static int print_found(const struct as_cmd_line *line, const struct found *found,
                       const struct as_replay_report *replay, struct assay_error *err)
{
    const char *path = line->operand[0];
    enum as_output_format format = as_format_of(line);
    struct as_csv_writer csv = {.safe = as_opt_given(line, "csv-safe")};
    struct as_console console;
    struct as_witness_target to = {
        .compared = found->compared, .other = as_opt_text(line, "same-as"), .replay = replay};
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    to.out = &console.out;
    csv.out = &console.out;
    to.term = format == AS_FORMAT_JSON ? NULL : &console.term;
    to.markdown = format == AS_FORMAT_MARKDOWN;
    to.csv = format == AS_FORMAT_CSV ? &csv : NULL;
    if (found->witness)
        rc = as_report_witness(path, found->witness, &to, err);
    else if (found->bundle)
        rc = as_report_bundle(path, found->bundle, &to, err);
    else
        rc = as_report_folder(path, found->folder, &to, err);
    return as_console_close(&console, rc, err);
}

/* What is whole is computed again when that was asked for. Where it cannot be, the rest is told
 * before that. */
static int finish(const struct as_cmd_line *line, const struct found *found,
                  struct assay_error *err)
{
    enum as_replay_kind kind = found->witness  ? AS_REPLAY_WITNESS
                               : found->bundle ? AS_REPLAY_BUNDLE
                                               : AS_REPLAY_FOLDER;
    struct as_replay_report replay = {0};
    bool again = as_opt_given(line, "replay") && found->whole;
    int failed = again ? as_replay_check(line->operand[0], kind, &replay, err) : ASSAY_OK;
    struct assay_error why = {0};
    int rc = print_found(line, found, again && failed == ASSAY_OK ? &replay : NULL,
                         failed < 0 ? &why : err);

    if (failed < 0)
        return failed;
    return rc == ASSAY_OK && !(found->whole && replay.differing == 0) ? AS_ANSWER_NO : rc;
}

static int verify_witness(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *other = as_opt_text(line, "same-as");
    struct assay_witness_comparison compared = {.same = true};
    struct assay_witness_report report;
    int rc = assay_witness_verify(line->operand[0], NULL, NULL, &report, err);

    if (rc == ASSAY_OK && other)
        rc = assay_witness_compare(line->operand[0], other, &compared, err);
    if (rc < 0)
        return rc;
    return finish(line,
                  &(struct found){.witness = &report,
                                  .compared = other ? &compared : NULL,
                                  .whole = report.whole && compared.same},
                  err);
}

static int verify_bundle(const struct as_cmd_line *line, struct assay_error *err)
{
    struct assay_bundle_report report;
    int rc = assay_bundle_verify(line->operand[0], as_opt_text(line, "public-key"), &report, err);

    return rc == ASSAY_OK
               ? finish(line, &(struct found){.bundle = &report, .whole = report.whole}, err)
               : rc;
}

static int verify_folder(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_folder_check check;
    int rc = as_folder_check(&check, line->operand[0], as_opt_text(line, "public-key"), err);

    if (rc == ASSAY_OK)
        rc = as_bench_recheck(&check, err);
    if (rc == ASSAY_OK)
        rc = finish(line, &(struct found){.folder = &check, .whole = check.whole}, err);
    as_folder_check_fini(&check);
    return rc;
}

/* ---- which of them ---- */

/* `begin` is what the content begins with; `end` what the name ends in, where the content, being
 * damaged or empty, tells nothing. */
static const struct kind {
    const char *begin;
    const char *end;
    int (*verify)(const struct as_cmd_line *line, struct assay_error *err);
} kinds[] = {
    {AS_RUN_MAGIC, NULL, verify_run},
    {"SFVR", ".rvf", verify_bundle},
    {"{\"q_hash\":", ".jsonl", verify_witness},
    {"{\"seal\":", ".jsonl", verify_witness},
};

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

static const struct kind *find_kind(const char *path)
{
    char head[16] = "";
    int fd = as_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : as_read_some(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < AS_COUNT_OF(kinds); i++)
        if (n >= (ssize_t)strlen(kinds[i].begin) &&
            memcmp(head, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return &kinds[i];
    for (size_t i = 0; i < AS_COUNT_OF(kinds); i++)
        if (kinds[i].end && ends_in(path, kinds[i].end))
            return &kinds[i];
    return &kinds[0]; /* whose reader says what is wrong */
}

static int run_verify(const struct as_cmd_line *line, struct assay_error *err)
{
    int (*verify)(const struct as_cmd_line *, struct assay_error *) = verify_folder;
    const char *path = line->operand[0];
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        verify = find_kind(path)->verify;
    if (access(path, R_OK) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot open %s", path);
    if (as_opt_given(line, "public-key") && verify != verify_folder && verify != verify_bundle)
        return as_fail(err, ASSAY_ERR_USAGE, "--public-key is for bundles: nothing else is signed");
    if (as_opt_given(line, "same-as") && verify != verify_witness)
        return as_fail(err, ASSAY_ERR_USAGE, "--same-as compares two witnesses");
    if (as_opt_given(line, "replay") && verify == verify_run)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--replay computes witnesses and bundles again: a run holds times");
    return verify(line, err);
}

static const struct as_example verify_examples[] = {
    {"assay verify run.assay", "whether every block of a run is intact"},
    {"assay verify --public-key public.pem results/mincut-bench",
     "every file of a folder, proven by a signature"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_verify = {
    .name = "verify",
    .summary = "check that a run, a witness, a bundle or a folder is intact",
    .usage = "assay verify [options] FILE",
    .details =
        "Of a run, or of a JSON document of assay, which holds one: checks the checksum of "
        "every block, that every part is what its kind of run has, decodes every event and "
        "looks at the ring beside a run that was not closed.\n\nOf a witness (.jsonl): "
        "checks every line, every mask, the chain of hashes and the seal, and with "
        "--same-as that a repetition, perhaps on another machine, computed the same. Of a "
        "bundle (.rvf): checks every segment, every chain, the manifest and the signature. "
        "Of a folder of 'assay bench': checks all of them in it, that the bundle lists every "
        "file with its SHA-256, that the run holds the samples of the journal, and computes "
        "results, tables and figures again from these samples. A file that is missing, "
        "changed or not listed makes it not intact. With --public-key it is intact only "
        "when a bundle signed with that key proves every file; a folder without a bundle "
        "is checked for consistency and reported as not signed. What a file is follows "
        "from its content.\n\nThe exit status is 0 "
        "when everything is intact, 1 when something is changed, corrupt, unfinished, "
        "truncated or missing, and 3 when the file cannot be read or is of another kind.",
    .examples = verify_examples,
    .opts = verify_opts,
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .timeout_seconds = 3600,
    .run = run_verify,
};
