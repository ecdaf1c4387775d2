/* model/infer/rules/rules_tflite_shape.c - shape rules of TensorFlow Lite's operators that move
 * elements: reshape, join, cut, pad, gather, reduce. Small integers are followed, since they become
 * shapes.
 */
#include "model/infer/infer_rules.h"
#include "model/infer/rules/rules_tflite.h"

static int64_t attr(const struct as_infer *ctx, const char *name)
{
    return as_node_int(ctx->node, name, 0);
}

int as_tfl_axis(struct as_infer *ctx, int64_t said, int rank, int *axis)
{
    return as_axis(said, rank, axis)
               ? ASSAY_OK
               : as_conflict(ctx, "axis %lld is outside %d dimensions", (long long)said, rank);
}

int as_tfl_unknown(struct as_infer *ctx, struct as_dims *dims, const char *why)
{
    int rc;

    for (int i = 0; i < dims->rank; i++)
        dims->at[i] = AS_DIM_UNKNOWN;
    rc = as_tfl_out(ctx, 0, dims);
    return rc == ASSAY_OK ? as_unknown(ctx, "%s", why) : rc;
}

/* Dimensions that a constant input holds. */
static int shape_from(struct as_infer *ctx, size_t in)
{
    struct as_dims out, of;

    out.rank = as_tfl_list(ctx, in, out.at);
    if (out.rank >= 0)
        return as_tfl_out(ctx, 0, &out);
    if (!as_in_dims(ctx, in, &of) || of.rank != 1 || of.at[0] < 0 || of.at[0] > AS_MAX_RANK)
        return as_unknown(ctx, "its shape is not a constant");
    out.rank = (int)of.at[0];
    return as_tfl_unknown(ctx, &out, "its shape is not a constant");
}

static int shape_first(struct as_infer *ctx)
{
    return shape_from(ctx, 0);
}

static int shape_third(struct as_infer *ctx)
{
    return shape_from(ctx, 2);
}

/* ---- folding ---- */

int as_tfl_fold(struct as_infer *ctx, const int64_t *at, int n)
{
    struct as_value *out = as_node_output(ctx->graph, ctx->node, 0);
    struct as_data *data;

    if (!out || !as_dtype_is_integer(out->type.dtype) ||
        as_dtype_at(out->type.dtype)->block_elems > 1)
        return ASSAY_OK;
    for (int i = 0; i < n; i++)
        if (at[i] == AS_DIM_UNKNOWN)
            return ASSAY_OK;
    data = as_data_new(ctx->arena, out->type.dtype, (uint64_t)n);
    if (!data)
        return as_fail_nomem(ctx->err);
    for (int i = 0; i < n; i++)
        as_data_put_i64(data, (uint64_t)i, at[i]);
    out->data = data;
    return ASSAY_OK;
}

static int rank_of(struct as_infer *ctx)
{
    struct as_dims scalar = {0, {0}};

    return as_tfl_out(ctx, 0, &scalar);
}

static int fold_rank_of(struct as_infer *ctx)
{
    struct as_dims x;
    int64_t rank;

    if (!as_in_dims(ctx, 0, &x))
        return ASSAY_OK;
    rank = x.rank;
    return as_tfl_fold(ctx, &rank, 1);
}

/* Vectors and scalars one after another. */
static int fold_join(struct as_infer *ctx)
{
    int64_t all[AS_MAX_RANK], one[AS_MAX_RANK];
    int n = 0;

    for (size_t i = 0; i < ctx->node->n_inputs; i++) {
        int count = as_tfl_list(ctx, i, one);

        if (count < 0 || n + count > AS_MAX_RANK || as_in_type(ctx, i)->rank > 1)
            return ASSAY_OK;
        for (int k = 0; k < count; k++)
            all[n++] = one[k];
    }
    return as_tfl_fold(ctx, all, n);
}

/* One that only changes dimensions or dtype. */
static int fold_same(struct as_infer *ctx)
{
    int64_t all[AS_MAX_RANK];
    int n = as_tfl_list(ctx, 0, all);

    return n < 0 ? ASSAY_OK : as_tfl_fold(ctx, all, n);
}

/* ---- reshaping ---- */

/* One dimension may be -1. A shape written for another batch keeps all but its first, which is open
 * as long as nobody knows what there will be. */
static int fit_shape(struct as_infer *ctx, struct as_dims *shape)
{
    int64_t elems = AS_DIM_UNKNOWN, rest = 1;
    struct as_dims x;
    int open = -1;

    if (as_in_dims(ctx, 0, &x))
        elems = as_dims_product(&x, 0, x.rank);
    for (int i = 0; i < shape->rank; i++) {
        if (shape->at[i] < -1 || (shape->at[i] == -1 && open >= 0))
            return as_conflict(ctx, "its new shape holds %lld", (long long)shape->at[i]);
        if (shape->at[i] == -1)
            open = i;
        else
            rest = as_dim_mul(rest, shape->at[i]);
    }
    if (open < 0 && shape->rank > 0 && rest != elems) {
        open = 0;
        rest = 1;
        for (int i = 1; i < shape->rank; i++)
            rest = as_dim_mul(rest, shape->at[i]);
    }
    if (open >= 0) {
        if (elems >= 0 && rest > 0 && elems % rest != 0)
            return as_conflict(ctx, "%lld elements do not fit a shape of %lld", (long long)elems,
                               (long long)rest);
        shape->at[open] = elems >= 0 && rest > 0 ? elems / rest : AS_DIM_UNKNOWN;
    }
    return as_tfl_out(ctx, 0, shape);
}

