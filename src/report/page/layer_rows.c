/* report/page/layer_rows.c - the one table of layers, of a run, a profile or a model. */
#include "report/page/layer_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

void as_op_short(char *out, size_t capacity, const char *op, const char *fused)
{
    static const struct {
        const char *full, *brief;
    } names[] = {
        {"Normalization", "Norm"},      {"AveragePool", "AvgPool"},
        {"QuantizeLinear", "Quantize"}, {"quantizeLinear", "quantize"},
        {"MultiHeadAttention", "MHA"},  {"DEPTHWISE_CONV_2D", "DW_CONV_2D"},
    };
    char *found;

    (void)snprintf(out, capacity, "%s%s", op, fused);
    for (size_t i = 0; i < AS_COUNT_OF(names); i++) {
        size_t size = strlen(names[i].full), brief = strlen(names[i].brief);

        while ((found = strstr(out, names[i].full)) != NULL) {
            memcpy(found, names[i].brief, brief);
            memmove(found + brief, found + size, strlen(found + size) + 1);
        }
    }
}

static void put_figure(struct as_table *t, const struct as_row_column *c,
                       const struct as_row_cell *cell)
{
    double value = c->shown == AS_SHOWN_RATE ? cell->number / 1e9 : cell->number;
    char text[AS_TEXT_HUMAN] = "-";

    if (!isfinite(value)) {
        as_table_text(t, cell->style, text);
        return;
    }
    if (c->shown == AS_SHOWN_TIME)
        as_text_scaled(text, value, c->scale);
    else if (c->shown == AS_SHOWN_SHARE)
        as_text_percent(text, value);
    else if (c->shown == AS_SHOWN_BYTES)
        as_text_bytes(text, value);
    else if (c->shown == AS_SHOWN_RATE)
        as_text_fixed(text, value, value < 1 ? 3 : value < 100 ? 1 : 0);
    else if (c->shown == AS_SHOWN_PLAIN)
        as_text_fixed(text, value, value < 10 ? 2 : value < 100 ? 1 : 0);
    else if (c->shown == AS_SHOWN_COUNT || (c->shown == AS_SHOWN_SI && value < 1000))
        as_text_count(text, (uint64_t)value);
    else
        as_text_si(text, value, NULL);
    as_table_printf(t, cell->doubtful ? AS_STYLE_DIM : cell->style, "%s%s",
                    cell->doubtful ? "~" : "", text);
}

static void put_cell(struct as_page *page, struct as_table *t, const struct as_layer_rows *rows,
                     size_t row, const struct as_row_column *c)
{
    struct as_row_cell cell = {.number = AS_UNKNOWN};

    rows->get(rows->user, row, c, &cell);
    if (c->shown == AS_SHOWN_BAR)
        as_table_bar(t, AS_STYLE_NONE, cell.number);
    else if (c->shown == AS_SHOWN_TEXT || cell.text)
        as_table_text(t, cell.style, as_page_name(page, cell.text));
    else
        put_figure(t, c, &cell);
}

void as_page_rows(struct as_page *page, const struct as_layer_rows *rows)
{
    size_t body = rows->rule_at ? rows->rule_at : rows->n_rows;
    size_t shown = body < AS_PAGE_ROWS_MAX ? body : AS_PAGE_ROWS_MAX;
    struct as_table_column layout[AS_TABLE_MAX_COLUMNS];
    char title[AS_TABLE_MAX_COLUMNS][40];
    struct as_table t;

    for (size_t i = 0; i < rows->n_columns; i++) {
        const struct as_row_column *c = &rows->column[i];
        bool timed = c->shown == AS_SHOWN_TIME || c->shown == AS_SHOWN_INTERVAL;
        bool drawn = c->shown == AS_SHOWN_BAR || c->shown == AS_SHOWN_SPARK;

        (void)snprintf(title[i], sizeof title[i], "%s%s%s", c->title, timed ? " " : "",
                       timed ? as_time_unit_name(c->scale.unit) : "");
        layout[i] = (struct as_table_column){
            .title = title[i],
            .align = c->shown <= AS_SHOWN_SPARK ? AS_ALIGN_LEFT : AS_ALIGN_RIGHT,
            .may_shrink = c->may_shrink,
            .identity = c->identity,
            .min_width = c->min_width,
            .drop = c->drop,
            .style = drawn ? AS_STYLE_BAR : c->style,
        };
    }
    as_table_init(&t, layout, rows->n_columns);
    for (size_t row = 0; row < rows->n_rows; row++) {
        if (row >= shown && row < body)
            continue;
        if (row && row == rows->rule_at)
            as_table_rule(&t);
        as_table_row(&t);
        for (size_t i = 0; i < rows->n_columns; i++)
            put_cell(page, &t, rows, row, &rows->column[i]);
    }
    as_page_table(page, &t);
    if (shown < body)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --format csv has all", body - shown);
}
