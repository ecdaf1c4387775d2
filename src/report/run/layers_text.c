/* report/run/layers_text.c - the sections about layers: all of them, the slowest, the most
 * variable. Each is the same table with other columns and another order. */
#include <stdio.h>

#include "report/page/page.h"
#include "report/run/layer_columns.h"

#define USUAL_LAYERS 15
#define USUAL_FEW    5
#define USUAL_LIST   3 /* most variable layers on a page nobody asked for more of */

static const unsigned usual_columns[] = {
    AS_LAYER_METRIC_NAME,   AS_LAYER_METRIC_FLAGS,         AS_LAYER_METRIC_OP,
    AS_LAYER_METRIC_SELF,   AS_LAYER_METRIC_SHARE_OF_SELF, AS_LAYER_METRIC_SHARE_BAR,
    AS_LAYER_METRIC_CUM,    AS_LAYER_METRIC_CALLS,         AS_LAYER_METRIC_FAILED,
    AS_LAYER_METRIC_TOTAL,  AS_LAYER_METRIC_MEAN,          AS_LAYER_METRIC_STD,
    AS_LAYER_METRIC_MEDIAN, AS_LAYER_METRIC_P95,           AS_LAYER_METRIC_MAX,
    AS_LAYER_METRIC_CV,     AS_LAYER_METRIC_GFLOPS,        AS_LAYER_METRIC_SPARKLINE,
};

static const unsigned slowest_columns[] = {
    AS_LAYER_METRIC_NAME,  AS_LAYER_METRIC_MEAN,   AS_LAYER_METRIC_STD, AS_LAYER_METRIC_CALLS,
    AS_LAYER_METRIC_TOTAL, AS_LAYER_METRIC_MEDIAN, AS_LAYER_METRIC_MAX,
};

static const unsigned variable_columns[] = {
    AS_LAYER_METRIC_NAME,  AS_LAYER_METRIC_CV,       AS_LAYER_METRIC_STD,
    AS_LAYER_METRIC_CALLS, AS_LAYER_METRIC_MEDIAN,   AS_LAYER_METRIC_MAD,
    AS_LAYER_METRIC_MAX,   AS_LAYER_METRIC_OUTLIERS, AS_LAYER_METRIC_SPARKLINE,
};

#define N_OF(array) (sizeof(array) / sizeof *(array))

static void explain(struct as_page *page, const struct as_layer_marks *marks, bool failed_apart)
{
    if (marks->near_cost)
        as_page_line(page, AS_STYLE_DIM,
                     "! the median call is shorter than %d times the cost of recording it",
                     AS_COST_FACTOR);
    if (marks->failed)
        as_page_line(page, AS_STYLE_DIM, "F some calls failed; their times are %s",
                     failed_apart ? "in no metric" : "included");
    if (marks->unbalanced)
        as_page_line(page, AS_STYLE_DIM,
                     "U some calls have no end; they are counted in the section health only");
    if (marks->unsupported)
        as_page_line(page, AS_STYLE_DIM, "~ from too few calls: p90 needs 100, p95 200, p99 1,000");
    if (marks->inexact) {
        char share[AS_TEXT_HUMAN];

        as_text_share(share, marks->error);
        as_page_line(page, AS_STYLE_DIM,
                     "Percentiles of layers with very many calls come from a histogram: within %s",
                     share);
    }
}

static void tell_rest(struct as_page *page, size_t shown, size_t n)
{
    char rest[AS_TEXT_HUMAN];

    if (shown >= n)
        return;
    as_text_count(rest, n - shown);
    as_page_line(page, AS_STYLE_DIM, "%s more: --top %zu shows all", rest, n);
}

int as_section_layers(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_report_options *o = report->options;
    size_t n = report->layers->n_layers;
    struct as_layer_marks marks;
    struct as_layer_table what = {
        .n_rows = as_report_rows(report, USUAL_LAYERS, n),
        .column = o->n_columns ? o->column : usual_columns,
        .n_columns = o->n_columns ? o->n_columns : N_OF(usual_columns),
        .only_known = o->n_columns == 0,
    };
    char note[64];
    int rc;

    snprintf(note, sizeof note, "sorted by %s", as_layer_sort_name(o->sort));
    as_page_heading(page, "Layers", note);
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "No layer was recorded.");
        return ASSAY_OK;
    }
    what.order = as_layer_order_new(report, page, o->sort, err);
    if (!what.order)
        return ASSAY_ERR_NOMEM;
    rc = as_layer_table_print(report, page, &what, &marks, err);
    if (rc < 0)
        return rc;
    tell_rest(page, what.n_rows, n);
    explain(page, &marks, report->layers->failed_apart);
    return ASSAY_OK;
}

struct few {
    const char *heading, *note;
    enum as_layer_sort sort;
    const unsigned *column;
    size_t n_columns, usual;
};

static int print_few(const struct as_report *report, struct as_page *page, const struct few *few,
                     struct assay_error *err)
{
    struct as_layer_table what = {
        .n_rows = as_report_rows(report, few->usual, report->layers->n_layers),
        .column = few->column,
        .n_columns = few->n_columns,
        .only_known = true,
    };

    as_page_heading(page, few->heading, few->note);
    what.order = as_layer_order_new(report, page, few->sort, err);
    if (!what.order)
        return ASSAY_ERR_NOMEM;
    return as_layer_table_print(report, page, &what, NULL, err);
}

int as_section_slowest(const struct as_report *report, struct as_page *page,
                       struct assay_error *err)
{
    static const struct few few = {
        "Slowest layers", "by mean time of a call", AS_SORT_MEAN,
        slowest_columns,  N_OF(slowest_columns),    USUAL_FEW,
    };

    return report->layers->n_layers ? print_few(report, page, &few, err) : ASSAY_OK;
}

/* Whether any layer's calls differ at all: one call varies from nothing. */
static bool any_varies(const struct as_layers *layers)
{
    for (size_t i = 0; i < layers->n_layers; i++) {
        if (layers->layer[i].times.cv > 0)
            return true;
    }
    return false;
}

int as_section_variable(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    struct few few = {
        "Most variable",
        "by standard deviation over mean",
        AS_SORT_CV,
        variable_columns,
        N_OF(variable_columns),
        report->options->sections ? USUAL_FEW : USUAL_LIST,
    };

    return any_varies(report->layers) ? print_few(report, page, &few, err) : ASSAY_OK;
}
