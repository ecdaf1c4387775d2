/* model/cost/kept_storage.c - whose memory each value is in when nodes are executed one by one on
 * strided tensors: turning, cutting and renaming move nothing, a reshape copies where no strides
 * lead through what it is given. */
#include <string.h>

#include "model/cost/kept.h"

/* Strides of more dimensions are not followed: what turns such a tensor is taken to copy it. */
enum { MAX_RANK = 8, MATMUL_RANK = 3 };

struct strides {
    int64_t at[MAX_RANK]; /* in elements */
};

struct sizes {
    int rank;
    int64_t at[MAX_RANK];
};

struct storing {
    const struct as_model *model;
    struct as_kept *kept;
    struct as_arena *arena;
    struct strides **strides; /* by value; NULL: row-major */
    bool no_memory;
};

/* ---- sizes and strides ---- */

static bool sizes_of(const struct storing *s, uint32_t value, struct sizes *out)
{
    const struct as_value *v = value == AS_NONE ? NULL : &s->model->values[value];
    uint64_t n;

    if (!v || v->type.rank > MAX_RANK || !as_type_is_static(&v->type) ||
        !as_type_elems(&v->type, &n) || n == 0)
        return false;
    out->rank = v->type.rank;
    for (int i = 0; i < out->rank; i++)
        out->at[i] = v->type.dims[i];
    return true;
}

static struct strides row_major(const struct sizes *sizes)
{
    struct strides out = {{0}};
    int64_t n = 1;

    for (int i = sizes->rank; i-- > 0; n *= sizes->at[i])
        out.at[i] = n;
    return out;
}

static struct strides strides_of(const struct storing *s, uint32_t value, const struct sizes *sizes)
{
    return s->strides[value] ? *s->strides[value] : row_major(sizes);
}

/* Dimensions of one element may have any stride. */
static bool same_strides(const struct sizes *sizes, const struct strides *a,
                         const struct strides *b)
{
    for (int i = 0; i < sizes->rank; i++)
        if (sizes->at[i] != 1 && a->at[i] != b->at[i])
            return false;
    return true;
}

static void set_strides(struct storing *s, uint32_t value, const struct sizes *sizes,
                        const struct strides *strides)
{
    struct strides plain = row_major(sizes);

    if (same_strides(sizes, strides, &plain))
        return;
    s->strides[value] = as_arena_zero(s->arena, 1, sizeof **s->strides);
    if (s->strides[value])
        *s->strides[value] = *strides;
    else
        s->no_memory = true;
}

static void share(struct storing *s, uint32_t out, uint32_t in, const struct sizes *sizes,
                  const struct strides *strides)
{
    s->kept->storage[out] = s->kept->storage[in];
    set_strides(s, out, sizes, strides);
}

/* Strides by which `to` sees what lies as `from` does; false: there are none, it has to be copied.
 * Dimensions of `from` that lie one behind the other make a chunk, which `to` may cut anew. */
static bool reshape(const struct sizes *from, const struct strides *strides, const struct sizes *to,
                    struct strides *out)
{
    int at = to->rank - 1;
    int64_t base = from->rank ? strides->at[from->rank - 1] : 1, chunk = 1, seen = 1;

    for (int i = from->rank - 1; i >= 0; i--) {
        int64_t joined;

        chunk *= from->at[i];
        if (i > 0 && __builtin_mul_overflow(chunk, base, &joined))
            return false;
        if (i > 0 && (from->at[i - 1] == 1 || strides->at[i - 1] == joined))
            continue;
        for (; at >= 0 && (seen < chunk || to->at[at] == 1); at--) {
            if (__builtin_mul_overflow(seen, base, &out->at[at]))
                return false;
            seen *= to->at[at];
        }
        if (seen != chunk)
            return false;
        if (i > 0)
            base = strides->at[i - 1];
        chunk = seen = 1;
    }
    for (; at >= 0 && to->at[at] == 1; at--)
        out->at[at] = 1;
    return at < 0;
}

/* ---- nodes that move nothing ---- */

static void view_reshaped(struct storing *s, uint32_t in, uint32_t out)
{
    struct sizes from, to;
    struct strides strides, seen = {{0}};

    if (!sizes_of(s, in, &from) || !sizes_of(s, out, &to)) {
        s->kept->storage[out] = s->kept->storage[in]; /* only renamed, as far as is known */
        return;
    }
    strides = strides_of(s, in, &from);
    if (reshape(&from, &strides, &to, &seen))
        share(s, out, in, &to, &seen);
}

