/* engine/kernels/conv/kern_conv.c - Conv: windows are gathered into the second factor of a matrix
 * product, or, where a group has few output channels, summed tap by tap. */
#include "engine/kernels/conv/kern_conv.h"

#include <string.h>

#include "engine/kernels/gemm/kern_gemm.h"

enum { FEW_CHANNELS = 3, PANEL = AS_GEMM_PANEL(sizeof(float)) };

struct conv {
    struct as_slide s;
    const float *x, *w, *bias;
    float *out;
    int64_t batch, group, c, m; /* channels in and out of one group */
    int64_t depth;              /* c * n_kernel */
};

/* ---- as a product ---- */

/* Columns of one output row, and where they go in the panel. */
struct run {
    int64_t d, h, w; /* the first place */
    int64_t n, to;
};

static int split_runs(const struct as_slide *s, uint64_t column, uint64_t columns, struct run *runs)
{
    int64_t at = (int64_t)column, end = (int64_t)(column + columns);
    int n = 0;

    while (at < end) {
        struct run *r = &runs[n++];

        r->w = at % s->out[2];
        r->h = at / s->out[2] % s->out[1];
        r->d = at / s->out[2] / s->out[1];
        r->n = s->out[2] - r->w;
        r->n = r->n < end - at ? r->n : end - at;
        r->to = at - (int64_t)column;
        at += r->n;
    }
    return n;
}

static inline void copy_strided(float *to, const float *from, int64_t n, int64_t stride)
{
    if (stride == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++)
            to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i * stride];
}

/* One tap of one channel for one run. */
static inline void pack_run(const struct as_slide *s, const float *plane, const struct run *r,
                            const int64_t *tap, const int64_t *range, float *to)
{
    int64_t d = r->d * s->stride[0] + tap[0] * s->dilation[0] - s->before[0];
    int64_t h = r->h * s->stride[1] + tap[1] * s->dilation[1] - s->before[1];
    int64_t from = range[0] > r->w ? range[0] : r->w;
    int64_t end = range[1] < r->w + r->n ? range[1] : r->w + r->n;
    int64_t at;

    if (d < 0 || d >= s->in[0] || h < 0 || h >= s->in[1] || from >= end) {
        memset(to, 0, (size_t)r->n * sizeof *to);
        return;
    }
    at = (d * s->in[1] + h) * s->in[2] + from * s->stride[2] + tap[2] * s->dilation[2] -
         s->before[2];
    for (int64_t i = 0; i < from - r->w; i++)
        to[i] = 0;
    copy_strided(to + (from - r->w), plane + at, end - from, s->stride[2]);
    for (int64_t i = end - r->w; i < r->n; i++)
        to[i] = 0;
}

AS_VECTOR(static, pack_windows, (const void *arg, const struct as_gemm_part *part, void *packed),
          (arg, part, packed))
{
    const struct conv *v = arg;
    const struct as_slide *s = &v->s;
    struct run runs[PANEL];
    int n_runs = split_runs(s, part->column, part->columns, runs);
    const float *x = v->x + (int64_t)part->batch * v->c * s->n_in;
    float *to = packed;

    for (int64_t row = 0; row < (int64_t)part->rows; row++, to += PANEL) {
        int64_t in_plane = row % s->n_kernel, range[2];
        int64_t tap[AS_SPACE] = {in_plane / s->kernel[2] / s->kernel[1],
                                 in_plane / s->kernel[2] % s->kernel[1], in_plane % s->kernel[2]};

        as_slide_range(s, 2, tap[2], &range[0], &range[1]);
        for (int i = 0; i < n_runs; i++)
            pack_run(s, x + row / s->n_kernel * s->n_in, &runs[i], tap, range, to + runs[i].to);
        for (uint64_t i = part->columns; i < PANEL; i++)
            to[i] = 0;
    }
}

static void put_bias(const struct conv *v)
{
    float *out = v->out;

    for (int64_t i = 0; v->bias && i < v->batch; i++)
        for (int64_t m = 0; m < v->group * v->m; m++, out += v->s.n_out)
            for (int64_t j = 0; j < v->s.n_out; j++)
                out[j] = v->bias[m];
}

static int run_as_gemms(struct as_kernel_ctx *k, struct conv *v)
{
    int64_t n = v->batch * v->group, *at = as_kernel_work(k, 2 * (uint64_t)n, sizeof *at);
    struct as_gemm g = as_gemm_plain((uint64_t)v->m, (uint64_t)v->s.n_out, (uint64_t)v->depth, v->w,
                                     NULL, false, v->out);

    if (!at)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        at[i] = i % v->group * v->m * v->depth;
        at[n + i] = i * v->m * v->s.n_out;
    }
    g.batch = (uint64_t)n;
    g.a_at = at;
    g.c_at = at + n;
    g.pack = pack_windows;
    g.pack_arg = v;
    g.add = v->bias != NULL;
    put_bias(v);
    return as_gemm_run(k, &g);
}

/* ---- tap by tap ---- */

static inline void add_row(float *restrict out, const float *restrict x, float w, int64_t n,
                           int64_t stride)
{
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] += w * x[i];
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++)
            out[i] += w * x[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] += w * x[i * stride];
}

