/* engine/kern_linear.h - determinants and inverses of small matrices, in double precision. */
#ifndef AS_ENGINE_KERN_LINEAR_H
#define AS_ENGINE_KERN_LINEAR_H

#include "engine/kernel.h"

int as_kernel_det(struct as_kernel_ctx *k);
int as_kernel_inverse(struct as_kernel_ctx *k);

#endif
