/* engine/onednn/onednn_post_ops.c - what is done to an output before it is stored, inside of the
 * primitive that makes it or by calls of their own; and the functions of one and two tensors. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "engine/onednn/onednn.h"

struct function {
    enum as_op op;
    dnnl_alg_kind_t alg;
    float alpha, beta; /* when the operator has none of its own: NAN takes that of the operator */
};

static const struct function functions[] = {
    {AS_OP_Relu, dnnl_eltwise_relu, 0, 0},
    {AS_OP_LeakyRelu, dnnl_eltwise_relu, NAN, 0},
    {AS_OP_Clip, dnnl_eltwise_clip, NAN, NAN},
    {AS_OP_Sigmoid, dnnl_eltwise_logistic, 0, 0},
    {AS_OP_Tanh, dnnl_eltwise_tanh, 0, 0},
    {AS_OP_Elu, dnnl_eltwise_elu, NAN, 0},
    {AS_OP_Abs, dnnl_eltwise_abs, 0, 0},
    {AS_OP_Sqrt, dnnl_eltwise_sqrt, 0, 0},
    {AS_OP_Softplus, dnnl_eltwise_soft_relu, 0, 0},
    {AS_OP_HardSwish, dnnl_eltwise_hardswish, 0, 0},
    {AS_OP_Mish, dnnl_eltwise_mish, 0, 0},
    {AS_OP_Gelu, dnnl_eltwise_gelu_erf, 0, 0},
    {AS_OP_MS_Gelu, dnnl_eltwise_gelu_erf, 0, 0},
    {AS_OP_MS_FastGelu, dnnl_eltwise_gelu_tanh, 0, 0},
    {AS_OP_MS_QuickGelu, dnnl_eltwise_swish, NAN, 0},
    {AS_OP_Neg, dnnl_eltwise_linear, -1, 0},
};

int as_dnn_pieces(enum as_op op, float alpha, float beta, struct as_dnn_piece *pieces)
{
    if (op == AS_OP_HardSigmoid) {
        pieces[0] = (struct as_dnn_piece){dnnl_eltwise_linear, alpha, beta};
        pieces[1] = (struct as_dnn_piece){dnnl_eltwise_clip, 0, 1};
        return 2;
    }
    for (size_t i = 0; i < AS_COUNT_OF(functions); i++) {
        const struct function *f = &functions[i];

        if (f->op != op)
            continue;
        pieces[0] = (struct as_dnn_piece){f->alg, isnan(f->alpha) ? alpha : f->alpha,
                                          isnan(f->beta) ? beta : f->beta};
        return 1;
    }
    return 0;
}

struct pair {
    enum as_op op;
    dnnl_alg_kind_t alg;
};

static const struct pair pairs[] = {
    {AS_OP_Add, dnnl_binary_add}, {AS_OP_Sub, dnnl_binary_sub}, {AS_OP_Mul, dnnl_binary_mul},
    {AS_OP_Div, dnnl_binary_div}, {AS_OP_Max, dnnl_binary_max}, {AS_OP_Min, dnnl_binary_min},
    {AS_OP_Sum, dnnl_binary_add},
};

dnnl_alg_kind_t as_dnn_binary(enum as_op op)
{
    for (size_t i = 0; i < AS_COUNT_OF(pairs); i++)
        if (pairs[i].op == op)
            return pairs[i].alg;
    return dnnl_alg_kind_undef;
}

/* Dimensions from the right, ones in front. */
static void align_dims(const dnnl_memory_desc_t *t, int ndims, int64_t *dims)
{
    int skip = ndims - t->ndims;

    for (int i = 0; i < ndims; i++)
        dims[i] = i < skip ? 1 : t->dims[i - skip];
}

/* A product of matrices is done on fewer axes than its output has. */
static bool is_like_output(const struct as_dnn *d, const struct as_dnn_tensor *t)
{
    struct as_dnn_tensor y;

    return as_dnn_out(d, 0, &y) && y.desc.ndims == t->desc.ndims &&
           memcmp(y.desc.dims, t->desc.dims, (size_t)y.desc.ndims * sizeof *y.desc.dims) == 0;
}

