/* engine/kernels/contrib/kern_contrib_quant.c - the quantized operators of com.microsoft.
 * Of one byte in and one out a table of 256 answers is all there is; the rest is sums and products.
 */
#include <string.h>

#include "engine/kernels/contrib/kern_contrib.h"
#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math.h"
#include "engine/kernels/quant/kern_quant.h"
#include "engine/kernels/reduce/kern_reduce.h"
#include "engine/kernels/rnn/kern_rnn.h"

/* A scale and a zero point from inputs `i` and `i` + 1. */
struct grid {
    float scale, zero;
};

static struct grid grid_at(const struct as_kernel_ctx *k, size_t i)
{
    return (struct grid){(float)as_in_at(k, i, 0), (float)as_in_at(k, i + 1, 0)};
}

static float byte_value(unsigned dtype, unsigned byte)
{
    return dtype == AS_DTYPE_U8 ? (float)byte : (float)(int8_t)(uint8_t)byte;
}

/* ---- one byte in, one out ---- */

typedef float (*curve)(float x, float alpha);

static float leaky(float x, float alpha)
{
    return x < 0 ? x * alpha : x;
}

static float logistic(float x, float alpha)
{
    (void)alpha;
    return as_sigmoidf(x);
}

static float same(float x, float alpha)
{
    (void)alpha;
    return x;
}

/* What each byte becomes. */
static void make_table(uint8_t table[256], unsigned dtype, struct grid in, struct grid out, curve f,
                       float alpha)
{
    float y[256];

    for (unsigned i = 0; i < 256; i++)
        y[i] = f((byte_value(dtype, i) - in.zero) * in.scale, alpha) / out.scale;
    as_quantize_row(dtype, y, table, 256, (int32_t)out.zero);
}

static int run_curve(struct as_kernel_ctx *k, curve f)
{
    const uint8_t *from = k->in[0]->data;
    uint8_t table[256], *to = k->out[0]->data;
    int rc = as_check_byte(k, k->in[0]);

    if (rc == ASSAY_OK)
        rc = as_kernel_same_size(k, k->in[0], k->out[0], "the output");
    if (rc < 0)
        return rc;
    make_table(table, k->in[0]->dtype, grid_at(k, 1), grid_at(k, 3), f,
               (float)as_node_float(k->node, "alpha", 0.01));
    for (uint64_t i = 0; i < k->in[0]->n; i++)
        to[i] = table[from[i]];
    return ASSAY_OK;
}

static int qlinear_leaky(struct as_kernel_ctx *k)
{
    return run_curve(k, leaky);
}

static int qlinear_sigmoid(struct as_kernel_ctx *k)
{
    return run_curve(k, logistic);
}

/* Scale and zero point of the output, then a tensor with its own, again and again. */
static int qlinear_concat(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];
    uint64_t row, at = 0;
    int axis, rc = as_kernel_axis(k, as_node_int(k->node, "axis", 0), out->rank, &axis);
    struct as_around all;

    if (rc == ASSAY_OK)
        rc = as_check_byte(k, out);
    if (rc < 0)
        return rc;
    all = as_around_axes(out, axis, axis + 1);
    row = all.n * all.inner;
    for (size_t i = 2; i + 2 < k->n_in; i += 3) {
        const struct as_val *x = k->in[i];
        struct as_around a;
        uint8_t table[256];

        if (!x || x->rank != out->rank || x->dtype != out->dtype)
            return as_kernel_fail(k, "input %zu does not fit", i);
        a = as_around_axes(x, axis, axis + 1);
        if (a.outer != all.outer || a.inner != all.inner || a.n * a.inner > row - at)
            return as_kernel_fail(k, "input %zu does not fit", i);
        make_table(table, x->dtype, grid_at(k, i + 1), grid_at(k, 0), same, 0);
        for (uint64_t o = 0; o < a.outer; o++)
            for (uint64_t j = 0; j < a.n * a.inner; j++)
                ((uint8_t *)out->data)[o * row + at + j] =
                    table[((const uint8_t *)x->data)[o * a.n * a.inner + j]];
        at += a.n * a.inner;
    }
    return at == row ? ASSAY_OK : as_kernel_fail(k, "its inputs do not fill its output");
}

