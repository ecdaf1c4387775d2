/* engine/kernels/contrib/kern_contrib_pool.c - QLinearAveragePool, channels first or last.
 * Bytes are summed as whole numbers; only the mean is a float. */
#include "engine/kernels/contrib/kern_contrib.h"
#include "engine/kernels/conv/kern_conv.h"
#include "engine/kernels/quant/kern_quant.h"

struct pool {
    struct as_slide s;
    const struct as_val *x;
    struct as_val *out;
    uint64_t channels, step; /* step from one place to the next */
    bool last, with_pad;
    float scale; /* of the input over that of the output */
    int32_t zero_in, zero_out;
};

/* How many places of a window count on axis `i`; `*from` is the first inside of the input. */
static int64_t span(const struct pool *p, int i, int64_t at, int64_t *from, int64_t *to)
{
    const struct as_slide *s = &p->s;
    int64_t begin = at * s->stride[i] - s->before[i], end = begin + s->kernel[i];
    int64_t capacity = s->in[i] + s->after[i];

    *from = begin < 0 ? 0 : begin;
    *to = end > s->in[i] ? s->in[i] : end;
    return p->with_pad ? (end > capacity ? capacity : end) - begin : *to - *from;
}

static float mean_at(const struct pool *p, uint64_t first, const int64_t at[AS_SPACE])
{
    int64_t from[AS_SPACE], to[AS_SPACE], count = 1, n = 0;
    double sum = 0;

    for (int i = 0; i < AS_SPACE; i++)
        count *= span(p, i, at[i], &from[i], &to[i]);
    for (int64_t z = from[0]; z < to[0]; z++)
        for (int64_t y = from[1]; y < to[1]; y++)
            for (int64_t x = from[2]; x < to[2]; x++, n++) {
                uint64_t place = (uint64_t)((z * p->s.in[1] + y) * p->s.in[2] + x);
                uint64_t i = first + place * p->step;

                sum += p->x->dtype == AS_DTYPE_U8 ? ((const uint8_t *)p->x->data)[i]
                                                  : ((const int8_t *)p->x->data)[i];
            }
    sum -= (double)n * p->zero_in;
    return count > 0 ? (float)(sum / (double)count) * p->scale : 0;
}

static void pool_channels(void *arg, uint64_t from, uint64_t to)
{
    const struct pool *p = arg;

    for (uint64_t row = from; row < to; row++) {
        uint64_t image = row / p->channels, c = row % p->channels;
        uint64_t n_in = (uint64_t)p->s.n_in, n_out = (uint64_t)p->s.n_out;
        uint64_t first = p->last ? image * n_in * p->channels + c : row * n_in;
        uint64_t target = p->last ? image * n_out * p->channels + c : row * n_out;

        for (uint64_t o = 0; o < n_out; o++) {
            uint64_t wide = (uint64_t)p->s.out[2], high = (uint64_t)p->s.out[1];
            int64_t at[AS_SPACE] = {(int64_t)(o / (wide * high)), (int64_t)(o / wide % high),
                                    (int64_t)(o % wide)};
            float y = mean_at(p, first, at);

            as_quantize_row(p->out->dtype, &y, (char *)p->out->data + target + o * p->step, 1,
                            p->zero_out);
        }
    }
}

int as_run_qlinear_pool(struct as_kernel_ctx *k)
{
    const struct as_val *x = k->in[0];
    struct pool p = {.x = x,
                     .out = k->out[0],
                     .last = as_node_int(k->node, "channels_last", 0) != 0,
                     .with_pad = as_node_int(k->node, "count_include_pad", 0) != 0,
                     .scale = (float)(as_in_at(k, 1, 0) / as_in_at(k, 3, 0)),
                     .zero_in = (int32_t)as_in_at(k, 2, 0),
                     .zero_out = (int32_t)as_in_at(k, 4, 0)};
    struct as_slide_rule rule = {
        .in = x, .out = k->out[0], .first = p.last ? 1 : 2, .n = x->rank - 2};
    int rc = as_check_byte(k, x);

    if (rc == ASSAY_OK)
        rc = as_check_byte(k, k->out[0]);
    if (rc == ASSAY_OK && (x->rank < 3 || x->rank > 2 + AS_SPACE || k->out[0]->rank != x->rank))
        rc = as_kernel_cannot(k, "it takes one to three spatial axes, not %d", x->rank - 2);
    if (rc == ASSAY_OK)
        rc = as_slide_read(k, &rule, &p.s);
    if (rc < 0)
        return rc;
    p.channels = (uint64_t)x->dims[p.last ? x->rank - 1 : 1];
    p.step = p.last ? p.channels : 1;
    if (x->n == 0 || k->out[0]->n != (uint64_t)x->dims[0] * p.channels * (uint64_t)p.s.n_out)
        return as_kernel_fail(k, "its output does not fit");
    as_kernel_parallel(k, (uint64_t)x->dims[0] * p.channels,
                       as_grain_of((uint64_t)(p.s.n_out * p.s.n_kernel)), pool_channels, &p);
    return ASSAY_OK;
}
