/* engine/kernels/conv/kern_conv_nhwc.c - convolutions with the channels last: rows of windows are
 * copied together and multiplied with the weights; depthwise ones are summed tap by tap. */
#include <string.h>

#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/gemm/kern_gemm.h"
#include "model/infer/infer_context.h"

#define ROWS_BYTES ((int64_t)4 << 20)

struct rows {
    const struct as_conv_last *v;
    const float *x; /* of one sample, at the group's first channel */
    float *to;      /* [places][n_kernel * channels] */
    int64_t first;  /* place */
};

AS_VECTOR(static, work_rows, (void *arg, uint64_t from, uint64_t to), (arg, from, to))
{
    const struct rows *r = arg;
    const struct as_conv_last *v = r->v;
    const struct as_slide *s = &v->slide;
    int64_t step = v->group * v->channels;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++) {
        int64_t p = r->first + i, at[AS_SPACE] = {p / s->out[2] / s->out[1],
                                                  p / s->out[2] % s->out[1], p % s->out[2]};
        float *row = r->to + i * s->n_kernel * v->channels;

        for (int64_t tap = 0; tap < s->n_kernel; tap++, row += v->channels) {
            int64_t d = at[0] * s->stride[0] - s->before[0] +
                        tap / s->kernel[2] / s->kernel[1] * s->dilation[0];
            int64_t h = at[1] * s->stride[1] - s->before[1] +
                        tap / s->kernel[2] % s->kernel[1] * s->dilation[1];
            int64_t w = at[2] * s->stride[2] - s->before[2] + tap % s->kernel[2] * s->dilation[2];

            if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1] || w < 0 || w >= s->in[2])
                memset(row, 0, (size_t)v->channels * sizeof *row);
            else
                memcpy(row, r->x + ((d * s->in[1] + h) * s->in[2] + w) * step,
                       (size_t)v->channels * sizeof *row);
        }
    }
}

/* Every window is one pixel, in order: nothing to copy. */
static bool is_plain(const struct as_conv_last *v)
{
    const struct as_slide *s = &v->slide;

    if (v->group != 1 || s->n_kernel != 1)
        return false;
    for (int i = 0; i < AS_SPACE; i++)
        if (s->stride[i] != 1 || s->before[i] != 0 || s->out[i] != s->in[i])
            return false;
    return true;
}

static int multiply(struct as_kernel_ctx *k, const struct as_conv_last *v, int64_t group,
                    const float *rows, int64_t n, float *out, struct as_gemm_scratch *scratch)
{
    int64_t depth = v->slide.n_kernel * v->channels;
    struct as_gemm g = as_gemm_plain((uint64_t)n, (uint64_t)v->m, (uint64_t)depth, rows,
                                     v->w + group * v->m * depth, true, out);

    g.c_row = v->group * v->m;
    g.add = v->bias != NULL;
    g.scratch = scratch;
    for (int64_t i = 0; v->bias && i < n; i++)
        memcpy(out + i * g.c_row, v->bias + group * v->m, (size_t)v->m * sizeof *out);
    return as_gemm_run(k, &g);
}

static int by_products(struct as_kernel_ctx *k, const struct as_conv_last *v)
{
    const struct as_slide *s = &v->slide;
    int64_t depth = s->n_kernel * v->channels, at_once = ROWS_BYTES / 4 / (depth ? depth : 1);
    struct as_gemm_scratch scratch = {0};
    struct rows r = {.v = v};
    int rc = ASSAY_OK;

    if (is_plain(v))
        return multiply(k, v, 0, v->x, v->batch * s->n_out, v->out, NULL);
    at_once = at_once < 1 ? 1 : at_once < s->n_out ? at_once : s->n_out;
    r.to = as_kernel_work(k, (uint64_t)at_once * (uint64_t)depth, sizeof *r.to);
    if (!r.to)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < v->batch * v->group; i++) {
        int64_t batch = i / v->group, g = i % v->group;

        r.x = v->x + batch * s->n_in * v->group * v->channels + g * v->channels;
        for (r.first = 0; rc == ASSAY_OK && r.first < s->n_out; r.first += at_once) {
            int64_t n = s->n_out - r.first < at_once ? s->n_out - r.first : at_once;
            float *out = v->out + (batch * s->n_out + r.first) * v->group * v->m + g * v->m;

            as_kernel_parallel(k, (uint64_t)n, 64, work_rows, &r);
            rc = multiply(k, v, g, r.to, n, out, &scratch);
        }
    }
    return rc;
}

/* ---- depthwise ---- */

/* Weights turned to [n_kernel][group * m], so that channels are neighbors everywhere. */
struct deep {
    const struct as_conv_last *v;
    const float *w;
};

