/* engine/kernels/norm/kern_softmax.c - Softmax, LogSoftmax and Hardmax along an axis.
 * Before opset 13 everything from the axis on is one row. */
#include <string.h>
#include <tgmath.h>

#include "engine/kernels/math/fast_math.h"
#include "engine/kernels/math/kern_typed.h"
#include "engine/kernels/reduce/kern_reduce.h"

/* From opset 13 along one axis; before, everything from the axis on is one row. */
static int softmax_around(struct as_kernel_ctx *k, struct as_around *a)
{
    const struct as_val *in = k->in[0];
    int64_t said = as_node_int(k->node, "axis", k->opset >= 13 ? -1 : 1);
    int axis, rc;

    if (k->opset < 13 && said == in->rank) {
        *a = (struct as_around){in->n, 1, 1};
        return as_kernel_same_size(k, in, k->out[0], "the output");
    }
    rc = as_kernel_axis(k, said, in->rank, &axis);
    if (rc == ASSAY_OK)
        *a = as_around_axes(in, axis, k->opset >= 13 ? axis + 1 : in->rank);
    return rc == ASSAY_OK ? as_kernel_same_size(k, in, k->out[0], "the output") : rc;
}

int as_run_hardmax(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    struct as_val *out = k->out[0];
    struct as_around a;
    int rc = softmax_around(k, &a);

    if (rc < 0)
        return rc;
    memset(out->data, 0, out->bytes);
    for (uint64_t o = 0; o < a.outer && a.n > 0; o++)
        for (uint64_t i = 0; i < a.inner; i++) {
            uint64_t first = o * a.n * a.inner + i, best = first;

            for (uint64_t j = 1; j < a.n; j++)
                if (as_val_f64(in, first + j * a.inner) > as_val_f64(in, best))
                    best = first + j * a.inner;
            as_val_put_f64(out, best, 1);
        }
    return ASSAY_OK;
}

struct softmax {
    const void *in;
    void *out;
    struct as_around a;
    bool logarithm;
};

/* Lanes as in kern_reduce_axes.c: every formula becomes vector code, and sums are the same on every
 * processor. */
enum { LANES = 64, COLUMNS = 256 };

