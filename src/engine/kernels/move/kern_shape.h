/* engine/kernels/move/kern_shape.h - kernels of the shape family that live in files of their own.
 */
#ifndef AS_ENGINE_KERNELS_MOVE_KERN_SHAPE_H
#define AS_ENGINE_KERNELS_MOVE_KERN_SHAPE_H

#include "engine/kernel.h"

/* kern_pad.c */
int as_kern_pad(struct as_kernel_ctx *k);
int as_kern_center_crop_pad(struct as_kernel_ctx *k);

/* kern_arrange.c */
int as_kern_reverse_sequence(struct as_kernel_ctx *k);
int as_kern_trilu(struct as_kernel_ctx *k);
int as_kern_eye_like(struct as_kernel_ctx *k);
int as_kern_col2im(struct as_kernel_ctx *k);

#endif
