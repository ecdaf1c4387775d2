/* engine/kernels/conv/kern_conv_transpose.c - ConvTranspose: a product gives what every input place
 * adds to every tap, which is then summed where the taps meet. */
#include <string.h>

#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/gemm/kern_gemm.h"

#define SPREAD_BYTES ((int64_t)8 << 20)

struct spread {
    struct as_slide s;
    const float *columns; /* [m][n_kernel][n_in] */
    const float *bias;    /* of the first channel, or NULL */
    float *out;           /* of the first channel */
};

/* Places of the input on axis `i` whose tap lands in the output. */
static void range_of(const struct as_slide *s, int i, int64_t tap, int64_t *from, int64_t *to)
{
    int64_t shift = tap * s->dilation[i] - s->before[i], last = s->out[i] - 1 - shift;

    *from = shift < 0 ? (-shift + s->stride[i] - 1) / s->stride[i] : 0;
    *to = last < 0 ? 0 : last / s->stride[i] + 1;
    *to = *to < s->in[i] ? *to : s->in[i];
}

static inline void add_plane(const struct as_slide *s, const float *from, const int64_t *tap,
                             float *out)
{
    int64_t d0, d1, h0, h1, w0, w1, shift = tap[2] * s->dilation[2] - s->before[2];

    range_of(s, 0, tap[0], &d0, &d1);
    range_of(s, 1, tap[1], &h0, &h1);
    range_of(s, 2, tap[2], &w0, &w1);
    for (int64_t d = d0; d < d1; d++)
        for (int64_t h = h0; h < h1; h++) {
            int64_t od = d * s->stride[0] + tap[0] * s->dilation[0] - s->before[0];
            int64_t oh = h * s->stride[1] + tap[1] * s->dilation[1] - s->before[1];
            const float *x = from + (d * s->in[1] + h) * s->in[2];
            float *row = out + (od * s->out[1] + oh) * s->out[2] + shift;

            if (s->stride[2] == 1)
                for (int64_t w = w0; w < w1; w++)
                    row[w] += x[w];
            else
                for (int64_t w = w0; w < w1; w++)
                    row[w * s->stride[2]] += x[w];
        }
}

AS_VECTOR(static, work_sum, (void *arg, uint64_t first, uint64_t last), (arg, first, last))
{
    const struct spread *v = arg;
    const struct as_slide *s = &v->s;

    for (int64_t m = (int64_t)first; m < (int64_t)last; m++) {
        const float *from = v->columns + m * s->n_kernel * s->n_in;
        float *out = v->out + m * s->n_out;

        for (int64_t i = 0; i < s->n_out; i++)
            out[i] = v->bias ? v->bias[m] : 0;
        for (int64_t tap = 0; tap < s->n_kernel; tap++, from += s->n_in) {
            int64_t at[AS_SPACE] = {tap / s->kernel[2] / s->kernel[1],
                                    tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};

            add_plane(s, from, at, out);
        }
    }
}

struct shape {
    int64_t batch, group, c, m; /* channels in and out of one group */
};

static int check(struct as_kernel_ctx *k, const struct as_conv *conv, struct as_slide *s,
                 struct shape *shape)
{
    const struct as_val *x = conv->x, *w = conv->w, *out = conv->out;
    struct as_slide_rule rule = {.in = x, .out = out, .first = 2, .spread = true};

    if (x->dtype != AS_DTYPE_F32 || w->dtype != AS_DTYPE_F32 || out->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "a convolution of %s", as_dtype_name(x->dtype));
    if (x->rank < 3 || w->rank != x->rank || out->rank != x->rank)
        return as_kernel_fail(k, "input, weights and output are not of one rank");
    shape->group = as_node_int(k->node, "group", 1);
    if (shape->group < 1 || x->dims[1] % shape->group != 0 || x->dims[1] != w->dims[0] ||
        out->dims[0] != x->dims[0] || out->dims[1] % shape->group != 0 ||
        out->dims[1] / shape->group != w->dims[1])
        return as_kernel_fail(k, "the channels do not fit");
    if (conv->bias &&
        (conv->bias->dtype != AS_DTYPE_F32 || conv->bias->n != (uint64_t)out->dims[1]))
        return as_kernel_fail(k, "the bias is not one for %lld channels", (long long)out->dims[1]);
    shape->batch = x->dims[0];
    shape->c = x->dims[1] / shape->group;
    shape->m = w->dims[1];
    rule.kernel = w->dims + 2;
    rule.n = x->rank - 2;
    return as_slide_read(k, &rule, s);
}

/* One sample and group: some output channels at a time, so that the columns stay small. */
static int spread_group(struct as_kernel_ctx *k, const struct as_conv *conv, struct spread *v,
                        const struct shape *shape, int64_t i, int64_t at_once, float *columns,
                        struct as_gemm_scratch *scratch)
{
    const struct as_slide *s = &v->s;
    int64_t g = i % shape->group, depth = shape->m * s->n_kernel;
    const float *x = (const float *)conv->x->data + i * shape->c * s->n_in;
    const float *w = (const float *)conv->w->data + g * shape->c * depth;
    int rc = ASSAY_OK;

    for (int64_t m = 0; rc == ASSAY_OK && m < shape->m; m += at_once) {
        int64_t n = shape->m - m < at_once ? shape->m - m : at_once;
        struct as_gemm gemm =
            as_gemm_plain((uint64_t)(n * s->n_kernel), (uint64_t)s->n_in, (uint64_t)shape->c,
                          w + m * s->n_kernel, x, false, columns);

        gemm.a_row = 1;
        gemm.a_col = depth;
        gemm.scratch = scratch;
        rc = as_gemm_run(k, &gemm);
        v->columns = columns;
        v->bias = conv->bias ? (const float *)conv->bias->data + g * shape->m + m : NULL;
        v->out = (float *)conv->out->data + (i * shape->m + m) * s->n_out;
        as_kernel_parallel(k, (uint64_t)n, 1, work_sum, v);
    }
    return rc;
}

int as_kernel_conv_transpose(struct as_kernel_ctx *k, const struct as_conv *conv)
{
    struct spread v = {0};
    struct shape shape = {0};
    struct as_gemm_scratch scratch = {0};
    int64_t at_once, plane;
    float *columns;
    int rc = check(k, conv, &v.s, &shape);

    if (rc < 0 || conv->out->n == 0)
        return rc;
    if (__builtin_mul_overflow(v.s.n_in, v.s.n_kernel, &plane) || plane > INT64_MAX / 8)
        return as_kernel_fail(k, "the window is too large");
    at_once = SPREAD_BYTES / 4 / (plane ? plane : 1);
    at_once = at_once < 1 ? 1 : at_once < shape.m ? at_once : shape.m;
    columns = as_kernel_work(k, (uint64_t)at_once * (uint64_t)plane, sizeof *columns);
    if (!columns)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; rc == ASSAY_OK && i < shape.batch * shape.group; i++)
        rc = spread_group(k, conv, &v, &shape, i, at_once, columns, &scratch);
    return rc;
}
