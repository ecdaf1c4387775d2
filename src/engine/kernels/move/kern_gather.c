/* engine/kernels/move/kern_gather.c - kernels that pick elements by index. Scatter* are in
 * kern_scatter.c. Every index is looked at once before anything is copied. */
#include "engine/kernels/move/kern_move.h"

#include <string.h>

#include "model/infer/infer_context.h"

/* ---- Gather ---- */

struct rows {
    const uint8_t *src;
    uint8_t *dst;
    const struct as_val *at;
    int64_t length; /* of the axis */
    size_t run_bytes;
};

static void copy_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct rows *r = arg;
    uint64_t n = r->at->n, which = from % n;
    const uint8_t *block = r->src + from / n * (uint64_t)r->length * r->run_bytes;

    for (uint64_t i = from; i < to; i++) {
        int64_t index = as_move_index(r->at, which);

        index += index < 0 ? r->length : 0;
        memcpy(r->dst + i * r->run_bytes, block + (uint64_t)index * r->run_bytes, r->run_bytes);
        if (++which == n) {
            which = 0;
            block += (uint64_t)r->length * r->run_bytes;
        }
    }
}

static int gather(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *at = k->in[1];
    struct rows r = {.src = in->data, .dst = k->out[0]->data, .at = at};
    uint64_t outer;
    size_t width = 0;
    int axis, rc = as_move_axis_of(k, "axis", 0, in->rank, &axis);

    if (rc == ASSAY_OK && as_node_extra_int(k->node, "batch_dims", 0) != 0)
        rc = as_kernel_cannot(k, "a gather in batches");
    if (rc == ASSAY_OK)
        rc = as_move_width(k, in, &width);
    if (rc == ASSAY_OK)
        rc = as_move_check_indices(k, at, in->dims[axis]);
    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    r.length = in->dims[axis];
    r.run_bytes = width * (size_t)as_move_product(in->dims, axis + 1, in->rank);
    outer = (uint64_t)as_move_product(in->dims, 0, axis);
    as_kernel_parallel(k, outer * at->n, as_move_grain(r.run_bytes), copy_rows, &r);
    return as_move_own_texts(k, k->out[0]);
}

/* ---- GatherElements ---- */

struct elements {
    const struct as_val *in, *at;
    uint8_t *dst;
    size_t width;
    int axis;
    int64_t strides[AS_MAX_RANK]; /* of the input */
};

static void copy_elements(void *arg, uint64_t from, uint64_t to)
{
    const struct elements *e = arg;
    const struct as_val *at = e->at;
    const uint8_t *src = e->in->data;
    int last = at->rank - 1;
    uint64_t columns = (uint64_t)at->dims[last];

    for (uint64_t row = from; row < to; row++) {
        uint64_t rest = row, base = 0;
        uint64_t step = last == e->axis ? 0 : 1;

        for (int d = last; d-- > 0;) {
            if (d != e->axis)
                base += rest % (uint64_t)at->dims[d] * (uint64_t)e->strides[d];
            rest /= (uint64_t)at->dims[d];
        }
        for (uint64_t i = 0; i < columns; i++) {
            int64_t index = as_move_index(at, row * columns + i);

            index += index < 0 ? e->in->dims[e->axis] : 0;
            memcpy(e->dst + (row * columns + i) * e->width,
                   src + (base + i * step + (uint64_t)(index * e->strides[e->axis])) * e->width,
                   e->width);
        }
    }
}

static int gather_elements(struct as_kernel_ctx *k)
{
    struct elements e = {.in = k->in[0], .at = k->in[1], .dst = k->out[0]->data};
    uint64_t columns;
    int rc = as_move_axis_of(k, "axis", 0, e.in->rank, &e.axis);

    if (rc == ASSAY_OK)
        rc = as_move_width(k, e.in, &e.width);
    if (rc == ASSAY_OK && e.in->rank != e.at->rank)
        rc =
            as_kernel_fail(k, "the indices are of rank %d, the data of %d", e.at->rank, e.in->rank);
    for (int d = 0; rc == ASSAY_OK && d < e.in->rank; d++)
        if (d != e.axis && e.at->dims[d] > e.in->dims[d])
            rc =
                as_kernel_fail(k, "dimension %d of the indices is larger than that of the data", d);
    if (rc == ASSAY_OK)
        rc = as_move_check_indices(k, e.at, e.in->dims[e.axis]);
    if (rc < 0 || e.at->n == 0)
        return rc;
    as_strides(e.in, e.strides);
    columns = (uint64_t)e.at->dims[e.at->rank - 1];
    as_kernel_parallel(k, e.at->n / columns, as_move_grain(columns * e.width), copy_elements, &e);
    return as_move_own_texts(k, k->out[0]);
}

/* ---- GatherND ---- */

struct tuples {
    const struct as_val *in, *at;
    uint8_t *dst;
    int batch_dims, length; /* numbers of one index */
    int64_t strides[AS_MAX_RANK];
    uint64_t per_batch, batch_step; /* tuples of one batch, and elements of its data */
    size_t width, run_bytes;
};

