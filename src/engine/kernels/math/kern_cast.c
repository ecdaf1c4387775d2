/* engine/kernels/math/kern_cast.c - numbers of one type as those of another.
 * Whole numbers wrap, floats are cut towards zero and stop at the limits; NaN is 0 as a whole
 * number. */
#include "engine/kernels/math/kern_math.h"

#include <math.h>

#include "base/units.h"
#include "engine/half.h"
#include "engine/kernels/math/kern_typed.h"

/* The largest float below 2^31 and 2^63 is what may safely be converted. */
static inline int32_t f32_to_i32(float x)
{
    float safe = x < -0x1p31f ? -0x1p31f : x;

    safe = safe > 2147483520.0f ? 2147483520.0f : safe;
    safe = x == x ? safe : 0.0f;
    return x >= 0x1p31f ? INT32_MAX : (int32_t)safe;
}

static inline int64_t f32_to_i64(float x)
{
    float safe = x < -0x1p63f ? -0x1p63f : x;

    safe = safe > 9223371487098961920.0f ? 9223371487098961920.0f : safe;
    safe = x == x ? safe : 0.0f;
    return x >= 0x1p63f ? INT64_MAX : (int64_t)safe;
}

static inline int32_t f64_to_i32(double x)
{
    double safe = x < -0x1p31 ? -0x1p31 : x;

    safe = safe > 2147483647.0 ? 2147483647.0 : safe;
    return (int32_t)(x == x ? safe : 0.0);
}

static inline int64_t f64_to_i64(double x)
{
    double safe = x < -0x1p63 ? -0x1p63 : x;

    safe = safe > 9223372036854774784.0 ? 9223372036854774784.0 : safe;
    safe = x == x ? safe : 0.0;
    return x >= 0x1p63 ? INT64_MAX : (int64_t)safe;
}

/* Below 0 it wraps like the signed ones; from 2^63 on the upper half is used. */
static inline uint64_t f64_to_u64(double x)
{
    if (x >= 0x1p64)
        return UINT64_MAX;
    return x >= 0x1p63 ? (uint64_t)x : (uint64_t)f64_to_i64(x);
}

static inline uint64_t f32_to_u64(float x)
{
    return f64_to_u64((double)x);
}

typedef void (*cast_loop)(const void *in, void *out, uint64_t n);

#define LOOP(from_tag, from_type, to_tag, to_type, formula)                                        \
    AS_VECTOR(static, from_tag##_as_##to_tag, (const void *in, void *out, uint64_t n),             \
              (in, out, n))                                                                        \
    {                                                                                              \
        const from_type *from = in;                                                                \
        to_type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                        \
                                                                                                   \
        AS_IVDEP for (uint64_t i = 0; i < n; i++)                                                  \
        {                                                                                          \
            from_type x = from[i];                                                                 \
                                                                                                   \
            to[i] = (to_type)(formula);                                                            \
        }                                                                                          \
    }

#define LOOPS_TO_FLOAT(tag, type, value)                                                           \
    LOOP(tag, type, f32, float, value)                                                             \
    LOOP(tag, type, f64, double, value)

