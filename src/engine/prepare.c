/* engine/prepare.c - chooses the kernel of every step, puts reorders between layouts, and gives
 * every tensor of the main plan its place in one arena. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "engine/exec.h"
#include "engine/step_threads.h"
#include "model/memory/memory_plan.h"

static uint32_t root_of(const struct as_exec_plan *p, uint32_t id)
{
    while (p->slots[id].view_of != AS_NONE)
        id = p->slots[id].view_of;
    return id;
}

static bool same_layout(const struct as_exec_plan *p, const struct as_layout *a,
                        const struct as_layout *b)
{
    if (a == b)
        return true;
    return p->has_library && as_provider_onednn.same(a, b);
}

/* For whom a tensor is copied into another layout. */
static const char *who_needs(struct as_exec_plan *p, const struct as_step *user, uint32_t slot,
                             const struct as_layout *layout)
{
    char text[160] = "an output of the model is in the plain layout";

    if (p->slots[slot].is_input)
        (void)snprintf(text, sizeof text, "an input of the model is in the plain layout");
    else if (user->node)
        (void)snprintf(text, sizeof text, "%.30s '%.80s' reads %s", as_op_name(user->op),
                       as_node_label(user->graph, user->node),
                       layout ? "a blocked layout" : "the plain layout");
    return as_arena_text(&p->arena, text, strlen(text));
}

uint32_t as_exec_plan_reorder(struct as_exec_plan *p, struct as_plan *plan,
                              const struct as_step *user, uint32_t id,
                              const struct as_layout *layout, struct assay_error *err)
{
    struct as_step *step;
    struct as_type type;
    uint32_t made;
    char *name;
    int size;

    for (uint32_t other = id; other != AS_NONE; other = p->slots[other].alt)
        if (same_layout(p, p->slots[other].layout, layout))
            return other;
    size = snprintf(NULL, 0, "reorder of %.200s", p->slots[id].name);
    name = as_arena_alloc(&p->arena, (size_t)size + 1);
    type = p->slots[id].type;
    made = name ? as_exec_plan_slot(p, name, &type) : AS_NONE;
    step = made == AS_NONE ? NULL : as_plan_add(p, plan, 1, 1);
    if (!step) {
        as_fail_nomem(err);
        return AS_NONE;
    }
    (void)snprintf(name, (size_t)size + 1, "reorder of %.200s", p->slots[id].name);
    p->slots[made].is_static = true;
    p->slots[made].layout = layout;
    p->slots[made].alt = p->slots[id].alt;
    p->slots[id].alt = made;
    if (layout)
        p->slots[made].bytes = layout->bytes;
    else
        (void)as_type_bytes(&type, &p->slots[made].bytes);
    step->kind = AS_STEP_REORDER;
    step->graph = user->graph;
    step->node = step->spec = user->node;
    step->is_static = true;
    step->in[0] = id;
    step->out[0] = made;
    step->provider = &as_provider_onednn;
    step->threads = as_step_threads(p, step, true);
    step->impl = "reorder";
    step->why = who_needs(p, user, id, layout);
    if (!step->why) {
        as_fail_nomem(err);
        return AS_NONE;
    }
    if (as_provider_onednn.prepare_reorder(p, step, err) < 0)
        return AS_NONE;
    return made;
}

/* What can never be is reported before the first run, wherever the size is known. */
static int check_size(const struct as_slot *slot, struct assay_error *err)
{
    struct assay_error why = {0};
    struct as_val probe = {0};
    struct as_dims dims;
    int rc;

    if (slot->type.dtype == AS_DTYPE_UNKNOWN || !as_type_is_static(&slot->type) ||
        !as_type_dims(&slot->type, &dims))
        return ASSAY_OK;
    rc = as_val_shape(&probe, slot->type.dtype, &dims, &why);
    return rc < 0 ? as_fail(err, rc, "tensor '%.80s': %s", slot->name, why.msg) : ASSAY_OK;
}