static void view_turned(struct storing *s, const struct as_node *node, uint32_t in, uint32_t out)
{
    struct sizes from, to;
    struct strides strides, turned = {{0}};
    struct as_ints perm = {0};

    if (!sizes_of(s, in, &from) || !sizes_of(s, out, &to) || from.rank != to.rank)
        return;
    if (as_node_ints(node, "perm", &perm) && perm.n != (size_t)to.rank)
        return;
    strides = strides_of(s, in, &from);
    for (int i = 0; i < to.rank; i++) {
        int64_t axis = perm.n ? perm.at[i] : to.rank - 1 - i;

        if (axis < 0 || axis >= from.rank)
            return;
        turned.at[i] = strides.at[axis];
    }
    share(s, out, in, &to, &turned);
}

/* Steps of a Slice by axis; false: not known, or backwards, which copies. */
static bool slice_steps(const struct storing *s, const struct as_node *node, int rank,
                        int64_t steps[MAX_RANK])
{
    const struct as_value *values = s->model->values;
    bool given = node->n_inputs > 4 && node->inputs[4] != AS_NONE;
    const struct as_data *step = given ? values[node->inputs[4]].data : NULL;
    const struct as_data *axes =
        node->n_inputs > 3 && node->inputs[3] != AS_NONE ? values[node->inputs[3]].data : NULL;

    for (int i = 0; i < rank; i++)
        steps[i] = 1;
    if (!given)
        return true;
    if (!step || !step->bytes || step->n > (uint64_t)rank ||
        (axes && (!axes->bytes || axes->n != step->n)))
        return false;
    for (uint64_t i = 0; i < step->n; i++) {
        int64_t axis = axes ? as_data_i64(axes, i) : (int64_t)i;

        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis >= rank || as_data_i64(step, i) < 1)
            return false;
        steps[axis] = as_data_i64(step, i);
    }
    return true;
}

static void view_sliced(struct storing *s, const struct as_node *node, uint32_t in, uint32_t out)
{
    struct sizes from, to;
    struct strides strides;
    int64_t steps[MAX_RANK];

    if (!sizes_of(s, in, &from) || !sizes_of(s, out, &to) || from.rank != to.rank ||
        !slice_steps(s, node, from.rank, steps))
        return;
    strides = strides_of(s, in, &from);
    for (int i = 0; i < to.rank; i++)
        if (__builtin_mul_overflow(strides.at[i], steps[i], &strides.at[i]))
            return;
    share(s, out, in, &to, &strides);
}

static void view_parts(struct storing *s, const struct as_node *node, uint32_t in)
{
    struct sizes from, to;

    for (uint32_t i = 0; i < node->n_outputs && sizes_of(s, in, &from); i++) {
        struct strides strides = strides_of(s, in, &from);

        if (node->outputs[i] != AS_NONE && sizes_of(s, node->outputs[i], &to) &&
            to.rank == from.rank)
            share(s, node->outputs[i], in, &to, &strides);
    }
}

/* One place along an axis, which goes. */
static void view_selected(struct storing *s, const struct as_node *node, uint32_t in, uint32_t out)
{
    const struct as_value *index = node->n_inputs > 1 && node->inputs[1] != AS_NONE
                                       ? &s->model->values[node->inputs[1]]
                                       : NULL;
    int64_t axis = as_node_int(node, "axis", 0);
    struct sizes from, to;
    struct strides strides, left = {{0}};
    int n = 0;

    if (!index || index->type.rank != 0 || !index->data || !sizes_of(s, in, &from) ||
        !sizes_of(s, out, &to) || to.rank != from.rank - 1)
        return;
    axis += axis < 0 ? from.rank : 0;
    strides = strides_of(s, in, &from);
    for (int i = 0; i < from.rank && n <= to.rank; i++)
        if (i != axis)
            left.at[n++] = strides.at[i];
    if (n == to.rank)
        share(s, out, in, &to, &left);
}

static void view_expanded(struct storing *s, uint32_t in, uint32_t out)
{
    struct sizes from, to;
    struct strides strides, wide = {{0}};

    if (!sizes_of(s, in, &from) || !sizes_of(s, out, &to) || to.rank < from.rank)
        return;
    strides = strides_of(s, in, &from);
    for (int i = 0; i < from.rank; i++) {
        int at = to.rank - from.rank + i;

        wide.at[at] = from.at[i] == to.at[at] ? strides.at[i] : 0;
    }
    share(s, out, in, &to, &wide);
}

/* ---- nodes that make something ---- */

