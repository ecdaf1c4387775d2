/* engine/kernels/conv/kern_window.c - where the windows of convolutions and pools are, in numbers
 * checked against the tensors. The rules are those of shape inference (model/infer/infer_window.c).
 */
#include "engine/kernels/conv/kern_conv.h"

#include "model/infer/infer_context.h"

/* Padding that is not given: before and after, by what the window overhangs. */
static void pad_same(const struct as_kernel_ctx *k, int64_t total, int64_t *before, int64_t *after)
{
    int64_t less = (total > 0 ? total : 0) / 2, more = (total > 0 ? total : 0) - less;
    bool upper = as_node_text_is(k->node, "auto_pad", "SAME_UPPER");

    *before = upper ? less : more;
    *after = upper ? more : less;
}

/* One axis; `w` has its kernel. */
static int slide_axis(struct as_kernel_ctx *k, struct as_infer *infer, const struct as_window *w,
                      int i, int64_t in, int64_t out, int64_t *before, int64_t *after)
{
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, places;
    int rc = as_window_places(infer, w, i, in, &places);

    if (rc < 0)
        return rc;
    if (places != out)
        return as_kernel_fail(k, "%lld places for a window that has %lld", (long long)out,
                              (long long)places);
    *before = w->before[i];
    *after = w->after[i];
    if (w->pad == AS_PAD_SAME)
        pad_same(k, (out - 1) * w->stride[i] + reach - in, before, after);
    return ASSAY_OK;
}

/* The same where the window spreads the input; output_padding is behind what is written. */
static int spread_axis(struct as_kernel_ctx *k, const struct as_window *w, int i, int64_t in,
                       int64_t out, int64_t *before, int64_t *after)
{
    struct as_ints shape, extra;
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, grown, more = 0;
    bool said = as_node_ints(k->node, "output_shape", &shape) && shape.n > 0;

    if (in > INT64_MAX / w->stride[i] / 2 || out < 0)
        return as_kernel_fail(k, "the output would be too long");
    if (as_node_ints(k->node, "output_padding", &extra) && (size_t)i < extra.n)
        more = extra.at[i];
    if (more < 0 || more > 1 << 30)
        return as_kernel_fail(k, "output_padding holds %lld", (long long)more);
    grown = (in - 1) * w->stride[i] + reach + more;
    *before = w->before[i];
    *after = w->after[i];
    if (w->pad == AS_PAD_SAME || (said && w->pad == AS_PAD_GIVEN))
        pad_same(k, grown - out, before, after);
    return ASSAY_OK;
}

/* What the shape rules need to read attributes and to complain. */
static struct as_infer infer_of(const struct as_kernel_ctx *k)
{
    return (struct as_infer){.model = k->graph->model,
                             .graph = k->graph->model->main,
                             .node = k->node,
                             .opset = k->opset,
                             .err = k->err};
}

int as_slide_spread(struct as_kernel_ctx *k, const struct as_val *in, int64_t *out)
{
    struct as_infer infer = infer_of(k);
    struct as_window w;
    int rc = as_window_read(&infer, in->rank - 2, &w);

    for (int i = 0; rc == ASSAY_OK && i < w.n; i++) {
        if (w.kernel[i] < 1)
            return as_kernel_fail(k, "the window has no length");
        rc = as_window_spread(&infer, &w, i, in->dims[2 + i], 0, &out[i]);
        if (rc == ASSAY_OK && out[i] < 0)
            rc = as_kernel_fail(k, "the output would be too long");
    }
    return rc;
}

int as_slide_read(struct as_kernel_ctx *k, const struct as_slide_rule *rule, struct as_slide *s)
{
    struct as_infer infer = infer_of(k);
    int pad = AS_SPACE - rule->n, rc;
    struct as_window w;

    if (pad < 0)
        return as_kernel_cannot(k, "windows over %d axes", rule->n);
    rc = as_window_read(&infer, rule->n, &w);
    *s = (struct as_slide){.n_in = 1, .n_out = 1, .n_kernel = 1};
    for (int i = 0; i < pad; i++)
        s->in[i] = s->out[i] = s->kernel[i] = s->stride[i] = s->dilation[i] = 1;
    for (int i = 0; rc == ASSAY_OK && i < rule->n; i++) {
        int64_t in = rule->in->dims[rule->first + i], out = rule->out->dims[rule->first + i];
        int to = pad + i;

        if (rule->kernel)
            rc = as_window_kernel(&infer, &w, i, rule->kernel[i]);
        if (rc == ASSAY_OK && w.kernel[i] < 1)
            rc = as_kernel_fail(k, "the window has no length");
        if (rc == ASSAY_OK && rule->spread)
            rc = spread_axis(k, &w, i, in, out, &s->before[to], &s->after[to]);
        else if (rc == ASSAY_OK)
            rc = slide_axis(k, &infer, &w, i, in, out, &s->before[to], &s->after[to]);
        s->in[to] = in;
        s->out[to] = out;
        s->kernel[to] = w.kernel[i];
        s->stride[to] = w.stride[i];
        s->dilation[to] = w.dilation[i];
    }
    for (int i = 0; rc == ASSAY_OK && i < AS_SPACE; i++) {
        if (__builtin_mul_overflow(s->n_in, s->in[i], &s->n_in) ||
            __builtin_mul_overflow(s->n_out, s->out[i], &s->n_out) ||
            __builtin_mul_overflow(s->n_kernel, s->kernel[i], &s->n_kernel))
            rc = as_kernel_fail(k, "the window is too large");
    }
    return rc;
}

void as_slide_range(const struct as_slide *s, int i, int64_t tap, int64_t *from, int64_t *to)
{
    int64_t shift = tap * s->dilation[i] - s->before[i]; /* place p reads p * stride + shift */
    int64_t last = s->in[i] - 1 - shift;

    *from = shift < 0 ? (-shift + s->stride[i] - 1) / s->stride[i] : 0;
    *to = last < 0 ? 0 : last / s->stride[i] + 1;
    if (*to > s->out[i])
        *to = s->out[i];
    if (*from > *to)
        *from = *to;
}
