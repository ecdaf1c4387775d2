/* engine/passes/passes.c - the passes in order, and the index of makers and readers they work with.
 * A pass looks from a step back to those that made its inputs, so that each is linear. */
#include "engine/passes/passes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

static const struct as_pass *const passes[] = {
    &as_pass_noops,      &as_pass_cse,       &as_pass_noops,  &as_pass_qdq,      &as_pass_norm,
    &as_pass_activation, &as_pass_neighbors, &as_pass_affine, &as_pass_post_ops, &as_pass_cse,
};

/* ---- the index ---- */

static int reserve(struct as_pass_graph *o)
{
    uint32_t n = o->p->n_slots;

    as_free(o->maker);
    as_free(o->plan_of);
    as_free(o->n_uses);
    as_free(o->alias);
    as_free(o->kept);
    o->maker = as_alloc_zero((size_t)n + 1, sizeof(struct as_step *));
    o->plan_of = as_alloc_zero((size_t)n + 1, sizeof *o->plan_of);
    o->n_uses = as_alloc_zero((size_t)n + 1, sizeof *o->n_uses);
    o->alias = as_alloc_zero((size_t)n + 1, sizeof *o->alias);
    o->kept = as_alloc_zero((size_t)n + 1, sizeof *o->kept);
    o->n_slots = n;
    o->any_alias = false;
    if (!o->maker || !o->plan_of || !o->n_uses || !o->alias || !o->kept)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < n; i++)
        o->alias[i] = i;
    return ASSAY_OK;
}

static void count(struct as_pass_graph *o, const struct as_step *step, bool more)
{
    for (uint32_t i = 0; i < step->n_in + step->n_captures; i++) {
        uint32_t slot = i < step->n_in ? step->in[i] : step->captures[i - step->n_in];

        if (slot >= o->n_slots)
            continue;
        if (more)
            o->n_uses[slot]++;
        else if (o->n_uses[slot])
            o->n_uses[slot]--;
    }
}

static void keep(struct as_pass_graph *o, const uint32_t *slots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (slots[i] < o->n_slots)
            o->kept[slots[i]] = true;
}

/* Of a step that was folded, what it made is a constant and it is still known as the maker. */
static void enter(struct as_pass_graph *o, struct as_step *step, uint32_t plan)
{
    if (!step->dead)
        count(o, step, true);
    for (uint32_t k = 0; k < step->n_out; k++) {
        uint32_t slot = step->out[k];

        if (slot >= o->n_slots || (step->dead && !o->p->slots[slot].is_const))
            continue;
        o->maker[slot] = step;
        o->plan_of[slot] = plan;
    }
}

static int make_index(struct as_pass_graph *o)
{
    const struct as_exec_plan *p = o->p;
    int rc = reserve(o);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < p->n_slots; i++)
        o->kept[i] = p->slots[i].is_output || p->slots[i].is_state;
    for (uint32_t i = 0; i < p->n_plans; i++) {
        const struct as_plan *plan = &p->plans[i];

        keep(o, plan->out, plan->graph->n_outputs);
        keep(o, plan->in, plan->graph->n_inputs);
        for (uint32_t j = 0; j < plan->n_steps; j++)
            enter(o, &plan->steps[j], i);
    }
    return ASSAY_OK;
}

static uint32_t resolve(struct as_pass_graph *o, uint32_t slot)
{
    while (slot < o->n_slots && o->alias[slot] != slot) {
        o->alias[slot] = o->alias[o->alias[slot]]; /* halves the way for the next */
        slot = o->alias[slot];
    }
    return slot;
}

void as_pass_resolve(struct as_pass_graph *o, struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_in; i++)
        if (step->in[i] != AS_NONE)
            step->in[i] = resolve(o, step->in[i]);
    for (uint32_t i = 0; i < step->n_captures; i++)
        step->captures[i] = resolve(o, step->captures[i]);
}

/* ---- questions ---- */

struct as_step *as_pass_maker(const struct as_pass_graph *o, uint32_t slot)
{
    struct as_step *step = slot < o->n_slots ? o->maker[slot] : NULL;

    return step && !step->dead && o->plan_of[slot] == o->plan ? step : NULL;
}

struct as_step *as_pass_inner(const struct as_pass_graph *o, uint32_t slot)
{
    struct as_step *step = as_pass_maker(o, slot);

    return step && o->n_uses[slot] == 1 && !o->kept[slot] && step->out[0] == slot ? step : NULL;
}

uint32_t as_pass_uses(const struct as_pass_graph *o, uint32_t slot)
{
    return slot < o->n_slots ? o->n_uses[slot] : 0;
}

uint32_t as_pass_in(const struct as_step *step, uint32_t i)
{
    return i < step->n_in ? step->in[i] : AS_NONE;
}

uint32_t as_pass_other(const struct as_step *step, uint32_t slot)
{
    if (step->n_in < 2)
        return AS_NONE;
    if (step->in[0] == slot)
        return step->in[1];
    return step->in[1] == slot ? step->in[0] : AS_NONE;
}

