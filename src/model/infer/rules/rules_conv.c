/* model/infer/rules/rules_conv.c - shape rules of convolutions and pools.
 * The arithmetic of windows is in infer_window.c. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

static int infer_conv(struct as_infer *ctx)
{
    struct as_conv_rule conv = {.x = 0, .w = 1, .dtype = as_in_dtype(ctx, 0)};

    conv.channels_last = as_node_extra(ctx->node, "filter_layout") != NULL;
    return as_infer_conv(ctx, &conv);
}

static int infer_conv_integer(struct as_infer *ctx)
{
    struct as_conv_rule conv = {.x = 0, .w = 1, .dtype = AS_DTYPE_I32};

    return as_infer_conv(ctx, &conv);
}

static int infer_conv_transpose(struct as_infer *ctx)
{
    return as_infer_conv_transpose(ctx, NULL);
}

static bool channels_last(const struct as_infer *ctx)
{
    return as_node_extra_int(ctx->node, "channels_last", 0) != 0;
}

static int infer_pool(struct as_infer *ctx)
{
    return as_infer_pool(ctx, channels_last(ctx));
}

static int infer_global_pool(struct as_infer *ctx)
{
    return as_infer_global_pool(ctx, false);
}

/* The second output says where each maximum was. */
static int infer_max_pool(struct as_infer *ctx)
{
    const struct as_value *out;
    struct as_dims dims;
    int rc = as_infer_pool(ctx, channels_last(ctx));

    if (rc < 0 || ctx->node->n_outputs < 2)
        return rc;
    out = as_node_output(ctx->graph, ctx->node, 0);
    if (!out || !as_type_dims(&out->type, &dims))
        return as_out_tensor(ctx, 1, AS_DTYPE_I64, NULL);
    return as_out_tensor(ctx, 1, AS_DTYPE_I64, &dims);
}

static int infer_max_unpool(struct as_infer *ctx)
{
    unsigned dtype = as_in_dtype(ctx, 0);
    struct as_window window;
    struct as_ints shape;
    struct as_dims x;
    int rc;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, dtype, NULL);
    if (x.rank < 2)
        return as_conflict(ctx, "a tensor of %d dimensions has no channels", x.rank);
    if (as_in_type(ctx, 2)) {
        bool known = as_in_ints(ctx, 2, &shape);

        if (known && shape.n != (size_t)x.rank)
            return as_conflict(ctx, "output_shape has %zu numbers where %d are needed", shape.n,
                               x.rank);
        for (int i = 0; i < x.rank; i++)
            x.at[i] = known ? shape.at[i] : AS_DIM_UNKNOWN;
        rc = as_out_tensor(ctx, 0, dtype, &x);
        return rc == ASSAY_OK && !known ? as_unknown(ctx, "its output_shape is not a constant")
                                        : rc;
    }
    rc = as_window_read(ctx, x.rank - 2, &window);
    for (int i = 0; rc == ASSAY_OK && i < window.n; i++)
        rc = as_window_spread(ctx, &window, i, x.at[2 + i], 0, &x.at[2 + i]);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &x) : rc;
}

static int infer_max_roi_pool(struct as_infer *ctx)
{
    struct as_dims x, rois, out = {4, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, 0, 0}};
    struct as_ints pooled;

    if (!as_node_ints(ctx->node, "pooled_shape", &pooled) || pooled.n != 2 || pooled.at[0] < 1 ||
        pooled.at[1] < 1)
        return as_conflict(ctx, "pooled_shape is not two positive numbers");
    if (as_in_dims(ctx, 0, &x)) {
        if (x.rank != 4)
            return as_conflict(ctx, "the input has %d dimensions instead of 4", x.rank);
        out.at[1] = x.at[1];
    }
    if (as_in_dims(ctx, 1, &rois)) {
        if (rois.rank != 2)
            return as_conflict(ctx, "the regions have %d dimensions instead of 2", rois.rank);
        out.at[0] = rois.at[0];
    }
    out.at[2] = pooled.at[0];
    out.at[3] = pooled.at[1];
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

/* [N, C * product of the block, L] becomes [N, C, image...]. */
static int infer_col2im(struct as_infer *ctx)
{
    struct as_ints image, block;
    struct as_dims x, shape, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int64_t covers = 1;
    bool has_x = as_in_dims(ctx, 0, &x);

    if (has_x && x.rank != 3)
        return as_conflict(ctx, "the input has %d dimensions instead of 3", x.rank);
    if (has_x)
        out.at[0] = x.at[0];
    if (as_in_ints(ctx, 1, &image) && image.n <= AS_MAX_RANK - 2) {
        for (size_t i = 0; i < image.n; i++)
            out.at[out.rank++] = image.at[i];
    } else if (as_in_dims(ctx, 1, &shape) && shape.rank == 1 && shape.at[0] >= 0 &&
               shape.at[0] <= AS_MAX_RANK - 2) {
        for (int64_t i = 0; i < shape.at[0]; i++)
            out.at[out.rank++] = AS_DIM_UNKNOWN;
    } else {
        (void)as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
        return as_unknown(ctx, "its image_shape is not a constant");
    }
    if (as_in_ints(ctx, 2, &block) && has_x) {
        for (size_t i = 0; i < block.n; i++) {
            if (block.at[i] != AS_DIM_UNKNOWN && block.at[i] < 1)
                return as_conflict(ctx, "block_shape holds %lld", (long long)block.at[i]);
            covers = as_dim_mul(covers, block.at[i]);
        }
        if (covers != AS_DIM_UNKNOWN && x.at[1] != AS_DIM_UNKNOWN) {
            if (x.at[1] % covers != 0)
                return as_conflict(ctx, "%lld rows cannot be split into blocks of %lld",
                                   (long long)x.at[1], (long long)covers);
            out.at[1] = x.at[1] / covers;
        }
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

const struct as_op_rule as_rules_conv[] = {
    {AS_OP_Conv, infer_conv, NULL},
    {AS_OP_ConvInteger, infer_conv_integer, NULL},
    {AS_OP_ConvTranspose, infer_conv_transpose, NULL},
    {AS_OP_DeformConv, infer_conv, NULL},
    {AS_OP_MaxPool, infer_max_pool, NULL},
    {AS_OP_AveragePool, infer_pool, NULL},
    {AS_OP_LpPool, infer_pool, NULL},
    {AS_OP_GlobalAveragePool, infer_global_pool, NULL},
    {AS_OP_GlobalMaxPool, infer_global_pool, NULL},
    {AS_OP_GlobalLpPool, infer_global_pool, NULL},
    {AS_OP_MaxUnpool, infer_max_unpool, NULL},
    {AS_OP_MaxRoiPool, infer_max_roi_pool, NULL},
    {AS_OP_Col2Im, infer_col2im, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
