/* model/infer/rules/rules_norm.c - shape rules of normalizations and losses.
 * Nearly all keep the shape of their first input; what differs is the extra outputs. */
#include "model/infer/infer_rules.h"

static int like_first(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

/* A vector parameter that must be as long as the channels. */
static int check_channels(struct as_infer *ctx, size_t in, int64_t channels, const char *what)
{
    struct as_dims dims;

    if (!as_in_dims(ctx, in, &dims))
        return ASSAY_OK;
    if (dims.rank != 1)
        return as_conflict(ctx, "%s has %d dimensions instead of 1", what, dims.rank);
    if (dims.at[0] != AS_DIM_UNKNOWN && channels != AS_DIM_UNKNOWN && dims.at[0] != channels)
        return as_conflict(ctx, "%s has %lld elements, the input %lld channels", what,
                           (long long)dims.at[0], (long long)channels);
    return ASSAY_OK;
}

static int64_t channels_of(const struct as_infer *ctx)
{
    struct as_dims x;

    return as_in_dims(ctx, 0, &x) && x.rank > 1 ? x.at[1] : AS_DIM_UNKNOWN;
}

/* Up to opset 13 four more outputs may follow (mean, variance and what is saved of them), from 14
 * on two; all are vectors of one number per channel. */
static int infer_batch_norm(struct as_infer *ctx)
{
    static const char *const names[] = {"", "scale", "bias", "mean", "variance"};
    int64_t channels = channels_of(ctx);
    bool flat = as_node_int(ctx->node, "spatial", 1) != 0;
    struct as_dims dims = {1, {channels}}, given;
    int rc = ASSAY_OK;

    for (size_t i = 1; i < 5 && rc == ASSAY_OK && flat; i++)
        rc = check_channels(ctx, i, channels, names[i]);
    if (rc == ASSAY_OK)
        rc = as_out_like(ctx, 0, 0);
    if (as_in_dims(ctx, 3, &given))
        dims = given;
    for (size_t i = 1; i < ctx->node->n_outputs && rc == ASSAY_OK; i++) {
        unsigned dtype = as_in_dtype(ctx, 3);

        rc = as_out_tensor(ctx, i, dtype != AS_DTYPE_UNKNOWN ? dtype : as_in_dtype(ctx, 0), &dims);
    }
    return rc;
}

static int infer_instance_norm(struct as_infer *ctx)
{
    int64_t channels = channels_of(ctx);
    int rc = check_channels(ctx, 1, channels, "scale");

    if (rc == ASSAY_OK)
        rc = check_channels(ctx, 2, channels, "bias");
    return rc == ASSAY_OK ? as_out_like(ctx, 0, 0) : rc;
}

static int infer_group_norm(struct as_infer *ctx)
{
    int64_t groups = as_node_int(ctx->node, "num_groups", 0), channels = channels_of(ctx);

    if (groups < 1)
        return as_conflict(ctx, "num_groups is %lld", (long long)groups);
    if (channels != AS_DIM_UNKNOWN && channels % groups != 0)
        return as_conflict(ctx, "%lld channels cannot be split into %lld groups",
                           (long long)channels, (long long)groups);
    return as_out_like(ctx, 0, 0);
}

/* The mean and the inverse deviation keep the axes before `axis`; the rest is 1. */
static int infer_layer_norm(struct as_infer *ctx)
{
    unsigned stash = as_dtype_of_onnx(as_node_int(ctx->node, "stash_type", 1));
    struct as_dims dims;
    int axis, rc = as_out_like(ctx, 0, 0);

    if (rc < 0)
        return rc;
    if (!as_in_dims(ctx, 0, &dims)) {
        for (size_t i = 1; i < ctx->node->n_outputs && rc == ASSAY_OK; i++)
            rc = as_out_tensor(ctx, i, stash, NULL);
        return rc;
    }
    if (!as_axis(as_node_int(ctx->node, "axis", -1), dims.rank, &axis))
        return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions",
                           (long long)as_node_int(ctx->node, "axis", -1), dims.rank);
    for (int i = axis; i < dims.rank; i++)
        dims.at[i] = 1;
    for (size_t i = 1; i < ctx->node->n_outputs && rc == ASSAY_OK; i++)
        rc = as_out_tensor(ctx, i, stash, &dims);
    return rc;
}

/* The loss is one number, or one for every target. */
static int infer_loss(struct as_infer *ctx)
{
    struct as_dims x, target, scalar = {0, {0}};
    bool has_x = as_in_dims(ctx, 0, &x), has_target = as_in_dims(ctx, 1, &target);
    unsigned dtype = as_in_dtype(ctx, 0);
    int rc;

    if (has_x && has_target) {
        if (x.rank < 2 || target.rank != x.rank - 1)
            return as_conflict(ctx, "scores of %d dimensions do not go with targets of %d", x.rank,
                               target.rank);
        for (int i = 0; i < target.rank; i++) {
            int64_t want = x.at[i == 0 ? 0 : i + 1];

            if (want != AS_DIM_UNKNOWN && target.at[i] != AS_DIM_UNKNOWN && want != target.at[i])
                return as_conflict(ctx,
                                   "the scores are for %lld targets on axis %d, there are %lld",
                                   (long long)want, i, (long long)target.at[i]);
        }
    }
    if (has_x && !has_target && x.rank >= 2) {
        target.rank = x.rank - 1;
        for (int i = 0; i < target.rank; i++)
            target.at[i] = x.at[i == 0 ? 0 : i + 1];
        has_target = true;
    }
    if (!as_node_text_is(ctx->node, "reduction", "none"))
        rc = as_out_tensor(ctx, 0, dtype, &scalar);
    else
        rc = as_out_tensor(ctx, 0, dtype, has_target ? &target : NULL);
    return rc == ASSAY_OK && ctx->node->op == AS_OP_SoftmaxCrossEntropyLoss ? as_out_like(ctx, 1, 0)
                                                                            : rc;
}

const struct as_op_rule as_rules_norm[] = {
    {AS_OP_BatchNormalization, infer_batch_norm, NULL},
    {AS_OP_InstanceNormalization, infer_instance_norm, NULL},
    {AS_OP_GroupNormalization, infer_group_norm, NULL},
    {AS_OP_LayerNormalization, infer_layer_norm, NULL},
    {AS_OP_SimplifiedLayerNormalization, infer_layer_norm, NULL},
    {AS_OP_LRN, like_first, NULL},
    {AS_OP_MeanVarianceNormalization, like_first, NULL},
    {AS_OP_NegativeLogLikelihoodLoss, infer_loss, NULL},
    {AS_OP_SoftmaxCrossEntropyLoss, infer_loss, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
