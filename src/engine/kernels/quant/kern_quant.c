/* engine/kernels/quant/kern_quant.c - the table of quantized kernels; QuantizeLinear and back,
 * whole tensors, by axis and by block. Rounding is to the nearest, ties to even. */
#include "engine/kernels/quant/kern_quant.h"

#include "engine/kernels/math/kern_math.h"

/* A tensor as rows [outer, along, inner]; scales are one, one for each place along, or one for each
 * `block` places along and each inner place. */
struct scales {
    struct as_around a;
    uint64_t block, n_blocks; /* block 0: not in blocks */
    const float *scale, *zero;
    bool single;
};

static int read_scales(struct as_kernel_ctx *k, struct scales *s)
{
    const struct as_val *x = k->in[0], *scale = k->in[1], *zero = as_in_or_null(k, 2);
    int64_t block = as_node_int(k->node, "block_size", 0);
    struct as_val scale32, zero32;
    float *zeros;
    int axis = 0, rc;

    s->single = scale->n == 1 && block <= 0;
    if (!s->single) {
        rc = as_kernel_axis(k, as_node_int(k->node, "axis", 1), x->rank, &axis);
        if (rc < 0)
            return rc;
        s->a = as_around_axes(x, axis, axis + 1);
    } else {
        s->a = (struct as_around){1, 1, x->n};
    }
    if (block > 0) {
        s->block = (uint64_t)block;
        s->n_blocks = s->a.n / s->block + (s->a.n % s->block != 0);
    }
    if (scale->n != (s->single      ? 1
                     : s->block > 0 ? s->a.outer * s->n_blocks * s->a.inner
                                    : s->a.n) ||
        (zero && zero->n != scale->n))
        return as_kernel_fail(k, "%llu scales do not fit the input", (unsigned long long)scale->n);
    rc = as_cast_to(k, scale, AS_DTYPE_F32, &scale32);
    if (rc == ASSAY_OK && zero)
        rc = as_cast_to(k, zero, AS_DTYPE_F32, &zero32);
    if (rc != ASSAY_OK)
        return rc;
    s->scale = scale32.data;
    if (zero) {
        s->zero = zero32.data;
        return ASSAY_OK;
    }
    zeros = as_kernel_work(k, scale->n, sizeof *zeros);
    for (uint64_t i = 0; zeros && i < scale->n; i++)
        zeros[i] = 0;
    s->zero = zeros;
    return zeros ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

typedef void (*scale_row)(const void *x, void *out, uint64_t n, const float *scale,
                          const float *zero, int64_t step);

struct scaling {
    struct scales s;
    const char *in;
    char *out;
    size_t in_bytes, out_bytes;
    scale_row row;
};

/* One row of `inner` elements; where the axis is the last one, rows are one element long and as
 * many as share a scale, or as have one each, are done together. */
static void scale_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct scaling *q = arg;
    const struct scales *s = &q->s;

    for (uint64_t item = from; item < to; item++) {
        uint64_t o = item / s->a.n, j = item % s->a.n, at = item * s->a.inner, first = j;

        if (s->block > 0)
            first = (o * s->n_blocks + j / s->block) * s->a.inner;
        q->row(q->in + at * q->in_bytes, q->out + at * q->out_bytes, s->a.inner, s->scale + first,
               s->zero + first, s->block > 0);
    }
}

static void scale_last(void *arg, uint64_t from, uint64_t to)
{
    const struct scaling *q = arg;
    const struct scales *s = &q->s;

    for (uint64_t o = from; o < to; o++) {
        uint64_t at = o * s->a.n, step = s->block > 0 ? s->block : s->a.n;

        for (uint64_t j = 0; j < s->a.n; j += step) {
            uint64_t n = s->a.n - j < step ? s->a.n - j : step;
            uint64_t first = s->block > 0 ? o * s->n_blocks + j / s->block : 0;

            q->row(q->in + (at + j) * q->in_bytes, q->out + (at + j) * q->out_bytes, n,
                   s->scale + first, s->zero + first, s->block == 0);
        }
    }
}

static void scale_whole(void *arg, uint64_t from, uint64_t to)
{
    const struct scaling *q = arg;

    q->row(q->in + from * q->in_bytes, q->out + from * q->out_bytes, to - from, q->s.scale,
           q->s.zero, 0);
}

