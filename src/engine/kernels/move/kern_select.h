/* engine/kernels/move/kern_select.h - the selecting kernel with a file of its own. */
#ifndef AS_ENGINE_KERNELS_MOVE_KERN_SELECT_H
#define AS_ENGINE_KERNELS_MOVE_KERN_SELECT_H

#include "engine/kernel.h"

int as_kern_boxes(struct as_kernel_ctx *k); /* kern_boxes.c */

#endif
