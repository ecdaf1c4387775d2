/* engine/onednn/onednn_quant.c - scales and zero points of integer operators in oneDNN's terms, and
 * the operators that do nothing but convert: QuantizeLinear, DequantizeLinear, QLinearAdd. */
#include "engine/onednn/onednn_window.h"

#include <math.h>

#include "base/alloc.h"

bool as_dnn_scale(struct as_dnn *d, uint32_t i, float *scale)
{
    double x;
    uint64_t n;

    if (!as_dnn_numbers(d, i, &x, 1, &n) || n != 1 || !(x > 0) || isinf(x))
        return false;
    *scale = (float)x;
    return true;
}

bool as_dnn_zero(struct as_dnn *d, uint32_t i, int32_t *zero)
{
    const struct as_val *val;

    *zero = 0;
    if (i >= d->step->n_in || d->step->in[i] == AS_NONE)
        return true;
    val = as_dnn_const(d, i);
    if (!val || val->n < 1 || (val->dtype != AS_DTYPE_U8 && val->dtype != AS_DTYPE_I8))
        return false;
    for (uint64_t j = 1; j < val->n; j++)
        if (as_val_i64(val, j) != as_val_i64(val, 0))
            return false;
    *zero = (int32_t)as_val_i64(val, 0);
    return true;
}

bool as_dnn_weights(struct as_dnn *d, uint32_t at, uint32_t zero_at, struct as_dnn_weights *w)
{
    const struct as_val *val;
    const uint8_t *from;
    int8_t *to;

    if (!as_dnn_in(d, at, &w->t) || !w->t.is_const || !as_dnn_zero(d, zero_at, &w->zero) ||
        (w->t.dtype != AS_DTYPE_I8 && w->t.dtype != AS_DTYPE_U8) ||
        w->zero != (w->t.dtype == AS_DTYPE_U8 ? 128 : 0))
        return false;
    val = as_dnn_const(d, at);
    if (!val || (d->p->narrow_products && !as_weights_are_narrow(val, w->zero)))
        return false;
    w->numbers = val->data;
    if (w->t.dtype == AS_DTYPE_I8)
        return true;
    to = as_dnn_keep(d, val->bytes);
    if (!to)
        return false;
    from = val->data;
    for (uint64_t i = 0; i < val->n; i++)
        to[i] = (int8_t)(from[i] - 128);
    w->numbers = to;
    w->t.desc.data_type = dnnl_s8;
    return true;
}

bool as_dnn_quant_post_ops(const struct as_step *step)
{
    return step->n_post_ops == 0 || (step->n_post_ops == 1 && step->post_ops[0].op == AS_OP_Relu);
}

/* Scales of every channel of the output, or one. */
static bool set_scales(struct as_dnn *d, const struct as_dnn_rescale *r, dnnl_primitive_attr_t attr)
{
    const struct as_val *w = as_dnn_const(d, r->w_scale);
    float x, y = 1, *all;
    bool ok;

    if (!w || !as_dnn_scale(d, r->x_scale, &x) ||
        (r->y_scale != AS_NONE && !as_dnn_scale(d, r->y_scale, &y)) || w->dtype != AS_DTYPE_F32 ||
        (w->n != 1 && (int64_t)w->n != r->channels))
        return false;
    all = as_alloc_zero((size_t)w->n, sizeof *all);
    if (!all)
        return false;
    for (uint64_t i = 0; i < w->n; i++)
        all[i] = (float)((double)x * as_val_f64(w, i) / (double)y);
    ok = d->lib->api.primitive_attr_set_output_scales(
             attr, (dnnl_dim_t)w->n, w->n == 1 ? 0 : 1 << r->axis, all) == dnnl_success;
    as_free(all);
    return ok;
}

bool as_dnn_rescale(struct as_dnn *d, struct as_dnn_rescale *r, dnnl_primitive_attr_t attr)
{
    const struct as_onednn_api *api = &d->lib->api;
    int32_t zero;

    if (r->w_scale != AS_NONE && !set_scales(d, r, attr))
        return false;
    r->zero_now = r->x_zero < d->step->n_in && d->step->in[r->x_zero] != AS_NONE &&
                  !as_slot_is_const(d->p, d->step->in[r->x_zero]);
    zero = DNNL_RUNTIME_S32_VAL;
    if (!r->zero_now && !as_dnn_zero(d, r->x_zero, &zero))
        return false;
    if (zero != 0 &&
        api->primitive_attr_set_zero_points(attr, DNNL_ARG_SRC, 1, 0, &zero) != dnnl_success)
        return false;
    if (r->y_zero == AS_NONE)
        return true;
    return as_dnn_zero(d, r->y_zero, &zero) &&
           (zero == 0 ||
            api->primitive_attr_set_zero_points(attr, DNNL_ARG_DST, 1, 0, &zero) == dnnl_success);
}

bool as_dnn_zero_source(struct as_dnn *d, const struct as_dnn_rescale *r, struct as_dnn_ref *ref)
{
    struct as_dnn_ref from = {.place = AS_DNN_IN, .index = r->x_zero};
    struct as_dnn_tensor t;
    dnnl_memory_desc_t wide;
    const int64_t one = 1;

    if (!r->zero_now)
        return true;
    if (!as_dnn_in(d, r->x_zero, &t) || t.desc.ndims != 1 || t.desc.dims[0] != 1 ||
        !as_dnn_plain(d->lib, AS_DTYPE_I32, 1, &one, &wide) || !as_dnn_work(d, &wide, ref))
        return false;
    from.desc = t.desc;
    return as_dnn_copy(d, &from, ref);
}

