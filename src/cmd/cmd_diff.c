/* cmd/cmd_diff.c - all of `assay diff`: reads two runs, or two models, and prints what changed
 * between them. With --fail-slower it answers whether the second is slower, by its exit status. */
#include <math.h>
#include <string.h>

#include "analyze/run/run_document.h"
#include "analyze/watch/target_diff.h"
#include "base/text/text.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/common/forms.h"
#include "cmd/common/options.h"
#include "format/model_file.h"
#include "report/compare/compare_report.h"
#include "report/run/show.h"

static const char *sort_at(size_t i)
{
    return as_diff_sort_name((enum as_diff_sort)i);
}

static const struct as_opt diff_opts[] = {
    AS_OPT_TOP,
    {.name = "sort",
     .group = "What is shown",
     .kind = AS_OPT_WORD,
     .argument = "KEY",
     .help = "order the layers or metrics by KEY",
     .word_at = sort_at},
    {.name = "threshold",
     .group = "Criteria",
     .kind = AS_OPT_TEXT,
     .argument = "PERCENT",
     .help = "ignore changes below PERCENT [default: 1]"},
    {.name = "fail-slower",
     .group = "Criteria",
     .kind = AS_OPT_TEXT,
     .argument = "PERCENT",
     .help = "exit 1 when B is significantly slower by more than PERCENT"},
    {.name = "partial",
     .group = "Criteria",
     .kind = AS_OPT_FLAG,
     .help = "compare the readable part of incomplete runs"},
    AS_OPT_WIDE,
    AS_OPT_REDACT,
    AS_OPTS_LIMITS("600"),
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
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

/* ---- runs ---- */

/* Defines print_`name`(line, report, err), which prints a report in the format asked for. */
#define DEFINE_PRINT(name, report_struct, as_json, as_page, as_csv, file)                          \
    static int name##_page(const void *of, bool markdown, struct as_out *out,                      \
                           const struct as_term *term, struct assay_error *err)                    \
    {                                                                                              \
        struct report_struct report = *(const struct report_struct *)of;                           \
                                                                                                   \
        report.markdown = markdown;                                                                \
        return as_page(&report, out, term, err);                                                   \
    }                                                                                              \
    static int name##_json(const void *of, struct as_out *out, struct assay_error *err)            \
    {                                                                                              \
        return as_json(of, out, err);                                                              \
    }                                                                                              \
    static int name##_csv(const void *of, const struct as_csv_target *to, struct assay_error *err) \
    {                                                                                              \
        int rc = as_csv_target_open(to, err);                                                      \
                                                                                                   \
        if (rc == ASSAY_OK)                                                                        \
            rc = as_csv_target_put(to, file, as_csv, of, err);                                     \
        return rc < 0 ? rc : 1;                                                                    \
    }                                                                                              \
    static int print_##name(const struct as_cmd_line *line, const struct report_struct *report,    \
                            struct assay_error *err)                                               \
    {                                                                                              \
        const struct as_forms forms = {                                                            \
            .of = report, .page = name##_page, .json = name##_json, .csv = name##_csv};            \
                                                                                                   \
        return as_forms_print(&forms, line, err);                                                  \
    }                                                                                              \
    _Static_assert(1, "a semicolon follows")

DEFINE_PRINT(layers, as_diff_report, as_diff_json, as_diff_page, as_diff_csv, "layers.csv");
DEFINE_PRINT(metrics, as_metrics_report, as_metrics_json, as_metrics_page, as_metrics_csv,
             "metrics.csv");
DEFINE_PRINT(models, as_models_report, as_models_json, as_models_page, as_models_csv, "totals.csv");

static int answer(double slower_percent, double limit_percent, struct assay_error *err)
{
    if (!isnan(limit_percent) && isnan(slower_percent))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "--fail-slower needs layers, iterations or samples that both runs have");
    return slower_percent > limit_percent ? AS_ANSWER_NO : ASSAY_OK;
}

/* Two runs of `assay run` have sites, GEMM calls and processes as well; `*out` is NULL for others.
 */
static int compare_programs(struct as_target_diff **out, struct as_diff_run *const run[2],
                            struct assay_error *err)
{
    struct as_target *target[2] = {NULL, NULL};
    int rc = ASSAY_OK;

    *out = NULL;
    if (!as_target_in_run(run[0]->run) || !as_target_in_run(run[1]->run))
        return ASSAY_OK;
    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = as_target_analyze(&target[k], run[k]->run, err);
    if (rc == ASSAY_OK)
        rc = as_target_diff_new(out, target[0], target[1], err);
    as_target_free(target[0]);
    as_target_free(target[1]);
    return rc == ASSAY_ERR_NOTFOUND ? ASSAY_OK
                                    : rc; /* damaged: the rest is compared all the same */
}

