/* engine/passes/fuse_activation.c - activations that exporters spell out as products become one
 * step. model/patterns finds them. */
#include "engine/passes/passes.h"

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    struct as_pattern_graph g = as_pass_pattern_graph(o);
    struct as_activation_pattern found;
    struct as_pattern_match pattern;
    struct as_pattern_op last;
    struct as_pass_match m;
    int rc;

    if ((step->op != AS_OP_Mul && step->op != AS_OP_Div) || !as_pass_is_float(o, step->out[0]) ||
        !as_pass_pattern_op(step, &last))
        return ASSAY_OK;
    if (!as_pattern_activation(&g, &last, &pattern, &found) || !o->p->kernels[found.op])
        return ASSAY_OK;
    m = as_pass_pattern_parts(&pattern);
    rc = as_pass_take(o, step, &m);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, &found.x, 1);
    if (rc == ASSAY_OK)
        rc = as_pass_become(o, step, found.op, found.opset, found.attrs, found.n_attrs);
    return rc;
}

const struct as_pass as_pass_activation = {.visit = visit};
