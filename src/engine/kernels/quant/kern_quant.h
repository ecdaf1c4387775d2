/* engine/kernels/quant/kern_quant.h - what the kernels of quantized numbers share: products of
 * centered integers, and bringing sums back to 8 bits. Rounding is to the nearest, ties to even. */
#ifndef AS_ENGINE_KERNELS_QUANT_KERN_QUANT_H
#define AS_ENGINE_KERNELS_QUANT_KERN_QUANT_H

#include <math.h>

#include "engine/exec_plan.h"
#include "engine/kernels/math/kern_typed.h"

/* c[m, n] = a[m, inner] b[inner, n]; numbers less their zero points, which fit in 16 bits. */
void as_int_gemm(struct as_kernel_ctx *k, const int16_t *a, const int16_t *b, int32_t *c,
                 const uint64_t shape[3]);

/* Numbers of u8 or i8 less their zero point, or NULL with an error set; i16 as they are. `zero` may
 * be NULL; it has one element, or one for each of `n_slices` slices, of which element i is in slice
 * i / inner % n_slices. */
int16_t *as_centered(struct as_kernel_ctx *k, const struct as_val *x, const struct as_val *zero,
                     uint64_t n_slices, uint64_t inner);

/* A product of two tensors as numpy's matmul has it. */
struct as_int_product {
    uint64_t batches, m, n;
    int32_t *sums;     /* [batches, m, n]; as the caller has it, or else working memory */
    uint64_t capacity; /* elements of `sums` when the caller has it */
};

AS_MUST_USE int as_int_matmul(struct as_kernel_ctx *k, const struct as_val *a,
                              const struct as_val *a_zero, const struct as_val *b,
                              const struct as_val *b_zero, struct as_int_product *p);

/* Sums times scale (by element when `step` is 1), rounded, moved by `zero` and cut to the type,
 * which is u8 or i8. */
void as_requantize(unsigned dtype, const int32_t *sums, void *out, uint64_t n, const float *scale,
                   int64_t step, int32_t zero);
/* The same of floats that are already divided by the scale. */
void as_quantize_row(unsigned dtype, const float *x, void *out, uint64_t n, int32_t zero);

/* u8 or i8; an error otherwise. */
AS_MUST_USE int as_check_byte(struct as_kernel_ctx *k, const struct as_val *val);

static inline const struct as_val *as_in_or_null(const struct as_kernel_ctx *k, size_t i)
{
    return as_has_in(k, i) ? k->in[i] : NULL;
}

/* One number of an input's element, 0 when it is not given. */
static inline double as_in_at(const struct as_kernel_ctx *k, size_t in, uint64_t i)
{
    return as_has_in(k, in) && k->in[in]->n > 0
               ? as_val_f64(k->in[in], k->in[in]->n == 1 ? 0 : i % k->in[in]->n)
               : 0;
}

/* What DynamicQuantizeLinear takes for u8: the range with 0 in it, in 255 steps. */
void as_dynamic_range(const float *x, uint64_t n, float *scale, float *zero);

int as_run_quantize(struct as_kernel_ctx *k);
int as_run_dequantize(struct as_kernel_ctx *k);
int as_run_dynamic_quantize(struct as_kernel_ctx *k);
int as_run_matmul_integer(struct as_kernel_ctx *k);
int as_run_qlinear_matmul(struct as_kernel_ctx *k);
int as_run_conv_integer(struct as_kernel_ctx *k);
int as_run_qlinear_conv(struct as_kernel_ctx *k);

/* ---- kern_quant_floats.c ---- */

/* Whether an input or output of the node is quantized. */
bool as_quant_applies(const struct as_kernel_ctx *k);

/* Calls the kernel of the step with floats in place of what is quantized, and its post-ops before
 * the result is quantized again. */
AS_MUST_USE int as_quant_run(struct as_kernel_ctx *k, struct as_step *step);

#endif
