/* model/infer/rules/rules_contrib.c - shape rules of com.microsoft, without attention
 * (rules_attention.c). Where the documentation of an operator fixes no shape, none is given. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"

static int like_first(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

/* Its own dtype with the dimensions of input `in`. */
static int out_shaped(struct as_infer *ctx, size_t out, size_t in, unsigned dtype)
{
    struct as_dims dims;

    return as_out_tensor(ctx, out, dtype, as_in_dims(ctx, in, &dims) ? &dims : NULL);
}

/* ---- activations, normalizations ---- */

/* Half of the last axis gates the other. */
static int infer_split_gelu(struct as_infer *ctx)
{
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank < 1 || (x.at[x.rank - 1] != AS_DIM_UNKNOWN && x.at[x.rank - 1] % 2 != 0))
        return as_conflict(ctx, "the last axis cannot be halved");
    if (x.at[x.rank - 1] != AS_DIM_UNKNOWN)
        x.at[x.rank - 1] /= 2;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}

/* Output, mean, inverse deviation, and the sum that was normalized. */
static int infer_skip_norm(struct as_infer *ctx)
{
    int rc = as_out_like(ctx, 0, 0);

    for (size_t i = 1; i < 3 && rc == ASSAY_OK; i++)
        rc = as_out_tensor(ctx, i, AS_DTYPE_F32, NULL);
    return rc == ASSAY_OK ? as_out_like(ctx, 3, 0) : rc;
}

static int infer_skip_group_norm(struct as_infer *ctx)
{
    int rc = as_out_like(ctx, 0, 0);

    return rc == ASSAY_OK ? as_out_like(ctx, 1, 0) : rc;
}

/* Ids [B, S] and a table [V, D] give [B, S, D]; the mask's index is [B]. */
static int infer_embed_norm(struct as_infer *ctx)
{
    struct as_dims ids, table, out = {3, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}}, mask;
    unsigned dtype = as_in_dtype(ctx, ctx->node->op == AS_OP_MS_QEmbedLayerNormalization ? 8 : 2);
    int rc;

    if (as_in_dims(ctx, 0, &ids)) {
        if (ids.rank != 2)
            return as_conflict(ctx, "the ids have %d dimensions instead of 2", ids.rank);
        out.at[0] = ids.at[0];
        out.at[1] = ids.at[1];
    }
    if (as_in_dims(ctx, 2, &table)) {
        if (table.rank != 2)
            return as_conflict(ctx, "the table has %d dimensions instead of 2", table.rank);
        out.at[2] = table.at[1];
    }
    mask = (struct as_dims){1, {out.at[0]}};
    rc = as_out_tensor(ctx, 0, dtype, &out);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, AS_DTYPE_I32, &mask);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 2, dtype, &out) : rc;
}

/* ---- products ---- */

static void swap(struct as_dims *dims, int a, int b)
{
    int64_t kept = dims->at[a];

    dims->at[a] = dims->at[b];
    dims->at[b] = kept;
}

/* First the batch axes to the front, then the last two swapped. */
static void turn(struct as_dims *dims, bool batch, bool matrix)
{
    for (int i = 0; batch && dims->rank > 2 && i < dims->rank - 2; i++)
        swap(dims, i, i + 1);
    if (matrix && dims->rank > 1)
        swap(dims, dims->rank - 2, dims->rank - 1);
}

static int infer_fused_matmul(struct as_infer *ctx)
{
    unsigned dtype = as_in_dtype(ctx, 0);
    struct as_dims a, b, out;
    int rc;

    if (!as_in_dims(ctx, 0, &a) || !as_in_dims(ctx, 1, &b))
        return as_out_tensor(ctx, 0, dtype, NULL);
    turn(&a, as_node_int(ctx->node, "transBatchA", 0) != 0,
         as_node_int(ctx->node, "transA", 0) != 0);
    turn(&b, as_node_int(ctx->node, "transBatchB", 0) != 0,
         as_node_int(ctx->node, "transB", 0) != 0);
    rc = as_infer_product(ctx, &a, &b, &out);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &out) : rc;
}

static int infer_fused_gemm(struct as_infer *ctx)
{
    return as_infer_gemm(ctx, 0, 1, as_in_dtype(ctx, 0));
}

static int infer_qgemm(struct as_infer *ctx)
{
    return as_infer_gemm(ctx, 0, 3,
                         as_in_type(ctx, 8) ? as_in_dtype(ctx, 8) : (unsigned)AS_DTYPE_F32);
}

