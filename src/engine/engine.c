/* engine/engine.c - runs a network: opened for one set of shapes, run as often as wanted.
 * The work is done in build_plan.c, passes.c, prepare.c and exec.c; this is their front. */
#include "engine/engine.h"

#include <assay/session.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/exec.h"
#include "engine/step_threads.h"

struct as_engine {
    struct as_exec_plan p;
    struct as_engine_options options; /* p.options points here */
    uint64_t n_runs;
    uint32_t *inputs; /* slots of the inputs that a user gives, in order */
    size_t n_inputs;
    char fused[128]; /* of the step asked for last */
};

static uint32_t find_slot(const struct as_exec_plan *p, const uint32_t *slots, uint32_t n,
                          const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (slots[i] != AS_NONE && strcmp(p->slots[slots[i]].name, name) == 0)
            return slots[i];
    return AS_NONE;
}

static int mark_states(struct as_exec_plan *p, struct assay_error *err)
{
    const struct as_plan *plan = &p->plans[0];

    for (size_t i = 0; i < p->options->n_loops; i++) {
        const struct as_loop_pair *pair = &p->options->loops[i];
        uint32_t in = find_slot(p, plan->in, plan->graph->n_inputs, pair->input);
        uint32_t out = find_slot(p, plan->graph->outputs, plan->graph->n_outputs, pair->output);

        if (in == AS_NONE || !p->slots[in].is_input)
            return as_fail(err, ASSAY_ERR_USAGE, "the model has no input '%.80s' to loop into",
                           pair->input);
        if (out == AS_NONE)
            return as_fail(err, ASSAY_ERR_USAGE, "the model has no output '%.80s' to loop from",
                           pair->output);
        p->slots[in].is_state = true;
        for (uint32_t j = 0; j < plan->graph->n_outputs; j++)
            if (plan->graph->outputs[j] == out && plan->out[j] != AS_NONE)
                p->slots[plan->out[j]].is_state = true;
    }
    return ASSAY_OK;
}

static int make_inputs(struct as_engine *engine, struct assay_error *err)
{
    struct as_exec_plan *p = &engine->p;
    const struct as_plan *plan = &p->plans[0];

    engine->inputs =
        as_arena_zero(&p->arena, (size_t)plan->graph->n_inputs + 1, sizeof *engine->inputs);
    if (!engine->inputs)
        return as_fail_nomem(err);
    for (uint32_t i = 0; i < plan->graph->n_inputs; i++) {
        struct as_slot *slot = &p->slots[plan->in[i]];
        struct as_dims dims;
        int rc;

        if (!slot->is_input)
            continue;
        engine->inputs[engine->n_inputs++] = plan->in[i];
        if (slot->is_const || !slot->is_static)
            continue;
        (void)as_type_dims(&slot->type, &dims);
        rc = as_val_new(&slot->val, &p->mem, slot->is_state ? AS_MEM_KV_CACHE : AS_MEM_ACTIVATIONS,
                        slot->type.dtype, &dims, err);
        if (rc < 0)
            return rc;
        memset(slot->val.data, 0, (size_t)slot->val.bytes);
    }
    return ASSAY_OK;
}

static int open_library(struct as_exec_plan *p, struct assay_error *err)
{
    struct assay_error why = {0};
    int rc;

    if (p->options->reference) {
        (void)snprintf(p->why_not, sizeof p->why_not, "kernels in plain C were asked for");
        return ASSAY_OK;
    }
    rc = as_provider_onednn.open(p, &why);
    p->has_library = rc == ASSAY_OK;
    (void)snprintf(p->why_not, sizeof p->why_not, "%.190s", why.msg);
    if (rc == ASSAY_OK || rc == ASSAY_ERR_UNSUPPORTED)
        return ASSAY_OK;
    return as_fail(err, rc, "%s", why.msg);
}

