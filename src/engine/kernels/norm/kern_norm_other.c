/* engine/kernels/norm/kern_norm_other.c - LRN, LpNormalization and MeanVarianceNormalization.
 * The last two are a reduction and then a broadcast. */
#include <string.h>
#include <tgmath.h>

#include "engine/kernels/math/kern_broadcast.h"
#include "engine/kernels/math/kern_math_loops.h"
#include "engine/kernels/norm/kern_norm.h"
#include "engine/kernels/reduce/kern_reduce.h"

/* ---- LRN ---- */

struct lrn {
    const char *in;
    char *out;
    struct as_around a; /* of the channels */
    uint64_t before, after;
    double alpha, beta, bias;
};

/* Squares of the channels around each are summed into the output first. */
#define LRN(tag, type)                                                                             \
    AS_VECTOR(static, lrn_add_##tag, (type sum[], const type *in, uint64_t n), (sum, in, n))       \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++)                                                           \
            sum[i] += in[i] * in[i];                                                               \
    }                                                                                              \
    AS_VECTOR(static, lrn_end_##tag,                                                               \
              (type sum[], const type *in, uint64_t n, const struct lrn *l), (sum, in, n, l))      \
    {                                                                                              \
        type alpha = (type)l->alpha, beta = (type)l->beta, bias = (type)l->bias;                   \
                                                                                                   \
        if (l->beta == 0.75)                                                                       \
            for (uint64_t i = 0; i < n; i++) {                                                     \
                type root = sqrt(bias + alpha * sum[i]);                                           \
                                                                                                   \
                sum[i] = in[i] / (root * sqrt(root));                                              \
            }                                                                                      \
        else                                                                                       \
            for (uint64_t i = 0; i < n; i++)                                                       \
                sum[i] = in[i] / pow(bias + alpha * sum[i], beta);                                 \
    }                                                                                              \
    static void lrn_##tag(void *arg, uint64_t from, uint64_t to)                                   \
    {                                                                                              \
        const struct lrn *l = arg;                                                                 \
        uint64_t inner = l->a.inner;                                                               \
                                                                                                   \
        for (uint64_t row = from; row < to; row++) {                                               \
            uint64_t c = row % l->a.n, left = l->a.n - 1 - c;                                      \
            uint64_t first = c < l->before ? 0 : c - l->before;                                    \
            uint64_t last = c + (left < l->after ? left : l->after);                               \
            const type *in = (const type *)(const void *)l->in + row * inner;                      \
            /* NOLINTNEXTLINE(bugprone-macro-parentheses): a type */                               \
            type *out = (type *)(void *)l->out + row * inner;                                      \
                                                                                                   \
            memset(out, 0, inner * sizeof *out);                                                   \
            for (uint64_t d = first; d <= last; d++)                                               \
                lrn_add_##tag(out, in + ((int64_t)d - (int64_t)c) * (int64_t)inner, inner);        \
            lrn_end_##tag(out, in, inner, l);                                                      \
        }                                                                                          \
    }
LRN(f32, float)
LRN(f64, double)

int as_run_lrn(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    int64_t size = as_node_int(k->node, "size", 0);
    struct lrn l = {.in = x->data,
                    .out = k->out[0]->data,
                    .beta = as_node_float(k->node, "beta", 0.75),
                    .bias = as_node_float(k->node, "bias", 1)};
    int rc = as_kernel_same_size(k, x, k->out[0], "the output");

    if (rc < 0 || !as_norm_loops(k, x->dtype))
        return rc < 0 ? rc : ASSAY_ERR_UNSUPPORTED;
    if (x->rank < 2 || size < 1)
        return as_kernel_fail(k, "it sums over %lld channels of an input of rank %d",
                              (long long)size, x->rank);
    l.a = as_around_axes(x, 1, 2);
    l.before = (uint64_t)(size - 1) / 2;
    l.after = (uint64_t)size / 2;
    l.alpha = as_node_float(k->node, "alpha", 1e-4) / (double)size;
    as_kernel_parallel(k, l.a.outer * l.a.n, as_grain_of(l.a.inner),
                       x->dtype == AS_DTYPE_F32 ? lrn_f32 : lrn_f64, &l);
    return ASSAY_OK;
}

