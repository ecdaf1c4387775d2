/* measure/peaks/peak_compute.c - multiply-adds on registers alone, as many as the processor can do.
 * Twelve sums do not wait for each other; each starts elsewhere, or a compiler would keep one. */
#include "base/units.h"
#include "measure/peaks/peak_kernels.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SUMS        12
#define EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* The scratch: a vector for each sum, then the two factors. */
#define VECTOR_AT(i) ((char *)scratch + (i) * (int64_t)64)

/* A kernel over `vec`: `load` and `store` move one vector, `step(sum, x, y)` is the operation. */
#define COMPUTE_KERNEL(name, isa, vec, load, store, step)                                          \
    __attribute__((target(isa))) static void name(uint64_t rounds, void *scratch)                  \
    {                                                                                              \
        const vec x = load(VECTOR_AT(SUMS)), y = load(VECTOR_AT(SUMS + 1));                        \
        EACH_SUM(DECLARE_##vec)                                                                    \
        for (; rounds; rounds--) {                                                                 \
            EACH_SUM(step)                                                                         \
        }                                                                                          \
        EACH_SUM(store)                                                                            \
    }

/* Any compiler's vectors of 16 bytes: SSE2 on x86, where multiply and add are two instructions. */
typedef float generic_f32 __attribute__((vector_size(16)));
typedef double generic_f64 __attribute__((vector_size(16)));

#define GENERIC_KERNEL(name, vec)                                                                  \
    static void name(uint64_t rounds, void *scratch)                                               \
    {                                                                                              \
        vec a[SUMS], x, y;                                                                         \
                                                                                                   \
        for (int i = 0; i < SUMS; i++)                                                             \
            memcpy(&a[i], VECTOR_AT(i), sizeof a[i]);                                              \
        memcpy(&x, VECTOR_AT(SUMS), sizeof x);                                                     \
        memcpy(&y, VECTOR_AT(SUMS + 1), sizeof y);                                                 \
        for (; rounds; rounds--) {                                                                 \
            EACH_SUM(GENERIC_STEP)                                                                 \
        }                                                                                          \
        for (int i = 0; i < SUMS; i++)                                                             \
            memcpy(VECTOR_AT(i), &a[i], sizeof a[i]);                                              \
    }
#define GENERIC_STEP(i) a[i] = a[i] * x + y;

GENERIC_KERNEL(f32_generic, generic_f32)
GENERIC_KERNEL(f64_generic, generic_f64)

#if defined(__x86_64__)

/* clang-format off */
#define DECLARE___m128i(i) __m128i a##i = _mm_load_si128((const __m128i *)(const void *)VECTOR_AT(i));
#define DECLARE___m256(i)  __m256 a##i = _mm256_load_ps((const float *)(const void *)VECTOR_AT(i));
#define DECLARE___m256d(i) __m256d a##i = _mm256_load_pd((const double *)(const void *)VECTOR_AT(i));
#define DECLARE___m256i(i) __m256i a##i = _mm256_load_si256((const __m256i *)(const void *)VECTOR_AT(i));
#define DECLARE___m512(i)  __m512 a##i = _mm512_load_ps(VECTOR_AT(i));
#define DECLARE___m512d(i) __m512d a##i = _mm512_load_pd(VECTOR_AT(i));
#define DECLARE___m512i(i) __m512i a##i = _mm512_load_si512(VECTOR_AT(i));

#define LOAD_128I(at) _mm_load_si128((const __m128i *)(const void *)(at))
#define LOAD_256(at)  _mm256_load_ps((const float *)(const void *)(at))
#define LOAD_256D(at) _mm256_load_pd((const double *)(const void *)(at))
#define LOAD_256I(at) _mm256_load_si256((const __m256i *)(const void *)(at))
#define STORE_128I(i) _mm_store_si128((__m128i *)(void *)VECTOR_AT(i), a##i);
#define STORE_256(i)  _mm256_store_ps((float *)(void *)VECTOR_AT(i), a##i);
#define STORE_256D(i) _mm256_store_pd((double *)(void *)VECTOR_AT(i), a##i);
#define STORE_256I(i) _mm256_store_si256((__m256i *)(void *)VECTOR_AT(i), a##i);
#define STORE_512(i)  _mm512_store_ps(VECTOR_AT(i), a##i);
#define STORE_512D(i) _mm512_store_pd(VECTOR_AT(i), a##i);
#define STORE_512I(i) _mm512_store_si512(VECTOR_AT(i), a##i);

#define MUL_ADD_256(i)  a##i = _mm256_add_ps(_mm256_mul_ps(a##i, x), y);
#define MUL_ADD_256D(i) a##i = _mm256_add_pd(_mm256_mul_pd(a##i, x), y);
#define FMA_256(i)  a##i = _mm256_fmadd_ps(a##i, x, y);
#define FMA_256D(i) a##i = _mm256_fmadd_pd(a##i, x, y);
#define FMA_512(i)  a##i = _mm512_fmadd_ps(a##i, x, y);
#define FMA_512D(i) a##i = _mm512_fmadd_pd(a##i, x, y);
#define DOT_VNNI_256(i) a##i = _mm256_dpbusd_avx_epi32(a##i, x, y);
#define DOT_VNNI(i) a##i = _mm512_dpbusd_epi32(a##i, x, y);
#define DOT_BF16(i) a##i = _mm512_dpbf16_ps(a##i, (__m512bh)x, (__m512bh)y);
/* Before VNNI: pairs of bytes, pairs of words, then the sum. The first factor is the sum itself,
 * or the two products would be the same in every round and leave the loop. */
#define DOT_SSE41(i)  a##i = _mm_add_epi32(a##i, _mm_madd_epi16(_mm_maddubs_epi16(a##i, x), y));
#define DOT_AVX512(i) a##i = _mm512_add_epi32(a##i, _mm512_madd_epi16(_mm512_maddubs_epi16(a##i, x), y));
#define DOT_AVX2(i)   a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(_mm256_maddubs_epi16(a##i, x), y));
/* clang-format on */

COMPUTE_KERNEL(i8_sse41, "sse4.1", __m128i, LOAD_128I, STORE_128I, DOT_SSE41)
COMPUTE_KERNEL(f32_avx, "avx", __m256, LOAD_256, STORE_256, MUL_ADD_256)
COMPUTE_KERNEL(f64_avx, "avx", __m256d, LOAD_256D, STORE_256D, MUL_ADD_256D)
COMPUTE_KERNEL(f32_avx2, "avx2,fma", __m256, LOAD_256, STORE_256, FMA_256)
COMPUTE_KERNEL(f64_avx2, "avx2,fma", __m256d, LOAD_256D, STORE_256D, FMA_256D)
COMPUTE_KERNEL(i8_avx2, "avx2,fma", __m256i, LOAD_256I, STORE_256I, DOT_AVX2)
COMPUTE_KERNEL(i8_avx2_vnni, "avx2,avxvnni", __m256i, LOAD_256I, STORE_256I, DOT_VNNI_256)
COMPUTE_KERNEL(f32_avx512, "avx512f", __m512, _mm512_load_ps, STORE_512, FMA_512)
COMPUTE_KERNEL(f64_avx512, "avx512f", __m512d, _mm512_load_pd, STORE_512D, FMA_512D)
COMPUTE_KERNEL(i8_avx512, "avx512f,avx512bw", __m512i, _mm512_load_si512, STORE_512I, DOT_AVX512)
COMPUTE_KERNEL(i8_vnni, "avx512f,avx512vnni", __m512i, _mm512_load_si512, STORE_512I, DOT_VNNI)
COMPUTE_KERNEL(bf16_avx512, "avx512f,avx512bf16", __m512, _mm512_load_ps, STORE_512, DOT_BF16)

#endif

/* The best first. */
static const struct as_compute_kernel kernels[] = {
#if defined(__x86_64__)
    {AS_PEAK_F32, "avx512", AS_ISA_AVX512_CORE, f32_avx512, SUMS * 16 * 2, 16},
    {AS_PEAK_F32, "avx2+fma", AS_ISA_AVX2, f32_avx2, SUMS * 8 * 2, 8},
    {AS_PEAK_F32, "avx", AS_ISA_AVX, f32_avx, SUMS * 8 * 2, 8},
    {AS_PEAK_F64, "avx512", AS_ISA_AVX512_CORE, f64_avx512, SUMS * 8 * 2, 8},
    {AS_PEAK_F64, "avx2+fma", AS_ISA_AVX2, f64_avx2, SUMS * 4 * 2, 4},
    {AS_PEAK_F64, "avx", AS_ISA_AVX, f64_avx, SUMS * 4 * 2, 4},
    {AS_PEAK_BF16, "avx512_bf16", AS_ISA_AVX512_CORE_BF16, bf16_avx512, SUMS * 32 * 2, 32},
    {AS_PEAK_I8, "avx512_vnni", AS_ISA_AVX512_CORE_VNNI, i8_vnni, SUMS * 64 * 2, 64},
    {AS_PEAK_I8, "avx512", AS_ISA_AVX512_CORE, i8_avx512, SUMS * 64 * 2, 64},
    {AS_PEAK_I8, "avx2_vnni", AS_ISA_AVX2_VNNI, i8_avx2_vnni, SUMS * 32 * 2, 32},
    {AS_PEAK_I8, "avx2", AS_ISA_AVX2, i8_avx2, SUMS * 32 * 2, 32},
    {AS_PEAK_I8, "sse4.1", AS_ISA_SSE41, i8_sse41, SUMS * 16 * 2, 16},
#endif
    {AS_PEAK_F32, "128 bit", AS_ISA_GENERIC, f32_generic, SUMS * 4 * 2, 4},
    {AS_PEAK_F64, "128 bit", AS_ISA_GENERIC, f64_generic, SUMS * 2 * 2, 2},
};

/* AVX-512 does not imply the VNNI of AVX: a level is run only where the processor has it. */
bool as_peak_isa_has(enum as_isa level)
{
    return level <= as_isa_get() && as_isa_hardware() >> level & 1;
}

const struct as_compute_kernel *as_compute_kernel_at(size_t i)
{
    return i < AS_COUNT_OF(kernels) ? &kernels[i] : NULL;
}

static enum as_peak_reason why_no_bf16(void)
{
    return as_isa_hardware() >> AS_ISA_AVX512_CORE_BF16 & 1 ? AS_PEAK_CAPPED_BF16 : AS_PEAK_NO_BF16;
}

const struct as_compute_kernel *as_compute_kernel_find(enum as_peak_type type, const char **why)
{
    const struct as_compute_kernel *k;

    for (size_t i = 0; (k = as_compute_kernel_at(i)); i++)
        if (k->type == type && as_peak_isa_has(k->isa_level))
            return k;
    *why = as_peak_reason_text(type == AS_PEAK_BF16 ? why_no_bf16()
                               : type == AS_PEAK_I8 ? AS_PEAK_NO_I8
                                                    : AS_PEAK_NO_KERNEL);
    return NULL;
}

static void fill_f32(char *scratch)
{
    float *v = (float *)(void *)scratch;

    for (size_t i = 0; i < AS_PEAK_SCRATCH_BYTES / sizeof *v; i++)
        v[i] = i / 16 == SUMS ? 0.5f : i / 16 == SUMS + 1 ? 0.25f : 1.0f + (float)i;
}

static void fill_f64(char *scratch)
{
    double *v = (double *)(void *)scratch;

    for (size_t i = 0; i < AS_PEAK_SCRATCH_BYTES / sizeof *v; i++)
        v[i] = i / 8 == SUMS ? 0.5 : i / 8 == SUMS + 1 ? 0.25 : 1.0 + (double)i;
}

/* Sums are f32; the factors are pairs of bf16: 2^-30 times itself, which f32 soon absorbs. */
static void fill_bf16(char *scratch)
{
    const uint16_t tiny = 0x3080;
    uint16_t *v = (uint16_t *)(void *)scratch;

    fill_f32(scratch);
    for (size_t i = (size_t)SUMS * 32; i < (size_t)(SUMS + 2) * 32; i++)
        v[i] = tiny;
}

static void fill_i8(char *scratch)
{
    for (size_t i = 0; i < AS_PEAK_SCRATCH_BYTES; i++)
        scratch[i] = (char)(i % 7 + i / 64);
}

void as_compute_scratch(enum as_peak_type type, char scratch[AS_PEAK_SCRATCH_BYTES])
{
    static void (*const fill[])(char *) = {
        [AS_PEAK_F32] = fill_f32,
        [AS_PEAK_F64] = fill_f64,
        [AS_PEAK_BF16] = fill_bf16,
        [AS_PEAK_I8] = fill_i8,
    };
    _Static_assert(AS_COUNT_OF(fill) == AS_PEAK_TYPE_COUNT, "fill every type");

    fill[type](scratch);
}
