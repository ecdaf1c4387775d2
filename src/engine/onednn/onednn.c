/* engine/onednn/onednn.c - the provider of kernels by oneDNN: which operators it takes, and what
 * the engine calls. Steps whose shapes are known only while running are made ready then, and kept.
 */
#include "engine/onednn/onednn.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "engine/step_threads.h"

/* 1: taken, 0: not; failures are in d->rc. */
typedef int (*take_fn)(struct as_dnn *d);

struct take {
    enum as_op op;
    take_fn take;
    bool now; /* worth making ready while running */
};

static const struct take takes[] = {
    {AS_OP_Conv, as_dnn_conv, true},
    {AS_OP_ConvTranspose, as_dnn_conv_transpose, true},
    {AS_OP_MatMul, as_dnn_matmul, true},
    {AS_OP_MS_FusedMatMul, as_dnn_matmul, true},
    {AS_OP_Gemm, as_dnn_gemm, true},
    {AS_OP_MaxPool, as_dnn_pool, false},
    {AS_OP_AveragePool, as_dnn_pool, false},
    {AS_OP_GlobalAveragePool, as_dnn_global_pool, false},
    {AS_OP_GlobalMaxPool, as_dnn_global_pool, false},
    {AS_OP_ReduceMean, as_dnn_reduce_mean, false},
    {AS_OP_Relu, as_dnn_eltwise, false},
    {AS_OP_LeakyRelu, as_dnn_eltwise, false},
    {AS_OP_Clip, as_dnn_eltwise, false},
    {AS_OP_Sigmoid, as_dnn_eltwise, false},
    {AS_OP_Tanh, as_dnn_eltwise, false},
    {AS_OP_Elu, as_dnn_eltwise, false},
    {AS_OP_Abs, as_dnn_eltwise, false},
    {AS_OP_Sqrt, as_dnn_eltwise, false},
    {AS_OP_Neg, as_dnn_eltwise, false},
    {AS_OP_Softplus, as_dnn_eltwise, false},
    {AS_OP_HardSwish, as_dnn_eltwise, false},
    {AS_OP_HardSigmoid, as_dnn_eltwise, false},
    {AS_OP_Mish, as_dnn_eltwise, false},
    {AS_OP_Gelu, as_dnn_eltwise, false},
    {AS_OP_MS_Gelu, as_dnn_eltwise, false},
    {AS_OP_MS_FastGelu, as_dnn_eltwise, false},
    {AS_OP_MS_QuickGelu, as_dnn_eltwise, false},
    {AS_OP_Add, as_dnn_two, false},
    {AS_OP_Sub, as_dnn_two, false},
    {AS_OP_Mul, as_dnn_two, false},
    {AS_OP_Div, as_dnn_two, false},
    {AS_OP_Max, as_dnn_two, false},
    {AS_OP_Min, as_dnn_two, false},
    {AS_OP_Sum, as_dnn_two, false},
    {AS_OP_PRelu, as_dnn_prelu, false},
    {AS_OP_Softmax, as_dnn_softmax, false},
    {AS_OP_LogSoftmax, as_dnn_softmax, false},
    {AS_OP_LayerNormalization, as_dnn_layer_norm, false},
    {AS_OP_BatchNormalization, as_dnn_batch_norm, false},
    {AS_OP_LRN, as_dnn_lrn, false},
    {AS_OP_Concat, as_dnn_concat, false},
    {AS_OP_Resize, as_dnn_resize, false},
    {AS_OP_Upsample, as_dnn_resize, false},
    {AS_OP_QuantizeLinear, as_dnn_quantize, false},
    {AS_OP_DequantizeLinear, as_dnn_quantize, false},
    {AS_OP_MS_QuantizeLinear, as_dnn_quantize, false},
    {AS_OP_MS_DequantizeLinear, as_dnn_quantize, false},
    {AS_OP_MS_QLinearAdd, as_dnn_qlinear_add, false},
    {AS_OP_QLinearConv, as_dnn_int_conv, false},
    {AS_OP_ConvInteger, as_dnn_int_conv, true},
    {AS_OP_QLinearMatMul, as_dnn_int_matmul, false},
    {AS_OP_MatMulInteger, as_dnn_int_matmul, true},
    {AS_OP_MS_QGemm, as_dnn_int_matmul, false},
};