static void run_scaling(struct as_kernel_ctx *k, struct scaling *q)
{
    const struct as_around *a = &q->s.a;

    if (q->s.single)
        as_kernel_parallel(k, a->inner, AS_GRAIN, scale_whole, q);
    else if (a->inner == 1)
        as_kernel_parallel(k, a->outer, as_grain_of(a->n), scale_last, q);
    else
        as_kernel_parallel(k, a->outer * a->n, as_grain_of(a->inner), scale_rows, q);
}

/* ---- QuantizeLinear ---- */

#define QUANTIZE(tag, type, low, high)                                                             \
    AS_VECTOR(static, quantize_##tag,                                                              \
              (const void *in, void *out, uint64_t n, const float *scale, const float *zero,       \
               int64_t step),                                                                      \
              (in, out, n, scale, zero, step))                                                     \
    {                                                                                              \
        const float *x = in;                                                                       \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            float y = rintf(x[i] / scale[(int64_t)i * step]) + zero[(int64_t)i * step];            \
                                                                                                   \
            y = y > (float)(low) ? y : (float)(low); /* NaN too */                                 \
            to[i] = (type)(int32_t)(y < (float)(high) ? y : (float)(high));                        \
        }                                                                                          \
    }
QUANTIZE(u8, uint8_t, 0, 255)
QUANTIZE(i8, int8_t, -128, 127)
QUANTIZE(u16, uint16_t, 0, 65535)
QUANTIZE(i16, int16_t, -32768, 32767)

/* Any other type is quantized as float first. */
AS_VECTOR(static, quantize_f32,
          (const void *in, void *out, uint64_t n, const float *scale, const float *zero,
           int64_t step),
          (in, out, n, scale, zero, step))
{
    const float *x = in;
    float *to = out;

    for (uint64_t i = 0; i < n; i++)
        to[i] = x[i] / scale[(int64_t)i * step] + 0 * zero[(int64_t)i * step];
}

AS_VECTOR(static, quantize_rounded,
          (const void *in, void *out, uint64_t n, const float *scale, const float *zero,
           int64_t step),
          (in, out, n, scale, zero, step))
{
    const float *x = in;
    float *to = out;

    for (uint64_t i = 0; i < n; i++)
        to[i] = rintf(x[i] / scale[(int64_t)i * step]) + zero[(int64_t)i * step];
}

static const scale_row quantizers[AS_DTYPE_COUNT] = {
    [AS_DTYPE_U8] = quantize_u8,
    [AS_DTYPE_I8] = quantize_i8,
    [AS_DTYPE_U16] = quantize_u16,
    [AS_DTYPE_I16] = quantize_i16,
};

int as_run_quantize(struct as_kernel_ctx *k)
{
    struct as_val x, *out = k->out[0], wide;
    struct scaling q = {.in_bytes = sizeof(float), .out = out->data};
    int rc = as_cast_to(k, k->in[0], AS_DTYPE_F32, &x);

    if (rc == ASSAY_OK)
        rc = as_kernel_same_size(k, &x, out, "the output");
    if (rc == ASSAY_OK)
        rc = read_scales(k, &q.s);
    if (rc < 0)
        return rc;
    q.in = x.data;
    q.out_bytes = as_elem_bytes(out->dtype);
    q.row = quantizers[out->dtype];
    if (q.row) {
        run_scaling(k, &q);
        return ASSAY_OK;
    }
    wide = x;
    wide.data = as_kernel_work(k, x.n, sizeof(float));
    if (!wide.data)
        return ASSAY_ERR_NOMEM;
    q.out = wide.data;
    q.out_bytes = sizeof(float);
    q.row = as_dtype_is_float(out->dtype) ? quantize_f32 : quantize_rounded;
    run_scaling(k, &q);
    as_cast_piece(&wide, out, as_node_int(k->node, "saturate", 1) != 0, 0, wide.n);
    return ASSAY_OK;
}

/* ---- DequantizeLinear ---- */

#define DEQUANTIZE(tag, type)                                                                      \
    AS_VECTOR(static, dequantize_##tag,                                                            \
              (const void *in, void *out, uint64_t n, const float *scale, const float *zero,       \
               int64_t step),                                                                      \
              (in, out, n, scale, zero, step))                                                     \
    {                                                                                              \
        const type *x = in;                                                                        \
        float *to = out;                                                                           \
                                                                                                   \
        if (step == 0)                                                                             \
            for (uint64_t i = 0; i < n; i++)                                                       \
                to[i] = ((float)x[i] - *zero) * *scale;                                            \
        else                                                                                       \
            for (uint64_t i = 0; i < n; i++)                                                       \
                to[i] = ((float)x[i] - zero[i]) * scale[i];                                        \
    }
