/* model/infer/rules/rules_reduce.c - shape rules of operators along axes: Reduce*, ArgMax, Softmax,
 * TopK. Axes are an attribute in older opsets and an input in newer ones; either is taken. */
#include <string.h>

#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

/* Axes given as an attribute or as input 1; `n` is how many, also when they are not known. */
struct axes {
    bool known;
    int64_t n; /* AS_DIM_UNKNOWN: not even that */
    struct as_dims at;
};

static bool read_axes(const struct as_infer *ctx, struct axes *axes)
{
    struct as_ints ints;

    *axes = (struct axes){.known = true};
    if (as_node_ints(ctx->node, "axes", &ints)) {
        if (ints.n > AS_MAX_RANK)
            return false;
        axes->at.rank = (int)ints.n;
        if (ints.n > 0)
            memcpy(axes->at.at, ints.at, ints.n * sizeof *ints.at);
    } else if (as_in_type(ctx, 1)) {
        axes->known = as_in_list(ctx, 1, &axes->at);
        for (int i = 0; i < axes->at.rank; i++)
            axes->known &= axes->at.at[i] != AS_DIM_UNKNOWN;
        axes->n = as_in_length(ctx, 1);
        axes->known |= axes->n == 0;
        return true;
    }
    axes->n = axes->at.rank;
    return true;
}

/* The axes are somewhere, only their count may be known. */
static int reduce_unknown(struct as_infer *ctx, const struct as_dims *in, const struct axes *axes,
                          bool keep)
{
    struct as_dims out = {0};

    (void)as_unknown(ctx, "the axes are not known before it runs");
    if (!keep && axes->n == AS_DIM_UNKNOWN)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!keep && axes->n > in->rank)
        return as_conflict(ctx, "%lld axes of a tensor with %d", (long long)axes->n, in->rank);
    out.rank = keep ? in->rank : in->rank - (int)axes->n;
    for (int i = 0; i < out.rank; i++)
        out.at[i] = AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int mark_axes(struct as_infer *ctx, const struct as_dims *in, const struct axes *axes,
                     bool *marked)
{
    memset(marked, axes->at.rank == 0, AS_MAX_RANK * sizeof *marked);
    for (int i = 0; i < axes->at.rank; i++) {
        int axis;

        if (!as_axis(axes->at.at[i], in->rank, &axis))
            return as_conflict(ctx, "axis %lld of a tensor with %d dimensions",
                               (long long)axes->at.at[i], in->rank);
        marked[axis] = true;
    }
    return ASSAY_OK;
}

static void drop_axes(const struct as_dims *in, const bool *marked, bool keep, struct as_dims *out)
{
    out->rank = 0;
    for (int i = 0; i < in->rank; i++) {
        if (!marked[i])
            out->at[out->rank++] = in->at[i];
        else if (keep)
            out->at[out->rank++] = 1;
    }
}

static bool is_noop(const struct as_infer *ctx, const struct axes *axes)
{
    return axes->known && axes->at.rank == 0 &&
           as_node_int(ctx->node, "noop_with_empty_axes", 0) != 0;
}

static int reduce(struct as_infer *ctx)
{
    bool keep = as_node_int(ctx->node, "keepdims", 1) != 0, marked[AS_MAX_RANK];
    struct as_dims in, out;
    struct axes axes;
    int rc;

    if (!read_axes(ctx, &axes))
        return as_conflict(ctx, "more than %d axes", AS_MAX_RANK);
    if (is_noop(ctx, &axes))
        return as_out_like(ctx, 0, 0);
    if (!as_in_dims(ctx, 0, &in)) {
        out.rank = 0;
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0),
                             !keep && axes.known && axes.at.rank == 0 ? &out : NULL);
    }
    if (!axes.known)
        return reduce_unknown(ctx, &in, &axes, keep);
    rc = mark_axes(ctx, &in, &axes, marked);
    if (rc < 0)
        return rc;
    drop_axes(&in, marked, keep, &out);
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int fold_reduce(struct as_infer *ctx)
{
    bool marked[AS_MAX_RANK];
    struct as_dims in;
    struct axes axes;

    if (!read_axes(ctx, &axes) || !axes.known || !as_in_dims(ctx, 0, &in) ||
        mark_axes(ctx, &in, &axes, marked) < 0)
        return ASSAY_OK;
    if (is_noop(ctx, &axes))
        memset(marked, 0, sizeof marked);
    return as_fold_reduce(ctx, marked);
}

