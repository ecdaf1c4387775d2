/* cmd/cmd_report.c - all of `assay report`: reads a run and prints what was found out about it.
 * Formats: text, Markdown, JSON and CSV. */
#include <string.h>

#include "analyze/run/run_document.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "cmd/common/show_options.h"
#include "trace/run/run_reader.h"

typedef const char *(*words_of)(const struct as_run_kind *kind, size_t i);

static const char *section_of(const struct as_run_kind *kind, size_t i)
{
    return kind->section_at ? kind->section_at(i) : NULL;
}

static const char *sort_of(const struct as_run_kind *kind, size_t i)
{
    return kind->sort_at ? kind->sort_at(i) : NULL;
}

static const char *column_of(const struct as_run_kind *kind, size_t i)
{
    return kind->column_at ? kind->column_at(i) : NULL;
}

static bool has_before(size_t kind, words_of words, const char *word)
{
    const char *known;

    for (size_t k = 0; k < kind; k++)
        for (size_t i = 0; (known = words(as_run_kind_at(k), i)) != NULL; i++)
            if (strcmp(known, word) == 0)
                return true;
    return false;
}

/* The i-th word of all kinds of runs, each once. */
static const char *word_at(words_of words, size_t i)
{
    const struct as_run_kind *kind;
    const char *word;

    for (size_t k = 0; (kind = as_run_kind_at(k)) != NULL; k++)
        for (size_t at = 0; (word = words(kind, at)) != NULL; at++)
            if (!has_before(k, words, word) && i-- == 0)
                return word;
    return NULL;
}

static const char *section_at(size_t i)
{
    return word_at(section_of, i);
}

static const char *sort_at(size_t i)
{
    return word_at(sort_of, i);
}

static const char *column_at(size_t i)
{
    return word_at(column_of, i);
}

static const char *unit_at(size_t i)
{
    if (i == AS_TIME_AUTO)
        return "auto";
    return i < AS_TIME_COUNT ? as_time_unit_name((enum as_time_unit)i) : NULL;
}

static const struct as_opt report_opts[] = {
    {.name = "section",
     .group = AS_GROUP_VIEW,
     .letter = 's',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these parts only",
     .word_at = section_at},
    AS_OPT_TOP,
    {.name = "sort",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers by KEY",
     .word_at = sort_at},
    {.name = "columns",
     .group = AS_GROUP_VIEW,
     .letter = 'c',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these columns of the layers",
     .word_at = column_at},
    {.name = "unit",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_WORD,
     .argument = "UNIT",
     .help = "show times in UNIT",
     .word_at = unit_at},
    {.name = "scope-depth",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "of profiles: sum up by the first N parts of a name [default: all but the last part]",
     .min = 1,
     .max = 64},
    AS_OPT_REDACT,
    AS_OPT_WIDE,
    {.name = "thread",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "show thread N only, numbered as in the section threads",
     .max = AS_RUN_MAX_THREADS},
    AS_OPTS_LIMITS("600"),
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    {.name = "roofline",
     .group = AS_GROUP_OUTPUT,
     .kind = AS_OPT_FILE,
     .argument = "FILE.svg",
     .help = "draw the layers under the measured roofline"},
    {.name = "classic",
     .group = AS_GROUP_VIEW,
     .kind = AS_OPT_FLAG,
     .help = "print the classic report: 80 columns of plain text"},
    {.name = "percentile",
     .group = "Criteria",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "a bottleneck is at least as slow as this percentile of all calls [default: 90]",
     .min = 1,
     .max = 100},
    {.name = "leak-threshold",
     .group = "Criteria",
     .kind = AS_OPT_NUMBER,
     .argument = "MIB",
     .help = "report a window of samples that grows by more than this [default: 10]",
     .min = 1,
     .max = 1u << 30},
    {.name = "leak-window",
     .group = "Criteria",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "samples per window [default: 10]",
     .min = 3,
     .max = 1000000},
    {.name = "fail-on-leak",
     .group = "Criteria",
     .kind = AS_OPT_FLAG,
     .help = "exit 1 when memory grows steadily; for a run of 'assay run', only when it was not "
             "freed at the end either"},
    {.name = NULL},
};

static int run_report(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_peaks_cached peaks;
    struct as_run *run = NULL;
    struct as_show show;
    int rc = ASSAY_OK;

    if (as_show_run_path(line)) /* a page in place of a run would lose the run */
        rc = as_fail(err, ASSAY_ERR_USAGE,
                     "--output %s: report writes a page, and .assay is the name of a run",
                     as_opt_text(line, "output"));
    if (rc == ASSAY_OK)
        rc = as_show_read(&show, line, err);
    if (rc == ASSAY_OK)
        rc = as_run_open_any(&run, line->operand[0], err);
    if (rc == ASSAY_OK && as_peaks_if_cached(&peaks))
        show.peaks = &peaks.peaks;
    if (rc == ASSAY_OK)
        rc = as_show_print(run, &show, line, err);
    as_run_close(run);
    return rc;
}

static const struct as_example report_examples[] = {
    {"assay report run.assay", "the whole page of a run"},
    {"assay report run.assay --section layers --sort p95", "the layers with the longest tails"},
    {"assay report run.assay --json", "the same values for a program"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_report = {
    .name = "report",
    .summary = "show where the time of a run went",
    .usage = "assay report [options] RUN",
    .details =
        "Prints what is wrong with the run first, if anything; then what was recorded and what "
        "recording cost; then the layers, the phases, the iterations and the sampled series.\n\nA "
        "run that was not closed, because its program was killed, is read up to its end, with the "
        "events left in its ring file. A value that is unavailable is '-' on the screen, null in "
        "JSON and empty in CSV, never 0.\n\nRUN may also be a JSON document that assay printed or "
        "assay_manager_export() wrote. Runs of a manager have the sections summary, layers, "
        "slowest, variable, memory, leaks, bottlenecks, anomalies, distributed and backends.",
    .examples = report_examples,
    .opts = report_opts,
    .operand = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .operand_kind = AS_OPERAND_RUN,
    .timeout_seconds = 600,
    .run = run_report,
};
