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

/* The table while it is filled: a line for each row or group, and one for their sum. */
struct lines {
    const struct as_inspect_report *report;
    struct as_page *page;
    const uint32_t *order; /* of the rows; NULL: of groups, which have a name and numbers alone */
    struct as_inspect_group *line;
    size_t n;
};

/* A name from outside, further to the right the deeper it is. */
static const char *indented(struct as_page *page, size_t depth, const char *name)
{
    const char *safe = as_page_name(page, name);
    size_t indent = depth * 2, size = indent + strlen(safe) + 1;
    char *text = indent ? as_arena_alloc(&page->arena, size) : NULL;

    page->nomem |= indent && !text;
    if (!text)
        return safe;
    (void)snprintf(text, size, "%*s%s", (int)indent, "", safe);
    return text;
}

static void get_text(const struct lines *l, const struct as_cost_row *row,
                     enum as_inspect_column column, struct as_row_cell *cell)
{
    const char *label = as_node_label(row->graph, row->node);
    const struct as_value *first = as_node_output(row->graph, row->node, 0);

    cell->text = cell->line;
    switch (column) {
    case AS_COLUMN_NAME:
        cell->text = indented(l->page, row->depth, label);
        break;
    case AS_COLUMN_OP:
        cell->text = row->node->op_name;
        cell->style = row->state == AS_COST_KNOWN ? AS_STYLE_NONE : AS_STYLE_WARN;
        break;
    case AS_COLUMN_INPUTS:
    case AS_COLUMN_OUTPUT:
        shapes_text(cell->line, 240, row, column == AS_COLUMN_INPUTS);
        break;
    case AS_COLUMN_SCOPE:
        cell->text = as_arena_text(&l->page->arena, label, as_name_scope(label, 0));
        l->page->nomem |= !cell->text;
        break;
    default:
        cell->text = first ? as_dtype_name(first->type.dtype) : "-";
    }
}

/* In a tree the last part of the scope's name, below the scope around it. */
static void get_group_name(const struct as_inspect_group *line, struct as_page *page,
                           struct as_row_cell *cell)
{
    cell->text = line->name[0] ? line->name : "(top)";
    if (line->depth > 1) {
        size_t before = as_name_scope(line->name, line->depth - 1);

        cell->text = indented(page, line->depth - 1, line->name + before + 1);
    }
}

static void get_cell(void *user, size_t row, const struct as_row_column *c,
                     struct as_row_cell *cell)
{
    const struct lines *l = user;
    const struct as_inspect_group *line = &l->line[row];
    enum as_inspect_column column = (enum as_inspect_column)c->id;
    char text[AS_TEXT_HUMAN];
    uint64_t count;