/* The weights are packed; what they were is in the attributes K and N. */
static int infer_matmul_packed(struct as_infer *ctx)
{
    int64_t k = as_node_int(ctx->node, "K", 0), n = as_node_int(ctx->node, "N", 0);
    struct as_dims a;

    if (k < 1 || n < 1)
        return as_conflict(ctx, "weights of %lld by %lld", (long long)k, (long long)n);
    if (!as_in_dims(ctx, 0, &a))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (a.rank < 1 || (a.at[a.rank - 1] != AS_DIM_UNKNOWN && a.at[a.rank - 1] != k))
        return as_conflict(ctx, "rows of %lld do not go with weights for %lld",
                           a.rank < 1 ? 0LL : (long long)a.at[a.rank - 1], (long long)k);
    a.at[a.rank - 1] = n;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &a);
}

static int infer_matmul_to_float(struct as_infer *ctx)
{
    unsigned scale = as_in_dtype(ctx, 2);

    return as_infer_matmul(ctx, 0, 1, scale != AS_DTYPE_UNKNOWN ? scale : (unsigned)AS_DTYPE_F32);
}

static int infer_matmul_dynamic(struct as_infer *ctx)
{
    return as_infer_matmul(ctx, 0, 1, as_in_dtype(ctx, 0));
}

static int infer_quantized_lstm(struct as_infer *ctx)
{
    return as_infer_recurrent(ctx, 1, 2); /* its recurrence is [directions, hidden, 4 * hidden] */
}

/* ---- windows ---- */

static int infer_conv(struct as_infer *ctx)
{
    struct as_conv_rule conv = {.x = 0, .w = 1, .dtype = as_in_dtype(ctx, 0)};

    conv.channels_last = ctx->node->op == AS_OP_MS_NhwcConv;
    return as_infer_conv(ctx, &conv);
}

static int infer_conv_pads(struct as_infer *ctx)
{
    struct as_ints pads;

    if (!as_in_type(ctx, 2))
        return as_infer_conv_transpose(ctx, NULL);
    if (as_in_ints(ctx, 2, &pads))
        return as_infer_conv_transpose(ctx, &pads);
    (void)as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    return as_unknown(ctx, "its pads are not a constant");
}

static int infer_qlinear_pool(struct as_infer *ctx)
{
    bool last = as_node_int(ctx->node, "channels_last", 0) != 0;

    if (ctx->node->op == AS_OP_MS_QLinearGlobalAveragePool)
        return as_infer_global_pool(ctx, last);
    return as_infer_pool(ctx, last);
}

/* ---- quantized elements ---- */

static int infer_qlinear_binary(struct as_infer *ctx)
{
    return as_infer_broadcast(ctx, 0, 3, as_in_dtype(ctx, 0));
}

/* Scale and zero point of the output, then three inputs for each tensor. */
static int infer_qlinear_concat(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims out = {-1, {0}}, one;
    int axis = 0;

    for (size_t i = 2; i < ctx->node->n_inputs; i += 3) {
        if (!as_in_dims(ctx, i, &one))
            return as_out_tensor(ctx, 0, as_in_dtype(ctx, 1), NULL);
        if (out.rank < 0) {
            if (!as_axis(said, one.rank, &axis))
                return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions",
                                   (long long)said, one.rank);
            out = one;
            continue;
        }
        if (one.rank != out.rank)
            return as_conflict(ctx, "tensors of %d and %d dimensions are joined", out.rank,
                               one.rank);
        for (int k = 0; k < out.rank; k++) {
            if (k == axis)
                out.at[k] = as_dim_add(out.at[k], one.at[k]);
            else if (out.at[k] == AS_DIM_UNKNOWN)
                out.at[k] = one.at[k];
            else if (one.at[k] != AS_DIM_UNKNOWN && one.at[k] != out.at[k])
                return as_conflict(ctx, "tensors of %lld and %lld on axis %d are joined",
                                   (long long)out.at[k], (long long)one.at[k], k);
        }
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 1), &out);
}

static int infer_reduce(struct as_infer *ctx)
{
    unsigned dtype =
        ctx->node->op == AS_OP_MS_ReduceSumInteger ? (unsigned)AS_DTYPE_I32 : as_in_dtype(ctx, 0);
    bool keep = as_node_int(ctx->node, "keepdims", 1) != 0, taken[AS_MAX_RANK] = {false};
    struct as_ints axes;
    struct as_dims x, out = {0, {0}};

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, dtype, NULL);
    (void)as_node_ints(ctx->node, "axes", &axes);
    for (size_t i = 0; i < axes.n; i++) {
        int axis;

        if (!as_axis(axes.at[i], x.rank, &axis))
            return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions",
                               (long long)axes.at[i], x.rank);
        taken[axis] = true;
    }
    for (int i = 0; i < x.rank; i++)
        if (axes.n > 0 && !taken[i])
            out.at[out.rank++] = x.at[i];
        else if (keep)
            out.at[out.rank++] = 1;
    return as_out_tensor(ctx, 0, dtype, &out);
}

