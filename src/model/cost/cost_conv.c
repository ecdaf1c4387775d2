/* model/cost/cost_conv.c - counts of convolutions. All of them multiply every number of an output
 * by the kernel that made it; transposed ones go by the numbers of the input instead. */
#include "model/cost/cost_rules.h"

/* Numbers of the kernel that meet one number of the output: all dimensions but the first. */
static uint64_t kernel_volume(struct as_cost_ctx *ctx, size_t weight)
{
    struct as_dims dims;

    if (!as_cost_in_dims(ctx, weight, &dims))
        return 0;
    /* TensorFlow Lite also has the channels of the output last. */
    if (as_cost_attr_is(ctx, "filter_layout", "1HWO") ||
        as_cost_attr_is(ctx, "filter_layout", "DHWIO"))
        return as_cost_volume(&dims, 0, dims.rank - 1);
    return as_cost_volume(&dims, 1, dims.rank);
}

static void conv(struct as_cost_ctx *ctx, size_t weight)
{
    as_cost_product(ctx, as_sat_mul(as_cost_out(ctx, 0), kernel_volume(ctx, weight)), 0, weight);
}

static void skip_padding(struct as_cost_ctx *ctx, bool spreads, size_t weight)
{
    ctx->forward->padding_macs = as_cost_in_padding(ctx, spreads, weight, ctx->forward->macs);
}

void as_cost_conv(struct as_cost_ctx *ctx)
{
    conv(ctx, 1);
    skip_padding(ctx, false, 1);
    as_cost_bias(ctx, 2, as_cost_out(ctx, 0));
    as_cost_fused(ctx, as_cost_out(ctx, 0));
}

/* Weights are [in, out / groups, ...], so their rest is what one number of the input meets. */
void as_cost_conv_transpose(struct as_cost_ctx *ctx)
{
    size_t bias = ctx->node->op == AS_OP_MS_ConvTransposeWithDynamicPads ? 3 : 2;

    as_cost_product(ctx, as_sat_mul(as_cost_in(ctx, 0), kernel_volume(ctx, 1)), 0, 1);
    if (ctx->node->op == AS_OP_ConvTranspose)
        skip_padding(ctx, true, 1);
    as_cost_bias(ctx, bias, as_cost_out(ctx, 0));
}

void as_cost_fused_conv(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);
    struct as_text name;

    as_cost_conv(ctx);
    as_cost_bias(ctx, 3, n); /* a residual added to the result */
    if (as_node_text(ctx->node, "activation", &name))
        as_cost_activation(ctx, name.at, name.size, n);
}

void as_cost_conv_integer(struct as_cost_ctx *ctx)
{
    conv(ctx, 1);
    skip_padding(ctx, false, 1);
    if (as_cost_has(ctx, 2))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 0));
    if (as_cost_has(ctx, 3))
        as_count(&ctx->forward->elementwise, as_cost_in(ctx, 1));
}

/* Scale, round, shift and clip what comes out. */
enum { REQUANTIZE = 5 };

void as_cost_qlinear_conv(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);

    conv(ctx, 3);
    skip_padding(ctx, false, 3);
    as_count_each(&ctx->forward->elementwise, n, REQUANTIZE);
    as_cost_bias(ctx, 8, n);
}

/* X, W, offset, B, mask: every number the kernel meets is interpolated from four. */
void as_cost_deform_conv(struct as_cost_ctx *ctx)
{
    struct as_dims x, y, w;
    uint64_t sampled;

    if (!as_cost_in_dims(ctx, 0, &x) || !as_cost_out_dims(ctx, 0, &y) ||
        !as_cost_in_dims(ctx, 1, &w) || x.rank < 2 || w.rank < 2)
        return;
    conv(ctx, 1);
    sampled = as_sat_mul(as_cost_volume(&x, 0, 2), as_cost_volume(&y, 2, y.rank));
    sampled = as_sat_mul(sampled, as_cost_volume(&w, 2, w.rank));
    as_count_each(&ctx->forward->elementwise, sampled, as_cost_has(ctx, 4) ? 8 : 7);
    as_count_each(&ctx->backward->elementwise, sampled, as_cost_has(ctx, 4) ? 16 : 14);
    as_count(&ctx->forward->elementwise, as_cost_in(ctx, 2));
    as_cost_bias(ctx, 3, as_cost_out(ctx, 0));
}

/* ---- TensorFlow Lite: channels last ---- */

/* output shape, weights [out, height, width, in] or [depth, height, width, out, in], input, bias */
void as_cost_tfl_conv_transpose(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0);
    struct as_dims w;

    if (!as_cost_in_dims(ctx, 1, &w))
        return;
    as_cost_product(ctx, as_sat_mul(as_cost_in(ctx, 2), as_cost_volume(&w, 0, w.rank - 1)), 1, 2);
    as_cost_bias(ctx, 3, n);
    as_cost_fused(ctx, n);
}