static int make_program(struct as_engine *engine, struct assay_error *err)
{
    struct as_exec_plan *p = &engine->p;
    int rc = as_thread_pool_new(&p->pool, p->options->threads, err);

    if (rc == ASSAY_OK)
        rc = as_exec_plan_build(p, err);
    if (rc == ASSAY_OK)
        rc = mark_states(p, err);
    if (rc == ASSAY_OK)
        rc = as_exec_fold(p, err);
    if (rc == ASSAY_OK)
        rc = open_library(p, err);
    if (rc == ASSAY_OK)
        as_step_threads_measure(p);
    if (rc == ASSAY_OK && !p->options->no_fuse)
        rc = as_exec_plan_optimize(p, err);
    if (rc == ASSAY_OK)
        rc = as_exec_plan_prepare(p, err);
    if (rc == ASSAY_OK)
        rc = make_inputs(engine, err);
    return rc;
}

int as_engine_new(struct as_engine **out, struct as_model *model,
                  const struct as_engine_options *options, struct assay_error *err)
{
    struct as_engine *engine = as_alloc_zero(1, sizeof *engine);
    struct as_infer_options infer;
    struct assay_error unused = {0};
    int rc;

    err = err ? err : &unused;
    *out = NULL;
    if (!engine)
        return as_fail_nomem(err);
    if (options)
        engine->options = *options;
    engine->options.threads = engine->options.threads ? engine->options.threads : 1;
    engine->p.model = model;
    engine->p.options = &engine->options;
    engine->p.mem.limit_bytes = engine->options.limit_bytes;
    infer = engine->options.infer;
    infer.proven_only = true;
    rc = as_isa_check_environment(err);
    if (rc == ASSAY_OK && model->has_graph)
        rc = as_infer_shapes(model, &infer, NULL, err);
    if (rc == ASSAY_OK)
        rc = make_program(engine, err);
    if (rc < 0)
        as_engine_free(engine);
    else
        *out = engine;
    return rc;
}

void as_engine_free(struct as_engine *engine)
{
    struct as_exec_plan *p;

    if (!engine)
        return;
    p = &engine->p;
    for (uint32_t i = 0; i < p->n_slots; i++)
        as_val_drop(&p->slots[i].val);
    for (uint32_t i = 0; i < p->n_plans; i++) {
        for (uint32_t s = 0; s < p->plans[i].n_steps; s++)
            if (p->plans[i].steps[s].state)
                as_provider_onednn.drop(p->plans[i].steps[s].state);
        as_free(p->plans[i].steps);
    }
    if (p->has_library)
        as_provider_onednn.close(p);
    as_mem_free(&p->mem, AS_MEM_WORKSPACE, p->workspace, p->workspace_bytes);
    as_exec_drop_spares(p);
    assert(p->mem.all.current_bytes == 0 && p->mem.beside_bytes == 0);
    as_free(p->space);
    as_free(p->plans);
    as_free(p->slots);
    as_thread_pool_free(p->pool);
    as_arena_fini(&p->arena);
    as_free(engine);
}

/* ---- inputs and outputs ---- */

static struct as_slot *input_slot(const struct as_engine *engine, size_t i)
{
    return i < engine->n_inputs ? &engine->p.slots[engine->inputs[i]] : NULL;
}

const struct as_value *as_engine_input_value(const struct as_engine *engine, size_t i)
{
    const struct as_slot *slot = input_slot(engine, i);

    return slot ? &engine->p.model->values[slot->value] : NULL;
}

struct as_val *as_engine_input(struct as_engine *engine, size_t i)
{
    struct as_slot *slot = input_slot(engine, i);

    return slot ? &slot->val : NULL;
}

static bool fits(const struct as_type *type, const struct as_val *val)
{
    if (type->kind != val->kind)
        return false;
    if (val->kind != AS_VALUE_TENSOR)
        return true;
    if (type->dtype != val->dtype && type->dtype != AS_DTYPE_UNKNOWN)
        return false;
    if (type->rank >= 0 && type->rank != val->rank)
        return false;
    for (int i = 0; i < type->rank; i++)
        if (type->dims[i] != AS_DIM_UNKNOWN && type->dims[i] != val->dims[i])
            return false;
    return true;
}

