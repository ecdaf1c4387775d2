/* engine/kernels/conv/kern_pool.c - pools: the largest, the mean or a norm of each window, or of
 * each plane. Every plane is one piece of work. */
#include "engine/kernel.h"

#include <math.h>
#include <string.h>

#include "engine/kernels/conv/kern_conv.h"

struct pool {
    struct as_slide s;
    const struct as_val *x;
    struct as_val *out;
    int64_t *index; /* where the maximum was, or NULL */
    bool column_major, count_pad;
    double p;
    int64_t planes;
    enum { MAX_POOL, MEAN_POOL, NORM_POOL } way;
};

/* A window cut to the input: the first element on each axis and one past the last. */
struct cut {
    int64_t from[AS_SPACE], to[AS_SPACE];
    int64_t taps; /* with the padding that counts */
};

static inline void cut_axis(const struct as_slide *s, int i, int64_t place, struct cut *cut,
                            bool count_pad)
{
    int64_t start = place * s->stride[i] - s->before[i], step = s->dilation[i];
    int64_t end = start + (s->kernel[i] - 1) * step + 1;
    int64_t most = s->in[i] + (count_pad ? s->after[i] : 0), n;

    cut->from[i] = start < 0 ? start + (-start + step - 1) / step * step : start;
    cut->to[i] = end < s->in[i] ? end : s->in[i];
    /* With padding counted, taps past its end are those of a rounded-up last window. */
    if (count_pad)
        n = most <= start ? 0 : (((end < most ? end : most) - start) + step - 1) / step;
    else
        n = cut->to[i] <= cut->from[i] ? 0 : (cut->to[i] - cut->from[i] + step - 1) / step;
    cut->taps *= n;
}

static inline void cut_at(const struct pool *v, int64_t place, struct cut *cut)
{
    const struct as_slide *s = &v->s;

    cut->taps = 1;
    cut_axis(s, 0, place / s->out[2] / s->out[1], cut, v->count_pad);
    cut_axis(s, 1, place / s->out[2] % s->out[1], cut, v->count_pad);
    cut_axis(s, 2, place % s->out[2], cut, v->count_pad);
}

#define EACH_TAP(s, cut, d, h, w)                                                                  \
    for (int64_t d = (cut).from[0]; (d) < (cut).to[0]; (d) += (s)->dilation[0])                    \
        for (int64_t h = (cut).from[1]; (h) < (cut).to[1]; (h) += (s)->dilation[1])                \
            for (int64_t w = (cut).from[2]; (w) < (cut).to[2]; (w) += (s)->dilation[2])

/* Where element `at` of a plane is in the whole tensor, counted as the node asks. */
static int64_t index_of(const struct pool *v, int64_t plane, int64_t at)
{
    const struct as_slide *s = &v->s;
    int64_t d, h, w;

    if (!v->column_major)
        return plane * s->n_in + at;
    d = at / s->in[2] / s->in[1];
    h = at / s->in[2] % s->in[1];
    w = at % s->in[2];
    return plane * s->n_in + (w * s->in[1] + h) * s->in[0] + d;
}

#define DEFINE_MAX(T, NAME, LEAST)                                                                 \
    static void NAME(const struct pool *v, int64_t plane)                                          \
    {                                                                                              \
        const struct as_slide *s = &v->s;                                                          \
        const T *x = (const T *)v->x->data + plane * s->n_in;                                      \
        /* NOLINTNEXTLINE(bugprone-macro-parentheses): a type */                                   \
        T *out = (T *)v->out->data + plane * s->n_out;                                             \
                                                                                                   \
        for (int64_t p = 0; p < s->n_out; p++) {                                                   \
            int64_t best = -1;                                                                     \
            T most = LEAST;                                                                        \
            struct cut cut;                                                                        \
                                                                                                   \
            cut_at(v, p, &cut);                                                                    \
            EACH_TAP(s, cut, d, h, w)                                                              \
            {                                                                                      \
                int64_t at = (d * s->in[1] + h) * s->in[2] + w;                                    \
                                                                                                   \
                if (best < 0 || x[at] > most) {                                                    \
                    best = at;                                                                     \
                    most = x[at];                                                                  \
                }                                                                                  \
            }                                                                                      \
            out[p] = most;                                                                         \
            if (v->index)                                                                          \
                v->index[plane * s->n_out + p] = index_of(v, plane, best < 0 ? 0 : best);          \
        }                                                                                          \
    }

