/* engine/onednn/onednn_pool.c - pools, means over all of space, and resizing, in the layout they
 * find. */
#include "engine/onednn/onednn_window.h"

/* `like` with other dimensions, in the same order of axes; false when it is blocked. */
static bool same_order(const struct as_onednn *lib, const dnnl_memory_desc_t *like,
                       const dnnl_memory_desc_t *plain, dnnl_memory_desc_t *out)
{
    if (!as_dnn_is_plain(like))
        return as_dnn_channels_last(lib, plain, out);
    *out = *plain;
    return true;
}

static dnnl_primitive_desc_t describe(const struct as_dnn *d, dnnl_alg_kind_t alg,
                                      const struct as_dnn_window *w, const dnnl_memory_desc_t *x,
                                      const dnnl_memory_desc_t *y)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_pooling_v2_desc_t desc;

    if (d->lib->api.pooling_v2_forward_desc_init(&desc, dnnl_forward_inference, alg, x, y,
                                                 w->stride, w->kernel, w->dilation, w->before,
                                                 w->after) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return pd;
}

/* Tries the layout it finds, then channels last. */
static int emit(struct as_dnn *d, dnnl_alg_kind_t alg, const struct as_dnn_window *w,
                const struct as_dnn_tensor *x, const dnnl_memory_desc_t *y)
{
    dnnl_memory_desc_t dx, dy;
    dnnl_primitive_desc_t pd = NULL;

    if (same_order(d->lib, &x->desc, &x->desc, &dx) && same_order(d->lib, &x->desc, y, &dy))
        pd = describe(d, alg, w, &dx, &dy);
    if (!pd && as_dnn_channels_last(d->lib, &x->desc, &dx) && as_dnn_channels_last(d->lib, y, &dy))
        pd = describe(d, alg, w, &dx, &dy);
    return as_dnn_emit(
        d, pd, (struct as_dnn_use[]){{DNNL_ARG_SRC, x, &dx}, {DNNL_ARG_DST, NULL, &dy}}, 2, 0);
}

static bool pool_dtype(const struct as_dnn *d, unsigned dtype)
{
    return dtype == AS_DTYPE_F32 ||
           (d->step->op == AS_OP_MaxPool && (dtype == AS_DTYPE_U8 || dtype == AS_DTYPE_I8));
}

int as_dnn_pool(struct as_dnn *d)
{
    bool max = d->step->op == AS_OP_MaxPool;
    struct as_dnn_tensor x, y;
    struct as_dnn_window w;
    dnnl_alg_kind_t alg = dnnl_pooling_max;

    if ((d->step->n_out > 1 && d->step->out[1] != AS_NONE) || !as_dnn_in(d, 0, &x) ||
        !as_dnn_out(d, 0, &y) || !pool_dtype(d, x.dtype) || y.dtype != x.dtype ||
        !as_dnn_window(d, &x.desc, &y.desc, NULL, false, &w))
        return 0;
    for (int i = 0; i < w.n; i++) /* a window that lies in the padding alone, or past both ends */
        if (w.before[i] >= w.kernel[i] || w.after[i] >= w.kernel[i] ||
            w.kernel[i] > x.desc.dims[2 + i] + 16)
            return 0;
    if (!max)
        alg = as_node_int(d->spec, "count_include_pad", 0) ? dnnl_pooling_avg_include_padding
                                                           : dnnl_pooling_avg_exclude_padding;
    if (alg == dnnl_pooling_avg_include_padding && w.overhangs)
        return 0;
    return emit(d, alg, &w, &x, &y.desc);
}

/* One window as large as the picture. */
static int whole(struct as_dnn *d, dnnl_alg_kind_t alg)
{
    struct as_dnn_window w = {0};
    struct as_dnn_tensor x;
    dnnl_memory_desc_t y;
    dnnl_dims_t dims;

    if (!as_dnn_in(d, 0, &x) || x.dtype != AS_DTYPE_F32 || x.desc.ndims < 3 || x.desc.ndims > 5)
        return 0;
    w.n = x.desc.ndims - 2;
    for (int i = 0; i < x.desc.ndims; i++)
        dims[i] = i < 2 ? x.desc.dims[i] : 1;
    for (int i = 0; i < w.n; i++) {
        w.kernel[i] = x.desc.dims[2 + i];
        w.stride[i] = 1;
    }
    return as_dnn_plain(d->lib, x.dtype, x.desc.ndims, dims, &y) ? emit(d, alg, &w, &x, &y) : 0;
}

