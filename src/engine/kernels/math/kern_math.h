/* engine/kernels/math/kern_math.h - what the files of the family math show each other.
 * Each kernel of the table in kern_math.c is here; see kernel.h for what they are given. */
#ifndef AS_ENGINE_KERNELS_MATH_KERN_MATH_H
#define AS_ENGINE_KERNELS_MATH_KERN_MATH_H

#include <stdint.h>

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

/* ---- kern_cast.c ---- */

/* `in` as `dtype` in working memory; `in` itself when it has that type. Not of strings. */
AS_MUST_USE int as_cast_to(struct as_kernel_ctx *k, const struct as_val *in, unsigned dtype,
                           struct as_val *to);

/* Elements [from, to) of `in` into `out`, both plain numbers of any two types. `saturate` is for
 * 8-bit floats: whether what is too large becomes the largest number or none. */
void as_cast_piece(const struct as_val *in, struct as_val *out, bool saturate, uint64_t from,
                   uint64_t to);

/* ---- mersenne.c ---- */

enum { AS_MERSENNE_WORDS = 624 };

struct as_mersenne {
    uint32_t word[AS_MERSENNE_WORDS];
    unsigned at;
};

void as_mersenne_seed(struct as_mersenne *m, uint32_t seed);
uint32_t as_mersenne_next(struct as_mersenne *m);
/* In [0, 1), of 53 bits. */
double as_mersenne_unit(struct as_mersenne *m);

#endif