static const struct take *find_take(enum as_op op)
{
    for (size_t i = 0; i < AS_COUNT_OF(takes); i++)
        if (takes[i].op == op)
            return &takes[i];
    return NULL;
}

/* ---- making ready ---- */

static int begin_step(struct as_dnn *d)
{
    size_t n = (size_t)d->step->n_in + 1;

    d->lib = d->p->library;
    d->spec = d->step->spec ? d->step->spec : d->step->node;
    d->in = as_alloc_zero(n, sizeof *d->in);
    d->packed = as_alloc_zero(n, sizeof *d->packed);
    d->state = as_dnn_state_new(d->lib, &d->p->mem);
    if (!d->in || !d->packed || !d->state)
        return as_fail_nomem(d->err);
    if (d->step->n_in)
        memcpy(d->in, d->step->in, d->step->n_in * sizeof *d->in);
    return ASSAY_OK;
}

static void end_step(struct as_dnn *d)
{
    as_dnn_state_free(d->state);
    as_free(d->packed);
    as_free(d->in);
}

/* Constants that are read as they are must be there; those that were packed need not. */
static int settle_constants(struct as_dnn *d)
{
    for (uint32_t i = 0; i < d->step->n_in; i++) {
        if (d->in[i] == AS_NONE || !as_slot_is_const(d->p, d->in[i]))
            continue;
        if (d->packed[i])
            as_exec_plan_constant_done(d->p, d->in[i]);
        else if (!as_exec_plan_constant(d->p, d->in[i], d->err))
            return ASSAY_ERR_NOMEM;
    }
    return ASSAY_OK;
}

static int commit(struct as_dnn *d)
{
    struct as_step *step = d->step;
    int rc = as_dnn_pack_all(d) ? settle_constants(d) : d->rc;

    if (rc < 0)
        return rc;
    if (step->n_in)
        memcpy(step->in, d->in, step->n_in * sizeof *step->in);
    d->p->slots[step->out[0]].layout = d->out_layout;
    d->p->slots[step->out[0]].bytes = d->out_bytes;
    if (d->state->work_bytes > d->p->workspace_bytes)
        d->p->workspace_bytes = d->state->work_bytes;
    step->state = d->state;
    step->impl = d->state->impl;
    d->state = NULL;
    return 1;
}

static int prepare(struct as_exec_plan *p, struct as_plan *plan, struct as_step *step,
                   struct assay_error *err)
{
    const struct take *take = find_take(step->op);
    struct as_dnn d = {.p = p, .plan = plan, .step = step, .err = err};
    int rc;

    if (!take || step->n_out < 1 || step->out[0] == AS_NONE)
        return 0;
    as_onednn_threads(p, step->threads);
    rc = begin_step(&d);
    if (rc == ASSAY_OK)
        rc = take->take(&d);
    if (d.rc < 0)
        rc = d.rc;
    if (rc == 1)
        rc = commit(&d);
    end_step(&d);
    return rc;
}

static int prepare_reorder(struct as_exec_plan *p, struct as_step *step, struct assay_error *err)
{
    struct as_dnn d = {.p = p, .step = step, .err = err};
    struct as_dnn_tensor from, to;
    struct as_dnn_ref source = {.place = AS_DNN_IN}, target = {.place = AS_DNN_OUT};
    unsigned before = ((struct as_onednn *)p->library)->threads; /* of the step that needs it */
    int rc;

    as_onednn_threads(p, step->threads);
    rc = begin_step(&d);
    if (rc == ASSAY_OK && (!as_dnn_in(&d, 0, &from) || !as_dnn_out(&d, 0, &to)))
        rc = as_fail(err, ASSAY_ERR_UNSUPPORTED, "a tensor cannot be laid out in another way");
    if (rc == ASSAY_OK) {
        source.desc = from.desc;
        target.desc = to.desc;
        (void)as_dnn_copy(&d, &source, &target);
        rc = d.rc;
    }
    if (rc == ASSAY_OK) {
        d.out_layout = p->slots[step->out[0]].layout;
        d.out_bytes = p->slots[step->out[0]].bytes;
        rc = commit(&d);
    }
    end_step(&d);
    as_onednn_threads(p, before);
    return rc < 0 ? rc : ASSAY_OK;
}

