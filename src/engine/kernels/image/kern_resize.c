/* engine/kernels/image/kern_resize.c - Resize and Upsample: one axis after another, each point a
 * weighted sum along it; nearest points are only copied, whatever they are. */
#include "engine/kernels/image/kern_image.h"

#include <string.h>

#include "engine/kernels/move/kern_move.h"

/* ---- nearest ---- */

struct picking {
    const struct as_val *in;
    struct as_val *out;
    const struct as_resize_axis *axes;
    int last; /* the last axis that changes */
    size_t run_bytes;
    int64_t strides[AS_MAX_RANK]; /* of the input, in runs */
};

static void pick_row(const struct picking *p, uint8_t *dst, const uint8_t *src)
{
    const struct as_resize_axis *a = &p->axes[p->last];

    if (p->run_bytes == 4)
        for (int64_t i = 0; i < a->n_out; i++)
            memcpy(dst + i * 4, src + a->at[i] * 4, 4);
    else
        for (int64_t i = 0; i < a->n_out; i++)
            memcpy(dst + (size_t)i * p->run_bytes, src + (size_t)a->at[i] * p->run_bytes,
                   p->run_bytes);
}

static void pick_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct picking *p = arg;
    size_t row_bytes = (size_t)p->axes[p->last].n_out * p->run_bytes;
    uint8_t *dst = (uint8_t *)p->out->data + from * row_bytes;
    const uint8_t *before = NULL;

    for (uint64_t row = from; row < to; row++, dst += row_bytes) {
        const uint8_t *src = p->in->data;
        uint64_t rest = row;

        for (int d = p->last; d-- > 0;) {
            uint64_t n = (uint64_t)p->axes[d].n_out;

            src += (size_t)(p->axes[d].at[rest % n] * p->strides[d]) * p->run_bytes;
            rest /= n;
        }
        if (src == before) /* a row repeated */
            memcpy(dst, dst - row_bytes, row_bytes);
        else
            pick_row(p, dst, src);
        before = src;
    }
}

static void pick_all(struct as_kernel_ctx *k, const struct as_resize_axis *axes, size_t width)
{
    struct picking p = {.in = k->in[0], .out = k->out[0], .axes = axes};
    int64_t step = 1;
    uint64_t rows = 1;

    for (int d = 0; d < p.in->rank; d++)
        if (axes[d].n_in != axes[d].n_out || axes[d].beyond)
            p.last = d;
    p.run_bytes = width * (size_t)as_move_product(p.in->dims, p.last + 1, p.in->rank);
    for (int d = p.last + 1; d-- > 0;) {
        p.strides[d] = step;
        step *= p.in->dims[d];
    }
    for (int d = 0; d < p.last; d++)
        rows *= (uint64_t)axes[d].n_out;
    as_kernel_parallel(k, rows, as_move_grain((uint64_t)axes[p.last].n_out * p.run_bytes),
                       pick_rows, &p);
}

/* ---- weighted ---- */

struct passing {
    const struct as_resize_axis *axis;
    const float *from;
    float *to;
    uint64_t inner;
};

AS_VECTOR(static, add_scaled, (float *to, const float *from, float w, uint64_t n, bool first),
          (to, from, w, n, first))
{
    if (first)
        for (uint64_t i = 0; i < n; i++)
            to[i] = from[i] * w;
    else
        for (uint64_t i = 0; i < n; i++)
            to[i] += from[i] * w;
}

AS_VECTOR(static, mix_pairs, (float *to, const float *from, const struct as_resize_axis *a),
          (to, from, a))
{
    const int64_t *at = a->at;
    const float *w = a->weight;

    for (int64_t i = 0; i < a->n_out; i++)
        to[i] = from[at[2 * i]] * w[2 * i] + from[at[2 * i + 1]] * w[2 * i + 1];
}

static void mix_line(float *to, const float *from, const struct as_resize_axis *a)
{
    if (a->taps == 2) {
        mix_pairs(to, from, a);
        return;
    }
    for (int64_t i = 0; i < a->n_out; i++) {
        float sum = 0;

        for (int64_t t = 0; t < a->taps; t++)
            sum += from[a->at[i * a->taps + t]] * a->weight[i * a->taps + t];
        to[i] = sum;
    }
}

/* Items are lines when the axis is the innermost, else rows of `inner` elements. */
static void pass_items(void *arg, uint64_t first, uint64_t end)
{
    const struct passing *p = arg;
    const struct as_resize_axis *a = p->axis;
    uint64_t n_in = (uint64_t)a->n_in, n_out = (uint64_t)a->n_out;

    if (p->inner == 1) {
        for (uint64_t line = first; line < end; line++)
            mix_line(p->to + line * n_out, p->from + line * n_in, a);
        return;
    }
    for (uint64_t row = first; row < end; row++) {
        const float *block = p->from + row / n_out * n_in * p->inner;
        int64_t i = (int64_t)(row % n_out);

        for (int64_t t = 0; t < a->taps; t++)
            add_scaled(p->to + row * p->inner, block + (uint64_t)a->at[i * a->taps + t] * p->inner,
                       a->weight[i * a->taps + t], p->inner, t == 0);
    }
}

