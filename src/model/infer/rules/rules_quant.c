/* model/infer/rules/rules_quant.c - shape rules of quantization and of products of integers.
 * A scale is one number, one per slice of an axis, or one per block. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

/* A scale per slice must be as long as its axis. */
static int check_scale(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 1);
    struct as_dims x, scale;
    int axis;

    if (!as_in_dims(ctx, 0, &x) || !as_in_dims(ctx, 1, &scale) || scale.rank != 1 ||
        scale.at[0] == 1 || scale.at[0] == AS_DIM_UNKNOWN ||
        as_node_int(ctx->node, "block_size", 0) != 0)
        return ASSAY_OK;
    if (!as_axis(said, x.rank, &axis))
        return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions", (long long)said,
                           x.rank);
    if (x.at[axis] != AS_DIM_UNKNOWN && x.at[axis] != scale.at[0])
        return as_conflict(ctx, "there are %lld scales for %lld slices", (long long)scale.at[0],
                           (long long)x.at[axis]);
    return ASSAY_OK;
}

static int take_shape(struct as_infer *ctx, unsigned dtype)
{
    struct as_dims x;

    return as_out_tensor(ctx, 0, dtype, as_in_dims(ctx, 0, &x) ? &x : NULL);
}

static int infer_quantize(struct as_infer *ctx)
{
    unsigned dtype = AS_DTYPE_U8;
    int64_t said = as_node_int(ctx->node, "output_dtype", 0);
    int rc = check_scale(ctx);

    if (as_in_type(ctx, 2))
        dtype = as_in_dtype(ctx, 2);
    else if (said != 0)
        dtype = as_dtype_of_onnx(said);
    return rc == ASSAY_OK ? take_shape(ctx, dtype) : rc;
}

static int infer_dequantize(struct as_infer *ctx)
{
    int rc = check_scale(ctx);

    return rc == ASSAY_OK ? take_shape(ctx, as_in_dtype(ctx, 1)) : rc;
}

static int infer_dynamic_quantize(struct as_infer *ctx)
{
    struct as_dims scalar = {0, {0}};
    int rc = take_shape(ctx, AS_DTYPE_U8);

    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, AS_DTYPE_F32, &scalar);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 2, AS_DTYPE_U8, &scalar) : rc;
}

static int infer_matmul_integer(struct as_infer *ctx)
{
    return as_infer_matmul(ctx, 0, 1, AS_DTYPE_I32);
}

static int infer_qlinear_matmul(struct as_infer *ctx)
{
    return as_infer_matmul(ctx, 0, 3, as_in_dtype(ctx, 7));
}

/* Microsoft's has channels_last. */
static int infer_qlinear_conv(struct as_infer *ctx)
{
    struct as_conv_rule conv = {.x = 0, .w = 3, .dtype = as_in_dtype(ctx, 7)};

    conv.channels_last =
        ctx->node->op == AS_OP_MS_QLinearConv && as_node_int(ctx->node, "channels_last", 0) != 0;
    return as_infer_conv(ctx, &conv);
}

const struct as_op_rule as_rules_quant[] = {
    {AS_OP_QuantizeLinear, infer_quantize, NULL},
    {AS_OP_MS_QuantizeLinear, infer_quantize, NULL},
    {AS_OP_DequantizeLinear, infer_dequantize, NULL},
    {AS_OP_MS_DequantizeLinear, infer_dequantize, NULL},
    {AS_OP_DynamicQuantizeLinear, infer_dynamic_quantize, NULL},
    {AS_OP_MatMulInteger, infer_matmul_integer, NULL},
    {AS_OP_MS_MatMulInteger16, infer_matmul_integer, NULL},
    {AS_OP_QLinearMatMul, infer_qlinear_matmul, NULL},
    {AS_OP_QLinearConv, infer_qlinear_conv, NULL},
    {AS_OP_MS_QLinearConv, infer_qlinear_conv, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
