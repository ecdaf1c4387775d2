/* engine/onednn/onednn_conv.c - Conv and ConvTranspose by oneDNN, channels last where that is fast.
 * One layout through the whole network costs less than the best one for each layer. */
#include <string.h>

#include "engine/onednn/onednn_window.h"

/* With fewer places than this a separate addition is cheaper than the slower kernels that can add
 * a second tensor themselves. */
enum { FEW_PLACES = 196 };

struct conv {
    struct as_dnn_tensor x, w, b, y;
    bool has_b, transposed;
    int64_t group;
    struct as_dnn_window window;
    dnnl_memory_desc_t weights; /* with the group as an axis of its own, laid out as in the file */
};

/* A kernel and what it wants. */
struct choice {
    dnnl_primitive_desc_t pd;
    uint32_t n_post_ops; /* that it does itself */
    int grade;
};

static bool read_conv(const struct as_dnn *d, struct conv *c)
{
    c->group = as_node_int(d->spec, "group", 1);
    c->has_b = d->step->n_in > 2 && d->step->in[2] != AS_NONE;
    if (!as_dnn_in(d, 0, &c->x) || !as_dnn_in(d, 1, &c->w) || !as_dnn_out(d, 0, &c->y) ||
        (c->has_b && (!as_dnn_in(d, 2, &c->b) || c->b.desc.ndims != 1)))
        return false;
    /* A bias may only be where the step has one, not where a post has its tensor. */
    for (uint32_t i = 0; i < d->step->n_post_ops; i++)
        if (d->step->post_ops[i].in == 2)
            c->has_b = false;
    if (c->x.dtype != AS_DTYPE_F32 || c->w.dtype != AS_DTYPE_F32 || c->y.dtype != AS_DTYPE_F32 ||
        c->group < 1 || c->x.desc.ndims != c->w.desc.ndims || c->y.desc.ndims != c->x.desc.ndims)
        return false;
    return as_dnn_view_weights(d, &c->w.desc, c->group, c->transposed, &c->weights) &&
           as_dnn_window(d, &c->x.desc, &c->y.desc, c->w.desc.dims + 2, c->transposed, &c->window);
}

static dnnl_primitive_desc_t describe(const struct as_dnn *d, const struct conv *c,
                                      const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y,
                                      uint32_t n_post_ops)
{
    const struct as_onednn_api *api = &d->lib->api;
    const struct as_dnn_window *w = &c->window;
    dnnl_convolution_desc_t desc;
    dnnl_memory_desc_t weights = c->weights;
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_memory_desc_t *bias = c->has_b ? &c->b.desc : NULL;
    dnnl_status_t status;

    if (!attr)
        return NULL;
    as_dnn_any(&weights);
    status = c->transposed ? api->dilated_deconvolution_forward_desc_init(
                                 &desc, dnnl_forward_inference, dnnl_deconvolution_direct, x,
                                 &weights, bias, y, w->stride, w->dilation, w->before, w->after)
                           : api->dilated_convolution_forward_desc_init(
                                 &desc, dnnl_forward_inference, dnnl_convolution_direct, x,
                                 &weights, bias, y, w->stride, w->dilation, w->before, w->after);
    if (status == dnnl_success && as_dnn_post_attr(d, y, 0, n_post_ops, attr))
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    api->primitive_attr_destroy(attr);
    return pd;
}

/* Takes the better of two and destroys the other; the first when they are equal. */
static void better(const struct as_dnn *d, struct choice *best, const struct choice *other)
{
    const struct choice lose = other->grade > best->grade ? *best : *other;

    if (other->grade > best->grade)
        *best = *other;
    if (lose.pd)
        d->lib->api.primitive_desc_destroy(lose.pd);
}

