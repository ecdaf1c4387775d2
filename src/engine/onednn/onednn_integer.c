/* engine/onednn/onednn_integer.c - convolutions and products of 8-bit integers by oneDNN: sums in
 * 32 bits, scaled and rounded to even on the way out. */
#include "engine/onednn/onednn_window.h"

static bool is_byte(unsigned dtype)
{
    return dtype == AS_DTYPE_U8 || dtype == AS_DTYPE_I8;
}

/* A bias of 32-bit sums, which is always a vector. */
static bool read_bias(const struct as_dnn *d, uint32_t at, int64_t n, bool *has,
                      struct as_dnn_tensor *b)
{
    *has = at < d->step->n_in && d->step->in[at] != AS_NONE;
    return !*has || (as_dnn_in(d, at, b) && b->dtype == AS_DTYPE_I32 && b->desc.ndims == 1 &&
                     b->desc.dims[0] == n);
}

/* ---- convolutions ---- */

struct conv {
    struct as_dnn_tensor x, y, b;
    struct as_dnn_weights w;
    bool has_b;
    struct as_dnn_window window;
    dnnl_memory_desc_t dx, dy, dw;
    struct as_dnn_rescale scale;
};

static bool read_conv(struct as_dnn *d, struct conv *c)
{
    bool scaled = d->step->op == AS_OP_QLinearConv;
    int64_t group = as_node_int(d->spec, "group", 1);

    if (!as_dnn_in(d, 0, &c->x) || !as_dnn_out(d, 0, &c->y) || !is_byte(c->x.dtype) ||
        c->x.desc.ndims < 3 || group < 1 ||
        !as_dnn_weights(d, scaled ? 3 : 1, scaled ? 5 : 3, &c->w))
        return false;
    c->scale = scaled ? (struct as_dnn_rescale){.x_scale = 1,
                                                .x_zero = 2,
                                                .w_scale = 4,
                                                .y_scale = 6,
                                                .y_zero = 7}
                      : (struct as_dnn_rescale){.x_zero = 2, .w_scale = AS_NONE, .y_zero = AS_NONE};
    c->scale.axis = 1;
    c->scale.channels = c->w.t.desc.dims[0];
    return read_bias(d, scaled ? 8 : AS_NONE, c->scale.channels, &c->has_b, &c->b) &&
           c->w.t.desc.ndims == c->x.desc.ndims &&
           as_dnn_view_weights(d, &c->w.t.desc, group, false, &c->dw) &&
           as_dnn_channels_last(d->lib, &c->x.desc, &c->dx) &&
           as_dnn_channels_last(d->lib, &c->y.desc, &c->dy) &&
           as_dnn_window(d, &c->x.desc, &c->y.desc, c->w.t.desc.dims + 2, false, &c->window);
}

static dnnl_primitive_desc_t describe_conv(struct as_dnn *d, struct conv *c)
{
    const struct as_onednn_api *api = &d->lib->api;
    const struct as_dnn_window *w = &c->window;
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t weights = c->dw;
    dnnl_convolution_desc_t desc;

    as_dnn_any(&weights);
    if (attr && as_dnn_rescale(d, &c->scale, attr) &&
        as_dnn_post_attr(d, &c->dy, 0, d->step->n_post_ops, attr) &&
        api->dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_inference, dnnl_convolution_direct, &c->dx, &weights,
            c->has_b ? &c->b.desc : NULL, &c->dy, w->stride, w->dilation, w->before,
            w->after) == dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    if (attr)
        api->primitive_attr_destroy(attr);
    return pd;
}

static bool emit_conv(struct as_dnn *d, const struct conv *c, dnnl_primitive_desc_t pd)
{
    struct as_dnn_ref rx, rw, rb, ry, rz;
    struct as_dnn_call *call;

    if (!as_dnn_source(d, &c->x, &c->dx, &rx) ||
        !as_dnn_pack(d, c->w.numbers, &c->dw, as_dnn_md(d->lib, pd, dnnl_query_weights_md, 0),
                     &rw) ||
        (c->has_b && !as_dnn_source(d, &c->b, &c->b.desc, &rb)) ||
        !as_dnn_zero_source(d, &c->scale, &rz) || !as_dnn_result(d, &c->dy, &ry))
        return false;
    d->packed[c->w.t.index] = true;
    call = as_dnn_call(d, pd);
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC, &rx) &&
           as_dnn_arg(d, call, DNNL_ARG_WEIGHTS, &rw) &&
           (!c->has_b || as_dnn_arg(d, call, DNNL_ARG_BIAS, &rb)) &&
           as_dnn_zero_arg(d, &c->scale, call, &rz) && as_dnn_arg(d, call, DNNL_ARG_DST, &ry);
}

int as_dnn_int_conv(struct as_dnn *d)
{
    struct conv c = {0};
    dnnl_primitive_desc_t pd;
    bool ok;

    if (!as_dnn_quant_post_ops(d->step) || !read_conv(d, &c))
        return 0;
    pd = describe_conv(d, &c);
    if (!pd)
        return 0;
    ok = emit_conv(d, &c, pd);
    d->lib->api.primitive_desc_destroy(pd);
    return ok;
}

/* ---- products ---- */

/* Where the inputs of an operator are; AS_NONE: it has none. */
struct places {
    enum as_op op;
    uint32_t w, w_zero, bias;
    struct as_dnn_rescale scale;
};

static const struct places products[] = {
    {AS_OP_QLinearMatMul, 3, 5, AS_NONE, {1, 2, 4, 6, 7, 1, 0, false}},
    {AS_OP_MatMulInteger, 1, 3, AS_NONE, {AS_NONE, 2, AS_NONE, AS_NONE, AS_NONE, 1, 0, false}},
    {AS_OP_MS_QGemm, 3, 5, 6, {1, 2, 4, 7, 8, 1, 0, false}},
};

