/* engine/kernels/gemm/kern_einsum.h - Einsum as a chain of matrix products. */
#ifndef AS_ENGINE_KERNELS_GEMM_KERN_EINSUM_H
#define AS_ENGINE_KERNELS_GEMM_KERN_EINSUM_H

#include "engine/kernel.h"

int as_kernel_einsum(struct as_kernel_ctx *k);

#endif
