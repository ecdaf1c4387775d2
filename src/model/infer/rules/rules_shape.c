/* model/infer/rules/rules_shape.c - shape rules of operators that only arrange elements anew.
 * Slices, pads and splits are in fold_shape.c, beside the folds that share their arithmetic. */
#include <string.h>

#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

static int bad_axis(struct as_infer *ctx, int64_t axis, int rank)
{
    return as_conflict(ctx, "axis %lld of a tensor with %d dimensions", (long long)axis, rank);
}

/* A few numbers from attribute `name`, else from input `i`. False: not known. */
static bool list_of(const struct as_infer *ctx, const char *name, size_t i, struct as_dims *out)
{
    struct as_ints ints;

    if (!as_node_ints(ctx->node, name, &ints))
        return as_in_list(ctx, i, out);
    out->rank = 0;
    if (ints.n > AS_MAX_RANK)
        return false;
    for (; (size_t)out->rank < ints.n; out->rank++)
        out->at[out->rank] = ints.at[out->rank];
    return true;
}

static bool all_known(const struct as_dims *list)
{
    for (int i = 0; i < list->rank; i++)
        if (list->at[i] == AS_DIM_UNKNOWN)
            return false;
    return true;
}

static int unknown_of_rank(struct as_infer *ctx, int64_t rank)
{
    struct as_dims out = {0};

    if (rank == AS_DIM_UNKNOWN)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (rank < 0 || rank > AS_MAX_RANK)
        return as_conflict(ctx, "%lld dimensions; at most %d are supported", (long long)rank,
                           AS_MAX_RANK);
    for (; out.rank < rank; out.rank++)
        out.at[out.rank] = AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

/* ---- Reshape ---- */

/* What is left of both sides when dimensions that are copied are taken from each. */
struct reshaping {
    const struct as_dims *in; /* NULL: not known */
    bool copied[AS_MAX_RANK]; /* of `in`, and so of `out` */
    struct as_dims out;
    int open, n_open; /* the last dimension to be found, and how many there are */
};

static int place_dim(struct as_infer *ctx, struct reshaping *r, int i, int64_t want, bool zero_is)
{
    if (want == 0 && !zero_is) {
        if (r->in && i >= r->in->rank)
            return as_conflict(ctx, "dimension %d is to be copied, but there are only %d", i,
                               r->in->rank);
        r->copied[i] = r->in != NULL;
        r->out.at[i] = r->in ? r->in->at[i] : AS_DIM_UNKNOWN;
        if (!r->in)
            r->n_open += 2; /* neither is to be had */
        return ASSAY_OK;
    }
    if (want < -1 && want != AS_DIM_UNKNOWN)
        return as_conflict(ctx, "dimension %d of the shape is %lld", i, (long long)want);
    r->out.at[i] = want < 0 ? AS_DIM_UNKNOWN : want;
    if (want < 0) {
        r->open = i;
        r->n_open++;
    }
    return ASSAY_OK;
}

static int64_t rest_of(const struct as_dims *dims, const bool *copied, int skip)
{
    struct as_dims rest = {0};

    for (int i = 0; i < dims->rank; i++)
        if (!copied[i] && i != skip)
            rest.at[rest.rank++] = dims->at[i];
    return as_dims_product(&rest, 0, rest.rank);
}

static int settle(struct as_infer *ctx, struct reshaping *r)
{
    int64_t from, to;

    if (!r->in || r->n_open > 1)
        return ASSAY_OK;
    from = rest_of(r->in, r->copied, -1);
    to = rest_of(&r->out, r->copied, r->n_open ? r->open : -1);
    if (from < 0 || to < 0)
        return ASSAY_OK;
    if (r->n_open == 0 && from != to)
        return as_conflict(ctx, "%lld elements become %lld", (long long)from, (long long)to);
    if (r->n_open == 0 || to == 0)
        return ASSAY_OK;
    if (from % to != 0)
        return as_conflict(ctx, "%lld elements cannot be divided by %lld", (long long)from,
                           (long long)to);
    r->out.at[r->open] = from / to;
    return ASSAY_OK;
}

static int reshape_to(struct as_infer *ctx, const struct as_dims *want)
{
    bool zero_is = as_node_int(ctx->node, "allowzero", 0) != 0;
    struct reshaping r = {.out.rank = want->rank};
    struct as_dims in;
    int rc = ASSAY_OK, minus = 0;

    r.in = as_in_dims(ctx, 0, &in) ? &in : NULL;
    for (int i = 0; i < want->rank && rc == ASSAY_OK; i++) {
        minus += want->at[i] == -1;
        rc = place_dim(ctx, &r, i, want->at[i], zero_is);
    }
    if (rc == ASSAY_OK && minus > 1)
        rc = as_conflict(ctx, "more than one dimension of the shape is -1");
    if (rc == ASSAY_OK)
        rc = settle(ctx, &r);
    if (rc < 0)
        return rc;
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &r.out);
    as_fold_share(ctx, 0, 0);
    return rc;
}