DEFINE_MAX(float, max_f32, -INFINITY)
DEFINE_MAX(double, max_f64, -HUGE_VAL)
DEFINE_MAX(int8_t, max_i8, INT8_MIN)
DEFINE_MAX(uint8_t, max_u8, 0)

static void mean_f32(const struct pool *v, int64_t plane)
{
    const struct as_slide *s = &v->s;
    const float *x = (const float *)v->x->data + plane * s->n_in;
    float *out = (float *)v->out->data + plane * s->n_out;

    for (int64_t p = 0; p < s->n_out; p++) {
        struct cut cut;
        double sum = 0;

        cut_at(v, p, &cut);
        EACH_TAP(s, cut, d, h, w)
        sum += (double)x[(d * s->in[1] + h) * s->in[2] + w];
        out[p] = cut.taps > 0 ? (float)(sum / (double)cut.taps) : 0;
    }
}

/* The largest of each window without its place: whole rows of windows, tap by tap. */
AS_VECTOR(static, max_rows_f32, (const struct pool *v, int64_t plane), (v, plane))
{
    const struct as_slide *s = &v->s;
    const float *x = (const float *)v->x->data + plane * s->n_in;
    float *out = (float *)v->out->data + plane * s->n_out;

    for (int64_t row = 0; row < s->out[0] * s->out[1]; row++, out += s->out[2]) {
        struct cut cut = {.taps = 1};

        cut_axis(s, 0, row / s->out[1], &cut, false);
        cut_axis(s, 1, row % s->out[1], &cut, false);
        for (int64_t j = 0; j < s->out[2]; j++)
            out[j] = -INFINITY;
        for (int64_t d = cut.from[0]; d < cut.to[0]; d += s->dilation[0])
            for (int64_t h = cut.from[1]; h < cut.to[1]; h += s->dilation[1])
                for (int64_t tap = 0; tap < s->kernel[2]; tap++) {
                    const float *in =
                        x + (d * s->in[1] + h) * s->in[2] + tap * s->dilation[2] - s->before[2];
                    int64_t from, to, step = s->stride[2];

                    as_slide_range(s, 2, tap, &from, &to);
                    if (step == 1)
                        for (int64_t j = from; j < to; j++)
                            out[j] = in[j] > out[j] ? in[j] : out[j];
                    else
                        for (int64_t j = from; j < to; j++)
                            out[j] = in[j * step] > out[j] ? in[j * step] : out[j];
                }
    }
}

static double to_power(double x, double p)
{
    if (p > 1.999999 && p < 2.000001)
        return x * x;
    return p > 0.999999 && p < 1.000001 ? fabs(x) : pow(fabs(x), p);
}

static double root_of(double sum, double p)
{
    if (p > 1.999999 && p < 2.000001)
        return sqrt(sum);
    return p > 0.999999 && p < 1.000001 ? sum : pow(sum, 1 / p);
}

/* Means and norms of any float. */
static void other_float(const struct pool *v, int64_t plane)
{
    const struct as_slide *s = &v->s;

    for (int64_t p = 0; p < s->n_out; p++) {
        struct cut cut;
        double sum = 0;

        cut_at(v, p, &cut);
        EACH_TAP(s, cut, d, h, w)
        {
            int64_t at = plane * s->n_in + (d * s->in[1] + h) * s->in[2] + w;
            double x = as_val_f64(v->x, (uint64_t)at);

            sum += v->way == NORM_POOL ? to_power(x, v->p) : x;
        }
        if (v->way == NORM_POOL)
            sum = root_of(sum, v->p);
        else
            sum = cut.taps > 0 ? sum / (double)cut.taps : 0;
        as_val_put_f64(v->out, (uint64_t)(plane * s->n_out + p), sum);
    }
}

typedef void (*pool_plane)(const struct pool *v, int64_t plane);

static pool_plane plane_of(const struct pool *v)
{
    unsigned dtype = v->x->dtype;

    if (v->way == MAX_POOL) {
        switch (dtype) {
        case AS_DTYPE_F32:
            /* Tap by tap only where there are not more taps than elements. */
            return v->index || v->s.kernel[2] > v->s.in[2] ? max_f32 : max_rows_f32;
        case AS_DTYPE_F64:
            return max_f64;
        case AS_DTYPE_I8:
            return max_i8;
        case AS_DTYPE_U8:
            return max_u8;
        default:
            return NULL;
        }
    }
    if (v->way == MEAN_POOL && dtype == AS_DTYPE_F32)
        return mean_f32;
    return dtype == AS_DTYPE_F32 || dtype == AS_DTYPE_F64 ? other_float : NULL;
}

