/* engine/kernels/tflite/kern_tfl_layers.c - the layers of TensorFlow Lite on floats: convolutions,
 * pools, products. Channels come last. */
#include <math.h>
#include <string.h>

#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/gemm/kern_matmul.h"
#include "engine/kernels/tflite/kern_tflite.h"

/* ---- windows ---- */

struct window {
    int64_t kernel, stride, dilation;
};

/* One axis of a window over `in` places that gives `out`. */
static int slide_axis(struct as_kernel_ctx *k, const struct window *w, int64_t in, int64_t out,
                      int i, struct as_slide *s)
{
    int64_t reach, total;
    bool same = as_node_text_is(k->node, "padding", "SAME");

    if (w->kernel < 1 || w->stride < 1 || w->dilation < 1 || w->kernel > 1 << 30 ||
        w->dilation > 1 << 30 || in > (int64_t)1 << 40)
        return as_kernel_fail(k, "a window of %lld with a stride of %lld", (long long)w->kernel,
                              (long long)w->stride);
    reach = (w->kernel - 1) * w->dilation + 1;
    if (out != (same         ? (in + w->stride - 1) / w->stride
                : in < reach ? 0
                             : (in - reach) / w->stride + 1))
        return as_kernel_fail(k, "%lld places for a window over %lld", (long long)out,
                              (long long)in);
    total = same ? (out - 1) * w->stride + reach - in : 0;
    s->in[i] = in;
    s->out[i] = out;
    s->kernel[i] = w->kernel;
    s->stride[i] = w->stride;
    s->dilation[i] = w->dilation;
    s->before[i] = total > 0 ? total / 2 : 0;
    s->after[i] = total > 0 ? total - s->before[i] : 0;
    if (__builtin_mul_overflow(s->n_in, in, &s->n_in) ||
        __builtin_mul_overflow(s->n_out, out, &s->n_out) ||
        __builtin_mul_overflow(s->n_kernel, w->kernel, &s->n_kernel))
        return as_kernel_fail(k, "the window is too large");
    return ASSAY_OK;
}

static int slide_image(struct as_kernel_ctx *k, const struct as_val *x, int64_t height,
                       int64_t width, struct as_slide *s)
{
    struct window down = {height, as_node_int(k->node, "stride_h", 1),
                          as_node_int(k->node, "dilation_h_factor", 1)};
    struct window across = {width, as_node_int(k->node, "stride_w", 1),
                            as_node_int(k->node, "dilation_w_factor", 1)};
    int rc;

    *s = (struct as_slide){.n_in = 1, .n_out = 1, .n_kernel = 1};
    s->in[0] = s->out[0] = s->kernel[0] = s->stride[0] = s->dilation[0] = 1;
    rc = slide_axis(k, &down, x->dims[1], k->out[0]->dims[1], 1, s);
    return rc < 0 ? rc : slide_axis(k, &across, x->dims[2], k->out[0]->dims[2], 2, s);
}

static int conv_2d(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_tfl_in(k, 0), *w = as_tfl_in(k, 1), *bias = as_tfl_in(k, 2);
    bool deep = k->node->op == AS_OP_TFL_DEPTHWISE_CONV_2D;
    const struct as_val *out = k->out[0];
    struct as_conv_last v = {.taps_first = deep};
    int64_t m;
    int rc;

    if (!as_tfl_f32(x, 4) || !as_tfl_f32(w, 4) || !as_tfl_f32(out, 4))
        return as_kernel_cannot(k, "input or weights of this type");
    m = w->dims[deep ? 3 : 0];
    v.channels = deep ? 1 : w->dims[3];
    if (v.channels < 1 || x->dims[3] < 1 || x->dims[3] % v.channels != 0 ||
        (deep && w->dims[0] != 1) || out->dims[3] != m || out->dims[0] != x->dims[0] ||
        m % (x->dims[3] / v.channels) != 0 ||
        (bias && (!as_tfl_f32(bias, -1) || bias->n != (uint64_t)m)))
        return as_kernel_fail(k, "the channels do not fit");
    rc = slide_image(k, x, w->dims[1], w->dims[2], &v.slide);
    if (rc < 0)
        return rc;
    v.group = x->dims[3] / v.channels;
    v.m = m / v.group;
    v.batch = x->dims[0];
    v.x = x->data;
    v.w = w->data;
    v.bias = bias ? bias->data : NULL;
    v.out = k->out[0]->data;
    rc = as_kernel_conv_last(k, &v);
    return rc < 0 ? rc : as_tfl_activate(k);
}

/* ---- pools ---- */

struct pool {
    struct as_slide s;
    const float *x;
    float *out;
    int64_t channels;
    enum as_op op;
};

