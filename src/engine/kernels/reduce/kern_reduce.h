/* engine/kernels/reduce/kern_reduce.h - what the files of the family reduce show each other, and
 * normalizations. A reduction takes any set of axes; those that lie together are walked as one. */
#ifndef AS_ENGINE_KERNELS_REDUCE_KERN_REDUCE_H
#define AS_ENGINE_KERNELS_REDUCE_KERN_REDUCE_H

#include "engine/kernels/math/kern_typed.h"

enum as_reduction {
    AS_REDUCE_SUM,
    AS_REDUCE_MEAN,
    AS_REDUCE_PROD,
    AS_REDUCE_MAX,
    AS_REDUCE_MIN,
    AS_REDUCE_L1,
    AS_REDUCE_L2,
    AS_REDUCE_SQUARES,
    AS_REDUCE_LOG_SUM,
    AS_REDUCE_LOG_SUM_EXP,
    AS_REDUCTIONS
};

/* Reduces the marked axes of `in` into `out`, which has the same type and one element for each
 * place on the other axes. */
AS_MUST_USE int as_reduce(struct as_kernel_ctx *k, enum as_reduction how, const struct as_val *in,
                          const bool *marked, struct as_val *out);

int as_run_reduce(struct as_kernel_ctx *k);
int as_run_arg(struct as_kernel_ctx *k);
int as_run_softmax(struct as_kernel_ctx *k);
int as_run_hardmax(struct as_kernel_ctx *k);
int as_run_cumsum(struct as_kernel_ctx *k);
int as_run_topk(struct as_kernel_ctx *k);

/* Softmax, or its logarithm, along the middle of `a`; f32 or f64, both alike. */
AS_MUST_USE int as_softmax(struct as_kernel_ctx *k, const struct as_val *in, struct as_val *out,
                           const struct as_around *a, bool logarithm);
/* Of one row of `n` floats that lie together. */
void as_softmax_row(const float *in, float *out, uint64_t n, bool logarithm);

#endif
