/* engine/kernels/contrib/kern_contrib_act.c - the activations of com.microsoft: kinds of Gelu, with
 * and without a bias, and a softmax with one. */
#include <math.h>
#include <string.h>

#include "engine/kernels/contrib/kern_contrib.h"
#include "engine/kernels/math/fast_math.h"

struct gelu {
    const float *x, *bias; /* bias: `width` of them, or NULL */
    float *out;
    uint64_t width;
    float alpha;
    enum as_op op;
};

static inline float with_erf(float x)
{
    return 0.5f * x * (1 + erff(x * 0.70710678f));
}

AS_VECTOR(static, gelu_row, (const struct gelu *v, const float *x, float *out), (v, x, out))
{
    uint64_t n = v->width;

    for (uint64_t i = 0; i < n; i++)
        out[i] = x[i] + (v->bias ? v->bias[i] : 0);
    if (v->op == AS_OP_MS_QuickGelu)
        for (uint64_t i = 0; i < n; i++)
            out[i] = out[i] * as_sigmoidf(v->alpha * out[i]);
    else if (v->op == AS_OP_MS_FastGelu)
        for (uint64_t i = 0; i < n; i++)
            out[i] = 0.5f * out[i] *
                     (1 + as_tanhf(out[i] * (0.7978845608f + 0.0356774081f * out[i] * out[i])));
    else
        for (uint64_t i = 0; i < n; i++)
            out[i] = with_erf(out[i]);
}

static void work_rows(void *arg, uint64_t from, uint64_t to)
{
    const struct gelu *v = arg;

    for (uint64_t i = from; i < to; i++)
        gelu_row(v, v->x + i * v->width, v->out + i * v->width);
}

int as_ms_gelu(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    const struct as_val *bias = as_has_in(k, 1) ? k->in[1] : NULL;
    struct gelu v = {
        .op = k->node->op, .width = 4096, .alpha = (float)as_node_float(k->node, "alpha", 1.702)};
    uint64_t rows;

    if (!x || !as_has_out(k, 0) || x->dtype != AS_DTYPE_F32 || k->out[0]->dtype != x->dtype ||
        k->out[0]->n != x->n)
        return as_kernel_cannot(k, "an input that is not f32");
    if (bias && (bias->dtype != AS_DTYPE_F32 || bias->n == 0 || x->n % bias->n != 0))
        return as_kernel_fail(k, "the bias does not fit");
    v.x = x->data;
    v.out = k->out[0]->data;
    v.bias = bias ? bias->data : NULL;
    if (bias)
        v.width = bias->n;
    rows = x->n / v.width;
    as_kernel_parallel(k, rows, v.width >= 4096 ? 1 : 4096 / v.width, work_rows, &v);
    if (rows * v.width < x->n) { /* the rest of a tensor without rows */
        uint64_t done = rows * v.width;

        v.width = x->n - done;
        gelu_row(&v, v.x + done, v.out + done);
    }
    return ASSAY_OK;
}

/* The first half of a row times the Gelu of the second. */
int as_ms_bias_split_gelu(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    const struct as_val *bias = as_has_in(k, 1) ? k->in[1] : NULL;
    const float *in, *b;
    uint64_t half, rows;
    float *out;

    if (!x || !bias || !as_has_out(k, 0) || x->dtype != AS_DTYPE_F32 ||
        bias->dtype != AS_DTYPE_F32 || x->rank < 1 || bias->n % 2 != 0 || bias->n == 0 ||
        bias->n != (uint64_t)x->dims[x->rank - 1] || k->out[0]->n != x->n / 2 ||
        k->out[0]->dtype != AS_DTYPE_F32)
        return as_kernel_fail(k, "input and bias do not fit");
    half = bias->n / 2;
    rows = x->n / bias->n;
    in = x->data;
    b = bias->data;
    out = k->out[0]->data;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < half; i++)
            out[r * half + i] =
                (in[2 * r * half + i] + b[i]) * with_erf(in[(2 * r + 1) * half + i] + b[half + i]);
    return ASSAY_OK;
}

AS_VECTOR(static, soften, (float *row, uint64_t n), (row, n))
{
    float most = -INFINITY, sum = 0;

    for (uint64_t i = 0; i < n; i++)
        most = row[i] > most ? row[i] : most;
    for (uint64_t i = 0; i < n; i++)
        row[i] = as_expf(row[i] - most);
    for (uint64_t i = 0; i < n; i++)
        sum += row[i];
    for (uint64_t i = 0; i < n; i++)
        row[i] /= sum;
}

/* Axes from `axis` on are one row; the bias repeats inside, or each of its rows follows itself. */
int as_ms_bias_softmax(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    const struct as_val *bias = as_has_in(k, 1) ? k->in[1] : NULL;
    int64_t axis = as_node_int(k->node, "axis", 1);
    bool inner = as_node_int(k->node, "is_inner_broadcast", 1) != 0;
    uint64_t row = 1, rows, b_rows;
    float *out;

    if (!x || !bias || !as_has_out(k, 0) || x->dtype != AS_DTYPE_F32 ||
        bias->dtype != AS_DTYPE_F32 || k->out[0]->dtype != AS_DTYPE_F32 || k->out[0]->n != x->n ||
        axis < -x->rank || axis >= x->rank)
        return as_kernel_fail(k, "input and bias do not fit");
    for (int i = (int)(axis < 0 ? axis + x->rank : axis); i < x->rank; i++)
        row *= (uint64_t)x->dims[i];
    if (x->n == 0)
        return ASSAY_OK;
    rows = x->n / row;
    b_rows = bias->n / row;
    if (b_rows == 0 || bias->n % row != 0 || rows % b_rows != 0)
        return as_kernel_fail(k, "the bias does not fit");
    out = k->out[0]->data;
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t from = inner ? r / (rows / b_rows) : r % b_rows;

        for (uint64_t i = 0; i < row; i++)
            out[r * row + i] =
                ((const float *)x->data)[r * row + i] + ((const float *)bias->data)[from * row + i];
        soften(out + r * row, row);
    }
    return ASSAY_OK;
}
