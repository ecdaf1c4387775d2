/* engine/kernels/tflite/kern_tfl_shapes.c - what TensorFlow Lite moves without changing it, and
 * images resized. Most of it is a view of the input, copied. */
#include <math.h>
#include <string.h>

#include "engine/kernels/control/kern_control.h"
#include "engine/kernels/move/kern_move.h"
#include "engine/kernels/tflite/kern_tflite.h"

static const struct as_val *in_at(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

static bool axis_of(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

static int same_kind(struct as_kernel_ctx *k, const struct as_val *x)
{
    for (size_t i = 0; i < k->n_out; i++)
        if (as_has_out(k, i) && k->out[i]->dtype != x->dtype)
            return as_kernel_fail(k, "%s becomes %s", as_dtype_name(x->dtype),
                                  as_dtype_name(k->out[i]->dtype));
    return ASSAY_OK;
}

/* ---- joined and split ---- */

/* Every output from element `begin` of the axis on; `step` is how far the next one begins. */
static int cut_along(struct as_kernel_ctx *k, const struct as_val *x, int axis, bool drop)
{
    int64_t steps[AS_MAX_RANK], begin = 0;
    int rc = same_kind(k, x);

    as_strides(x, steps);
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_out; i++) {
        struct as_val *out = as_has_out(k, i) ? k->out[i] : NULL;
        int64_t own[AS_MAX_RANK], length;
        int n = 0;

        if (!out || out->rank != x->rank - drop)
            return as_kernel_fail(k, "output %zu does not fit", i);
        length = drop ? 1 : out->dims[axis];
        if (length < 0 || begin + length > x->dims[axis])
            return as_kernel_fail(k, "the parts are longer than the whole");
        for (int d = 0; d < x->rank; d++) {
            if (d == axis && drop)
                continue;
            if (d != axis && out->dims[n] != x->dims[d])
                return as_kernel_fail(k, "output %zu does not fit", i);
            own[n++] = steps[d];
        }
        rc = as_move_view(k, out, x, begin * steps[axis], own);
        begin += length;
    }
    return rc;
}

int as_tfl_unpack(struct as_kernel_ctx *k)
{
    int axis;

    if (!axis_of(as_node_int(k->node, "axis", 0), k->in[0]->rank, &axis))
        return as_kernel_fail(k, "it has no axis");
    return cut_along(k, k->in[0], axis, true);
}

int as_tfl_pack(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];
    uint64_t outer = 1, part;
    int axis, rc = ASSAY_OK;

    if (!axis_of(as_node_int(k->node, "axis", 0), out->rank, &axis) ||
        out->dims[axis] != (int64_t)k->n_in)
        return as_kernel_fail(k, "its inputs do not fit its output");
    for (int i = 0; i < axis; i++)
        outer *= (uint64_t)out->dims[i];
    if (out->n == 0)
        return ASSAY_OK;
    part = out->n / outer / k->n_in;
    for (size_t i = 0; rc == ASSAY_OK && i < k->n_in; i++) {
        const struct as_val *x = in_at(k, i);

        if (!x || x->dtype != out->dtype || x->n != outer * part)
            return as_kernel_fail(k, "its inputs do not fit its output");
        rc = as_move_part(k, out, x, outer, part * k->n_in, i * part);
    }
    return rc < 0 ? rc : as_move_own_texts(k, out);
}

/* ---- views ---- */

int as_tfl_slice(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    int64_t steps[AS_MAX_RANK], base = 0;
    struct as_dims begin;
    int rc = same_kind(k, x);

    if (rc < 0)
        return rc;
    if (!as_in_numbers(k, 1, &begin) || begin.rank != x->rank || k->out[0]->rank != x->rank)
        return as_kernel_fail(k, "begin is not one number for each axis");
    as_strides(x, steps);
    for (int i = 0; i < x->rank; i++) {
        if (begin.at[i] < 0 || begin.at[i] > x->dims[i] ||
            k->out[0]->dims[i] > x->dims[i] - begin.at[i])
            return as_kernel_fail(k, "it begins outside of axis %d", i);
        base += begin.at[i] * steps[i];
    }
    return as_move_view(k, k->out[0], x, base, steps);
}

/* Where a range of an axis begins; masks say which ends are open. */
static int64_t start_of(int64_t begin, int64_t step, int64_t length, bool open)
{
    if (open)
        return step > 0 ? 0 : length - 1;
    begin = begin < 0 ? begin + length : begin;
    if (step > 0)
        return begin < 0 ? 0 : begin > length ? length : begin;
    return begin < -1 ? -1 : begin >= length ? length - 1 : begin;
}

struct strided {
    struct as_dims begin, step;
    int64_t begin_mask, ellipsis, new_axis, shrink;
};

