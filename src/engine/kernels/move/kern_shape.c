/* engine/kernels/move/kern_shape.c - kernels that arrange elements anew: every one is a box read by
 * other steps. Pad is in kern_pad.c, the smaller ones in kern_arrange.c. */
#include "engine/kernels/move/kern_move.h"

#include "model/infer/infer_context.h"

/* A list of at most AS_MAX_RANK integers from attribute `name`, else from input `i`. */
static bool list_of(const struct as_kernel_ctx *k, const char *name, size_t i, struct as_dims *out)
{
    struct as_ints given;

    if (!as_node_ints(k->node, name, &given))
        return as_in_numbers(k, i, out);
    if (given.n > AS_MAX_RANK)
        return false;
    out->rank = (int)given.n;
    for (size_t j = 0; j < given.n; j++)
        out->at[j] = given.at[j];
    return true;
}

static int transpose(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    int64_t strides[AS_MAX_RANK], steps[AS_MAX_RANK] = {0};
    struct as_dims list;
    struct as_ints perm;
    bool said = as_node_ints(k->node, "perm", &perm);

    if (as_node_is_lowered(k->node) && as_in_numbers(k, 1, &list)) {
        perm = (struct as_ints){(size_t)list.rank, list.at};
        said = true;
    }
    if (k->out[0]->rank != in->rank || (said && perm.n != (size_t)in->rank))
        return as_kernel_fail(k, "'perm' is not a permutation of %d dimensions", in->rank);
    as_strides(in, strides);
    for (int i = 0; i < in->rank; i++) {
        int axis = in->rank - 1 - i;

        if ((said && !as_axis(perm.at[i], in->rank, &axis)) || k->out[0]->dims[i] != in->dims[axis])
            return as_kernel_fail(k, "'perm' is not a permutation of %d dimensions", in->rank);
        steps[i] = strides[axis];
    }
    return as_move_view(k, k->out[0], in, 0, steps);
}

/* ---- Concat ---- */

/* One input into its place along the axis; `begin` is where that is. */
static int concat_one(struct as_kernel_ctx *k, const struct as_val *in, int axis, int64_t begin)
{
    struct as_val *out = k->out[0];
    int64_t inner;

    if (in->rank != out->rank || in->dims[axis] > out->dims[axis] - begin)
        return as_kernel_fail(k, "an input does not fit into the output");
    for (int i = 0; i < in->rank; i++)
        if (i != axis && in->dims[i] != out->dims[i])
            return as_kernel_fail(k, "dimension %d is %lld in one input and %lld in the output", i,
                                  (long long)in->dims[i], (long long)out->dims[i]);
    if (in->n == 0)
        return ASSAY_OK;
    inner = as_move_product(in->dims, axis + 1, in->rank);
    return as_move_part(k, out, in, (uint64_t)as_move_product(in->dims, 0, axis),
                        (uint64_t)(out->dims[axis] * inner), (uint64_t)(begin * inner));
}

static int concat(struct as_kernel_ctx *k)
{
    int64_t begin = 0;
    int axis, rc = as_move_axis_of(k, "axis", 1, k->out[0]->rank, &axis);

    for (size_t i = 0; i < k->n_in && rc == ASSAY_OK; i++) {
        if (!k->in[i])
            continue;
        rc = concat_one(k, k->in[i], axis, begin);
        if (rc == ASSAY_OK)
            begin += k->in[i]->dims[axis];
    }
    if (rc == ASSAY_OK && begin != k->out[0]->dims[axis])
        rc = as_kernel_fail(k, "the inputs do not fill the output");
    return rc < 0 ? rc : as_move_own_texts(k, k->out[0]);
}

/* ---- Split ---- */

