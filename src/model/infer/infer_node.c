/* model/infer/infer_node.c - the types of one node's outputs, for inputs that are there with their
 * numbers. Rules look at the model's values, so these are lent what is there now and given back
 * after. */
#include "model/infer/infer.h"

struct saved {
    struct as_type type;
    struct as_data *data;
};

/* Bodies are run, not inferred: nodes that have some make their outputs themselves. */
static int no_body(struct as_infer *ctx, struct as_graph *body)
{
    (void)body;
    return as_fail(ctx->err, ASSAY_ERR_UNSUPPORTED, "a body cannot be inferred while running");
}

static struct as_value *value_at(const struct as_infer_now *now, uint32_t i, bool output)
{
    const struct as_node *node = now->node;
    uint32_t id = output ? node->outputs[i] : node->inputs[i];

    return id == AS_NONE ? NULL : &now->model->values[id];
}

int as_infer_now(const struct as_infer_now *now, struct assay_error *err)
{
    const struct as_node *node = now->node;
    uint32_t n_in = node->n_inputs, n_out = node->n_outputs;
    struct saved *saved = as_arena_zero(now->arena, n_in + n_out + 1, sizeof *saved);
    struct assay_error unused = {0};
    struct as_infer ctx = {.model = now->model,
                           .graph = now->graph,
                           .node = node,
                           .opset = now->opset,
                           .arena = now->arena,
                           .err = err ? err : &unused,
                           .body = no_body,
                           .fold_max = 0};
    int rc;

    if (!saved)
        return as_fail_nomem(err);
    for (uint32_t i = 0; i < n_in + n_out; i++) {
        struct as_value *value = value_at(now, i < n_in ? i : i - n_in, i >= n_in);

        if (value)
            saved[i] = (struct saved){value->type, value->data};
    }
    for (uint32_t i = 0; i < n_in; i++) {
        struct as_value *value = value_at(now, i, false);

        if (value) {
            value->type = now->in[i];
            value->data = now->in_data[i];
        }
    }
    for (uint32_t i = 0; i < n_out; i++) {
        struct as_value *value = value_at(now, i, true);

        if (value) {
            value->type = AS_TYPE_UNKNOWN;
            value->data = NULL;
        }
    }
    rc = now->rule->infer(&ctx);
    if (rc == ASSAY_OK)
        as_out_quantized(&ctx);
    for (uint32_t i = 0; i < n_out; i++) {
        const struct as_value *value = value_at(now, i, true);

        now->out[i] = value ? value->type : AS_TYPE_UNKNOWN;
    }
    /* Backwards: a value that stands twice was saved as it was by the first. */
    for (uint32_t i = n_in + n_out; i-- > 0;) {
        struct as_value *value = value_at(now, i < n_in ? i : i - n_in, i >= n_in);

        if (value) {
            value->type = saved[i].type;
            value->data = saved[i].data;
        }
    }
    return rc;
}
