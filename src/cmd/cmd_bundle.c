/* cmd/cmd_bundle.c - all of `assay bundle`: packs witnesses into one file, shows, verifies and
 * takes it apart. Its first operand says which. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <assay/experiment/bundle.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "experiment/bundle/rvf.h"
#include "report/witness/witness_text.h"

static const struct as_opt bundle_opts[] = {
    {.name = "meta",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help = "pack: put the JSON object in FILE into the bundle, with model_commit, weights_hash, "
             "host, fingerprint"},
    {.name = "stats",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help = "pack: put the JSON document in FILE into the bundle as its statistics"},
    {.name = "sign-key",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help = "pack: sign with the Ed25519 private key in FILE (PEM, without a passphrase)"},
    {.name = "public-key",
     .kind = AS_OPT_FILE,
     .reads = true,
     .argument = "FILE",
     .help = "verify: check the signature with the Ed25519 public key in FILE (PEM)"},
    {.name = "directory",
     .letter = 'C',
     .kind = AS_OPT_FOLDER,
     .argument = "DIR",
     .help = "extract: write the payloads into DIR"},
    {.name = "force", .kind = AS_OPT_FLAG, .help = "pack, extract: replace existing files"},
    AS_OPTS_LIMITS("600"),
    AS_OPTS_FORMAT(as_format_plain_at),
    {.name = NULL},
};

/* ---- pack ---- */

/* A small file in memory; an option not given is an empty one. */
static int map_option(struct as_mapped_file *file, const struct as_cmd_line *line, const char *name,
                      struct assay_error *err)
{
    const char *path = as_opt_text(line, name);
    int rc;

    *file = (struct as_mapped_file){0};
    if (!path)
        return ASSAY_OK;
    rc = as_rvf_map(file, path, err);
    if (rc < 0)
        return rc;
    if (file->size > UINT64_C(256) << 20)
        return as_fail(err, ASSAY_ERR_LIMIT, "%.150s is larger than 256 MiB", path);
    return file->size ? ASSAY_OK : as_fail(err, ASSAY_ERR_FORMAT, "%.150s is empty", path);
}

static int pack(const struct as_cmd_line *line, struct assay_error *err)
{
    struct assay_bundle_options o = {.size = sizeof o,
                                     .output = as_opt_text(line, "output"),
                                     .witnesses = line->operand + 1,
                                     .n_witnesses = (size_t)line->n_operands - 1,
                                     .key_path = as_opt_text(line, "sign-key")};
    struct as_mapped_file meta, stats = {0};
    int rc;

    if (!o.output)
        return as_fail(err, ASSAY_ERR_USAGE, "name the bundle to write, as in -o all.rvf");
    if (!as_opt_given(line, "force") && access(o.output, F_OK) == 0)
        return as_fail(err, ASSAY_ERR_STATE, "%.150s already exists; --force replaces it",
                       o.output);
    rc = map_option(&meta, line, "meta", err);
    if (rc == ASSAY_OK)
        rc = map_option(&stats, line, "stats", err);
    if (rc == ASSAY_OK) {
        o.meta = (const char *)meta.bytes;
        o.meta_bytes = (size_t)meta.size;
        o.stats = (const char *)stats.bytes;
        o.stats_bytes = (size_t)stats.size;
        rc = assay_bundle_pack(&o, err);
    }
    as_mapped_file_close(&meta);
    as_mapped_file_close(&stats);
    if (rc == ASSAY_OK)
        as_console_note(line, "%s: %zu witness%s packed%s", o.output, o.n_witnesses,
                        o.n_witnesses == 1 ? "" : "es", o.key_path ? " and signed" : "");
    return rc;
}

/* ---- inspect, verify, extract ---- */

static int inspect(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_console console;
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_open(&bundle, line->operand[1], err);

    if (rc == ASSAY_OK)
        rc = as_console_open(&console, line, err);
    if (rc == ASSAY_OK) {
        const struct as_witness_target to = {
            .out = &console.out, .term = as_opt_given(line, "json") ? NULL : &console.term};

        rc = as_report_inside(line->operand[1], bundle, &to, err);
        rc = as_console_close(&console, rc, err);
    }
    assay_bundle_close(bundle);
    return rc;
}

