/* report/run/layer_table.c - a table of layers with any columns in any order, one unit to a
 * column. Marks figures that the number of calls does not carry. */
#include "report/run/layer_columns.h"

#include <math.h>
#include <stdio.h>

#include "analyze/run/layers.h"
#include "base/units.h"
#include "report/page/page.h"

#define NAME_WIDTH  14 /* a name keeps at least this many columns */
#define BAR_WIDTH   8
#define SPARK_WIDTH 16

struct column {
    enum as_layer_metric_id id;
    const struct as_layer_metric *figure;
    struct as_time_scale scale; /* of times */
    char title[32];
};

struct builder {
    const struct as_report *report;
    struct as_page *page;
    const struct as_layer_table *what;
    double *cumulative;
    struct column column[AS_REPORT_MAX_COLUMNS];
    struct as_table_column layout[AS_REPORT_MAX_COLUMNS];
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
    if (figure->kind == AS_LAYER_METRIC_TEXT)
        return has_text(b, id);
    if (id == AS_LAYER_METRIC_CUM || figure->kind == AS_LAYER_METRIC_SPARK)
        return true;
    return !isnan(largest_of(b, id));
}

static void set_title(struct column *c)
{
    bool timed =
        c->figure->kind == AS_LAYER_METRIC_TIME || c->figure->kind == AS_LAYER_METRIC_INTERVAL;

    snprintf(c->title, sizeof c->title, "%s%s%s", c->figure->title, timed ? " " : "",
             timed ? as_time_unit_name(c->scale.unit) : "");
}

static void add_column(struct builder *b, enum as_layer_metric_id id)
{
    const struct as_layer_metric *figure = as_layer_metric_at(id);
    struct column *c = &b->column[b->n_columns];
    bool left = figure->kind == AS_LAYER_METRIC_TEXT || figure->kind == AS_LAYER_METRIC_SPARK ||
                figure->kind == AS_LAYER_METRIC_BAR;

    *c = (struct column){.id = id, .figure = figure};
    if (figure->kind == AS_LAYER_METRIC_TIME || figure->kind == AS_LAYER_METRIC_INTERVAL)
        c->scale = as_time_scale_for(
            largest_of(b, id), as_time_scale_for(unit_ns(b, id), b->report->options->unit).unit);
    set_title(c);
    b->layout[b->n_columns] = (struct as_table_column){
        .title = c->title,
        .align = left ? AS_ALIGN_LEFT : AS_ALIGN_RIGHT,
        .may_shrink = figure->kind == AS_LAYER_METRIC_TEXT && id != AS_LAYER_METRIC_FLAGS,
        .drop = b->what->only_known ? figure->drop : 0,
        .min_width = id == AS_LAYER_METRIC_NAME              ? NAME_WIDTH
                     : figure->kind == AS_LAYER_METRIC_BAR   ? BAR_WIDTH
                     : figure->kind == AS_LAYER_METRIC_SPARK ? SPARK_WIDTH
                                                             : 0,
        .style = figure->kind == AS_LAYER_METRIC_BAR     ? AS_STYLE_BAR
                 : figure->kind == AS_LAYER_METRIC_SPARK ? AS_STYLE_BAR
                 : id == AS_LAYER_METRIC_FLAGS           ? AS_STYLE_WARN
                                                         : AS_STYLE_NONE,
    };
    b->n_columns++;
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

static void put_spark(const struct builder *b, struct as_table *t, const struct as_layer *layer)
{
    struct as_term term = *b->page->term;
    struct as_out line;
    const char *text;
    size_t size;

    term.unicode |= b->page->markdown;
    if (as_out_memory(&line, NULL) < 0) {
        t->nomem = true;
        return;
    }
    as_term_spark(&term, &line, layer->spark_ns, AS_LAYER_SPARK, SPARK_WIDTH);
    text = as_out_get(&line, &size);
    while (size > 0 && text[size - 1] == ' ')
        size--;
    as_table_text_n(t, AS_STYLE_NONE, text, size);
    t->nomem |= line.nomem;
    as_out_drop(&line);
}

static void put_text(const struct builder *b, struct as_table *t, const struct column *c,
                     const struct as_layer *layer)
{
    char line[512];
    const char *text = as_layer_metric_text(c->id, layer, line, sizeof line);

    as_table_text(t, AS_STYLE_NONE, as_page_name(b->page, text));
}

static void put_time(struct as_table *t, const struct column *c, const struct as_layer *layer)
{
    bool supported = as_layer_metric_supported(c->id, layer);
    char text[AS_TEXT_HUMAN];

    as_text_scaled(text, as_layer_metric_number(c->id, layer), c->scale);
    if (supported || text[0] == '-')
        as_table_text(t, AS_STYLE_NONE, text);
    else
        as_table_printf(t, AS_STYLE_DIM, "~%s", text);
}

static void put_interval(struct as_table *t, const struct column *c, const struct as_layer *layer)
{
    char low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];

    if (isnan(layer->times.ci95_low_ns)) {
        as_table_text(t, AS_STYLE_NONE, "-");
        return;
    }
    as_text_scaled(low, layer->times.ci95_low_ns, c->scale);
    as_text_scaled(high, layer->times.ci95_high_ns, c->scale);
    as_table_printf(t, layer->times.ci95_reached ? AS_STYLE_NONE : AS_STYLE_DIM, "%s[%s, %s]",
                    layer->times.ci95_reached ? "" : "~", low, high);
}