static int reshape(struct as_infer *ctx)
{
    int64_t length = as_in_length(ctx, 1);
    struct as_dims want;

    if (list_of(ctx, "shape", 1, &want))
        return reshape_to(ctx, &want);
    if (length < 0 || length > AS_MAX_RANK) {
        (void)as_unknown(ctx, "the shape is not known before it runs");
        return unknown_of_rank(ctx, length);
    }
    for (want.rank = 0; want.rank < length; want.rank++)
        want.at[want.rank] = AS_DIM_UNKNOWN;
    if (length > 1)
        (void)as_unknown(ctx, "the shape is not known before it runs");
    return reshape_to(ctx, &want);
}

static int flatten(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 1);
    struct as_dims in, out = {2, {AS_DIM_UNKNOWN, AS_DIM_UNKNOWN}};
    int axis, rc;

    if (as_in_dims(ctx, 0, &in)) {
        axis = in.rank;
        if (said != in.rank && !as_axis(said, in.rank, &axis))
            return bad_axis(ctx, said, in.rank);
        out.at[0] = as_dims_product(&in, 0, axis);
        out.at[1] = as_dims_product(&in, axis, in.rank);
        for (int i = 0; i < 2; i++)
            out.at[i] = out.at[i] < 0 ? AS_DIM_UNKNOWN : out.at[i];
    }
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    as_fold_share(ctx, 0, 0);
    return rc;
}

/* ---- Squeeze and Unsqueeze ---- */

static bool has_axes(const struct as_infer *ctx)
{
    struct as_ints ints;

    return as_node_ints(ctx->node, "axes", &ints) || as_in_type(ctx, 1);
}

static int squeeze_all(struct as_infer *ctx, const struct as_dims *in)
{
    struct as_dims out = {0};
    int rc;

    if (!all_known(in)) {
        (void)as_unknown(ctx, "which dimensions are 1 is not known");
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    }
    for (int i = 0; i < in->rank; i++)
        if (in->at[i] != 1)
            out.at[out.rank++] = in->at[i];
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    as_fold_share(ctx, 0, 0);
    return rc;
}

static int squeeze(struct as_infer *ctx)
{
    struct as_dims in, out = {0}, axes;
    bool gone[AS_MAX_RANK] = {false};
    int rc;

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!has_axes(ctx))
        return squeeze_all(ctx, &in);
    if (!list_of(ctx, "axes", 1, &axes) || !all_known(&axes)) {
        int64_t n = as_in_length(ctx, 1);

        (void)as_unknown(ctx, "the axes are not known before it runs");
        return unknown_of_rank(ctx, n < 0 ? n : in.rank - n);
    }
    for (int i = 0; i < axes.rank; i++) {
        int axis;

        if (!as_axis(axes.at[i], in.rank, &axis))
            return bad_axis(ctx, axes.at[i], in.rank);
        if (in.at[axis] != 1 && in.at[axis] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "dimension %d is %lld, not 1", axis, (long long)in.at[axis]);
        gone[axis] = true;
    }
    for (int i = 0; i < in.rank; i++)
        if (!gone[i])
            out.at[out.rank++] = in.at[i];
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    as_fold_share(ctx, 0, 0);
    return rc;
}

static int unsqueeze(struct as_infer *ctx)
{
    bool made[AS_MAX_RANK] = {false};
    struct as_dims in, out = {0}, axes;
    int rc;

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!list_of(ctx, "axes", 1, &axes) || !all_known(&axes)) {
        (void)as_unknown(ctx, "the axes are not known before it runs");
        return unknown_of_rank(ctx, as_dim_add(in.rank, as_in_length(ctx, 1)));
    }
    out.rank = in.rank + axes.rank;
    if (out.rank > AS_MAX_RANK)
        return unknown_of_rank(ctx, out.rank);
    for (int i = 0; i < axes.rank; i++) {
        int axis;

        if (!as_axis(axes.at[i], out.rank, &axis))
            return bad_axis(ctx, axes.at[i], out.rank);
        if (made[axis])
            return as_conflict(ctx, "axis %d is given twice", axis);
        made[axis] = true;
    }
    for (int i = 0, from = 0; i < out.rank; i++)
        out.at[i] = made[i] ? 1 : in.at[from++];
    rc = as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
    as_fold_share(ctx, 0, 0);
    return rc;
}

/* ---- order ---- */