#define X(DTYPE, tag, type, wide)                                                                  \
    LOOPS_TO_FLOAT(tag, type, x)                                                                   \
    LOOP(tag, type, i8, int8_t, tag##_to_i32(x))                                                   \
    LOOP(tag, type, u8, uint8_t, tag##_to_i32(x))                                                  \
    LOOP(tag, type, i16, int16_t, tag##_to_i32(x))                                                 \
    LOOP(tag, type, u16, uint16_t, tag##_to_i32(x))                                                \
    LOOP(tag, type, i32, int32_t, tag##_to_i32(x))                                                 \
    LOOP(tag, type, u32, uint32_t, tag##_to_i64(x))                                                \
    LOOP(tag, type, i64, int64_t, tag##_to_i64(x))                                                 \
    LOOP(tag, type, u64, uint64_t, tag##_to_u64(x))                                                \
    LOOP(tag, type, flag, uint8_t, x != 0)
AS_TYPES_FLOAT(X)
#undef X

#define LOOPS_OF_WHOLE(tag, type, value)                                                           \
    LOOPS_TO_FLOAT(tag, type, value)                                                               \
    LOOP(tag, type, i8, int8_t, value)                                                             \
    LOOP(tag, type, u8, uint8_t, value)                                                            \
    LOOP(tag, type, i16, int16_t, value)                                                           \
    LOOP(tag, type, u16, uint16_t, value)                                                          \
    LOOP(tag, type, i32, int32_t, value)                                                           \
    LOOP(tag, type, u32, uint32_t, value)                                                          \
    LOOP(tag, type, i64, int64_t, value)                                                           \
    LOOP(tag, type, u64, uint64_t, value)                                                          \
    LOOP(tag, type, flag, uint8_t, x != 0)
#define X(DTYPE, tag, type, wide) LOOPS_OF_WHOLE(tag, type, x)
AS_TYPES_WHOLE(X)
#undef X
LOOPS_OF_WHOLE(flag, uint8_t, x != 0)

static const cast_loop loops[AS_DTYPE_STRING][AS_DTYPE_STRING] = {
#define ROW(DTYPE, tag)                                                                            \
    [AS_DTYPE_##DTYPE] = {[AS_DTYPE_F32] = tag##_as_f32,  [AS_DTYPE_F64] = tag##_as_f64,           \
                          [AS_DTYPE_I8] = tag##_as_i8,    [AS_DTYPE_U8] = tag##_as_u8,             \
                          [AS_DTYPE_I16] = tag##_as_i16,  [AS_DTYPE_U16] = tag##_as_u16,           \
                          [AS_DTYPE_I32] = tag##_as_i32,  [AS_DTYPE_U32] = tag##_as_u32,           \
                          [AS_DTYPE_I64] = tag##_as_i64,  [AS_DTYPE_U64] = tag##_as_u64,           \
                          [AS_DTYPE_BOOL] = tag##_as_flag},
#define X(DTYPE, tag, type, wide) ROW(DTYPE, tag)
    AS_TYPES_WHOLE(X) ROW(F32, f32) ROW(F64, f64) ROW(BOOL, flag)
#undef X
};

/* The largest number of an 8-bit float and where rounding would go past it; whether it then is
 * infinite instead of NaN. */
static const struct small {
    unsigned dtype;
    double past;
    bool tie_goes_past, infinite;
    uint8_t nan, inf;
} smalls[] = {
    {AS_DTYPE_F8E4M3FN, 464, false, false, 0x7f, 0},
    {AS_DTYPE_F8E4M3FNUZ, 248, true, false, 0x80, 0},
    {AS_DTYPE_F8E5M2, 61440, true, true, 0x7f, 0x7c},
    {AS_DTYPE_F8E5M2FNUZ, 61440, true, false, 0x80, 0},
};

static void put_small(struct as_val *out, uint64_t i, double x, bool saturate)
{
    for (size_t s = 0; s < AS_COUNT_OF(smalls); s++) {
        const struct small *f = &smalls[s];
        double size = fabs(x);
        uint8_t *to = out->data;

        if (f->dtype != out->dtype)
            continue;
        if (!isnan(x) && (saturate || size < f->past || (size == f->past && !f->tie_goes_past)))
            as_val_put_f64(out, i, x);
        else if (!isnan(x) && f->infinite)
            to[i] = (uint8_t)(f->inf | (signbit(x) ? 0x80 : 0));
        else
            to[i] = f->nan;
        return;
    }
    if (out->dtype == AS_DTYPE_I4 || out->dtype == AS_DTYPE_U4) {
        double low = out->dtype == AS_DTYPE_I4 ? -8 : 0;

        x = isnan(x) ? 0 : rint(x);
        x = x < low ? low : x > low + 15 ? low + 15 : x;
    }
    as_val_put_f64(out, i, x);
}

static bool is_half(unsigned dtype)
{
    return dtype == AS_DTYPE_F16 || dtype == AS_DTYPE_BF16;
}

/* 16 bits on either side go through f32; of f64 that would round twice. */
static bool cast_half(const struct as_val *in, struct as_val *out, uint64_t from, uint64_t to)
{
    unsigned source = is_half(in->dtype) ? AS_DTYPE_F32 : in->dtype;
    unsigned target = is_half(out->dtype) ? AS_DTYPE_F32 : out->dtype;
    cast_loop loop = loops[source][target];
    float before[256];
    double after[256]; /* as wide as any */

    if (!loop || in->dtype == AS_DTYPE_F64)
        return false;
    while (from < to) {
        uint64_t n = to - from < 256 ? to - from : 256;
        const void *x = (const char *)in->data + from * as_elem_bytes(in->dtype);
        void *y = (char *)out->data + from * as_elem_bytes(out->dtype);

        if (source != in->dtype) {
            as_half_widen(in->dtype, x, before, n);
            x = before;
        }
        loop(x, target != out->dtype ? (void *)after : y, n);
        if (target != out->dtype)
            as_half_round(out->dtype, (const float *)(const void *)after, y, n);
        from += n;
    }
    return true;
}

void as_cast_piece(const struct as_val *in, struct as_val *out, bool saturate, uint64_t from,
                   uint64_t to)
{
    bool known = in->dtype < AS_DTYPE_STRING && out->dtype < AS_DTYPE_STRING;
    cast_loop loop = known ? loops[in->dtype][out->dtype] : NULL;

    if (loop) {
        loop((const char *)in->data + from * as_elem_bytes(in->dtype),
             (char *)out->data + from * as_elem_bytes(out->dtype), to - from);
        return;
    }
    if (known && (is_half(in->dtype) || is_half(out->dtype)) && cast_half(in, out, from, to))
        return;
    for (uint64_t i = from; i < to; i++)
        put_small(out, i, as_val_f64(in, i), saturate);
}

struct casting {
    const struct as_val *in;
    struct as_val *out;
};

static void cast_some(void *arg, uint64_t from, uint64_t to)
{
    const struct casting *c = arg;

    as_cast_piece(c->in, c->out, true, from, to);
}

int as_cast_to(struct as_kernel_ctx *k, const struct as_val *in, unsigned dtype, struct as_val *to)
{
    /* cppcheck-suppress ctuuninitvar ; filled here: callers hand over an empty value */
    struct casting c = {in, to};
    struct as_dims dims;
    int rc;

    *to = *in;
    if (in->dtype == dtype)
        return ASSAY_OK;
    if (in->dtype >= AS_DTYPE_STRING || as_elem_bytes(dtype) == 0)
        return as_kernel_cannot(k, "%s cannot be made %s", as_dtype_name(in->dtype),
                                as_dtype_name(dtype));
    as_val_dims(in, &dims);
    *to = (struct as_val){0};
    rc = as_val_shape(to, dtype, &dims, k->err);
    if (rc < 0)
        return rc;
    to->data = as_kernel_work(k, to->n, as_elem_bytes(dtype));
    if (!to->data)
        return ASSAY_ERR_NOMEM;
    to->present = true;
    as_kernel_parallel(k, in->n, AS_GRAIN, cast_some, &c);
    return ASSAY_OK;
}