static bool knows_shapes(const struct as_exec_plan *p, const struct as_step *step)
{
    if (step->kernel->flags & AS_KERNEL_MAKES_OUT)
        return false;
    for (uint32_t i = 0; i < step->n_in; i++)
        if (step->in[i] != AS_NONE && !p->slots[step->in[i]].is_static)
            return false;
    for (uint32_t i = 0; i < step->n_out; i++) {
        const struct as_type *type = step->out[i] == AS_NONE ? NULL : &p->slots[step->out[i]].type;
        uint64_t bytes;

        if (type && (type->kind != AS_VALUE_TENSOR || type->dtype == AS_DTYPE_STRING ||
                     !as_type_is_static(type) || !as_type_bytes(type, &bytes)))
            return false;
    }
    return true;
}

/* Plain C reads every input row by row, constants too. */
static int make_plain(struct as_exec_plan *p, struct as_plan *plan, const struct as_step *step,
                      uint32_t *slots, uint32_t n, struct assay_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        if (slots[i] == AS_NONE)
            continue;
        if (p->slots[slots[i]].is_const) {
            if (!as_exec_plan_constant(p, slots[i], err))
                return err->code ? err->code : ASSAY_ERR_NOMEM;
            continue;
        }
        slots[i] = as_exec_plan_reorder(p, plan, step, slots[i], NULL, err);
        if (slots[i] == AS_NONE)
            return err->code ? err->code : ASSAY_ERR_NOMEM;
    }
    return ASSAY_OK;
}

static int view_fits(const struct as_exec_plan *p, const struct as_step *step,
                     struct assay_error *err)
{
    const struct as_slot *in = &p->slots[step->in[0]], *out = &p->slots[step->out[0]];

    if (in->bytes == out->bytes)
        return ASSAY_OK;
    return as_fail(err, ASSAY_ERR_FORMAT, "node '%.60s' (%s) makes %llu bytes of %llu",
                   as_node_label(step->graph, step->node), step->node->op_name,
                   (unsigned long long)out->bytes, (unsigned long long)in->bytes);
}

/* `step` is a copy that is added to the plan when its reorders are there. */
static int prepare_step(struct as_exec_plan *p, struct as_plan *plan, struct as_step *step,
                        struct assay_error *err)
{
    struct as_step *added;
    int rc = 0;

    for (uint32_t i = 0; i < step->n_out && rc == ASSAY_OK; i++)
        if (step->out[i] != AS_NONE)
            rc = check_size(&p->slots[step->out[i]], err);
    if (rc < 0)
        return rc;
    step->is_static = knows_shapes(p, step);
    for (uint32_t i = 0; i < step->n_out; i++)
        if (step->out[i] != AS_NONE) {
            p->slots[step->out[i]].is_static = step->is_static;
            if (step->is_static)
                (void)as_type_bytes(&p->slots[step->out[i]].type, &p->slots[step->out[i]].bytes);
        }
    if (step->is_static && step->kind == AS_STEP_NODE && p->has_library) {
        step->threads = as_step_threads(p, step, true);
        rc = as_provider_onednn.prepare(p, plan, step, err);
        if (rc > 0)
            step->provider = &as_provider_onednn;
    }
    if (rc == 0) {
        step->threads = step->is_static ? as_step_threads(p, step, false) : 0;
        rc = make_plain(p, plan, step, step->in, step->n_in, err);
        if (rc == ASSAY_OK)
            rc = make_plain(p, plan, step, step->captures, step->n_captures, err);
    }
    if (rc < 0)
        return rc;
    if (step->kind == AS_STEP_VIEW && step->is_static) {
        rc = view_fits(p, step, err);
        if (p->slots[step->in[0]].is_const)
            step->is_static = p->slots[step->out[0]].is_static = false;
        else
            p->slots[step->out[0]].view_of = step->in[0];
        /* Inputs may be other memory in each run. */
        step->is_free = step->is_static && !p->slots[root_of(p, step->in[0])].is_input;
    }
    added = as_plan_add(p, plan, 0, 0);
    if (!added) {
        /* Nobody else knows of it yet. */
        if (step->state)
            as_provider_onednn.drop(step->state);
        return as_fail_nomem(err);
    }
    *added = *step;
    return rc < 0 ? rc : ASSAY_OK;
}

/* A body may read a slot of which its owner made a plain one. */
static void read_plain(const struct as_exec_plan *p, struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_in + step->n_captures; i++) {
        uint32_t *id = i < step->n_in ? &step->in[i] : &step->captures[i - step->n_in];

        for (uint32_t other = *id; other != AS_NONE; other = p->slots[other].alt)
            if (!p->slots[other].layout) {
                *id = other;
                break;
            }
    }
}