int as_engine_set_input(struct as_engine *engine, size_t i, const struct as_val *val,
                        struct assay_error *err)
{
    struct as_slot *slot = input_slot(engine, i);
    char want[80], have[80];
    struct as_type type;

    if (!slot)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "the model has %zu inputs", engine->n_inputs);
    as_val_type(val, &type);
    if (!fits(&slot->type, val)) {
        as_type_text(want, sizeof want, &slot->type);
        as_type_text(have, sizeof have, &type);
        return as_fail(err, ASSAY_ERR_USAGE, "input '%.60s' is %s %s, not %s %s", slot->name,
                       as_dtype_name(slot->type.dtype), want, as_dtype_name(type.dtype), have);
    }
    if (slot->is_const)
        return ASSAY_OK; /* its numbers went into the shapes */
    as_val_drop(&slot->val);
    return as_val_share(&slot->val, val, err);
}

int as_engine_make_input(struct as_engine *engine, size_t i, const struct as_dims *dims,
                         struct assay_error *err)
{
    const struct as_slot *slot = input_slot(engine, i);
    struct as_val val;
    int rc;

    if (!slot)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "the model has %zu inputs", engine->n_inputs);
    rc = as_val_new(&val, &engine->p.mem, slot->is_state ? AS_MEM_KV_CACHE : AS_MEM_ACTIVATIONS,
                    slot->type.dtype, dims, err);
    if (rc < 0)
        return rc;
    memset(val.data, 0, (size_t)val.bytes);
    rc = as_engine_set_input(engine, i, &val, err);
    as_val_drop(&val);
    return rc;
}

const struct as_value *as_engine_output_value(const struct as_engine *engine, size_t i)
{
    const struct as_graph *graph = engine->p.plans[0].graph;

    return i < graph->n_outputs && graph->outputs[i] != AS_NONE
               ? &engine->p.model->values[graph->outputs[i]]
               : NULL;
}

const struct as_val *as_engine_output(const struct as_engine *engine, size_t i)
{
    const struct as_plan *plan = &engine->p.plans[0];

    return i < plan->graph->n_outputs && plan->out[i] != AS_NONE
               ? &engine->p.slots[plan->out[i]].val
               : NULL;
}

/* A node may name more outputs than its operator has, and kernels that are fused or of a library do
 * not look at those. */
static int check_outputs(const struct as_engine *engine, struct assay_error *err)
{
    const struct as_val *val;

    for (size_t i = 0; as_engine_output_value(engine, i); i++) {
        val = as_engine_output(engine, i);
        if (val && !val->present)
            return as_fail(err, ASSAY_ERR_FORMAT,
                           "output '%.80s' of the model was not made: its node has no such output",
                           as_engine_output_value(engine, i)->name);
    }
    return ASSAY_OK;
}

int as_engine_run(struct as_engine *engine, enum as_run_mode mode, struct as_step_sample *samples,
                  struct assay_error *err)
{
    struct assay_error unused = {0};
    struct as_exec x = {.p = &engine->p,
                        .mode = mode,
                        .samples = samples,
                        .run = engine->n_runs++,
                        .err = err ? err : &unused};
    int rc;

    for (size_t i = 0; i < engine->n_inputs; i++)
        if (!input_slot(engine, i)->is_const && !input_slot(engine, i)->val.present)
            return as_fail(err, ASSAY_ERR_STATE, "input '%.80s' has no value",
                           input_slot(engine, i)->name);
    if (mode == AS_RUN_PROFILE && !samples)
        return as_fail(err, ASSAY_ERR_USAGE, "a profile needs room for its samples");
    if (mode == AS_RUN_PROFILE && engine->p.sites) {
        assay_iteration(x.run);
        rc = as_exec_run(&x);
        assay_iteration_end();
        return rc < 0 ? rc : check_outputs(engine, err);
    }
    rc = as_exec_run(&x);
    return rc < 0 ? rc : check_outputs(engine, err);
}

