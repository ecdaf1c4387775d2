/* engine/kernels/move/kern_make.h - kernels that make noise, in kern_random.c. */
#ifndef AS_ENGINE_KERNELS_MOVE_KERN_MAKE_H
#define AS_ENGINE_KERNELS_MOVE_KERN_MAKE_H

#include "engine/kernel.h"

int as_kern_random_normal(struct as_kernel_ctx *k);
int as_kern_random_uniform(struct as_kernel_ctx *k);
int as_kern_bernoulli(struct as_kernel_ctx *k);
int as_kern_multinomial(struct as_kernel_ctx *k);

#endif