/* ---- running ---- */

enum { FEW_TENSORS = 16 };

struct pointers {
    void *few[FEW_TENSORS];
    void **all;
};

static void **pointers_for(struct pointers *p, uint32_t n)
{
    p->all = n > FEW_TENSORS ? as_alloc_zero(n, sizeof *p->all) : p->few;
    return p->all;
}

static void pointers_drop(struct pointers *p)
{
    if (p->all != p->few)
        as_free(p->all);
}

/* Of constants that were packed nobody asks for the data. */
static int run_state(struct as_dnn_state *state, const struct as_step *step, void *work,
                     struct assay_error *err)
{
    struct pointers in, out;
    struct as_dnn_data data = {.work = work};
    int rc = ASSAY_OK;

    data.in = pointers_for(&in, step->n_in);
    data.out = pointers_for(&out, step->n_out);
    if (!in.all || !out.all)
        rc = as_fail_nomem(err);
    for (uint32_t i = 0; rc == ASSAY_OK && i < step->n_in; i++)
        in.all[i] = step->ins[i] ? step->ins[i]->data : NULL;
    for (uint32_t i = 0; rc == ASSAY_OK && i < step->n_out; i++)
        out.all[i] = step->outs[i] ? step->outs[i]->data : NULL;
    if (rc == ASSAY_OK)
        rc = as_dnn_run(state, &data, err);
    pointers_drop(&out);
    pointers_drop(&in);
    return rc;
}

static int run(struct as_exec_plan *p, const struct as_step *step, struct assay_error *err)
{
    as_onednn_threads(p, step->threads);
    return run_state(step->state, step, p->workspace, err);
}

static void begin(struct as_exec_plan *p)
{
    struct as_onednn *lib = p->library;

    lib->threads = 0; /* whoever ran before set what it needed */
    as_onednn_threads(p, 0);
}

/* The number of threads belongs to the calling thread, whose program may use OpenMP too. */
static void end(struct as_exec_plan *p)
{
    as_onednn_threads(p, 0);
}

static void drop(void *state)
{
    struct as_dnn_state *s = state, *next;

    for (; s; s = next) {
        next = s->next;
        as_dnn_state_free(s);
    }
}

/* ---- shapes that are known only now ---- */

enum { MAX_KEPT_SHAPES = 8 };

/* All dimensions of the inputs, as a key. */
static void shapes_of(const struct as_kernel_ctx *k, struct as_dnn_shapes *key)
{
    *key = (struct as_dnn_shapes){0};
    for (size_t i = 0; i < k->n_in && i < AS_DNN_KEY_INPUTS; i++) {
        const struct as_val *val = k->in[i];

        if (!val || val->kind != AS_VALUE_TENSOR || val->rank > AS_DNN_KEY_RANK)
            continue;
        key->rank[i] = (int8_t)(val->rank + 1);
        key->dtype[i] = val->dtype;
        memcpy(key->dims[i], val->dims, (size_t)val->rank * sizeof *val->dims);
    }
}

/* Making a kernel takes longer than a small product in plain C: those wait until the same shapes
 * come a second time, which in a sequence that grows they never do. */
#define LARGE_WORK 50000000

static bool is_large(const struct as_kernel_ctx *k)
{
    const struct as_val *w = k->n_in > 1 ? k->in[1] : NULL;
    const struct as_val *y = k->n_out > 0 ? k->out[0] : NULL;
    bool conv = k->node->op == AS_OP_Conv || k->node->op == AS_OP_ConvInteger;
    int64_t filters;

    if (!w || !y || w->rank < 1)
        return false;
    filters = conv ? w->dims[0] : w->dims[w->rank - 1];
    return filters > 0 && (double)y->n * (double)w->n / (double)filters > LARGE_WORK;
}