void as_engine_tell_shapes(struct as_engine *engine)
{
    struct as_exec_plan *p = &engine->p;

    for (uint32_t i = 0; i < p->n_slots; i++) {
        const struct as_slot *slot = &p->slots[i];
        struct as_value *value;

        if (slot->value == AS_NONE || slot->is_const || slot->seen.rank < 0 ||
            slot->seen.dtype == AS_DTYPE_UNKNOWN)
            continue;
        value = &p->model->values[slot->value];
        if (!slot->is_static)
            value->type = slot->seen;
        /* One of known shape is only seen in a body that was given others than it expected. */
        value->varies |=
            slot->seen_run + 1 == engine->n_runs && (slot->seen_varies || slot->is_static);
    }
    for (uint32_t i = 0; i < p->n_plans; i++)
        p->plans[i].graph->ran = p->plans[i].ran_varies ? AS_DIM_UNKNOWN : p->plans[i].n_ran;
}

int as_engine_loop(struct as_engine *engine, struct assay_error *err)
{
    struct as_exec_plan *p = &engine->p;
    const struct as_plan *plan = &p->plans[0];
    int rc = ASSAY_OK;

    for (size_t i = 0; i < engine->options.n_loops && rc == ASSAY_OK; i++) {
        const struct as_loop_pair *pair = &engine->options.loops[i];
        uint32_t in = find_slot(p, plan->in, plan->graph->n_inputs, pair->input);
        const struct as_val *from = NULL;
        struct as_val held;

        for (uint32_t o = 0; o < plan->graph->n_outputs; o++)
            if (plan->graph->outputs[o] != AS_NONE &&
                strcmp(p->model->values[plan->graph->outputs[o]].name, pair->output) == 0)
                from = as_engine_output(engine, o);
        if (in == AS_NONE || !from || !from->present)
            return as_fail(err, ASSAY_ERR_STATE, "output '%.80s' has no value yet", pair->output);
        if (!fits(&p->slots[in].type, from))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "output '%.60s' does not fit input '%.60s' of the next run",
                           pair->output, pair->input);
        if (p->slots[in].is_static) {
            memcpy(p->slots[in].val.data, from->data, (size_t)from->bytes);
            if (from->hold && from->hold->kind == AS_MEM_KV_CACHE)
                as_val_recount(from, AS_MEM_ACTIVATIONS); /* the state is the copy */
        } else {
            rc = as_val_share(&held, from, err);
            if (rc == ASSAY_OK) {
                as_val_drop(&p->slots[in].val);
                p->slots[in].val = held;
            }
        }
    }
    return rc;
}

/* ---- what is known of it ---- */

size_t as_engine_n_steps(const struct as_engine *engine)
{
    return engine->p.n_steps;
}

static uint64_t slot_bytes(const struct as_exec_plan *p, uint32_t id)
{
    const struct as_slot *slot = id == AS_NONE ? NULL : &p->slots[id];
    uint64_t bytes = 0;

    if (!slot || slot->is_static || slot->bytes > 0)
        return slot ? slot->bytes : 0;
    return slot->seen_dims && as_type_bytes(&slot->seen, &bytes) ? bytes : 0;
}

