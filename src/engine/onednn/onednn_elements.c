/* engine/onednn/onednn_elements.c - functions of one and two tensors element by element, and
 * Concat, in the layout that their inputs have already. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/onednn/onednn.h"

/* ---- one tensor ---- */

struct numbers {
    enum as_op op;
    double alpha, beta;
};

static const struct numbers defaults[] = {
    {AS_OP_LeakyRelu, 0.01, 0},
    {AS_OP_Elu, 1, 0},
    {AS_OP_HardSigmoid, 0.2, 0.5},
    {AS_OP_MS_QuickGelu, 1.702, 0},
};

/* Bounds by attributes or, later, by inputs. */
static bool clip_bounds(struct as_dnn *d, float *low, float *high)
{
    double at[2] = {as_node_float(d->spec, "min", -(double)FLT_MAX),
                    as_node_float(d->spec, "max", (double)FLT_MAX)};
    uint64_t n;

    for (uint32_t i = 1; i < 3 && i < d->step->n_in; i++)
        if (d->step->in[i] != AS_NONE && (!as_dnn_numbers(d, i, &at[i - 1], 1, &n) || n != 1))
            return false;
    *low = (float)at[0];
    *high = (float)at[1];
    return *low <= *high;
}

static int function_of(struct as_dnn *d, struct as_dnn_piece *pieces)
{
    enum as_op op = d->step->op;
    float alpha = 0, beta = 0;

    if (op == AS_OP_Clip && !clip_bounds(d, &alpha, &beta))
        return 0;
    if (op != AS_OP_Clip && d->step->n_in > 1 && d->step->in[1] != AS_NONE)
        return 0;
    if (op == AS_OP_Gelu && as_node_text_is(d->spec, "approximate", "tanh"))
        op = AS_OP_MS_FastGelu;
    for (size_t i = 0; i < AS_COUNT_OF(defaults); i++)
        if (defaults[i].op == op) {
            alpha = (float)as_node_float(d->spec, "alpha", defaults[i].alpha);
            beta = (float)as_node_float(d->spec, "beta", defaults[i].beta);
        }
    return as_dnn_pieces(op, alpha, beta, pieces);
}

static dnnl_primitive_desc_t describe_function(const struct as_dnn *d,
                                               const struct as_dnn_piece *piece,
                                               const dnnl_memory_desc_t *x)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_eltwise_desc_t desc;

    if (d->lib->api.eltwise_forward_desc_init(&desc, dnnl_forward_inference, piece->alg, x,
                                              piece->alpha, piece->beta) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return pd;
}

int as_dnn_eltwise(struct as_dnn *d)
{
    struct as_dnn_piece pieces[AS_DNN_PIECES];
    struct as_dnn_tensor x;
    struct as_dnn_ref out;
    int n;

    if (!as_dnn_in(d, 0, &x) || x.dtype != AS_DTYPE_F32 || d->step->n_post_ops)
        return 0;
    n = function_of(d, pieces);
    if (n == 0 || !as_dnn_emit(d, describe_function(d, &pieces[0], &x.desc),
                               (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &x.desc},
                                                     {DNNL_ARG_DST, NULL, &x.desc}},
                               2, 0))
        return 0;
    out = d->state->calls[0].args[d->state->calls[0].n_args - 1].at;
    for (int i = 1; i < n; i++)
        if (!as_dnn_function(d, &out, &pieces[i]))
            return 0;
    return 1;
}

/* ---- two tensors ---- */

static bool has_dims(const struct as_dnn_tensor *t, const dnnl_memory_desc_t *y)
{
    return t->desc.ndims == y->ndims &&
           memcmp(t->desc.dims, y->dims, (size_t)y->ndims * sizeof *y->dims) == 0;
}

static dnnl_primitive_desc_t describe_pair(const struct as_dnn *d, const dnnl_memory_desc_t *a,
                                           const dnnl_memory_desc_t *b, uint32_t n_post_ops)
{
    dnnl_primitive_attr_t attr = as_dnn_attr(d->lib);
    dnnl_primitive_desc_t pd = NULL;
    dnnl_binary_desc_t desc;

    if (attr && as_dnn_post_attr(d, a, 0, n_post_ops, attr) &&
        d->lib->api.binary_desc_init(&desc, as_dnn_binary(d->step->op), a, b, a) == dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    if (attr)
        d->lib->api.primitive_attr_destroy(attr);
    return pd;
}

static uint32_t tensors_of_posts(const struct as_step *step)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < step->n_post_ops; i++)
        n += step->post_ops[i].in != AS_NONE;
    return n;
}

