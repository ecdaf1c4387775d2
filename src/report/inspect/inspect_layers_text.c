/* report/inspect/inspect_layers_text.c - the table of a model's layers on a screen, or of groups of
 * them. One unit to a column is not possible over six orders of magnitude: counts are in SI steps.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/inspect/inspect_report.h"

static const struct {
    const char *title;
    unsigned drop;
    bool usual;
} looks[] = {
#define X(id, word, key, title, kind, drop, usual) {title, drop, usual},
    AS_INSPECT_COLUMNS(X)
#undef X
};

/* Bars and wide lists would leave a screen of 80 columns no room for names. */
#define BAR_WIDTH 8

static void shapes_text(char *out, size_t capacity, const struct as_cost_row *row, bool inputs)
{
    uint32_t n = inputs ? row->node->n_inputs : row->node->n_outputs;
    size_t size = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < n && size + 4 < capacity; i++) {
        const struct as_value *value = inputs ? as_node_input(row->graph, row->node, i)
                                              : as_node_output(row->graph, row->node, i);

        if (!value || (inputs && value->data))
            continue;
        if (size) {
            out[size++] = ' ';
            out[size] = 0;
        }
        size += as_type_text(out + size, capacity - size, &value->type);
        if (!inputs)
            return; /* the first output says enough on a screen */
    }
}

static void put_text_cell(struct as_table *t, struct as_page *page, const struct as_cost_row *row,
                          enum as_inspect_column column)
{
    const char *label = as_node_label(row->graph, row->node);
    const struct as_value *first = as_node_output(row->graph, row->node, 0);
    char text[240];

    switch (column) {
    case AS_COLUMN_NAME:
        (void)snprintf(text, sizeof text, "%*s%.200s", (int)row->depth * 2, "",
                       as_page_name(page, label));
        as_table_text(t, AS_STYLE_NONE, text);
        break;
    case AS_COLUMN_OP:
        as_table_text(t, row->state == AS_COST_KNOWN ? AS_STYLE_NONE : AS_STYLE_WARN,
                      as_page_name(page, row->node->op_name));
        break;
    case AS_COLUMN_INPUTS:
    case AS_COLUMN_OUTPUT:
        shapes_text(text, sizeof text, row, column == AS_COLUMN_INPUTS);
        as_table_text(t, AS_STYLE_NONE, text);
        break;
    case AS_COLUMN_SCOPE:
        as_table_text_n(t, AS_STYLE_NONE, label, as_name_scope(label, 0));
        break;
    default:
        as_table_text(t, AS_STYLE_NONE, first ? as_dtype_name(first->type.dtype) : "-");
    }
}

static void put_number(struct as_table *t, enum as_column_kind kind, double value)
{
    char text[AS_TEXT_HUMAN];

    if (isnan(value)) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    if (kind == AS_COLUMN_NUMBER_SHARE)
        as_text_percent(text, value);
    else if (kind == AS_COLUMN_NUMBER_PLAIN)
        as_text_fixed(text, value, value < 10 ? 2 : value < 100 ? 1 : 0);
    else if (kind == AS_COLUMN_NUMBER_COUNT || (kind == AS_COLUMN_NUMBER_SI && value < 1000))
        as_text_count(text, (uint64_t)value);
    else if (kind == AS_COLUMN_NUMBER_BYTES)
        as_text_bytes(text, value);
    else
        as_text_si(text, value, NULL);
    as_table_text(t, value == 0 ? AS_STYLE_DIM : AS_STYLE_NONE, text);
}

/* One number of a line; text is up to the caller. */
static void put_figure(const struct as_inspect_report *report, struct as_table *t,
                       const struct as_inspect_group *line, enum as_inspect_column column)
{
    enum as_column_kind kind = as_inspect_column_kind(column);
    char text[AS_TEXT_HUMAN];
    uint64_t count;

    if (kind == AS_COLUMN_PICTURE) {
        as_table_bar(t, AS_STYLE_BAR, as_line_number(report->in, line, column));
    } else if (report->exact && as_line_count(line, column, &count)) {
        as_text_count(text, count);
        as_table_text(t, AS_STYLE_NONE, text);
    } else {
        put_number(t, kind, as_line_number(report->in, line, column));
    }
}

/* Columns of the groups unless others are asked for. */
static const unsigned group_columns[] = {
    AS_COLUMN_NAME,        AS_COLUMN_LAYERS,         AS_COLUMN_PARAMS,
    AS_COLUMN_PARAM_BYTES, AS_COLUMN_MACS,           AS_COLUMN_SHARE,
    AS_COLUMN_BAR,         AS_COLUMN_FLOPS,          AS_COLUMN_READ,
    AS_COLUMN_ELEMENTWISE, AS_COLUMN_TRANSCENDENTAL, AS_COLUMN_WRITTEN,
    AS_COLUMN_INTENSITY,
};

static size_t choose_columns(const struct as_inspect_report *report, unsigned *chosen)
{
    size_t n = 0;

    if (report->n_columns) {
        memcpy(chosen, report->column, report->n_columns * sizeof *chosen);
        return report->n_columns;
    }
    if (report->grouping != AS_GROUP_NONE) {
        memcpy(chosen, group_columns, sizeof group_columns);
        return AS_COUNT_OF(group_columns);
    }
    for (unsigned i = 0; i < AS_COLUMN_COUNT; i++)
        if (looks[i].usual)
            chosen[n++] = i;
    return n;
}

