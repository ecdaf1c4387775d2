/* engine/passes/pass_patterns.c - the steps of the plan being visited as model/patterns looks at
 * them: what a step does with post-ops or in another plan is no part of a pattern. */
#include "engine/passes/passes.h"

bool as_pass_pattern_op(struct as_step *step, struct as_pattern_op *op)
{
    if (step->n_post_ops || step->n_out == 0)
        return false;
    *op = (struct as_pattern_op){.op = step->op,
                                 .opset = step->opset,
                                 .spec = step->spec,
                                 .in = step->in,
                                 .n_in = step->n_in,
                                 .out = step->out[0],
                                 .id = step};
    return true;
}

static bool maker(const void *of, uint32_t slot, struct as_pattern_op *op)
{
    struct as_step *step = as_pass_maker(of, slot);

    return step && step->out[0] == slot && as_pass_pattern_op(step, op);
}

static uint32_t n_uses(const void *of, uint32_t slot)
{
    const struct as_pass_graph *o = of;

    return slot >= o->n_slots || o->kept[slot] ? UINT32_MAX : o->n_uses[slot];
}

static bool scalar(const void *of, uint32_t slot, double *out)
{
    return as_pass_scalar(of, slot, out);
}

static bool list(const void *of, uint32_t slot, struct as_dims *out)
{
    return as_pass_list(of, slot, out);
}

static const struct as_type *type(const void *of, uint32_t slot)
{
    const struct as_pass_graph *o = of;

    return as_pass_is_static(o, slot) ? &o->p->slots[slot].type : NULL;
}

struct as_pattern_graph as_pass_pattern_graph(const struct as_pass_graph *o)
{
    return (struct as_pattern_graph){o, maker, n_uses, scalar, list, type};
}

struct as_pass_match as_pass_pattern_parts(const struct as_pattern_match *pattern)
{
    struct as_pass_match m = {.n = pattern->n};

    _Static_assert((int)AS_PATTERN_PARTS <= (int)AS_OPT_PARTS,
                   "the parts of a pattern fit a match");
    for (unsigned i = 0; i < pattern->n; i++)
        m.parts[i] = pattern->parts[i].id;
    return m;
}