/* ---- two bytes in ---- */

struct pair {
    struct grid a, b, y;
};

#define PAIR(name, tag, type, low, high, formula)                                                  \
    AS_VECTOR(                                                                                     \
        static, name##_##tag,                                                                      \
        (const void *arg, const void *const *in, void *out, uint64_t n, const int64_t *stride),    \
        (arg, in, out, n, stride))                                                                 \
    {                                                                                              \
        const struct pair *p = arg;                                                                \
        const type *as = in[0], *bs = in[1];                                                       \
        type *to = out; /* NOLINT(bugprone-macro-parentheses): a type */                           \
                                                                                                   \
        for (uint64_t i = 0; i < n; i++) {                                                         \
            float a = ((float)as[(int64_t)i * stride[0]] - p->a.zero) * p->a.scale;                \
            float b = ((float)bs[(int64_t)i * stride[1]] - p->b.zero) * p->b.scale;                \
            float y = rintf((formula) / p->y.scale) + p->y.zero;                                   \
                                                                                                   \
            y = y > (float)(low) ? y : (float)(low);                                               \
            to[i] = (type)(int32_t)(y < (float)(high) ? y : (float)(high));                        \
        }                                                                                          \
    }
PAIR(add, u8, uint8_t, 0, 255, a + b)
PAIR(add, i8, int8_t, -128, 127, a + b)
PAIR(mul, u8, uint8_t, 0, 255, a *b)
PAIR(mul, i8, int8_t, -128, 127, a *b)

static int qlinear_pair(struct as_kernel_ctx *k)
{
    struct pair p = {grid_at(k, 1), grid_at(k, 4), grid_at(k, 6)};
    struct as_broadcast two = {.n_in = 2, .in = {k->in[0], k->in[3]}, .out = k->out[0], .arg = &p};
    bool sum = k->node->op == AS_OP_MS_QLinearAdd, wide = k->in[0]->dtype == AS_DTYPE_U8;
    int rc = as_check_byte(k, k->in[0]);

    if (rc < 0)
        return rc;
    if (k->in[3]->dtype != k->in[0]->dtype || k->out[0]->dtype != k->in[0]->dtype)
        return as_kernel_fail(k, "its tensors are not of one type");
    two.row = sum ? (wide ? add_u8 : add_i8) : wide ? mul_u8 : mul_i8;
    return as_broadcast_run(k, &two);
}

/* ---- whole tensors by way of floats ---- */

/* Input 0 as floats in working memory. */
static int widen_to_floats(struct as_kernel_ctx *k, struct as_val *x)
{
    struct grid g = grid_at(k, 1);
    const uint8_t *from = k->in[0]->data;
    float *to, table[256];
    struct as_dims dims;
    int rc = as_check_byte(k, k->in[0]);

    if (rc < 0)
        return rc;
    as_val_dims(k->in[0], &dims);
    *x = (struct as_val){0};
    rc = as_val_shape(x, AS_DTYPE_F32, &dims, k->err);
    to = rc == ASSAY_OK ? as_kernel_work(k, x->n, sizeof *to) : NULL;
    if (!to)
        return rc < 0 ? rc : ASSAY_ERR_NOMEM;
    for (unsigned i = 0; i < 256; i++)
        table[i] = (byte_value(k->in[0]->dtype, i) - g.zero) * g.scale;
    for (uint64_t i = 0; i < x->n; i++)
        to[i] = table[from[i]];
    x->data = to;
    x->present = true;
    return ASSAY_OK;
}

/* Floats into output 0, on the grid of inputs 3 and 4. */
static int from_floats(struct as_kernel_ctx *k, const struct as_val *x)
{
    struct grid g = grid_at(k, 3);
    float *at = x->data;
    int rc = as_check_byte(k, k->out[0]);

    if (rc == ASSAY_OK)
        rc = as_kernel_same_size(k, x, k->out[0], "the output");
    if (rc < 0)
        return rc;
    for (uint64_t i = 0; i < x->n; i++)
        at[i] /= g.scale;
    as_quantize_row(k->out[0]->dtype, at, k->out[0]->data, x->n, (int32_t)g.zero);
    return ASSAY_OK;
}