/* A shape of four dimensions stays whole; long names of layers and operators lose their middle. */
static unsigned least_width(enum as_inspect_column column)
{
    switch (column) {
    case AS_COLUMN_NAME:
        return 16;
    case AS_COLUMN_OP:
        return 9;
    case AS_COLUMN_OUTPUT:
        return 13;
    case AS_COLUMN_BAR:
        return BAR_WIDTH;
    default:
        return 0;
    }
}

static void describe(const struct as_inspect_report *report, const unsigned *chosen, size_t n,
                     struct as_table_column *columns)
{
    for (size_t i = 0; i < n; i++) {
        enum as_inspect_column c = (enum as_inspect_column)chosen[i];
        bool text = as_inspect_column_kind(c) == AS_COLUMN_TEXT;

        columns[i] = (struct as_table_column){
            .title = looks[c].title,
            .align = text || c == AS_COLUMN_BAR ? AS_ALIGN_LEFT : AS_ALIGN_RIGHT,
            .may_shrink = text && c != AS_COLUMN_DTYPE,
            .min_width = least_width(c),
            /* Columns somebody asked for are not taken away. */
            .drop = report->n_columns ? 0 : looks[c].drop,
        };
    }
}

/* The table while it is filled. */
struct lines {
    const struct as_inspect_report *report;
    struct as_page *page;
    struct as_table table;
    struct as_table_column column[AS_TABLE_MAX_COLUMNS];
    unsigned chosen[AS_COLUMN_COUNT * 2];
    size_t n_columns;
};

static void begin(struct lines *l, const struct as_inspect_report *report, struct as_page *page)
{
    l->report = report;
    l->page = page;
    l->n_columns = choose_columns(report, l->chosen);
    describe(report, l->chosen, l->n_columns, l->column);
    as_table_init(&l->table, l->column, l->n_columns);
}

/* In a tree the last part of the scope's name, below the scope around it. */
static void put_group_name(struct lines *l, const struct as_inspect_group *line)
{
    const char *name = line->name[0] ? line->name : "(top)";

    if (line->depth > 1) {
        size_t before = as_name_scope(line->name, line->depth - 1);

        as_table_printf(&l->table, AS_STYLE_NONE, "%*s%s", (int)(line->depth - 1) * 2, "",
                        as_page_name(l->page, line->name + before + 1));
    } else {
        as_table_text(&l->table, AS_STYLE_NONE, as_page_name(l->page, name));
    }
}

/* `row` is NULL for a group or a sum, which has a name and numbers alone. */
static void put_line(struct lines *l, const struct as_cost_row *row,
                     const struct as_inspect_group *line)
{
    as_table_row(&l->table);
    for (size_t c = 0; c < l->n_columns; c++) {
        enum as_inspect_column column = (enum as_inspect_column)l->chosen[c];

        if (as_inspect_column_kind(column) != AS_COLUMN_TEXT)
            put_figure(l->report, &l->table, line, column);
        else if (row)
            put_text_cell(&l->table, l->page, row, column);
        else if (column == AS_COLUMN_NAME)
            put_group_name(l, line);
        else
            as_table_empty(&l->table);
    }
}

/* The sum of all rows, shown or not. */
static void put_total(struct lines *l)
{
    const struct as_costs *costs = l->report->in->costs;
    struct as_inspect_group total = {.name = "total", .known = true, .times_known = true};

    for (size_t i = 0; i < costs->n_rows; i++)
        if (!as_row_is_constant(&costs->rows[i]) || costs->rows[i].parameters)
            as_group_add(&total, &costs->rows[i]);
    as_table_rule(&l->table);
    put_line(l, NULL, &total);
}

static void end(struct lines *l, size_t shown, size_t n)
{
    put_total(l);
    as_page_table(l->page, &l->table);
    if (shown < n)
        as_page_line(l->page, AS_STYLE_DIM, "%zu more: --top %zu shows all", n - shown, n);
}

static int put_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    size_t n, shown;
    const uint32_t *order = as_inspect_order(report, &n);
    struct lines lines;

    if (!order)
        return as_fail_nomem(err);
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "There are no layers.");
        return ASSAY_OK;
    }
    shown = report->top ? report->top : 40;
    shown = shown < n ? shown : n;
    begin(&lines, report, page);
    for (size_t i = 0; i < shown; i++) {
        const struct as_cost_row *row = &report->in->costs->rows[order[i]];
        const struct as_inspect_group line = as_row_line(row);

        put_line(&lines, row, &line);
    }
    end(&lines, shown, n);
    return ASSAY_OK;
}

static int put_groups(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    struct as_inspect_group *groups;
    struct lines lines;
    size_t n, shown;
    int rc = as_inspect_ordered_groups(report, &groups, &n, err);

    if (rc < 0)
        return rc;
    shown = report->top && report->top < n ? report->top : n;
    begin(&lines, report, page);
    for (size_t i = 0; i < shown; i++)
        put_line(&lines, NULL, &groups[i]);
    end(&lines, shown, n);
    return ASSAY_OK;
}

int as_inspect_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    static const char *const by[] = {"", "by operator", "by scope",
                                     "by the first parts of the name", "scopes in scopes"};
    bool grouped = report->grouping != AS_GROUP_NONE;
    char note[80];

    if (!report->in->model->has_graph)
        return ASSAY_OK;
    (void)snprintf(note, sizeof note, "%s%s%s%s%s", by[report->grouping], grouped ? ", " : "",
                   report->sort ? "sorted by " : "in ", as_inspect_sort_at(report->sort),
                   report->sort ? "" : " order");
    as_page_heading(page, "Layers", note);
    return grouped ? put_groups(report, page, err) : put_layers(report, page, err);
}
