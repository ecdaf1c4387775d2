/* engine/kernels/conv/kern_conv_deform.c - DeformConv: a convolution whose taps are moved by
 * offsets and weighed by a mask, both given for every place. Between pixels the image is bilinear.
 */
#include <math.h>
#include <string.h>

#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/gemm/kern_gemm.h"

enum { PANEL = AS_GEMM_PANEL(sizeof(float)) };

struct deform {
    struct as_slide s;
    const float *x, *offset, *mask; /* mask may be NULL */
    int64_t group, c, offset_group; /* c: channels of one group */
};

static float pixel(const float *plane, int64_t h, int64_t w, int64_t y, int64_t x)
{
    return y < 0 || y >= h || x < 0 || x >= w ? 0 : plane[y * w + x];
}

/* What is outside of the image is 0. */
static float sample(const float *plane, int64_t h, int64_t w, float y, float x)
{
    int64_t y0, x0;
    float dy, dx;

    if (!(y > -1 && y < (float)h && x > -1 && x < (float)w))
        return 0;
    y0 = (int64_t)floorf(y);
    x0 = (int64_t)floorf(x);
    dy = y - (float)y0;
    dx = x - (float)x0;
    return (1 - dy) *
               ((1 - dx) * pixel(plane, h, w, y0, x0) + dx * pixel(plane, h, w, y0, x0 + 1)) +
           dy * ((1 - dx) * pixel(plane, h, w, y0 + 1, x0) +
                 dx * pixel(plane, h, w, y0 + 1, x0 + 1));
}

static void pack_moved(const void *arg, const struct as_gemm_part *part, void *packed)
{
    const struct deform *v = arg;
    const struct as_slide *s = &v->s;
    int64_t batch = (int64_t)part->batch / v->group, g = (int64_t)part->batch % v->group;
    int64_t channels = v->group * v->c, per_offset = channels / v->offset_group;
    float *to = packed;

    for (int64_t row = 0; row < (int64_t)part->rows; row++, to += PANEL) {
        int64_t c = g * v->c + row / s->n_kernel, tap = row % s->n_kernel;
        int64_t place = (batch * v->offset_group + c / per_offset) * s->n_kernel + tap;
        const float *plane = v->x + (batch * channels + c) * s->n_in;
        const float *move = v->offset + 2 * place * s->n_out;

        memset(to, 0, PANEL * sizeof *to);
        for (int64_t i = 0; i < (int64_t)part->columns; i++) {
            int64_t p = (int64_t)part->column + i;
            int64_t y =
                p / s->out[2] * s->stride[1] + tap / s->kernel[2] * s->dilation[1] - s->before[1];
            int64_t x =
                p % s->out[2] * s->stride[2] + tap % s->kernel[2] * s->dilation[2] - s->before[2];

            to[i] = sample(plane, s->in[1], s->in[2], (float)y + move[p],
                           (float)x + move[s->n_out + p]);
            if (v->mask)
                to[i] *= v->mask[place * s->n_out + p];
        }
    }
}

static int check(struct as_kernel_ctx *k, struct deform *v)
{
    const struct as_val *x = k->in[0], *w = k->in[1], *offset = k->in[2], *out = k->out[0];
    struct as_slide_rule rule = {.in = x, .out = out, .first = 2, .n = 2};
    uint64_t taps;
    int rc;

    for (size_t i = 0; i < k->n_in; i++)
        if (as_has_in(k, i) && k->in[i]->dtype != AS_DTYPE_F32)
            return as_kernel_cannot(k, "a convolution of %s", as_dtype_name(k->in[i]->dtype));
    if (x->rank != 4 || w->rank != 4 || out->rank != 4 || out->dtype != AS_DTYPE_F32)
        return as_kernel_cannot(k, "images of %d dimensions", x->rank);
    v->group = as_node_int(k->node, "group", 1);
    v->offset_group = as_node_int(k->node, "offset_group", 1);
    v->c = w->dims[1];
    if (v->group < 1 || v->offset_group < 1 || x->dims[1] % v->group != 0 ||
        x->dims[1] / v->group != v->c || x->dims[1] % v->offset_group != 0 ||
        w->dims[0] % v->group != 0 || out->dims[1] != w->dims[0] || out->dims[0] != x->dims[0])
        return as_kernel_fail(k, "the channels do not fit");
    rule.kernel = w->dims + 2;
    rc = as_slide_read(k, &rule, &v->s);
    if (rc < 0 || out->n == 0)
        return rc;
    taps = (uint64_t)(x->dims[0] * v->offset_group * v->s.n_kernel * v->s.n_out);
    if (offset->n != 2 * taps || (as_has_in(k, 4) && k->in[4]->n != taps) ||
        (as_has_in(k, 3) && k->in[3]->n != (uint64_t)w->dims[0]))
        return as_kernel_fail(k, "offsets, mask or bias do not fit");
    v->x = x->data;
    v->offset = offset->data;
    v->mask = as_has_in(k, 4) ? k->in[4]->data : NULL;
    return ASSAY_OK;
}

int as_kernel_deform_conv(struct as_kernel_ctx *k)
{
    struct deform v = {0};
    struct as_gemm g;
    int64_t n, m, depth, *at;
    int rc;

    if (!as_has_in(k, 0) || !as_has_in(k, 1) || !as_has_in(k, 2) || !as_has_out(k, 0))
        return as_kernel_fail(k, "an input is missing");
    rc = check(k, &v);
    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    m = k->in[1]->dims[0] / v.group;
    depth = v.c * v.s.n_kernel;
    n = k->in[0]->dims[0] * v.group;
    at = as_kernel_work(k, 2 * (uint64_t)n, sizeof *at);
    if (!at)
        return ASSAY_ERR_NOMEM;
    g = as_gemm_plain((uint64_t)m, (uint64_t)v.s.n_out, (uint64_t)depth, k->in[1]->data, NULL,
                      false, k->out[0]->data);
    for (int64_t i = 0; i < n; i++) {
        at[i] = i % v.group * m * depth;
        at[n + i] = i * m * v.s.n_out;
    }
    g.batch = (uint64_t)n;
    g.a_at = at;
    g.c_at = at + n;
    g.pack = pack_moved;
    g.pack_arg = &v;
    g.add = as_has_in(k, 3);
    for (int64_t i = 0; g.add && i < (int64_t)k->out[0]->n; i++)
        ((float *)k->out[0]->data)[i] =
            ((const float *)k->in[3]->data)[i / v.s.n_out % (m * v.group)];
    return as_gemm_run(k, &g);
}
