/* model/memory/lifetimes.c - which tensors a run has to hold, and from which row to which.
 * The one walk over the rows that plans of inference and of training share. */
#include "model/memory/memory_plan.h"

#include "base/alloc.h"
#include "base/cursor.h"

/* A body and the rows it takes. */
struct body {
    const struct as_graph *graph;
    uint32_t owner, first, last;
};

struct walk {
    const struct as_model *model;
    const struct as_costs *costs;
    struct as_lifetimes *life;
    unsigned float_bytes;
    const uint32_t *storage; /* value -> whose memory it is in; NULL: as views say */
    uint32_t *parent;        /* row -> the row of the node around it, or AS_NONE */
    uint32_t *body_at;       /* row -> the body that begins with it, or AS_NONE */
    struct body *bodies;
    uint32_t n_bodies;
    uint8_t *constant; /* value -> it is known before the run */
};

static bool bytes_of(const struct as_type *type, unsigned float_bytes, int depth, uint64_t *bytes)
{
    uint64_t sum = 0, part;

    if (type->kind == AS_VALUE_TENSOR) {
        if (float_bytes && as_dtype_is_float(type->dtype))
            return as_type_elems(type, &part) && as_mul_u64(part, float_bytes, bytes);
        return as_type_bytes(type, bytes);
    }
    if (type->n_elems < 0 || (type->n_elems > 0 && !type->elems) || depth > 4)
        return false;
    for (int32_t i = 0; i < type->n_elems; i++)
        if (!bytes_of(&type->elems[i], float_bytes, depth + 1, &part) ||
            !as_add_u64(sum, part, &sum))
            return false;
    *bytes = sum;
    return true;
}

/* Who is inside whom, from the depths alone: bodies come right after their owner. */
static void find_bodies(struct walk *w)
{
    const struct as_cost_row *rows = w->costs->rows;
    uint32_t owner[AS_MAX_GRAPH_DEPTH + 1], body[AS_MAX_GRAPH_DEPTH + 1];
    uint32_t n = (uint32_t)w->costs->n_rows;

    for (unsigned d = 0; d <= AS_MAX_GRAPH_DEPTH; d++)
        owner[d] = body[d] = AS_NONE;
    for (uint32_t r = 0; r < n; r++) {
        unsigned depth = rows[r].depth < AS_MAX_GRAPH_DEPTH ? rows[r].depth : AS_MAX_GRAPH_DEPTH;
        uint32_t up = depth ? owner[depth - 1] : AS_NONE, b = body[depth];

        owner[depth] = r;
        w->parent[r] = up;
        w->life->end_of[r] = r;
        w->life->top_of[r] = up == AS_NONE ? r : w->life->top_of[up];
        w->body_at[r] = AS_NONE;
        if (up == AS_NONE)
            continue;
        if (b == AS_NONE || w->bodies[b].graph != rows[r].graph || w->bodies[b].owner != up) {
            b = body[depth] = w->body_at[r] = w->n_bodies++;
            w->bodies[b] = (struct body){rows[r].graph, up, r, r};
        }
        w->bodies[b].last = r;
    }
    for (uint32_t r = n; r-- > 0;)
        if (w->parent[r] != AS_NONE && w->life->end_of[w->parent[r]] < w->life->end_of[r])
            w->life->end_of[w->parent[r]] = w->life->end_of[r];
}

static void make_tensor(struct walk *w, uint32_t id, uint32_t first, uint32_t last)
{
    struct as_lifetimes *life = w->life;
    uint64_t bytes;

    if (id == AS_NONE || w->constant[id] || life->tensor_of[id] != AS_NONE)
        return;
    if (!bytes_of(&w->model->values[id].type, w->float_bytes, 0, &bytes)) {
        life->n_unknown++;
        return;
    }
    life->tensor_of[id] = (uint32_t)life->n_tensors;
    life->tensors[life->n_tensors++] = (struct as_plan_tensor){id, first, last, bytes, 0};
}

/* Row `r` reads the value: seen from the graph the tensor is of, the node around `r` does, and may
 * do so until its bodies have ended. */
static void use_value(struct walk *w, uint32_t id, uint32_t r)
{
    uint32_t t = id == AS_NONE ? AS_NONE : w->life->tensor_of[id];
    struct as_plan_tensor *tensor;
    const struct as_graph *home;

    if (t == AS_NONE)
        return;
    tensor = &w->life->tensors[t];
    home = w->model->values[tensor->value].graph;
    while (w->costs->rows[r].graph != home && w->parent[r] != AS_NONE)
        r = w->parent[r];
    if (tensor->last < w->life->end_of[r])
        tensor->last = w->life->end_of[r];
}

/* The value whose memory output `i` shares: input 0 of a view. A sequence shares that of several,
 * so it is taken to have its own. AS_NONE: it has its own. */
