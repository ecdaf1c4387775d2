/* model/cost/cost_math.c - counts of what works element by element or along axes.
 * Sums start from zero, so n numbers take n additions; maxima take n - 1 comparisons. */
#include <string.h>

#include "base/units.h"
#include "model/cost/cost_rules.h"

void as_cost_nothing(struct as_cost_ctx *ctx)
{
    (void)ctx;
}

void as_cost_data(struct as_cost_ctx *ctx)
{
    ctx->unknown = true;
}

static void by_rate(struct as_cost_ctx *ctx, uint64_t n)
{
    const struct as_cost_entry *rate = as_cost_entry_at(ctx->node->op);

    as_count_each(&ctx->forward->elementwise, n, rate->elementwise);
    as_count_each(&ctx->forward->transcendental, n, rate->transcendental);
    as_count_each(&ctx->backward->elementwise, n, rate->back_elementwise);
    as_count_each(&ctx->backward->transcendental, n, rate->back_transcendental);
}

void as_cost_map(struct as_cost_ctx *ctx)
{
    by_rate(ctx, as_cost_out(ctx, 0));
}

void as_cost_map_in(struct as_cost_ctx *ctx)
{
    by_rate(ctx, as_cost_in(ctx, 0));
}

/* The gradient of an operand that was broadcast is summed over where it was. */
static void operand_gradient(struct as_cost_ctx *ctx, size_t i, uint64_t n, uint64_t each,
                             uint64_t each_transcendental)
{
    if (!as_cost_grad(ctx, i))
        return;
    as_count_each(&ctx->backward->elementwise, n, each);
    as_count_each(&ctx->backward->transcendental, n, each_transcendental);
    if (as_cost_in(ctx, i) < n)
        as_count(&ctx->backward->elementwise, n);
}

void as_cost_nary(struct as_cost_ctx *ctx)
{
    const struct as_cost_entry *rate = as_cost_entry_at(ctx->node->op);
    uint64_t n = as_cost_out(ctx, 0);
    uint64_t steps = ctx->node->n_inputs > 1 ? ctx->node->n_inputs - 1 : 0;

    as_count_each(&ctx->forward->elementwise, as_sat_mul(n, steps), rate->elementwise);
    as_count_each(&ctx->forward->transcendental, as_sat_mul(n, steps), rate->transcendental);
    for (size_t i = 0; i < ctx->node->n_inputs; i++)
        operand_gradient(ctx, i, n, rate->back_elementwise, rate->back_transcendental);
    as_cost_fused(ctx, n);
}

void as_cost_mean(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    as_count_each(&ctx->forward->elementwise, n, ctx->node->n_inputs);
    for (size_t i = 0; i < ctx->node->n_inputs; i++)
        operand_gradient(ctx, i, n, 1, 0);
}

void as_cost_gelu(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    if (!as_cost_attr_is(ctx, "approximate", "tanh") &&
        as_node_int(ctx->node, "approximate", 0) == 0) {
        by_rate(ctx, n);
        return;
    }
    as_count_each(&ctx->forward->elementwise, n, 8);
    as_count(&ctx->forward->transcendental, n);
    as_count_each(&ctx->backward->elementwise, n, 14);
    as_count(&ctx->backward->transcendental, n);
}

void as_cost_bias_gelu(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    as_cost_bias(ctx, 1, n);
    by_rate(ctx, n);
}

/* The input is twice as wide as the output: one half goes through the activation, then they are
 * multiplied. */
void as_cost_bias_split_gelu(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    as_cost_bias(ctx, 1, as_cost_in(ctx, 0));
    by_rate(ctx, n);
    as_count(&ctx->forward->elementwise, n);
    as_count_each(&ctx->backward->elementwise, n, 2);
}

/* Operations for each number that goes in and each that comes out; the latter may take one off. */
struct reduction {
    enum as_op op;
    int8_t in, in_transcendental, out, out_transcendental, back, back_transcendental;
};

static const struct reduction reductions[] = {
    {AS_OP_ReduceSum, 1, 0, 0, 0, 0, 0},
    {AS_OP_ReduceMean, 1, 0, 1, 0, 0, 0},
    {AS_OP_ReduceMax, 1, 0, -1, 0, 1, 0},
    {AS_OP_ReduceMin, 1, 0, -1, 0, 1, 0},
    {AS_OP_ReduceProd, 1, 0, -1, 0, 2, 0},
    {AS_OP_ReduceL1, 2, 0, 0, 0, 1, 0},
    {AS_OP_ReduceL2, 2, 0, 0, 1, 2, 0},
    {AS_OP_ReduceSumSquare, 2, 0, 0, 0, 2, 0},
    {AS_OP_ReduceLogSum, 1, 0, 0, 1, 1, 0},
    {AS_OP_ReduceLogSumExp, 3, 1, 0, 1, 2, 1},
    {AS_OP_MS_ReduceSumInteger, 1, 0, 0, 0, 0, 0},
    {AS_OP_TFL_REDUCE_ANY, 1, 0, -1, 0, 0, 0},
    {AS_OP_TFL_REDUCE_ALL, 1, 0, -1, 0, 0, 0},
};

