/* model/infer/rules/rules_tflite_gather.c - shape rules of TensorFlow Lite's operators that pad,
 * repeat, gather, reduce and move elements between space, depth and batch. */
#include "model/infer/infer_rules.h"
#include "model/infer/rules/rules_tflite.h"

static int64_t attr(const struct as_infer *ctx, const char *name)
{
    return as_node_int(ctx->node, name, 0);
}

/* ---- padding, repeating, gathering ---- */

static int one_hot(struct as_infer *ctx)
{
    int64_t depth = AS_DIM_UNKNOWN;
    struct as_dims x;
    int axis, rc;

    if (!as_in_dims(ctx, 0, &x) || x.rank == AS_MAX_RANK)
        return as_tfl_out(ctx, 0, NULL);
    (void)as_in_int(ctx, 1, &depth);
    rc = as_tfl_axis(ctx, as_node_int(ctx->node, "axis", -1), x.rank + 1, &axis);
    if (rc < 0)
        return rc;
    as_tfl_insert(&x, axis, depth);
    return as_tfl_out(ctx, 0, &x);
}

static int topk(struct as_infer *ctx)
{
    int64_t k = AS_DIM_UNKNOWN;
    struct as_dims x;
    int rc;

    if (!as_in_dims(ctx, 0, &x) || x.rank < 1)
        return as_tfl_out(ctx, 0, NULL);
    (void)as_in_int(ctx, 1, &k);
    x.at[x.rank - 1] = k;
    rc = as_tfl_out(ctx, 0, &x);
    return rc == ASSAY_OK ? as_tfl_out(ctx, 1, &x) : rc;
}

/* How many there are is in the data. */
static int where(struct as_infer *ctx)
{
    struct as_dims x, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int rc;

    if (as_in_dims(ctx, 0, &x))
        out.at[1] = x.rank;
    rc = as_tfl_out(ctx, 0, &out);
    return rc == ASSAY_OK ? as_unknown(ctx, "the number of places is in the data") : rc;
}

static int multinomial(struct as_infer *ctx)
{
    struct as_dims x, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};

    if (as_in_dims(ctx, 0, &x) && x.rank > 0)
        out.at[0] = x.at[0];
    (void)as_in_int(ctx, 1, &out.at[1]);
    return as_tfl_out(ctx, 0, &out);
}

static int matrix_diag(struct as_infer *ctx)
{
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x) || x.rank < 1 || x.rank == AS_MAX_RANK)
        return as_tfl_out(ctx, 0, NULL);
    as_tfl_insert(&x, x.rank, x.at[x.rank - 1]);
    return as_tfl_out(ctx, 0, &x);
}

/* ---- reducing ---- */

static int reduce(struct as_infer *ctx)
{
    bool keep = attr(ctx, "keep_dims") != 0, gone[AS_MAX_RANK] = {false};
    int64_t axes[AS_MAX_RANK];
    int n = as_tfl_list(ctx, 1, axes);
    struct as_dims x, out = {0, {0}};

    if (!as_in_dims(ctx, 0, &x))
        return as_tfl_out(ctx, 0, NULL);
    if (n < 0)
        return keep ? as_tfl_unknown(ctx, &x, "its axes are not constants")
                    : as_unknown(ctx, "its axes are not constants");
    for (int i = 0; i < n; i++) {
        int axis, rc = as_tfl_axis(ctx, axes[i], x.rank, &axis);

        if (rc < 0)
            return rc;
        gone[axis] = true;
    }
    for (int i = 0; i < x.rank; i++)
        if (!gone[i])
            out.at[out.rank++] = x.at[i];
        else if (keep)
            out.at[out.rank++] = 1;
    return as_tfl_out(ctx, 0, &out);
}

/* ---- space ---- */

static int shrink(struct as_infer *ctx, int64_t *dim, int64_t by)
{
    if (*dim == AS_DIM_UNKNOWN || by == AS_DIM_UNKNOWN) {
        *dim = AS_DIM_UNKNOWN;
        return ASSAY_OK;
    }
    if (by < 1 || *dim % by != 0)
        return as_conflict(ctx, "%lld cannot be split by %lld", (long long)*dim, (long long)by);
    *dim /= by;
    return ASSAY_OK;
}

