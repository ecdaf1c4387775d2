/* engine/passes/fuse_post_ops.c - activations, and a second tensor of the same shape, are done by
 * the step before as its post-ops. Products of two activations stay as they are: attention is to be
 * seen. */
#include <float.h>
#include <math.h>

#include "base/units.h"
#include "engine/passes/passes.h"

static void make_plain(const struct as_pass_graph *o, const struct as_step *step,
                       struct as_post_op *post)
{
    (void)o, (void)step, (void)post;
}

static void make_leaky(const struct as_pass_graph *o, const struct as_step *step,
                       struct as_post_op *post)
{
    (void)o;
    post->alpha = (float)as_node_float(step->spec, "alpha", 0.01);
}

static void make_elu(const struct as_pass_graph *o, const struct as_step *step,
                     struct as_post_op *post)
{
    (void)o;
    post->alpha = (float)as_node_float(step->spec, "alpha", 1);
}

static void make_hard_sigmoid(const struct as_pass_graph *o, const struct as_step *step,
                              struct as_post_op *post)
{
    (void)o;
    post->alpha = (float)as_node_float(step->spec, "alpha", 0.2);
    post->beta = (float)as_node_float(step->spec, "beta", 0.5);
}

static void make_quick_gelu(const struct as_pass_graph *o, const struct as_step *step,
                            struct as_post_op *post)
{
    (void)o;
    post->alpha = (float)as_node_float(step->spec, "alpha", 1.702);
}

static void make_gelu(const struct as_pass_graph *o, const struct as_step *step,
                      struct as_post_op *post)
{
    (void)o;
    post->op = as_node_text_is(step->spec, "approximate", "tanh") ? AS_OP_MS_FastGelu : AS_OP_Gelu;
}

/* Only one argument: FastGelu may have a bias. */
static void make_fast_gelu(const struct as_pass_graph *o, const struct as_step *step,
                           struct as_post_op *post)
{
    (void)o;
    if (step->n_in != 1)
        post->op = AS_OP_UNKNOWN;
}

static void make_clip(const struct as_pass_graph *o, const struct as_step *step,
                      struct as_post_op *post)
{
    double low, high;

    if (!as_pass_clip_bounds(o, step, &low, &high) || low > high) {
        post->op = AS_OP_UNKNOWN;
        return;
    }
    post->alpha = (float)fmax(low, -(double)FLT_MAX);
    post->beta = (float)fmin(high, (double)FLT_MAX);
}

/* A slope that is one number makes a LeakyRelu of it. */
static void make_prelu(const struct as_pass_graph *o, const struct as_step *step,
                       struct as_post_op *post)
{
    double slope = 0;

    post->op = as_pass_scalar(o, as_pass_in(step, 1), &slope) ? AS_OP_LeakyRelu : AS_OP_UNKNOWN;
    post->alpha = (float)slope;
}

static const struct activation {
    enum as_op op;
    void (*make)(const struct as_pass_graph *o, const struct as_step *step,
                 struct as_post_op *post);
} activations[] = {
    {AS_OP_Relu, make_plain},
    {AS_OP_Sigmoid, make_plain},
    {AS_OP_Tanh, make_plain},
    {AS_OP_HardSwish, make_plain},
    {AS_OP_Mish, make_plain},
    {AS_OP_LeakyRelu, make_leaky},
    {AS_OP_Elu, make_elu},
    {AS_OP_HardSigmoid, make_hard_sigmoid},
    {AS_OP_Clip, make_clip},
    {AS_OP_PRelu, make_prelu},
    {AS_OP_Gelu, make_gelu},
    {AS_OP_MS_FastGelu, make_fast_gelu},
    {AS_OP_MS_QuickGelu, make_quick_gelu},
};

/* Steps that may have post-ops: products any, elementwise ones activations alone. */
static const struct taker {
    enum as_op op;
    bool is_product;
} takers[] = {
    {AS_OP_Conv, true}, {AS_OP_ConvTranspose, true}, {AS_OP_Gemm, true}, {AS_OP_MatMul, true},
    {AS_OP_Add, false}, {AS_OP_Sub, false},          {AS_OP_Mul, false},
};

