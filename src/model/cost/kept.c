/* model/cost/kept.c - what a training step keeps of each node. Operators that exporters spell out
 * as many nodes keep what their one operator keeps: model/patterns finds them. */
#include "model/cost/kept.h"

#include "base/alloc.h"
#include "model/patterns/patterns.h"

/* The nodes of one graph as patterns look at them. */
struct view {
    const struct as_model *model;
    const struct as_graph *graph;
    uint32_t *n_uses; /* value -> inputs of nodes that read it, UINT32_MAX: an output of a graph */
    uint32_t *reader; /* value -> first output of the last node that reads it */
    struct as_kept *kept;
};

static bool describe(const struct view *v, const struct as_node *node, struct as_pattern_op *op)
{
    if (node->n_outputs == 0 || node->outputs[0] == AS_NONE)
        return false;
    *op = (struct as_pattern_op){.op = node->op,
                                 .opset = as_model_opset_of(v->model, node),
                                 .spec = node,
                                 .in = node->inputs,
                                 .n_in = node->n_inputs,
                                 .out = node->outputs[0],
                                 .id = &v->kept->part[node->outputs[0]]};
    return true;
}

static bool maker(const void *of, uint32_t value, struct as_pattern_op *op)
{
    const struct view *v = of;
    const struct as_value *made = value < v->model->n_values ? &v->model->values[value] : NULL;

    return made && made->graph == v->graph && made->producer < v->graph->n_nodes && !made->data &&
           describe(v, &v->graph->nodes[made->producer], op) && op->out == value;
}

static uint32_t n_uses(const void *of, uint32_t value)
{
    const struct view *v = of;

    return value < v->model->n_values ? v->n_uses[value] : UINT32_MAX;
}

static const struct as_data *loaded(const struct view *v, uint32_t value)
{
    const struct as_data *data = value < v->model->n_values ? v->model->values[value].data : NULL;

    return data && data->bytes && !data->partial && data->dtype != AS_DTYPE_STRING ? data : NULL;
}

static bool scalar(const void *of, uint32_t value, double *out)
{
    const struct as_data *data = loaded(of, value);

    if (!data || data->n != 1 ||
        !(as_dtype_is_float(data->dtype) || as_dtype_is_integer(data->dtype)))
        return false;
    *out = as_data_f64(data, 0);
    return *out == *out && *out - *out == 0;
}

static bool list(const void *of, uint32_t value, struct as_dims *out)
{
    const struct as_data *data = loaded(of, value);

    if (!data || data->n > AS_MAX_RANK || !as_dtype_is_integer(data->dtype))
        return false;
    out->rank = (int)data->n;
    for (uint64_t i = 0; i < data->n; i++)
        out->at[i] = as_data_i64(data, i);
    return true;
}

static const struct as_type *type(const void *of, uint32_t value)
{
    const struct view *v = of;
    const struct as_value *at = value < v->model->n_values ? &v->model->values[value] : NULL;

    return at && as_type_is_static(&at->type) && !at->varies ? &at->type : NULL;
}

/* ---- who reads what ---- */

static void count_uses(struct view *v, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        for (uint32_t k = 0; k < node->n_inputs; k++) {
            uint32_t id = node->inputs[k];

            if (id == AS_NONE)
                continue;
            if (v->n_uses[id] < UINT32_MAX)
                v->n_uses[id]++;
            v->reader[id] = node->n_outputs > 0 ? node->outputs[0] : AS_NONE;
        }
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                count_uses(v, node->attrs[k].graph);
    }
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] != AS_NONE)
            v->n_uses[graph->outputs[i]] = UINT32_MAX;
}

/* The only reader of `value`, when it does `wanted`. */
static bool only_reader(const struct view *v, uint32_t value, enum as_op wanted,
                        struct as_pattern_op *op)
{
    return value != AS_NONE && v->n_uses[value] == 1 && v->reader[value] != AS_NONE &&
           maker(v, v->reader[value], op) && op->op == wanted;
}

/* ---- the patterns ---- */

/* Floats kept of each of `n` rows, or channels: its mean and one over its deviation. */
static uint64_t row_floats(const struct as_type *x, int to, bool centered)
{
    struct as_dims dims;

    if (!x || !as_type_dims(x, &dims))
        return 0;
    return as_sat_mul(as_cost_volume(&dims, 0, to), centered ? 2 : 1);
}

