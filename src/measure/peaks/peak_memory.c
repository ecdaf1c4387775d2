/* measure/peaks/peak_memory.c - reads, writes and triads over memory, with the widest vectors there
 * are. Plain stores, as kernels of neural networks use them: a line that is written is fetched
 * first. */
#include "base/units.h"
#include "measure/peaks/peak_kernels.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Between two passes, so that none is taken for a repetition of the other. */
#define KEEP_MEMORY() __asm__ __volatile__("" ::: "memory")

#define EACH_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/* The three loops over vectors `vec`; VEC_ macros of that suffix move and combine them. */
#define MEMORY_KERNELS(suffix, attributes, vec)                                                    \
    attributes static void read_##suffix(char *data, size_t size, uint64_t passes)                 \
    {                                                                                              \
        const size_t step = 8 * sizeof(vec);                                                       \
        EACH_8(ZERO_##suffix)                                                                      \
                                                                                                   \
        for (; passes; passes--) {                                                                 \
            for (const char *at = data, *end = data + size; at < end; at += step) {                \
                EACH_8(MIX_##suffix)                                                               \
                at += step;                                                                        \
                EACH_8(MIX_##suffix)                                                               \
            }                                                                                      \
            KEEP_MEMORY();                                                                         \
        }                                                                                          \
        EACH_8(USE_##suffix)                                                                       \
    }                                                                                              \
    /* NOLINTNEXTLINE(bugprone-macro-parentheses): attributes of the function */                   \
    attributes static void write_##suffix(char *data, size_t size, uint64_t passes)                \
    {                                                                                              \
        const size_t step = 8 * sizeof(vec);                                                       \
        const vec v = SPLAT_##suffix;                                                              \
                                                                                                   \
        for (; passes; passes--) {                                                                 \
            for (char *at = data, *end = data + size; at < end; at += step) {                      \
                EACH_8(PUT_##suffix)                                                               \
                at += step;                                                                        \
                EACH_8(PUT_##suffix)                                                               \
            }                                                                                      \
            KEEP_MEMORY();                                                                         \
        }                                                                                          \
    }                                                                                              \
    /* NOLINTNEXTLINE(bugprone-macro-parentheses): attributes of the function */                   \
    attributes static void triad_##suffix(char *data, size_t size, uint64_t passes)                \
    {                                                                                              \
        const size_t third = size / 3, step = 4 * sizeof(vec);                                     \
        const char *const b = data + third, *const c = data + 2 * third;                           \
        char *const to = data;                                                                     \
        const vec s = SPLAT_##suffix;                                                              \
                                                                                                   \
        for (; passes; passes--) {                                                                 \
            for (size_t at = 0; at < third; at += step) {                                          \
                TRIAD_##suffix(0) TRIAD_##suffix(1) TRIAD_##suffix(2) TRIAD_##suffix(3)            \
            }                                                                                      \
            KEEP_MEMORY();                                                                         \
        }                                                                                          \
    }

/* Any compiler's vectors. */
typedef float generic_vec __attribute__((vector_size(16), may_alias));
#define AT_GENERIC(p, i)  (*(generic_vec *)(void *)((p) + (i) * sizeof(generic_vec)))
#define CAT_GENERIC(p, i) (*(const generic_vec *)(const void *)((p) + (i) * sizeof(generic_vec)))
#define ZERO_generic(i)   generic_vec a##i = {0};
#define MIX_generic(i)    a##i += CAT_GENERIC(at, i);
#define USE_generic(i)    __asm__ __volatile__("" ::"m"(a##i));
#define SPLAT_generic                                                                              \
    (generic_vec)                                                                                  \
    {                                                                                              \
        0.5f, 0.5f, 0.5f, 0.5f                                                                     \
    }
#define PUT_generic(i) AT_GENERIC(at, i) = v;
#define TRIAD_generic(i)                                                                           \
    AT_GENERIC(to + at, i) = CAT_GENERIC(b + at, i) + s * CAT_GENERIC(c + at, i);

/* NOLINTNEXTLINE(readability-non-const-parameter): all loops are called alike */
MEMORY_KERNELS(generic, , generic_vec)

#if defined(__x86_64__)

/* clang-format off */
#define AT_AVX2(p, i) ((float *)(void *)((p) + (i) * (size_t)32))
#define CAT_AVX2(p, i) ((const float *)(const void *)((p) + (i) * (size_t)32))
#define ZERO_avx2(i)  __m256i a##i = _mm256_setzero_si256();
#define MIX_avx2(i)   a##i = _mm256_xor_si256(a##i, _mm256_load_si256((const __m256i *)(const void *)(at + (i) * (size_t)32)));
#define USE_avx2(i)   __asm__ __volatile__("" ::"x"(a##i));
#define SPLAT_avx2    _mm256_set1_ps(0.5f)
#define PUT_avx2(i)   _mm256_store_ps(AT_AVX2(at, i), v);
#define TRIAD_avx2(i) _mm256_store_ps(AT_AVX2(to + at, i), _mm256_fmadd_ps(s, _mm256_load_ps(CAT_AVX2(c + at, i)), _mm256_load_ps(CAT_AVX2(b + at, i))));

#define ZERO_avx(i)  __m256 a##i = _mm256_setzero_ps();
#define MIX_avx(i)   a##i = _mm256_xor_ps(a##i, _mm256_load_ps(CAT_AVX2(at, i)));
#define USE_avx(i)   __asm__ __volatile__("" ::"x"(a##i));
#define SPLAT_avx    _mm256_set1_ps(0.5f)
#define PUT_avx(i)   _mm256_store_ps(AT_AVX2(at, i), v);
#define TRIAD_avx(i) _mm256_store_ps(AT_AVX2(to + at, i), _mm256_add_ps(_mm256_mul_ps(s, _mm256_load_ps(CAT_AVX2(c + at, i))), _mm256_load_ps(CAT_AVX2(b + at, i))));

#define ZERO_avx512(i)  __m512i a##i = _mm512_setzero_si512();
#define MIX_avx512(i)   a##i = _mm512_xor_si512(a##i, _mm512_load_si512(at + (i) * (size_t)64));
#define USE_avx512(i)   __asm__ __volatile__("" ::"v"(a##i));
#define SPLAT_avx512    _mm512_set1_ps(0.5f)
#define PUT_avx512(i)   _mm512_store_ps(at + (i) * (size_t)64, v);
#define TRIAD_avx512(i) _mm512_store_ps(to + at + (i) * (size_t)64, _mm512_fmadd_ps(s, _mm512_load_ps(c + at + (i) * (size_t)64), _mm512_load_ps(b + at + (i) * (size_t)64)));
/* clang-format on */

/* NOLINTNEXTLINE(readability-non-const-parameter): all loops are called alike */
MEMORY_KERNELS(avx, __attribute__((target("avx"))), __m256)
/* NOLINTNEXTLINE(readability-non-const-parameter): all loops are called alike */
MEMORY_KERNELS(avx2, __attribute__((target("avx2,fma"))), __m256)
/* NOLINTNEXTLINE(readability-non-const-parameter): all loops are called alike */
MEMORY_KERNELS(avx512, __attribute__((target("avx512f"))), __m512)

#endif

/* The best first. */
static const struct as_memory_kernel kernels[] = {
#if defined(__x86_64__)
    {AS_PEAK_READ, "avx512", AS_ISA_AVX512_CORE, read_avx512},
    {AS_PEAK_WRITE, "avx512", AS_ISA_AVX512_CORE, write_avx512},
    {AS_PEAK_TRIAD, "avx512", AS_ISA_AVX512_CORE, triad_avx512},
    {AS_PEAK_READ, "avx2+fma", AS_ISA_AVX2, read_avx2},
    {AS_PEAK_WRITE, "avx2+fma", AS_ISA_AVX2, write_avx2},
    {AS_PEAK_TRIAD, "avx2+fma", AS_ISA_AVX2, triad_avx2},
    {AS_PEAK_READ, "avx", AS_ISA_AVX, read_avx},
    {AS_PEAK_WRITE, "avx", AS_ISA_AVX, write_avx},
    {AS_PEAK_TRIAD, "avx", AS_ISA_AVX, triad_avx},
#endif
    {AS_PEAK_READ, "128 bit", AS_ISA_GENERIC, read_generic},
    {AS_PEAK_WRITE, "128 bit", AS_ISA_GENERIC, write_generic},
    {AS_PEAK_TRIAD, "128 bit", AS_ISA_GENERIC, triad_generic},
};

const struct as_memory_kernel *as_memory_kernel_at(size_t i)
{
    return i < AS_COUNT_OF(kernels) ? &kernels[i] : NULL;
}

const struct as_memory_kernel *as_memory_kernel_find(enum as_peak_access access)
{
    const struct as_memory_kernel *k;

    for (size_t i = 0; (k = as_memory_kernel_at(i)); i++)
        if (k->access == access && as_peak_isa_has(k->isa_level))
            break;
    return k;
}