static int reshape(struct as_infer *ctx)
{
    struct as_dims shape, of;
    struct as_ints given;

    shape.rank = as_tfl_list(ctx, 1, shape.at);
    if (shape.rank >= 0)
        return fit_shape(ctx, &shape);
    if (as_in_type(ctx, 1)) {
        if (!as_in_dims(ctx, 1, &of) || of.rank != 1 || of.at[0] < 0 || of.at[0] > AS_MAX_RANK)
            return as_unknown(ctx, "its new shape is not a constant");
        shape.rank = (int)of.at[0];
        return as_tfl_unknown(ctx, &shape, "its new shape is not a constant");
    }
    if (!as_node_ints(ctx->node, "new_shape", &given) || given.n > AS_MAX_RANK)
        return ASSAY_OK;
    shape.rank = (int)given.n;
    for (int i = 0; i < shape.rank; i++)
        shape.at[i] = given.at[i];
    return fit_shape(ctx, &shape);
}

void as_tfl_insert(struct as_dims *dims, int axis, int64_t dim)
{
    for (int i = dims->rank; i > axis; i--)
        dims->at[i] = dims->at[i - 1];
    dims->at[axis] = dim;
    dims->rank++;
}

void as_tfl_remove(struct as_dims *dims, int axis)
{
    for (int i = axis; i + 1 < dims->rank; i++)
        dims->at[i] = dims->at[i + 1];
    dims->rank--;
}

/* ---- joining and cutting ---- */

static int pack(struct as_infer *ctx)
{
    struct as_dims x;
    int axis, rc;

    if (!as_in_dims(ctx, 0, &x) || x.rank == AS_MAX_RANK)
        return as_tfl_out(ctx, 0, NULL);
    rc = as_tfl_axis(ctx, attr(ctx, "axis"), x.rank + 1, &axis);
    if (rc < 0)
        return rc;
    as_tfl_insert(&x, axis, ctx->node->n_inputs);
    return as_tfl_out(ctx, 0, &x);
}

static int unpack(struct as_infer *ctx)
{
    struct as_dims x;
    int axis, rc;

    if (!as_in_dims(ctx, 0, &x))
        return ASSAY_OK;
    rc = as_tfl_axis(ctx, attr(ctx, "axis"), x.rank, &axis);
    if (rc < 0)
        return rc;
    as_tfl_remove(&x, axis);
    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++)
        rc = as_tfl_out(ctx, i, &x);
    return rc;
}

static int slice(struct as_infer *ctx)
{
    int64_t begin[AS_MAX_RANK], size[AS_MAX_RANK];
    int n_begin = as_tfl_list(ctx, 1, begin), n_size = as_tfl_list(ctx, 2, size);
    struct as_dims x;

    if (!as_in_dims(ctx, 0, &x))
        return as_tfl_out(ctx, 0, NULL);
    if (n_size < 0)
        return as_tfl_unknown(ctx, &x, "its size is not a constant");
    if (n_size != x.rank || (n_begin >= 0 && n_begin != x.rank))
        return as_conflict(ctx, "a size of %d for %d dimensions", n_size, x.rank);
    for (int i = 0; i < x.rank; i++) {
        if (size[i] >= 0)
            x.at[i] = size[i];
        else if (n_begin < 0 || x.at[i] == AS_DIM_UNKNOWN)
            x.at[i] = AS_DIM_UNKNOWN;
        else if (begin[i] < 0 || begin[i] > x.at[i])
            return as_conflict(ctx, "a slice begins at %lld of %lld", (long long)begin[i],
                               (long long)x.at[i]);
        else
            x.at[i] -= begin[i];
    }
    return as_tfl_out(ctx, 0, &x);
}

/* ---- STRIDED_SLICE ---- */

struct strided {
    int64_t begin[AS_MAX_RANK], end[AS_MAX_RANK], step[AS_MAX_RANK];
    int n;
    int64_t begin_mask, end_mask, ellipsis, new_axis, shrink;
};

static bool bit(int64_t mask, int i)
{
    return ((uint64_t)mask >> i & 1) != 0;
}

static bool read_strided(const struct as_infer *ctx, struct strided *s)
{
    s->n = as_tfl_list(ctx, 1, s->begin);
    if (s->n < 0 || as_tfl_list(ctx, 2, s->end) != s->n || as_tfl_list(ctx, 3, s->step) != s->n)
        return false;
    s->begin_mask = attr(ctx, "begin_mask");
    s->end_mask = attr(ctx, "end_mask");
    s->ellipsis = attr(ctx, "ellipsis_mask");
    s->new_axis = attr(ctx, "new_axis_mask");
    s->shrink = attr(ctx, "shrink_axis_mask");
    for (int i = 0; i < s->n && attr(ctx, "offset") != 0; i++)
        s->end[i] = s->begin[i] > INT32_MAX || s->end[i] > INT32_MAX ? INT64_MAX / 2
                                                                     : s->begin[i] + s->end[i];
    return true;
}

