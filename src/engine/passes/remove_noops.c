/* engine/passes/remove_noops.c - steps that change nothing go: readers read what they read.
 * A table says for each operator how to see it; outputs of graphs keep their step. */
#include "base/units.h"
#include "engine/passes/passes.h"

static bool always(const struct as_pass_graph *o, const struct as_step *step)
{
    (void)o, (void)step;
    return true;
}

static bool is_alone(const struct as_pass_graph *o, const struct as_step *step)
{
    (void)o;
    return step->n_in == 1;
}

/* With one known shape before and after, the operators it is asked of have nothing to do. */
static bool keeps_type(const struct as_pass_graph *o, const struct as_step *step)
{
    return as_pass_same_type(o, step->in[0], step->out[0]);
}

static bool is_inference(const struct as_pass_graph *o, const struct as_step *step)
{
    double training = 0;

    return as_pass_in(step, 2) == AS_NONE ||
           (as_pass_scalar(o, step->in[2], &training) && training == 0);
}

static bool keeps_dtype(const struct as_pass_graph *o, const struct as_step *step)
{
    const struct as_type *in = &o->p->slots[step->in[0]].type;
    const struct as_type *out = &o->p->slots[step->out[0]].type;

    return in->kind == AS_VALUE_TENSOR && out->kind == AS_VALUE_TENSOR && in->dtype == out->dtype &&
           in->dtype != AS_DTYPE_UNKNOWN;
}

static bool keeps_order(const struct as_pass_graph *o, const struct as_step *step)
{
    struct as_ints perm;

    (void)o;
    if (!as_node_ints(step->spec, "perm", &perm))
        return false;
    for (size_t i = 0; i < perm.n; i++)
        if (perm.at[i] != (int64_t)i)
            return false;
    return true;
}

static bool pads_nothing(const struct as_pass_graph *o, const struct as_step *step)
{
    struct as_dims list = {0};
    struct as_ints given;

    if (as_pass_in(step, 1) != AS_NONE) {
        if (!as_pass_list(o, step->in[1], &list))
            return false;
        given = (struct as_ints){(size_t)list.rank, list.at};
    } else if (!as_node_ints(step->spec, "pads", &given)) {
        return false;
    }
    for (size_t i = 0; i < given.n; i++)
        if (given.at[i] != 0)
            return false;
    return keeps_type(o, step);
}

/* The whole of it, forwards. */
static bool cuts_nothing(const struct as_pass_graph *o, const struct as_step *step)
{
    struct as_dims steps;

    if (!keeps_type(o, step))
        return false;
    if (as_pass_in(step, 4) == AS_NONE)
        return true;
    if (!as_pass_list(o, step->in[4], &steps))
        return false;
    for (int i = 0; i < steps.rank; i++)
        if (steps.at[i] < 1)
            return false;
    return true;
}

static bool is_neutral(const struct as_pass_graph *o, const struct as_step *step, double neutral)
{
    double x;

    return as_pass_is_float(o, step->in[0]) && as_pass_scalar(o, as_pass_in(step, 1), &x) &&
           x == neutral && keeps_type(o, step);
}

static bool by_one(const struct as_pass_graph *o, const struct as_step *step)
{
    return is_neutral(o, step, 1);
}

static bool by_zero(const struct as_pass_graph *o, const struct as_step *step)
{
    return is_neutral(o, step, 0);
}

static const struct {
    enum as_op op;
    bool (*is_idle)(const struct as_pass_graph *o, const struct as_step *step);
} idle[] = {
    {AS_OP_Identity, always},
    {AS_OP_Dropout, is_inference},
    {AS_OP_Cast, keeps_dtype},
    {AS_OP_CastLike, keeps_dtype},
    {AS_OP_Transpose, keeps_order},
    {AS_OP_Slice, cuts_nothing},
    {AS_OP_Pad, pads_nothing},
    {AS_OP_Expand, keeps_type},
    {AS_OP_Tile, keeps_type},
    {AS_OP_Reshape, keeps_type},
    {AS_OP_Flatten, keeps_type},
    {AS_OP_Concat, is_alone},
    {AS_OP_Sum, is_alone},
    {AS_OP_Max, is_alone},
    {AS_OP_Min, is_alone},
    {AS_OP_Mean, is_alone},
    {AS_OP_Mul, by_one},
    {AS_OP_Div, by_one},
    {AS_OP_Pow, by_one},
    {AS_OP_Add, by_zero},
    {AS_OP_Sub, by_zero},
};

static bool is_view(enum as_op op)
{
    return op == AS_OP_Reshape || op == AS_OP_Flatten || op == AS_OP_Squeeze ||
           op == AS_OP_Unsqueeze;
}

/* A Reshape to numbers that do not speak of the shape before may read what that was made from. */
static int join_reshapes(struct as_pass_graph *o, struct as_step *step)
{
    struct as_step *before = as_pass_maker(o, step->in[0]);
    struct as_dims shape;
    int rc = ASSAY_OK;

    if (!before || !is_view(before->op) || before->n_post_ops || as_pass_in(before, 0) == AS_NONE)
        return ASSAY_OK;
    if (!as_pass_list(o, as_pass_in(step, 1), &shape))
        return ASSAY_OK;
    for (int i = 0; i < shape.rank; i++)
        if (shape.at[i] == 0)
            return ASSAY_OK;
    if (as_pass_inner(o, step->in[0]) == before)
        rc = as_pass_sources(o, step, before);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, (uint32_t[]){before->in[0], step->in[1]}, 2);
    return rc;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    if (!step->n_in || !step->n_out || step->in[0] == AS_NONE || step->out[0] == AS_NONE)
        return ASSAY_OK;
    for (size_t i = 0; i < AS_COUNT_OF(idle); i++) {
        if (idle[i].op == step->op && !step->n_post_ops && idle[i].is_idle(o, step)) {
            as_pass_bypass(o, step);
            return ASSAY_OK;
        }
    }
    return step->op == AS_OP_Reshape ? join_reshapes(o, step) : ASSAY_OK;
}

const struct as_pass as_pass_noops = {.visit = visit};