static int split(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    int64_t strides[AS_MAX_RANK], begin = 0;
    struct as_dims sizes = {0};
    bool has_sizes = list_of(k, "split", 1, &sizes);
    int axis, rc = as_move_axis_of(k, "axis", 0, in->rank, &axis);
    struct as_dims said;

    if (as_node_is_lowered(k->node) &&
        (!as_in_numbers(k, 2, &said) || said.rank != 1 || !as_axis(said.at[0], in->rank, &axis)))
        return as_kernel_fail(k, "it has no axis");
    if (rc < 0)
        return rc;
    as_strides(in, strides);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++) {
        int64_t length, each = in->dims[axis] / (int64_t)k->n_out;

        /* A part nobody wants has no output to tell its length. */
        each += in->dims[axis] % (int64_t)k->n_out != 0;
        length = has_sizes && i < (size_t)sizes.rank ? sizes.at[i] : each;
        if (k->out[i])
            length = k->out[i]->dims[axis];
        if (length < 0 || length > in->dims[axis] - begin)
            return as_kernel_fail(k, "part %zu reaches beyond %lld", i, (long long)in->dims[axis]);
        if (k->out[i])
            rc = as_move_view(k, k->out[i], in, begin * strides[axis], strides);
        begin += length;
    }
    return rc;
}

/* ---- Slice ---- */

struct cut {
    struct as_dims starts, ends, axes, steps;
};

static int read_cut(struct as_kernel_ctx *k, struct cut *c)
{
    bool old = as_node_attr(k->node, "starts") != NULL;

    c->axes.rank = c->steps.rank = -1;
    if (!list_of(k, "starts", 1, &c->starts) || !list_of(k, "ends", 2, &c->ends) ||
        c->starts.rank != c->ends.rank || c->starts.rank > k->in[0]->rank)
        return as_kernel_fail(k, "starts and ends are not of one length");
    if ((old ? as_node_attr(k->node, "axes") != NULL : as_has_in(k, 3)) &&
        (!list_of(k, "axes", 3, &c->axes) || c->axes.rank != c->starts.rank))
        return as_kernel_fail(k, "axes are not as many as starts");
    if (!old && as_has_in(k, 4) &&
        (!as_in_numbers(k, 4, &c->steps) || c->steps.rank != c->starts.rank))
        return as_kernel_fail(k, "steps are not as many as starts");
    return ASSAY_OK;
}

/* Where a slice begins on an axis of length `d`. */
static int64_t begin_of(int64_t start, int64_t d, int64_t step)
{
    int64_t last = step > 0 ? d : d - 1;

    start = start < 0 ? start + d : start;
    return start < 0 ? 0 : start > last ? last : start;
}

static int slice(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    const struct as_val *out = k->out[0];
    int64_t steps[AS_MAX_RANK], base = 0;
    struct cut c;
    int rc = read_cut(k, &c);

    if (rc < 0 || out->n == 0)
        return rc;
    as_strides(in, steps);
    for (int i = 0; i < c.starts.rank; i++) {
        int64_t step = c.steps.rank < 0 ? 1 : c.steps.at[i], begin, reach;
        int axis;

        if (!as_axis(c.axes.rank < 0 ? i : c.axes.at[i], in->rank, &axis) || step == 0)
            return as_kernel_fail(k, "axis or step %d of the slice cannot be", i);
        begin = begin_of(c.starts.at[i], in->dims[axis], step);
        if (out->dims[axis] < 2)
            step = 1; /* a step nobody takes may be of any size */
        if (__builtin_mul_overflow(out->dims[axis] - 1, step, &reach) ||
            __builtin_add_overflow(reach, begin, &reach) || reach < 0 || reach >= in->dims[axis])
            return as_kernel_fail(k, "axis %d has no %lld elements from %lld on", axis,
                                  (long long)out->dims[axis], (long long)begin);
        base += begin * steps[axis];
        steps[axis] *= step;
    }
    return as_move_view(k, k->out[0], in, base, steps);
}

/* ---- larger by repeating ---- */

static int expand(struct as_kernel_ctx *k)
{
    int64_t steps[AS_MAX_RANK];
    struct as_dims dims;

    as_val_dims(k->out[0], &dims);
    if (!as_strides_broadcast(k->in[0], &dims, steps))
        return as_kernel_fail(k, "the tensor cannot be broadcast to the shape");
    return as_move_view(k, k->out[0], k->in[0], 0, steps);
}

