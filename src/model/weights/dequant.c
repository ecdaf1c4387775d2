/* model/weights/dequant.c - the numbers behind quantized blocks, as f32.
 * Element i of a block is written as one expression of i, for each kind of block. */
#include "model/weights/weight_stats.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

enum { SLICE = 8192 }; /* elements read at once: whole blocks of every dtype */

typedef void (*block_reader)(const uint8_t *at, float *out);

static float half_at(const uint8_t *at)
{
    return (float)as_f16_value((uint16_t)(at[0] | at[1] << 8));
}

static float f32_at(const uint8_t *at)
{
    uint32_t bits =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- blocks of 32: a scale, sometimes a minimum and fifth bits, then the numbers ---- */

/* Its lower four bits are in the first or second half of byte i % 16. */
static int nibble(const uint8_t *at, int i)
{
    return at[i % 16] >> (i / 16 * 4) & 15;
}

static int fifth(const uint8_t *at, int i)
{
    return (at[i / 8] >> i % 8 & 1) << 4;
}

static void read_q4_0(const uint8_t *at, float *out)
{
    float scale = half_at(at);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(nibble(at + 2, i) - 8);
}

static void read_q4_1(const uint8_t *at, float *out)
{
    float scale = half_at(at), least = half_at(at + 2);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)nibble(at + 4, i) + least;
}

static void read_q5_0(const uint8_t *at, float *out)
{
    float scale = half_at(at);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)((nibble(at + 6, i) | fifth(at + 2, i)) - 16);
}

static void read_q5_1(const uint8_t *at, float *out)
{
    float scale = half_at(at), least = half_at(at + 2);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(nibble(at + 8, i) | fifth(at + 4, i)) + least;
}

static void read_q8_0(const uint8_t *at, float *out)
{
    float scale = half_at(at);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(int8_t)at[2 + i];
}

/* Steps that are closer together around zero. */
static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

static void read_iq4_nl(const uint8_t *at, float *out)
{
    float scale = half_at(at);

    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)uneven[nibble(at + 2, i)];
}