bool as_dnn_second(const struct as_dnn *d, const struct as_dnn_tensor *t,
                   const dnnl_memory_desc_t *first, dnnl_memory_desc_t *want)
{
    int64_t dims[DNNL_MAX_NDIMS];

    if (t->dtype != AS_DTYPE_F32)
        return false;
    if (as_dnn_is_plain(first) && is_like_output(d, t)) {
        *want = *first;
        want->data_type = dnnl_f32;
        return true;
    }
    if (t->desc.ndims > first->ndims)
        return false;
    align_dims(&t->desc, first->ndims, dims);
    if (memcmp(dims, first->dims, (size_t)first->ndims * sizeof *dims) == 0) {
        /* Another number of axes can only be read as it is when both are plain. */
        if (t->desc.ndims != first->ndims && !as_dnn_is_plain(first))
            return false;
        *want = *first;
        want->data_type = dnnl_f32;
        return true;
    }
    for (int i = 0; i < first->ndims; i++)
        if (dims[i] != 1 && dims[i] != first->dims[i])
            return false;
    return as_dnn_plain(d->lib, t->dtype, first->ndims, dims, want);
}

uint32_t as_dnn_post_ops_alone(const struct as_step *step)
{
    uint32_t n = 0;

    while (n < step->n_post_ops && step->post_ops[n].in == AS_NONE)
        n++;
    return n;
}

static bool post_second(const struct as_dnn *d, const struct as_post_op *post,
                        const dnnl_memory_desc_t *dst, struct as_dnn_tensor *t,
                        dnnl_memory_desc_t *want)
{
    return as_dnn_binary(post->op) != dnnl_alg_kind_undef && as_dnn_in(d, post->in, t) &&
           as_dnn_second(d, t, dst, want);
}

bool as_dnn_post_ops_fit(const struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from)
{
    struct as_dnn_piece pieces[AS_DNN_PIECES];
    struct as_dnn_tensor t;
    dnnl_memory_desc_t want;

    for (uint32_t i = from; i < d->step->n_post_ops; i++) {
        const struct as_post_op *post = &d->step->post_ops[i];

        if (post->in == AS_NONE ? !as_dnn_pieces(post->op, post->alpha, post->beta, pieces)
                                : !post_second(d, post, dst, &t, &want))
            return false;
    }
    return true;
}

static bool append(const struct as_dnn *d, const struct as_post_op *post,
                   const dnnl_memory_desc_t *dst, dnnl_post_ops_t ops)
{
    const struct as_onednn_api *api = &d->lib->api;
    struct as_dnn_piece pieces[AS_DNN_PIECES];
    struct as_dnn_tensor t;
    dnnl_memory_desc_t want;
    int n;

    if (post->in != AS_NONE)
        return post_second(d, post, dst, &t, &want) &&
               api->post_ops_append_binary(ops, as_dnn_binary(post->op), &want) == dnnl_success;
    n = as_dnn_pieces(post->op, post->alpha, post->beta, pieces);
    for (int i = 0; i < n; i++)
        if (api->post_ops_append_eltwise(ops, 1, pieces[i].alg, pieces[i].alpha, pieces[i].beta) !=
            dnnl_success)
            return false;
    return n > 0;
}

bool as_dnn_post_attr(const struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from,
                      uint32_t to, dnnl_primitive_attr_t attr)
{
    const struct as_onednn_api *api = &d->lib->api;
    dnnl_post_ops_t ops = NULL;
    bool ok = api->post_ops_create(&ops) == dnnl_success;

    for (uint32_t i = from; ok && i < to; i++)
        ok = append(d, &d->step->post_ops[i], dst, ops);
    ok = ok && api->primitive_attr_set_post_ops(attr, ops) == dnnl_success;
    if (ops)
        api->post_ops_destroy(ops);
    return ok;
}

bool as_dnn_post_sources(struct as_dnn *d, const dnnl_memory_desc_t *dst, uint32_t from,
                         uint32_t to, struct as_dnn_ref *refs)
{
    struct as_dnn_tensor t;
    dnnl_memory_desc_t want;

    for (uint32_t i = from; i < to; i++) {
        const struct as_post_op *post = &d->step->post_ops[i];

        if (post->in == AS_NONE)
            continue;
        if (!post_second(d, post, dst, &t, &want) || !as_dnn_source(d, &t, &want, &refs[i]))
            return false;
    }
    return true;
}

bool as_dnn_post_args(struct as_dnn *d, struct as_dnn_call *call, uint32_t from, uint32_t to,
                      const struct as_dnn_ref *refs)
{
    struct as_dnn_piece pieces[AS_DNN_PIECES];
    int number = 0;

    for (uint32_t i = from; i < to; i++) {
        const struct as_post_op *post = &d->step->post_ops[i];

        if (post->in == AS_NONE) {
            number += as_dnn_pieces(post->op, post->alpha, post->beta, pieces);
            continue;
        }
        if (!as_dnn_arg(d, call, DNNL_ARG_ATTR_MULTIPLE_POST_OP(number) | DNNL_ARG_SRC_1, &refs[i]))
            return false;
        number++;
    }
    return true;
}

