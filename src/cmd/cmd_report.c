/* cmd/cmd_report.c - all of `assay report`: reads a run and prints what was found out about it.
 * One of four forms: text for people, Markdown, JSON, a folder of CSV files. */
#include <string.h>

#include "analyze/run/run_document.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "cmd/common/show_options.h"
#include "report/run/layer_columns.h"
#include "report/run/report.h"
#include "report/session/session_report.h"
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
     .letter = 's',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these parts only",
     .word_at = section_at},
    AS_OPT_TOP,
    {.name = "sort",
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers by KEY",
     .word_at = sort_at},
    {.name = "columns",
     .letter = 'c',
     .kind = AS_OPT_WORDS,
     .argument = "NAME,...",
     .help = "show these columns of the layers",
     .word_at = column_at},
    {.name = "unit",
     .kind = AS_OPT_WORD,
     .argument = "UNIT",
     .help = "show times in UNIT",
     .word_at = unit_at},
    AS_OPT_WIDE,
    {.name = "thread",
     .letter = 't',
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "take thread N only, as the section threads numbers them",
     .max = AS_RUN_MAX_THREADS},
    AS_OPT_JSON,
    {.name = "csv",
     .kind = AS_OPT_FOLDER,
     .argument = "DIR",
     .help = "write one CSV file for each list into the folder DIR"},
    AS_OPT_MARKDOWN,
    {.name = "classic",
     .kind = AS_OPT_FLAG,
     .help = "print the classic report: 80 columns of plain text"},
    {.name = "percentile",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "a bottleneck is as slow as this percentile of all calls (90)",
     .min = 1,
     .max = 100},
    {.name = "leak-threshold",
     .kind = AS_OPT_NUMBER,
     .argument = "MIB",
     .help = "a window of readings that grows by more is reported (10)",
     .min = 1,
     .max = 1u << 30},
    {.name = "leak-window",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "readings in that window (10)",
     .min = 3,
     .max = 1000000},
    {.name = "fail-on-leak",
     .kind = AS_OPT_FLAG,
     .help = "exit with 1 when memory grows steadily; of a run of 'assay run', when it was not "
             "given back at its end either"},
    {.name = NULL},
};

static int read_session_options(const struct as_cmd_line *line, struct as_report_options *o,
                                struct assay_error *err)
{
    unsigned words[2 * (AS_SECTION_COUNT + 1)];
    size_t n = as_opt_words(line, "section", words, AS_COUNT_OF(words));

    if (as_opt_given(line, "json") + as_opt_given(line, "csv") + as_opt_given(line, "markdown") +
            as_opt_given(line, "classic") >
        1)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "choose one of --json, --csv, --markdown and --classic");
    if (as_opt_given(line, "csv") && as_opt_given(line, "output"))
        return as_fail(err, ASSAY_ERR_USAGE, "--csv names a folder; --output has no use beside it");
    *o = (struct as_report_options){
        .top = (size_t)as_opt_number(line, "top", 0),
        .sort = (enum as_layer_sort)as_opt_word(line, "sort", AS_SORT_SELF),
        .unit = (enum as_time_unit)as_opt_word(line, "unit", AS_TIME_AUTO),
        .wide = as_opt_given(line, "wide"),
        .markdown = as_opt_given(line, "markdown"),
        .quiet = as_opt_given(line, "quiet"),
    };
    for (size_t i = 0; i < n; i++)
        o->sections |= words[i] == AS_SECTION_ALL ? (1u << AS_SECTION_COUNT) - 1 : 1u << words[i];
    o->n_columns = as_opt_words(line, "columns", o->column, AS_REPORT_MAX_COLUMNS);
    return ASSAY_OK;
}

static int report_run(const struct as_cmd_line *line, const struct as_show *show,
                      struct assay_error *err)
{
    struct as_peaks_cached peaks;
    struct as_show shown = *show;
    struct as_run *run = NULL;
    int rc = as_run_open_any(&run, line->operand[0], err);

    if (as_peaks_if_cached(&peaks))
        shown.peaks = &peaks.peaks;
    if (rc == ASSAY_OK)
        rc = as_show_print(run, &shown, line, err);
    as_run_close(run);
    return rc;
}

static int verdict(const struct as_cmd_line *line, const struct as_saved_profile *view, int rc)
{
    if (rc == ASSAY_OK && as_opt_given(line, "fail-on-leak") && view && view->leaks.summary.growing)
        return AS_ANSWER_NO;
    return rc;
}