static int compare_layers(const struct as_cmd_line *line, struct as_diff_run *const run[2],
                          const struct as_diff_options *options, double limit_percent,
                          struct assay_error *err)
{
    struct as_diff_report report = {
        .broken = {run[0]->broken, run[1]->broken},
        .unsteady = {run[0]->unsteady, run[1]->unsteady},
        .top = (size_t)as_opt_number(line, "top", 0),
        .wide = as_opt_given(line, "wide"),
    };
    struct as_target_diff *program;
    struct as_diff *diff;
    int rc = compare_programs(&program, run, err);

    if (rc < 0)
        return rc;
    rc = as_diff_new(&diff, &run[0]->side, &run[1]->side, options, err);
    if (rc < 0) {
        as_target_diff_free(program);
        return rc;
    }
    report.program = program;
    as_diff_order(diff, (enum as_diff_sort)as_opt_word(line, "sort", AS_DIFF_BY_CHANGE));
    report.diff = diff;
    rc = print_layers(line, &report, err);
    if (rc == ASSAY_OK)
        rc = answer(diff->slower_percent, limit_percent, err);
    as_diff_free(diff);
    as_target_diff_free(program);
    return rc;
}

/* Once as they are, which joins them, and once as they may be shown. */
static int read_metrics(const struct as_run_kind *kind, struct as_run *run,
                        struct as_metrics *metrics, struct as_metrics *redacted,
                        struct assay_error *err)
{
    int rc = kind->metrics(run, metrics, err);

    run->redacted = true;
    if (rc == ASSAY_OK)
        rc = kind->metrics(run, redacted, err);
    run->redacted = false;
    return rc == ASSAY_OK ? as_metrics_name(metrics, redacted, err) : rc;
}

static int compare_metrics(const struct as_cmd_line *line, struct as_diff_run *const run[2],
                           const struct as_diff_options *options, double limit_percent,
                           struct assay_error *err)
{
    struct as_metrics metrics[2] = {{.no_memory = false}}, redacted[2] = {{.no_memory = false}};
    struct as_metric_diff *diff = NULL;
    const struct as_run_kind *kind = as_run_kind_of(run[0]->run, err);
    int rc = kind ? ASSAY_OK : ASSAY_ERR_UNSUPPORTED;

    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = read_metrics(kind, run[k]->run, &metrics[k], &redacted[k], err);
    if (rc == ASSAY_OK)
        rc = as_metric_diff_new(&diff, &metrics[0], &metrics[1], options, err);
    if (rc == ASSAY_OK) {
        const struct as_metrics_report report = {
            .diff = diff,
            .kind = kind->name,
            .name = {line->operand[0], line->operand[1]},
            .broken = {run[0]->broken, run[1]->broken},
            .top = (size_t)as_opt_number(line, "top", 0),
            .redact = as_opt_given(line, "redact"),
            .wide = as_opt_given(line, "wide"),
        };

        if (as_opt_given(line, "sort"))
            as_metric_diff_order(diff, (enum as_diff_sort)as_opt_word(line, "sort", 0));
        rc = print_metrics(line, &report, err);
        if (rc == ASSAY_OK)
            rc = answer(diff->slower_percent, limit_percent, err);
    }
    as_metric_diff_free(diff);
    for (int k = 0; k < 2; k++) {
        as_metrics_fini(&metrics[k]);
        as_metrics_fini(&redacted[k]);
    }
    return rc;
}

static int compare_runs(const struct as_cmd_line *line, const struct as_diff_options *options,
                        double limit_percent, struct assay_error *err)
{
    struct as_diff_run *run[2] = {NULL, NULL};
    int rc = ASSAY_OK;

    for (int k = 0; k < 2 && rc == ASSAY_OK; k++)
        rc = as_diff_run_open(&run[k], line->operand[k], as_opt_given(line, "partial"), err);
    if (rc == ASSAY_OK) {
        const char *kind[2] = {as_run_kind(run[0]->run), as_run_kind(run[1]->run)};

        bool one = strcmp(kind[0], kind[1]) == 0;

        /* Times of a profile are of one inference, of all others of everything that was recorded.
         */
        if (run[0]->layers && run[1]->layers &&
            (one || (strcmp(kind[0], "profile") != 0 && strcmp(kind[1], "profile") != 0)))
            rc = compare_layers(line, run, options, limit_percent, err);
        else if (one)
            rc = compare_metrics(line, run, options, limit_percent, err);
        else
            rc = as_fail(err, ASSAY_ERR_UNSUPPORTED,
                         "a run of kind \"%.40s\" and one of kind \"%.40s\" have nothing to "
                         "compare: %s, %s",
                         kind[0], kind[1], line->operand[0], line->operand[1]);
    }
    as_diff_run_close(run[0]);
    as_diff_run_close(run[1]);
    return rc;
}