static void copy_tuples(void *arg, uint64_t from, uint64_t to)
{
    const struct tuples *t = arg;
    const uint8_t *src = t->in->data;

    for (uint64_t i = from; i < to; i++) {
        uint64_t place = i / t->per_batch * t->batch_step;

        for (int d = 0; d < t->length; d++) {
            int axis = t->batch_dims + d;
            int64_t index = as_move_index(t->at, i * (uint64_t)t->length + (uint64_t)d);

            index += index < 0 ? t->in->dims[axis] : 0;
            place += (uint64_t)(index * t->strides[axis]);
        }
        memcpy(t->dst + i * t->run_bytes, src + place * t->width, t->run_bytes);
    }
}

int as_gather_check_tuples(struct as_kernel_ctx *k, const struct as_val *at,
                           const struct as_val *data, int batch_dims)
{
    int64_t length = at->rank < 1 ? 0 : at->dims[at->rank - 1];

    if (at->dtype != AS_DTYPE_I64 && at->dtype != AS_DTYPE_I32)
        return as_kernel_fail(k, "its indices are %s", as_dtype_name(at->dtype));
    if (length < 1 || length > data->rank - batch_dims)
        return as_kernel_fail(k, "an index of %lld numbers into rank %d", (long long)length,
                              data->rank);
    for (uint64_t i = 0; i < at->n; i++) {
        int64_t bound = data->dims[batch_dims + (int)(i % (uint64_t)length)];
        int64_t index = as_move_index(at, i);

        if (index < -bound || index >= bound)
            return as_kernel_fail(k, "index %lld is outside of %lld elements", (long long)index,
                                  (long long)bound);
    }
    return ASSAY_OK;
}

static int gather_nd(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0], *at = k->in[1];
    int64_t batch_dims = as_node_int(k->node, "batch_dims", 0);
    struct tuples t = {.in = in, .at = at, .dst = k->out[0]->data};
    uint64_t n, n_batches;
    int rc = as_move_width(k, in, &t.width);

    if (rc < 0)
        return rc;
    if (batch_dims < 0 || batch_dims >= in->rank || batch_dims >= at->rank)
        return as_kernel_fail(k, "%lld batch dimensions of rank %d", (long long)batch_dims,
                              in->rank);
    for (int d = 0; d < batch_dims; d++)
        if (in->dims[d] != at->dims[d])
            return as_kernel_fail(k, "batch dimension %d differs", d);
    t.batch_dims = (int)batch_dims;
    rc = as_gather_check_tuples(k, at, in, t.batch_dims);
    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    t.length = (int)at->dims[at->rank - 1];
    as_strides(in, t.strides);
    n = at->n / (uint64_t)t.length;
    n_batches = (uint64_t)as_move_product(in->dims, 0, t.batch_dims);
    t.per_batch = n / n_batches;
    t.batch_step = in->n / n_batches;
    t.run_bytes = t.width * (size_t)as_move_product(in->dims, t.batch_dims + t.length, in->rank);
    as_kernel_parallel(k, n, as_move_grain(t.run_bytes), copy_tuples, &t);
    return as_move_own_texts(k, k->out[0]);
}

/* ---- OneHot ---- */

/* Indices outside of the depth give a row without a one: that is what ONNX asks for. */
static int one_hot(struct as_kernel_ctx *k)
{
    const struct as_val *at = k->in[0], *values = k->in[2];
    struct as_val *out = k->out[0];
    const uint8_t *pair = values->data;
    uint8_t *dst = out->data;
    int64_t depth, inner;
    size_t width = 0;
    int axis, rc = as_move_axis_of(k, "axis", -1, at->rank + 1, &axis);

    if (rc == ASSAY_OK)
        rc = as_move_width(k, values, &width);
    if (rc < 0 || out->n == 0)
        return rc;
    if (values->n != 2 || values->dtype != out->dtype || out->rank != at->rank + 1)
        return as_kernel_fail(k, "its values are not off and on");
    depth = out->dims[axis];
    inner = as_move_product(at->dims, axis, at->rank);
    as_move_fill(dst, pair, out->n, width);
    for (uint64_t i = 0; i < at->n; i++) {
        double said = as_val_f64(at, i);
        int64_t index, outer = (int64_t)i / inner;

        if (!(said >= (double)-depth && said < (double)depth))
            continue;
        index = (int64_t)said;
        index += index < 0 ? depth : 0;
        memcpy(dst + (size_t)((outer * depth + index) * inner + (int64_t)i % inner) * width,
               pair + width, width);
    }
    return as_move_own_texts(k, out);
}

#define MOVES (AS_KERNEL_HALF | AS_KERNEL_TEXT)

const struct as_kernel as_kernels_gather[] = {
    {AS_OP_Gather, gather, MOVES},
    {AS_OP_GatherElements, gather_elements, MOVES},
    {AS_OP_GatherND, gather_nd, MOVES},
    {AS_OP_Scatter, as_kern_scatter_elements, MOVES},
    {AS_OP_ScatterElements, as_kern_scatter_elements, MOVES},
    {AS_OP_ScatterND, as_kern_scatter_nd, MOVES},
    {AS_OP_OneHot, one_hot, MOVES},
    {AS_OP_UNKNOWN, NULL, 0},
};
