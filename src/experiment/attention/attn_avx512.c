/* experiment/attention/attn_avx512.c - the loops of attention for processors with AVX-512. */
#include "experiment/attention/attn_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AS_TARGET __attribute__((target("avx512f,avx2,fma")))
#define KERNELS   as_attn_kernels_avx512
#define NAME_TEXT "avx512"

enum { ROWS = 12, LANES = 16 };

typedef __m512 vec;
typedef __m512i sums;

#define V_LOAD(p)      _mm512_loadu_ps(p)
#define V_STORE(p, x)  _mm512_storeu_ps(p, x)
#define V_SET(x)       _mm512_set1_ps(x)
#define V_MUL(a, b)    _mm512_mul_ps(a, b)
#define V_SUB(a, b)    _mm512_sub_ps(a, b)
#define V_MAX(a, b)    _mm512_max_ps(a, b)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)

/* x where `a` is at least `b`, else 0. */
#define V_WHERE_LEAST(a, b, x) _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_GE_OQ), x)

/* x * 2^n, of which the low bits of `t` hold n. */
#define V_SCALE(x, t)                                                                              \
    _mm512_castsi512_ps(                                                                           \
        _mm512_add_epi32(_mm512_castps_si512(x), _mm512_slli_epi32(_mm512_castps_si512(t), 23)))

/* x where the lane's bit is set, else y. */
#define V_CHOOSE(bits, x, y) _mm512_mask_mov_ps(y, (__mmask16)(bits), x)

/* A bit for each lane of x above y. */
#define V_ABOVE(x, y) ((unsigned)_mm512_cmp_ps_mask(x, y, _CMP_GT_OQ))

/* Whole numbers of two halves each, so that many of them fit. */
#define SUMS_ZERO() _mm512_setzero_si512()
#define SUMS_ADD(sum, x)                                                                           \
    do {                                                                                           \
        __m512i whole_ = _mm512_cvtps_epi32(x);                                                    \
                                                                                                   \
        (sum) = _mm512_add_epi64((sum), _mm512_srli_epi64(whole_, 32));                            \
        (sum) = _mm512_add_epi64((sum), _mm512_and_si512(whole_, _mm512_set1_epi64(0xffffffff)));  \
    } while (0)
#define SUMS_TOTAL(sum, total)                                                                     \
    do {                                                                                           \
        int64_t part_[8];                                                                          \
                                                                                                   \
        _mm512_storeu_si512((void *)part_, sum);                                                   \
        (total) = 0;                                                                               \
        for (int i_ = 0; i_ < 8; i_++)                                                             \
            (total) += part_[i_];                                                                  \
    } while (0)

#include "experiment/attention/attn_kernels_body.h"
#endif
