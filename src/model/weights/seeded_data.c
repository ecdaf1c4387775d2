/* model/weights/seeded_data.c - weights that are computed instead of stored: each number follows
 * from the seed and its place alone, so any piece can be had at any time, in any order. */
#include "model/weights/seeded_data.h"

#include <string.h>

enum { PIECE = 512 }; /* numbers worked out at once, on the stack */

/* The finishing steps of splitmix64: every bit of the input reaches every bit of the output. */
static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t as_seeded_key(uint64_t seed, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return mix(hash ^ mix(seed));
}

static void fill_uniform(float *out, size_t n, uint64_t at, const struct as_seeded *how)
{
    float step = how->spread * 0x1p-23f; /* 24 random bits cover twice the spread */

    for (size_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)(mix(at + i) >> 40) - 0x800000;

        out[i] = how->mean + (float)bits * step;
    }
}

/* The sum of four even numbers of 16 bits has a bell's shape: good enough for weights, and the same
 * on every machine. Its standard deviation is 2^16 / sqrt(3). */
static void fill_normal(float *out, size_t n, uint64_t at, const struct as_seeded *how)
{
    float step = how->spread * (1.7320508f / 65536.0f);

    for (size_t i = 0; i < n; i++) {
        uint64_t x = mix(at + i);
        int32_t sum = (int32_t)(x & 0xffff) + (int32_t)(x >> 16 & 0xffff) +
                      (int32_t)(x >> 32 & 0xffff) + (int32_t)(x >> 48) - 131070;

        out[i] = how->mean + (float)sum * step;
    }
}

/* Below 2^-14 half floats go in steps of 2^-24. */
static uint32_t small_f16(uint32_t x)
{
    uint32_t shift = 126 - (x >> 23), full = (x & 0x7fffff) | 0x800000, rest;

    if (shift > 24)
        return 0;
    rest = full & ((1u << shift) - 1);
    full >>= shift;
    return full + (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (full & 1)));
}

static inline uint16_t f16_bits(float value)
{
    uint32_t x, sign;

    memcpy(&x, &value, sizeof x);
    sign = x >> 16 & 0x8000;
    x &= 0x7fffffff;
    if (x >= 0x47800000) /* 2^16 and up, infinite, or no number */
        return (uint16_t)(sign | (x > 0x7f800000 ? 0x7e00u : 0x7c00u));
    if (x < 0x38800000)
        return (uint16_t)(sign | small_f16(x));
    /* The exponent counts from elsewhere; what is cut off rounds to even without a branch. */
    return (uint16_t)(sign | (x - 0x38000000 + 0xfff + (x >> 13 & 1)) >> 13);
}

uint16_t as_f16_bits(float value)
{
    return f16_bits(value);
}

static inline uint16_t bf16_bits(float value)
{
    uint32_t x;

    memcpy(&x, &value, sizeof x);
    return (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16); /* weights are finite */
}

/* The nearest whole number of so many bits; unsigned ones are moved up by half of what there is. */
static unsigned step_bits(float value, unsigned dtype)
{
    bool wide = dtype == AS_DTYPE_I8 || dtype == AS_DTYPE_U8;
    bool is_signed = dtype == AS_DTYPE_I8 || dtype == AS_DTYPE_I4;
    int half = wide ? 128 : 8, near;

    if (value > (float)half)
        value = (float)half;
    if (value < (float)-half)
        value = (float)-half;
    near = (int)(value < 0 ? value - 0.5f : value + 0.5f);
    near = near > half - 1 ? half - 1 : near < -half ? -half : near;
    return (unsigned)(is_signed ? near : near + half) & (wide ? 255u : 15u);
}

static void put_steps(uint8_t *out, const float *in, size_t n, unsigned dtype)
{
    bool two = as_dtype_at(dtype)->block_elems == 2; /* in a byte, the first one low */

    for (size_t i = 0; i < n; i++) {
        unsigned bits = step_bits(in[i], dtype);

        if (!two)
            out[i] = (uint8_t)bits;
        else if (i % 2 == 0)
            out[i / 2] = (uint8_t)bits;
        else
            out[i / 2] = (uint8_t)(out[i / 2] | bits << 4);
    }
}

/* Puts a piece in the dtype asked for; returns the bytes written. */
static size_t put(uint8_t *out, const float *in, size_t n, unsigned dtype)
{
    uint16_t half[PIECE];
    uint64_t bytes = 0;

    (void)as_dtype_bytes(dtype, n, &bytes); /* of a piece: it fits */
    switch (dtype) {
    case AS_DTYPE_F32:
        memcpy(out, in, (size_t)bytes);
        break;
    case AS_DTYPE_F64:
        for (size_t i = 0; i < n; i++) {
            double wide = (double)in[i];

            memcpy(out + i * sizeof wide, &wide, sizeof wide);
        }
        break;
    case AS_DTYPE_F16:
    case AS_DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            half[i] = dtype == AS_DTYPE_F16 ? f16_bits(in[i]) : bf16_bits(in[i]);
        memcpy(out, half, (size_t)bytes);
        break;
    default:
        put_steps(out, in, n, dtype);
    }
    return (size_t)bytes;
}

static int make(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                struct assay_error *err)
{
    const struct as_seeded *how = data->from;
    uint8_t *to = out;
    float piece[PIECE];

    if (first > data->n || n > data->n - first)
        return as_fail(err, ASSAY_ERR_USAGE, "elements past the end of a tensor were asked for");
    while (n > 0) {
        size_t some = n < PIECE ? (size_t)n : PIECE;

        if (how->kind == AS_SEEDED_UNIFORM)
            fill_uniform(piece, some, data->seed + first, how);
        else
            fill_normal(piece, some, data->seed + first, how);
        to += put(to, piece, some, data->dtype);
        first += some;
        n -= some;
    }
    return ASSAY_OK;
}

static bool can_make(unsigned dtype)
{
    static const uint8_t known[] = {AS_DTYPE_F32, AS_DTYPE_F16, AS_DTYPE_BF16, AS_DTYPE_F64,
                                    AS_DTYPE_I8,  AS_DTYPE_U8,  AS_DTYPE_I4,   AS_DTYPE_U4};

    for (size_t i = 0; i < sizeof known; i++)
        if (known[i] == dtype)
            return true;
    return false;
}

struct as_data *as_seeded_data(struct as_arena *arena, unsigned dtype, uint64_t n, uint64_t key,
                               const struct as_seeded *how)
{
    struct as_seeded *kept = as_arena_alloc(arena, sizeof *kept);
    struct as_data *data = as_arena_zero(arena, 1, sizeof *data);

    if (!kept || !data || !can_make(dtype) || !as_dtype_bytes(dtype, n, &data->size_bytes))
        return NULL;
    *kept = *how;
    data->dtype = (uint8_t)dtype;
    data->generated = true;
    data->n = n;
    data->stored_elems = n;
    data->stored_bytes = data->size_bytes;
    data->make = make;
    data->from = kept;
    data->seed = key;
    return data;
}