/* Where each dimension comes from. False: no permutation of them. */
static bool order_of(const struct as_infer *ctx, int rank, int *from)
{
    bool used[AS_MAX_RANK] = {false};
    struct as_dims list;
    struct as_ints perm;

    /* In TensorFlow Lite the order is an input. */
    if (as_node_is_lowered(ctx->node) && as_in_list(ctx, 1, &list)) {
        perm = (struct as_ints){(size_t)list.rank, list.at};
    } else if (!as_node_ints(ctx->node, "perm", &perm)) {
        for (int i = 0; i < rank; i++)
            from[i] = rank - 1 - i;
        return true;
    }
    if (perm.n != (size_t)rank)
        return false;
    for (int i = 0; i < rank; i++) {
        if (!as_axis(perm.at[i], rank, &from[i]) || used[from[i]])
            return false;
        used[from[i]] = true;
    }
    return true;
}

static int transpose(struct as_infer *ctx)
{
    struct as_dims in, out;
    int from[AS_MAX_RANK];
    struct as_ints perm;

    if (!as_in_dims(ctx, 0, &in))
        return unknown_of_rank(ctx, as_node_ints(ctx->node, "perm", &perm) ? (int64_t)perm.n
                                                                           : AS_DIM_UNKNOWN);
    if (as_node_is_lowered(ctx->node) && !as_in_data(ctx, 1)) {
        (void)as_unknown(ctx, "its order is not a constant");
        return unknown_of_rank(ctx, in.rank);
    }
    if (!order_of(ctx, in.rank, from))
        return as_conflict(ctx, "'perm' is not a permutation of %d dimensions", in.rank);
    out.rank = in.rank;
    for (int i = 0; i < in.rank; i++)
        out.at[i] = in.at[from[i]];
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int fold_transpose(struct as_infer *ctx)
{
    int64_t strides[AS_MAX_RANK];
    int from[AS_MAX_RANK] = {0};
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;

    if (!as_fold_in(ctx, 0, &in) || !order_of(ctx, in.dims.rank, from) ||
        !as_type_dims(as_fold_type(ctx, 0), &dims) || dims.rank != in.dims.rank ||
        !as_fold_start(ctx, &out, in.data->dtype, &dims))
        return ASSAY_OK;
    for (int i = 0; i < dims.rank; i++)
        strides[i] = in.strides[from[i]];
    as_fold_view(&out, in.data, strides, 0);
    return as_fold_end(ctx, 0, &out);
}

/* ---- Concat ---- */

/* Adds one input to what is known of the others. */
static int concat_one(struct as_infer *ctx, struct as_dims *all, int axis,
                      const struct as_dims *dims)
{
    if (dims->rank != all->rank)
        return as_conflict(ctx, "a tensor with %d dimensions is joined to one with %d", dims->rank,
                           all->rank);
    for (int i = 0; i < all->rank; i++) {
        if (i == axis)
            all->at[i] = as_dim_add(all->at[i], dims->at[i]);
        else if (all->at[i] == AS_DIM_UNKNOWN)
            all->at[i] = dims->at[i];
        else if (dims->at[i] != AS_DIM_UNKNOWN && dims->at[i] != all->at[i])
            return as_conflict(ctx, "dimension %d is %lld in one input and %lld in another", i,
                               (long long)all->at[i], (long long)dims->at[i]);
    }
    return ASSAY_OK;
}

static int concat(struct as_infer *ctx)
{
    int64_t said = as_node_int(ctx->node, "axis", 1);
    unsigned dtype = AS_DTYPE_UNKNOWN;
    bool begun = false, open = false;
    struct as_dims all = {0}, dims;
    int axis = 0, rc = ASSAY_OK;

    for (uint32_t i = 0; i < ctx->node->n_inputs && rc == ASSAY_OK; i++) {
        if (dtype == AS_DTYPE_UNKNOWN)
            dtype = as_in_dtype(ctx, i);
        if (!as_in_dims(ctx, i, &dims)) {
            open = true;
            continue;
        }
        if (!as_axis(said, dims.rank, &axis))
            return bad_axis(ctx, said, dims.rank);
        if (begun)
            rc = concat_one(ctx, &all, axis, &dims);
        else
            all = dims;
        begun = true;
    }
    if (rc < 0)
        return rc;
    if (open && begun)
        all.at[axis] = AS_DIM_UNKNOWN;
    return as_out_tensor(ctx, 0, dtype, begun ? &all : NULL);
}

/* ---- larger by repeating ---- */

static int expand(struct as_infer *ctx)
{
    bool has_dims;
    struct as_dims in, shape, out;
    int64_t length = as_in_length(ctx, 1);

    has_dims = as_in_dims(ctx, 0, &in);
    if (!as_in_list(ctx, 1, &shape)) {
        (void)as_unknown(ctx, "the shape is not known before it runs");
        if (length < 0 || length > AS_MAX_RANK || !has_dims)
            return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
        for (shape.rank = 0; shape.rank < length; shape.rank++)
            shape.at[shape.rank] = AS_DIM_UNKNOWN;
    }
    if (!has_dims)
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    for (int i = 0; i < shape.rank; i++)
        if (shape.at[i] < 0 && shape.at[i] != AS_DIM_UNKNOWN) /* some exporters write -1 for 1 */
            shape.at[i] = shape.at[i] == -1 ? 1 : AS_DIM_UNKNOWN;
    if (!as_dims_broadcast(&in, &shape, &out))
        return as_conflict(ctx, "the tensor cannot be broadcast to the shape");
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &out);
}

