/* engine/onednn/onednn_norm.c - Softmax and normalizations by oneDNN. */
#include "engine/onednn/onednn.h"

/* A plain tensor as [before, length, behind] around the axes [from, to). */
static bool around(const struct as_dnn *d, const struct as_dnn_tensor *x, int from, int to,
                   dnnl_memory_desc_t *out)
{
    int64_t dims[3] = {1, 1, 1};

    for (int i = 0; i < x->desc.ndims; i++)
        dims[i < from ? 0 : i < to ? 1 : 2] *= x->desc.dims[i];
    return as_dnn_plain(d->lib, x->dtype, dims[2] == 1 ? 2 : 3, dims, out);
}

int as_dnn_softmax(struct as_dnn *d)
{
    bool whole = d->step->opset < 13; /* then it is over all axes from there on */
    int64_t axis = as_node_int(d->spec, "axis", whole ? 1 : -1);
    dnnl_alg_kind_t alg =
        d->step->op == AS_OP_LogSoftmax ? dnnl_softmax_log : dnnl_softmax_accurate;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_softmax_v2_desc_t desc;
    struct as_dnn_tensor x;
    dnnl_memory_desc_t flat;

    if (!as_dnn_in(d, 0, &x) || x.dtype != AS_DTYPE_F32)
        return 0;
    axis += axis < 0 ? x.desc.ndims : 0;
    if (axis < 0 || axis >= x.desc.ndims ||
        !around(d, &x, (int)axis, whole ? x.desc.ndims : (int)axis + 1, &flat))
        return 0;
    if (d->lib->api.softmax_v2_forward_desc_init(&desc, dnnl_forward_inference, alg, &flat, &flat,
                                                 1) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(
        d, pd, (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &flat}, {DNNL_ARG_DST, NULL, &flat}}, 2, 0);
}

static bool is_vector(const struct as_dnn_tensor *t, int64_t n)
{
    int64_t all = 1;

    for (int i = 0; i < t->desc.ndims; i++)
        all *= t->desc.dims[i];
    return t->dtype == AS_DTYPE_F32 && all == n && as_dnn_is_plain(&t->desc);
}

static bool only_output(const struct as_step *step)
{
    for (uint32_t i = 1; i < step->n_out; i++)
        if (step->out[i] != AS_NONE)
            return false;
    return true;
}

int as_dnn_layer_norm(struct as_dnn *d)
{
    int64_t axis = as_node_int(d->spec, "axis", -1);
    bool has_shift = d->step->n_in > 2 && d->step->in[2] != AS_NONE;
    unsigned flags = dnnl_use_scale | (has_shift ? dnnl_use_shift : 0);
    struct as_dnn_tensor x, scale, shift;
    dnnl_memory_desc_t flat, stats, vector;
    dnnl_layer_normalization_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;

    if (!only_output(d->step) || !as_dnn_in(d, 0, &x) || !as_dnn_in(d, 1, &scale) ||
        (has_shift && !as_dnn_in(d, 2, &shift)) || x.dtype != AS_DTYPE_F32)
        return 0;
    axis += axis < 0 ? x.desc.ndims : 0;
    if (axis < 0 || axis >= x.desc.ndims || !around(d, &x, (int)axis, x.desc.ndims, &flat) ||
        !is_vector(&scale, flat.dims[1]) || (has_shift && !is_vector(&shift, flat.dims[1])) ||
        !as_dnn_plain(d->lib, AS_DTYPE_F32, 1, flat.dims, &stats) ||
        !as_dnn_plain(d->lib, AS_DTYPE_F32, 1, flat.dims + 1, &vector))
        return 0;
    if (d->lib->api.layer_normalization_forward_desc_init(
            &desc, dnnl_forward_inference, &flat, &stats,
            (float)as_node_float(d->spec, "epsilon", 1e-5), flags) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(d, pd,
                       (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &flat},
                                             {DNNL_ARG_SCALE, &scale, &vector},
                                             {DNNL_ARG_DST, NULL, &flat},
                                             {DNNL_ARG_SHIFT, &shift, &vector}},
                       has_shift ? 4 : 3, 0);
}

int as_dnn_batch_norm(struct as_dnn *d)
{
    struct as_dnn_tensor x, v[4]; /* scale, shift, mean, variance */
    dnnl_batch_normalization_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;

    if (!only_output(d->step) || as_node_int(d->spec, "training_mode", 0) || !as_dnn_in(d, 0, &x) ||
        x.dtype != AS_DTYPE_F32 || x.desc.ndims < 2)
        return 0;
    for (uint32_t i = 0; i < 4; i++)
        if (!as_dnn_in(d, i + 1, &v[i]) || v[i].desc.ndims != 1 ||
            !is_vector(&v[i], x.desc.dims[1]))
            return 0;
    if (d->lib->api.batch_normalization_forward_desc_init(
            &desc, dnnl_forward_inference, &x.desc, (float)as_node_float(d->spec, "epsilon", 1e-5),
            dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(d, pd,
                       (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &x.desc},
                                             {DNNL_ARG_SCALE, &v[0], &v[0].desc},
                                             {DNNL_ARG_SHIFT, &v[1], &v[1].desc},
                                             {DNNL_ARG_MEAN, &v[2], &v[2].desc},
                                             {DNNL_ARG_VARIANCE, &v[3], &v[3].desc},
                                             {DNNL_ARG_DST, NULL, &x.desc}},
                       6, 0);
}

int as_dnn_lrn(struct as_dnn *d)
{
    int64_t size = as_node_int(d->spec, "size", 0);
    struct as_dnn_tensor x;
    dnnl_lrn_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;

    /* Of an even length the two disagree about the middle. */
    if (!as_dnn_in(d, 0, &x) || x.dtype != AS_DTYPE_F32 || x.desc.ndims != 4 || size < 1 ||
        size > 1 << 16 || size % 2 == 0)
        return 0;
    if (d->lib->api.lrn_forward_desc_init(&desc, dnnl_forward_inference, dnnl_lrn_across_channels,
                                          &x.desc, size,
                                          (float)as_node_float(d->spec, "alpha", 1e-4),
                                          (float)as_node_float(d->spec, "beta", 0.75),
                                          (float)as_node_float(d->spec, "bias", 1)) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(
        d, pd, (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &x.desc}, {DNNL_ARG_DST, NULL, &x.desc}}, 2,
        0);
}
