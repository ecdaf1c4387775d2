/* engine/kernels/math/kern_cast.h - numbers of one type as those of another.
 * Whole numbers wrap, floats are cut towards zero and stop at the limits; NaN is 0 as a whole
 * number. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_CAST_H
#define AS_ENGINE_KERNELS_MATH_KERN_CAST_H

#include "engine/kernel.h"

/* `in` as `dtype` in working memory; `in` itself when it has that type. Not of strings. */
AS_MUST_USE int as_cast_to(struct as_kernel_ctx *k, const struct as_val *in, unsigned dtype,
                           struct as_val *to);

/* Elements [from, to) of `in` into `out`, both plain numbers of any two types. `saturate` is for
 * 8-bit floats: whether what is too large becomes the largest number or none. */
void as_cast_piece(const struct as_val *in, struct as_val *out, bool saturate, uint64_t from,
                   uint64_t to);

#endif
