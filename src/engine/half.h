/* engine/half.h - runs kernels that know only f32 on tensors of 16 bits.
 * Inputs are widened into working memory, outputs rounded back: each node rounds, as the file says.
 */
#ifndef AS_ENGINE_HALF_H
#define AS_ENGINE_HALF_H

#include "engine/kernel.h"

/* Calls the kernel, with f32 in place of f16 and bf16 where it needs that. */
AS_MUST_USE int as_half_run(struct as_kernel_ctx *k, const struct as_kernel *kernel);

/* `n` numbers of dtype f16 or bf16 to f32 and back, nearest even. */
void as_half_widen(unsigned dtype, const void *from, float *to, uint64_t n);
void as_half_round(unsigned dtype, const float *from, void *to, uint64_t n);

#endif
