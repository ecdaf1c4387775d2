/* tests/e2e/stand_in/immintrin.h - the few operations of AVX-512 that attention uses, in plain C,
 * so that its loops can be tried on machines without. Each does what the manual says of it. */
#ifndef AS_STAND_IN_IMMINTRIN_H
#define AS_STAND_IN_IMMINTRIN_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    float at[16];
} __m512;
typedef struct {
    uint64_t at[8];
} __m512i;
typedef uint16_t __mmask16;

enum { _CMP_GE_OQ = 0x1d, _CMP_GT_OQ = 0x1e };

#define EACH(n) for (int i = 0; i < (n); i++)

static inline __m512 _mm512_loadu_ps(const void *p)
{
    __m512 x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline void _mm512_storeu_ps(void *p, __m512 x)
{
    memcpy(p, &x, sizeof x);
}

static inline void _mm512_storeu_si512(void *p, __m512i x)
{
    memcpy(p, &x, sizeof x);
}

static inline __m512 _mm512_set1_ps(float value)
{
    __m512 x;

    EACH(16) x.at[i] = value;
    return x;
}

static inline __m512 _mm512_mul_ps(__m512 a, __m512 b)
{
    EACH(16) a.at[i] *= b.at[i];
    return a;
}

static inline __m512 _mm512_sub_ps(__m512 a, __m512 b)
{
    EACH(16) a.at[i] -= b.at[i];
    return a;
}

static inline __m512 _mm512_max_ps(__m512 a, __m512 b)
{
    EACH(16) a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
    return a;
}

static inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    EACH(16) c.at[i] = fmaf(a.at[i], b.at[i], c.at[i]);
    return c;
}

static inline __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int how)
{
    unsigned mask = 0;

    EACH(16) mask |= (unsigned)(how == _CMP_GE_OQ ? a.at[i] >= b.at[i] : a.at[i] > b.at[i]) << i;
    return (__mmask16)mask;
}

static inline __m512 _mm512_mask_mov_ps(__m512 other, __mmask16 mask, __m512 x)
{
    EACH(16) x.at[i] = mask >> i & 1 ? x.at[i] : other.at[i];
    return x;
}

static inline __m512 _mm512_maskz_mov_ps(__mmask16 mask, __m512 x)
{
    return _mm512_mask_mov_ps(_mm512_set1_ps(0), mask, x);
}

static inline __m512i _mm512_castps_si512(__m512 x)
{
    __m512i y;

    memcpy(&y, &x, sizeof y);
    return y;
}

static inline __m512 _mm512_castsi512_ps(__m512i x)
{
    __m512 y;

    memcpy(&y, &x, sizeof y);
    return y;
}

static inline __m512i _mm512_add_epi32(__m512i a, __m512i b)
{
    uint32_t x[16], y[16];

    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    EACH(16) x[i] += y[i];
    memcpy(&a, x, sizeof x);
    return a;
}

static inline __m512i _mm512_slli_epi32(__m512i a, unsigned by)
{
    uint32_t x[16];

    memcpy(x, &a, sizeof x);
    EACH(16) x[i] <<= by;
    memcpy(&a, x, sizeof x);
    return a;
}

static inline __m512i _mm512_cvtps_epi32(__m512 a)
{
    int32_t x[16];
    __m512i y;

    EACH(16) x[i] = (int32_t)lrintf(a.at[i]);
    memcpy(&y, x, sizeof y);
    return y;
}

static inline __m512i _mm512_setzero_si512(void)
{
    return (__m512i){{0}};
}

static inline __m512i _mm512_set1_epi64(long long value)
{
    __m512i x;

    EACH(8) x.at[i] = (uint64_t)value;
    return x;
}

static inline __m512i _mm512_add_epi64(__m512i a, __m512i b)
{
    EACH(8) a.at[i] += b.at[i];
    return a;
}

static inline __m512i _mm512_srli_epi64(__m512i a, unsigned by)
{
    EACH(8) a.at[i] >>= by;
    return a;
}

static inline __m512i _mm512_and_si512(__m512i a, __m512i b)
{
    EACH(8) a.at[i] &= b.at[i];
    return a;
}

#endif