static void end_pattern(struct view *v, const struct as_pattern_match *m, uint32_t out, uint32_t x,
                        uint64_t floats)
{
    for (unsigned i = 0; i < m->n; i++)
        v->kept->part[m->parts[i].out] = AS_KEPT_INSIDE;
    v->kept->part[out] = AS_KEPT_END;
    *as_kept_extra_at(v->kept, out) = (struct as_kept_extra){.x = x, .floats = floats};
}

/* A scale of what was normalized keeps nothing of its own: norms make that anew from their input.
 * It is the end of the pattern then, for its gradient needs the input where the norm itself has
 * none. */
static uint32_t joined_scale(struct view *v, const struct as_pattern_graph *g, uint32_t normed)
{
    struct as_pattern_op scale;

    if (!only_reader(v, normed, AS_OP_Mul, &scale) ||
        !as_pattern_is_vector(g, as_pattern_other(&scale, normed), normed))
        return normed;
    v->kept->part[normed] = AS_KEPT_INSIDE;
    return scale.out;
}

/* GroupNorm is exported as an InstanceNormalization of groups, a Reshape and a scale by channel. */
static void join_group_scale(struct view *v, const struct as_pattern_op *norm)
{
    const struct as_type *type_of_x = type(v, norm->in[0]), *by;
    struct as_pattern_op reshape, scale;
    uint32_t normed = norm->out, factor;
    uint64_t n = 0;

    if (only_reader(v, normed, AS_OP_Reshape, &reshape) && reshape.in[0] == normed)
        normed = reshape.out;
    if (!only_reader(v, normed, AS_OP_Mul, &scale))
        return;
    factor = as_pattern_other(&scale, normed);
    by = factor == AS_NONE ? NULL : type(v, factor);
    /* [channels, 1, 1 ...] */
    if (!by || !type_of_x || by->rank < 1 || !as_type_elems(by, &n) || by->dims[0] <= 0 ||
        n != (uint64_t)by->dims[0])
        return;
    v->kept->part[scale.out] = AS_KEPT_INSIDE;
}

/* Of the operator as of the pattern. */
static void keep_rows(struct view *v, const struct as_pattern_op *op)
{
    const struct as_type *x = op->n_in > 0 ? type(v, op->in[0]) : NULL;
    int64_t axis = as_node_int(op->spec, "axis", -1);

    axis += x && axis < 0 ? x->rank : 0;
    if (x && axis >= 0 && axis < x->rank)
        as_kept_extra_at(v->kept, op->out)->floats =
            row_floats(x, (int)axis, op->op == AS_OP_LayerNormalization);
}

static void look_at(struct view *v, const struct as_pattern_graph *g,
                    const struct as_pattern_op *last)
{
    struct as_activation_pattern activation;
    struct as_norm_pattern norm;
    struct as_pattern_match m;

    if (as_pattern_norm(g, last, &m, &norm)) {
        const struct as_type *x = type(v, norm.x);
        uint32_t end = norm.scale == AS_NONE ? joined_scale(v, g, last->out) : last->out;

        end_pattern(v, &m, end, norm.x, row_floats(x, x->rank - 1, norm.mean != AS_NONE));
    } else if (as_pattern_activation(g, last, &m, &activation)) {
        end_pattern(v, &m, last->out, activation.x, 0);
    }
}

static void look_at_graph(struct view *v, const struct as_graph *graph)
{
    struct as_pattern_graph g = {v, maker, n_uses, scalar, list, type};

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];
        struct as_pattern_op op;

        v->graph = graph;
        if (!describe(v, node, &op))
            continue;
        switch (op.op) {
        case AS_OP_Mul:
        case AS_OP_Div:
        case AS_OP_Add:
            if (as_dtype_is_float(v->model->values[op.out].type.dtype))
                look_at(v, &g, &op);
            break;
        case AS_OP_LayerNormalization:
        case AS_OP_SimplifiedLayerNormalization:
            keep_rows(v, &op);
            break;
        case AS_OP_InstanceNormalization:
            if (op.n_in > 0 && op.in[0] != AS_NONE) {
                as_kept_extra_at(v->kept, op.out)->floats = row_floats(type(v, op.in[0]), 2, true);
                join_group_scale(v, &op);
            }
            break;
        default:
            break;
        }
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                look_at_graph(v, node->attrs[k].graph);
    }
}