/* Rows gathered from a quantized table; bytes hold several elements along the last axis. */
static int infer_gather_quantized(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "gather_axis", 0);
    int64_t bits = as_node_int(ctx->node, "bits", 4);
    unsigned dtype = as_in_dtype(ctx, 2);
    struct as_dims x, ids, out = {0, {0}};
    int axis;

    if (!as_in_dims(ctx, 0, &x) || !as_in_dims(ctx, 1, &ids))
        return as_out_tensor(ctx, 0, dtype, NULL);
    if (!as_axis(said, x.rank, &axis))
        return as_conflict(ctx, "axis %lld is outside a tensor of %d dimensions", (long long)said,
                           x.rank);
    if (x.rank + ids.rank - 1 > AS_MAX_RANK)
        return as_unknown(ctx, "it would have more than %d dimensions", AS_MAX_RANK);
    if (as_in_dtype(ctx, 0) == AS_DTYPE_U8 && bits > 0 && bits <= 8)
        x.at[x.rank - 1] = as_dim_mul(x.at[x.rank - 1], 8 / bits);
    for (int i = 0; i < axis; i++)
        out.at[out.rank++] = x.at[i];
    for (int i = 0; i < ids.rank; i++)
        out.at[out.rank++] = ids.at[i];
    for (int i = axis + 1; i < x.rank; i++)
        out.at[out.rank++] = x.at[i];
    return as_out_tensor(ctx, 0, dtype, &out);
}

/* ---- the rest ---- */

static int infer_pad(struct as_infer *ctx)
{
    struct as_ints pads;
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!as_in_ints(ctx, 1, &pads)) {
        for (int i = 0; i < x.rank; i++)
            x.at[i] = AS_DIM_UNKNOWN;
        (void)as_unknown(ctx, "its pads are not a constant");
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
    }
    if (pads.n != 2 * (size_t)x.rank)
        return as_conflict(ctx, "there are %zu pads for %d dimensions", pads.n, x.rank);
    for (int i = 0; i < x.rank; i++)
        x.at[i] = as_dim_add(as_dim_add(x.at[i], pads.at[i]), pads.at[x.rank + i]);
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}

static int infer_range(struct as_infer *ctx)
{
    struct as_dims out = {1, {AS_DIM_UNKNOWN}};
    double start, limit, step = 1;
    int rc;

    if (as_in_float(ctx, 0, &start) && as_in_float(ctx, 1, &limit) &&
        (!as_in_type(ctx, 2) || as_in_float(ctx, 2, &step))) {
        double steps;

        if (!(step > 0) && !(step < 0))
            return as_conflict(ctx, "the step is 0");
        steps = (limit - start) / step;
        if (steps <= 0)
            out.at[0] = 0;
        else if (steps < 4e18)
            out.at[0] = (int64_t)steps + ((double)(int64_t)steps < steps);
    }
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    return rc == ASSAY_OK && out.at[0] == AS_DIM_UNKNOWN
               ? as_unknown(ctx, "its limits are not constants")
               : rc;
}

static int infer_unique(struct as_infer *ctx)
{
    struct as_dims open = {1, {AS_DIM_UNKNOWN}};
    int rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &open);

    if (rc == ASSAY_OK)
        rc = out_shaped(ctx, 1, 0, AS_DTYPE_I64);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 2, AS_DTYPE_I64, &open);
    return rc == ASSAY_OK ? as_unknown(ctx, "the number of unique elements is in the data") : rc;
}

/* [B, S, D] becomes [tokens, D] with the places of the tokens and the sums of the lengths. */
static int infer_remove_padding(struct as_infer *ctx)
{
    struct as_dims x, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    struct as_dims places = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}}, one = {1, {1}};
    struct as_dims sums = {1, {AS_DIM_UNKNOWN}};
    int rc;

    if (as_in_dims(ctx, 0, &x)) {
        if (x.rank != 3)
            return as_conflict(ctx, "the input has %d dimensions instead of 3", x.rank);
        out.at[1] = x.at[2];
        places = (struct as_dims){2, {x.at[0], x.at[1]}};
        sums.at[0] = as_dim_add(x.at[0], 1);
    }
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 1, AS_DTYPE_I32, &places);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 2, AS_DTYPE_I32, &sums);
    if (rc == ASSAY_OK)
        rc = as_out_tensor(ctx, 3, AS_DTYPE_I32, &one);
    return rc == ASSAY_OK ? as_unknown(ctx, "the number of tokens is in the data") : rc;
}

