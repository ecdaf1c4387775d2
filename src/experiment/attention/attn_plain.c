/* experiment/attention/attn_plain.c - the loops of attention in plain C, for any processor.
 * fmaf() rounds once everywhere, so what comes out are the bits of the vector code. */
#include <math.h>
#include <string.h>

#include "experiment/attention/attn_kernels.h"

#define AS_TARGET
#define KERNELS   as_attn_kernels_plain
#define NAME_TEXT "plain C"

enum { ROWS = 4, LANES = 4 };

typedef struct {
    float at[LANES];
} vec;
typedef int64_t sums;

#define FOR_LANES for (int i = 0; i < LANES; i++)

static vec load(const float *p)
{
    vec x;

    memcpy(x.at, p, sizeof x.at);
    return x;
}

static vec set(float value)
{
    vec x;

    FOR_LANES
    x.at[i] = value;
    return x;
}

static vec mul(vec a, vec b)
{
    FOR_LANES
    a.at[i] *= b.at[i];
    return a;
}

static vec sub(vec a, vec b)
{
    FOR_LANES
    a.at[i] -= b.at[i];
    return a;
}

static vec max(vec a, vec b)
{
    FOR_LANES
    a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
    return a;
}

static vec fma_of(vec a, vec b, vec c)
{
    FOR_LANES
    c.at[i] = fmaf(a.at[i], b.at[i], c.at[i]);
    return c;
}

static vec where_least(vec a, vec b, vec x)
{
    FOR_LANES
    x.at[i] = a.at[i] >= b.at[i] ? x.at[i] : 0;
    return x;
}

static vec scale_by(vec x, vec t)
{
    uint32_t number[LANES], power[LANES];

    memcpy(number, x.at, sizeof number);
    memcpy(power, t.at, sizeof power);
    FOR_LANES
    number[i] += power[i] << 23;
    memcpy(x.at, number, sizeof number);
    return x;
}

static vec choose(unsigned bits, vec x, vec y)
{
    FOR_LANES
    x.at[i] = bits >> i & 1 ? x.at[i] : y.at[i];
    return x;
}

static unsigned above_bits(vec x, vec y)
{
    unsigned bits = 0;

    FOR_LANES
    bits |= (unsigned)(x.at[i] > y.at[i]) << i;
    return bits;
}

static int64_t whole(vec x)
{
    int64_t sum = 0;

    FOR_LANES
    sum += lrintf(x.at[i]);
    return sum;
}

#define V_LOAD(p)              load(p)
#define V_STORE(p, x)          memcpy(p, (x).at, sizeof(vec))
#define V_SET(x)               set(x)
#define V_MUL(a, b)            mul(a, b)
#define V_SUB(a, b)            sub(a, b)
#define V_MAX(a, b)            max(a, b)
#define V_FMA(a, b, c)         fma_of(a, b, c)
#define V_WHERE_LEAST(a, b, x) where_least(a, b, x)
#define V_SCALE(x, t)          scale_by(x, t)
#define V_CHOOSE(bits, x, y)   choose(bits, x, y)
#define V_ABOVE(x, y)          above_bits(x, y)
#define SUMS_ZERO()            0
#define SUMS_ADD(sum, x)       ((sum) += whole(x))
#define SUMS_TOTAL(sum, total) ((total) = (sum))

#include "experiment/attention/attn_kernels_body.h"
