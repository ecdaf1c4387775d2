/* engine/kernels/gemm/kern_matmul.h - products of two tensors by numpy's rules, for MatMul and what
 * is like it. Dimensions are checked here; kern_gemm.h only multiplies. */
#ifndef AS_ENGINE_KERNELS_GEMM_KERN_MATMUL_H
#define AS_ENGINE_KERNELS_GEMM_KERN_MATMUL_H

#include "engine/kernels/gemm/kern_gemm.h"

/* How a factor is turned before: its first axis behind the batch, its last two swapped. */
struct as_turn {
    bool batch, matrix;
};

struct as_product {
    const struct as_val *a, *b;
    struct as_turn turn_a, turn_b;
    struct as_val *out;
    double alpha;
    bool add;
};

AS_MUST_USE int as_kernel_product(struct as_kernel_ctx *k, const struct as_product *p);

/* The whole of Gemm. */
int as_kernel_gemm(struct as_kernel_ctx *k);

#endif
