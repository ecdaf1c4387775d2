/* model/cost/cost_context.c - how a rule that counts asks for sizes, and the sums that several
 * rules share. What is not known makes ctx->unknown true, and then the counts of the node are not
 * used. */
#include <string.h>

#include "base/units.h"
#include "model/cost/cost_rules.h"

static uint64_t elems(struct as_cost_ctx *ctx, const struct as_value *value)
{
    uint64_t n = 0;

    if (!value)
        return 0;
    if (!as_type_elems(&value->type, &n))
        ctx->unknown = true;
    return n;
}

uint64_t as_cost_in(struct as_cost_ctx *ctx, size_t i)
{
    return elems(ctx, as_node_input(ctx->graph, ctx->node, i));
}

uint64_t as_cost_out(struct as_cost_ctx *ctx, size_t i)
{
    return elems(ctx, as_node_output(ctx->graph, ctx->node, i));
}

bool as_cost_has(const struct as_cost_ctx *ctx, size_t i)
{
    return i < ctx->node->n_inputs && ctx->node->inputs[i] != AS_NONE;
}

bool as_cost_grad(const struct as_cost_ctx *ctx, size_t i)
{
    return ctx->needs_gradient && as_cost_has(ctx, i) && ctx->needs_gradient[ctx->node->inputs[i]];
}

static bool dims_of(struct as_cost_ctx *ctx, const struct as_value *value, struct as_dims *out)
{
    if (value && as_type_is_static(&value->type) && as_type_dims(&value->type, out))
        return true;
    ctx->unknown = true;
    return false;
}

bool as_cost_in_dims(struct as_cost_ctx *ctx, size_t i, struct as_dims *out)
{
    return dims_of(ctx, as_node_input(ctx->graph, ctx->node, i), out);
}

bool as_cost_out_dims(struct as_cost_ctx *ctx, size_t i, struct as_dims *out)
{
    return dims_of(ctx, as_node_output(ctx->graph, ctx->node, i), out);
}

uint64_t as_cost_volume(const struct as_dims *dims, int from, int to)
{
    uint64_t product = 1;

    for (int i = from < 0 ? 0 : from; i < to && i < dims->rank; i++)
        product = as_sat_mul(product, (uint64_t)dims->at[i]);
    return product;
}

bool as_cost_number(const struct as_cost_ctx *ctx, size_t i, double *out)
{
    const struct as_value *value = as_node_input(ctx->graph, ctx->node, i);

    if (!value || !value->data || value->data->n != 1 || !value->data->bytes ||
        value->data->partial || value->data->dtype == AS_DTYPE_STRING)
        return false;
    *out = as_data_f64(value->data, 0);
    return true;
}

bool as_cost_attr_is(const struct as_cost_ctx *ctx, const char *name, const char *word)
{
    return as_node_text_is(ctx->node, name, word);
}

int as_cost_axis(struct as_cost_ctx *ctx, const char *name, int64_t fallback, int rank)
{
    int64_t axis = as_node_int(ctx->node, name, fallback);

    if (axis < -rank || axis >= rank) {
        ctx->unknown = true;
        return -1;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

void as_cost_product(struct as_cost_ctx *ctx, uint64_t macs, size_t a, size_t b)
{
    as_count(&ctx->forward->macs, macs);
    if (as_cost_grad(ctx, a))
        as_count(&ctx->backward->macs, macs);
    if (as_cost_grad(ctx, b))
        as_count(&ctx->backward->macs, macs);
}

void as_cost_bias(struct as_cost_ctx *ctx, size_t i, uint64_t n)
{
    if (!as_cost_has(ctx, i))
        return;
    as_count(&ctx->forward->elementwise, n);
    if (as_cost_grad(ctx, i))
        as_count(&ctx->backward->elementwise, n);
}

void as_cost_activation(struct as_cost_ctx *ctx, const char *name, size_t size, uint64_t n)
{
    static const struct {
        const char *name;
        enum as_op like;
    } known[] = {
        {"Relu", AS_OP_Relu},     {"LeakyRelu", AS_OP_LeakyRelu},     {"Sigmoid", AS_OP_Sigmoid},
        {"Tanh", AS_OP_Tanh},     {"HardSigmoid", AS_OP_HardSigmoid}, {"Clip", AS_OP_Clip},
        {"Gelu", AS_OP_Gelu},     {"HardSwish", AS_OP_HardSwish},     {"RELU", AS_OP_Relu},
        {"RELU6", AS_OP_Clip},    {"RELU_N1_TO_1", AS_OP_Clip},       {"TANH", AS_OP_Tanh},
        {"SIGN_BIT", AS_OP_Sign}, {"NONE", AS_OP_Identity},           {"none", AS_OP_Identity},
    };
    const struct as_cost_entry *like = as_cost_entry_at(AS_OP_Relu);

    if (size == 0)
        return;
    for (size_t i = 0; i < AS_COUNT_OF(known); i++)
        if (strlen(known[i].name) == size && memcmp(known[i].name, name, size) == 0)
            like = as_cost_entry_at(known[i].like);
    as_count_each(&ctx->forward->elementwise, n, like->elementwise);
    as_count_each(&ctx->forward->transcendental, n, like->transcendental);
    as_count_each(&ctx->backward->elementwise, n, like->back_elementwise);
    as_count_each(&ctx->backward->transcendental, n, like->back_transcendental);
}

void as_cost_fused(struct as_cost_ctx *ctx, uint64_t n)
{
    static const char *const by_number[] = {"NONE",  "RELU", "RELU_N1_TO_1",
                                            "RELU6", "TANH", "SIGN_BIT"};
    const size_t n_known = AS_COUNT_OF(by_number);
    int64_t number = as_node_int(ctx->node, "fused_activation_function", 0);
    struct as_text text;

    if (as_node_text(ctx->node, "fused_activation_function", &text))
        as_cost_activation(ctx, text.at, text.size, n);
    else if (number > 0 && (uint64_t)number < n_known)
        as_cost_activation(ctx, by_number[number], strlen(by_number[number]), n);
}