static uint32_t shared_by(const struct walk *w, const struct as_node *node, uint32_t i)
{
    const struct as_op_cost *cost = as_op_cost_find(node->op);
    uint32_t out = node->outputs[i], in = AS_NONE;

    if (w->storage)
        in = w->storage[out] == out ? AS_NONE : w->storage[out];
    else if (cost && cost->is_view && i == 0 && node->n_inputs > 0)
        in = node->inputs[0];
    if (in == AS_NONE || w->model->values[out].type.kind == AS_VALUE_SEQUENCE ||
        (w->life->tensor_of[in] == AS_NONE && !w->constant[in]))
        return AS_NONE;
    return in;
}

/* Some of its numbers were worked out; a run has to find the others. */
static bool is_partial(const struct as_value *value)
{
    return value->data && value->data->partial;
}

static void make_outputs(struct walk *w, uint32_t r)
{
    const struct as_node *node = w->costs->rows[r].node;
    bool constant = w->costs->rows[r].constant;

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        uint32_t id = node->outputs[i], shared;

        if (id == AS_NONE)
            continue;
        shared = shared_by(w, node, i);
        if (constant && !is_partial(&w->model->values[id]))
            w->constant[id] = 1;
        else if (shared != AS_NONE && !w->constant[id])
            w->life->tensor_of[id] = w->life->tensor_of[shared];
        else
            make_tensor(w, id, r, w->life->end_of[r]);
    }
}

static void walk_row(struct walk *w, uint32_t r)
{
    const struct as_cost_row *row = &w->costs->rows[r];

    if (row->times == 0)
        return;
    if (w->body_at[r] != AS_NONE)
        for (uint32_t i = 0; i < row->graph->n_inputs; i++)
            make_tensor(w, row->graph->inputs[i], r, r);
    for (uint32_t i = 0; i < row->node->n_inputs; i++)
        use_value(w, row->node->inputs[i], r);
    make_outputs(w, r);
}

static void walk_all(struct walk *w)
{
    const struct as_graph *graph = w->model->main;
    uint32_t n = (uint32_t)w->costs->n_rows;

    for (uint32_t i = 0; graph && i < graph->n_inputs; i++)
        make_tensor(w, graph->inputs[i], 0, 0);
    for (uint32_t r = 0; r < n; r++)
        walk_row(w, r);
    for (uint32_t b = 0; b < w->n_bodies; b++) {
        const struct body *body = &w->bodies[b];

        for (uint32_t i = 0; w->costs->rows[body->first].times && i < body->graph->n_outputs; i++)
            use_value(w, body->graph->outputs[i], body->last);
    }
    for (uint32_t i = 0; graph && n && i < graph->n_outputs; i++) {
        uint32_t id = graph->outputs[i];

        if (id != AS_NONE && w->life->tensor_of[id] != AS_NONE)
            w->life->tensors[w->life->tensor_of[id]].last = n - 1;
    }
}

/* What the model holds before it runs; the number of the others. */
static size_t mark_constants(struct walk *w)
{
    size_t n_others = 0;

    for (uint32_t i = 0; i < w->model->n_values; i++) {
        const struct as_value *value = &w->model->values[i];
        bool known = value->data && !value->data->partial && !value->is_input;

        w->life->tensor_of[i] = AS_NONE;
        w->constant[i] = known || value->is_initializer;
        n_others += !w->constant[i];
    }
    return n_others;
}

int as_lifetimes_find(struct as_lifetimes *out, struct as_arena *arena,
                      const struct as_model *model, const struct as_costs *costs,
                      unsigned float_bytes, const uint32_t *storage, struct assay_error *err)
{
    struct walk w = {.model = model,
                     .costs = costs,
                     .life = out,
                     .float_bytes = float_bytes,
                     .storage = storage};
    size_t n = costs->n_rows;
    int rc = ASSAY_OK;

    *out = (struct as_lifetimes){0};
    if (n >= AS_NONE)
        return as_fail(err, ASSAY_ERR_LIMIT, "a plan of more than 2^32 steps is too long");
    w.parent = as_alloc_zero(n, sizeof *w.parent);
    w.body_at = as_alloc_zero(n, sizeof *w.body_at);
    w.bodies = as_alloc_zero(n, sizeof *w.bodies);
    w.constant = as_alloc_zero(model->n_values, 1);
    out->end_of = as_arena_zero(arena, n + 1, sizeof *out->end_of);
    out->top_of = as_arena_zero(arena, n + 1, sizeof *out->top_of);
    out->tensor_of = as_arena_zero(arena, (size_t)model->n_values + 1, sizeof *out->tensor_of);
    if (w.parent && w.body_at && w.bodies && w.constant && out->end_of && out->top_of &&
        out->tensor_of)
        out->tensors = as_arena_zero(arena, mark_constants(&w) + 1, sizeof *out->tensors);
    if (!out->tensors) {
        rc = as_fail_nomem(err);
        goto out;
    }
    find_bodies(&w);
    walk_all(&w);
out:
    as_free(w.constant);
    as_free(w.bodies);
    as_free(w.body_at);
    as_free(w.parent);
    return rc;
}