static int prepare_plan(struct as_exec_plan *p, uint32_t which, struct assay_error *err)
{
    struct as_plan old = p->plans[which], *plan = &p->plans[which];
    struct as_step last = {.graph = plan->graph};
    int rc = ASSAY_OK;

    plan->steps = NULL;
    plan->n_steps = 0;
    plan->capacity = 0;
    for (uint32_t i = 0; i < plan->graph->n_inputs && rc == ASSAY_OK; i++) {
        struct as_slot *slot = &p->slots[plan->in[i]];

        rc = check_size(slot, err);
        if (!slot->is_const && slot->type.kind == AS_VALUE_TENSOR &&
            slot->type.dtype != AS_DTYPE_STRING && as_type_is_static(&slot->type) &&
            !p->model->values[slot->value].varies)
            slot->is_static = as_type_bytes(&slot->type, &slot->bytes);
    }
    for (uint32_t i = 0; i < old.n_steps && rc == ASSAY_OK; i++) {
        struct as_step step = old.steps[i];

        if (step.dead)
            continue;
        if (which > 0)
            read_plain(p, &step);
        rc = prepare_step(p, plan, &step, err);
    }
    if (rc == ASSAY_OK)
        rc = make_plain(p, plan, &last, plan->out, plan->graph->n_outputs, err);
    as_free(old.steps);
    return rc;
}

/* What nobody needs after a step: for slots made by the plan, or given to a body. */
static int find_drops(struct as_exec_plan *p, struct as_plan *plan, bool is_main,
                      struct assay_error *err)
{
    uint32_t *last = as_alloc_zero((size_t)p->n_slots + 1, sizeof *last);
    uint32_t *drops;
    int rc = ASSAY_OK;

    if (!last)
        return as_fail_nomem(err);
    /* 0: not of this plan; else the step after which it is dropped, from 1. */
    for (uint32_t i = 0; !is_main && i < plan->graph->n_inputs; i++)
        last[plan->in[i]] = 1;
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const struct as_step *step = &plan->steps[s];

        for (uint32_t i = 0; i < step->n_out; i++)
            if (step->out[i] != AS_NONE)
                last[step->out[i]] = s + 1;
        for (uint32_t i = 0; i < step->n_in + step->n_captures; i++) {
            uint32_t id = i < step->n_in ? step->in[i] : step->captures[i - step->n_in];

            if (id != AS_NONE && last[id])
                last[id] = s + 1;
        }
    }
    for (uint32_t i = 0; i < plan->graph->n_outputs; i++)
        if (plan->out[i] != AS_NONE)
            last[plan->out[i]] = 0;
    drops = as_arena_zero(&p->arena, (size_t)p->n_slots + 1, sizeof *drops);
    if (!drops)
        rc = as_fail_nomem(err);
    for (uint32_t id = 0; id < p->n_slots && rc == ASSAY_OK; id++)
        if (last[id] && last[id] <= plan->n_steps)
            plan->steps[last[id] - 1].n_drops++;
    for (uint32_t s = 0; s < plan->n_steps && rc == ASSAY_OK; s++) {
        plan->steps[s].drops = drops;
        drops += plan->steps[s].n_drops;
        plan->steps[s].n_drops = 0;
    }
    for (uint32_t id = 0; id < p->n_slots && rc == ASSAY_OK; id++)
        if (last[id] && last[id] <= plan->n_steps) {
            struct as_step *step = &plan->steps[last[id] - 1];

            step->drops[step->n_drops++] = id;
        }
    as_free(last);
    return rc;
}

