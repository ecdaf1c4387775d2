/* engine/kernels/move/kern_gather.h - what picking and placing by index share. */
#ifndef AS_ENGINE_KERNELS_MOVE_KERN_GATHER_H
#define AS_ENGINE_KERNELS_MOVE_KERN_GATHER_H

#include "engine/kernel.h"

/* Every index of `at`, tuples along its last axis, is one of `data` after its batch dimensions. */
AS_MUST_USE int as_gather_check_tuples(struct as_kernel_ctx *k, const struct as_val *at,
                                       const struct as_val *data, int batch_dims);

/* kern_scatter.c */
int as_kern_scatter_elements(struct as_kernel_ctx *k);
int as_kern_scatter_nd(struct as_kernel_ctx *k);

#endif
