/* engine/kernels/quant/kern_quant_conv.c - convolutions of 8-bit integers: ConvInteger and
 * QLinearConv. What a window sees is laid out as a matrix, so the rest is a product of integers. */
#include <string.h>

#include "engine/kernels/quant/kern_quant.h"

struct conv {
    int spatial;
    bool last; /* channels are the last axis of input and output */
    uint64_t groups, batch, channels, filters;
    int64_t in[AS_MAX_RANK], out[AS_MAX_RANK], kernel[AS_MAX_RANK];
    int64_t stride[AS_MAX_RANK], dilation[AS_MAX_RANK], before[AS_MAX_RANK];
    uint64_t n_in, n_out, n_kernel; /* places */
};

static int64_t listed(const struct as_node *node, const char *name, int i, int64_t fallback)
{
    struct as_ints ints;

    return as_node_ints(node, name, &ints) && (size_t)i < ints.n ? ints.at[i] : fallback;
}

static int read_axis(struct as_kernel_ctx *k, struct conv *c, int i)
{
    bool lower = as_node_text_is(k->node, "auto_pad", "SAME_LOWER");
    bool same = lower || as_node_text_is(k->node, "auto_pad", "SAME_UPPER");
    int64_t total;

    c->stride[i] = listed(k->node, "strides", i, 1);
    c->dilation[i] = listed(k->node, "dilations", i, 1);
    c->before[i] = listed(k->node, "pads", i, 0);
    if (c->stride[i] < 1 || c->dilation[i] < 1 || c->before[i] < 0 || c->stride[i] > 1 << 30 ||
        c->dilation[i] > 1 << 30 || c->before[i] > 1 << 30 || c->kernel[i] > 1 << 30)
        return as_kernel_fail(k, "its stride, dilation or pad is outside of what can be");
    if (as_node_text_is(k->node, "auto_pad", "VALID"))
        c->before[i] = 0;
    if (same && c->out[i] > 0) {
        total = (c->out[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilation[i] + 1 - c->in[i];
        total = total < 0 ? 0 : total;
        c->before[i] = lower ? total - total / 2 : total / 2;
    }
    return ASSAY_OK;
}

static int read_conv(struct as_kernel_ctx *k, const struct as_val *x, const struct as_val *w,
                     struct conv *c)
{
    const struct as_val *out = k->out[0];
    int64_t groups = as_node_int(k->node, "group", 1);
    int first, rc = ASSAY_OK;

    *c = (struct conv){.spatial = x->rank - 2, .n_in = 1, .n_out = 1, .n_kernel = 1};
    if (x->rank < 3 || w->rank != x->rank || out->rank != x->rank || groups < 1)
        return as_kernel_fail(k, "input and weights do not go together");
    c->last = k->node->op == AS_OP_MS_QLinearConv && as_node_int(k->node, "channels_last", 0) != 0;
    first = c->last ? 1 : 2;
    c->groups = (uint64_t)groups;
    c->batch = (uint64_t)x->dims[0];
    c->channels = (uint64_t)x->dims[c->last ? x->rank - 1 : 1];
    c->filters = (uint64_t)w->dims[0];
    if (c->filters % c->groups != 0 || (uint64_t)w->dims[1] * c->groups != c->channels ||
        (uint64_t)out->dims[c->last ? x->rank - 1 : 1] != c->filters || out->dims[0] != x->dims[0])
        return as_kernel_fail(k, "weights for %lld channels in %lld groups do not fit %llu",
                              (long long)w->dims[1], (long long)groups,
                              (unsigned long long)c->channels);
    for (int i = 0; i < c->spatial && rc == ASSAY_OK; i++) {
        c->in[i] = x->dims[first + i];
        c->out[i] = out->dims[first + i];
        c->kernel[i] = w->dims[2 + i];
        c->n_in *= (uint64_t)c->in[i];
        c->n_out *= (uint64_t)c->out[i];
        c->n_kernel *= (uint64_t)c->kernel[i];
        rc = read_axis(k, c, i);
    }
    return rc;
}

/* Where in the input the window's place `tap` lies for output place `at`; -1: in the pad. */
static int64_t source(const struct conv *c, const int64_t *at, const int64_t *tap)
{
    int64_t place = 0;

    for (int i = 0; i < c->spatial; i++) {
        int64_t x = at[i] * c->stride[i] + tap[i] * c->dilation[i] - c->before[i];

        if (x < 0 || x >= c->in[i])
            return -1;
        place = place * c->in[i] + x;
    }
    return place;
}

static void unravel(uint64_t index, const int64_t *dims, int n, int64_t *at)
{
    for (int i = n; i-- > 0;) {
        at[i] = (int64_t)(index % (uint64_t)dims[i]);
        index /= (uint64_t)dims[i];
    }
}

static void next(const int64_t *dims, int n, int64_t *at)
{
    for (int i = n; i-- > 0 && ++at[i] == dims[i];)
        at[i] = 0;
}

struct columns {
    const struct conv *c;
    const int16_t *x; /* of one image, from the group's first channel on */
    int16_t *out;     /* [channels of the group * taps, places] */
};

/* A pad is the zero point, so after centring it is 0. */
static void fill_columns(void *arg, uint64_t from, uint64_t to)
{
    const struct columns *m = arg;
    const struct conv *c = m->c;
    uint64_t channel_step = c->last ? 1 : c->n_in, place_step = c->last ? c->channels : 1;

    for (uint64_t row = from; row < to; row++) {
        const int16_t *x = m->x + row / c->n_kernel * channel_step;
        int16_t *out = m->out + row * c->n_out;
        int64_t at[AS_MAX_RANK] = {0}, tap[AS_MAX_RANK];

        unravel(row % c->n_kernel, c->kernel, c->spatial, tap);
        for (uint64_t p = 0; p < c->n_out; p++, next(c->out, c->spatial, at)) {
            int64_t place = source(c, at, tap);

            out[p] = (int16_t)(place < 0 ? 0 : x[(uint64_t)place * place_step]);
        }
    }
}

/* Each group's sums [filters of the group, places], and what is to be done with them. */
struct result {
    void (*done)(struct as_kernel_ctx *k, const struct conv *c, const struct result *r,
                 uint64_t image, uint64_t group);
    int32_t *sums, *row; /* one filter's with its bias */
    uint8_t *bytes;      /* the same back in 8 bits */
};

static int convolve(struct as_kernel_ctx *k, size_t in_w, struct result *r)
{
    const struct as_val *x = k->in[0], *w = k->in[in_w];
    const struct as_val *x_zero = as_in_or_null(k, 2),
                        *w_zero = as_in_or_null(k, in_w == 1 ? 3 : 5);
    struct conv c;
    struct columns m = {.c = &c};
    const int16_t *xs, *ws;
    uint64_t inner, each;
    int rc = read_conv(k, x, w, &c);

    if (rc < 0 || k->out[0]->n == 0)
        return rc;
    inner = c.channels / c.groups * c.n_kernel;
    each = c.filters / c.groups;
    xs = as_centered(k, x, x_zero, 1, 1);
    ws = xs ? as_centered(k, w, w_zero, c.filters, inner) : NULL;
    m.out = ws ? as_kernel_work(k, inner * c.n_out, sizeof *m.out) : NULL;
    r->sums = m.out ? as_kernel_work(k, each * c.n_out, sizeof *r->sums) : NULL;
    r->row = r->sums ? as_kernel_work(k, c.n_out, sizeof *r->row) : NULL;
    r->bytes = r->row ? as_kernel_work(k, c.n_out, 1) : NULL;
    if (!r->bytes)
        return k->err && k->err->code ? k->err->code : ASSAY_ERR_NOMEM;
    for (uint64_t image = 0; image < c.batch; image++)
        for (uint64_t g = 0; g < c.groups; g++) {
            m.x = xs + image * c.channels * c.n_in +
                  g * (c.channels / c.groups) * (c.last ? 1 : c.n_in);
            as_kernel_parallel(k, inner, as_grain_of(c.n_out), fill_columns, &m);
            as_int_gemm(k, ws + g * each * inner, m.out, r->sums,
                        (const uint64_t[]){each, c.n_out, inner});
            r->done(k, &c, r, image, g);
        }
    return rc;
}

static void keep_sums(struct as_kernel_ctx *k, const struct conv *c, const struct result *r,
                      uint64_t image, uint64_t group)
{
    uint64_t each = c->filters / c->groups * c->n_out;

    memcpy((int32_t *)k->out[0]->data + (image * c->groups + group) * each, r->sums,
           each * sizeof *r->sums);
}

int as_run_conv_integer(struct as_kernel_ctx *k)
{
    struct result r = {keep_sums, NULL, NULL, NULL};

    if (k->out[0]->dtype != AS_DTYPE_I32)
        return as_kernel_cannot(k, "its output is of %s", as_dtype_name(k->out[0]->dtype));
    return convolve(k, 1, &r);
}

/* Inputs: x, its scale and zero point, w, its, those of the output, and a bias of 32 bits. */
static void requantize(struct as_kernel_ctx *k, const struct conv *c, const struct result *r,
                       uint64_t image, uint64_t group)
{
    uint64_t each = c->filters / c->groups;
    const struct as_val *bias = as_in_or_null(k, 8);
    struct as_val *out = k->out[0];

    for (uint64_t f = 0; f < each; f++) {
        uint64_t filter = group * each + f;
        float scale = (float)(as_in_at(k, 1, 0) * as_in_at(k, 4, filter) / as_in_at(k, 6, 0));
        uint32_t add = bias ? (uint32_t)as_val_i64(bias, filter) : 0;

        for (uint64_t p = 0; p < c->n_out; p++)
            r->row[p] = (int32_t)((uint32_t)r->sums[f * c->n_out + p] + add);
        as_requantize(out->dtype, r->row, r->bytes, c->n_out, &scale, 0,
                      (int32_t)as_in_at(k, 7, 0));
        if (!c->last) {
            memcpy((uint8_t *)out->data + (image * c->filters + filter) * c->n_out, r->bytes,
                   c->n_out);
            continue;
        }
        for (uint64_t p = 0; p < c->n_out; p++)
            ((uint8_t *)out->data)[(image * c->n_out + p) * c->filters + filter] = r->bytes[p];
    }
}

int as_run_qlinear_conv(struct as_kernel_ctx *k)
{
    struct result r = {requantize, NULL, NULL, NULL};
    int rc = as_check_byte(k, k->out[0]);

    if (rc == ASSAY_OK && as_has_in(k, 8) && k->in[8]->n != (uint64_t)k->in[3]->dims[0])
        rc = as_kernel_fail(k, "its bias is not one number for each filter");
    return rc < 0 ? rc : convolve(k, 3, &r);
}