static void pool_place(const struct pool *v, const float *x, int64_t h, int64_t w, float *out)
{
    const struct as_slide *s = &v->s;
    int64_t y0 = h * s->stride[1] - s->before[1], x0 = w * s->stride[2] - s->before[2];
    int64_t y1 = y0 + s->kernel[1], x1 = x0 + s->kernel[2], n = 0;
    bool most = v->op == AS_OP_TFL_MAX_POOL_2D, square = v->op == AS_OP_TFL_L2_POOL_2D;

    for (int64_t c = 0; c < v->channels; c++)
        out[c] = most ? -INFINITY : 0;
    for (int64_t i = y0 > 0 ? y0 : 0; i < y1 && i < s->in[1]; i++)
        for (int64_t j = x0 > 0 ? x0 : 0; j < x1 && j < s->in[2]; j++, n++) {
            const float *from = x + (i * s->in[2] + j) * v->channels;

            for (int64_t c = 0; c < v->channels; c++) {
                if (most)
                    out[c] = from[c] > out[c] ? from[c] : out[c];
                else
                    out[c] += square ? from[c] * from[c] : from[c];
            }
        }
    for (int64_t c = 0; !most && n > 0 && c < v->channels; c++) {
        out[c] /= (float)n;
        out[c] = square ? sqrtf(out[c]) : out[c];
    }
}

static void work_places(void *arg, uint64_t from, uint64_t to)
{
    const struct pool *v = arg;
    const struct as_slide *s = &v->s;

    for (int64_t i = (int64_t)from; i < (int64_t)to; i++) {
        int64_t place = i % s->n_out;

        pool_place(v, v->x + i / s->n_out * s->n_in * v->channels, place / s->out[2],
                   place % s->out[2], v->out + i * v->channels);
    }
}

static int pool_2d(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_tfl_in(k, 0);
    struct pool v = {.op = k->node->op};
    int rc;

    if (!as_tfl_f32(x, 4) || !as_tfl_f32(k->out[0], 4))
        return as_kernel_cannot(k, "an input of this type");
    if (k->out[0]->dims[0] != x->dims[0] || k->out[0]->dims[3] != x->dims[3])
        return as_kernel_fail(k, "the channels do not fit");
    rc = slide_image(k, x, as_node_int(k->node, "filter_height", 1),
                     as_node_int(k->node, "filter_width", 1), &v.s);
    if (rc < 0)
        return rc;
    v.x = x->data;
    v.out = k->out[0]->data;
    v.channels = x->dims[3];
    as_kernel_parallel(k, (uint64_t)(x->dims[0] * v.s.n_out), 64, work_places, &v);
    return as_tfl_activate(k);
}

/* ---- products ---- */

static int fully_connected(struct as_kernel_ctx *k)
{
    const struct as_val *x = as_tfl_in(k, 0), *w = as_tfl_in(k, 1), *bias = as_tfl_in(k, 2);
    uint64_t rows, units, depth;
    struct as_gemm g;
    float *out;
    int rc;

    if (!as_tfl_f32(x, -1) || !as_tfl_f32(w, 2) || !as_tfl_f32(k->out[0], -1) ||
        as_node_int(k->node, "weights_format", 0) != 0)
        return as_kernel_cannot(k, "input or weights of this type");
    units = (uint64_t)w->dims[0];
    depth = (uint64_t)w->dims[1];
    if (depth == 0 || x->n % depth != 0 || k->out[0]->n != x->n / depth * units ||
        (bias && (!as_tfl_f32(bias, -1) || bias->n != units)))
        return as_kernel_fail(k, "input and weights do not fit");
    rows = x->n / depth;
    out = k->out[0]->data;
    for (uint64_t i = 0; bias && i < rows; i++)
        memcpy(out + i * units, bias->data, (size_t)units * sizeof *out);
    g = as_gemm_plain(rows, units, depth, x->data, w->data, true, out);
    g.add = bias != NULL;
    rc = as_gemm_run(k, &g);
    return rc < 0 ? rc : as_tfl_activate(k);
}

static int batch_matmul(struct as_kernel_ctx *k)
{
    struct as_product p = {
        .a = as_tfl_in(k, 0), .b = as_tfl_in(k, 1), .out = k->out[0], .alpha = 1};

    if (!p.a || !p.b)
        return as_kernel_fail(k, "a factor is missing");
    p.turn_a.matrix = as_node_int(k->node, "adj_x", 0) != 0;
    p.turn_b.matrix = as_node_int(k->node, "adj_y", 0) != 0;
    return as_kernel_product(k, &p);
}

/* ---- back ---- */

struct spread {
    int64_t in[2], out[2], kernel[2], stride[2], before[2], channels;
};