static int qlinear_softmax(struct as_kernel_ctx *k)
{
    bool one = as_node_int(k->node, "opset", 13) >= 13;
    struct as_val x = {0};
    struct as_around a;
    int axis = 0, rc = widen_to_floats(k, &x);

    if (rc == ASSAY_OK)
        rc = as_kernel_axis(k, as_node_int(k->node, "axis", -1), x.rank, &axis);
    if (rc != ASSAY_OK)
        return rc;
    a = as_around_axes(&x, axis, one ? axis + 1 : x.rank);
    rc = as_softmax(k, &x, &x, &a, false);
    return rc < 0 ? rc : from_floats(k, &x);
}

/* Reduced along axes into memory of the output's size. */
static int mean_of(struct as_kernel_ctx *k, const bool *marked)
{
    struct as_val x, y = *k->out[0];
    int rc = widen_to_floats(k, &x);

    if (rc < 0)
        return rc;
    y.dtype = AS_DTYPE_F32;
    y.data = as_kernel_work(k, y.n, sizeof(float));
    if (!y.data)
        return ASSAY_ERR_NOMEM;
    rc = as_reduce(k, AS_REDUCE_MEAN, &x, marked, &y);
    return rc < 0 ? rc : from_floats(k, &y);
}

static int qlinear_global_pool(struct as_kernel_ctx *k)
{
    bool last = as_node_int(k->node, "channels_last", 0) != 0, marked[AS_MAX_RANK] = {false};
    int rank = k->in[0]->rank;

    for (int i = last ? 1 : 2; i < (last ? rank - 1 : rank); i++)
        marked[i] = true;
    return mean_of(k, marked);
}

static int mark_axes(struct as_kernel_ctx *k, bool *marked)
{
    struct as_dims axes;
    int rc = as_kernel_axes(k, SIZE_MAX, "axes", k->in[0]->rank, &axes);

    memset(marked, axes.rank == 0, AS_MAX_RANK * sizeof *marked);
    for (int i = 0; i < axes.rank && rc == ASSAY_OK; i++)
        marked[axes.at[i]] = true;
    return rc;
}

static int qlinear_reduce_mean(struct as_kernel_ctx *k)
{
    bool marked[AS_MAX_RANK];
    int rc = mark_axes(k, marked);

    return rc < 0 ? rc : mean_of(k, marked);
}

static int reduce_sum_integer(struct as_kernel_ctx *k)
{
    bool marked[AS_MAX_RANK];
    struct as_val wide = {0};
    int rc = mark_axes(k, marked);

    if (rc == ASSAY_OK)
        rc = as_cast_to(k, k->in[0], k->out[0]->dtype, &wide);
    return rc < 0 ? rc : as_reduce(k, AS_REDUCE_SUM, &wide, marked, k->out[0]);
}

/* ---- products ---- */

/* Sums of integers as floats: times a scale for each column, plus a bias. */
static int put_floats(struct as_kernel_ctx *k, const struct as_int_product *p, double a_scale,
                      size_t b_scale, const struct as_val *bias)
{
    struct as_val *out = k->out[0];
    float *to = out->data, *scales = as_kernel_work(k, p->n, 2 * sizeof *scales);

    if (!scales)
        return ASSAY_ERR_NOMEM;
    if (out->dtype != AS_DTYPE_F32 || out->n != p->batches * p->m * p->n ||
        (bias && bias->n != p->n))
        return as_kernel_fail(k, "its output or bias does not fit");
    for (uint64_t j = 0; j < p->n; j++) {
        scales[j] = (float)(a_scale * as_in_at(k, b_scale, j));
        scales[p->n + j] = bias ? (float)as_val_f64(bias, j) : 0;
    }
    for (uint64_t row = 0; row < p->batches * p->m; row++)
        for (uint64_t j = 0; j < p->n; j++)
            to[row * p->n + j] = (float)p->sums[row * p->n + j] * scales[j] + scales[p->n + j];
    return ASSAY_OK;
}

