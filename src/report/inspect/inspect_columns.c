/* report/inspect/inspect_columns.c - every figure of a layer that inspect can show, and where it
 * stands. The screen, CSV and JSON are printed from this one list. */
#include "base/order.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "report/inspect/inspect_report.h"

static const struct {
    const char *word, *key;
    enum as_shown kind;
} columns[] = {
#define X(id, word, key, title, kind, drop, usual) {word, key, AS_SHOWN_##kind},
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

enum as_shown as_inspect_column_kind(enum as_inspect_column column)
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
    return i < AS_COUNT_OF(sorts) ? sorts[i].name : NULL;
}

struct as_inspect_group as_row_line(const struct as_cost_row *row)
{
    struct as_inspect_group line = {.known = true, .times_known = true};

    as_group_add(&line, row);
    line.known = row->state == AS_COST_KNOWN;
    return line;
}

bool as_line_count(const struct as_inspect_group *line, enum as_inspect_column column,
                   uint64_t *out)
{
    switch (column) {
    case AS_COLUMN_LAYERS:
        *out = line->n_rows;
        return true;
    case AS_COLUMN_TIMES:
        *out = line->times;
        return line->times_known;
    case AS_COLUMN_PARAMS:
        *out = line->parameters;
        return true;
    case AS_COLUMN_PARAM_BYTES:
        *out = line->parameter_bytes;
        return true;
    case AS_COLUMN_MACS:
        *out = line->forward.macs;
        break;
    case AS_COLUMN_EXECUTED:
        *out = as_cost_executed_macs(&line->forward);
        break;
    case AS_COLUMN_FLOPS:
        *out = as_cost_flops(&line->forward);
        break;
    case AS_COLUMN_ELEMENTWISE:
        *out = line->forward.elementwise;
        break;
    case AS_COLUMN_TRANSCENDENTAL:
        *out = line->forward.transcendental;
        break;
    case AS_COLUMN_READ:
        *out = line->forward.bytes_read;
        break;
    case AS_COLUMN_WRITTEN:
        *out = line->forward.bytes_written;
        break;
    case AS_COLUMN_ACTIVATION:
        *out = line->output_bytes;
        break;
    case AS_COLUMN_SAVED:
        *out = line->saved_bytes;
        break;
    case AS_COLUMN_BACKWARD_MACS:
        *out = line->backward.macs;
        break;
    case AS_COLUMN_BACKWARD_FLOPS:
        *out = as_cost_flops(&line->backward);
        break;
    case AS_COLUMN_BACKWARD_BYTES:
        *out = as_sat_add(line->backward.bytes_read, line->backward.bytes_written);
        break;
    default:
        return false;
    }
    return line->known;
}

double as_line_number(const struct as_inspection *in, const struct as_inspect_group *line,
                      enum as_inspect_column column)
{
    uint64_t count, macs = in->costs->forward.macs;

    if (as_line_count(line, column, &count))
        return (double)count;
    if (!line->known)
        return AS_UNKNOWN;
    if (column == AS_COLUMN_INTENSITY)
        return as_cost_intensity(&line->forward);
    /* A share of a sum that was cut is none. */
    if ((column == AS_COLUMN_SHARE || column == AS_COLUMN_BAR) && macs && !in->costs->overflow)
        return (double)line->forward.macs / (double)macs;
    return AS_UNKNOWN;
}

/* `name` and `op` of what the line stands for. */
static struct as_order_key key_of(const struct as_inspection *in,
                                  const struct as_inspect_group *line, const char *name,
                                  const char *op, unsigned sort)
{
    enum as_inspect_column column = sorts[sort].column;

    if (sort == 0)
        return (struct as_order_key){.number = 0};
    if (column == AS_COLUMN_NAME || column == AS_COLUMN_OP)
        return (struct as_order_key){.text = column == AS_COLUMN_OP ? op : name};
    return (struct as_order_key){
        .number = as_line_number(in, line, column) +
                  (column == AS_COLUMN_READ ? as_line_number(in, line, AS_COLUMN_WRITTEN) : 0)};
}

static struct as_order_key own_key(const void *row, const void *user)
{
    (void)user;
    return *(const struct as_order_key *)row;
}

int as_inspect_ordered_groups(const struct as_inspect_report *report,
                              struct as_inspect_group **groups, size_t *n, struct assay_error *err)
{
    struct as_inspection *in = report->in;
    struct as_inspect_group *plain;
    struct as_order_key *keys;
    int rc = as_inspect_groups(in, report->grouping, report->depth, &plain, n, err);

    if (rc < 0)
        return rc;
    keys = as_arena_alloc(&in->arena, (*n + 1) * sizeof *keys);
    *groups = as_arena_alloc(&in->arena, (*n + 1) * sizeof **groups);
    if (!keys || !*groups)
        return as_fail_nomem(err);
    for (size_t i = 0; i < *n; i++) {
        keys[i] = key_of(in, &plain[i], plain[i].name, plain[i].name, report->sort);
        keys[i].place = i;
    }
    as_order_sort(keys, *n, sizeof *keys, own_key, NULL);
    for (size_t i = 0; i < *n; i++)
        (*groups)[i] = plain[keys[i].place];
    return ASSAY_OK;
}

uint32_t *as_inspect_order(const struct as_inspect_report *report, size_t *n)
{
    struct as_inspection *in = report->in;
    size_t n_rows = in->costs->n_rows;
    uint32_t *order = as_arena_alloc(&in->arena, (n_rows + 1) * sizeof *order);
    struct as_order_key *keys = as_arena_alloc(&in->arena, (n_rows + 1) * sizeof *keys);

    *n = 0;
    if (!order || !keys)
        return NULL;
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct as_cost_row *row = &in->costs->rows[i];
        struct as_inspect_group line;

        if (!report->constants && as_row_is_constant(row) && !row->parameters)
            continue;
        line = as_row_line(row);
        keys[*n] = key_of(in, &line, as_node_label(row->graph, row->node), row->node->op_name,
                          report->sort);
        keys[(*n)++].place = i;
    }
    as_order_sort(keys, *n, sizeof *keys, own_key, NULL);
    for (size_t i = 0; i < *n; i++)
        order[i] = (uint32_t)keys[i].place;
    return order;
}
