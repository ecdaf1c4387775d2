/* engine/kernels/math/kern_math.h - what the files of the family math show each other.
 * Each kernel of the table in kern_math.c is here; see kernel.h for what they are given. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_MATH_H
#define AS_ENGINE_KERNELS_MATH_KERN_MATH_H

#include "engine/kernel.h"

int as_run_unary(struct as_kernel_ctx *k);
int as_run_gelu(struct as_kernel_ctx *k);
int as_run_is_inf(struct as_kernel_ctx *k);
int as_run_binary(struct as_kernel_ctx *k);
int as_run_variadic(struct as_kernel_ctx *k);
int as_run_pow(struct as_kernel_ctx *k);
int as_run_compare(struct as_kernel_ctx *k);
int as_run_logic(struct as_kernel_ctx *k);
int as_run_where(struct as_kernel_ctx *k);
int as_run_clip(struct as_kernel_ctx *k);
int as_run_cast(struct as_kernel_ctx *k);
int as_run_dropout(struct as_kernel_ctx *k);
int as_run_image_scaler(struct as_kernel_ctx *k);
int as_run_crop(struct as_kernel_ctx *k);

/* Input 1 as it stands beside input 0. Before opset 7 an attribute says at which axis it begins;
 * from then on it is the input itself. */
AS_MUST_USE int as_second_input(struct as_kernel_ctx *k, struct as_val *second);

#endif