static void work_planes(void *arg, uint64_t from, uint64_t to)
{
    const struct pool *v = arg;
    pool_plane plane = plane_of(v);

    for (uint64_t i = from; i < to; i++)
        plane(v, (int64_t)i);
}

/* ---- channels last ---- */

/* One window of all channels. */
static void last_place(const struct pool *v, const float *x, int64_t place, float *out)
{
    const struct as_slide *s = &v->s;
    struct cut cut;

    cut_at(v, place, &cut);
    for (int64_t c = 0; c < v->planes; c++)
        out[c] = v->way == MAX_POOL ? -INFINITY : 0;
    EACH_TAP(s, cut, d, h, w)
    {
        const float *from = x + ((d * s->in[1] + h) * s->in[2] + w) * v->planes;

        for (int64_t c = 0; c < v->planes; c++) {
            if (v->way == MAX_POOL)
                out[c] = from[c] > out[c] ? from[c] : out[c];
            else
                out[c] += v->way == NORM_POOL ? from[c] * from[c] : from[c];
        }
    }
    for (int64_t c = 0; v->way != MAX_POOL && cut.taps > 0 && c < v->planes; c++) {
        out[c] /= (float)cut.taps;
        out[c] = v->way == NORM_POOL ? sqrtf(out[c]) : out[c];
    }
}

static void work_places(void *arg, uint64_t from, uint64_t to)
{
    const struct pool *v = arg;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++)
        last_place(v, (const float *)v->x->data + i / v->s.n_out * v->s.n_in * v->planes,
                   i % v->s.n_out, (float *)v->out->data + i * v->planes);
}

/* Here `planes` are the channels; a norm is that of the mean, as TensorFlow Lite has it. */
static int run_last(struct as_kernel_ctx *k, struct pool *v)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    struct as_slide_rule rule = {.in = x, .first = 1};
    int rc;

    if (!x || !as_has_out(k, 0) || x->rank < 3 || k->out[0]->rank != x->rank ||
        k->out[0]->dims[0] != x->dims[0] || k->out[0]->dims[x->rank - 1] != x->dims[x->rank - 1])
        return as_kernel_fail(k, "input and output do not fit");
    if (x->dtype != AS_DTYPE_F32 || k->out[0]->dtype != AS_DTYPE_F32 || as_has_out(k, 1) ||
        (v->way == NORM_POOL && as_node_int(k->node, "mean", 0) == 0))
        return as_kernel_cannot(k, "a pool of %s", as_dtype_name(x->dtype));
    v->x = x;
    v->out = k->out[0];
    rule.out = v->out;
    v->planes = x->dims[x->rank - 1];
    rule.n = x->rank - 2;
    rc = as_slide_read(k, &rule, &v->s);
    if (rc == ASSAY_OK && v->out->n > 0)
        as_kernel_parallel(k, (uint64_t)(x->dims[0] * v->s.n_out), 64, work_places, v);
    return rc;
}

static int check_pool(struct as_kernel_ctx *k, struct pool *v)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;

    if (!x || !as_has_out(k, 0) || x->rank < 2 || k->out[0]->rank != x->rank ||
        k->out[0]->dtype != x->dtype || k->out[0]->dims[0] != x->dims[0] ||
        k->out[0]->dims[1] != x->dims[1])
        return as_kernel_fail(k, "input and output do not fit");
    v->x = x;
    v->out = k->out[0];
    v->planes = x->dims[0] * x->dims[1];
    if (!plane_of(v))
        return as_kernel_cannot(k, "a pool of %s", as_dtype_name(x->dtype));
    if (as_has_out(k, 1)) {
        if (k->out[1]->dtype != AS_DTYPE_I64 || k->out[1]->n != v->out->n || v->way != MAX_POOL)
            return as_kernel_fail(k, "there is no room for the indices");
        v->index = k->out[1]->data;
    }
    return ASSAY_OK;
}

static int run_windows(struct as_kernel_ctx *k, struct pool *v)
{
    struct as_slide_rule rule = {.first = 2};
    int rc;

    if (as_node_extra_int(k->node, "channels_last", 0) != 0)
        return run_last(k, v);
    rc = check_pool(k, v);
    if (rc < 0)
        return rc;
    rule.in = v->x;
    rule.out = v->out;
    rule.n = v->x->rank - 2;
    rc = as_slide_read(k, &rule, &v->s);
    if (rc == ASSAY_OK && v->out->n > 0)
        as_kernel_parallel(k, (uint64_t)v->planes, 1, work_planes, v);
    return rc;
}

