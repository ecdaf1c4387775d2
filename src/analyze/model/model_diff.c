/* analyze/model/model_diff.c - what changed between two models. */
#include "analyze/model/model_diff.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/units.h"

enum { PIECE = 1 << 16 }; /* elements compared at once: whole blocks of every dtype */

const char *as_model_change_name(enum as_model_change change)
{
    static const char *const name[] = {"added", "removed", "changed", "not compared"};

    return name[change];
}

const char *as_model_part_name(enum as_model_part part)
{
#define X(name, text) text,
    static const char *const name[] = {AS_MODEL_PARTS(X)};
#undef X
    return name[part];
}

/* ---- numbers ---- */

static bool same_text(const struct as_text *a, const struct as_text *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

static bool same_texts(const struct as_text *a, const struct as_text *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (!same_text(&a[i], &b[i]))
            return false;
    return true;
}

/* 1: the same; 0: not; negative: UNSUPPORTED where they cannot be had, or another failure. */
static int same_numbers(const struct as_model *const model[2], const struct as_data *a,
                        const struct as_data *b, struct assay_error *err)
{
    uint64_t whole, size;
    uint8_t *piece;
    int rc = 1;

    if (a->dtype != b->dtype || a->n != b->n)
        return 0;
    if (a->dtype == AS_DTYPE_STRING)
        return a->texts && b->texts ? same_texts(a->texts, b->texts, a->n) : a->texts == b->texts;
    if (!as_dtype_bytes(a->dtype, PIECE, &whole))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "numbers of a type without a size");
    piece = as_alloc(2 * (size_t)whole);
    if (!piece)
        return as_fail_nomem(err);
    for (uint64_t at = 0; at < a->n && rc == 1; at += PIECE) {
        uint64_t n = a->n - at < PIECE ? a->n - at : PIECE;
        int got = as_data_read(a, at, n, piece, err);

        if (got == ASSAY_OK)
            got = as_data_read(b, at, n, piece + whole, err);
        as_model_let_go(model[0], a, at, n);
        as_model_let_go(model[1], b, at, n);
        if (got < 0)
            rc = got;
        else if (!as_dtype_bytes(a->dtype, n, &size))
            rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "numbers that end inside a block");
        else
            rc = memcmp(piece, piece + whole, (size_t)size) == 0;
    }
    as_free(piece);
    return rc;
}

/* ---- layers ---- */

