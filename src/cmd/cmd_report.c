/* cmd/cmd_report.c - all of `assay report`: reads a run and prints what was found out about it.
 * One of four forms: text for people, Markdown, JSON, a folder of CSV files. */
#include "cmd/cmd.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "report/report.h"
#include "report/report_figures.h"

static const char *sort_at(size_t i)
{
    return i < AS_SORT_COUNT ? as_layer_sort_name((enum as_layer_sort)i) : NULL;
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
     .word_at = as_report_section_at},
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
     .word_at = as_figure_name_at},
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
    {.name = NULL},
};

static int read_options(const struct as_cmd_line *line, struct as_report_options *o,
                        struct assay_error *err)
{
    unsigned words[2 * (AS_SECTION_COUNT + 1)];
    size_t n = as_opt_words(line, "section", words, sizeof words / sizeof *words);

    if (as_opt_given(line, "json") + as_opt_given(line, "csv") + as_opt_given(line, "markdown") > 1)
        return as_fail(err, ASSAY_ERR_USAGE, "choose one of --json, --csv and --markdown");
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

static int print(const struct as_cmd_line *line, const struct as_report *report,
                 struct assay_error *err)
{
    struct as_console console;
    int rc = as_console_open(&console, line, err);

    if (rc < 0)
        return rc;
    if (as_opt_given(line, "json"))
        rc = as_report_json(report, &console.out, err);
    else
        rc = as_report_page(report, &console.out, &console.term, err);
    return as_console_close(&console, rc, err);
}

static int write_csv(const struct as_cmd_line *line, const struct as_report *report,
                     struct assay_error *err)
{
    const char *folder = as_opt_text(line, "csv");
    int n = as_report_csv(report, folder, err);

    if (n >= 0)
        as_console_note(line, "%d files in %s", n, folder);
    return n < 0 ? n : ASSAY_OK;
}

static int run_report(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_layers_options how = AS_LAYERS_OPTIONS_INIT;
    struct as_report_options options;
    struct as_layers *layers = NULL;
    struct as_run *run = NULL;
    int rc = read_options(line, &options, err);

    if (rc < 0)
        return rc;
    if (as_opt_given(line, "thread"))
        how.thread = (int64_t)as_opt_number(line, "thread", 0);
    rc = as_run_open(&run, line->operand[0], err);
    if (rc == ASSAY_OK)
        rc = as_layers_analyze(&layers, run, &how, err);
    if (rc == ASSAY_ERR_NOTFOUND)
        rc = ASSAY_ERR_USAGE; /* the thread asked for */
    if (rc == ASSAY_OK) {
        struct as_report report = {.run = run, .layers = layers, .options = &options};

        rc = as_opt_given(line, "csv") ? write_csv(line, &report, err) : print(line, &report, err);
    }
    as_layers_free(layers);
    as_run_close(run);
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
               "be had is '-' on the screen, null in JSON and empty in CSV, never 0.",
    .opts = report_opts,
    .operand = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
