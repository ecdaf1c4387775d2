/* report/inspect_columns.c - every figure of a layer that inspect can show, and where it stands.
 * The screen, CSV and JSON are printed from this one list. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/inspect_report.h"

#define KIND_TEXT   AS_COLUMN_TEXT
#define KIND_COUNT  AS_COLUMN_NUMBER_COUNT
#define KIND_SI     AS_COLUMN_NUMBER_SI
#define KIND_BYTES  AS_COLUMN_NUMBER_BYTES
#define KIND_SHARE  AS_COLUMN_NUMBER_SHARE
#define KIND_NUMBER AS_COLUMN_NUMBER_PLAIN
#define KIND_BAR    AS_COLUMN_PICTURE

static const struct {
    const char *word, *key;
    enum as_column_kind kind;
} columns[] = {
#define X(id, word, key, title, kind, drop, usual) {word, key, KIND_##kind},
    AS_INSPECT_COLUMNS(X)
#undef X
};

const char *as_inspect_column_at(size_t i)
{
    return i < AS_COLUMN_COUNT ? columns[i].word : NULL;
}

const char *as_inspect_column_key(enum as_inspect_column column)
{
    return columns[column].key;
}

enum as_column_kind as_inspect_column_kind(enum as_inspect_column column)
{
    return columns[column].kind;
}

static const struct {
    const char *name;
    enum as_inspect_column column;
} sorts[] = {
#define X(name, column) {name, AS_COLUMN_##column},
    AS_INSPECT_SORTS(X)
#undef X
};

const char *as_inspect_sort_at(size_t i)
{
    return i < sizeof sorts / sizeof *sorts ? sorts[i].name : NULL;
}

bool as_row_count(const struct as_inspection *in, const struct as_cost_row *row,
                  enum as_inspect_column column, uint64_t *out)
{
    struct as_cost forward = {0}, backward = {0};
    bool known = row->state == AS_COST_KNOWN;

    (void)in;
    as_cost_add(&forward, &row->forward, row->times);
    as_cost_add(&backward, &row->backward, row->times);
    switch (column) {
    case AS_COLUMN_TIMES:
        *out = row->times;
        return row->times_known;
    case AS_COLUMN_PARAMS:
        *out = row->parameters;
        return true;
    case AS_COLUMN_PARAM_BYTES:
        *out = row->parameter_bytes;
        return true;
    case AS_COLUMN_MACS:
        *out = forward.macs;
        return known;
    case AS_COLUMN_FLOPS:
        *out = as_cost_flops(&forward);
        return known;
    case AS_COLUMN_ELEMENTWISE:
        *out = forward.elementwise;
        return known;
    case AS_COLUMN_TRANSCENDENTAL:
        *out = forward.transcendental;
        return known;
    case AS_COLUMN_READ:
        *out = forward.bytes_read;
        return known;
    case AS_COLUMN_WRITTEN:
        *out = forward.bytes_written;
        return known;
    case AS_COLUMN_ACTIVATION:
        *out = row->output_bytes;
        return known;
    case AS_COLUMN_SAVED:
        *out = row->saved_bytes;
        return known;
    case AS_COLUMN_BACKWARD_MACS:
        *out = backward.macs;
        return known;
    case AS_COLUMN_BACKWARD_FLOPS:
        *out = as_cost_flops(&backward);
        return known;
    default:
        return false;
    }
}

double as_row_number(const struct as_inspection *in, const struct as_cost_row *row,
                     enum as_inspect_column column)
{
    uint64_t count;

    if (as_row_count(in, row, column, &count))
        return (double)count;
    if (row->state != AS_COST_KNOWN)
        return (double)NAN;
    if (column == AS_COLUMN_INTENSITY)
        return as_cost_intensity(&row->forward);
    /* A share of a sum that was cut is none. */
    if ((column == AS_COLUMN_SHARE || column == AS_COLUMN_BAR) && in->costs->forward.macs &&
        !in->costs->overflow)
        return (double)row->forward.macs * (double)row->times / (double)in->costs->forward.macs;
    return (double)NAN;
}

/* What a sort compares: made once for each row. */
struct key {
    double number;
    const char *text; /* NULL: by number, largest first */
    uint32_t row;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order = 0;

    if (x->text)
        order = strcmp(x->text, y->text);
    else if (x->number != y->number)
        order = x->number < y->number ? 1 : -1;
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static struct key key_of(const struct as_inspection *in, uint32_t i, unsigned sort)
{
    const struct as_cost_row *row = &in->costs->rows[i];
    enum as_inspect_column column = sorts[sort].column;
    struct key key = {.number = 0, .row = i};

    if (sort == 0)
        return key;
    if (column == AS_COLUMN_NAME || column == AS_COLUMN_OP) {
        key.text =
            column == AS_COLUMN_OP ? row->node->op_name : as_node_label(row->graph, row->node);
        return key;
    }
    key.number = as_row_number(in, row, column);
    if (column == AS_COLUMN_READ)
        key.number += as_row_number(in, row, AS_COLUMN_WRITTEN);
    if (isnan(key.number))
        key.number = -1; /* what is not known comes last */
    return key;
}

uint32_t *as_inspect_order(const struct as_inspect_report *report, size_t *n)
{
    struct as_inspection *in = report->in;
    size_t n_rows = in->costs->n_rows;
    uint32_t *order = as_arena_alloc(&in->arena, (n_rows ? n_rows : 1) * sizeof *order);
    struct key *keys = as_arena_alloc(&in->arena, (n_rows ? n_rows : 1) * sizeof *keys);

    *n = 0;
    if (!order || !keys)
        return NULL;
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct as_cost_row *row = &in->costs->rows[i];

        if (report->constants || !as_row_is_constant(row) || row->parameters)
            keys[(*n)++] = key_of(in, i, report->sort);
    }
    qsort(keys, *n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < *n; i++)
        order[i] = keys[i].row;
    return order;
}