static bool takes(const struct as_pass_graph *o, const struct as_step *step, bool second)
{
    if (step->n_post_ops == AS_MAX_POST_OPS)
        return false;
    if (step->op == AS_OP_MatMul && !as_slot_is_const(o->p, as_pass_in(step, 0)) &&
        !as_slot_is_const(o->p, as_pass_in(step, 1)))
        return false;
    for (size_t i = 0; i < AS_COUNT_OF(takers); i++)
        if (takers[i].op == step->op)
            return takers[i].is_product || (!second && step->n_post_ops == 0);
    return false;
}

/* The step that makes `x`, when it can do more to it. */
static struct as_step *find_taker(const struct as_pass_graph *o, uint32_t x, bool second)
{
    struct as_step *step = as_pass_inner(o, x);

    return step && takes(o, step, second) && as_pass_is_float(o, x) ? step : NULL;
}

/* Through a view the product stays where it is, and the view makes what the activation made. */
static int join_through_view(struct as_pass_graph *o, struct as_step *step,
                             const struct as_post_op *post)
{
    struct as_step *view = as_pass_inner(o, step->in[0]);
    struct as_step *taker =
        view && view->kind == AS_STEP_VIEW ? find_taker(o, view->in[0], false) : NULL;
    int rc;

    if (!taker)
        return ASSAY_OK;
    taker->post_ops[taker->n_post_ops++] = *post;
    rc = as_pass_append(o, taker, step);
    return rc < 0 ? rc : as_pass_absorb(o, view, step);
}

static int join_activation(struct as_pass_graph *o, struct as_step *step,
                           const struct activation *found)
{
    struct as_post_op post = {.op = found->op, .in = AS_NONE};
    struct as_step *taker = find_taker(o, step->in[0], false);
    int rc;

    if (step->n_post_ops)
        return ASSAY_OK;
    found->make(o, step, &post);
    if (post.op == AS_OP_UNKNOWN || !as_pass_same_type(o, step->in[0], step->out[0]))
        return ASSAY_OK;
    if (!taker)
        return join_through_view(o, step, &post);
    rc = as_pass_absorb(o, taker, step);
    if (rc == ASSAY_OK)
        step->post_ops[step->n_post_ops++] = post;
    return rc;
}

/* The second tensor comes after the operator's own inputs, of which a product has three. */
static int join_second(struct as_pass_graph *o, struct as_step *taker, struct as_step *step,
                       uint32_t other)
{
    uint32_t in[3 + AS_MAX_POST_OPS], n = 0, op = (uint32_t)step->op;
    int rc;

    if (taker->n_in > 2 + AS_MAX_POST_OPS)
        return ASSAY_OK;
    for (; n < taker->n_in || n < 3; n++)
        in[n] = as_pass_in(taker, n);
    in[n] = other;
    rc = as_pass_absorb(o, taker, step);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, in, n + 1);
    if (rc == ASSAY_OK)
        step->post_ops[step->n_post_ops++] =
            (struct as_post_op){.op = op == AS_OP_Sum ? AS_OP_Add : (enum as_op)op, .in = n};
    return rc;
}

static int join_binary(struct as_pass_graph *o, struct as_step *step)
{
    struct as_step *best = NULL;
    uint32_t other = AS_NONE;

    if (step->n_in != 2 || step->n_post_ops || step->in[0] == AS_NONE || step->in[1] == AS_NONE ||
        !as_pass_same_type(o, step->in[0], step->in[1]) ||
        !as_pass_same_type(o, step->in[0], step->out[0]))
        return ASSAY_OK;
    for (uint32_t i = 0; i < (step->op == AS_OP_Sub ? 1u : 2u); i++) {
        struct as_step *taker = find_taker(o, step->in[i], true);

        if (taker && (!best || taker > best)) { /* the later: the other is there by then */
            best = taker;
            other = step->in[1 - i];
        }
    }
    return best ? join_second(o, best, step, other) : ASSAY_OK;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    if (!step->n_in || step->in[0] == AS_NONE || !step->n_out)
        return ASSAY_OK;
    for (size_t i = 0; i < AS_COUNT_OF(activations); i++)
        if (activations[i].op == step->op)
            return join_activation(o, step, &activations[i]);
    if (step->op == AS_OP_Add || step->op == AS_OP_Mul || step->op == AS_OP_Sub ||
        step->op == AS_OP_Sum)
        return join_binary(o, step);
    return ASSAY_OK;
}

const struct as_pass as_pass_post_ops = {.visit = visit};