static int verify(const struct as_cmd_line *line, struct assay_error *err)
{
    struct assay_bundle_report report;
    struct as_console console;
    int rc = assay_bundle_verify(line->operand[1], as_opt_text(line, "public-key"), &report, err);

    if (rc == ASSAY_OK)
        rc = as_console_open(&console, line, err);
    if (rc == ASSAY_OK) {
        const struct as_witness_target to = {
            .out = &console.out, .term = as_opt_given(line, "json") ? NULL : &console.term};

        rc = as_report_bundle(line->operand[1], &report, &to, err);
        rc = as_console_close(&console, rc, err);
    }
    return rc == ASSAY_OK && !report.whole ? AS_ANSWER_NO : rc;
}

static int extract(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *folder = as_opt_text(line, "directory");
    struct assay_bundle *bundle = NULL;
    int rc;

    if (!folder || as_opt_given(line, "output"))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "name the folder for the files with -C DIR, not with -o");
    rc = assay_bundle_open(&bundle, line->operand[1], err);
    if (rc == ASSAY_OK)
        rc = assay_bundle_extract(bundle, folder, as_opt_given(line, "force"), err);
    assay_bundle_close(bundle);
    if (rc == ASSAY_ERR_STATE) { /* what to do about it is the command's to say */
        char msg[sizeof err->msg];

        memcpy(msg, err->msg, sizeof msg);
        return as_fail(err, ASSAY_ERR_STATE, "%.200s; --force replaces it", msg);
    }
    if (rc > 0)
        as_console_note(line, "%d files written into %s", rc, folder);
    return rc < 0 ? rc : ASSAY_OK;
}

/* ---- which of them ---- */

static const struct action {
    const char *name;
    const char *options[5]; /* of bundle_opts, those it understands */
    bool several;           /* takes more than one file */
    int (*run)(const struct as_cmd_line *line, struct assay_error *err);
} actions[] = {
    {"pack", {"meta", "stats", "sign-key", "force"}, true, pack},
    {"inspect", {"format", "json"}, false, inspect},
    {"verify", {"public-key", "format", "json"}, false, verify},
    {"extract", {"directory", "force"}, false, extract},
};

static const char *action_at(size_t i)
{
    return i < AS_COUNT_OF(actions) ? actions[i].name : NULL;
}

static bool understands(const struct action *action, const char *option)
{
    for (size_t i = 0; i < AS_COUNT_OF(action->options); i++)
        if (action->options[i] && strcmp(action->options[i], option) == 0)
            return true;
    return false;
}

static int run_bundle(const struct as_cmd_line *line, struct assay_error *err)
{
    const char *word = line->operand[0];
    const struct action *action = NULL;

    for (size_t i = 0; i < AS_COUNT_OF(actions); i++)
        if (strcmp(actions[i].name, word) == 0)
            action = &actions[i];
    if (!action)
        return as_fail_word(err, "what to do with a bundle", word, action_at);
    for (const struct as_opt *opt = bundle_opts; opt->name; opt++)
        if (as_opt_given(line, opt->name) && !understands(action, opt->name))
            return as_fail(err, ASSAY_ERR_USAGE, "`assay bundle %s` has no option --%s", word,
                           opt->name);
    if (!action->several && line->n_operands > 2)
        return as_fail(err, ASSAY_ERR_USAGE, "`assay bundle %s` takes one file", word);
    return action->run(line, err);
}

static const struct as_example bundle_examples[] = {
    {"assay bundle pack -o out.rvf --sign-key key.pem witness.jsonl", "pack and sign"},
    {"assay bundle verify out.rvf --public-key key.pub", "check the signature"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_bundle = {
    .name = "bundle",
    .summary = "pack witnesses into one signed file, and look into it",
    .usage = "assay bundle pack|inspect|verify|extract [options] FILE...",
    .details = "pack -o OUT.rvf [--meta FILE] [--stats FILE] [--sign-key FILE] WITNESS.jsonl...: "
               "verifies the witnesses and packs their chains, what they are of and their "
               "statistics into one file, signed when there is a key (openssl genpkey -algorithm "
               "ed25519 makes one).\n\ninspect FILE: shows the segments. verify FILE [--public-key "
               "FILE]: checks every segment, every chain, the manifest and the signature. extract "
               "FILE -C DIR: verifies, then writes the payload of every segment into DIR.\n\nThe "
               "exit status of verify is 0 when the bundle is intact and, with --public-key, "
               "signed with that key; 1 when not; 3 when it cannot be read.",
    .examples = bundle_examples,
    .opts = bundle_opts,
    .operand = "ACTION and FILE",
    .min_operands = 2,
    .max_operands = 4096,
    .timeout_seconds = 600,
    .run = run_bundle,
};