bool as_dnn_zero_arg(struct as_dnn *d, const struct as_dnn_rescale *r, struct as_dnn_call *call,
                     const struct as_dnn_ref *ref)
{
    return !r->zero_now || as_dnn_arg(d, call, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, ref);
}

/* ---- conversions ---- */

static bool to_integers(const struct as_step *step)
{
    return step->op == AS_OP_QuantizeLinear || step->op == AS_OP_MS_QuantizeLinear;
}

/* One scale and zero point for the whole tensor; those along an axis are left to plain C. */
static bool conversion(struct as_dnn *d, dnnl_primitive_attr_t attr)
{
    bool quantize = to_integers(d->step);
    float scale;
    int32_t zero;

    if (!as_dnn_scale(d, 1, &scale) || !as_dnn_zero(d, 2, &zero))
        return false;
    if (quantize)
        scale = 1 / scale;
    return d->lib->api.primitive_attr_set_output_scales(attr, 1, 0, &scale) == dnnl_success &&
           (zero == 0 ||
            d->lib->api.primitive_attr_set_zero_points(attr, quantize ? DNNL_ARG_DST : DNNL_ARG_SRC,
                                                       1, 0, &zero) == dnnl_success);
}

/* Worth a kernel of the library where the layout is not plain: then nothing is reordered. */
int as_dnn_quantize(struct as_dnn *d)
{
    struct as_dnn_tensor x, y;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t dy;
    bool ok = false;

    if (!as_dnn_in(d, 0, &x) || !as_dnn_out(d, 0, &y) || as_node_int(d->spec, "block_size", 0) ||
        d->step->n_post_ops || (to_integers(d->step) ? x.dtype : y.dtype) != AS_DTYPE_F32 ||
        (to_integers(d->step) ? y.dtype : x.dtype) == AS_DTYPE_F32)
        return 0;
    dy = x.desc;
    dy.data_type = y.desc.data_type;
    attr = as_dnn_attr(d->lib);
    if (attr && conversion(d, attr) &&
        d->lib->api.reorder_primitive_desc_create(&pd, &x.desc, d->lib->engine, &dy, d->lib->engine,
                                                  attr) == dnnl_success)
        ok = as_dnn_emit(
            d, pd, (struct as_dnn_use[]){{DNNL_ARG_FROM, &x, &x.desc}, {DNNL_ARG_TO, NULL, &dy}}, 2,
            0);
    if (attr)
        d->lib->api.primitive_attr_destroy(attr);
    return ok;
}

/* a, its scale and zero point, b with its own, and those of the sum. */
static bool sum_attr(struct as_dnn *d, float *a, float *b, float *rest)
{
    float y;
    int32_t za, zb, zy;

    if (!as_dnn_scale(d, 1, a) || !as_dnn_scale(d, 4, b) || !as_dnn_scale(d, 6, &y) ||
        !as_dnn_zero(d, 2, &za) || !as_dnn_zero(d, 5, &zb) || !as_dnn_zero(d, 7, &zy))
        return false;
    *a /= y;
    *b /= y;
    *rest = (float)zy - *a * (float)za - *b * (float)zb;
    return true;
}

int as_dnn_qlinear_add(struct as_dnn *d)
{
    const struct as_onednn_api *api = &d->lib->api;
    struct as_dnn_tensor a, b, y;
    dnnl_memory_desc_t first, second, out;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_binary_desc_t desc;
    float sa, sb, rest;

    if (d->step->n_post_ops || !as_dnn_in(d, 0, &a) || !as_dnn_in(d, 3, &b) ||
        !as_dnn_out(d, 0, &y) || !sum_attr(d, &sa, &sb, &rest) || a.desc.ndims != y.desc.ndims ||
        b.desc.ndims != y.desc.ndims)
        return 0;
    for (int i = 0; i < y.desc.ndims; i++)
        if (a.desc.dims[i] != y.desc.dims[i] || b.desc.dims[i] != y.desc.dims[i])
            return 0;
    first = as_dnn_is_plain(&a.desc) ? b.desc : a.desc;
    first.data_type = a.desc.data_type;
    second = out = first;
    second.data_type = b.desc.data_type;
    out.data_type = y.desc.data_type;
    attr = as_dnn_attr(d->lib);
    if (attr && api->post_ops_create(&ops) == dnnl_success &&
        api->primitive_attr_set_scales(attr, DNNL_ARG_SRC_0, 1, 0, &sa) == dnnl_success &&
        api->primitive_attr_set_scales(attr, DNNL_ARG_SRC_1, 1, 0, &sb) == dnnl_success &&
        api->post_ops_append_eltwise(ops, 1, dnnl_eltwise_linear, 1, rest) == dnnl_success &&
        api->primitive_attr_set_post_ops(attr, ops) == dnnl_success &&
        api->binary_desc_init(&desc, dnnl_binary_add, &first, &second, &out) == dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    if (ops)
        api->post_ops_destroy(ops);
    if (attr)
        api->primitive_attr_destroy(attr);
    return as_dnn_emit(d, pd,
                       (struct as_dnn_use[]){{DNNL_ARG_SRC_0, &a, &first},
                                             {DNNL_ARG_SRC_1, &b, &second},
                                             {DNNL_ARG_DST, NULL, &out}},
                       3, 0);
}
