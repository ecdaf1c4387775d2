/* engine/kernels/math/kern_broadcast.h - walks up to four tensors that are broadcast to one shape,
 * row by row. A row function sees plain pointers and strides in elements; nearly always these are 0
 * or 1. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_BROADCAST_H
#define AS_ENGINE_KERNELS_MATH_KERN_BROADCAST_H

#include "engine/kernel.h"

enum { AS_BROADCAST_MAX = 4 };

typedef void (*as_row_fn)(const void *arg, const void *const *in, void *out, uint64_t n,
                          const int64_t *stride);

struct as_broadcast {
    size_t n_in;
    const struct as_val *in[AS_BROADCAST_MAX];
    struct as_val *out; /* its shape is the one all are stretched to */
    as_row_fn row;
    const void *arg;
    /* Private: axes that every tensor walks evenly are one. */
    int rank;
    int64_t dims[AS_MAX_RANK];
    int64_t strides[AS_BROADCAST_MAX][AS_MAX_RANK];
    size_t in_bytes[AS_BROADCAST_MAX], out_bytes;
};

/* Elements that share a byte cannot be walked. */
AS_MUST_USE int as_broadcast_run(struct as_kernel_ctx *k, struct as_broadcast *b);

/* A tensor that is `val` stretched to `dims`, in working memory; `val` itself when it has them. */
AS_MUST_USE int as_broadcast_to(struct as_kernel_ctx *k, const struct as_val *val,
                                const struct as_dims *dims, struct as_val *to);

#endif