void as_engine_step(const struct as_engine *engine, size_t i, struct as_step_info *info)
{
    const struct as_exec_plan *p = &engine->p;
    const struct as_step *step = p->steps[i];
    size_t size = 0;

    *info = (struct as_step_info){.graph = step->graph,
                                  .sources = step->sources,
                                  .n_sources = step->n_sources,
                                  .kernel = step->impl,
                                  .why = step->why,
                                  .threads = step->threads ? step->threads : 1,
                                  .in_body = step->graph != p->plans[0].graph,
                                  .is_reorder = step->kind == AS_STEP_REORDER,
                                  .is_view = step->kind == AS_STEP_VIEW};
    info->layout = step->n_out && step->out[0] != AS_NONE && p->slots[step->out[0]].layout
                       ? p->slots[step->out[0]].layout->text
                       : "plain";
    for (uint32_t j = 0; j < step->n_in; j++) {
        info->bytes_in += slot_bytes(p, step->in[j]);
        if (as_slot_is_const(p, step->in[j]))
            info->weight_bytes += slot_bytes(p, step->in[j]);
    }
    for (uint32_t j = 0; j < step->n_out; j++)
        info->bytes_out += slot_bytes(p, step->out[j]);
    if (info->is_reorder) {
        info->name = p->slots[step->out[0]].name;
        info->op = "Reorder";
    } else {
        info->node = step->node;
        info->name = as_node_label(step->graph, step->node);
        info->op = step->spec == step->node ? step->node->op_name : as_op_name(step->op);
    }
    /* The text is of the step, not of the call: made anew, it is always the same. */
    union {
        const struct as_engine *given;
        struct as_engine *engine;
    } own = {.given = engine};
    own.engine->fused[0] = 0;
    for (uint32_t j = 0; j < step->n_post_ops && size < sizeof own.engine->fused; j++)
        size += (size_t)snprintf(own.engine->fused + size, sizeof own.engine->fused - size, "+%s",
                                 as_op_name(step->post_ops[j].op));
    info->fused = own.engine->fused;
}

const struct as_mem *as_engine_memory(const struct as_engine *engine)
{
    return &engine->p.mem;
}

void as_engine_reset_peaks(struct as_engine *engine)
{
    as_mem_reset_peaks(&engine->p.mem);
}

uint64_t as_engine_step_live_bytes(const struct as_engine *engine, size_t i)
{
    return engine->p.live_bytes[i];
}

void as_engine_rest(struct as_engine *engine)
{
    as_exec_drop_spares(&engine->p);
    if (engine->p.space)
        as_mem_give_back(engine->p.space, engine->p.space_bytes);
}

void as_engine_plan(const struct as_engine *engine, struct as_engine_plan *plan)
{
    const struct as_exec_plan *p = &engine->p;

    *plan = (struct as_engine_plan){.known = p->planned,
                                    .peak_bytes = p->planned_peak_bytes,
                                    .arena_bytes = p->space_bytes,
                                    .peak_step = p->planned_peak_step,
                                    .workspace_bytes = p->workspace_bytes};
    for (uint32_t i = 0; i < p->n_steps; i++) {
        plan->n_static += p->steps[i]->is_static;
        plan->n_dynamic += !p->steps[i]->is_static;
    }
}

const char *as_engine_library(const struct as_engine *engine, const char **why_not)
{
    if (why_not)
        *why_not = engine->p.why_not;
    return engine->p.has_library ? engine->p.library_name : NULL;
}

struct as_widened as_engine_widened(const struct as_engine *engine)
{
    return engine->p.widened;
}

uint64_t as_engine_shapes_ns(const struct as_engine *engine)
{
    return engine->p.shapes_ns;
}

int as_engine_record(struct as_engine *engine, struct assay_error *err)
{
    struct as_exec_plan *p = &engine->p;

    p->sites = as_arena_zero(&p->arena, (size_t)p->n_steps + 1, sizeof *p->sites);
    if (!p->sites)
        return as_fail_nomem(err);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        struct as_step_info info;
        struct assay_layer_info layer = {.size = sizeof layer};

        as_engine_step(engine, i, &info);
        p->sites[i] = assay_layer(info.name);
        layer.op = info.op;
        layer.bytes = (double)(info.bytes_in + info.bytes_out);
        if (p->sites[i] == 0)
            continue;
        if (assay_layer_describe(p->sites[i], &layer, err) < 0 ||
            assay_layer_set(p->sites[i], "kernel", info.kernel, err) < 0)
            return err ? err->code : ASSAY_ERR_IO;
    }
    return ASSAY_OK;
}
