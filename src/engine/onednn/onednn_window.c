/* engine/onednn/onednn_window.c - windows of convolutions and pools in oneDNN's numbers.
 * The padding behind is worked out from the output, so that it fits however it was said. */
#include "engine/onednn/onednn_window.h"

#include "model/infer/infer_context.h"

enum { MAX_SPACE = 3 };

/* Padding in front when it is not given, from the sum on both sides. */
static int64_t pad_before(const struct as_dnn *d, int64_t total)
{
    int64_t less = (total > 0 ? total : 0) / 2, more = (total > 0 ? total : 0) - less;

    return as_node_text_is(d->spec, "auto_pad", "SAME_UPPER") ? less : more;
}

/* Where the windows go over `in`; the padding behind is what the last one needs. */
static bool slide(const struct as_dnn *d, const struct as_window *from, int i, int64_t in,
                  int64_t out, struct as_dnn_window *w)
{
    int64_t reach = (from->kernel[i] - 1) * from->dilation[i] + 1;
    int64_t needed = (out - 1) * from->stride[i] + reach - in;

    w->before[i] = from->pad == AS_PAD_SAME ? pad_before(d, needed) : from->before[i];
    needed -= w->before[i];
    w->after[i] = needed > 0 ? needed : 0;
    if (from->pad == AS_PAD_GIVEN && w->after[i] > from->after[i])
        w->overhangs = true;
    return w->before[i] >= 0 && needed > -from->stride[i];
}

static bool spread_axis(const struct as_dnn *d, const struct as_window *from, int i, int64_t in,
                        int64_t out, struct as_dnn_window *w)
{
    struct as_ints shape, extra;
    int64_t reach = (from->kernel[i] - 1) * from->dilation[i] + 1, grown, more = 0;
    bool said = as_node_ints(d->spec, "output_shape", &shape) && shape.n > 0;

    if (as_node_ints(d->spec, "output_padding", &extra) && (size_t)i < extra.n)
        more = extra.at[i];
    if (more < 0 || more > 1 << 30)
        return false;
    grown = (in - 1) * from->stride[i] + reach;
    w->before[i] = from->before[i];
    if (from->pad == AS_PAD_SAME || (said && from->pad == AS_PAD_GIVEN))
        w->before[i] = pad_before(d, grown + more - out);
    w->after[i] = grown - out - w->before[i];
    return w->before[i] >= 0 && w->before[i] < reach && w->after[i] < reach &&
           w->after[i] > -from->stride[i];
}

bool as_dnn_window(const struct as_dnn *d, const dnnl_memory_desc_t *in,
                   const dnnl_memory_desc_t *out, const int64_t *kernel, bool spread,
                   struct as_dnn_window *w)
{
    struct as_infer infer = {.model = d->step->graph->model,
                             .graph = d->step->graph->model->main,
                             .node = d->spec,
                             .opset = d->step->opset};
    int n = in->ndims - 2;
    struct as_window from;

    *w = (struct as_dnn_window){.n = n};
    if (n < 1 || n > MAX_SPACE || out->ndims != in->ndims || as_window_read(&infer, n, &from) < 0)
        return false;
    for (int i = 0; i < n; i++) {
        int64_t rows = in->dims[2 + i], places = out->dims[2 + i];

        if (kernel)
            from.kernel[i] = kernel[i];
        if (from.kernel[i] < 1 || from.kernel[i] > 1 << 20 || from.dilation[i] > 1 << 20 ||
            from.stride[i] > 1 << 20)
            return false;
        w->kernel[i] = from.kernel[i];
        w->stride[i] = from.stride[i];
        w->dilation[i] = from.dilation[i] - 1;
        if (spread ? !spread_axis(d, &from, i, rows, places, w)
                   : !slide(d, &from, i, rows, places, w))
            return false;
    }
    return true;
}

bool as_dnn_view_weights(const struct as_dnn *d, const dnnl_memory_desc_t *w, int64_t group,
                         bool inputs_first, dnnl_memory_desc_t *out)
{
    dnnl_dims_t dims, strides;
    int64_t step = 1;
    int n = w->ndims, more = group > 1, a = more, b = more + 1;

    if (!as_dnn_is_plain(w) || n < 2 || n + more > DNNL_MAX_NDIMS)
        return false;
    for (int i = n; i-- > 0;) {
        dims[i + more] = w->dims[i];
        strides[i + more] = step;
        step *= w->dims[i];
    }
    if (more) {
        if (dims[1] % group != 0)
            return false;
        dims[0] = group;
        dims[1] /= group;
        strides[0] = strides[1] * dims[1];
    }
    if (inputs_first) {
        int64_t dim = dims[a], stride = strides[a];

        dims[a] = dims[b];
        strides[a] = strides[b];
        dims[b] = dim;
        strides[b] = stride;
    }
    return d->lib->api.memory_desc_init_by_strides(out, n + more, dims, w->data_type, strides) ==
           dnnl_success;
}