/* A pass along `axis` of the tensor of `dims`, which has the new length afterwards. */
static void pass_axis(struct as_kernel_ctx *k, const struct as_resize_axis *a, struct as_dims *dims,
                      int axis, const float *from, float *to)
{
    uint64_t outer = (uint64_t)as_move_product(dims->at, 0, axis);
    struct passing p = {a, from, NULL, (uint64_t)as_move_product(dims->at, axis + 1, dims->rank)};

    p.to = to;
    if (p.inner == 1)
        as_kernel_parallel(k, outer, as_move_grain((uint64_t)a->n_out * sizeof(float)), pass_items,
                           &p);
    else
        as_kernel_parallel(k, outer * (uint64_t)a->n_out, as_move_grain(p.inner * sizeof(float)),
                           pass_items, &p);
    dims->at[axis] = a->n_out;
}

static bool is_passed(const struct as_resize *r, const struct as_resize_axis *axes, int axis)
{
    return axes[axis].n_in != axes[axis].n_out || axes[axis].beyond || r->scale[axis] < 1 ||
           r->scale[axis] > 1;
}

/* All passes; the result is in *from in the end, and where the output is of floats in that. */
static int pass_all(struct as_kernel_ctx *k, const struct as_resize *r,
                    const struct as_resize_axis *axes, const float **from)
{
    struct as_dims dims;
    int last = -1;

    as_val_dims(k->in[0], &dims);
    for (int axis = 0; axis < dims.rank; axis++)
        last = is_passed(r, axes, axis) ? axis : last;
    for (int axis = 0; axis <= last; axis++) {
        const struct as_resize_axis *a = &axes[axis];
        uint64_t n;
        float *to;

        if (!is_passed(r, axes, axis))
            continue;
        n = (uint64_t)as_move_product(dims.at, 0, axis) * (uint64_t)a->n_out *
            (uint64_t)as_move_product(dims.at, axis + 1, dims.rank);
        to = axis == last && k->out[0]->dtype == AS_DTYPE_F32 ? k->out[0]->data
                                                              : as_kernel_work(k, n, sizeof *to);
        if (!to)
            return ASSAY_ERR_NOMEM;
        pass_axis(k, a, &dims, axis, *from, to);
        *from = to;
    }
    return ASSAY_OK;
}

/* Places beyond the region get the one number that stands for them. */
static void fill_beyond(struct as_val *out, const struct as_resize_axis *axes, double x)
{
    int64_t at[AS_MAX_RANK] = {0};
    bool any = false;

    for (int d = 0; d < out->rank; d++)
        any |= axes[d].beyond != NULL;
    for (uint64_t i = 0; any && i < out->n; i++) {
        bool beyond = false;

        for (int d = 0; d < out->rank; d++)
            beyond |= axes[d].beyond && axes[d].beyond[at[d]];
        if (beyond)
            as_val_put_f64(out, i, x);
        (void)as_move_step(at, out->dims, out->rank);
    }
}

static int mix_all(struct as_kernel_ctx *k, const struct as_resize *r,
                   const struct as_resize_axis *axes)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    const float *from = in->data;
    float *floats;
    int rc;

    if (in->dtype != AS_DTYPE_F32) {
        floats = as_kernel_work(k, in->n, sizeof *floats);
        if (!floats)
            return ASSAY_ERR_NOMEM;
        for (uint64_t i = 0; i < in->n; i++)
            floats[i] = (float)as_val_f64(in, i);
        from = floats;
    }
    rc = pass_all(k, r, axes, &from);
    if (rc < 0)
        return rc;
    if (out->dtype == AS_DTYPE_F32 && from != out->data)
        memcpy(out->data, from, out->bytes);
    else if (out->dtype != AS_DTYPE_F32)
        for (uint64_t i = 0; i < out->n; i++)
            as_val_put_f64(out, i, (double)from[i]);
    return ASSAY_OK;
}

int as_kern_resize(struct as_kernel_ctx *k)
{
    struct as_resize_axis axes[AS_MAX_RANK] = {{0}};
    struct as_val *out = k->out[0];
    struct as_resize r;
    size_t width = 0;
    int rc = as_move_width(k, k->in[0], &width);

    if (rc == ASSAY_OK)
        rc = as_resize_read(k, &r);
    if (rc != ASSAY_OK || out->n == 0)
        return rc;
    if (k->in[0]->n == 0 || out->rank == 0)
        return as_kernel_fail(k, "there is nothing to resize");
    for (int d = 0; d < out->rank && rc == ASSAY_OK; d++)
        rc = as_resize_plan(k, &r, d, &axes[d]);
    if (rc != ASSAY_OK)
        return rc;
    if (r.mode == AS_RESIZE_NEAREST)
        pick_all(k, axes, width);
    else
        rc = mix_all(k, &r, axes);
    if (rc == ASSAY_OK)
        fill_beyond(out, axes, r.outside);
    return rc;
}
