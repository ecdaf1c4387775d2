/* cmd/cmd_export.c - all of `assay export`: writes a run in the format of another tool.
 * What a size limit left out, and what the run itself lacks, is said at standard error. */
#include <stdio.h>
#include <string.h>

#include "analyze/run/run_document.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "report/export/export_common.h"
#include "report/export/export_heap.h"
#include "report/run/show.h"
#include "trace/run/run_maker.h"

#define PPROF "pprof" /* of heap stacks alone */

static const char *format_at(size_t i)
{
    if (i == as_n_exporters)
        return PPROF;
    return i < as_n_exporters ? as_exporters[i].name : NULL;
}

static const struct as_opt export_opts[] = {
    {.name = "to",
     .kind = AS_OPT_WORD,
     .argument = "FORMAT",
     .help = "write FORMAT",
     .word_at = format_at},
    AS_OPT_REDACT,
    {.name = "heap",
     .kind = AS_OPT_WORD,
     .argument = "WHAT",
     .help = "of a run of 'assay run': bytes that stacks allocated, or that were live at the end, "
             "or at the peak of the heap [default: allocated]",
     .word_at = as_heap_weight_at},
    {.name = "max-size",
     .kind = AS_OPT_TEXT,
     .argument = "SIZE",
     .help = "limit the output to SIZE bytes, as in 512k or 10M, and report what was left out"},
    {.name = "thread",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "show thread N only, numbered as in the section threads of a report",
     .max = AS_RUN_MAX_THREADS},
    AS_OPTS_LIMITS("600"),
    {.name = NULL},
};

/* The power of two that a letter behind a number stands for; -1 when it is none. */
static int unit_bits(char letter)
{
    static const struct {
        char letter;
        int bits;
    } unit[] = {{'k', 10}, {'K', 10}, {'m', 20}, {'M', 20},
                {'g', 30}, {'G', 30}, {'t', 40}, {'T', 40}};

    for (size_t i = 0; i < AS_COUNT_OF(unit); i++)
        if (unit[i].letter == letter)
            return unit[i].bits;
    return -1;
}

static int parse_size(const char *text, uint64_t *out, struct assay_error *err)
{
    size_t size = strlen(text);
    int bits = size ? unit_bits(text[size - 1]) : -1;
    uint64_t n;

    if (!as_parse_u64(text, bits < 0 ? size : size - 1, &n))
        return as_fail(
            err, ASSAY_ERR_USAGE,
            "--max-size cannot be '%.60s'; give a whole number of bytes, or one with k, M, G or T "
            "behind it, as in 10M",
            text);
    if (n == 0 || (bits > 0 && n > UINT64_MAX >> (bits + 1)) || n > UINT64_MAX / 2)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--max-size cannot be '%.60s'; it is %s: give a size as in 10M", text,
                       n ? "too large" : "too small");
    *out = bits > 0 ? n << bits : n;
    return ASSAY_OK;
}

static int read_options(const struct as_cmd_line *line, struct as_export_options *o,
                        struct assay_error *err)
{
    const char *size = as_opt_text(line, "max-size");
    char list[160] = "";
    size_t n = 0;

    for (size_t i = 0; format_at(i) && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", format_at(i));
    if (!as_opt_given(line, "to"))
        return as_fail(err, ASSAY_ERR_USAGE, "name the format with --to: %s", list);
    if (as_opt_given(line, "thread"))
        o->thread = (int64_t)as_opt_number(line, "thread", 0);
    return size ? parse_size(size, &o->max_bytes, err) : ASSAY_OK;
}

static void tell(const struct as_cmd_line *line, const struct as_run *run,
                 const struct as_export_result *result)
{
    char text[AS_EXPORT_TEXT];

    if (as_export_health_text(text, run, result))
        as_console_note(line, "%s", text);
    if (result->stacks_merged)
        as_console_note(
            line,
            "too many different stacks: the time of the excess ones is counted with their callers");
    if (as_export_cut_text(text, result))
        as_console_note(line, "to stay within --max-size %s: %s", as_opt_text(line, "max-size"),
                        text);
}

/* A program that marked none has an empty file, which is true of it. */
static int no_calls(const struct as_cmd_line *line, struct as_run *run, const char *format,
                    struct assay_error *err)
{
    if (strcmp(as_run_kind(run), "trace") != 0)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "%s has no calls, which --to %s is made of",
                       line->operand[0], format);
    as_console_note(line, "the run has no calls: the file has none either");
    return ASSAY_OK;
}