static int tile(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    int64_t to[AS_MAX_RANK], from[AS_MAX_RANK];
    struct as_move m = {0};
    int rc = as_move_width(k, in, &m.width);

    if (rc < 0 || out->n == 0)
        return rc;
    if (in->rank != out->rank)
        return as_kernel_fail(k, "%d dimensions cannot become %d", in->rank, out->rank);
    as_strides(in, from);
    as_strides(out, to);
    m.dst = out->data;
    m.src = in->data;
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[i] == 0 || out->dims[i] % in->dims[i] != 0)
            return as_kernel_fail(k, "dimension %d cannot be repeated", i);
        as_move_axis(&m, out->dims[i] / in->dims[i], to[i] * in->dims[i], 0);
        as_move_axis(&m, in->dims[i], to[i], from[i]);
    }
    as_move_run(k, &m);
    return as_move_own_texts(k, out);
}

/* ---- blocks of space and depth ---- */

/* Both see the smaller space as [N, ., ., C, H, W] and the larger as [N, C, H, b, W, b]. */
static int depth_space(struct as_kernel_ctx *k)
{
    bool to_space = k->node->op == AS_OP_DepthToSpace;
    const struct as_val *deep = to_space ? k->in[0] : k->out[0];
    int64_t b = as_node_int(k->node, "blocksize", 0), c, h, w, plane, block[2], depth;
    bool crd = to_space && as_node_text_is(k->node, "mode", "CRD");
    struct as_move m = {0};
    int rc = as_move_width(k, k->in[0], &m.width);

    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    if (deep->rank != 4 || b < 1 || b > deep->dims[1] || deep->dims[1] % b != 0 ||
        deep->dims[1] / b % b != 0)
        return as_kernel_fail(k, "blocks of %lld do not divide the depth", (long long)b);
    c = deep->dims[1] / b / b;
    h = deep->dims[2];
    w = deep->dims[3];
    plane = h * w;
    depth = crd ? plane * b * b : plane;
    block[0] = crd ? plane * b : plane * c * b;
    block[1] = crd ? plane : plane * c;
    m.dst = k->out[0]->data;
    m.src = k->in[0]->data;
    if (to_space) {
        as_move_axis(&m, deep->dims[0], c * b * b * plane, c * b * b * plane);
        as_move_axis(&m, c, plane * b * b, depth);
        as_move_axis(&m, h, w * b * b, w);
        as_move_axis(&m, b, w * b, block[0]);
        as_move_axis(&m, w, b, 1);
        as_move_axis(&m, b, 1, block[1]);
    } else {
        as_move_axis(&m, deep->dims[0], c * b * b * plane, c * b * b * plane);
        as_move_axis(&m, b, block[0], w * b);
        as_move_axis(&m, b, block[1], 1);
        as_move_axis(&m, c, depth, plane * b * b);
        as_move_axis(&m, h, w, w * b * b);
        as_move_axis(&m, w, 1, b);
    }
    as_move_run(k, &m);
    return as_move_own_texts(k, k->out[0]);
}

#define MOVES (AS_KERNEL_HALF | AS_KERNEL_TEXT)

const struct as_kernel as_kernels_shape[] = {
    {AS_OP_Reshape, NULL, AS_KERNEL_VIEW | MOVES},
    {AS_OP_Flatten, NULL, AS_KERNEL_VIEW | MOVES},
    {AS_OP_Squeeze, NULL, AS_KERNEL_VIEW | MOVES},
    {AS_OP_Unsqueeze, NULL, AS_KERNEL_VIEW | MOVES},
    {AS_OP_Identity, NULL, AS_KERNEL_VIEW | MOVES},
    {AS_OP_Transpose, transpose, MOVES},
    {AS_OP_Concat, concat, MOVES},
    {AS_OP_Split, split, MOVES},
    {AS_OP_Slice, slice, MOVES},
    {AS_OP_Pad, as_kern_pad, MOVES},
    {AS_OP_Expand, expand, MOVES},
    {AS_OP_Tile, tile, MOVES},
    {AS_OP_DepthToSpace, depth_space, MOVES},
    {AS_OP_SpaceToDepth, depth_space, MOVES},
    {AS_OP_ReverseSequence, as_kern_reverse_sequence, MOVES},
    {AS_OP_Trilu, as_kern_trilu, MOVES},
    {AS_OP_EyeLike, as_kern_eye_like, AS_KERNEL_HALF},
    {AS_OP_CenterCropPad, as_kern_center_crop_pad, MOVES},
    {AS_OP_Col2Im, as_kern_col2im, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
