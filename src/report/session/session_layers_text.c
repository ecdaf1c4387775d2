/* report/session/session_layers_text.c - the table of a session's layers, with the columns that its
 * file has. Only renders: every figure comes from analyze/run/saved_profile.h. */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "report/run/layer_columns.h"
#include "report/session/session_report.h"

#define USUAL_ROWS 10

/* Where a figure stands. Names, counts and shares are put apart. */
static const struct {
    enum as_layer_metric_id id;
    size_t seconds; /* offset of a time; 0: not a time */
} column[] = {
    {AS_LAYER_METRIC_NAME, 0},
    {AS_LAYER_METRIC_CALLS, 0},
    {AS_LAYER_METRIC_FAILED, 0},
    {AS_LAYER_METRIC_TOTAL, offsetof(struct as_view_layer, total_time)},
    {AS_LAYER_METRIC_SELF, offsetof(struct as_view_layer, self_time)},
    {AS_LAYER_METRIC_SHARE_OF_SELF, 0},
    {AS_LAYER_METRIC_MEAN, offsetof(struct as_view_layer, mean_time)},
    {AS_LAYER_METRIC_STD, offsetof(struct as_view_layer, std_time)},
    {AS_LAYER_METRIC_STD_SAMPLE, offsetof(struct as_view_layer, std_time_sample)},
    {AS_LAYER_METRIC_MIN, offsetof(struct as_view_layer, min_time)},
    {AS_LAYER_METRIC_MAX, offsetof(struct as_view_layer, max_time)},
    {AS_LAYER_METRIC_MEDIAN, offsetof(struct as_view_layer, p50_time)},
    {AS_LAYER_METRIC_P50, offsetof(struct as_view_layer, p50_time)},
    {AS_LAYER_METRIC_P95, offsetof(struct as_view_layer, p95_time)},
    {AS_LAYER_METRIC_P99, offsetof(struct as_view_layer, p99_time)},
    {AS_LAYER_METRIC_CV, 0},
};

static const unsigned usual[] = {
    AS_LAYER_METRIC_NAME,  AS_LAYER_METRIC_CALLS, AS_LAYER_METRIC_FAILED,
    AS_LAYER_METRIC_TOTAL, AS_LAYER_METRIC_SELF,  AS_LAYER_METRIC_SHARE_OF_SELF,
    AS_LAYER_METRIC_MEAN,  AS_LAYER_METRIC_STD,   AS_LAYER_METRIC_MAX,
};

static bool find_column(unsigned id, size_t *at)
{
    for (*at = 0; *at < AS_COUNT_OF(column); (*at)++) {
        if (column[*at].id == id)
            return true;
    }
    return false;
}

int as_session_layers_check(const struct as_report_options *options, struct assay_error *err)
{
    char names[200] = "";
    size_t used = 0, at;

    for (size_t i = 0; i < AS_COUNT_OF(column) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 as_layer_metric_name_at(column[i].id));
    for (size_t i = 0; i < options->n_columns; i++) {
        if (!find_column(options->column[i], &at))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the JSON of a session has no column %s: it has %s",
                           as_layer_metric_name_at(options->column[i]), names);
    }
    return ASSAY_OK;
}

static void put_count(struct as_table *t, uint64_t n, bool unknown, enum as_style style)
{
    char text[AS_TEXT_HUMAN];

    as_text_count(text, n);
    as_table_text(t, style, unknown ? "-" : text);
}

static void put_cell(struct as_table *t, struct as_page *page, const struct as_view_layer *layer,
                     unsigned id, double all, enum as_time_unit unit)
{
    char text[AS_TEXT_HUMAN];
    size_t at;

    if (!find_column(id, &at))
        return;
    switch (column[at].id) {
    case AS_LAYER_METRIC_NAME:
        as_table_text(t, AS_STYLE_NONE, as_page_name(page, layer->name));
        return;
    case AS_LAYER_METRIC_CALLS:
        put_count(t, layer->calls, layer->calls_unknown, AS_STYLE_NONE);
        return;
    case AS_LAYER_METRIC_FAILED:
        put_count(t, layer->failed, layer->failed_unknown,
                  layer->failed ? AS_STYLE_WARN : AS_STYLE_DIM);
        return;
    case AS_LAYER_METRIC_SHARE_OF_SELF:
        as_text_percent(text, all > 0 ? layer->self_time / all : AS_UNKNOWN);
        break;
    case AS_LAYER_METRIC_CV:
        as_text_percent(text, layer->cv);
        break;
    default:
        as_text_ns(text,
                   *(const double *)(const void *)((const char *)layer + column[at].seconds) * 1e9,
                   unit);
        break;
    }
    as_table_text(t, id == AS_LAYER_METRIC_STD ? AS_STYLE_DIM : AS_STYLE_NONE, text);
}

static struct as_table_column heading_of(unsigned id)
{
    const struct as_layer_metric *figure = as_layer_metric_at(id);

    if (id == AS_LAYER_METRIC_NAME)
        return (struct as_table_column){
            .title = figure->title, .may_shrink = true, .min_width = 12};
    return (struct as_table_column){.title = figure->title,
                                    .align = AS_ALIGN_RIGHT,
                                    .drop = id == AS_LAYER_METRIC_FAILED ? 4
                                            : id == AS_LAYER_METRIC_STD  ? 2
                                            : id == AS_LAYER_METRIC_MAX  ? 1
                                                                         : 0};
}

void as_session_layers_page(struct as_page *page, const struct as_saved_profile *view,
                            const struct as_report_options *options)
{
    const unsigned *id = options->n_columns ? options->column : usual;
    size_t n_columns = options->n_columns ? options->n_columns : AS_COUNT_OF(usual);
    size_t n = options->top ? options->top : USUAL_ROWS;
    struct as_table_column columns[AS_REPORT_MAX_COLUMNS];
    double all = 0;
    struct as_table t;
    char note[64];

    n = n < view->n_layers ? n : view->n_layers;
    for (size_t i = 0; i < view->n_layers; i++)
        all += isfinite(view->layer[i].self_time) ? view->layer[i].self_time : 0;
    snprintf(note, sizeof note, "%zu of %zu, by %s%s", n, view->n_layers,
             as_layer_sort_name(view->order), view->order == AS_SORT_TOTAL ? " time" : "");
    as_page_heading(page, "Layers", note);
    for (size_t k = 0; k < n_columns; k++) {
        columns[k] = heading_of(id[k]);
        if (options->n_columns)
            columns[k].drop = 0; /* what was asked for is shown */
    }
    as_table_init(&t, columns, n_columns);
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        for (size_t k = 0; k < n_columns; k++)
            put_cell(&t, page, &view->layer[i], id[k], all,
                     options->unit == AS_TIME_AUTO ? AS_TIME_MS : options->unit);
    }
    as_page_table(page, &t);
}