static int64_t clamp(int64_t at, int64_t dim, int64_t least, int64_t most)
{
    if (at < 0)
        at = at < -dim ? -1 : at + dim;
    return at < least ? least : at > most ? most : at;
}

/* Where range `i` starts in an axis of length `dim`, and how many elements it takes. */
static int64_t range_of(const struct strided *s, int i, int64_t dim, int64_t *start)
{
    bool back = s->step[i] < 0;
    int64_t least = back ? -1 : 0, most = back ? dim - 1 : dim, end, step;

    *start = bit(s->begin_mask, i) ? (back ? dim - 1 : 0) : clamp(s->begin[i], dim, least, most);
    end = bit(s->end_mask, i) ? (back ? -1 : dim) : clamp(s->end[i], dim, least, most);
    step = s->step[i];
    if (back ? *start <= end : *start >= end)
        return 0;
    if (back)
        return step == INT64_MIN ? 1 : (*start - end - 1) / -step + 1;
    return (end - *start - 1) / step + 1;
}

static int strided_dims(struct as_infer *ctx, const struct strided *s, const struct as_dims *x,
                        struct as_dims *out)
{
    int added = 0, at = 0;

    for (int i = 0; i < s->n; i++)
        added += bit(s->new_axis, i);
    out->rank = 0;
    for (int i = 0; i < s->n; i++) {
        int64_t start;

        if (out->rank >= AS_MAX_RANK)
            return as_conflict(ctx, "more than %d dimensions", AS_MAX_RANK);
        if (bit(s->ellipsis, i)) {
            int named = 0;

            for (int k = i + 1; k < s->n; k++)
                named += !bit(s->new_axis, k);
            while (at < x->rank - named && out->rank < AS_MAX_RANK - added)
                out->at[out->rank++] = x->at[at++];
            continue;
        }
        if (bit(s->new_axis, i)) {
            out->at[out->rank++] = 1;
            continue;
        }
        if (at >= x->rank)
            return as_conflict(ctx, "more ranges than the %d dimensions of its input", x->rank);
        if (s->step[i] == 0)
            return as_conflict(ctx, "a stride of 0");
        if (!bit(s->shrink, i))
            out->at[out->rank++] =
                x->at[at] == AS_DIM_UNKNOWN ? AS_DIM_UNKNOWN : range_of(s, i, x->at[at], &start);
        at++;
    }
    while (at < x->rank && out->rank < AS_MAX_RANK)
        out->at[out->rank++] = x->at[at++];
    return ASSAY_OK;
}

static int strided_slice(struct as_infer *ctx)
{
    struct strided s;
    struct as_dims x, out;
    int rc;

    if (!as_in_dims(ctx, 0, &x))
        return as_tfl_out(ctx, 0, NULL);
    if (!read_strided(ctx, &s))
        return as_unknown(ctx, "its ranges are not constants");
    rc = strided_dims(ctx, &s, &x, &out);
    return rc == ASSAY_OK ? as_tfl_out(ctx, 0, &out) : rc;
}

/* Of a vector. */
static int fold_strided(struct as_infer *ctx)
{
    int64_t from[AS_MAX_RANK], to[AS_MAX_RANK], start, n;
    int count = as_tfl_list(ctx, 0, from);
    struct strided s;

    if (count < 0 || as_in_type(ctx, 0)->rank != 1 || !read_strided(ctx, &s) || s.n != 1 ||
        s.new_axis || s.ellipsis || s.step[0] == 0)
        return ASSAY_OK;
    n = range_of(&s, 0, count, &start);
    if (bit(s.shrink, 0))
        n = start >= 0 && start < count ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        to[i] = from[start + i * s.step[0]];
    return n > 0 ? as_tfl_fold(ctx, to, (int)n) : ASSAY_OK;
}

const struct as_op_rule as_rules_tflite_shape[] = {
    {AS_OP_TFL_RANK, rank_of, fold_rank_of},
    {AS_OP_TFL_RESHAPE, reshape, fold_same},
    {AS_OP_TFL_PACK, pack, fold_join},
    {AS_OP_TFL_UNPACK, unpack, NULL},
    {AS_OP_TFL_SLICE, slice, NULL},
    {AS_OP_TFL_STRIDED_SLICE, strided_slice, fold_strided},
    {AS_OP_TFL_SCATTER_ND, shape_third, NULL},
    {AS_OP_TFL_FILL, shape_first, NULL},
    {AS_OP_TFL_RANDOM_STANDARD_NORMAL, shape_first, NULL},
    {AS_OP_TFL_RANDOM_UNIFORM, shape_first, NULL},
    {AS_OP_TFL_BROADCAST_ARGS, as_tfl_declared, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