static int matmul_to_float(struct as_kernel_ctx *k)
{
    struct as_int_product p = {.sums = NULL};
    int rc = as_int_matmul(k, k->in[0], as_in_or_null(k, 4), k->in[1], as_in_or_null(k, 5), &p);

    return rc < 0 ? rc : put_floats(k, &p, as_in_at(k, 2, 0), 3, as_in_or_null(k, 6));
}

/* The first factor is brought to u8 by its own range first. */
static int dynamic_matmul(struct as_kernel_ctx *k)
{
    struct as_int_product p = {.sums = NULL};
    struct as_val x = *k->in[0], zero = {.dtype = AS_DTYPE_U8, .n = 1};
    const float *from = x.data;
    float scale, at, *divided;
    uint8_t point;
    int rc;

    if (x.dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(x.dtype));
    as_dynamic_range(from, x.n, &scale, &at);
    point = (uint8_t)at;
    zero.data = &point;
    divided = as_kernel_work(k, x.n, sizeof *divided);
    x.dtype = AS_DTYPE_U8;
    x.data = divided ? as_kernel_work(k, x.n, 1) : NULL;
    if (!x.data)
        return ASSAY_ERR_NOMEM;
    for (uint64_t i = 0; i < x.n; i++)
        divided[i] = scale > 0 ? from[i] / scale : 0;
    as_quantize_row(AS_DTYPE_U8, divided, x.data, x.n, point);
    rc = as_int_matmul(k, &x, &zero, k->in[1], as_in_or_null(k, 3), &p);
    return rc < 0 ? rc : put_floats(k, &p, (double)scale, 2, as_in_or_null(k, 4));
}

/* A matrix of bytes with its axes swapped, in working memory. */
static int turned(struct as_kernel_ctx *k, const struct as_val *x, bool turn, struct as_val *out)
{
    uint8_t *to;
    int rc = as_check_byte(k, x);

    *out = *x;
    if (rc == ASSAY_OK && x->rank != 2)
        rc = as_kernel_fail(k, "a factor of rank %d is not a matrix", x->rank);
    if (rc < 0 || !turn)
        return rc;
    to = as_kernel_work(k, x->n, 1);
    if (!to)
        return ASSAY_ERR_NOMEM;
    out->dims[0] = x->dims[1];
    out->dims[1] = x->dims[0];
    out->data = to;
    for (int64_t i = 0; i < x->dims[1]; i++)
        for (int64_t j = 0; j < x->dims[0]; j++)
            *to++ = ((const uint8_t *)x->data)[j * x->dims[1] + i];
    return ASSAY_OK;
}

/* Inputs: a, its scale and zero point, b, its, c in the scale of the product, those of the output;
 * without the last the output is of floats. */
static int qgemm(struct as_kernel_ctx *k)
{
    struct as_int_product p = {.sums = NULL};
    double alpha = as_node_float(k->node, "alpha", 1) * as_in_at(k, 1, 0);
    struct as_val a, b, c, *out = k->out[0];
    struct as_dims dims;
    float *scales;
    int rc = turned(k, k->in[0], as_node_int(k->node, "transA", 0) != 0, &a);

    if (rc == ASSAY_OK)
        rc = turned(k, k->in[3], as_node_int(k->node, "transB", 0) != 0, &b);
    if (rc == ASSAY_OK)
        rc = as_int_matmul(k, &a, as_in_or_null(k, 2), &b, as_in_or_null(k, 5), &p);
    if (rc < 0)
        return rc;
    if (out->n != p.m * p.n)
        return as_kernel_fail(k, "its output does not fit");
    if (as_has_in(k, 6)) {
        dims = (struct as_dims){2, {(int64_t)p.m, (int64_t)p.n}};
        rc = as_broadcast_to(k, k->in[6], &dims, &c);
        if (rc < 0 || c.dtype != AS_DTYPE_I32)
            return rc < 0 ? rc : as_kernel_cannot(k, "its bias is of %s", as_dtype_name(c.dtype));
        for (uint64_t i = 0; i < p.m * p.n; i++)
            p.sums[i] = (int32_t)((uint32_t)p.sums[i] + (uint32_t)((const int32_t *)c.data)[i]);
    }
    if (!as_has_in(k, 7))
        return put_floats(k, &p, alpha, 4, NULL);
    scales = as_kernel_work(k, p.n, sizeof *scales);
    rc = as_check_byte(k, out);
    if (rc < 0 || !scales)
        return rc < 0 ? rc : ASSAY_ERR_NOMEM;
    for (uint64_t j = 0; j < p.n; j++)
        scales[j] = (float)(alpha * as_in_at(k, 4, j) / as_in_at(k, 7, 0));
    for (uint64_t i = 0; i < p.m; i++)
        as_requantize(out->dtype, p.sums + i * p.n, (char *)out->data + i * p.n, p.n, scales, 1,
                      (int32_t)as_in_at(k, 8, 0));
    return ASSAY_OK;
}