static bool bit(int64_t mask, int i)
{
    return i < 31 && (mask >> i & 1) != 0;
}

/* Steps of the input for each axis of the output, and where it begins. */
static int walk_strided(struct as_kernel_ctx *k, const struct strided *s, int64_t *own,
                        int64_t *base, int *rank)
{
    const struct as_val *x = k->in[0];
    int64_t steps[AS_MAX_RANK];
    int at = 0, n = 0;

    as_strides(x, steps);
    for (int i = 0; i < s->begin.rank; i++) {
        int64_t start;

        if (bit(s->ellipsis, i)) {
            int named = 0;

            for (int j = i + 1; j < s->begin.rank; j++)
                named += !bit(s->new_axis, j);
            while (at < x->rank - named && n < AS_MAX_RANK)
                own[n++] = steps[at++];
            continue;
        }
        if (bit(s->new_axis, i) && n < AS_MAX_RANK) {
            own[n++] = 0;
            continue;
        }
        if (at >= x->rank || s->step.at[i] == 0 || n >= AS_MAX_RANK)
            return as_kernel_fail(k, "its ranges do not fit its input");
        start = start_of(s->begin.at[i], s->step.at[i], x->dims[at], bit(s->begin_mask, i));
        *base += start * steps[at];
        if (!bit(s->shrink, i)) {
            int64_t last;

            if (n >= k->out[0]->rank)
                return as_kernel_fail(k, "its ranges do not fit its output");
            last = start + (k->out[0]->dims[n] - 1) * s->step.at[i];
            if (k->out[0]->dims[n] > 0 &&
                (start < 0 || start >= x->dims[at] || last < 0 || last >= x->dims[at]))
                return as_kernel_fail(k, "a range leaves its axis");
            own[n++] = steps[at] * s->step.at[i];
        } else if (start < 0 || start >= x->dims[at]) {
            return as_kernel_fail(k, "a range leaves its axis");
        }
        at++;
    }
    while (at < x->rank && n < AS_MAX_RANK)
        own[n++] = steps[at++];
    *rank = n;
    return ASSAY_OK;
}

int as_tfl_strided_slice(struct as_kernel_ctx *k)
{
    struct strided s = {.begin_mask = as_node_int(k->node, "begin_mask", 0),
                        .ellipsis = as_node_int(k->node, "ellipsis_mask", 0),
                        .new_axis = as_node_int(k->node, "new_axis_mask", 0),
                        .shrink = as_node_int(k->node, "shrink_axis_mask", 0)};
    int64_t own[AS_MAX_RANK], base = 0;
    int rank = 0, rc = same_kind(k, k->in[0]);

    if (rc < 0)
        return rc;
    if (!as_in_numbers(k, 1, &s.begin) || !as_in_numbers(k, 3, &s.step) ||
        s.step.rank != s.begin.rank)
        return as_kernel_fail(k, "it has no ranges");
    rc = walk_strided(k, &s, own, &base, &rank);
    if (rc == ASSAY_OK && rank != k->out[0]->rank)
        rc = as_kernel_fail(k, "its ranges do not fit its output");
    for (int n = 0; rc == ASSAY_OK && n < rank; n++)
        if (own[n] == 0 && k->out[0]->dims[n] > 1 && k->in[0]->n > 1)
            rc = as_kernel_fail(k, "its ranges do not fit its output");
    return rc < 0 || k->out[0]->n == 0 ? rc : as_move_view(k, k->out[0], k->in[0], base, own);
}

/* ---- filled ---- */

int as_tfl_fill(struct as_kernel_ctx *k)
{
    const struct as_val *one = in_at(k, 1);
    int64_t steps[AS_MAX_RANK] = {0};

    if (!one || one->n != 1)
        return as_kernel_fail(k, "what fills it is not one number");
    if (one->dtype != k->out[0]->dtype)
        return as_kernel_fail(k, "%s is filled with %s", as_dtype_name(k->out[0]->dtype),
                              as_dtype_name(one->dtype));
    return as_move_view(k, k->out[0], one, 0, steps);
}

int as_tfl_zeros_like(struct as_kernel_ctx *k)
{
    memset(k->out[0]->data, 0, (size_t)k->out[0]->bytes);
    return ASSAY_OK;
}

