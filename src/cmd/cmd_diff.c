/* cmd/cmd_diff.c - all of `assay diff`: reads two runs and prints what changed between them.
 * With --fail-slower it answers whether the second is slower, by its exit status. */
#include <math.h>
#include <string.h>

#include "analyze/run/run_diff.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/console.h"
#include "cmd/common/options.h"
#include "report/compare/compare_report.h"

static const char *sort_at(size_t i)
{
    return as_diff_sort_name((enum as_diff_sort)i);
}

static const struct as_opt diff_opts[] = {
    AS_OPT_TOP,
    {.name = "sort",
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers by KEY",
     .word_at = sort_at},
    {.name = "threshold",
     .kind = AS_OPT_TEXT,
     .argument = "PERCENT",
     .help = "take a smaller change for none (default 1)"},
    {.name = "fail-slower",
     .kind = AS_OPT_TEXT,
     .argument = "PERCENT",
     .help = "exit 1 when B is shown to be slower by more than PERCENT"},
    {.name = "partial",
     .kind = AS_OPT_FLAG,
     .help = "compare what is left of runs that are not whole"},
    AS_OPT_WIDE,
    AS_OPT_JSON,
    AS_OPT_MARKDOWN,
    {.name = NULL},
};

/* NaN when the option is not given. */
static int read_percent(const struct as_cmd_line *line, const char *name, double *out,
                        struct assay_error *err)
{
    const char *text = as_opt_text(line, name);

    *out = AS_UNKNOWN;
    if (!text)
        return ASSAY_OK;
    if (!as_parse_f64(text, strlen(text), out) || !(*out >= 0 && *out <= 1e6))
        return as_fail(err, ASSAY_ERR_USAGE, "--%s is a percentage of 0 or more, not '%.40s'", name,
                       text);
    return ASSAY_OK;
}

AS_CONSOLE_DEFINE_PRINT(print, as_diff_report, as_diff_json, as_diff_page);

static int compare(const struct as_cmd_line *line, struct as_diff_run *const run[2],
                   const struct as_diff_options *options, double limit_percent,
                   struct assay_error *err)
{
    struct as_diff_report report = {
        .broken = {run[0]->broken, run[1]->broken},
        .top = (size_t)as_opt_number(line, "top", 0),
        .markdown = as_opt_given(line, "markdown"),
        .wide = as_opt_given(line, "wide"),
    };
    struct as_diff *diff;
    int rc = as_diff_new(&diff, &run[0]->side, &run[1]->side, options, err);

    if (rc < 0)
        return rc;
    as_diff_order(diff, (enum as_diff_sort)as_opt_word(line, "sort", AS_DIFF_BY_CHANGE));
    report.diff = diff;
    rc = print(line, &report, err);
    if (rc == ASSAY_OK && !isnan(limit_percent) && isnan(diff->slower_percent))
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED,
                     "--fail-slower needs layers or iterations that both runs have");
    else if (rc == ASSAY_OK && diff->slower_percent > limit_percent)
        rc = AS_ANSWER_NO;
    as_diff_free(diff);
    return rc;
}

static int run_diff(const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_diff_run *run[2] = {NULL, NULL};
    struct as_diff_options options = {0};
    double limit_percent, threshold_percent = AS_UNKNOWN;
    int rc = read_percent(line, "fail-slower", &limit_percent, err);

    if (rc == ASSAY_OK)
        rc = read_percent(line, "threshold", &threshold_percent, err);
    if (rc < 0)
        return rc;
    rc = as_opt_choose_one(line, "json", "markdown", err);
    if (rc < 0)
        return rc;
    if (!isnan(threshold_percent)) /* 0 would mean the default: the least there is */
        options.threshold = threshold_percent > 0 ? threshold_percent / 100 : 1e-300;
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = as_diff_run_open(&run[k], line->operand[k], as_opt_given(line, "partial"), err);
    if (rc == ASSAY_OK)
        rc = compare(line, run, &options, limit_percent, err);
    as_diff_run_close(run[0]);
    as_diff_run_close(run[1]);
    return rc;
}

const struct as_cmd as_cmd_diff = {
    .name = "diff",
    .summary = "show what changed between two runs",
    .usage = "assay diff [options] A B",
    .details =
        "A is the run before, B the one after. Layers are joined by their names; each has its "
        "self time in both runs, its part of all changes, and whether the difference is shown "
        "beyond noise: by a Mann-Whitney test over iterations where both runs mark 9 or more, "
        "otherwise over calls, corrected for the number of layers (Benjamini and Hochberg), and "
        "of --threshold or more.\n\n"
        "Calls of one run are alike, so a difference between calls holds for this pair of runs; "
        "mark iterations, or repeat the runs, to learn more.\n\n"
        "Exit status 1: with --fail-slower, B is shown to be slower by more than that.",
    .opts = diff_opts,
    .operand = "RUN",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_diff,
};