static int infer_restore_padding(struct as_infer *ctx)
{
    struct as_dims x, places, out = {3, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};

    if (as_in_dims(ctx, 0, &x) && x.rank == 2)
        out.at[2] = x.at[1];
    if (as_in_dims(ctx, 1, &places) && places.rank == 2) {
        out.at[0] = places.at[0];
        out.at[1] = places.at[1];
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int infer_undocumented(struct as_infer *ctx)
{
    return as_unknown(ctx, "the shapes of this operator are not fixed by its documentation");
}

const struct as_op_rule as_rules_microsoft[] = {
    {AS_OP_MS_BiasGelu, like_first, NULL},
    {AS_OP_MS_BiasSplitGelu, infer_split_gelu, NULL},
    {AS_OP_MS_BiasSoftmax, like_first, NULL},
    {AS_OP_MS_FastGelu, like_first, NULL},
    {AS_OP_MS_Gelu, like_first, NULL},
    {AS_OP_MS_QuickGelu, like_first, NULL},
    {AS_OP_MS_GroupNorm, like_first, NULL},
    {AS_OP_MS_SkipGroupNorm, infer_skip_group_norm, NULL},
    {AS_OP_MS_SkipLayerNormalization, infer_skip_norm, NULL},
    {AS_OP_MS_SkipSimplifiedLayerNormalization, infer_skip_norm, NULL},
    {AS_OP_MS_EmbedLayerNormalization, infer_embed_norm, NULL},
    {AS_OP_MS_QEmbedLayerNormalization, infer_embed_norm, NULL},
    {AS_OP_MS_FusedMatMul, infer_fused_matmul, NULL},
    {AS_OP_MS_TransposeMatMul, infer_fused_matmul, NULL},
    {AS_OP_MS_FusedGemm, infer_fused_gemm, NULL},
    {AS_OP_MS_QGemm, infer_qgemm, NULL},
    {AS_OP_MS_MatMulNBits, infer_matmul_packed, NULL},
    {AS_OP_MS_MatMulBnb4, infer_matmul_packed, NULL},
    {AS_OP_MS_MatMulIntegerToFloat, infer_matmul_to_float, NULL},
    {AS_OP_MS_DynamicQuantizeMatMul, infer_matmul_dynamic, NULL},
    {AS_OP_MS_DynamicQuantizeLSTM, infer_quantized_lstm, NULL},
    {AS_OP_MS_FusedConv, infer_conv, NULL},
    {AS_OP_MS_NhwcConv, infer_conv, NULL},
    {AS_OP_MS_ConvTransposeWithDynamicPads, infer_conv_pads, NULL},
    {AS_OP_MS_QLinearAveragePool, infer_qlinear_pool, NULL},
    {AS_OP_MS_QLinearGlobalAveragePool, infer_qlinear_pool, NULL},
    {AS_OP_MS_QLinearAdd, infer_qlinear_binary, NULL},
    {AS_OP_MS_QLinearMul, infer_qlinear_binary, NULL},
    {AS_OP_MS_QLinearConcat, infer_qlinear_concat, NULL},
    {AS_OP_MS_QLinearLeakyRelu, like_first, NULL},
    {AS_OP_MS_QLinearSigmoid, like_first, NULL},
    {AS_OP_MS_QLinearSoftmax, like_first, NULL},
    {AS_OP_MS_QLinearReduceMean, infer_reduce, NULL},
    {AS_OP_MS_ReduceSumInteger, infer_reduce, NULL},
    {AS_OP_MS_GatherBlockQuantized, infer_gather_quantized, NULL},
    {AS_OP_MS_Inverse, like_first, NULL},
    {AS_OP_MS_Trilu, like_first, NULL},
    {AS_OP_MS_MoE, like_first, NULL},
    {AS_OP_MS_QMoE, like_first, NULL},
    {AS_OP_MS_Pad, infer_pad, NULL},
    {AS_OP_MS_Range, infer_range, NULL},
    {AS_OP_MS_Unique, infer_unique, NULL},
    {AS_OP_MS_RemovePadding, infer_remove_padding, NULL},
    {AS_OP_MS_RestorePadding, infer_restore_padding, NULL},
    {AS_OP_MS_Sampling, infer_undocumented, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