static int export_run(const struct as_cmd_line *line, struct as_run *run,
                      const struct as_export_options *options, struct assay_error *err)
{
    const struct as_exporter *exporter = &as_exporters[as_opt_word(line, "to", 0)];
    struct as_export_result result;
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    run->redacted = as_opt_given(line, "redact");
    rc = as_export(exporter, run, options, &console.out, &result, err);
    if (rc == ASSAY_ERR_NOTFOUND)
        rc = ASSAY_ERR_USAGE; /* the thread asked for */
    /* These are made of calls. */
    if (rc == ASSAY_OK && result.seen.spans == 0 && result.seen.stacks == 0 &&
        (strcmp(exporter->name, "folded") == 0 || strcmp(exporter->name, "flamegraph") == 0 ||
         strcmp(exporter->name, "speedscope") == 0 || strcmp(exporter->name, "csv") == 0))
        rc = no_calls(line, run, exporter->name, err);
    rc = as_console_close(&console, rc, err);
    if (rc == ASSAY_OK)
        tell(line, run, &result);
    return rc;
}

static bool has_events(struct as_run *run)
{
    return run->n_threads > 0 || strcmp(as_run_kind(run), "trace") == 0;
}

/* A run of what was measured once is its document as JSON; what else there is is made of events. */
static int export_document(const struct as_cmd_line *line, struct as_run *run,
                           struct assay_error *err)
{
    const struct as_show show = {.thread = -1, .redact = as_opt_given(line, "redact")};
    struct as_console console;
    int rc;

    if (strcmp(as_opt_text(line, "to"), "json") == 0) {
        rc = as_console_open(&console, line, err);
        if (rc < 0)
            return rc;
        rc = as_show_json(run, &show, &console.out, err);
        return as_console_close(&console, rc > 0 ? ASSAY_OK : rc, err);
    }
    return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                   "%s is a run of kind \"%.40s\" without events, which --to %s needs: use 'assay "
                   "report --format json' or '--format csv'",
                   line->operand[0], as_run_kind(run), as_opt_text(line, "to"));
}

/* Folded stacks and their like are of the heap there: nothing else of the program has stacks. */
static int export_heap(const struct as_cmd_line *line, struct as_run *run,
                       const struct as_export_options *options, struct assay_error *err)
{
    struct as_target *target;
    struct as_console console;
    int rc;

    run->redacted = as_opt_given(line, "redact");
    rc = as_target_analyze(&target, run, err);
    if (rc < 0)
        return rc;
    rc = as_console_open(&console, line, err);
    if (rc == ASSAY_OK)
        rc = as_export_heap(target, as_opt_text(line, "to"),
                            (enum as_heap_weight)as_opt_word(line, "heap", 0), options->max_bytes,
                            &console.out, err);
    if (rc == ASSAY_ERR_NOTFOUND)
        rc = ASSAY_ERR_UNSUPPORTED;
    as_target_free(target);
    return as_console_close(&console, rc, err);
}

static int export_any(const struct as_cmd_line *line, struct as_run *run,
                      const struct as_export_options *options, struct assay_error *err)
{
    bool watched = strcmp(as_run_kind(run), "watch") == 0;
    const char *to = as_opt_text(line, "to");

    if (!watched && (as_opt_given(line, "heap") || strcmp(to, PPROF) == 0))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "%s has no heap stacks, which %s is for: 'assay run' records them",
                       line->operand[0], strcmp(to, PPROF) == 0 ? "--to pprof" : "--heap");
    if (watched && as_export_takes_heap(to))
        return export_heap(line, run, options, err);
    return has_events(run) ? export_run(line, run, options, err) : export_document(line, run, err);
}

static int run_export(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_export_options options = AS_EXPORT_OPTIONS_INIT;
    struct as_run *run = NULL;
    int rc = read_options(line, &options, err);

    if (rc == ASSAY_OK)
        rc = as_run_open_any(&run, line->operand[0], err);
    if (rc == ASSAY_OK)
        rc = export_any(line, run, &options, err);
    as_run_close(run);
    return rc;
}

static const struct as_example export_examples[] = {
    {"assay export run.assay --to perfetto -o run.pftrace", "for ui.perfetto.dev"},
    {"assay export run.assay --to folded -o run.folded", "for flame graphs"},
    {"assay export heap.assay --to pprof --heap live -o heap.pb",
     "who holds the memory, for pprof"},
    {"assay export heap.assay --to flamegraph -o heap.svg", "the same as a picture"},
    {"assay export run.assay --to csv", "every call as a row"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_export = {
    .name = "export",
    .summary = "write a run in the format of another tool",
    .usage = "assay export [options] --to FORMAT RUN",
    .details = "chrome-trace and perfetto are for ui.perfetto.dev; perfetto is a third of the "
               "size. speedscope is for speedscope.app, folded for flame graphs. json has every "
               "span, sample, iteration and loss; csv has every call, in the order the calls "
               "ended. flamegraph is a picture (SVG) of folded stacks.\n\nOf a run of 'assay run', "
               "folded, flamegraph, speedscope and pprof have the sampled stacks of its "
               "allocations, in bytes.\n\n--max-size divides the space among threads "
               "by their number of events and "
               "keeps what comes first (csv: what ended first; folded: the stacks with the most "
               "time). The file stays valid. How much was left out is reported at standard error "
               "and, where the format has a place for it, in the file.",
    .examples = export_examples,
    .opts = export_opts,
    .operand = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = AS_OPERAND_RUN,
    .timeout_seconds = 600,
    .run = run_export,
};