DEQUANTIZE(u8, uint8_t)
DEQUANTIZE(i8, int8_t)
DEQUANTIZE(i32, int32_t)
DEQUANTIZE(f32, float)

int as_run_dequantize(struct as_kernel_ctx *k)
{
    struct as_val x = *k->in[0], y;
    struct as_val *out = k->out[0];
    struct scaling q = {.out_bytes = sizeof(float)};
    unsigned dtype = x.dtype;
    int rc = as_kernel_same_size(k, &x, out, "the output");

    if (dtype != AS_DTYPE_U8 && dtype != AS_DTYPE_I8 && dtype != AS_DTYPE_I32)
        dtype = AS_DTYPE_F32;
    if (rc == ASSAY_OK)
        rc = as_cast_to(k, k->in[0], dtype, &x);
    if (rc == ASSAY_OK)
        rc = read_scales(k, &q.s);
    if (rc == ASSAY_OK)
        rc = as_cast_to(k, out, AS_DTYPE_F32, &y); /* itself, or memory of its size */
    if (rc != ASSAY_OK)
        return rc;
    q.in = x.data;
    q.in_bytes = as_elem_bytes(dtype);
    q.out = y.data;
    q.row = dtype == AS_DTYPE_U8    ? dequantize_u8
            : dtype == AS_DTYPE_I8  ? dequantize_i8
            : dtype == AS_DTYPE_I32 ? dequantize_i32
                                    : dequantize_f32;
    run_scaling(k, &q);
    if (out->dtype != AS_DTYPE_F32)
        as_cast_piece(&y, out, true, 0, out->n);
    return ASSAY_OK;
}

/* ---- DynamicQuantizeLinear ---- */

AS_VECTOR(static, extremes, (const float *x, uint64_t n, float *low, float *high),
          (x, n, low, high))
{
    enum { LANES = 64 };
    float least[LANES] = {0}, most[LANES] = {0}; /* the range always holds 0 */
    uint64_t i = 0;

    for (; n - i >= LANES; i += LANES)
        for (uint64_t l = 0; l < LANES; l++) {
            least[l] = x[i + l] < least[l] ? x[i + l] : least[l];
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
        }
    for (uint64_t l = 0; l < n - i; l++) {
        least[l] = x[i + l] < least[l] ? x[i + l] : least[l];
        most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
    }
    for (int l = 1; l < LANES; l++) {
        least[0] = least[l] < least[0] ? least[l] : least[0];
        most[0] = most[l] > most[0] ? most[l] : most[0];
    }
    *low = least[0];
    *high = most[0];
}

void as_dynamic_range(const float *x, uint64_t n, float *scale, float *zero)
{
    float low, high, at;

    extremes(x, n, &low, &high);
    *scale = (high - low) / 255.0f;
    at = *scale > 0 ? rintf(-low / *scale) : 0;
    *zero = at > 255 ? 255 : at > 0 ? at : 0; /* of infinite values it is not a number */
}

int as_run_dynamic_quantize(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    float scale, zero;
    struct scaling q = {.s = {{1, 1, x->n}, 0, 0, &scale, &zero, true},
                        .in = x->data,
                        .out = k->out[0]->data,
                        .in_bytes = sizeof(float),
                        .out_bytes = 1,
                        .row = quantize_u8};
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (rc < 0)
        return rc;
    if (x->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(x->dtype));
    as_dynamic_range(x->data, x->n, &scale, &zero);
    if (as_has_out(k, 1))
        as_val_put_f64(k->out[1], 0, (double)scale);
    if (as_has_out(k, 2))
        as_val_put_f64(k->out[2], 0, (double)zero);
    if (scale == 0)
        scale = 1; /* all zeros */
    run_scaling(k, &q);
    return ASSAY_OK;
}

const struct as_kernel as_kernels_quant[] = {
    {AS_OP_QuantizeLinear, as_run_quantize, 0},
    {AS_OP_MS_QuantizeLinear, as_run_quantize, 0},
    {AS_OP_DequantizeLinear, as_run_dequantize, 0},
    {AS_OP_MS_DequantizeLinear, as_run_dequantize, 0},
    {AS_OP_DynamicQuantizeLinear, as_run_dynamic_quantize, 0},
    {AS_OP_MatMulInteger, as_run_matmul_integer, 0},
    {AS_OP_QLinearMatMul, as_run_qlinear_matmul, 0},
    {AS_OP_ConvInteger, as_run_conv_integer, 0},
    {AS_OP_QLinearConv, as_run_qlinear_conv, 0},
    {AS_OP_MS_QLinearConv, as_run_qlinear_conv, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
