/* report/inspect/inspect_csv.c - the layers of a model, or groups of them, as one CSV table.
 * Whole numbers are exact; what is not known is empty. */
#include <math.h>

#include "base/text/csv.h"
#include "report/inspect/inspect_report.h"

static void put_shape_list(struct as_csv_writer *w, const struct as_cost_row *row, bool inputs)
{
    uint32_t n = inputs ? row->node->n_inputs : row->node->n_outputs;
    char text[600];
    size_t size = 0;

    text[0] = 0;
    for (uint32_t i = 0; i < n && size + 80 < sizeof text; i++) {
        const struct as_value *value = inputs ? as_node_input(row->graph, row->node, i)
                                              : as_node_output(row->graph, row->node, i);

        if (!value)
            continue;
        if (size)
            text[size++] = ' ';
        size += as_type_text(text + size, sizeof text - size, &value->type);
    }
    as_csv_text_n(w, text, size);
}

static void put_figure(const struct as_inspect_report *report, struct as_csv_writer *w,
                       const struct as_inspect_group *line, enum as_inspect_column column)
{
    uint64_t count;

    if (as_line_count(line, column, &count))
        as_csv_u64(w, count);
    else
        as_csv_f64(w, as_line_number(report->in, line, column));
}

static void put_rows(const struct as_inspect_report *report, struct as_csv_writer *w,
                     const uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct as_cost_row *row = &report->in->costs->rows[order[i]];
        const char *label = as_node_label(row->graph, row->node);
        const struct as_inspect_group line = as_row_line(row);

        for (int c = 0; c < AS_COLUMN_COUNT; c++) {
            enum as_inspect_column column = (enum as_inspect_column)c;

            if (column == AS_COLUMN_NAME)
                as_csv_text(w, label);
            else if (column == AS_COLUMN_OP)
                as_csv_text(w, row->node->op_name);
            else if (column == AS_COLUMN_INPUTS || column == AS_COLUMN_OUTPUT)
                put_shape_list(w, row, column == AS_COLUMN_INPUTS);
            else if (column == AS_COLUMN_SCOPE)
                as_csv_text_n(w, label, as_name_scope(label, 0));
            else if (column == AS_COLUMN_DTYPE)
                as_csv_text(
                    w, as_node_output(row->graph, row->node, 0)
                           ? as_dtype_name(as_node_output(row->graph, row->node, 0)->type.dtype)
                           : "");
            else if (column != AS_COLUMN_BAR && column != AS_COLUMN_LAYERS)
                put_figure(report, w, &line, column);
        }
        as_csv_row_end(w);
    }
}

static int put_layers(const struct as_inspect_report *report, struct as_csv_writer *w,
                      struct assay_error *err)
{
    uint32_t *order;
    size_t n;

    for (int c = 0; c < AS_COLUMN_COUNT; c++) {
        const char *key = as_inspect_column_key((enum as_inspect_column)c);

        if (c == AS_COLUMN_INPUTS)
            key = "inputs";
        if (c == AS_COLUMN_OUTPUT)
            key = "outputs";
        if (key && c != AS_COLUMN_LAYERS)
            as_csv_text(w, key);
    }
    as_csv_row_end(w);
    order = as_inspect_order(report, &n);
    if (!order)
        return as_fail_nomem(err);
    put_rows(report, w, order, report->top && report->top < n ? report->top : n);
    return ASSAY_OK;
}

/* Figures that make sense of several layers together. */
static bool is_of_groups(enum as_inspect_column column)
{
    return as_inspect_column_key(column) && as_inspect_column_kind(column) != AS_SHOWN_TEXT;
}

static int put_groups(const struct as_inspect_report *report, struct as_csv_writer *w,
                      struct assay_error *err)
{
    struct as_inspect_group *groups;
    size_t n;
    int rc = as_inspect_ordered_groups(report, &groups, &n, err);

    if (rc < 0)
        return rc;
    as_csv_text(w, "group");
    for (int c = 0; c < AS_COLUMN_COUNT; c++)
        if (is_of_groups((enum as_inspect_column)c))
            as_csv_text(w, as_inspect_column_key((enum as_inspect_column)c));
    as_csv_row_end(w);
    for (size_t i = 0; i < n && (!report->top || i < report->top); i++) {
        as_csv_text(w, groups[i].name);
        for (int c = 0; c < AS_COLUMN_COUNT; c++)
            if (is_of_groups((enum as_inspect_column)c))
                put_figure(report, w, &groups[i], (enum as_inspect_column)c);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

int as_inspect_csv(struct as_csv_writer *w, const void *of, struct assay_error *err)
{
    const struct as_inspect_report *report = of;

    return report->grouping == AS_GROUP_NONE ? put_layers(report, w, err)
                                             : put_groups(report, w, err);
}
