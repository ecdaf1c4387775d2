/* report/inspect_layers.c - the table of a model's layers on a screen, or of groups of them.
 * One unit to a column is not possible over six orders of magnitude: counts are in SI steps. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/inspect_report.h"

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

static void shapes_text(char *out, size_t room, const struct as_cost_row *row, bool inputs)
{
    uint32_t n = inputs ? row->node->n_inputs : row->node->n_outputs;
    size_t size = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < n && size + 4 < room; i++) {
        const struct as_value *value = inputs ? as_node_input(row->graph, row->node, i)
                                              : as_node_output(row->graph, row->node, i);

        if (!value || (inputs && value->data))
            continue;
        if (size) {
            out[size++] = ' ';
            out[size] = 0;
        }
        size += as_type_text(out + size, room - size, &value->type);
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

static void put_number(struct as_table *t, enum as_column_kind kind, double value, bool exact)
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
    else if (kind == AS_COLUMN_NUMBER_COUNT || exact ||
             (kind == AS_COLUMN_NUMBER_SI && value < 1000))
        as_text_count(text, (uint64_t)value);
    else if (kind == AS_COLUMN_NUMBER_BYTES)
        as_text_bytes(text, value);
    else
        as_text_si(text, value, NULL);
    as_table_text(t, value == 0 ? AS_STYLE_DIM : AS_STYLE_NONE, text);
}

static void put_cell(const struct as_inspect_report *report, struct as_page *page,
                     struct as_table *t, const struct as_cost_row *row,
                     enum as_inspect_column column)
{
    enum as_column_kind kind = as_inspect_column_kind(column);
    uint64_t count;

    if (kind == AS_COLUMN_TEXT) {
        put_text_cell(t, page, row, column);
    } else if (kind == AS_COLUMN_PICTURE) {
        as_table_bar(t, AS_STYLE_BAR, as_row_number(report->in, row, column));
    } else if (report->exact && as_row_count(report->in, row, column, &count)) {
        char text[AS_TEXT_HUMAN];

        as_text_count(text, count);
        as_table_text(t, AS_STYLE_NONE, text);
    } else {
        put_number(t, kind, as_row_number(report->in, row, column), false);
    }
}

static size_t choose_columns(const struct as_inspect_report *report, unsigned *chosen)
{
    size_t n = 0;

    if (report->n_columns) {
        memcpy(chosen, report->column, report->n_columns * sizeof *chosen);
        return report->n_columns;
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

static int put_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    struct as_table_column columns[AS_TABLE_MAX_COLUMNS];
    unsigned chosen[AS_COLUMN_COUNT * 2];
    size_t n_columns = choose_columns(report, chosen), n, shown;
    const uint32_t *order = as_inspect_order(report, &n);
    struct as_table t;

    if (!order)
        return as_fail_nomem(err);
    shown = report->top ? report->top : 40;
    shown = shown < n ? shown : n;
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "There are no layers.");
        return ASSAY_OK;
    }
    describe(report, chosen, n_columns, columns);
    as_table_init(&t, columns, n_columns);
    for (size_t i = 0; i < shown; i++) {
        as_table_row(&t);
        for (size_t c = 0; c < n_columns; c++)
            put_cell(report, page, &t, &report->in->costs->rows[order[i]],
                     (enum as_inspect_column)chosen[c]);
    }
    as_page_table(page, &t);
    if (shown < n)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --top %zu shows all", n - shown, n);
    return ASSAY_OK;
}

static void put_group_row(const struct as_inspect_report *report, struct as_page *page,
                          struct as_table *t, const struct as_inspect_group *g)
{
    const struct as_cost *all = &report->in->costs->forward;
    double share = all->macs ? (double)g->forward.macs / (double)all->macs : (double)NAN;
    double unknown = g->known ? 0 : (double)NAN;

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, g->name[0] ? as_page_name(page, g->name) : "(top)");
    put_number(t, AS_COLUMN_NUMBER_COUNT, (double)g->n_rows, true);
    put_number(t, AS_COLUMN_NUMBER_SI, (double)g->parameters, report->exact);
    put_number(t, AS_COLUMN_NUMBER_SI, (double)g->forward.macs + unknown, report->exact);
    put_number(t, AS_COLUMN_NUMBER_SHARE, share + unknown, false);
    as_table_bar(t, AS_STYLE_BAR, share);
    put_number(t, AS_COLUMN_NUMBER_SI, (double)as_cost_flops(&g->forward) + unknown, report->exact);
    put_number(t, AS_COLUMN_NUMBER_BYTES,
               (double)g->forward.bytes_read + (double)g->forward.bytes_written + unknown, false);
    put_number(t, AS_COLUMN_NUMBER_PLAIN, as_cost_intensity(&g->forward) + unknown, false);
}

static int put_groups(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "group", .may_shrink = true, .min_width = 12},
        {.title = "layers", .align = AS_ALIGN_RIGHT},
        {.title = "params", .align = AS_ALIGN_RIGHT},
        {.title = "MACs", .align = AS_ALIGN_RIGHT},
        {.title = "share", .align = AS_ALIGN_RIGHT},
        {.title = " ", .min_width = BAR_WIDTH, .drop = 3},
        {.title = "FLOPs", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "bytes", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "FLOP/B", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    struct as_inspect_group *groups;
    size_t n, shown;
    struct as_table t;
    int rc = as_inspect_groups(report->in, report->grouping, report->depth, &groups, &n, err);

    if (rc < 0)
        return rc;
    shown = report->top && report->top < n ? report->top : n;
    as_table_init(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++)
        put_group_row(report, page, &t, &groups[i]);
    as_page_table(page, &t);
    if (shown < n)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --top %zu shows all", n - shown, n);
    return ASSAY_OK;
}

int as_inspect_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    static const char *const by[] = {"", "by operator", "by scope",
                                     "by the first parts of the name"};
    char note[64];

    if (!report->in->model->has_graph)
        return ASSAY_OK;
    if (report->grouping != AS_GROUP_NONE) {
        as_page_heading(page, "Layers", by[report->grouping]);
        return put_groups(report, page, err);
    }
    (void)snprintf(note, sizeof note, "%s%s%s", report->sort ? "sorted by " : "in ",
                   as_inspect_sort_at(report->sort), report->sort ? "" : " order");
    as_page_heading(page, "Layers", note);
    return put_layers(report, page, err);
}
