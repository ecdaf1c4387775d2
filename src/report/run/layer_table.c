/* report/run/layer_table.c - a table of layers with any columns in any order, one unit to a
 * column. Marks figures that the number of calls does not carry. */
#include "report/run/layer_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/run/layers.h"
#include "base/units.h"
#include "report/page/page.h"

#define NAME_WIDTH  14 /* a name keeps at least this many columns */
#define BAR_WIDTH   8
#define SPARK_WIDTH 16

struct builder {
    const struct as_report *report;
    struct as_page *page;
    const struct as_layer_table *what;
    double *cumulative;
    struct as_row_column column[AS_REPORT_MAX_COLUMNS];
    size_t n_columns;
};

static const struct as_layer *layer_at(const struct builder *b, size_t row)
{
    return &b->report->layers->layer[b->what->order[row]];
}

/* The largest number in a column; NaN when it holds none. */
static double largest_of(const struct builder *b, enum as_layer_metric_id id)
{
    double largest = AS_UNKNOWN;

    for (size_t row = 0; row < b->what->n_rows; row++)
        largest = fmax(largest, as_layer_metric_number(id, layer_at(b, row)));
    return largest;
}

/* The time that chooses a column's unit. Times of a call stand side by side to be compared, so they
 * share the unit that suits their medians; sums share that of the largest sum. */
static double unit_ns(const struct builder *b, enum as_layer_metric_id id)
{
    if (id == AS_LAYER_METRIC_SELF || id == AS_LAYER_METRIC_TOTAL)
        return largest_of(b, AS_LAYER_METRIC_TOTAL);
    return id == AS_LAYER_METRIC_FIRST ? largest_of(b, id) : largest_of(b, AS_LAYER_METRIC_MEDIAN);
}

static bool has_text(const struct builder *b, enum as_layer_metric_id id)
{
    char line[AS_TEXT_HUMAN];

    for (size_t row = 0; row < b->what->n_rows; row++) {
        const char *text = as_layer_metric_text(id, layer_at(b, row), line, sizeof line);

        if (text && *text)
            return true;
    }
    return false;
}

/* Whether a column says anything: of failures, that there are some. */
static bool is_known(const struct builder *b, enum as_layer_metric_id id)
{
    const struct as_layer_metric *figure = as_layer_metric_at(id);

    if (id == AS_LAYER_METRIC_FAILED)
        return largest_of(b, id) > 0;
    if (figure->kind == AS_SHOWN_TEXT)
        return has_text(b, id);
    if (id == AS_LAYER_METRIC_CUM || figure->kind == AS_SHOWN_SPARK)
        return true;
    return !isnan(largest_of(b, id));
}

static void add_column(struct builder *b, enum as_layer_metric_id id)
{
    const struct as_layer_metric *figure = as_layer_metric_at(id);
    struct as_row_column *c = &b->column[b->n_columns++];

    *c = (struct as_row_column){
        .id = id,
        .title = figure->title,
        .shown = figure->kind,
        .identity = id == AS_LAYER_METRIC_NAME,
        .may_shrink = figure->kind == AS_SHOWN_TEXT && id != AS_LAYER_METRIC_FLAGS,
        .drop = b->what->only_known ? figure->drop : 0,
        .min_width = id == AS_LAYER_METRIC_NAME       ? NAME_WIDTH
                     : figure->kind == AS_SHOWN_BAR   ? BAR_WIDTH
                     : figure->kind == AS_SHOWN_SPARK ? SPARK_WIDTH
                                                      : 0,
        .style = id == AS_LAYER_METRIC_FLAGS ? AS_STYLE_WARN : AS_STYLE_NONE,
    };
    if (figure->kind == AS_SHOWN_TIME || figure->kind == AS_SHOWN_INTERVAL)
        c->scale = as_time_scale_for(
            largest_of(b, id), as_time_scale_for(unit_ns(b, id), b->report->options->unit).unit);
}

static void add_columns(struct builder *b)
{
    for (size_t i = 0; i < b->what->n_columns && i < AS_REPORT_MAX_COLUMNS; i++) {
        enum as_layer_metric_id id = (enum as_layer_metric_id)b->what->column[i];

        if (!b->what->only_known || is_known(b, id))
            add_column(b, id);
    }
}

/* ---- cells ---- */

static void make_spark(const struct builder *b, const struct as_layer *layer,
                       struct as_row_cell *cell)
{
    struct as_term term = *b->page->term;
    struct as_out line;
    size_t size;