static void add_back(const struct spread *s, const float *columns, float *out)
{
    for (int64_t h = 0; h < s->in[0]; h++)
        for (int64_t w = 0; w < s->in[1]; w++)
            for (int64_t c = 0; c < s->channels; c++)
                for (int64_t kh = 0; kh < s->kernel[0]; kh++)
                    for (int64_t kw = 0; kw < s->kernel[1]; kw++, columns++) {
                        int64_t y = h * s->stride[0] + kh - s->before[0];
                        int64_t x = w * s->stride[1] + kw - s->before[1];

                        if (y >= 0 && y < s->out[0] && x >= 0 && x < s->out[1])
                            out[(y * s->out[1] + x) * s->channels + c] += *columns;
                    }
}

static int read_spread(struct as_kernel_ctx *k, const struct as_val *x, const struct as_val *w,
                       struct spread *s)
{
    static const char *const strides[] = {"stride_h", "stride_w"};

    for (int i = 0; i < 2; i++) {
        int64_t total;

        s->in[i] = x->dims[1 + i];
        s->out[i] = k->out[0]->dims[1 + i];
        s->kernel[i] = w->dims[1 + i];
        s->stride[i] = as_node_int(k->node, strides[i], 1);
        if (s->stride[i] < 1 || s->stride[i] > 1 << 20 || s->in[i] > (int64_t)1 << 32)
            return as_kernel_fail(k, "a stride of %lld", (long long)s->stride[i]);
        total = (s->in[i] - 1) * s->stride[i] + s->kernel[i] - s->out[i];
        if (total > 0 && as_node_text_is(k->node, "padding", "SAME"))
            s->before[i] = total / 2;
    }
    s->channels = w->dims[0];
    return ASSAY_OK;
}

/* Weights [out, h, w, in]; one product for each sample, then its rows are summed into the image. */
static int transpose_conv(struct as_kernel_ctx *k)
{
    const struct as_val *w = as_tfl_in(k, 1), *x = as_tfl_in(k, 2), *bias = as_tfl_in(k, 3);
    struct as_gemm_scratch capacity = {0};
    struct spread s = {0};
    uint64_t taps, places;
    float *columns, *out;
    int rc;

    if (!as_tfl_f32(x, 4) || !as_tfl_f32(w, 4) || !as_tfl_f32(k->out[0], 4))
        return as_kernel_cannot(k, "input or weights of this type");
    if (w->dims[3] != x->dims[3] || k->out[0]->dims[0] != x->dims[0] ||
        k->out[0]->dims[3] != w->dims[0] ||
        (bias && (!as_tfl_f32(bias, -1) || bias->n != (uint64_t)w->dims[0])))
        return as_kernel_fail(k, "the channels do not fit");
    rc = read_spread(k, x, w, &s);
    taps = (uint64_t)(w->dims[0] * w->dims[1] * w->dims[2]);
    places = (uint64_t)(x->dims[1] * x->dims[2]);
    columns = rc == ASSAY_OK ? as_kernel_work(k, places * taps, sizeof *columns) : NULL;
    if (!columns)
        return rc < 0 ? rc : (int)ASSAY_ERR_NOMEM;
    out = k->out[0]->data;
    for (uint64_t i = 0; i < k->out[0]->n; i++)
        out[i] = bias ? ((const float *)bias->data)[i % bias->n] : 0;
    for (int64_t b = 0; rc == ASSAY_OK && b < x->dims[0]; b++) {
        struct as_gemm g = as_gemm_plain(places, taps, (uint64_t)x->dims[3],
                                         (const float *)x->data + b * (int64_t)places * x->dims[3],
                                         w->data, true, columns);

        g.capacity = &capacity;
        rc = as_gemm_run(k, &g);
        if (rc == ASSAY_OK)
            add_back(&s, columns, out + b * s.out[0] * s.out[1] * s.channels);
    }
    return rc < 0 ? rc : as_tfl_activate(k);
}

const struct as_tfl_kernel as_tfl_layers[] = {
    {AS_OP_TFL_CONV_2D, conv_2d, AS_OP_UNKNOWN},
    {AS_OP_TFL_DEPTHWISE_CONV_2D, conv_2d, AS_OP_UNKNOWN},
    {AS_OP_TFL_TRANSPOSE_CONV, transpose_conv, AS_OP_UNKNOWN},
    {AS_OP_TFL_FULLY_CONNECTED, fully_connected, AS_OP_UNKNOWN},
    {AS_OP_TFL_BATCH_MATMUL, batch_matmul, AS_OP_UNKNOWN},
    {AS_OP_TFL_AVERAGE_POOL_2D, pool_2d, AS_OP_UNKNOWN},
    {AS_OP_TFL_MAX_POOL_2D, pool_2d, AS_OP_UNKNOWN},
    {AS_OP_TFL_L2_POOL_2D, pool_2d, AS_OP_UNKNOWN},
    {AS_OP_UNKNOWN, NULL, AS_OP_UNKNOWN},
};