static struct choice try(const struct as_dnn *d, const struct conv *c, const dnnl_memory_desc_t *x,
                         const dnnl_memory_desc_t *y, uint32_t n_post_ops)
{
    struct choice t = {.pd = describe(d, c, x, y, n_post_ops), .n_post_ops = n_post_ops};

    if (t.pd)
        t.grade = as_dnn_grade(as_dnn_impl(d->lib, t.pd));
    return t;
}

static bool is_brg(const struct as_dnn *d, const struct choice *t)
{
    return t->pd && strncmp(as_dnn_impl(d->lib, t->pd), "brg", 3) == 0;
}

static struct choice choose(const struct as_dnn *d, const struct conv *c)
{
    uint32_t all = d->step->n_post_ops, alone = as_dnn_post_ops_alone(d->step);
    dnnl_memory_desc_t x, y;
    struct choice best = {0}, other;
    int64_t places = 1;

    for (int i = 2; i < c->y.desc.ndims; i++)
        places *= c->y.desc.dims[i];
    /* The transposed kernels do what follows one number at a time. */
    if (c->transposed)
        all = alone = 0;
    if (as_dnn_channels_last(d->lib, &c->x.desc, &x) &&
        as_dnn_channels_last(d->lib, &c->y.desc, &y)) {
        best = try(d, c, &x, &y, all);
        if (alone < all) {
            other = try(d, c, &x, &y, alone);
            if (places < FEW_PLACES && is_brg(d, &other) && !is_brg(d, &best))
                best.grade = 0;
            better(d, &best, &other);
        }
    }
    if (best.grade < 4) {
        x = c->x.desc;
        y = c->y.desc;
        as_dnn_any(&x);
        as_dnn_any(&y);
        other = try(d, c, &x, &y, alone);
        better(d, &best, &other);
    }
    return best;
}

static bool emit(struct as_dnn *d, const struct conv *c, const struct choice *t)
{
    const struct as_onednn *lib = d->lib;
    const dnnl_memory_desc_t y = *as_dnn_md(lib, t->pd, dnnl_query_dst_md, 0);
    struct as_dnn_ref rx, rw, rb, ry, post_ops[AS_MAX_POST_OPS];
    struct as_dnn_tensor w = c->w;
    struct as_dnn_call *call;

    w.desc = c->weights;
    w.viewed = true;
    if (!as_dnn_post_ops_fit(d, &y, 0) ||
        !as_dnn_source(d, &c->x, as_dnn_md(lib, t->pd, dnnl_query_src_md, 0), &rx) ||
        !as_dnn_source(d, &w, as_dnn_md(lib, t->pd, dnnl_query_weights_md, 0), &rw) ||
        (c->has_b && !as_dnn_source(d, &c->b, &c->b.desc, &rb)) || !as_dnn_result(d, &y, &ry) ||
        !as_dnn_post_sources(d, &y, 0, t->n_post_ops, post_ops))
        return false;
    call = as_dnn_call(d, t->pd);
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC, &rx) &&
           as_dnn_arg(d, call, DNNL_ARG_WEIGHTS, &rw) &&
           (!c->has_b || as_dnn_arg(d, call, DNNL_ARG_BIAS, &rb)) &&
           as_dnn_arg(d, call, DNNL_ARG_DST, &ry) &&
           as_dnn_post_args(d, call, 0, t->n_post_ops, post_ops) &&
           as_dnn_post_calls(d, &ry, t->n_post_ops);
}

static int prepare(struct as_dnn *d, bool transposed)
{
    struct conv c = {.transposed = transposed};
    struct choice t;
    bool ok;

    if (!read_conv(d, &c) || !as_dnn_post_ops_fit(d, &c.y.desc, 0))
        return 0;
    t = choose(d, &c);
    if (!t.pd)
        return 0;
    ok = emit(d, &c, &t);
    d->lib->api.primitive_desc_destroy(t.pd);
    return ok;
}

int as_dnn_conv(struct as_dnn *d)
{
    return prepare(d, false);
}

int as_dnn_conv_transpose(struct as_dnn *d)
{
    return prepare(d, true);
}