int as_dnn_global_pool(struct as_dnn *d)
{
    return whole(d, d->step->op == AS_OP_GlobalMaxPool ? dnnl_pooling_max
                                                       : dnnl_pooling_avg_exclude_padding);
}

/* Over exactly the spatial axes of a tensor with channels last: that is a pool. */
int as_dnn_reduce_mean(struct as_dnn *d)
{
    struct as_dnn_tensor x;
    struct as_ints axes = {0};
    double given[DNNL_MAX_NDIMS];
    unsigned seen = 0;
    uint64_t n = 0;

    if (!as_dnn_in(d, 0, &x) || as_dnn_is_plain(&x.desc))
        return 0;
    if (!as_dnn_numbers(d, 1, given, DNNL_MAX_NDIMS, &n) &&
        (!as_node_ints(d->spec, "axes", &axes) || axes.n > DNNL_MAX_NDIMS))
        return 0;
    for (uint64_t i = 0; i < (n ? n : axes.n); i++) {
        double axis = n ? given[i] : (double)axes.at[i];

        axis += axis < 0 ? x.desc.ndims : 0;
        if (!(axis >= 0 && axis < x.desc.ndims))
            return 0;
        seen |= 1u << (unsigned)axis;
    }
    if (seen != (1u << x.desc.ndims) - 4)
        return 0;
    return whole(d, dnnl_pooling_avg_exclude_padding);
}

static bool is_linear(const struct as_dnn *d)
{
    return as_node_text_is(d->spec, "mode", "linear") ||
           as_node_text_is(d->spec, "mode", "bilinear");
}

/* Whether the nearest pixel of a whole factor is the one at or before: so it is in the middle of
 * either way of counting, and for the asymmetric one when it rounds down. */
static bool nearest_floor(const struct as_dnn *d)
{
    bool half = !as_node_attr(d->spec, "coordinate_transformation_mode") ||
                as_node_text_is(d->spec, "coordinate_transformation_mode", "half_pixel");
    bool usual = !as_node_attr(d->spec, "nearest_mode") ||
                 as_node_text_is(d->spec, "nearest_mode", "round_prefer_floor");

    if (!as_node_text_is(d->spec, "mode", "nearest") && as_node_attr(d->spec, "mode"))
        return false;
    if (d->step->op != AS_OP_Resize || d->step->opset < 11)
        return true;
    if (as_node_text_is(d->spec, "coordinate_transformation_mode", "asymmetric"))
        return as_node_text_is(d->spec, "nearest_mode", "floor");
    return half && usual;
}

/* Nearest by whole factors, and linear between centers of pixels: those the library does as ONNX
 * says. */
int as_dnn_resize(struct as_dnn *d)
{
    struct as_dnn_tensor x, y;
    dnnl_resampling_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t dx, dy;
    bool linear = is_linear(d), grows = true;

    if (!as_dnn_in(d, 0, &x) || !as_dnn_out(d, 0, &y) || as_dnn_is_plain(&x.desc) ||
        x.dtype != AS_DTYPE_F32 || x.desc.ndims < 3 || x.desc.ndims > 5 ||
        y.desc.ndims != x.desc.ndims || as_node_attr(d->spec, "axes"))
        return 0;
    for (int i = 0; i < x.desc.ndims; i++) {
        if (i < 2 ? x.desc.dims[i] != y.desc.dims[i] : y.desc.dims[i] % x.desc.dims[i] != 0)
            grows = false;
    }
    if (!grows || as_node_int(d->spec, "antialias", 0) ||
        as_node_int(d->spec, "exclude_outside", 0))
        return 0;
    if (linear ? as_node_attr(d->spec, "coordinate_transformation_mode") &&
                     !as_node_text_is(d->spec, "coordinate_transformation_mode", "half_pixel")
               : !nearest_floor(d))
        return 0;
    if (linear && (d->step->op != AS_OP_Resize || d->step->opset < 11))
        return 0;
    if (!as_dnn_channels_last(d->lib, &x.desc, &dx) || !as_dnn_channels_last(d->lib, &y.desc, &dy))
        return 0;
    if (d->lib->api.resampling_forward_desc_init(&desc, dnnl_forward_inference,
                                                 linear ? dnnl_resampling_linear
                                                        : dnnl_resampling_nearest,
                                                 NULL, &dx, &dy) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(
        d, pd, (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &dx}, {DNNL_ARG_DST, NULL, &dy}}, 2, 0);
}