    if (c->shown != AS_SHOWN_TEXT) {
        cell->number = as_line_number(l->report->in, line, column);
        if (c->shown != AS_SHOWN_BAR && l->report->exact && as_line_count(line, column, &count)) {
            as_text_count(text, count);
            (void)snprintf(cell->line, sizeof cell->line, "%s", text);
            cell->text = cell->line;
        } else if (isnan(cell->number) || cell->number == 0) {
            cell->style = AS_STYLE_DIM;
        }
    } else if (l->order && row < l->n) {
        get_text(l, &l->report->in->costs->rows[l->order[row]], column, cell);
    } else if (column == AS_COLUMN_NAME) {
        get_group_name(line, l->page, cell);
    } else {
        cell->text = "";
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

static size_t describe(const struct as_inspect_report *report,
                       struct as_row_column columns[AS_COLUMN_COUNT * 2])
{
    unsigned chosen[AS_COLUMN_COUNT * 2];
    size_t n = choose_columns(report, chosen);

    for (size_t i = 0; i < n; i++) {
        enum as_inspect_column c = (enum as_inspect_column)chosen[i];

        columns[i] = (struct as_row_column){
            .id = c,
            .title = looks[c].title,
            .shown = as_inspect_column_kind(c),
            .identity = c == AS_COLUMN_NAME,
            .may_shrink = as_inspect_column_kind(c) == AS_SHOWN_TEXT && c != AS_COLUMN_DTYPE,
            .min_width = least_width(c),
            /* Columns somebody asked for are not taken away. */
            .drop = report->n_columns ? 0 : looks[c].drop,
        };
    }
    return n;
}

/* The sum of all rows, shown or not. */
static struct as_inspect_group total_of(const struct as_costs *costs)
{
    struct as_inspect_group total = {.name = "total", .known = true, .times_known = true};

    for (size_t i = 0; i < costs->n_rows; i++)
        if (!as_row_is_constant(&costs->rows[i]) || costs->rows[i].parameters)
            as_group_add(&total, &costs->rows[i]);
    return total;
}

/* How many of `n` lines are shown when `top` are asked for; 0: `usual`. */
static size_t shown_of(size_t n, size_t top, size_t usual)
{
    size_t shown = top ? top : usual;

    shown = shown < n ? shown : n;
    return shown < AS_PAGE_ROWS_MAX ? shown : AS_PAGE_ROWS_MAX;
}

/* The lines shown, out of `n`, with room for their sum. */
static void put_lines(struct lines *l, size_t n)
{
    struct as_row_column columns[AS_COLUMN_COUNT * 2];
    size_t n_columns = describe(l->report, columns);

    l->line[l->n] = total_of(l->report->in->costs);
    as_page_rows(l->page, &(struct as_layer_rows){.column = columns,
                                                  .n_columns = n_columns,
                                                  .n_rows = l->n + 1,
                                                  .rule_at = l->n,
                                                  .user = l,
                                                  .get = get_cell});
    if (l->n < n && n > AS_PAGE_ROWS_MAX)
        as_page_line(l->page, AS_STYLE_DIM, "%zu more: --format csv has all", n - l->n);
    else if (l->n < n)
        as_page_line(l->page, AS_STYLE_DIM, "%zu more: --top %zu shows all", n - l->n, n);
}

/* The place of "macs" among the sort keys. */
static unsigned sort_by_macs(void)
{
    unsigned i = 0;

    while (as_inspect_sort_at(i) && strcmp(as_inspect_sort_at(i), "macs") != 0)
        i++;
    return as_inspect_sort_at(i) ? i : 0;
}

/* How many of the first `n` lines have MACs; the largest come first. */
static size_t with_macs(const struct as_inspect_report *report, const uint32_t *order, size_t n)
{
    size_t some = 0;

    while (some < n && report->in->costs->rows[order[some]].forward.macs > 0)
        some++;
    return some ? some : n;
}

static int put_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    struct lines lines = {.report = report, .page = page};
    size_t n;

    lines.order = as_inspect_order(report, &n);
    if (!lines.order)
        return as_fail_nomem(err);
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "There are no layers.");
        return ASSAY_OK;
    }
    lines.n = shown_of(n, report->top, 20);
    if (lines.n < n && report->top == 0 && !report->sort_given && report->sort == sort_by_macs())
        lines.n = with_macs(report, lines.order, lines.n);
    lines.line = as_arena_zero(&page->arena, lines.n + 1, sizeof *lines.line);
    if (!lines.line)
        return as_fail_nomem(err);
    for (size_t i = 0; i < lines.n; i++)
        lines.line[i] = as_row_line(&report->in->costs->rows[lines.order[i]]);
    put_lines(&lines, n);
    return ASSAY_OK;
}

static int put_groups(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    struct lines lines = {.report = report, .page = page};
    size_t n;
    int rc = as_inspect_ordered_groups(report, &lines.line, &n, err);

    if (rc < 0)
        return rc;
    lines.n = shown_of(n, report->top, n);
    put_lines(&lines, n);
    return ASSAY_OK;
}

int as_inspect_layers(const struct as_inspect_report *report, struct as_page *page,
                      struct assay_error *err)
{
    static const char *const by[] = {"", "by operator", "by module",
                                     "by the first parts of the name", "module tree"};
    bool grouped = report->grouping != AS_GROUP_NONE;
    struct as_inspect_report largest = *report;
    char note[80];

    if (!report->in->model->has_graph)
        return ASSAY_OK;
    if (!grouped && !report->sort_given && report->in->costs->forward.macs > 0) {
        largest.sort = sort_by_macs();
        as_page_heading(page, "Largest layers", "by MACs; --sort graph for graph order");
        return put_layers(&largest, page, err);
    }
    (void)snprintf(note, sizeof note, "%s%s%s%s%s", by[report->grouping], grouped ? ", " : "",
                   report->sort ? "sorted by " : "in ", as_inspect_sort_at(report->sort),
                   report->sort ? "" : " order");
    as_page_heading(page, "Layers", note);
    return grouped ? put_groups(report, page, err) : put_layers(report, page, err);
}
