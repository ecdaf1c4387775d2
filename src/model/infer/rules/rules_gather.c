/* model/infer/rules/rules_gather.c - shape rules of operators that pick or place elements by index.
 * What indices point at matters only for constants; shapes come from shapes. */
#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

static int bad_axis(struct as_infer *ctx, int64_t axis, int rank)
{
    return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)axis, rank);
}

static int too_many(struct as_infer *ctx, int rank)
{
    return as_conflict(ctx, "%d dimensions; at most %d are supported", rank, AS_MAX_RANK);
}

static int gather(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 0);
    int64_t batch = as_node_extra_int(ctx->node, "batch_dims", 0);
    struct as_dims in, at, out = {0};
    int axis;

    if (!as_in_dims(ctx, 0, &in) || !as_in_dims(ctx, 1, &at))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!as_axis(said, in.rank, &axis))
        return bad_axis(ctx, said, in.rank);
    batch = batch < 0 ? batch + at.rank : batch;
    if (batch < 0 || batch > axis || batch > at.rank)
        return as_conflict(ctx, "batch_dims is %lld", (long long)batch);
    if (in.rank + at.rank - 1 > AS_MAX_RANK)
        return too_many(ctx, in.rank + at.rank - 1);
    for (int i = 0; i < axis; i++)
        out.at[out.rank++] = in.at[i];
    for (int i = (int)batch; i < at.rank; i++)
        out.at[out.rank++] = at.at[i];
    for (int i = axis + 1; i < in.rank; i++)
        out.at[out.rank++] = in.at[i];
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int gather_elements(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims in, at;
    int axis;
    bool has_in = as_in_dims(ctx, 0, &in), has_at = as_in_dims(ctx, 1, &at);

    if (has_in && has_at && in.rank != at.rank)
        return as_conflict(ctx, "the indices have %d dimensions, the data %d", at.rank, in.rank);
    if (has_in && !as_axis(said, in.rank, &axis))
        return bad_axis(ctx, said, in.rank);
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), has_at ? &at : NULL);
}

static int gather_nd(struct as_infer *ctx)
{
    int64_t batch = as_node_int(ctx->node, "batch_dims", 0), last;
    struct as_dims in, at, out = {0};

    if (!as_in_dims(ctx, 0, &in) || !as_in_dims(ctx, 1, &at))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (at.rank < 1 || in.rank < 1 || batch < 0 || batch >= in.rank || batch >= at.rank)
        return as_conflict(ctx, "%lld batch dimensions of %d and %d", (long long)batch, in.rank,
                           at.rank);
    last = at.at[at.rank - 1];
    if (last == AS_DIM_UNKNOWN) {
        (void)as_unknown(ctx, "the length of an index is not known");
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    }
    if (last < 1 || last > in.rank - batch)
        return as_conflict(ctx, "an index of %lld numbers into %d dimensions", (long long)last,
                           in.rank);
    if (at.rank - 1 + in.rank - (int)batch - (int)last > AS_MAX_RANK)
        return too_many(ctx, at.rank - 1 + in.rank - (int)batch - (int)last);
    for (int i = 0; i < at.rank - 1; i++)
        out.at[out.rank++] = at.at[i];
    for (int i = (int)(batch + last); i < in.rank; i++)
        out.at[out.rank++] = in.at[i];
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int scatter(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

static int one_hot(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", -1), depth = AS_DIM_UNKNOWN;
    struct as_dims at, out = {0};
    double real;
    int axis;

    if (as_in_float(ctx, 1, &real) && real >= 0 && real < 4e18)
        depth = (int64_t)real;
    else if (as_in_data(ctx, 1) && as_in_float(ctx, 1, &real))
        return as_conflict(ctx, "the depth is negative or too large");
    else
        (void)as_unknown(ctx, "the depth is not known before it runs");
    if (!as_in_dims(ctx, 0, &at))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 2), NULL);
    if (at.rank + 1 > AS_MAX_RANK)
        return too_many(ctx, at.rank + 1);
    if (!as_axis(said, at.rank + 1, &axis))
        return bad_axis(ctx, said, at.rank + 1);
    for (int i = 0; i <= at.rank; i++)
        out.at[out.rank++] = i == axis ? depth : at.at[i - (i > axis)];
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 2), &out);
}

const struct as_op_rule as_rules_gather[] = {
    {AS_OP_Gather, gather, as_fold_gather},
    {AS_OP_GatherElements, gather_elements, as_fold_gather_elements},
    {AS_OP_GatherND, gather_nd, as_fold_gather_nd},
    {AS_OP_Scatter, scatter, as_fold_scatter_elements},
    {AS_OP_ScatterElements, scatter, as_fold_scatter_elements},
    {AS_OP_ScatterND, scatter, as_fold_scatter_nd},
    {AS_OP_OneHot, one_hot, as_fold_one_hot},
    {AS_OP_UNKNOWN, NULL, NULL},
};