/* The state for these shapes; states that refuse are kept too, with no calls. */
static struct as_dnn_state *find_state(struct as_step *step, const struct as_dnn_shapes *key,
                                       int *n)
{
    *n = 0;
    for (struct as_dnn_state *s = step->state; s; s = s->next, ++*n)
        if (memcmp(&s->shapes, key, sizeof *key) == 0)
            return s;
    return NULL;
}

static int make_now(struct as_exec_plan *p, struct as_step *step, struct as_kernel_ctx *k,
                    const struct take *take, struct as_dnn_state **made)
{
    struct as_dnn d = {.p = p, .step = step, .k = k, .err = k->err};
    unsigned threads = as_step_threads_now(p, step, true);
    int rc;

    as_onednn_threads(p, threads);
    rc = begin_step(&d);
    if (rc == ASSAY_OK) {
        d.state->threads = threads;
        rc = take->take(&d);
    }
    if (rc == 1 && d.rc == ASSAY_OK &&
        ((d.out.desc.ndims && !as_dnn_copy(&d, &d.out, &d.out_plain)) || !as_dnn_pack_all(&d)))
        rc = 0;
    if (d.rc < 0)
        rc = d.rc;
    if (rc == 1) {
        *made = d.state;
        d.state = NULL;
    }
    end_step(&d);
    return rc;
}

/* Puts a state for these shapes in front; a new one is empty. */
static int add_state(struct as_exec_plan *p, struct as_step *step, const struct as_dnn_shapes *key,
                     int n, struct as_kernel_ctx *k)
{
    struct as_dnn_state *state = as_dnn_state_new(p->library, &p->mem);

    if (!state)
        return as_fail_nomem(k->err);
    if (n >= MAX_KEPT_SHAPES) {
        drop(step->state);
        step->state = NULL;
    }
    state->shapes = *key;
    state->next = step->state;
    step->state = state;
    return ASSAY_OK;
}

/* The empty state is replaced by what was made, or stays and is not tried again. */
static int fill_state(struct as_exec_plan *p, struct as_step *step, struct as_dnn_state *empty,
                      struct as_kernel_ctx *k, const struct take *take)
{
    struct as_dnn_state *made = NULL;
    int rc = make_now(p, step, k, take, &made);

    empty->tried = true;
    if (made) {
        struct as_dnn_state old = *empty;

        *empty = *made;
        empty->next = old.next;
        empty->shapes = old.shapes;
        empty->tried = true;
        as_free(made);
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int run_now(struct as_exec_plan *p, struct as_step *step, struct as_kernel_ctx *k)
{
    const struct take *take = find_take(step->op);
    struct as_dnn_shapes key;
    struct as_dnn_state *state;
    void *work = NULL;
    int n, rc;

    if (!take || !take->now || step->n_post_ops || step->n_in > AS_DNN_KEY_INPUTS ||
        step->n_out < 1 || !step->outs[0])
        return 0;
    for (size_t i = 0; i < k->n_in; i++)
        if (k->in[i] && k->in[i]->rank > AS_DNN_KEY_RANK)
            return 0;
    shapes_of(k, &key);
    state = find_state(step, &key, &n);
    if (!state) {
        rc = add_state(p, step, &key, n, k);
        if (rc < 0 || !is_large(k))
            return rc;
        state = step->state;
    }
    if (!state->tried) {
        rc = fill_state(p, step, state, k, take);
        if (rc < 0)
            return rc;
    }
    if (state->n_calls == 0)
        return 0;
    if (state->work_bytes) {
        work = as_kernel_work(k, 1, state->work_bytes);
        if (!work)
            return ASSAY_ERR_NOMEM;
    }
    step->impl = state->impl;
    step->threads = state->threads;
    as_onednn_threads(p, state->threads);
    rc = run_state(state, step, work, k->err);
    return rc < 0 ? rc : 1;
}

const struct as_provider as_provider_onednn = {
    .name = "oneDNN",
    .open = as_onednn_open,
    .close = as_onednn_close,
    .begin = begin,
    .end = end,
    .hand_over = as_onednn_hand_over,
    .prepare = prepare,
    .prepare_reorder = prepare_reorder,
    .same = as_dnn_same_layout,
    .run = run,
    .run_now = run_now,
    .drop = drop,
};