static int fold_expand(struct as_infer *ctx)
{
    int64_t strides[AS_MAX_RANK];
    struct as_fold_out out;
    struct as_fold_in in;
    struct as_dims dims;

    if (!as_fold_in(ctx, 0, &in) || !as_type_dims(as_fold_type(ctx, 0), &dims) ||
        dims.rank < in.dims.rank || !as_fold_start(ctx, &out, in.data->dtype, &dims))
        return ASSAY_OK;
    as_fold_broadcast(&in, &dims, strides);
    as_fold_view(&out, in.data, strides, 0);
    return as_fold_end(ctx, 0, &out);
}

/* Before opset 6: so many tiles along one axis. */
static bool old_repeats(const struct as_infer *ctx, const struct as_dims *in,
                        struct as_dims *repeats)
{
    int64_t tiles, said;
    int axis;

    if (!as_in_int(ctx, 1, &tiles) || !as_in_int(ctx, 2, &said) || !as_axis(said, in->rank, &axis))
        return false;
    repeats->rank = in->rank;
    for (int i = 0; i < in->rank; i++)
        repeats->at[i] = i == axis ? tiles : 1;
    return true;
}

static int tile(struct as_infer *ctx)
{
    struct as_dims in, repeats;
    bool known;

    if (!as_in_dims(ctx, 0, &in))
        return unknown_of_rank(ctx, ctx->opset < 6 ? AS_DIM_UNKNOWN : as_in_length(ctx, 1));
    known = ctx->opset < 6 && as_in_type(ctx, 2) ? old_repeats(ctx, &in, &repeats)
                                                 : as_in_list(ctx, 1, &repeats);
    if (!known) {
        (void)as_unknown(ctx, "the repeats are not known before it runs");
        return unknown_of_rank(ctx, in.rank);
    }
    if (repeats.rank != in.rank)
        return as_conflict(ctx, "%d repeats for %d dimensions", repeats.rank, in.rank);
    for (int i = 0; i < in.rank; i++) {
        if (repeats.at[i] < 0 && repeats.at[i] != AS_DIM_UNKNOWN)
            return as_conflict(ctx, "dimension %d is repeated %lld times", i,
                               (long long)repeats.at[i]);
        in.at[i] = as_dim_mul(in.at[i], repeats.at[i]);
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &in);
}

static int like_first(struct as_infer *ctx)
{
    return as_out_like(ctx, 0, 0);
}

static int center_crop_pad(struct as_infer *ctx)
{
    struct as_ints axes;
    struct as_dims in, shape;
    bool some = as_node_ints(ctx->node, "axes", &axes), known = as_in_list(ctx, 1, &shape);

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (!known)
        (void)as_unknown(ctx, "the shape is not known before it runs");
    else if ((some ? axes.n : (size_t)in.rank) != (size_t)shape.rank)
        return as_conflict(ctx, "%d lengths are given for %zu axes", shape.rank,
                           some ? axes.n : (size_t)in.rank);
    for (size_t i = 0; i < (some ? axes.n : (size_t)in.rank); i++) {
        int64_t said = some ? axes.at[i] : (int64_t)i;
        int axis;

        if (!as_axis(said, in.rank, &axis))
            return bad_axis(ctx, said, in.rank);
        in.at[axis] = known ? shape.at[i] : AS_DIM_UNKNOWN;
    }
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &in);
}

const struct as_op_rule as_rules_shape[] = {
    {AS_OP_Reshape, reshape, NULL},
    {AS_OP_Flatten, flatten, NULL},
    {AS_OP_Squeeze, squeeze, NULL},
    {AS_OP_Unsqueeze, unsqueeze, NULL},
    {AS_OP_Transpose, transpose, fold_transpose},
    {AS_OP_Concat, concat, as_fold_concat},
    {AS_OP_Expand, expand, fold_expand},
    {AS_OP_Tile, tile, as_fold_tile},
    {AS_OP_Slice, as_infer_slice, as_fold_slice},
    {AS_OP_Split, as_infer_split, as_fold_split},
    {AS_OP_Pad, as_infer_pad, as_fold_pad},
    {AS_OP_Trilu, like_first, NULL},
    {AS_OP_ReverseSequence, like_first, NULL},
    {AS_OP_CenterCropPad, center_crop_pad, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