static bool same_list(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

/* As same_numbers(); bodies of nodes are compared by their own layers. */
static int same_attr(const struct as_model *const model[2], const struct as_attr *a,
                     const struct as_attr *b, struct assay_error *err)
{
    if (a->kind != b->kind || a->n != b->n)
        return 0;
    switch (a->kind) {
    case AS_ATTR_INT:
        return a->i == b->i;
    case AS_ATTR_FLOAT:
        return same_list(&a->f, &b->f, sizeof a->f);
    case AS_ATTR_TEXT:
        return same_text(&a->text, &b->text);
    case AS_ATTR_INTS:
        return same_list(a->ints, b->ints, a->n * sizeof *a->ints);
    case AS_ATTR_FLOATS:
        return same_list(a->floats, b->floats, a->n * sizeof *a->floats);
    case AS_ATTR_TEXTS:
        return same_texts(a->texts, b->texts, a->n);
    case AS_ATTR_TYPE:
        return as_type_equal(&a->type, &b->type);
    case AS_ATTR_TENSOR:
        if (!a->data || !b->data)
            return a->data == b->data;
        return as_type_equal(&a->type, &b->type) ? same_numbers(model, a->data, b->data, err) : 0;
    default:
        return 1;
    }
}

static int same_attrs(const struct as_model *const model[2], const struct as_node *a,
                      const struct as_node *b, struct assay_error *err)
{
    int rc = a->n_attrs == b->n_attrs;

    for (uint32_t i = 0; i < a->n_attrs && rc == 1; i++) {
        const struct as_attr *other = as_node_attr(b, a->attrs[i].name);

        rc = other ? same_attr(model, &a->attrs[i], other, err) : 0;
    }
    return rc;
}

/* Bits of parts that differ in one input or output. */
static unsigned compare_value(const struct as_value *a, const struct as_value *b)
{
    if (!a || !b)
        return a == b ? 0 : 1u << AS_MODEL_INPUTS;
    return (strcmp(a->name, b->name) == 0 ? 0 : 1u << AS_MODEL_INPUTS) |
           (as_type_equal(&a->type, &b->type) ? 0 : 1u << AS_MODEL_SHAPES);
}

static int compare_layer(const struct as_model *const model[2], const void *x, const void *y,
                         unsigned *parts, struct assay_error *err)
{
    const struct as_cost_row *a = x, *b = y;
    const struct as_node *m = a->node, *n = b->node;
    int rc = same_attrs(model, m, n, err);

    *parts = 0;
    if (strcmp(m->op_name, n->op_name) != 0 || strcmp(m->domain_name, n->domain_name) != 0)
        *parts |= 1u << AS_MODEL_OP;
    if (m->n_inputs != n->n_inputs || m->n_outputs != n->n_outputs)
        *parts |= 1u << AS_MODEL_INPUTS;
    for (size_t i = 0; i < m->n_inputs && i < n->n_inputs; i++)
        *parts |= compare_value(as_node_input(a->graph, m, i), as_node_input(b->graph, n, i));
    for (size_t i = 0; i < m->n_outputs && i < n->n_outputs; i++)
        *parts |= compare_value(as_node_output(a->graph, m, i), as_node_output(b->graph, n, i)) &
                  1u << AS_MODEL_SHAPES;
    if (rc == 0)
        *parts |= 1u << AS_MODEL_ATTRIBUTES;
    return rc;
}

static const char *layer_name(const void *item)
{
    const struct as_cost_row *row = item;

    return as_node_label(row->graph, row->node);
}

static const char *layer_what(const void *item, struct as_arena *arena)
{
    (void)arena;
    return ((const struct as_cost_row *)item)->node->op_name;
}

/* ---- weights ---- */

static const char *weight_name(const void *item)
{
    return ((const struct as_value *)item)->name;
}

static const char *weight_what(const void *item, struct as_arena *arena)
{
    const struct as_value *v = item;
    char shape[200], text[240];

    as_type_text(shape, sizeof shape, &v->type);
    (void)snprintf(text, sizeof text, "%s %s", as_dtype_name(v->data->dtype), shape);
    return as_arena_text(arena, text, strlen(text));
}

static int compare_weight(const struct as_model *const model[2], const void *x, const void *y,
                          unsigned *parts, struct assay_error *err)
{
    const struct as_value *a = x, *b = y;
    int rc = 1;

    *parts = 0;
    if (!as_type_equal(&a->type, &b->type) || a->data->dtype != b->data->dtype)
        *parts = 1u << AS_MODEL_SHAPES;
    else
        rc = same_numbers(model, a->data, b->data, err);
    if (rc == 0)
        *parts = 1u << AS_MODEL_NUMBERS;
    return rc;
}

/* ---- joining ---- */

/* The things of both sides, and how they are told apart. */
struct kind {
    const void **item[2];
    size_t n[2];
    const char *(*name)(const void *item);
    const char *(*what)(const void *item, struct as_arena *arena);
    /* Which parts differ; UNSUPPORTED: that cannot be told. */
    int (*compare)(const struct as_model *const model[2], const void *a, const void *b,
                   unsigned *parts, struct assay_error *err);
};

static int add_row(struct as_model_diff *d, struct as_model_rows *to, const struct kind *kind,
                   const struct as_model_row *row, const void *a, const void *b,
                   struct assay_error *err)
{
    struct as_model_row *r = &to->row[to->n++];
    const void *const item[2] = {a, b};

    *r = *row;
    r->name = kind->name(b ? b : a);
    for (int k = 0; k < 2; k++) {
        r->what[k] = item[k] ? kind->what(item[k], &d->arena) : NULL;
        if (item[k] && !r->what[k])
            return as_fail_nomem(err);
    }
    to->n_of[r->change]++;
    return ASSAY_OK;
}

static int compare_two(struct as_model_diff *d, struct as_model_rows *to, const struct kind *kind,
                       const void *a, const void *b, struct assay_error *err)
{
    const struct as_model *const model[2] = {d->side[0]->model, d->side[1]->model};
    struct as_model_row row = {.change = AS_MODEL_CHANGED};
    struct assay_error why = {0};
    int rc = kind->compare(model, a, b, &row.parts, &why);

    if (rc < 0 && rc != ASSAY_ERR_UNSUPPORTED) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc < 0 && !row.parts)
        row.change = AS_MODEL_UNREAD;
    else if (!row.parts)
        return ASSAY_OK;
    return add_row(d, to, kind, &row, a, b, err);
}

/* In `next`, for each thing of A, the next of the same name; in `map` the first by name. */
static int index_names(struct as_hash_map *map, uint32_t *next, const struct kind *kind,
                       struct assay_error *err)
{
    for (size_t i = kind->n[0]; i-- > 0;) {
        const char *name = kind->name(kind->item[0][i]);
        size_t size = strlen(name);
        int rc = as_hash_map_put(map, name, size, i);
        uint64_t *first = as_hash_map_find(map, name, size);

        if (rc < 0 || !first)
            return as_fail_nomem(err);
        next[i] = rc == 0 ? (uint32_t)*first : AS_NONE;
        *first = i;
    }
    return ASSAY_OK;
}

