/* model/infer_body.c - the graphs inside If, Loop, Scan and SequenceMap while types are inferred.
 * A body may be inferred many times; how much of that one inference may do is limited here. */
#include "model/infer_body.h"

#include "model/infer_types.h"

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
    if (type->kind != AS_KIND_TENSOR || type->rank >= 0)
        return;
    if (type->dtype == AS_DTYPE_UNKNOWN && value->declared.kind != AS_KIND_TENSOR)
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