/* One row of an output channel gets what one input channel gives. */
static inline void add_taps(const struct as_slide *s, const float *x, const float *w, int64_t d,
                            int64_t h, float *out)
{
    for (int64_t kd = 0; kd < s->kernel[0]; kd++)
        for (int64_t kh = 0; kh < s->kernel[1]; kh++) {
            int64_t id = d * s->stride[0] + kd * s->dilation[0] - s->before[0];
            int64_t ih = h * s->stride[1] + kh * s->dilation[1] - s->before[1];
            const float *row = x + (id * s->in[1] + ih) * s->in[2];

            if (id < 0 || id >= s->in[0] || ih < 0 || ih >= s->in[1])
                continue;
            for (int64_t kw = 0; kw < s->kernel[2]; kw++) {
                int64_t from, to, shift = kw * s->dilation[2] - s->before[2];

                as_slide_range(s, 2, kw, &from, &to);
                if (from < to)
                    add_row(out + from, row + from * s->stride[2] + shift,
                            w[(kd * s->kernel[1] + kh) * s->kernel[2] + kw], to - from,
                            s->stride[2]);
            }
        }
}

/* Output channels of all samples. */
AS_VECTOR(static, work_channels, (void *arg, uint64_t first, uint64_t last), (arg, first, last))
{
    const struct conv *v = arg;
    const struct as_slide *s = &v->s;

    for (int64_t i = (int64_t)first; i < (int64_t)last; i++) {
        int64_t m = i % (v->group * v->m), batch = i / (v->group * v->m);
        const float *x = v->x + (batch * v->group + m / v->m) * v->c * s->n_in;
        float *out = v->out + i * s->n_out;

        for (int64_t row = 0; row < s->out[0] * s->out[1]; row++, out += s->out[2]) {
            for (int64_t j = 0; j < s->out[2]; j++)
                out[j] = v->bias ? v->bias[m] : 0;
            for (int64_t c = 0; c < v->c; c++)
                add_taps(s, x + c * s->n_in, v->w + m * v->depth + c * s->n_kernel, row / s->out[1],
                         row % s->out[1], out);
        }
    }
}

/* ---- dimensions ---- */

static int check_conv(struct as_kernel_ctx *k, const struct as_conv *conv, struct conv *v)
{
    const struct as_val *x = conv->x, *w = conv->w, *out = conv->out;
    struct as_slide_rule rule = {.in = x, .out = out, .first = 2};

    if (x->dtype != AS_DTYPE_F32 || w->dtype != AS_DTYPE_F32 || out->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "a convolution of %s", as_dtype_name(x->dtype));
    if (x->rank < 3 || w->rank != x->rank || out->rank != x->rank)
        return as_kernel_fail(k, "input, weights and output are not of one rank");
    v->group = as_node_int(k->node, "group", 1);
    if (v->group < 1 || w->dims[0] % v->group != 0 || x->dims[1] % v->group != 0 ||
        x->dims[1] / v->group != w->dims[1] || out->dims[0] != x->dims[0] ||
        out->dims[1] != w->dims[0])
        return as_kernel_fail(k, "the channels do not fit");
    if (conv->bias && (conv->bias->dtype != AS_DTYPE_F32 || conv->bias->n != (uint64_t)w->dims[0]))
        return as_kernel_fail(k, "the bias is not one for %lld channels", (long long)w->dims[0]);
    rule.kernel = w->dims + 2;
    rule.n = x->rank - 2;
    v->batch = x->dims[0];
    v->c = w->dims[1];
    v->m = w->dims[0] / v->group;
    v->x = x->data;
    v->w = w->data;
    v->bias = conv->bias ? conv->bias->data : NULL;
    v->out = out->data;
    return as_slide_read(k, &rule, &v->s);
}

int as_kernel_conv(struct as_kernel_ctx *k, const struct as_conv *conv)
{
    struct conv v = {0};
    int rc = check_conv(k, conv, &v);

    if (rc < 0 || conv->out->n == 0)
        return rc;
    v.depth = v.c * v.s.n_kernel;
    if (v.m > FEW_CHANNELS)
        return run_as_gemms(k, &v);
    as_kernel_parallel(k, (uint64_t)(v.batch * v.group * v.m), 1, work_channels, &v);
    return ASSAY_OK;
}

/* ---- kernels ---- */

static int inputs_of(struct as_kernel_ctx *k, struct as_conv *conv)
{
    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_out(k, 0))
        return as_kernel_fail(k, "the input or the weights are missing");
    *conv = (struct as_conv){k->in[0], k->in[1], as_has_in(k, 2) ? k->in[2] : NULL, k->out[0]};
    return ASSAY_OK;
}

static int run_conv(struct as_kernel_ctx *k)
{
    struct as_conv conv;
    int rc = inputs_of(k, &conv);

    if (rc == ASSAY_OK && as_node_extra(k->node, "filter_layout"))
        return as_kernel_conv_filter(k, &conv);
    return rc < 0 ? rc : as_kernel_conv(k, &conv);
}

static int run_conv_transpose(struct as_kernel_ctx *k)
{
    struct as_conv conv;
    int rc = inputs_of(k, &conv);

    return rc < 0 ? rc : as_kernel_conv_transpose(k, &conv);
}

const struct as_kernel as_kernels_conv[] = {
    {AS_OP_Conv, run_conv, 0},
    {AS_OP_ConvTranspose, run_conv_transpose, 0},
    {AS_OP_DeformConv, as_kernel_deform_conv, 0},
    {AS_OP_UNKNOWN, NULL, 0},
};