struct product {
    struct as_dnn_tensor x, y, b;
    struct as_dnn_weights w;
    bool has_b;
    dnnl_memory_desc_t dx, dy, dw, db;
    struct as_dnn_rescale scale;
};

static const struct places *find_places(enum as_op op)
{
    size_t i = 0;

    while (products[i].op != op)
        i++;
    return &products[i];
}

/* The weights as one matrix [inputs, outputs], as they lie. */
static bool view_matrix(const struct as_dnn *d, struct product *p)
{
    const dnnl_memory_desc_t *w = &p->w.t.desc;
    bool turn = as_node_int(d->spec, "transB", 0) != 0;
    dnnl_dims_t dims = {w->dims[turn], w->dims[!turn]};
    dnnl_dims_t strides = {turn ? 1 : w->dims[1], turn ? w->dims[1] : 1};

    return w->ndims == 2 && as_dnn_is_plain(w) &&
           d->lib->api.memory_desc_init_by_strides(&p->dw, 2, dims, w->data_type, strides) ==
               dnnl_success;
}

/* Sums have a bias of 32 bits along the last axis, with an axis of one in front or none. */
static bool view_bias(const struct as_dnn *d, uint32_t at, int64_t n, struct product *p)
{
    const dnnl_memory_desc_t *b = &p->b.desc;
    const int64_t dims[2] = {1, n};

    p->has_b = at < d->step->n_in && d->step->in[at] != AS_NONE;
    if (!p->has_b)
        return true;
    return as_dnn_in(d, at, &p->b) && p->b.dtype == AS_DTYPE_I32 && b->ndims <= 2 &&
           b->dims[b->ndims - 1] == n && (b->ndims == 1 || b->dims[0] == 1) &&
           as_dnn_plain(d->lib, AS_DTYPE_I32, 2, dims, &p->db);
}

/* Rows of all batches together: the weights are one matrix. */
static bool read_product(struct as_dnn *d, struct product *p)
{
    const struct places *at = find_places(d->step->op);
    int64_t dims[2] = {1, 1};
    int n;

    p->scale = at->scale;
    if (!as_dnn_in(d, 0, &p->x) || !as_dnn_out(d, 0, &p->y) || !is_byte(p->x.dtype) ||
        !as_dnn_weights(d, at->w, at->w_zero, &p->w) || p->x.desc.ndims < 2 || !view_matrix(d, p) ||
        as_node_int(d->spec, "transA", 0) || as_node_float(d->spec, "alpha", 1) != 1)
        return false;
    n = p->x.desc.ndims;
    for (int i = 0; i < n - 1; i++)
        dims[0] *= p->x.desc.dims[i];
    dims[1] = p->x.desc.dims[n - 1];
    if (dims[1] != p->dw.dims[0] || !as_dnn_plain(d->lib, p->x.dtype, 2, dims, &p->dx))
        return false;
    dims[1] = p->dw.dims[1];
    p->scale.channels = dims[1];
    /* Sums that stay real numbers are scaled by the two scales alone. */
    if (at->bias != AS_NONE && (d->step->n_in < 8 || d->step->in[7] == AS_NONE))
        p->scale.y_scale = p->scale.y_zero = AS_NONE;
    return view_bias(d, at->bias, dims[1], p) && as_dnn_plain(d->lib, p->y.dtype, 2, dims, &p->dy);
}

static dnnl_primitive_desc_t describe_product(struct as_dnn *d, struct product *p)
{
    const struct as_onednn_api *api = &d->lib->api;
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t weights = p->dw;
    dnnl_matmul_desc_t desc;

    as_dnn_any(&weights);
    if (attr && as_dnn_rescale(d, &p->scale, attr) &&
        as_dnn_post_attr(d, &p->dy, 0, d->step->n_post_ops, attr) &&
        api->matmul_desc_init(&desc, &p->dx, &weights, p->has_b ? &p->db : NULL, &p->dy) ==
            dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    if (attr)
        api->primitive_attr_destroy(attr);
    return pd;
}

static bool emit_product(struct as_dnn *d, const struct product *p, dnnl_primitive_desc_t pd)
{
    struct as_dnn_ref rx, rw, rb, ry, rz;
    struct as_dnn_call *call;

    if (!as_dnn_source(d, &p->x, &p->dx, &rx) ||
        !as_dnn_pack(d, p->w.numbers, &p->dw, as_dnn_md(d->lib, pd, dnnl_query_weights_md, 0),
                     &rw) ||
        (p->has_b && !as_dnn_source(d, &p->b, &p->db, &rb)) ||
        !as_dnn_zero_source(d, &p->scale, &rz) || !as_dnn_result(d, &p->dy, &ry))
        return false;
    d->packed[p->w.t.index] = true;
    call = as_dnn_call(d, pd);
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC, &rx) &&
           as_dnn_arg(d, call, DNNL_ARG_WEIGHTS, &rw) &&
           (!p->has_b || as_dnn_arg(d, call, DNNL_ARG_BIAS, &rb)) &&
           as_dnn_zero_arg(d, &p->scale, call, &rz) && as_dnn_arg(d, call, DNNL_ARG_DST, &ry);
}

int as_dnn_int_matmul(struct as_dnn *d)
{
    struct product p = {0};
    dnnl_primitive_desc_t pd;
    bool ok;

    if (!as_dnn_quant_post_ops(d->step) || !read_product(d, &p))
        return 0;
    pd = describe_product(d, &p);
    if (!pd)
        return 0;
    ok = emit_product(d, &p, pd);
    d->lib->api.primitive_desc_destroy(pd);
    return ok;
}
