/* engine/kernels/math/kern_broadcast.c - walks up to four tensors that are broadcast to one shape,
 * row by row. */
#include "engine/kernels/math/kern_broadcast.h"

#include <string.h>

#include "engine/kernels/math/kern_typed.h"

/* Axis `i` can be one with axis `last` that follows it when all step through both evenly. */
static bool joins(const struct as_broadcast *b, int64_t strides[][AS_MAX_RANK], int i, int last)
{
    for (size_t t = 0; t < b->n_in; t++)
        if (strides[t][i] != b->strides[t][last] * b->dims[last])
            return false;
    return true;
}

/* Fills the axes from the last on, in reverse, then turns them round. */
static void collapse(struct as_broadcast *b, const struct as_dims *dims,
                     int64_t strides[][AS_MAX_RANK])
{
    b->rank = 0;
    for (int i = dims->rank; i-- > 0;) {
        int last = b->rank - 1;

        if (dims->at[i] == 1)
            continue;
        if (last >= 0 && joins(b, strides, i, last)) {
            b->dims[last] *= dims->at[i];
            continue;
        }
        b->dims[b->rank] = dims->at[i];
        for (size_t t = 0; t < b->n_in; t++)
            b->strides[t][b->rank] = strides[t][i];
        b->rank++;
    }
    if (b->rank == 0) {
        b->dims[0] = 1;
        for (size_t t = 0; t < b->n_in; t++)
            b->strides[t][0] = 1;
        b->rank = 1;
    }
}

/* Axis 0 is the fastest one here. */
static void run_piece(void *arg, uint64_t from, uint64_t to)
{
    const struct as_broadcast *b = arg;
    int64_t at[AS_MAX_RANK] = {0}, stride[AS_BROADCAST_MAX];
    const void *in[AS_BROADCAST_MAX];
    uint64_t rest = from;

    for (int i = 0; i < b->rank; i++) {
        at[i] = (int64_t)(rest % (uint64_t)b->dims[i]);
        rest /= (uint64_t)b->dims[i];
    }
    for (size_t t = 0; t < b->n_in; t++)
        stride[t] = b->strides[t][0];
    while (from < to) {
        uint64_t left = (uint64_t)(b->dims[0] - at[0]), n = left < to - from ? left : to - from;

        for (size_t t = 0; t < b->n_in; t++) {
            int64_t offset = 0;

            for (int i = 0; i < b->rank; i++)
                offset += at[i] * b->strides[t][i];
            in[t] = (const char *)b->in[t]->data + (uint64_t)offset * b->in_bytes[t];
        }
        b->row(b->arg, in, (char *)b->out->data + from * b->out_bytes, n, stride);
        from += n;
        at[0] = 0; /* a row ends where the axis does, or where the piece does */
        for (int i = 1; i < b->rank && ++at[i] == b->dims[i]; i++)
            at[i] = 0;
    }
}

int as_broadcast_run(struct as_kernel_ctx *k, struct as_broadcast *b)
{
    int64_t strides[AS_BROADCAST_MAX][AS_MAX_RANK];
    struct as_dims dims;

    as_val_dims(b->out, &dims);
    b->out_bytes = as_elem_bytes(b->out->dtype);
    for (size_t t = 0; t < b->n_in; t++) {
        b->in_bytes[t] = as_elem_bytes(b->in[t]->dtype);
        if (b->in_bytes[t] == 0 || b->out_bytes == 0)
            return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(b->in[t]->dtype));
        if (!as_strides_broadcast(b->in[t], &dims, strides[t]))
            return as_kernel_fail(k, "input %zu cannot be broadcast to the output's shape", t);
    }
    if (b->out->n == 0)
        return ASSAY_OK;
    collapse(b, &dims, strides);
    as_kernel_parallel(k, b->out->n, AS_GRAIN, run_piece, b);
    return ASSAY_OK;
}

static void copy_row(const void *arg, const void *const *in, void *out, uint64_t n,
                     const int64_t *stride)
{
    size_t bytes = *(const size_t *)arg;
    const char *from = in[0];
    char *to = out;

    if (stride[0] == 1) {
        memcpy(to, from, n * bytes);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        memcpy(to + i * bytes, from + i * (uint64_t)stride[0] * bytes, bytes);
}

int as_broadcast_to(struct as_kernel_ctx *k, const struct as_val *val, const struct as_dims *dims,
                    struct as_val *to)
{
    size_t bytes = as_elem_bytes(val->dtype);
    struct as_broadcast b = {1, {val}, to, copy_row, &bytes, 0, {0}, {{0}}, {0}, 0};
    struct as_dims own;
    int rc;

    as_val_dims(val, &own);
    *to = *val;
    if (own.rank == dims->rank && memcmp(own.at, dims->at, (size_t)own.rank * sizeof *own.at) == 0)
        return ASSAY_OK;
    *to = (struct as_val){0};
    rc = as_val_shape(to, val->dtype, dims, k->err);
    if (rc < 0)
        return rc;
    to->data = as_kernel_work(k, to->n, bytes);
    if (!to->data)
        return ASSAY_ERR_NOMEM;
    to->present = true;
    return as_broadcast_run(k, &b);
}