void as_cost_reduce(struct as_cost_ctx *ctx)
{
    uint64_t in = as_cost_in(ctx, 0), out = as_cost_out(ctx, 0), n;
    const struct reduction *r = NULL;

    for (size_t i = 0; i < AS_COUNT_OF(reductions); i++)
        if (reductions[i].op == ctx->node->op)
            r = &reductions[i];
    if (!r) {
        ctx->unknown = true;
        return;
    }
    n = as_sat_mul(in, (uint64_t)r->in);
    n = r->out < 0 ? as_sat_sub(n, out) : as_sat_add(n, as_sat_mul(out, (uint64_t)r->out));
    as_count(&ctx->forward->elementwise, n);
    as_count_each(&ctx->forward->transcendental, in, (uint64_t)r->in_transcendental);
    as_count_each(&ctx->forward->transcendental, out, (uint64_t)r->out_transcendental);
    as_count_each(&ctx->backward->elementwise, in, (uint64_t)r->back);
    as_count_each(&ctx->backward->transcendental, in, (uint64_t)r->back_transcendental);
    if (r->out > 0) /* a mean divides its gradient too */
        as_count(&ctx->backward->elementwise, out);
}

void as_cost_arg_max(struct as_cost_ctx *ctx)
{
    as_count(&ctx->forward->elementwise, as_sat_sub(as_cost_in(ctx, 0), as_cost_out(ctx, 0)));
}

/* A heap of k: each number is compared log2(k + 1) times, rounded up. */
void as_cost_top_k(struct as_cost_ctx *ctx)
{
    struct as_dims in, out;
    int axis;

    if (!as_cost_in_dims(ctx, 0, &in) || !as_cost_out_dims(ctx, 0, &out) || in.rank != out.rank) {
        ctx->unknown = true;
        return;
    }
    axis = as_cost_axis(ctx, "axis", -1, in.rank);
    if (axis < 0)
        return;
    as_count_each(&ctx->forward->elementwise, as_cost_in(ctx, 0),
                  as_log2_up(as_sat_add((uint64_t)out.at[axis], 1)));
}

void as_cost_sort(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_in(ctx, 0);

    as_count_each(&ctx->forward->elementwise, n, as_log2_up(n));
}

/* Without a reduction it only moves; with one each update is an operation. */
void as_cost_scatter(struct as_cost_ctx *ctx)
{
    struct as_text reduction;

    if (as_node_text(ctx->node, "reduction", &reduction) &&
        !as_cost_attr_is(ctx, "reduction", "none"))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 2));
}

/* Renames when the model only infers; the caller sees to its bytes. Trained: a mask and a scale. */
void as_cost_dropout(struct as_cost_ctx *ctx)
{
    double training = 0;

    if (as_cost_number(ctx, 2, &training) && training != 0) {
        as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), 3);
        as_count_each(&ctx->backward->elementwise, as_cost_out(ctx, 0), 2);
        return;
    }
    ctx->bytes_set = true;
    as_count_each(&ctx->backward->elementwise, as_cost_out(ctx, 0), 2);
}

/* Divide, round, clip twice; and shift when there is a zero point. */
enum { QUANTIZE = 4, REQUANTIZE = 5, DEQUANTIZE = 2 };

void as_cost_quantize(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    as_count_each(&ctx->forward->elementwise, n, QUANTIZE + (as_cost_has(ctx, 2) ? 1 : 0));
    as_count_each(&ctx->backward->elementwise, n, 2); /* passes where nothing was clipped */
}

void as_cost_dequantize(struct as_cost_ctx *ctx)
{
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), as_cost_has(ctx, 2) ? 2 : 1);
}

/* TensorFlow Lite keeps scales with the tensors: a cast to or from such is a quantization. */
void as_cost_cast(struct as_cost_ctx *ctx)
{
    const struct as_value *in = as_node_input(ctx->graph, ctx->node, 0);
    const struct as_value *out = as_node_output(ctx->graph, ctx->node, 0);

    if (as_value_is_quantized(out))
        as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), REQUANTIZE);
    else if (as_value_is_quantized(in))
        as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), DEQUANTIZE);
}

void as_cost_qlinear_unary(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    by_rate(ctx, n);
    as_count_each(&ctx->forward->elementwise, n, DEQUANTIZE + REQUANTIZE);
}

void as_cost_qlinear_binary(struct as_cost_ctx *ctx)
{
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), 2 * DEQUANTIZE + 1 + REQUANTIZE);
}

void as_cost_qlinear_concat(struct as_cost_ctx *ctx)
{
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), DEQUANTIZE + REQUANTIZE);
}

void as_cost_qlinear_mean(struct as_cost_ctx *ctx)
{
    uint64_t in = as_cost_in(ctx, 0), out = as_cost_out(ctx, 0);

    as_count(&ctx->forward->elementwise, in);
    as_count_each(&ctx->forward->elementwise, out, 1 + DEQUANTIZE + REQUANTIZE);
}

void as_cost_qlinear_pool(struct as_cost_ctx *ctx)
{
    uint64_t out = as_cost_out(ctx, 0);

    as_cost_pool(ctx);
    as_count_each(&ctx->forward->elementwise, out, DEQUANTIZE + REQUANTIZE);
}

void as_cost_qlinear_softmax(struct as_cost_ctx *ctx)
{
    as_cost_softmax(ctx);
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), DEQUANTIZE + REQUANTIZE);
}