/* ---- models ---- */

static int compare_models(const struct as_cmd_line *line, struct assay_error *err)
{
    const struct as_inspect_options options = {.look_into_weights = false};
    struct as_inspection *in[2] = {NULL, NULL};
    struct as_model *model[2] = {NULL, NULL};
    struct as_model_diff *diff = NULL;
    int rc = ASSAY_OK;

    for (int k = 0; k < 2 && rc == ASSAY_OK; k++) {
        rc = as_model_open(&model[k], line->operand[k], err);
        if (rc == ASSAY_OK)
            rc = as_inspection_new(&in[k], model[k], &options, err);
        if (rc == ASSAY_ERR_FORMAT)
            (void)as_fail_in_file(err, rc, line->operand[k]);
    }
    if (rc == ASSAY_OK)
        rc = as_model_diff_new(&diff, in[0], in[1], err);
    if (rc == ASSAY_OK) {
        const struct as_models_report report = {
            .diff = diff,
            .name = {line->operand[0], line->operand[1]},
            .top = (size_t)as_opt_number(line, "top", 0),
            .wide = as_opt_given(line, "wide"),
        };

        rc = print_models(line, &report, err);
    }
    as_model_diff_free(diff);
    for (int k = 0; k < 2; k++) {
        as_inspection_free(in[k]);
        as_model_free(model[k]);
    }
    return rc;
}

static int run_diff(const struct as_cmd_line *line, struct assay_error *err)
{
    bool is_run[2] = {as_run_looks_like_one(line->operand[0]),
                      as_run_looks_like_one(line->operand[1])};
    struct as_diff_options options = {0};
    double limit_percent, threshold_percent = AS_UNKNOWN;
    int rc = read_percent(line, "fail-slower", &limit_percent, err);

    if (rc == ASSAY_OK)
        rc = read_percent(line, "threshold", &threshold_percent, err);
    if (rc < 0)
        return rc;
    rc = as_forms_check(line, err);
    if (rc < 0)
        return rc;
    if (!isnan(threshold_percent)) /* 0 would mean the default: the least there is */
        options.threshold = threshold_percent > 0 ? threshold_percent / 100 : 1e-300;
    if (is_run[0] && is_run[1])
        return compare_runs(line, &options, limit_percent, err);
    if (is_run[0] || is_run[1])
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "%s is not a run and %s is not a model: compare two of one kind",
                       line->operand[is_run[0]], line->operand[is_run[1]]);
    if (!isnan(limit_percent))
        return as_fail(err, ASSAY_ERR_USAGE, "--fail-slower compares runs: a model takes no time");
    return compare_models(line, err);
}

static const struct as_example diff_examples[] = {
    {"assay diff before.assay after.assay",
     "what changed, layer by layer, and whether it is significant"},
    {"assay diff before.assay after.assay --fail-slower 5",
     "exit status 1 when slower by more than 5 %"},
    {"assay diff old.onnx new.onnx", "what changed between two models"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_diff = {
    .name = "diff",
    .summary = "show what changed between two runs or two models",
    .usage = "assay diff [options] A B",
    .details =
        "A is the run or model before, B the one after; a document that --json wrote is its "
        "run.\n\nOf recorded, watched and profiled runs layers are joined by their names; each has "
        "its self time in both runs, its share of the total change, and whether the difference is "
        "significant: by a Mann-Whitney test over iterations where both runs mark 9 or more, "
        "otherwise over calls, adjusted for the number of layers (Benjamini-Hochberg), and at "
        "least --threshold.\n\nCalls of one run resemble each other, so a difference between calls "
        "holds for this pair of runs; mark iterations, or repeat the runs, to learn more.\n\nOf "
        "sweeps, experiments and runs of assay machine the metrics are compared, and times are "
        "tested in the same way where both runs hold at least 9 samples.\n\nOf models (ONNX, GGUF, "
        "safetensors, TensorFlow Lite, or zoo:NAME): layers and weights that were added, removed "
        "or changed, and their total cost.\n\nExit status 1: with --fail-slower, B is "
        "significantly slower by more than that.",
    .examples = diff_examples,
    .opts = diff_opts,
    .operand = "FILE",
    .min_operands = 2,
    .max_operands = 2,
    .timeout_seconds = 600,
    .run = run_diff,
};