/* ---- a reduction, then a broadcast ---- */

#define X(DTYPE, tag, type, wide)                                                                  \
    AS_LOOP2(less, tag, type, type, x - y)                                                         \
    AS_LOOP2(share, tag, type, type, y == 0 ? 0 : x / y)                                           \
    AS_LOOP2(norm, tag, type, type, x / (sqrt(y) + (T)1e-9))
AS_TYPES_FLOAT(X)
#undef X

/* `in` reduced along the marked axes, which stay as 1. */
static int reduced(struct as_kernel_ctx *k, enum as_reduction how, const struct as_val *in,
                   const bool *marked, struct as_val *out)
{
    struct as_dims dims;
    int rc;

    as_val_dims(in, &dims);
    for (int i = 0; i < dims.rank; i++)
        if (marked[i])
            dims.at[i] = 1;
    *out = (struct as_val){0};
    rc = as_val_shape(out, in->dtype, &dims, k->err);
    if (rc < 0)
        return rc;
    out->data = as_kernel_work(k, out->n, as_elem_bytes(in->dtype));
    return out->data ? as_reduce(k, how, in, marked, out) : ASSAY_ERR_NOMEM;
}

static int spread(struct as_kernel_ctx *k, as_row_fn row, const struct as_val *a,
                  const struct as_val *b)
{
    struct as_broadcast two = {.n_in = 2, .in = {a, b}, .out = k->out[0], .row = row};

    return as_broadcast_run(k, &two);
}

int as_run_lp_norm(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    int64_t p = as_node_int(k->node, "p", 2);
    double least = as_node_is_lowered(k->node) ? as_node_float(k->node, "epsilon", 0) : 0;
    bool marked[AS_MAX_RANK] = {false};
    struct as_val size = {0};
    int axis, rc = as_kernel_axis(k, as_node_int(k->node, "axis", -1), x->rank, &axis);

    if (rc == ASSAY_OK && p != 1 && p != 2)
        rc = as_kernel_fail(k, "p is %lld, neither 1 nor 2", (long long)p);
    if (rc < 0 || !as_norm_loops(k, x->dtype))
        return rc < 0 ? rc : ASSAY_ERR_UNSUPPORTED;
    marked[axis] = true;
    rc = reduced(k, p == 1 ? AS_REDUCE_L1 : AS_REDUCE_L2, x, marked, &size);
    for (uint64_t i = 0; rc == ASSAY_OK && least > 0 && i < size.n; i++)
        if (as_val_f64(&size, i) < least)
            as_val_put_f64(&size, i, least);
    return rc < 0 ? rc : spread(k, x->dtype == AS_DTYPE_F32 ? share_f32 : share_f64, x, &size);
}

int as_run_mean_variance(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    bool marked[AS_MAX_RANK] = {false}, narrow = x->dtype == AS_DTYPE_F32;
    struct as_dims axes;
    struct as_val mean = {0}, variance = {0};
    int rc = as_kernel_axes(k, 1, "axes", x->rank, &axes);

    if (rc < 0 || !as_norm_loops(k, x->dtype))
        return rc < 0 ? rc : ASSAY_ERR_UNSUPPORTED;
    if (!as_node_attr(k->node, "axes"))
        axes = (struct as_dims){3, {0, 2, 3}};
    for (int i = 0; i < axes.rank; i++)
        if (axes.at[i] < x->rank)
            marked[axes.at[i]] = true;
    rc = reduced(k, AS_REDUCE_MEAN, x, marked, &mean);
    if (rc == ASSAY_OK)
        rc = spread(k, narrow ? less_f32 : less_f64, x, &mean);
    if (rc == ASSAY_OK)
        rc = reduced(k, AS_REDUCE_SQUARES, k->out[0], marked, &variance);
    if (rc != ASSAY_OK)
        return rc;
    for (uint64_t i = 0; i < variance.n; i++)
        as_val_put_f64(&variance, i,
                       as_val_f64(&variance, i) * (double)variance.n / (double)(x->n ? x->n : 1));
    return spread(k, narrow ? norm_f32 : norm_f64, k->out[0], &variance);
}