/* ---- DynamicQuantizeLSTM ---- */

/* Weights [directions, in, 4 hidden] as floats; scales are one, one for each direction, or one for
 * each of its columns. */
static float *weights_of(struct as_kernel_ctx *k, size_t in, size_t scale)
{
    const struct as_val *w = k->in[in], *s = as_in_or_null(k, scale);
    uint64_t columns, each;
    float *out;

    if (w->rank != 3 || as_check_byte(k, w) < 0 || !s || s->n == 0 || w->n == 0) {
        (void)as_kernel_fail(k, "input %zu is not quantized weights with their scales", in);
        return NULL;
    }
    columns = (uint64_t)w->dims[2];
    each = (uint64_t)w->dims[1] * columns;
    if (s->n != 1 && s->n != (uint64_t)w->dims[0] && s->n != (uint64_t)w->dims[0] * columns) {
        (void)as_kernel_fail(k, "input %zu has the wrong number of scales", scale);
        return NULL;
    }
    out = as_kernel_work(k, w->n, sizeof *out);
    for (uint64_t i = 0; out && i < w->n; i++) {
        uint64_t at = s->n == 1                      ? 0
                      : s->n == (uint64_t)w->dims[0] ? i / each
                                                     : i / each * columns + i % columns;

        out[i] = (float)((as_val_f64(w, i) - as_in_at(k, scale + 1, at)) * as_val_f64(s, at));
    }
    return out;
}

static int dynamic_lstm(struct as_kernel_ctx *k)
{
    struct as_rnn_weights weights = {.swapped = true};

    if (!as_has_in(k, 1) || !as_has_in(k, 2))
        return as_kernel_fail(k, "it has no weights");
    weights.w = weights_of(k, 1, 8);
    weights.r = weights.w ? weights_of(k, 2, 10) : NULL;
    if (!weights.r)
        return k->err && k->err->code ? k->err->code : ASSAY_ERR_NOMEM;
    weights.in = k->in[1]->dims[1];
    weights.hidden = k->in[2]->dims[1];
    return as_kernel_rnn(k, AS_CELL_LSTM, &weights);
}

const struct as_kernel as_kernels_ms_quant[] = {
    {AS_OP_MS_QLinearAdd, qlinear_pair, 0},
    {AS_OP_MS_QLinearMul, qlinear_pair, 0},
    {AS_OP_MS_QLinearConcat, qlinear_concat, 0},
    {AS_OP_MS_QLinearLeakyRelu, qlinear_leaky, 0},
    {AS_OP_MS_QLinearSigmoid, qlinear_sigmoid, 0},
    {AS_OP_MS_QLinearSoftmax, qlinear_softmax, 0},
    {AS_OP_MS_QLinearAveragePool, as_run_qlinear_pool, 0},
    {AS_OP_MS_QLinearGlobalAveragePool, qlinear_global_pool, 0},
    {AS_OP_MS_QLinearReduceMean, qlinear_reduce_mean, 0},
    {AS_OP_MS_ReduceSumInteger, reduce_sum_integer, 0},
    {AS_OP_MS_QGemm, qgemm, 0},
    {AS_OP_MS_MatMulInteger16, as_run_matmul_integer, 0},
    {AS_OP_MS_MatMulIntegerToFloat, matmul_to_float, 0},
    {AS_OP_MS_DynamicQuantizeMatMul, dynamic_matmul, 0},
    {AS_OP_MS_DynamicQuantizeLSTM, dynamic_lstm, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
