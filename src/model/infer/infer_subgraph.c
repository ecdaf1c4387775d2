/* model/infer/infer_subgraph.c - the graphs inside If, Loop, Scan and SequenceMap while types are
 * inferred. */
#include "model/infer/infer_subgraph.h"

#include "base/alloc.h"
#include "model/infer/infer_context.h"

/* A loop in a loop in a loop repeats its body to the power of their depth. */
#define REPEAT_NODES 200000
#define REPEAT_BYTES (24 << 20)

enum { MAX_ROUNDS = 5 };

void as_body_set(struct as_graph *body, size_t i, const struct as_type *type, struct as_data *data)
{
    struct as_value *value;

    if (i >= body->n_inputs || body->inputs[i] == AS_NONE)
        return;
    value = &body->model->values[body->inputs[i]];
    value->data = data;
    value->type = *type;
    if (type->kind != AS_VALUE_TENSOR || type->rank >= 0)
        return;
    if (type->dtype == AS_DTYPE_UNKNOWN && value->declared.kind != AS_VALUE_TENSOR)
        value->type = value->declared;
    else if (type->dtype == AS_DTYPE_UNKNOWN)
        value->type.dtype = value->declared.dtype;
}

const struct as_value *as_body_output(const struct as_graph *body, size_t i)
{
    static const struct as_value none = {.type = {.rank = -1, .n_elems = -1}};

    if (i >= body->n_outputs || body->outputs[i] == AS_NONE)
        return &none;
    return &body->model->values[body->outputs[i]];
}

bool as_body_may_repeat(const struct as_infer *ctx, const struct as_graph *body, int64_t times)
{
    int64_t nodes = (int64_t)body->n_nodes + 1;

    return ctx->again_bytes < REPEAT_BYTES && times <= (REPEAT_NODES - ctx->again_nodes) / nodes;
}

int as_body_run(struct as_infer *ctx, struct as_graph *body, bool again, bool *ran)
{
    size_t bytes = ctx->arena->used_bytes;
    int rc;

    *ran = false;
    ctx->again += again;
    if (ctx->again > 0 && !as_body_may_repeat(ctx, body, 1)) {
        ctx->again -= again;
        return ASSAY_OK;
    }
    if (ctx->again > 0)
        ctx->again_nodes += (int64_t)body->n_nodes + 1;
    *ran = true;
    rc = ctx->body(ctx, body);
    ctx->again -= again;
    /* Counted once, by the outermost repetition. */
    if (ctx->again == 0 && again)
        ctx->again_bytes += (int64_t)(ctx->arena->used_bytes - bytes);
    return rc;
}

/* ---- what differs from round to round ---- */

/* Calls `visit` for every value of a graph and of those inside it, always in the same order. `mark`
 * is of how often the graphs around it run. Depth is limited when graphs are made. */
struct visiting {
    struct as_rounds *rounds;
    size_t at;
    void (*visit)(struct visiting *v, struct as_value *value, uint64_t mark);
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 1099511628211u;
    return hash ^ hash >> 29;
}

static void visit_graph(struct visiting *v, const struct as_graph *graph, uint64_t mark)
{
    struct as_value *values = graph->model->values;

    for (uint32_t i = 0; i < graph->n_inputs; i++)
        if (graph->inputs[i] != AS_NONE)
            v->visit(v, &values[graph->inputs[i]], mark);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        for (uint32_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] != AS_NONE)
                v->visit(v, &values[node->outputs[k]], mark);
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && node->attrs[k].graph)
                visit_graph(v, node->attrs[k].graph,
                            mix(mark, (uint64_t)node->attrs[k].graph->times));
    }
}

static uint64_t print_type(const struct as_type *type, uint64_t hash)
{
    hash = mix(hash, (uint64_t)type->kind << 16 | (uint64_t)type->dtype << 8);
    hash = mix(hash, (uint64_t)(int64_t)type->rank);
    for (int i = 0; i < type->rank; i++)
        hash = mix(hash, (uint64_t)type->dims[i]);
    return mix(hash, (uint64_t)(int64_t)type->n_elems);
}