/* One axis by attribute, checked against the first input. */
static int one_axis(struct as_infer *ctx, int64_t fallback, const struct as_dims *in, int *axis)
{
    int64_t said = as_node_int(ctx->node, "axis", fallback);

    if (!as_axis(said, in->rank, axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           in->rank);
    return ASSAY_OK;
}

/* In TensorFlow Lite the axis is an input and the indices may be of 32 bits. */
static int arg(struct as_infer *ctx)
{
    bool keep = as_node_int(ctx->node, "keepdims", 1) != 0, marked[AS_MAX_RANK] = {false};
    unsigned dtype = as_dtype_of_onnx(as_node_extra_int(ctx->node, "output_dtype", 0));
    int64_t said = as_node_int(ctx->node, "axis", 0);
    struct as_dims in, out;
    int axis;

    dtype = dtype == AS_DTYPE_UNKNOWN ? (unsigned)AS_DTYPE_I64 : dtype;
    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, dtype, NULL);
    if (as_node_is_lowered(ctx->node) && !as_in_int(ctx, 1, &said)) {
        (void)as_out_tensor(ctx, 0, dtype, NULL);
        return as_unknown(ctx, "its axis is not a constant");
    }
    if (!as_axis(said, in.rank, &axis))
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)said,
                           in.rank);
    marked[axis] = true;
    drop_axes(&in, marked, keep, &out);
    return as_out_tensor(ctx, 0, dtype, &out);
}

/* From opset 13 the axis is one dimension; before, the tensor is seen as a matrix split there. */
static int softmax(struct as_infer *ctx)
{
    int64_t axis = as_node_int(ctx->node, "axis", ctx->opset >= 13 ? -1 : 1);
    struct as_dims in;

    if (as_in_dims(ctx, 0, &in) &&
        (axis < -(int64_t)in.rank || axis > in.rank - (ctx->opset >= 13 ? 1 : 0)) && in.rank > 0)
        return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)axis,
                           in.rank);
    return as_out_like(ctx, 0, 0);
}

static int along(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

static int top_k(struct as_infer *ctx)
{
    struct as_dims dims;
    int64_t k = as_node_int(ctx->node, "k", AS_DIM_UNKNOWN);
    int axis, rc;

    if (k == AS_DIM_UNKNOWN && !as_in_int(ctx, 1, &k))
        k = AS_DIM_UNKNOWN;
    if (!as_in_dims(ctx, 0, &dims)) {
        rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
        return rc < 0 ? rc : as_out_tensor(ctx, 1, AS_DTYPE_I64, NULL);
    }
    rc = one_axis(ctx, -1, &dims, &axis);
    if (rc < 0)
        return rc;
    if (k == AS_DIM_UNKNOWN)
        (void)as_unknown(ctx, "how many are taken is not known before it runs");
    else if (k < 0 || (dims.at[axis] != AS_DIM_UNKNOWN && k > dims.at[axis]))
        return as_conflict(ctx, "%lld are taken of %lld", (long long)k, (long long)dims.at[axis]);
    dims.at[axis] = k;
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &dims);
    return rc < 0 ? rc : as_out_tensor(ctx, 1, AS_DTYPE_I64, &dims);
}

#define REDUCE(name)                                                                               \
    {                                                                                              \
        AS_OP_##name, reduce, fold_reduce                                                          \
    }

const struct as_op_rule as_rules_reduce[] = {
    REDUCE(ReduceL1),
    REDUCE(ReduceL2),
    REDUCE(ReduceLogSum),
    REDUCE(ReduceLogSumExp),
    REDUCE(ReduceMax),
    REDUCE(ReduceMean),
    REDUCE(ReduceMin),
    REDUCE(ReduceProd),
    REDUCE(ReduceSum),
    REDUCE(ReduceSumSquare),
    {AS_OP_ArgMax, arg, as_fold_arg},
    {AS_OP_ArgMin, arg, as_fold_arg},
    {AS_OP_Softmax, softmax, NULL},
    {AS_OP_LogSoftmax, softmax, NULL},
    {AS_OP_Hardmax, softmax, NULL},
    {AS_OP_CumSum, along, as_fold_cumsum},
    {AS_OP_TopK, top_k, as_fold_topk},
    {AS_OP_LpNormalization, along, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