static inline float lanes_max(const float *in, uint64_t n)
{
    float lane[LANES];
    uint64_t i = 0;

    for (int l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    for (; n - i >= LANES; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = in[i + (uint64_t)l] > lane[l] ? in[i + (uint64_t)l] : lane[l];
    for (uint64_t l = 0; l < n - i; l++)
        lane[l] = in[i + l] > lane[l] ? in[i + l] : lane[l];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = lane[l] > lane[l + half] ? lane[l] : lane[l + half];
    return lane[0];
}

/* The exponentials less `shift` into `out`, and their sum. */
static inline float lanes_exp(const float *in, float *out, uint64_t n, float shift)
{
    float lane[LANES] = {0};
    uint64_t i = 0;

    for (; n - i >= LANES; i += LANES)
        AS_IVDEP for (int l = 0; l < LANES; l++)
        {
            float e = as_expf(in[i + (uint64_t)l] - shift);

            out[i + (uint64_t)l] = e;
            lane[l] += e;
        }
    AS_IVDEP for (uint64_t l = 0; l < n - i; l++)
    {
        float e = as_expf(in[i + l] - shift);

        out[i + l] = e;
        lane[l] += e;
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

AS_VECTOR(extern, as_softmax_row, (const float *in, float *out, uint64_t n, bool logarithm),
          (in, out, n, logarithm))
{
    float most = lanes_max(in, n), sum, scale;

    sum = lanes_exp(in, out, n, most);
    if (logarithm) {
        float less = most + logf(sum);

        AS_IVDEP for (uint64_t i = 0; i < n; i++) out[i] = in[i] - less;
        return;
    }
    scale = 1.0f / sum;
    AS_IVDEP for (uint64_t i = 0; i < n; i++) out[i] *= scale;
}

/* Along an axis that is not the last: a few hundred columns at a time. */
#define COLUMNS_LOOP(tag, type)                                                                    \
    AS_VECTOR(                                                                                     \
        static, columns_##tag,                                                                     \
        (const type *in, type out[], uint64_t n, uint64_t inner, uint64_t width, bool logarithm),  \
        (in, out, n, inner, width, logarithm))                                                     \
    {                                                                                              \
        type most[COLUMNS], sum[COLUMNS];                                                          \
                                                                                                   \
        for (uint64_t i = 0; i < width; i++) {                                                     \
            most[i] = in[i];                                                                       \
            sum[i] = 0;                                                                            \
        }                                                                                          \
        for (uint64_t j = 1; j < n; j++)                                                           \
            for (uint64_t i = 0; i < width; i++)                                                   \
                most[i] = in[j * inner + i] > most[i] ? in[j * inner + i] : most[i];               \
        for (uint64_t j = 0; j < n; j++)                                                           \
            AS_IVDEP for (uint64_t i = 0; i < width; i++)                                          \
            {                                                                                      \
                type e = AS_EXP(in[j * inner + i] - most[i]);                                      \
                                                                                                   \
                out[j * inner + i] = e;                                                            \
                sum[i] += e;                                                                       \
            }                                                                                      \
        for (uint64_t i = 0; i < width; i++)                                                       \
            sum[i] = logarithm ? (type)(most[i] + log(sum[i])) : 1 / sum[i];                       \
        for (uint64_t j = 0; j < n; j++)                                                           \
            AS_IVDEP for (uint64_t i = 0; i < width; i++) out[j * inner + i] =                     \
                logarithm ? in[j * inner + i] - sum[i] : out[j * inner + i] * sum[i];              \
    }                                                                                              \
    static void softmax_columns_##tag(void *work, uint64_t from, uint64_t to)                      \
    {                                                                                              \
        const struct softmax *s = work;                                                            \
        uint64_t inner = s->a.inner;                                                               \
                                                                                                   \
        for (uint64_t o = from; o < to; o++)                                                       \
            for (uint64_t i = 0; i < inner; i += COLUMNS) {                                        \
                uint64_t at = o * s->a.n * inner + i;                                              \
                                                                                                   \
                columns_##tag((const type *)s->in + at, (type *)s->out + at, s->a.n, inner,        \
                              inner - i < COLUMNS ? inner - i : COLUMNS, s->logarithm);            \
            }                                                                                      \
    }
COLUMNS_LOOP(f32, float)
COLUMNS_LOOP(f64, double)

static void softmax_rows(void *work, uint64_t from, uint64_t to)
{
    const struct softmax *s = work;

    for (uint64_t o = from; o < to; o++)
        as_softmax_row((const float *)s->in + o * s->a.n, (float *)s->out + o * s->a.n, s->a.n,
                       s->logarithm);
}

int as_softmax(struct as_kernel_ctx *k, const struct as_val *in, struct as_val *out,
               const struct as_around *a, bool logarithm)
{
    struct softmax s = {in->data, out->data, *a, logarithm};
    as_kernel_work_fn columns =
        in->dtype == AS_DTYPE_F32 ? softmax_columns_f32 : softmax_columns_f64;

    if (in->dtype != AS_DTYPE_F32 && in->dtype != AS_DTYPE_F64)
        return as_kernel_cannot(k, "it has no loop for %s", as_dtype_name(in->dtype));
    if (s.a.n == 0 || in->n == 0)
        return ASSAY_OK;
    if (s.a.inner == 1 && in->dtype == AS_DTYPE_F32)
        as_kernel_parallel(k, s.a.outer, as_grain_of(s.a.n), softmax_rows, &s);
    else
        as_kernel_parallel(k, s.a.outer, as_grain_of(s.a.n * s.a.inner), columns, &s);
    return ASSAY_OK;
}

/* TensorFlow Lite multiplies by a number first. */
int as_run_softmax(struct as_kernel_ctx *k)
{
    float beta = as_node_is_lowered(k->node) ? (float)as_node_float(k->node, "beta", 1) : 1;
    struct as_val scaled = *k->in[0];
    struct as_around a;
    int rc = softmax_around(k, &a);

    if (rc == ASSAY_OK && (beta < 1 || beta > 1)) {
        if (scaled.dtype != AS_DTYPE_F32)
            return as_kernel_cannot(k, "beta with %s", as_dtype_name(scaled.dtype));
        scaled.data = as_kernel_work(k, scaled.n, sizeof(float));
        if (!scaled.data)
            return ASSAY_ERR_NOMEM;
        for (uint64_t i = 0; i < scaled.n; i++)
            ((float *)scaled.data)[i] = beta * ((const float *)k->in[0]->data)[i];
    }
    return rc < 0 ? rc : as_softmax(k, &scaled, k->out[0], &a, k->node->op == AS_OP_LogSoftmax);
}