int as_dnn_two(struct as_dnn *d)
{
    enum as_op op = d->step->op;
    uint32_t alone = as_dnn_post_ops_alone(d->step);
    struct as_dnn_tensor a, b, y;
    dnnl_memory_desc_t first, second;

    if (!as_dnn_in(d, 0, &a) || !as_dnn_in(d, 1, &b) || !as_dnn_out(d, 0, &y) ||
        a.dtype != AS_DTYPE_F32 || b.dtype != AS_DTYPE_F32 || y.dtype != AS_DTYPE_F32 ||
        d->step->n_in != 2 + tensors_of_posts(d->step))
        return 0;
    /* The first must have the size of the output; its order matters to some only. */
    if (!has_dims(&a, &y.desc) && op != AS_OP_Sub && op != AS_OP_Div) {
        struct as_dnn_tensor swap = a;

        a = b;
        b = swap;
    }
    first = has_dims(&b, &y.desc) && as_dnn_is_plain(&a.desc) ? b.desc : a.desc;
    if (!has_dims(&a, &y.desc) || !as_dnn_second(d, &b, &first, &second) ||
        !as_dnn_post_ops_fit(d, &first, 0))
        return 0;
    return as_dnn_emit(d, describe_pair(d, &first, &second, alone),
                       (struct as_dnn_use[]){{DNNL_ARG_SRC_0, &a, &first},
                                             {DNNL_ARG_SRC_1, &b, &second},
                                             {DNNL_ARG_DST, NULL, &first}},
                       3, alone);
}

int as_dnn_prelu(struct as_dnn *d)
{
    struct as_dnn_tensor x, slope;
    dnnl_memory_desc_t weights;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_prelu_desc_t desc;

    if (!as_dnn_in(d, 0, &x) || !as_dnn_in(d, 1, &slope) || x.dtype != AS_DTYPE_F32 ||
        !as_dnn_second(d, &slope, &x.desc, &weights))
        return 0;
    if (d->lib->api.prelu_forward_desc_init(&desc, dnnl_forward_inference, &x.desc, &weights) ==
        dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    return as_dnn_emit(d, pd,
                       (struct as_dnn_use[]){{DNNL_ARG_SRC, &x, &x.desc},
                                             {DNNL_ARG_WEIGHTS, &slope, &weights},
                                             {DNNL_ARG_DST, NULL, &x.desc}},
                       3, 0);
}

/* ---- Concat ---- */

struct parts {
    struct as_dnn_tensor *t;
    dnnl_memory_desc_t *desc;
    struct as_dnn_ref *ref;
};

/* Worth it only where one of them has its channels last already. */
static bool read_parts(const struct as_dnn *d, const struct parts *p)
{
    bool worth = false;

    for (uint32_t i = 0; i < d->step->n_in; i++) {
        if (!as_dnn_in(d, i, &p->t[i]) || p->t[i].desc.ndims < 3 ||
            p->t[i].dtype != p->t[0].dtype ||
            !as_dnn_channels_last(d->lib, &p->t[i].desc, &p->desc[i]))
            return false;
        if (as_dnn_same(&p->t[i].desc, &p->desc[i]) && !as_dnn_is_plain(&p->t[i].desc))
            worth = true;
    }
    return worth;
}

static bool emit_concat(struct as_dnn *d, const struct parts *p, dnnl_primitive_desc_t pd,
                        const dnnl_memory_desc_t *y)
{
    struct as_dnn_call *call;
    struct as_dnn_ref out;

    for (uint32_t i = 0; i < d->step->n_in; i++)
        if (!as_dnn_source(d, &p->t[i], &p->desc[i], &p->ref[i]))
            return false;
    if (!as_dnn_result(d, y, &out))
        return false;
    call = as_dnn_call(d, pd);
    for (uint32_t i = 0; call && i < d->step->n_in; i++)
        if (!as_dnn_arg(d, call, DNNL_ARG_MULTIPLE_SRC + (int)i, &p->ref[i]))
            return false;
    return call && as_dnn_arg(d, call, DNNL_ARG_DST, &out);
}

int as_dnn_concat(struct as_dnn *d)
{
    uint32_t n = d->step->n_in;
    struct parts p = {0};
    struct as_dnn_tensor y;
    dnnl_memory_desc_t dy;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    int64_t axis = as_node_int(d->spec, "axis", 1);
    bool ok = false;

    if (n < 2 || n > 1024 || d->step->n_post_ops || !as_dnn_out(d, 0, &y))
        return 0;
    axis += axis < 0 ? y.desc.ndims : 0;
    p.t = as_alloc_zero(n, sizeof *p.t);
    p.desc = as_alloc_zero(n, sizeof *p.desc);
    p.ref = as_alloc_zero(n, sizeof *p.ref);
    if (!p.t || !p.desc || !p.ref || axis < 0 || axis >= y.desc.ndims || !read_parts(d, &p) ||
        !as_dnn_channels_last(d->lib, &y.desc, &dy))
        goto out;
    attr = as_dnn_attr(d->lib);
    if (attr && d->lib->api.concat_primitive_desc_create(&pd, &dy, (int)n, (int)axis, p.desc, attr,
                                                         d->lib->engine) == dnnl_success)
        ok = emit_concat(d, &p, pd, &dy);
out:
    if (pd)
        d->lib->api.primitive_desc_destroy(pd);
    if (attr)
        d->lib->api.primitive_attr_destroy(attr);
    as_free(p.ref);
    as_free(p.desc);
    as_free(p.t);
    return ok;
}