static void put_number(struct as_table *t, const struct column *c, double value)
{
    char text[AS_TEXT_HUMAN];

    if (c->figure->kind == AS_LAYER_METRIC_COUNT)
        as_text_count(text, (uint64_t)value);
    else if (c->figure->kind == AS_LAYER_METRIC_SHARE)
        as_text_percent(text, value);
    else
        as_text_si(text, value, NULL);
    as_table_text(t, c->id == AS_LAYER_METRIC_FAILED && value > 0 ? AS_STYLE_BAD : AS_STYLE_NONE,
                  text);
}

static void put_cell(const struct builder *b, struct as_table *t, const struct column *c,
                     size_t row)
{
    const struct as_layer *layer = layer_at(b, row);

    switch (c->figure->kind) {
    case AS_LAYER_METRIC_TEXT:
        put_text(b, t, c, layer);
        break;
    case AS_LAYER_METRIC_TIME:
        put_time(t, c, layer);
        break;
    case AS_LAYER_METRIC_INTERVAL:
        put_interval(t, c, layer);
        break;
    case AS_LAYER_METRIC_BAR:
        as_table_bar(t, AS_STYLE_NONE, as_layer_metric_number(c->id, layer));
        break;
    case AS_LAYER_METRIC_SPARK:
        put_spark(b, t, layer);
        break;
    case AS_LAYER_METRIC_COUNT:
    case AS_LAYER_METRIC_SHARE:
    case AS_LAYER_METRIC_NUMBER:
        put_number(t, c,
                   c->id == AS_LAYER_METRIC_CUM ? b->cumulative[row]
                                                : as_layer_metric_number(c->id, layer));
        break;
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
                layer->calls && !as_layer_metric_supported(b->column[i].id, layer);
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
    struct as_table table;

    b.cumulative = as_arena_zero(&page->arena, report->layers->n_layers + 1, sizeof *b.cumulative);
    if (!b.cumulative)
        return as_fail_nomem(err);
    as_layers_cumulate(report->layers, what->order, b.cumulative);
    add_columns(&b);
    as_table_init(&table, b.layout, b.n_columns);
    for (size_t row = 0; row < what->n_rows; row++) {
        as_table_row(&table);
        for (size_t i = 0; i < b.n_columns; i++)
            put_cell(&b, &table, &b.column[i], row);
    }
    as_page_table(page, &table);
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