/* The scale is a bare exponent; the numbers are floats of 4 bits: 0, 1/2, 1, 3/2, 2, 3, 4, 6. */
static void read_mxfp4(const uint8_t *at, float *out)
{
    static const int8_t halves[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

    for (int i = 0; i < 32; i++)
        out[i] = ldexpf((float)halves[nibble(at + 1, i)], at[0] - 128);
}

/* ---- blocks of 256 ---- */

/* Two bits of element i: four times 32 elements lie over each other in 32 bytes. */
static int two_bits(const uint8_t *at, int i)
{
    return at[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

/* Four bits of element i: twice 32 elements lie over each other in 32 bytes. */
static int four_bits(const uint8_t *at, int i)
{
    return at[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
}

/* One bit of element i: eight times 32 elements lie over each other. */
static int one_bit(const uint8_t *at, int i)
{
    return at[i % 32] >> i / 32 & 1;
}

/* 16 scales of 4 bits with their minima, 64 bytes of numbers, scale and minimum of the whole. */
static void read_q2_k(const uint8_t *at, float *out)
{
    float scale = half_at(at + 80), least = half_at(at + 82);

    for (int i = 0; i < 256; i++)
        out[i] = scale * (float)(at[i / 16] & 15) * (float)two_bits(at + 16, i) -
                 least * (float)(at[i / 16] >> 4);
}

/* Scale k of 16: four bits in bytes 0 to 7, two more in bytes 8 to 11. */
static int scale_q3_k(const uint8_t *at, int k)
{
    return ((at[k % 8] >> (k / 8 * 4) & 15) | (at[8 + k % 4] >> (k / 4 * 2) & 3) << 4) - 32;
}

/* 32 bytes of third bits, 64 of the others, 12 of scales, the scale of the whole. */
static void read_q3_k(const uint8_t *at, float *out)
{
    float scale = half_at(at + 108);

    for (int i = 0; i < 256; i++)
        out[i] = scale * (float)scale_q3_k(at + 96, i / 16) *
                 (float)(two_bits(at + 32, i) - (one_bit(at, i) ? 0 : 4));
}

/* Scale (or minimum) k of 8, six bits each: the first four in the low bits of four bytes, the upper
 * bits of the others above them. */
static int scale_of_12(const uint8_t *at, int k, bool least)
{
    const uint8_t *low = at + (least ? 4 : 0);

    if (k < 4)
        return low[k] & 63;
    return (at[4 + k] >> (least ? 4 : 0) & 15) | low[k - 4] >> 6 << 4;
}

static void scales_of_12(const uint8_t *at, float scales[8], float minima[8])
{
    for (int k = 0; k < 8; k++) {
        scales[k] = half_at(at) * (float)scale_of_12(at + 4, k, false);
        minima[k] = half_at(at + 2) * (float)scale_of_12(at + 4, k, true);
    }
}

/* Scale and minimum of the whole, 12 bytes of scales, 128 of numbers. */
static void read_q4_k(const uint8_t *at, float *out)
{
    float scales[8], minima[8];

    scales_of_12(at, scales, minima);
    for (int i = 0; i < 256; i++)
        out[i] = scales[i / 32] * (float)four_bits(at + 16, i) - minima[i / 32];
}

/* The same with 32 bytes of fifth bits in between. */
static void read_q5_k(const uint8_t *at, float *out)
{
    float scales[8], minima[8];

    scales_of_12(at, scales, minima);
    for (int i = 0; i < 256; i++)
        out[i] = scales[i / 32] * (float)(four_bits(at + 48, i) | one_bit(at + 16, i) << 4) -
                 minima[i / 32];
}

/* 128 bytes of lower bits, 64 of the upper two, 16 scales, the scale of the whole. */
static void read_q6_k(const uint8_t *at, float *out)
{
    float scale = half_at(at + 208);

    for (int i = 0; i < 256; i++) {
        int low = at[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;

        out[i] = scale * (float)(int8_t)at[192 + i / 16] *
                 (float)((low | two_bits(at + 128, i) << 4) - 32);
    }
}

/* An f32 scale, 256 bytes of numbers, and sums of 16 that nobody needs here. */
static void read_q8_k(const uint8_t *at, float *out)
{
    float scale = f32_at(at);

    for (int i = 0; i < 256; i++)
        out[i] = scale * (float)(int8_t)at[4 + i];
}

/* The scale of the whole, upper two bits of eight scales in two bytes, their lower four in four. */
static void read_iq4_xs(const uint8_t *at, float *out)
{
    int high = at[2] | at[3] << 8;

    for (int k = 0; k < 8; k++) {
        int step = (at[4 + k / 2] >> (k % 2 * 4) & 15) | (high >> 2 * k & 3) << 4;
        float scale = half_at(at) * (float)(step - 32);

        for (int i = 0; i < 32; i++)
            out[32 * k + i] = scale * (float)uneven[nibble(at + 8 + 16 * (int64_t)k, i)];
    }
}

static const block_reader readers[AS_DTYPE_COUNT] = {
    [AS_DTYPE_Q4_0] = read_q4_0,     [AS_DTYPE_Q4_1] = read_q4_1,   [AS_DTYPE_Q5_0] = read_q5_0,
    [AS_DTYPE_Q5_1] = read_q5_1,     [AS_DTYPE_Q8_0] = read_q8_0,   [AS_DTYPE_Q2_K] = read_q2_k,
    [AS_DTYPE_Q3_K] = read_q3_k,     [AS_DTYPE_Q4_K] = read_q4_k,   [AS_DTYPE_Q5_K] = read_q5_k,
    [AS_DTYPE_Q6_K] = read_q6_k,     [AS_DTYPE_Q8_K] = read_q8_k,   [AS_DTYPE_IQ4_NL] = read_iq4_nl,
    [AS_DTYPE_IQ4_XS] = read_iq4_xs, [AS_DTYPE_MXFP4] = read_mxfp4,
};

bool as_dequant_can(unsigned dtype)
{
    return dtype < AS_DTYPE_COUNT && readers[dtype];
}

void as_dequant(unsigned dtype, const uint8_t *blocks, uint64_t n, float *out)
{
    const struct as_dtype_info *info = as_dtype_at(dtype);
    float last[AS_DEQUANT_MAX];

    for (; n >= info->block_elems; n -= info->block_elems) {
        readers[dtype](blocks, out);
        blocks += info->block_bytes;
        out += info->block_elems;
    }
    if (n > 0) {
        readers[dtype](blocks, last);
        memcpy(out, last, (size_t)n * sizeof *out);
    }
}

static void widen(unsigned dtype, const uint8_t *at, uint64_t n, float *out)
{
    for (uint64_t i = 0; i < n; i++) {
        uint16_t bits = (uint16_t)(at[2 * i] | at[2 * i + 1] << 8);

        out[i] = (float)(dtype == AS_DTYPE_F16 ? as_f16_value(bits) : as_bf16_value(bits));
    }
}

int as_dequant_data(const struct as_data *data, uint64_t first, uint64_t n, float *out,
                    struct assay_error *err)
{
    const struct as_dtype_info *info = as_dtype_at(data->dtype);
    bool is_half = data->dtype == AS_DTYPE_F16 || data->dtype == AS_DTYPE_BF16;
    uint8_t *raw;
    int rc = ASSAY_OK;

    if (!is_half && !as_dequant_can(data->dtype))
        return as_fail(err, ASSAY_ERR_UNSUPPORTED, "numbers of type %s cannot be made f32",
                       info->name);
    if (data->n % info->block_elems)
        return as_fail(err, ASSAY_ERR_FORMAT, "%llu elements are not whole %s blocks of %u",
                       (unsigned long long)data->n, info->name, info->block_elems);
    raw = as_alloc((size_t)SLICE / info->block_elems * info->block_bytes);
    if (!raw)
        return as_fail_nomem(err);
    for (uint64_t at = 0; at < n && rc == ASSAY_OK; at += SLICE) {
        uint64_t some = n - at < SLICE ? n - at : SLICE;

        rc = as_data_read(data, first + at, some, raw, err);
        if (rc == ASSAY_OK && is_half)
            widen(data->dtype, raw, some, out + at);
        else if (rc == ASSAY_OK)
            as_dequant(data->dtype, raw, some, out + at);
    }
    as_free(raw);
    return rc;
}