/* ---- changes ---- */

int as_pass_inputs(struct as_pass_graph *o, struct as_step *step, const uint32_t *in, uint32_t n)
{
    uint32_t *copy = as_arena_zero(&o->p->arena, n ? n : 1, sizeof *copy);

    if (!copy)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = in[i];
    count(o, step, false);
    step->in = copy;
    step->n_in = n;
    count(o, step, true);
    return ASSAY_OK;
}

void as_pass_replace(struct as_pass_graph *o, struct as_step *step, uint32_t i, uint32_t slot)
{
    count(o, step, false);
    step->in[i] = slot;
    count(o, step, true);
}

void as_pass_kill(struct as_pass_graph *o, struct as_step *step)
{
    if (step->dead)
        return;
    step->dead = true;
    count(o, step, false);
}

void as_pass_alias(struct as_pass_graph *o, uint32_t slot, uint32_t instead)
{
    if (slot >= o->n_slots || instead >= o->n_slots || slot == instead)
        return;
    o->alias[slot] = instead;
    o->n_uses[instead] += o->n_uses[slot];
    o->n_uses[slot] = 0;
    o->any_alias = true;
}

/* An output of a graph can only be made by the one before under the output's number. */
static void retarget(struct as_pass_graph *o, struct as_step *step, uint32_t in, uint32_t out)
{
    struct as_step *before = as_pass_inner(o, in);

    if (!before || !as_pass_same_type(o, in, out) || o->p->slots[in].is_input)
        return;
    before->out[0] = out;
    o->maker[out] = before;
    o->maker[in] = NULL;
    as_pass_kill(o, step);
}

void as_pass_bypass(struct as_pass_graph *o, struct as_step *step)
{
    uint32_t in = as_pass_in(step, 0), out = step->n_out ? step->out[0] : AS_NONE;

    if (in >= o->n_slots || out >= o->n_slots || in == out)
        return;
    for (uint32_t i = 1; i < step->n_out; i++)
        if (step->out[i] < o->n_slots && (o->n_uses[step->out[i]] || o->kept[step->out[i]]))
            return;
    if (o->kept[out]) {
        retarget(o, step, in, out);
        return;
    }
    as_pass_kill(o, step);
    as_pass_alias(o, out, in);
}

static int set_sources(struct as_pass_graph *o, struct as_step *step, const struct as_step *first,
                       const struct as_step *second)
{
    uint32_t n = first->n_sources + second->n_sources;
    const struct as_node **all = as_arena_zero(&o->p->arena, n ? n : 1, sizeof(struct as_node *));

    if (!all)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i < first->n_sources ? first->sources[i] : second->sources[i - first->n_sources];
    step->sources = all;
    step->n_sources = n;
    return ASSAY_OK;
}

int as_pass_sources(struct as_pass_graph *o, struct as_step *step, const struct as_step *from)
{
    return set_sources(o, step, from, step);
}

int as_pass_append(struct as_pass_graph *o, struct as_step *step, struct as_step *last)
{
    int rc = set_sources(o, step, step, last);

    last->n_sources = 0;
    return rc;
}

int as_pass_take(struct as_pass_graph *o, struct as_step *last, const struct as_pass_match *m)
{
    struct as_step *order[AS_OPT_PARTS];
    int rc = ASSAY_OK;

    for (unsigned i = 0; i < m->n; i++) { /* by their places: from the last to the first */
        unsigned at = i;

        for (; at > 0 && order[at - 1] < m->parts[i]; at--)
            order[at] = order[at - 1];
        order[at] = m->parts[i];
    }
    for (unsigned i = 0; i < m->n && rc == ASSAY_OK; i++) {
        rc = as_pass_sources(o, last, order[i]);
        as_pass_kill(o, order[i]);
    }
    return rc;
}

int as_pass_absorb(struct as_pass_graph *o, struct as_step *first, struct as_step *last)
{
    struct as_step merged = *first;
    int rc = as_pass_sources(o, last, first);

    if (rc < 0)
        return rc;
    merged.out = last->out;
    merged.n_out = last->n_out;
    merged.sources = last->sources;
    merged.n_sources = last->n_sources;
    merged.is_static = last->is_static;
    as_pass_kill(o, first);
    count(o, last, false);
    *last = merged;
    count(o, last, true);
    return ASSAY_OK;
}

/* ---- attributes ---- */

static struct as_node *copy_node(struct as_pass_graph *o, const struct as_node *from,
                                 uint32_t n_attrs, struct as_attr **attrs)
{
    struct as_node *node = as_arena_zero(&o->p->arena, 1, sizeof *node);

    *attrs = as_arena_zero(&o->p->arena, n_attrs ? n_attrs : 1, sizeof **attrs);
    if (!node || !*attrs)
        return NULL;
    *node = *from;
    node->attrs = *attrs;
    node->n_attrs = n_attrs;
    return node;
}