/* [B, H, W, b, b, C] and [B, H, b, W, b, C] are the same elements; which is the input? */
int as_tfl_blocks(struct as_kernel_ctx *k)
{
    bool deep = k->node->op == AS_OP_TFL_DEPTH_TO_SPACE;
    const struct as_val *x = k->in[0], *less = deep ? x : k->out[0], *more = deep ? k->out[0] : x;
    int64_t b = as_node_int(k->node, "block_size", 0), c;
    struct as_move m = {.dst = k->out[0]->data, .src = x->data};
    int64_t flat[6], nested[6], n[6];
    int rc = same_kind(k, x);

    if (rc < 0)
        return rc;
    if (x->rank != 4 || k->out[0]->rank != 4 || b < 1 || b > 1 << 15 || x->n != k->out[0]->n ||
        less->dims[0] != more->dims[0] || more->dims[1] != less->dims[1] * b ||
        more->dims[2] != less->dims[2] * b || less->dims[3] != more->dims[3] * b * b)
        return as_kernel_fail(k, "a block of %lld does not fit", (long long)b);
    if (x->n == 0)
        return ASSAY_OK;
    rc = as_move_width(k, x, &m.width);
    c = more->dims[3];
    n[0] = x->dims[0], n[1] = less->dims[1], n[2] = b, n[3] = less->dims[2], n[4] = b, n[5] = c;
    nested[5] = flat[5] = 1;
    nested[4] = flat[4] = c;
    nested[3] = b * c;
    flat[3] = b * b * c;
    nested[2] = more->dims[2] * c;
    flat[2] = b * c;
    nested[1] = flat[1] = b * more->dims[2] * c;
    nested[0] = flat[0] = more->dims[1] * more->dims[2] * c;
    for (int i = 0; i < 6; i++)
        as_move_axis(&m, n[i], deep ? nested[i] : flat[i], deep ? flat[i] : nested[i]);
    if (rc == ASSAY_OK)
        as_move_run(k, &m);
    return rc;
}

/* Blocks of space to and from the batch: the batch index is (block place, sample). */
int as_tfl_batches(struct as_kernel_ctx *k)
{
    bool to_space = k->node->op == AS_OP_TFL_BATCH_TO_SPACE_ND;
    const struct as_val *wide = to_space ? k->out[0] : k->in[0];
    const struct as_val *deep = to_space ? k->in[0] : k->out[0];
    const struct as_val *pads = in_at(k, 2);
    struct as_dims block;
    uint64_t inner = 1;
    int64_t blocks_of = 1;
    size_t width;
    int rc;

    if (!as_in_numbers(k, 1, &block) || !pads || !as_dtype_is_integer(pads->dtype) ||
        pads->n != 2 * (uint64_t)block.rank || wide->rank <= block.rank ||
        deep->rank != wide->rank || wide->dtype != deep->dtype)
        return as_kernel_fail(k, "blocks and pads do not fit");
    rc = as_move_width(k, wide, &width);
    if (rc < 0)
        return rc;
    for (int i = 0; i < block.rank; i++) {
        if (block.at[i] < 1 || block.at[i] > 1 << 15)
            return as_kernel_fail(k, "a block of %lld", (long long)block.at[i]);
        blocks_of *= block.at[i];
        if (blocks_of > deep->dims[0])
            return as_kernel_fail(k, "blocks and batch do not fit");
    }
    if (wide->dims[0] * blocks_of != deep->dims[0])
        return as_kernel_fail(k, "blocks and batch do not fit");
    for (int i = block.rank + 1; i < wide->rank; i++) {
        if (wide->dims[i] != deep->dims[i])
            return as_kernel_fail(k, "input and output do not fit");
        inner *= (uint64_t)wide->dims[i];
    }
    if (!to_space)
        memset(k->out[0]->data, 0, (size_t)k->out[0]->bytes);
    for (uint64_t i = 0; inner > 0 && i < wide->n / inner; i++) {
        uint64_t rest = i, at = 0, step = 1, part = 0, times = 1;
        bool there = true;

        for (int d = block.rank; d-- > 0;) {
            int64_t here = (int64_t)(rest % (uint64_t)wide->dims[1 + d]);

            here += as_val_i64(pads, 2 * (uint64_t)d);
            rest /= (uint64_t)wide->dims[1 + d];
            if (here < 0 || here / block.at[d] >= deep->dims[1 + d]) {
                there = false;
                here = 0;
            }
            at += (uint64_t)(here / block.at[d]) * step;
            step *= (uint64_t)deep->dims[1 + d];
            part += (uint64_t)(here % block.at[d]) * times;
            times *= (uint64_t)block.at[d];
        }
        at += (part * (uint64_t)wide->dims[0] + rest) * step;
        if (!there && to_space)
            return as_kernel_fail(k, "the crops do not fit");
        if (there)
            memcpy((char *)k->out[0]->data + (to_space ? i : at) * inner * width,
                   (const char *)k->in[0]->data + (to_space ? at : i) * inner * width,
                   (size_t)(inner * width));
    }
    return ASSAY_OK;
}