static int run_max(struct as_kernel_ctx *k)
{
    struct pool v = {.way = MAX_POOL};

    v.column_major = as_node_int(k->node, "storage_order", 0) != 0;
    return run_windows(k, &v);
}

static int run_mean(struct as_kernel_ctx *k)
{
    struct pool v = {.way = MEAN_POOL};

    v.count_pad = as_node_int(k->node, "count_include_pad", 0) != 0;
    return run_windows(k, &v);
}

static int run_norm(struct as_kernel_ctx *k)
{
    struct pool v = {.way = NORM_POOL};

    v.p = k->opset < 2 ? as_node_float(k->node, "p", 2) : (double)as_node_int(k->node, "p", 2);
    return run_windows(k, &v);
}

/* ---- the whole plane ---- */

static int run_global(struct as_kernel_ctx *k, struct pool *v)
{
    int rc = check_pool(k, v);

    if (rc < 0 || v->planes == 0)
        return rc;
    if (v->out->n != (uint64_t)v->planes)
        return as_kernel_fail(k, "input and output do not fit");
    v->s.n_in = (int64_t)(v->x->n / (uint64_t)v->planes);
    v->s.n_out = 1;
    for (int i = 0; i < AS_SPACE; i++) {
        v->s.in[i] = v->s.kernel[i] = i == AS_SPACE - 1 ? v->s.n_in : 1;
        v->s.out[i] = v->s.stride[i] = v->s.dilation[i] = 1;
    }
    as_kernel_parallel(k, (uint64_t)v->planes, 1, work_planes, v);
    return ASSAY_OK;
}

static int run_global_max(struct as_kernel_ctx *k)
{
    return run_global(k, &(struct pool){.way = MAX_POOL});
}

static int run_global_mean(struct as_kernel_ctx *k)
{
    return run_global(k, &(struct pool){.way = MEAN_POOL});
}

static int run_global_norm(struct as_kernel_ctx *k)
{
    struct pool v = {.way = NORM_POOL};

    v.p = k->opset < 2 ? as_node_float(k->node, "p", 2) : (double)as_node_int(k->node, "p", 2);
    return run_global(k, &v);
}

/* ---- back ---- */

/* Where element `index` of a tensor of `from` dimensions is in one of `to`; -1: nowhere. */
static int64_t place_in(int64_t index, const struct as_dims *from, const struct as_val *to)
{
    int64_t at = 0, step = 1;

    for (int i = from->rank; i-- > 0;) {
        int64_t here = from->at[i] > 0 ? index % from->at[i] : -1;

        if (here < 0 || here >= to->dims[i])
            return -1;
        at += here * step;
        step *= to->dims[i];
        index /= from->at[i];
    }
    return index == 0 ? at : -1;
}

/* Indices count in the tensor that was pooled; a larger output_shape has that at its beginning. */
static int run_unpool(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_has_in(k, 0) ? k->in[0] : NULL;
    const struct as_val *at = as_has_in(k, 1) ? k->in[1] : NULL;
    struct as_dims pooled;
    struct as_val *out;
    uint64_t width;
    int rc;

    if (!x || !at || !as_has_out(k, 0) || at->dtype != AS_DTYPE_I64 || at->n != x->n ||
        k->out[0]->dtype != x->dtype || x->rank < 3 || k->out[0]->rank != x->rank)
        return as_kernel_fail(k, "values and indices do not fit");
    out = k->out[0];
    width = as_dtype_at(x->dtype)->block_bytes;
    as_val_dims(x, &pooled);
    rc = as_slide_spread(k, x, pooled.at + 2);
    memset(out->data, 0, (size_t)out->bytes);
    for (uint64_t i = 0; rc == ASSAY_OK && i < x->n; i++) {
        int64_t index = ((const int64_t *)at->data)[i];
        int64_t to = index < 0 ? -1 : place_in(index, &pooled, out);

        if (to < 0)
            return as_kernel_fail(k, "index %lld is outside of the output", (long long)index);
        memcpy((char *)out->data + (uint64_t)to * width, (const char *)x->data + i * width,
               (size_t)width);
    }
    return rc;
}

const struct as_kernel as_kernels_pool[] = {
    {AS_OP_MaxPool, run_max, 0},
    {AS_OP_AveragePool, run_mean, 0},
    {AS_OP_LpPool, run_norm, 0},
    {AS_OP_GlobalMaxPool, run_global_max, 0},
    {AS_OP_GlobalAveragePool, run_global_mean, 0},
    {AS_OP_GlobalLpPool, run_global_norm, 0},
    {AS_OP_MaxUnpool, run_unpool, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