int as_pass_become(struct as_pass_graph *o, struct as_step *step, enum as_op op, int64_t opset,
                   const struct as_attr *attrs, uint32_t n_attrs)
{
    struct as_attr *copy = NULL;
    struct as_node *node = copy_node(o, step->node, n_attrs, &copy);
    uint32_t *inputs = as_arena_zero(&o->p->arena, (size_t)step->n_in + 1, sizeof *inputs);

    if (!node || !inputs)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < n_attrs; i++)
        copy[i] = attrs[i];
    for (uint32_t i = 0; i < step->n_in; i++)
        inputs[i] = step->in[i] == AS_NONE ? AS_NONE : o->p->slots[step->in[i]].value;
    node->inputs = inputs;
    node->n_inputs = step->n_in;
    node->op = op;
    node->op_name = as_op_name(op);
    node->domain_name = as_domain_name(as_op_domain(op));
    step->spec = node;
    step->op = op;
    step->opset = opset;
    step->kernel = o->p->kernels[op];
    step->kind = step->kernel && step->kernel->flags & AS_KERNEL_VIEW ? AS_STEP_VIEW : AS_STEP_NODE;
    return ASSAY_OK;
}

static int set_attr(struct as_pass_graph *o, struct as_step *step, const struct as_attr *attr)
{
    const struct as_node *old = step->spec;
    struct as_attr *copy = NULL;
    struct as_node *node = copy_node(o, old, old->n_attrs + 1, &copy);
    uint32_t n = 0;

    if (!node)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < old->n_attrs; i++)
        if (strcmp(old->attrs[i].name, attr->name) != 0)
            copy[n++] = old->attrs[i];
    copy[n++] = *attr;
    node->n_attrs = n;
    step->spec = node;
    return ASSAY_OK;
}

int as_pass_set_ints(struct as_pass_graph *o, struct as_step *step, const char *name,
                     const int64_t *at, uint32_t n)
{
    int64_t *copy = as_arena_zero(&o->p->arena, n ? n : 1, sizeof *copy);

    if (!copy)
        return as_fail_nomem(o->err);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = at[i];
    return set_attr(o, step,
                    &(struct as_attr){.name = name, .kind = AS_ATTR_INTS, .n = n, .ints = copy});
}

int as_pass_set_text(struct as_pass_graph *o, struct as_step *step, const char *name,
                     const char *text)
{
    return set_attr(
        o, step,
        &(struct as_attr){.name = name, .kind = AS_ATTR_TEXT, .text = {text, strlen(text)}});
}

int as_pass_set_int(struct as_pass_graph *o, struct as_step *step, const char *name, int64_t value)
{
    struct as_attr attr = as_pass_int_attr(name, value);

    return set_attr(o, step, &attr);
}

/* ---- the passes ---- */

static int run_pass(struct as_pass_graph *o, const struct as_pass *pass)
{
    int rc = make_index(o);

    for (uint32_t i = 0; i < o->p->n_plans; i++) {
        struct as_plan *plan = &o->p->plans[i];

        o->plan = i;
        for (uint32_t j = 0; pass->visit && rc == ASSAY_OK && j < plan->n_steps; j++) {
            if (plan->steps[j].dead)
                continue;
            if (o->any_alias)
                as_pass_resolve(o, &plan->steps[j]);
            rc = pass->visit(o, &plan->steps[j]);
        }
    }
    if (rc == ASSAY_OK && pass->finish)
        rc = pass->finish(o);
    for (uint32_t i = 0; o->any_alias && i < o->p->n_plans; i++)
        for (uint32_t j = 0; j < o->p->plans[i].n_steps; j++)
            as_pass_resolve(o, &o->p->plans[i].steps[j]);
    return rc;
}

static bool is_needed(const struct as_pass_graph *o, const struct as_step *step)
{
    if (!step->n_out)
        return true; /* it is there for what it does, as ASSIGN_VARIABLE is */
    for (uint32_t i = 0; i < step->n_out; i++)
        if (step->out[i] < o->n_slots && (o->n_uses[step->out[i]] || o->kept[step->out[i]]))
            return true;
    return false;
}

/* Steps that nobody needs, from the last to the first, bodies before what is around them. */
static int drop_dead(struct as_pass_graph *o)
{
    int rc = make_index(o);

    for (uint32_t i = o->p->n_plans; rc == ASSAY_OK && i-- > 0;)
        for (uint32_t j = o->p->plans[i].n_steps; j-- > 0;) {
            struct as_step *step = &o->p->plans[i].steps[j];

            if (!step->dead && !is_needed(o, step))
                as_pass_kill(o, step);
        }
    return rc;
}

int as_exec_plan_optimize(struct as_exec_plan *p, struct assay_error *err)
{
    struct as_pass_graph o = {.p = p, .err = err};
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(passes); i++) {
        rc = run_pass(&o, passes[i]);
        if (rc == ASSAY_OK)
            rc = drop_dead(&o);
    }
    if (rc == ASSAY_OK)
        as_exec_plan_count_uses(p);
    as_free(o.maker);
    as_free(o.plan_of);
    as_free(o.n_uses);
    as_free(o.alias);
    as_free(o.kept);
    return rc;
}