/* Nodes that may have something beside the table. */
static uint32_t count_extras(const struct as_graph *graph)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];
        enum as_op op = node->op;

        n += op == AS_OP_Mul || op == AS_OP_Div || op == AS_OP_Add || op == AS_OP_MatMul ||
             op == AS_OP_InstanceNormalization || op == AS_OP_LayerNormalization ||
             op == AS_OP_SimplifiedLayerNormalization;
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                n += count_extras(node->attrs[k].graph);
    }
    return n;
}

int as_kept_find(struct as_kept *kept, struct as_arena *arena, const struct as_model *model,
                 struct assay_error *err)
{
    size_t n = (size_t)model->n_values + 1, n_extras;
    struct view v = {.model = model, .kept = kept};
    int rc = ASSAY_OK;

    n_extras = model->main ? (size_t)count_extras(model->main) + 1 : 1;
    *kept = (struct as_kept){.n_extras = 1};
    kept->part = as_arena_zero(arena, n, sizeof *kept->part);
    kept->extra_of = as_arena_zero(arena, n, sizeof *kept->extra_of);
    kept->extras = as_arena_zero(arena, n_extras, sizeof *kept->extras);
    v.n_uses = as_alloc_zero(n, sizeof *v.n_uses);
    v.reader = as_alloc_zero(n, sizeof *v.reader);
    if (!kept->part || !kept->extra_of || !kept->extras || !v.n_uses || !v.reader) {
        rc = as_fail_nomem(err);
        goto out;
    }
    if (model->main) {
        count_uses(&v, model->main);
        look_at_graph(&v, model->main);
    }
    rc = as_kept_storage_find(kept, arena, model, err);
out:
    as_free(v.reader);
    as_free(v.n_uses);
    return rc;
}

/* ---- what a node keeps ---- */

bool as_drops_nothing(const struct as_model *model, const struct as_node *node)
{
    const struct as_value *ratio =
        node->n_inputs > 1 && node->inputs[1] != AS_NONE ? &model->values[node->inputs[1]] : NULL;

    if (ratio)
        return ratio->data && ratio->data->bytes && ratio->data->n == 1 &&
               as_data_f64(ratio->data, 0) == 0;
    return as_node_float(node, "ratio", 0.5) == 0;
}

struct as_kept_extra *as_kept_extra_at(struct as_kept *kept, uint32_t out)
{
    if (kept->extra_of[out] == 0)
        kept->extra_of[out] = kept->n_extras++;
    return &kept->extras[kept->extra_of[out]];
}

const struct as_kept_extra *as_kept_extra_of(const struct as_kept *kept, const struct as_node *node)
{
    static const struct as_kept_extra none = {.x = AS_NONE};
    uint32_t out = node->n_outputs > 0 ? node->outputs[0] : AS_NONE;

    return kept && out != AS_NONE && kept->extra_of[out] ? &kept->extras[kept->extra_of[out]]
                                                         : &none;
}

static enum as_kept_part part_of(const struct as_kept *kept, const struct as_node *node)
{
    uint32_t out = node->n_outputs > 0 ? node->outputs[0] : AS_NONE;

    return kept && out != AS_NONE ? (enum as_kept_part)kept->part[out] : AS_KEPT_ITSELF;
}

bool as_keeps_input(const struct as_kept *kept, const struct as_node *node, uint32_t i, bool others)
{
    const struct as_cost_entry *entry = as_cost_entry_at(node->op);

    if (!entry || node->inputs[i] == AS_NONE || part_of(kept, node) != AS_KEPT_ITSELF ||
        (i < 2 && as_kept_extra_of(kept, node)->copies[i]))
        return false;
    if (entry->flags & AS_COST_CHOOSES) /* the condition alone */
        return i == 0;
    if (entry->cost.saved != AS_SAVED_INPUTS && entry->cost.saved != AS_SAVED_BOTH &&
        entry->cost.saved != AS_SAVED_INDICES)
        return false;
    return others || !(entry->flags & AS_COST_BILINEAR);
}

bool as_keeps_output(const struct as_kept *kept, const struct as_node *node)
{
    const struct as_cost_entry *entry = as_cost_entry_at(node->op);

    return entry && part_of(kept, node) == AS_KEPT_ITSELF &&
           (entry->cost.saved == AS_SAVED_OUTPUT || entry->cost.saved == AS_SAVED_BOTH) &&
           node->n_outputs > 0 && node->outputs[0] != AS_NONE;
}

uint32_t as_keeps_origin(const struct as_kept *kept, const struct as_node *node)
{
    return part_of(kept, node) == AS_KEPT_END ? as_kept_extra_of(kept, node)->x : AS_NONE;
}
