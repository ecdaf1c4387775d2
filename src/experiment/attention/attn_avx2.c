/* experiment/attention/attn_avx2.c - the loops of attention for processors with AVX2 and FMA. */
#include "experiment/attention/attn_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AS_TARGET __attribute__((target("avx2,fma")))
#define KERNELS   as_attn_kernels_avx2
#define NAME_TEXT "avx2"

enum { ROWS = 6, LANES = 8 };

typedef __m256 vec;
typedef __m256i sums;

#define V_LOAD(p)      _mm256_loadu_ps(p)
#define V_STORE(p, x)  _mm256_storeu_ps(p, x)
#define V_SET(x)       _mm256_set1_ps(x)
#define V_MUL(a, b)    _mm256_mul_ps(a, b)
#define V_SUB(a, b)    _mm256_sub_ps(a, b)
#define V_MAX(a, b)    _mm256_max_ps(a, b)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)

/* x where `a` is at least `b`, else 0. */
#define V_WHERE_LEAST(a, b, x) _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ), x)

/* x * 2^n, of which the low bits of `t` hold n. */
#define V_SCALE(x, t)                                                                              \
    _mm256_castsi256_ps(                                                                           \
        _mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_castps_si256(t), 23)))

/* x where the lane's bit is set, else y. */
#define V_CHOOSE(bits, x, y)                                                                       \
    _mm256_blendv_ps(y, x,                                                                         \
                     _mm256_castsi256_ps(_mm256_cmpeq_epi32(                                       \
                         _mm256_and_si256(_mm256_set1_epi32((int)(bits)),                          \
                                          _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)),         \
                         _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128))))

/* A bit for each lane of x above y. */
#define V_ABOVE(x, y) ((unsigned)_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ)))

/* Whole numbers of two halves each, so that many of them fit. */
#define SUMS_ZERO() _mm256_setzero_si256()
#define SUMS_ADD(sum, x)                                                                           \
    do {                                                                                           \
        __m256i whole_ = _mm256_cvtps_epi32(x);                                                    \
                                                                                                   \
        (sum) = _mm256_add_epi64((sum), _mm256_srli_epi64(whole_, 32));                            \
        (sum) = _mm256_add_epi64((sum), _mm256_and_si256(whole_, _mm256_set1_epi64x(0xffffffff))); \
    } while (0)
#define SUMS_TOTAL(sum, total)                                                                     \
    do {                                                                                           \
        int64_t part_[4];                                                                          \
                                                                                                   \
        _mm256_storeu_si256((__m256i *)(void *)part_, sum);                                        \
        (total) = part_[0] + part_[1] + part_[2] + part_[3];                                       \
    } while (0)

#include "experiment/attention/attn_kernels_body.h"
#endif