bool as_dnn_function(struct as_dnn *d, const struct as_dnn_ref *dst,
                     const struct as_dnn_piece *piece)
{
    dnnl_eltwise_desc_t desc;
    dnnl_primitive_desc_t pd = NULL;
    struct as_dnn_call *call = NULL;

    if (d->lib->api.eltwise_forward_desc_init(&desc, dnnl_forward_inference, piece->alg, &dst->desc,
                                              piece->alpha, piece->beta) == dnnl_success)
        pd = as_dnn_find(d->lib, &desc);
    if (pd) {
        call = as_dnn_call(d, pd);
        d->lib->api.primitive_desc_destroy(pd);
    }
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC, dst) && as_dnn_arg(d, call, DNNL_ARG_DST, dst);
}

/* Post `at` with the functions that follow it. */
static bool call_pair(struct as_dnn *d, const struct as_dnn_ref *dst, uint32_t at, uint32_t to)
{
    const struct as_post_op *post = &d->step->post_ops[at];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_binary_desc_t desc;
    struct as_dnn_call *call = NULL;
    struct as_dnn_ref second;
    struct as_dnn_tensor t;
    dnnl_memory_desc_t want;

    if (!post_second(d, post, &dst->desc, &t, &want) || !as_dnn_source(d, &t, &want, &second))
        return false;
    attr = as_dnn_attr(d->lib);
    if (attr && as_dnn_post_attr(d, &dst->desc, at + 1, to, attr) &&
        d->lib->api.binary_desc_init(&desc, as_dnn_binary(post->op), &dst->desc, &want,
                                     &dst->desc) == dnnl_success)
        pd = as_dnn_choose(d->lib, &desc, attr, 0);
    if (pd) {
        call = as_dnn_call(d, pd);
        d->lib->api.primitive_desc_destroy(pd);
    }
    if (attr)
        d->lib->api.primitive_attr_destroy(attr);
    return call && as_dnn_arg(d, call, DNNL_ARG_SRC_0, dst) &&
           as_dnn_arg(d, call, DNNL_ARG_SRC_1, &second) && as_dnn_arg(d, call, DNNL_ARG_DST, dst);
}

bool as_dnn_post_calls(struct as_dnn *d, const struct as_dnn_ref *dst, uint32_t from)
{
    struct as_dnn_piece pieces[AS_DNN_PIECES];

    for (uint32_t i = from, to; i < d->step->n_post_ops; i = to) {
        const struct as_post_op *post = &d->step->post_ops[i];

        to = i + 1;
        if (post->in == AS_NONE) {
            int n = as_dnn_pieces(post->op, post->alpha, post->beta, pieces);

            for (int j = 0; j < n; j++)
                if (!as_dnn_function(d, dst, &pieces[j]))
                    return false;
            continue;
        }
        while (to < d->step->n_post_ops && d->step->post_ops[to].in == AS_NONE)
            to++;
        if (!call_pair(d, dst, i, to))
            return false;
    }
    return true;
}

/* The sources come first: they may need calls of their own. */
static bool find_places(struct as_dnn *d, const struct as_dnn_use *uses, int n,
                        struct as_dnn_ref *refs, struct as_dnn_ref *out)
{
    for (int i = 0; i < n; i++) {
        if (uses[i].t ? !as_dnn_source(d, uses[i].t, uses[i].desc, &refs[i])
                      : !as_dnn_result(d, uses[i].desc, &refs[i]))
            return false;
        if (!uses[i].t)
            *out = refs[i];
    }
    return true;
}

bool as_dnn_emit(struct as_dnn *d, dnnl_primitive_desc_t pd, const struct as_dnn_use *uses, int n,
                 uint32_t post)
{
    struct as_dnn_ref refs[AS_DNN_MAX_USES], out = {0};
    struct as_dnn_call *call = NULL;
    bool ok = pd != NULL && n <= AS_DNN_MAX_USES;

    for (int i = 0; i < n; i++)
        if (!uses[i].t)
            ok = ok && as_dnn_post_ops_fit(d, uses[i].desc, 0);
    ok = ok && find_places(d, uses, n, refs, &out);
    if (ok)
        call = as_dnn_call(d, pd);
    ok = call != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = as_dnn_arg(d, call, uses[i].arg, &refs[i]);
    if (pd)
        d->lib->api.primitive_desc_destroy(pd);
    return ok && as_dnn_post_calls(d, &out, post);
}