/* Tensors of the main plan that live in its arena, with the steps between which they do. */
static size_t find_tensors(const struct as_exec_plan *p, struct as_plan_tensor *tensors,
                           uint32_t *tensor_of)
{
    const struct as_plan *plan = &p->plans[0];
    size_t n = 0;

    memset(tensor_of, 0xff, p->n_slots * sizeof *tensor_of);
    for (uint32_t s = 0; s < plan->n_steps; s++) {
        const struct as_step *step = &plan->steps[s];

        for (uint32_t i = 0; i < step->n_out; i++) {
            uint32_t id = step->out[i];

            if (id == AS_NONE || !p->slots[id].is_static || p->slots[id].view_of != AS_NONE)
                continue;
            tensor_of[id] = (uint32_t)n;
            tensors[n++] = (struct as_plan_tensor){id, s, s, p->slots[id].bytes, 0};
        }
        for (uint32_t i = 0; i < step->n_in + step->n_captures; i++) {
            uint32_t id = i < step->n_in ? step->in[i] : step->captures[i - step->n_in];
            uint32_t t = id == AS_NONE ? AS_NONE : tensor_of[root_of(p, id)];

            if (t != AS_NONE)
                tensors[t].last = s;
        }
    }
    for (uint32_t i = 0; i < plan->graph->n_outputs; i++) {
        uint32_t id = plan->out[i];
        uint32_t t = id == AS_NONE ? AS_NONE : tensor_of[root_of(p, id)];

        if (t != AS_NONE)
            tensors[t].last = plan->n_steps ? plan->n_steps - 1 : 0;
    }
    return n;
}

/* Of inputs whose size is known and whose numbers are not; UINT64_MAX where the sum passes that. */
static uint64_t input_bytes(const struct as_exec_plan *p, bool states)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].is_input && p->slots[i].is_static && !p->slots[i].is_const &&
            (states || !p->slots[i].is_state) && !as_add_u64(sum, p->slots[i].bytes, &sum))
            return UINT64_MAX;
    return sum;
}

/* The most that is alive together: what a run with separate tensors must come to, to the byte. */
static void find_peak(struct as_exec_plan *p, const struct as_plan_tensor *tensors, size_t n,
                      uint64_t *change)
{
    uint64_t live = input_bytes(p, false);

    p->planned_peak_bytes = live;
    for (size_t i = 0; i < n; i++) {
        if (p->slots[tensors[i].value].is_state)
            continue;
        change[tensors[i].first] += tensors[i].bytes;
        change[tensors[i].last + 1] -= tensors[i].bytes;
    }
    for (uint32_t s = 0; s < p->plans[0].n_steps; s++) {
        live += change[s];
        if (live > p->planned_peak_bytes) {
            p->planned_peak_bytes = live;
            p->planned_peak_step = s;
        }
    }
}

static int place(struct as_exec_plan *p, struct assay_error *err)
{
    const struct as_plan *plan = &p->plans[0];
    struct as_plan_tensor *tensors = as_alloc_zero((size_t)p->n_slots + 1, sizeof *tensors);
    uint32_t *tensor_of = as_alloc_zero((size_t)p->n_slots + 1, sizeof *tensor_of);
    uint64_t *change = as_alloc_zero((size_t)plan->n_steps + 2, sizeof *change);
    size_t n;
    int rc;

    if (!tensors || !tensor_of || !change) {
        rc = as_fail_nomem(err);
        goto out;
    }
    n = find_tensors(p, tensors, tensor_of);
    rc = as_memory_place(tensors, n, &p->space_bytes, err);
    if (rc < 0)
        goto out;
    if (p->space_bytes == UINT64_MAX) {
        rc = as_fail(err, ASSAY_ERR_LIMIT, "the activations need more than 2^64 bytes");
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        p->slots[tensors[i].value].offset = tensors[i].offset;
    p->planned = p->n_plans == 1;
    for (uint32_t i = 0; i < plan->graph->n_inputs; i++)
        p->planned =
            p->planned && (!p->slots[plan->in[i]].is_input || p->slots[plan->in[i]].is_static);
    for (uint32_t s = 0; s < plan->n_steps; s++)
        p->planned = p->planned && plan->steps[s].is_static;
    find_peak(p, tensors, n, change);
out:
    as_free(change);
    as_free(tensor_of);
    as_free(tensors);
    return rc;
}

/* Steps are numbered over all plans, and kernels get pointers instead of numbers of slots. */
static int number_steps(struct as_exec_plan *p, struct assay_error *err)
{
    for (uint32_t i = 0; i < p->n_plans; i++)
        p->n_steps += p->plans[i].n_steps;
    p->steps = as_arena_zero(&p->arena, (size_t)p->n_steps + 1, sizeof(struct as_step *));
    p->live_bytes = as_arena_zero(&p->arena, (size_t)p->n_steps + 1, sizeof *p->live_bytes);
    if (!p->steps || !p->live_bytes)
        return as_fail_nomem(err);
    p->n_steps = 0;
    for (uint32_t i = 0; i < p->n_plans; i++)
        for (uint32_t s = 0; s < p->plans[i].n_steps; s++) {
            struct as_step *step = &p->plans[i].steps[s];

            step->ins = as_arena_zero(&p->arena, (size_t)step->n_in + 1, sizeof(struct as_val *));
            step->outs = as_arena_zero(&p->arena, (size_t)step->n_out + 1, sizeof(struct as_val *));
            if (!step->ins || !step->outs)
                return as_fail_nomem(err);
            for (uint32_t j = 0; j < step->n_in; j++)
                step->ins[j] = step->in[j] == AS_NONE ? NULL : &p->slots[step->in[j]].val;
            for (uint32_t j = 0; j < step->n_out; j++)
                step->outs[j] = step->out[j] == AS_NONE ? NULL : &p->slots[step->out[j]].val;
            step->index = p->n_steps;
            p->steps[p->n_steps++] = step;
        }
    return ASSAY_OK;
}

static int too_large(const struct as_exec_plan *p, uint64_t bytes, struct assay_error *err)
{
    return as_fail(
        err, ASSAY_ERR_LIMIT,
        "running this needs %.2f GiB, and %.2f GiB are available: make its input or batch "
        "smaller",
        (double)bytes / 0x1p30, (double)p->options->limit_bytes / 0x1p30);
}

/* Constants that some step needs, as they are stored. */
static int check_constants(const struct as_exec_plan *p, struct assay_error *err)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].is_const && p->slots[i].n_uses > 0 &&
            !as_add_u64(sum, p->slots[i].bytes, &sum))
            sum = UINT64_MAX;
    if (p->options->limit_bytes && sum > p->options->limit_bytes)
        return too_large(p, sum, err);
    return ASSAY_OK;
}