/* What the JSON of a session cannot give. */
static int refuse_for_session(const struct as_cmd_line *line,
                              const struct as_report_options *options, struct assay_error *err)
{
    static const struct {
        const char *option, *why;
    } needs_run[] = {
        {"csv", "is the JSON of a session"},
        {"percentile",
         "is the JSON of a session, whose bottlenecks were found when it was written"},
        {"thread", "is the JSON of a session, whose layers are of all threads together"},
    };

    for (size_t i = 0; i < AS_COUNT_OF(needs_run); i++) {
        if (as_opt_given(line, needs_run[i].option))
            return as_fail(err, ASSAY_ERR_USAGE, "--%s needs a run; %s %s", needs_run[i].option,
                           line->operand[0], needs_run[i].why);
    }
    if (as_opt_given(line, "json") &&
        (as_opt_given(line, "leak-threshold") || as_opt_given(line, "leak-window")))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--json tells the leaks of a session as they were written: leave out "
                       "--leak-threshold and --leak-window");
    return as_report_session_check(options, err);
}

/* The session as the options want to see it. */
static int look_again(const struct as_cmd_line *line, struct as_saved_profile *view,
                      struct assay_error *err)
{
    struct assay_leak_options leaks = ASSAY_LEAK_OPTIONS_INIT;

    if (as_opt_given(line, "sort"))
        as_saved_profile_order(view, (enum as_layer_sort)as_opt_word(line, "sort", AS_SORT_TOTAL));
    if (!as_opt_given(line, "leak-threshold") && !as_opt_given(line, "leak-window"))
        return ASSAY_OK;
    leaks.threshold_mb = (double)as_opt_number(line, "leak-threshold", 0);
    leaks.window_size = (size_t)as_opt_number(line, "leak-window", 0);
    return as_saved_profile_judge_leaks(view, &leaks, err);
}

static int print_session(const struct as_cmd_line *line, struct as_saved_profile *view,
                         const struct as_report_options *options, struct assay_error *err)
{
    struct as_console console;
    struct as_json_writer w;
    int rc = refuse_for_session(line, options, err);

    if (rc == ASSAY_OK)
        rc = look_again(line, view, err);
    if (rc == ASSAY_OK)
        rc = as_console_open(&console, line, err);
    if (rc < 0)
        return rc;
    if (as_opt_given(line, "classic")) {
        as_session_classic(&console.out, view, options->top);
    } else if (as_opt_given(line, "json")) {
        as_json_writer_init(&w, &console.out, 2);
        rc = as_session_json(&w, view, options, err);
        as_out_char(&console.out, '\n');
    } else {
        rc = as_report_session_page(view, options, &console.out, &console.term, err);
    }
    return as_console_close(&console, rc, err);
}

static int run_report(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_report_options options = {0};
    struct as_saved_profile *view = NULL;
    struct assay_error unused;
    struct as_show show;
    int rc = as_show_read(&show, line, err);

    if (rc == ASSAY_OK)
        rc = read_session_options(line, &options, err);
    if (rc < 0)
        return rc;
    rc = as_saved_profile_file(&view, line->operand[0], &unused);
    if (rc == ASSAY_ERR_NOTFOUND || rc == ASSAY_ERR_IO || rc == ASSAY_ERR_FORMAT)
        return report_run(line, &show, err); /* which knows better what is wrong with it */
    if (rc < 0) {
        if (err)
            *err = unused;
        return rc;
    }
    rc = verdict(line, view, print_session(line, view, &options, err));
    as_saved_profile_free(view);
    return rc;
}

const struct as_cmd as_cmd_report = {
    .name = "report",
    .summary = "show where the time of a run went",
    .usage = "assay report [options] RUN",
    .details = "Prints what is wrong with the run first, if anything; then what was recorded and "
               "what recording cost; then the layers, the phases, the iterations and the sampled "
               "series.\n\nA run that was not closed, because its program was killed, is read as "
               "far as it goes, with the events left in the ring beside it. A figure that cannot "
               "be had is '-' on the screen, null in JSON and empty in CSV, never 0.\n\nRUN may "
               "also be the JSON that assay_manager_export() wrote: its sections are summary, "
               "layers, memory, leaks, bottlenecks, anomalies, distributed and backends; --csv, "
               "--percentile and --thread need a run.",
    .opts = report_opts,
    .operand = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
