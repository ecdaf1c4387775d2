/* report/inspect_csv.c - the layers of a model, or groups of them, as one CSV table.
 * Whole numbers are exact; what is not known is empty. */
#include <math.h>

#include "base/csv.h"
#include "report/inspect_report.h"

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

static void put_rows(const struct as_inspect_report *report, struct as_csv_writer *w,
                     const uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct as_cost_row *row = &report->in->costs->rows[order[i]];
        const char *label = as_node_label(row->graph, row->node);

        for (int c = 0; c < AS_COLUMN_COUNT; c++) {
            enum as_inspect_column column = (enum as_inspect_column)c;
            uint64_t count;

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
            else if (column == AS_COLUMN_BAR)
                continue;
            else if (as_row_count(report->in, row, column, &count))
                as_csv_u64(w, count);
            else
                as_csv_f64(w, as_row_number(report->in, row, column));
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
        if (key)
            as_csv_text(w, key);
    }
    as_csv_row_end(w);
    order = as_inspect_order(report, &n);
    if (!order)
        return as_fail_nomem(err);
    put_rows(report, w, order, report->top && report->top < n ? report->top : n);
    return ASSAY_OK;
}

static int put_groups(const struct as_inspect_report *report, struct as_csv_writer *w,
                      struct assay_error *err)
{
    static const char *const keys[] = {
        "group",      "layers",        "parameters",      "parameter_bytes",
        "macs",       "flops",         "elementwise_ops", "transcendental_ops",
        "bytes_read", "bytes_written", "backward_macs",
    };
    struct as_inspect_group *groups;
    size_t n;
    int rc = as_inspect_groups(report->in, report->grouping, report->depth, &groups, &n, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        as_csv_text(w, keys[i]);
    as_csv_row_end(w);
    for (size_t i = 0; i < n; i++) {
        const struct as_inspect_group *g = &groups[i];
        const uint64_t counts[] = {g->parameters,          g->parameter_bytes,
                                   g->forward.macs,        as_cost_flops(&g->forward),
                                   g->forward.elementwise, g->forward.transcendental,
                                   g->forward.bytes_read,  g->forward.bytes_written,
                                   g->backward.macs};

        as_csv_text(w, g->name);
        as_csv_u64(w, g->n_rows);
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            if (g->known || k < 2)
                as_csv_u64(w, counts[k]);
            else
                as_csv_empty(w);
        as_csv_row_end(w);
    }
    return ASSAY_OK;
}

int as_inspect_csv(const struct as_inspect_report *report, struct as_out *out,
                   struct assay_error *err)
{
    struct as_csv_writer w = {.out = out};

    return report->grouping == AS_GROUP_NONE ? put_layers(report, &w, err)
                                             : put_groups(report, &w, err);
}
