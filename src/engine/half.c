/* engine/half.c - runs kernels that know only f32 on tensors of 16 bits.
 * The processor's own conversion is used where it has one. */
#include "engine/half.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "model/weights/seeded_data.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static uint64_t widen_f16_fast(const uint16_t *from, float *to,
                                                                   uint64_t n)
{
    uint64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static uint64_t round_f16_fast(const float *from, uint16_t *to,
                                                                   uint64_t n)
{
    uint64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

static bool has_f16c(void)
{
    return as_isa_get() >= AS_ISA_AVX2; /* F16C is older, but only AVX2 implies it */
}
#else
static uint64_t widen_f16_fast(const uint16_t *from, float *to, uint64_t n)
{
    (void)from, (void)to, (void)n;
    return 0;
}

static uint64_t round_f16_fast(const float *from, uint16_t *to, uint64_t n)
{
    (void)from, (void)to, (void)n;
    return 0;
}

static bool has_f16c(void)
{
    return false;
}
#endif

static uint16_t bf16_bits(float value)
{
    uint32_t bits;

    if (isnan(value))
        return 0x7fc0;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void as_half_widen(unsigned dtype, const void *from, float *to, uint64_t n)
{
    const uint16_t *bits = from;
    uint64_t i = 0;

    if (dtype == AS_DTYPE_F16 && has_f16c())
        i = widen_f16_fast(bits, to, n);
    for (; i < n; i++) {
        if (dtype == AS_DTYPE_F16) {
            to[i] = (float)as_f16_value(bits[i]);
        } else {
            uint32_t wide = (uint32_t)bits[i] << 16;

            memcpy(&to[i], &wide, sizeof wide);
        }
    }
}

void as_half_round(unsigned dtype, const float *from, void *to, uint64_t n)
{
    uint16_t *bits = to;
    uint64_t i = 0;

    if (dtype == AS_DTYPE_F16 && has_f16c())
        i = round_f16_fast(from, bits, n);
    for (; i < n; i++)
        bits[i] = dtype == AS_DTYPE_F16 ? as_f16_bits(from[i]) : bf16_bits(from[i]);
}

static bool is_half(const struct as_val *val)
{
    return val && val->kind == AS_VALUE_TENSOR &&
           (val->dtype == AS_DTYPE_F16 || val->dtype == AS_DTYPE_BF16);
}

static bool has_half(const struct as_kernel_ctx *k)
{
    for (size_t i = 0; i < k->n_in; i++)
        if (is_half(k->in[i]))
            return true;
    for (size_t i = 0; i < k->n_out; i++)
        if (is_half(k->out[i]) && k->out[i]->present)
            return true;
    return false;
}

static int widen(struct as_kernel_ctx *k, const struct as_val *from, struct as_val *to, bool copy)
{
    struct as_dims dims;
    int rc;

    *to = (struct as_val){0};
    as_val_dims(from, &dims);
    rc = as_val_shape(to, AS_DTYPE_F32, &dims, k->err);
    if (rc < 0)
        return rc;
    to->data = as_kernel_work(k, to->n, sizeof(float));
    to->present = true;
    if (!to->data)
        return ASSAY_ERR_NOMEM;
    if (copy)
        as_half_widen(from->dtype, from->data, to->data, to->n);
    return ASSAY_OK;
}

/* A kernel that makes its own outputs made them of f32. */
static int narrow_made(struct as_kernel_ctx *k, unsigned dtype)
{
    for (size_t i = 0; i < k->n_out; i++) {
        struct as_val *out = k->out[i], made;
        struct as_dims dims;
        int rc;

        if (!out || out->kind != AS_VALUE_TENSOR || out->dtype != AS_DTYPE_F32)
            continue;
        as_val_dims(out, &dims);
        rc = as_val_new(&made, k->mem, AS_MEM_ACTIVATIONS, dtype, &dims, k->err);
        if (rc < 0)
            return rc;
        as_half_round(dtype, out->data, made.data, made.n);
        as_val_drop(out);
        *out = made;
    }
    return ASSAY_OK;
}

static int run_widened(struct as_kernel_ctx *k, const struct as_kernel *kernel)
{
    struct as_kernel_ctx wide = *k;
    const struct as_val **in = as_arena_zero(k->scratch, k->n_in + 1, sizeof(struct as_val *));
    struct as_val **out = as_arena_zero(k->scratch, k->n_out + 1, sizeof(struct as_val *));
    struct as_val *vals = as_arena_zero(k->scratch, k->n_in + k->n_out + 1, sizeof *vals);
    unsigned dtype = AS_DTYPE_F16;
    int rc = ASSAY_OK;

    if (!in || !out || !vals)
        return as_fail_nomem(k->err);
    for (size_t i = 0; i < k->n_in && rc == ASSAY_OK; i++) {
        in[i] = k->in[i];
        if (!is_half(k->in[i]))
            continue;
        dtype = k->in[i]->dtype;
        rc = widen(k, k->in[i], &vals[i], true);
        in[i] = &vals[i];
    }
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++) {
        out[i] = k->out[i];
        if (kernel->flags & AS_KERNEL_MAKES_OUT || !is_half(k->out[i]))
            continue;
        rc = widen(k, k->out[i], &vals[k->n_in + i], false);
        out[i] = &vals[k->n_in + i];
    }
    wide.in = in;
    wide.out = out;
    if (rc == ASSAY_OK)
        rc = kernel->run(&wide);
    if (rc == ASSAY_OK && kernel->flags & AS_KERNEL_MAKES_OUT)
        return narrow_made(k, dtype);
    for (size_t i = 0; i < k->n_out && rc == ASSAY_OK; i++)
        if (is_half(k->out[i]))
            as_half_round(k->out[i]->dtype, out[i]->data, k->out[i]->data, k->out[i]->n);
    return rc;
}

int as_half_run(struct as_kernel_ctx *k, const struct as_kernel *kernel)
{
    if (kernel->flags & AS_KERNEL_HALF || !has_half(k))
        return kernel->run(k);
    return run_widened(k, kernel);
}
