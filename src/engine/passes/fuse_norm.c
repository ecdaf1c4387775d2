/* engine/passes/fuse_norm.c - normalizations along the last axis that exporters spell out become
 * one step. model/patterns finds them; scale and shift join what was found so far. */
#include "engine/passes/passes.h"

static int become_norm(struct as_pass_graph *o, struct as_step *step,
                       const struct as_pattern_match *pattern, const struct as_norm_pattern *norm)
{
    bool centered = norm->mean != AS_NONE;
    enum as_op op = centered ? AS_OP_LayerNormalization : AS_OP_SimplifiedLayerNormalization;
    struct as_attr attrs[] = {as_pass_int_attr("axis", -1),
                              as_pass_float_attr("epsilon", norm->eps)};
    const uint32_t in[] = {norm->x, norm->scale, norm->shift};
    struct as_pass_match m = as_pass_pattern_parts(pattern);
    int rc;

    if (!as_pass_is_float(o, norm->x) || !o->p->kernels[op])
        return ASSAY_OK;
    rc = as_pass_take(o, step, &m);
    if (rc == ASSAY_OK)
        rc = as_pass_inputs(o, step, in, norm->shift == AS_NONE ? 2 : 3);
    if (rc == ASSAY_OK)
        rc = as_pass_become(o, step, op, centered ? 17 : 1, attrs, 2);
    return rc;
}

static bool is_norm(const struct as_step *step)
{
    return step->op == AS_OP_LayerNormalization || step->op == AS_OP_SimplifiedLayerNormalization;
}

/* A scale for one that has none yet, a shift for one that has a scale. */
static int join(struct as_pass_graph *o, struct as_step *step, const struct as_pattern_graph *g)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct as_step *norm = as_pass_inner(o, step->in[i]);
        uint32_t vector = step->in[1 - i], in[3];
        bool scale = step->op == AS_OP_Mul;
        int rc;

        if (!norm || !is_norm(norm) || norm->spec == norm->node || norm->n_in < 2 ||
            !as_pattern_is_vector(g, vector, norm->in[0]) || scale != (norm->in[1] == AS_NONE))
            continue;
        if (!scale && (norm->op != AS_OP_LayerNormalization || as_pass_in(norm, 2) != AS_NONE))
            continue;
        in[0] = norm->in[0];
        in[1] = scale ? vector : norm->in[1];
        in[2] = vector;
        rc = as_pass_absorb(o, norm, step);
        return rc < 0 ? rc : as_pass_inputs(o, step, in, scale ? 2 : 3);
    }
    return ASSAY_OK;
}

static int visit(struct as_pass_graph *o, struct as_step *step)
{
    struct as_pattern_graph g = as_pass_pattern_graph(o);
    struct as_pattern_match pattern;
    struct as_norm_pattern norm;
    struct as_pattern_op last;
    int rc;

    if (step->n_in != 2 || !as_pass_pattern_op(step, &last) ||
        !as_pass_is_static(o, step->out[0]) ||
        (step->op != AS_OP_Div && step->op != AS_OP_Mul && step->op != AS_OP_Add))
        return ASSAY_OK;
    if (step->op != AS_OP_Add && as_pattern_norm(&g, &last, &pattern, &norm))
        return become_norm(o, step, &pattern, &norm);
    if (step->op == AS_OP_Div)
        return ASSAY_OK;
    rc = join(o, step, &g);
    if (rc == ASSAY_OK && step->op == AS_OP_Add && as_pass_pattern_op(step, &last) &&
        as_pattern_norm(&g, &last, &pattern, &norm))
        rc = become_norm(o, step, &pattern, &norm);
    return rc;
}

/* A scale is no choice: those without get one of ones. */
static int fill_scales(struct as_pass_graph *o)
{
    for (uint32_t i = 0; i < o->p->n_plans; i++)
        for (uint32_t j = 0; j < o->p->plans[i].n_steps; j++) {
            struct as_step *step = &o->p->plans[i].steps[j];
            struct as_dims dims = {.rank = 1};

            if (step->dead || !is_norm(step) || step->n_in < 2 || step->in[1] != AS_NONE)
                continue;
            dims.at[0] = as_pass_last_dim(o, step->in[0]);
            step->in[1] = as_pass_fill(o, "ones", o->p->slots[step->in[0]].type.dtype, &dims, 1);
            if (step->in[1] == AS_NONE)
                return as_fail_nomem(o->err);
        }
    return ASSAY_OK;
}

const struct as_pass as_pass_norm = {.visit = visit, .finish = fill_scales};