/* Constants that a fused or packed step took over are not needed any more. */
static void drop_unused_constants(struct as_exec_plan *p)
{
    for (uint32_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].is_const && p->slots[i].n_uses == 0 && !p->slots[i].is_output)
            as_val_drop(&p->slots[i].val);
}

static int take_memory(struct as_exec_plan *p, struct assay_error *err)
{
    uint64_t need = p->mem.all.current_bytes;

    if (!as_add_u64(need, input_bytes(p, true), &need) ||
        !as_add_u64(need, p->space_bytes, &need) || !as_add_u64(need, p->workspace_bytes, &need) ||
        need > SIZE_MAX / 2)
        return as_fail(err, ASSAY_ERR_LIMIT, "the activations need more than 2^63 bytes");
    if (p->options->limit_bytes && need > p->options->limit_bytes)
        return too_large(p, need, err);
    /* The arena is counted tensor by tensor, in runs that measure memory. */
    p->space = as_mem_block(p->space_bytes);
    p->workspace = as_mem_alloc(&p->mem, AS_MEM_WORKSPACE, p->workspace_bytes);
    if (!p->space || !p->workspace)
        return as_fail(err, ASSAY_ERR_NOMEM, "no memory for activations of %llu bytes",
                       (unsigned long long)p->space_bytes);
    return ASSAY_OK;
}

int as_exec_plan_prepare(struct as_exec_plan *p, struct assay_error *err)
{
    struct assay_error unused = {0};
    int rc;

    err = err ? err : &unused;
    as_exec_plan_count_uses(p);
    rc = check_constants(p, err);
    for (uint32_t i = 0; i < p->n_plans && rc == ASSAY_OK; i++)
        rc = prepare_plan(p, i, err);
    if (rc < 0)
        return rc;
    drop_unused_constants(p);
    for (uint32_t i = 0; i < p->n_plans && rc == ASSAY_OK; i++)
        rc = find_drops(p, &p->plans[i], i == 0, err);
    if (rc == ASSAY_OK)
        rc = place(p, err);
    if (rc == ASSAY_OK)
        rc = number_steps(p, err);
    if (rc == ASSAY_OK)
        rc = take_memory(p, err);
    if (rc == ASSAY_OK)
        as_exec_bind(p, false);
    return rc;
}