/* Element by element: what comes out lies in the order of the first operand of its size. */
static void keep_order(struct storing *s, const struct as_node *node, uint32_t out)
{
    struct sizes to, from;
    struct strides order = {{0}}, dense = {{0}};
    bool done[MAX_RANK] = {false};
    uint32_t like = AS_NONE;
    int64_t n = 1;

    if (!sizes_of(s, out, &to))
        return;
    for (uint32_t i = 0; i < node->n_inputs && i < MAX_RANK && like == AS_NONE; i++)
        if (sizes_of(s, node->inputs[i], &from) && from.rank == to.rank &&
            memcmp(from.at, to.at, (size_t)to.rank * sizeof *to.at) == 0)
            like = node->inputs[i];
    if (like == AS_NONE || !s->strides[like])
        return;
    order = *s->strides[like];
    for (int k = 0; k < to.rank; k++) {
        int next = -1; /* the smallest stride left, the last dimension of equal ones */

        for (int i = to.rank; i-- > 0;)
            if (!done[i] && (next < 0 || order.at[i] < order.at[next]))
                next = i;
        if (next < 0)
            return;
        done[next] = true;
        dense.at[next] = n;
        n *= to.at[next];
    }
    set_strides(s, out, &to, &dense);
}

/* A batched product works on three dimensions: what does not fold into them is copied. */
static void fold_operand(struct storing *s, const struct as_node *node, uint32_t i)
{
    struct sizes own, other, out, flat;
    struct strides strides, seen;
    int64_t lead = 1;

    if (!sizes_of(s, node->inputs[i], &own) || !sizes_of(s, node->inputs[1 - i], &other) ||
        !sizes_of(s, node->outputs[0], &out) || own.rank < MATMUL_RANK || other.rank < 2 ||
        s->model->values[node->inputs[i]].data)
        return;
    strides = strides_of(s, node->inputs[i], &own);
    for (int k = 0; k < own.rank - 2; k++)
        lead *= own.at[k];
    if (other.rank == 2 && i == 0) { /* by a matrix: rows of all batches are one list */
        flat = (struct sizes){2, {lead * own.at[own.rank - 2], own.at[own.rank - 1]}};
    } else {
        flat = (struct sizes){3, {lead, own.at[own.rank - 2], own.at[own.rank - 1]}};
    }
    if (reshape(&own, &strides, &flat, &seen))
        return;
    as_kept_extra_at(s->kept, node->outputs[0])->copies[i] =
        (uint64_t)lead * (uint64_t)own.at[own.rank - 2] * (uint64_t)own.at[own.rank - 1];
}

static bool is_elementwise(enum as_op op)
{
    const struct as_op_cost *cost = as_op_cost_find(op);

    return cost && (cost->rule == as_cost_map || cost->rule == as_cost_nary ||
                    cost->rule == as_cost_gelu || cost->rule == as_cost_cast);
}

static void store_node(struct storing *s, const struct as_node *node)
{
    const struct as_op_cost *cost = as_op_cost_find(node->op);
    uint32_t in = node->n_inputs > 0 ? node->inputs[0] : AS_NONE;
    uint32_t out = node->n_outputs > 0 ? node->outputs[0] : AS_NONE;

    if (in == AS_NONE || out == AS_NONE)
        return;
    if (node->op == AS_OP_Dropout && !as_drops_nothing(s->model, node))
        return; /* what is left is a tensor of its own */
    if (cost && cost->is_view)
        view_reshaped(s, in, out);
    else if (node->op == AS_OP_Transpose)
        view_turned(s, node, in, out);
    else if (node->op == AS_OP_Slice)
        view_sliced(s, node, in, out);
    else if (node->op == AS_OP_Split)
        view_parts(s, node, in);
    else if (node->op == AS_OP_Gather)
        view_selected(s, node, in, out);
    else if (node->op == AS_OP_Expand)
        view_expanded(s, in, out);
    else if (is_elementwise(node->op))
        keep_order(s, node, out);
    for (uint32_t i = 0; node->op == AS_OP_MatMul && node->n_inputs == 2 && i < 2; i++)
        fold_operand(s, node, i);
}

static void store_graph(struct storing *s, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        store_node(s, node);
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                store_graph(s, node->attrs[k].graph);
    }
}

int as_kept_storage_find(struct as_kept *kept, struct as_arena *arena, const struct as_model *model,
                         struct assay_error *err)
{
    struct as_arena scratch = {0};
    struct storing s = {.model = model, .kept = kept, .arena = &scratch};
    size_t n = (size_t)model->n_values + 1;
    int rc = ASSAY_OK;

    kept->storage = as_arena_zero(arena, n, sizeof *kept->storage);
    s.strides = as_arena_zero(&scratch, n, sizeof(struct strides *));
    if (!kept->storage || !s.strides) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (uint32_t i = 0; i < model->n_values; i++)
        kept->storage[i] = i;
    if (model->main)
        store_graph(&s, model->main);
    if (s.no_memory)
        rc = as_fail_nomem(err);
out:
    as_arena_fini(&scratch);
    return rc;
}