static void count_value(struct visiting *v, struct as_value *value, uint64_t mark)
{
    (void)value;
    (void)mark;
    v->at++;
}

static void print_value(struct visiting *v, struct as_value *value, uint64_t mark)
{
    uint64_t print = print_type(&value->type, mark) | 1;
    struct as_rounds *rounds = v->rounds;

    if (rounds->prints[v->at] && rounds->prints[v->at] != print)
        rounds->varied[v->at] = true;
    rounds->prints[v->at++] = print;
}

static void mark_value(struct visiting *v, struct as_value *value, uint64_t mark)
{
    (void)mark;
    value->varies |= v->rounds->varied[v->at++];
}

int as_rounds_note(struct as_infer *ctx, const struct as_graph *body, struct as_rounds *rounds)
{
    struct visiting v = {rounds, 0, count_value};

    if (!rounds->prints) {
        visit_graph(&v, body, 0);
        rounds->n = v.at;
        rounds->prints = as_alloc_zero(rounds->n + 1, sizeof *rounds->prints);
        rounds->varied = as_alloc_zero(rounds->n + 1, sizeof *rounds->varied);
        if (!rounds->prints || !rounds->varied)
            return as_fail_nomem(ctx->err);
    }
    v = (struct visiting){rounds, 0, print_value};
    visit_graph(&v, body, 0);
    return ASSAY_OK;
}

void as_rounds_tell(const struct as_infer *ctx, const struct as_graph *body,
                    const struct as_rounds *rounds)
{
    struct as_rounds all = *rounds;
    struct visiting v = {&all, 0, mark_value};
    bool any = false;

    for (size_t i = 0; i < rounds->n; i++)
        any |= rounds->varied[i];
    if (!any)
        return;
    visit_graph(&v, body, 0);
    as_model_find(ctx->model, AS_FINDING_BRANCH, as_node_label(ctx->graph, ctx->node),
                  ctx->node->op_name,
                  "shapes in the body differ from round to round; what depends on them is not "
                  "counted");
}

void as_rounds_fini(struct as_rounds *rounds)
{
    as_free(rounds->prints);
    as_free(rounds->varied);
    *rounds = (struct as_rounds){0};
}

/* ---- types that hold for every round ---- */

/* True when nothing had to be given up. */
static bool generalise(struct as_infer *ctx, const struct as_carry *carry, bool *same)
{
    *same = true;
    for (size_t k = 0; k < carry->n; k++) {
        const struct as_type *out = &as_body_output(carry->body, carry->first_out + k)->type;
        struct as_type merged;

        if (!as_type_merge(ctx->arena, &carry->types[k], out, &merged))
            return false;
        if (!as_type_equal(&merged, &carry->types[k]))
            *same = false;
        carry->types[k] = merged;
    }
    return true;
}

int as_body_settle(struct as_infer *ctx, const struct as_carry *carry, bool *settled)
{
    bool same = false, ran;
    int rc = ASSAY_OK;

    *settled = false;
    for (int round = 0; round < MAX_ROUNDS && !same; round++) {
        for (size_t k = 0; k < carry->n; k++)
            as_body_set(carry->body, carry->first_in + k, &carry->types[k], NULL);
        rc = as_body_run(ctx, carry->body, carry->again || round > 0, &ran);
        if (rc < 0 || !ran)
            break;
        if (!generalise(ctx, carry, &same))
            return as_fail_nomem(ctx->err);
    }
    /* Whatever still moves, or could not be looked at again, is not known. */
    for (size_t k = 0; rc == ASSAY_OK && !same && k < carry->n; k++)
        carry->types[k] = AS_TYPE_UNKNOWN;
    *settled = same;
    return rc;
}
