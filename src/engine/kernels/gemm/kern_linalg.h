/* engine/kernels/gemm/kern_linalg.h - determinants and inverses of small matrices, in double
 * precision. */
#ifndef AS_ENGINE_KERNELS_GEMM_KERN_LINALG_H
#define AS_ENGINE_KERNELS_GEMM_KERN_LINALG_H

#include "engine/kernel.h"

int as_kernel_det(struct as_kernel_ctx *k);
int as_kernel_inverse(struct as_kernel_ctx *k);

#endif