static inline void add_pixel(float *restrict out, const float *restrict x, const float *restrict w,
                             int64_t groups, int64_t m)
{
    if (m == 1)
        for (int64_t c = 0; c < groups; c++)
            out[c] += x[c] * w[c];
    else
        for (int64_t c = 0; c < groups; c++)
            for (int64_t j = 0; j < m; j++)
                out[c * m + j] += x[c] * w[c * m + j];
}

AS_VECTOR(static, work_deep, (void *arg, uint64_t from, uint64_t to), (arg, from, to))
{
    const struct deep *deep = arg;
    const struct as_conv_last *v = deep->v;
    const struct as_slide *s = &v->slide;
    int64_t all = v->group * v->m;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++) {
        int64_t batch = i / s->n_out, p = i % s->n_out;
        const float *x = v->x + batch * s->n_in * v->group;
        float *out = v->out + i * all;

        for (int64_t c = 0; c < all; c++)
            out[c] = v->bias ? v->bias[c] : 0;
        for (int64_t tap = 0; tap < s->n_kernel; tap++) {
            int64_t d = p / s->out[2] / s->out[1] * s->stride[0] - s->before[0] +
                        tap / s->kernel[2] / s->kernel[1] * s->dilation[0];
            int64_t h = p / s->out[2] % s->out[1] * s->stride[1] - s->before[1] +
                        tap / s->kernel[2] % s->kernel[1] * s->dilation[1];
            int64_t w =
                p % s->out[2] * s->stride[2] - s->before[2] + tap % s->kernel[2] * s->dilation[2];

            if (d >= 0 && d < s->in[0] && h >= 0 && h < s->in[1] && w >= 0 && w < s->in[2])
                add_pixel(out, x + ((d * s->in[1] + h) * s->in[2] + w) * v->group,
                          deep->w + tap * all, v->group, v->m);
        }
    }
}

int as_kernel_conv_last(struct as_kernel_ctx *k, const struct as_conv_last *v)
{
    int64_t all = v->group * v->m;
    struct deep deep = {.v = v};
    float *w;

    if (v->batch * v->slide.n_out * all == 0)
        return ASSAY_OK;
    if (!v->taps_first && (v->channels != 1 || v->group == 1))
        return by_products(k, v);
    if (v->taps_first) {
        deep.w = v->w;
        as_kernel_parallel(k, (uint64_t)(v->batch * v->slide.n_out), 32, work_deep, &deep);
        return ASSAY_OK;
    }
    w = as_kernel_work(k, (uint64_t)all * (uint64_t)v->slide.n_kernel, sizeof *w);
    if (!w)
        return ASSAY_ERR_NOMEM;
    for (int64_t c = 0; c < all; c++)
        for (int64_t tap = 0; tap < v->slide.n_kernel; tap++)
            w[tap * all + c] = v->w[c * v->slide.n_kernel + tap];
    deep.w = w;
    as_kernel_parallel(k, (uint64_t)(v->batch * v->slide.n_out), 32, work_deep, &deep);
    return ASSAY_OK;
}

static bool is_f32(const struct as_val *val, int rank)
{
    return val->dtype == AS_DTYPE_F32 && (rank < 0 || val->rank == rank);
}

int as_kernel_conv_filter(struct as_kernel_ctx *k, const struct as_conv *conv)
{
    const struct as_val *x = conv->x, *w = conv->w, *out = conv->out;
    struct as_slide_rule rule = {.in = x, .out = out, .first = 1, .n = x->rank - 2};
    struct as_conv_last v = {.taps_first = as_node_text_is(k->node, "filter_layout", "1HWO")};
    int64_t filter[AS_MAX_RANK], in;
    int rc;

    if (!is_f32(x, -1) || !is_f32(w, x->rank) || !is_f32(out, x->rank) || x->rank < 3 ||
        as_node_text_is(k->node, "filter_layout", "DHWIO"))
        return as_kernel_cannot(k, "input or weights of this type");
    in = x->dims[x->rank - 1];
    if (!as_filter_turn(k->node, w->dims, w->rank, filter) || filter[1] < 1 || in < 1 ||
        in % filter[1] != 0 || filter[0] % (in / filter[1]) != 0 ||
        out->dims[out->rank - 1] != filter[0] || out->dims[0] != x->dims[0] ||
        (conv->bias && (!is_f32(conv->bias, -1) || conv->bias->n != (uint64_t)filter[0])))
        return as_kernel_fail(k, "the channels do not fit");
    rule.kernel = filter + 2;
    rc = as_slide_read(k, &rule, &v.slide);
    if (rc < 0)
        return rc;
    v.channels = filter[1];
    v.group = in / filter[1];
    v.m = filter[0] / v.group;
    v.batch = x->dims[0];
    v.x = x->data;
    v.w = w->data;
    v.bias = conv->bias ? conv->bias->data : NULL;
    v.out = conv->out->data;
    return as_kernel_conv_last(k, &v);
}