static int join(struct as_model_diff *d, struct as_model_rows *to, const struct kind *kind,
                struct assay_error *err)
{
    uint32_t *next = as_alloc_zero(kind->n[0] + 1, sizeof *next);
    bool *taken = as_alloc_zero(kind->n[0] + 1, sizeof *taken);
    struct as_hash_map map = {0};
    int rc = ASSAY_OK;

    to->n_all[0] = kind->n[0];
    to->n_all[1] = kind->n[1];
    to->row = as_arena_zero(&d->arena, kind->n[0] + kind->n[1] + 1, sizeof *to->row);
    rc = next && taken && to->row ? index_names(&map, next, kind, err) : as_fail_nomem(err);
    for (size_t i = 0; i < kind->n[1] && rc == ASSAY_OK; i++) {
        const void *b = kind->item[1][i];
        const char *name = kind->name(b);
        uint64_t *first = as_hash_map_find(&map, name, strlen(name));

        if (first && *first != AS_NONE) {
            size_t at = (size_t)*first;

            *first = next[at];
            taken[at] = true;
            rc = compare_two(d, to, kind, kind->item[0][at], b, err);
        } else {
            rc = add_row(d, to, kind, &(struct as_model_row){.change = AS_MODEL_ADDED}, NULL, b,
                         err);
        }
    }
    for (size_t i = 0; i < kind->n[0] && rc == ASSAY_OK; i++)
        if (!taken[i])
            rc = add_row(d, to, kind, &(struct as_model_row){.change = AS_MODEL_REMOVED},
                         kind->item[0][i], NULL, err);
    as_hash_map_fini(&map);
    as_free(next);
    as_free(taken);
    return rc;
}

static int join_layers(struct as_model_diff *d, struct assay_error *err)
{
    struct kind kind = {.name = layer_name, .what = layer_what, .compare = compare_layer};

    for (int k = 0; k < 2; k++) {
        const struct as_costs *costs = d->side[k]->costs;

        kind.item[k] = as_arena_zero(&d->arena, costs->n_rows + 1, sizeof(const void *));
        if (!kind.item[k])
            return as_fail_nomem(err);
        for (size_t i = 0; i < costs->n_rows; i++)
            kind.item[k][kind.n[k]++] = &costs->rows[i];
    }
    return join(d, &d->layers, &kind, err);
}

static int join_weights(struct as_model_diff *d, struct assay_error *err)
{
    struct kind kind = {.name = weight_name, .what = weight_what, .compare = compare_weight};

    for (int k = 0; k < 2; k++) {
        const struct as_model *model = d->side[k]->model;

        kind.item[k] = as_arena_zero(&d->arena, (size_t)model->n_values + 1, sizeof(const void *));
        if (!kind.item[k])
            return as_fail_nomem(err);
        for (uint32_t i = 0; i < model->n_values; i++)
            if (model->values[i].is_initializer && model->values[i].data)
                kind.item[k][kind.n[k]++] = &model->values[i];
    }
    return join(d, &d->weights, &kind, err);
}

/* ---- the whole ---- */

static void add_totals(struct as_metrics *to, const struct as_inspection *in)
{
    as_metrics_add(to, "count", (double)in->n_nodes, "layers");
    as_metrics_add(to, "count", (double)in->params->parameters, "parameters");
    as_metrics_add(to, "bytes", (double)in->params->stored_bytes, "weights as stored");
    as_metrics_add(to, "count", (double)in->costs->forward.macs, "MACs");
    as_metrics_add(to, "count", (double)in->flops, "FLOPs");
    as_metrics_add(to, "bytes", (double)in->bytes_moved, "bytes moved");
    if (in->model->file_bytes)
        as_metrics_add(to, "bytes", (double)in->model->file_bytes, "file");
}

int as_model_diff_new(struct as_model_diff **out, const struct as_inspection *a,
                      const struct as_inspection *b, struct assay_error *err)
{
    struct as_model_diff *d = as_alloc_zero(1, sizeof *d);
    int rc;

    *out = NULL;
    if (!d)
        return as_fail_nomem(err);
    d->side[0] = a;
    d->side[1] = b;
    add_totals(&d->totals[0], a);
    add_totals(&d->totals[1], b);
    rc = as_metric_diff_new(&d->sums, &d->totals[0], &d->totals[1], NULL, err);
    if (rc == ASSAY_OK)
        rc = join_layers(d, err);
    if (rc == ASSAY_OK)
        rc = join_weights(d, err);
    if (rc < 0)
        as_model_diff_free(d);
    else
        *out = d;
    return rc;
}

void as_model_diff_free(struct as_model_diff *diff)
{
    if (!diff)
        return;
    as_metric_diff_free(diff->sums);
    as_metrics_fini(&diff->totals[0]);
    as_metrics_fini(&diff->totals[1]);
    as_arena_fini(&diff->arena);
    as_free(diff);
}