static int depth_to_space(struct as_infer *ctx)
{
    int64_t block = attr(ctx, "block_size");
    struct as_dims x;
    int rc;

    if (!as_in_dims(ctx, 0, &x))
        return as_tfl_out(ctx, 0, NULL);
    if (x.rank != 4 || block < 1)
        return as_conflict(ctx, "blocks of %lld in %d dimensions", (long long)block, x.rank);
    if (ctx->node->op == AS_OP_TFL_DEPTH_TO_SPACE) {
        rc = shrink(ctx, &x.at[3], as_dim_mul(block, block));
        x.at[1] = as_dim_mul(x.at[1], block);
        x.at[2] = as_dim_mul(x.at[2], block);
    } else {
        rc = shrink(ctx, &x.at[1], block);
        if (rc == ASSAY_OK)
            rc = shrink(ctx, &x.at[2], block);
        x.at[3] = as_dim_mul(x.at[3], as_dim_mul(block, block));
    }
    return rc == ASSAY_OK ? as_tfl_out(ctx, 0, &x) : rc;
}

/* Blocks of the spatial axes go into the batch, or come back from it and are cropped. */
static int space_to_batch(struct as_infer *ctx)
{
    bool back = ctx->node->op == AS_OP_TFL_BATCH_TO_SPACE_ND;
    int64_t block[AS_MAX_RANK];
    int n = as_tfl_list(ctx, 1, block), rc = ASSAY_OK;
    const struct as_data *edges = as_in_data(ctx, 2);
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return as_tfl_out(ctx, 0, NULL);
    if (n < 0 || !edges || !as_dtype_is_integer(edges->dtype))
        return as_tfl_unknown(ctx, &x, "its blocks are not constants");
    if (n >= x.rank || edges->n != 2 * (uint64_t)n)
        return as_conflict(ctx, "%d blocks for %d dimensions", n, x.rank);
    for (int i = 0; i < n && rc == ASSAY_OK; i++) {
        int64_t before = as_data_i64(edges, 2 * (uint64_t)i);
        int64_t after = as_data_i64(edges, 2 * (uint64_t)i + 1), *dim = &x.at[1 + i];

        if (before < 0 || after < 0 || block[i] < 1)
            return as_conflict(ctx, "a block of %lld", (long long)block[i]);
        if (back) {
            rc = shrink(ctx, &x.at[0], block[i]);
            *dim = as_dim_add(as_dim_mul(*dim, block[i]), 0);
            if (*dim != AS_DIM_UNKNOWN && (before > *dim || after > *dim - before))
                return as_conflict(ctx, "nothing is left after cropping");
            *dim = *dim == AS_DIM_UNKNOWN ? *dim : *dim - before - after;
        } else {
            x.at[0] = as_dim_mul(x.at[0], block[i]);
            *dim = as_dim_add(as_dim_add(*dim, before), after);
            rc = shrink(ctx, dim, block[i]);
        }
    }
    return rc == ASSAY_OK ? as_tfl_out(ctx, 0, &x) : rc;
}

static int rfft2d(struct as_infer *ctx)
{
    int64_t length[AS_MAX_RANK];
    int n = as_tfl_list(ctx, 1, length);
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x) || x.rank < 2)
        return as_tfl_out(ctx, 0, NULL);
    x.at[x.rank - 2] = n == 2 && length[0] >= 0 ? length[0] : AS_DIM_UNKNOWN;
    x.at[x.rank - 1] = n == 2 && length[1] >= 0 ? length[1] / 2 + 1 : AS_DIM_UNKNOWN;
    return as_tfl_out(ctx, 0, &x);
}

const struct as_op_rule as_rules_tflite_gather[] = {
    {AS_OP_TFL_ONE_HOT, one_hot, NULL},
    {AS_OP_TFL_TOPK_V2, topk, NULL},
    {AS_OP_TFL_WHERE, where, NULL},
    {AS_OP_TFL_MULTINOMIAL, multinomial, NULL},
    {AS_OP_TFL_MATRIX_DIAG, matrix_diag, NULL},
    {AS_OP_TFL_REDUCE_ANY, reduce, NULL},
    {AS_OP_TFL_REDUCE_ALL, reduce, NULL},
    {AS_OP_TFL_DEPTH_TO_SPACE, depth_to_space, NULL},
    {AS_OP_TFL_SPACE_TO_DEPTH, depth_to_space, NULL},
    {AS_OP_TFL_SPACE_TO_BATCH_ND, space_to_batch, NULL},
    {AS_OP_TFL_BATCH_TO_SPACE_ND, space_to_batch, NULL},
    {AS_OP_TFL_RFFT2D, rfft2d, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