    term.unicode |= b->page->markdown;
    cell->text = cell->line;
    if (as_out_memory(&line, NULL) < 0) {
        b->page->nomem = true;
        return;
    }
    as_term_spark(&term, &line, layer->spark_ns, AS_LAYER_SPARK, SPARK_WIDTH);
    (void)snprintf(cell->line, sizeof cell->line, "%s", as_out_get(&line, &size));
    for (size = strlen(cell->line); size > 0 && cell->line[size - 1] == ' ';)
        cell->line[--size] = 0;
    b->page->nomem |= line.nomem;
    as_out_drop(&line);
}

static void make_interval(const struct as_time_scale scale, const struct as_layer *layer,
                          struct as_row_cell *cell)
{
    bool reached = layer->times.ci95_reached;
    char low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];

    if (isnan(layer->times.ci95_low_ns))
        return;
    as_text_scaled(low, layer->times.ci95_low_ns, scale);
    as_text_scaled(high, layer->times.ci95_high_ns, scale);
    (void)snprintf(cell->line, sizeof cell->line, "%s[%s, %s]", reached ? "" : "~", low, high);
    cell->text = cell->line;
    cell->style = reached ? AS_STYLE_NONE : AS_STYLE_DIM;
}

static void get_cell(void *user, size_t row, const struct as_row_column *column,
                     struct as_row_cell *cell)
{
    const struct builder *b = user;
    const struct as_layer *layer = layer_at(b, row);
    enum as_layer_metric_id id = (enum as_layer_metric_id)column->id;

    if (column->shown == AS_SHOWN_TEXT) {
        cell->text = as_layer_metric_text(id, layer, cell->line, sizeof cell->line);
    } else if (column->shown == AS_SHOWN_INTERVAL) {
        make_interval(column->scale, layer, cell);
    } else if (column->shown == AS_SHOWN_SPARK) {
        make_spark(b, layer, cell);
    } else {
        cell->number =
            id == AS_LAYER_METRIC_CUM ? b->cumulative[row] : as_layer_metric_number(id, layer);
        cell->doubtful = !as_layer_metric_supported(id, layer);
        if (id == AS_LAYER_METRIC_FAILED && cell->number > 0)
            cell->style = AS_STYLE_BAD;
    }
}

static void note_marks(const struct builder *b, struct as_layer_marks *marks)
{
    bool flagged = false;

    *marks = (struct as_layer_marks){0};
    for (size_t i = 0; i < b->n_columns; i++)
        flagged |= b->column[i].id == AS_LAYER_METRIC_FLAGS;
    for (size_t row = 0; row < b->what->n_rows; row++) {
        const struct as_layer *layer = layer_at(b, row);

        for (size_t i = 0; i < b->n_columns; i++)
            marks->unsupported |=
                layer->calls &&
                !as_layer_metric_supported((enum as_layer_metric_id)b->column[i].id, layer);
        marks->inexact |= !layer->times.exact;
        marks->error = fmax(marks->error, layer->times.error);
        marks->near_cost |= flagged && layer->near_cost;
        marks->failed |= flagged && layer->failed > 0;
        marks->unbalanced |= flagged && (layer->unclosed || layer->cut || layer->open);
    }
}

int as_layer_table_print(const struct as_report *report, struct as_page *page,
                         const struct as_layer_table *what, struct as_layer_marks *marks,
                         struct assay_error *err)
{
    struct builder b = {.report = report, .page = page, .what = what};

    b.cumulative = as_arena_zero(&page->arena, report->layers->n_layers + 1, sizeof *b.cumulative);
    if (!b.cumulative)
        return as_fail_nomem(err);
    as_layers_cumulate(report->layers, what->order, b.cumulative);
    add_columns(&b);
    as_page_rows(page, &(struct as_layer_rows){.column = b.column,
                                               .n_columns = b.n_columns,
                                               .n_rows = what->n_rows,
                                               .user = &b,
                                               .get = get_cell});
    if (marks)
        note_marks(&b, marks);
    return ASSAY_OK;
}

uint32_t *as_layer_order_new(const struct as_report *report, struct as_page *page,
                             enum as_layer_sort sort, struct assay_error *err)
{
    uint32_t *order = as_arena_zero(&page->arena, report->layers->n_layers + 1, sizeof *order);

    if (order)
        as_layers_order(report->layers, sort, order);
    else
        as_fail_nomem(err);
    return order;
}
