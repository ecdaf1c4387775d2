/* engine/exec.c - one execution of a plan: values come alive, kernels are called, values are
 * dropped. Steps of known shape only find their tensors in place; the others are asked for shapes
 * first. */
#include "engine/exec.h"

#include <string.h>

#include <assay/scope.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "engine/half.h"
#include "engine/kernels/quant/kern_quant.h"
#include "engine/step_threads.h"
#include "model/infer/infer.h"

enum { MAX_BODY_DEPTH = AS_MAX_GRAPH_DEPTH + 1 };

/* ---- values of steps ---- */

static void set_static(struct as_val *val, const struct as_slot *slot)
{
    struct as_dims dims = {0};

    *val = (struct as_val){0};
    /* Both were checked when the slot was found to be static. */
    if (!as_type_dims(&slot->type, &dims) || as_val_shape(val, slot->type.dtype, &dims, NULL) < 0)
        return;
    val->layout = slot->layout;
    if (slot->layout)
        val->bytes = slot->layout->bytes;
}

void as_exec_bind(struct as_exec_plan *p, bool apart)
{
    const struct as_plan *plan = &p->plans[0];

    for (uint32_t s = 0; s < plan->n_steps; s++)
        for (uint32_t i = 0; i < plan->steps[s].n_out; i++) {
            uint32_t id = plan->steps[s].out[i];
            struct as_slot *slot = id == AS_NONE ? NULL : &p->slots[id];

            if (!slot || !slot->is_static || slot->is_const)
                continue;
            as_val_drop(&slot->val);
            if (apart)
                continue;
            set_static(&slot->val, slot);
            if (!plan->steps[s].is_free && plan->steps[s].kind == AS_STEP_VIEW)
                continue;
            slot->val.data = slot->view_of == AS_NONE ? p->space + slot->offset
                                                      : p->slots[slot->view_of].val.data;
            slot->val.present = true;
        }
    p->apart = apart;
}

/* A static output outside the arena. */
static int make_apart(struct as_exec *x, struct as_slot *slot)
{
    enum as_mem_kind kind = slot->is_state ? AS_MEM_KV_CACHE : AS_MEM_ACTIVATIONS;
    struct as_dims dims;
    int rc;

    as_val_drop(&slot->val);
    if (!slot->layout) {
        (void)as_type_dims(&slot->type, &dims);
        return as_val_new(&slot->val, &x->p->mem, kind, slot->type.dtype, &dims, x->err);
    }
    dims = (struct as_dims){.rank = 1, .at = {(int64_t)slot->layout->bytes}};
    rc = as_val_new(&slot->val, &x->p->mem, kind, AS_DTYPE_U8, &dims, x->err);
    if (rc == ASSAY_OK) {
        struct as_hold *hold = slot->val.hold;

        set_static(&slot->val, slot);
        slot->val.hold = hold;
        slot->val.data = hold->block;
        slot->val.present = true;
    }
    return rc;
}

int as_exec_types(struct as_exec *x, const struct as_step *step, const struct as_val *const *ins,
                  struct as_type *out)
{
    const struct as_node *node = step->spec;
    struct as_exec_plan *p = x->p;
    struct as_type *in = as_arena_zero(&x->scratch, (size_t)node->n_inputs + 1, sizeof *in);
    struct as_data **data =
        as_arena_zero(&x->scratch, (size_t)node->n_inputs + 1, sizeof(struct as_data *));
    struct as_infer_now now = {.model = p->model,
                               .graph = p->model->values[0].graph,
                               .node = node,
                               .opset = step->opset,
                               .rule = &p->rules[node->op],
                               .arena = &x->scratch,
                               .in = in,
                               .in_data = data,
                               .out = out};
    uint64_t from = x->mode == AS_RUN_PROFILE ? as_clock_mono_ns() : 0;
    struct assay_error why = {0};
    union {
        const struct as_graph *given;
        struct as_graph *graph;
    } home = {.given = step->graph};
    int rc;

    if (!in || !data)
        return as_fail_nomem(x->err);
    now.graph = home.graph;
    for (uint32_t i = 0; i < node->n_inputs && i < step->n_in; i++) {
        const struct as_val *val = ins[i];

        if (!val)
            continue;
        as_val_type(val, &in[i]);
        if (val->kind == AS_VALUE_TENSOR && val->n <= AS_FOLD_MAX && !val->layout) {
            data[i] = as_data_over(&x->scratch, val->dtype, val->n, val->data);
            if (!data[i])
                return as_fail_nomem(x->err);
            if (val->dtype == AS_DTYPE_STRING)
                data[i]->texts = val->data;
        }
    }
    rc = now.rule->infer ? as_infer_now(&now, &why) : ASSAY_OK;
    if (x->mode == AS_RUN_PROFILE)
        p->shapes_ns += as_clock_mono_ns() - from;
    if (rc < 0 && strncmp(why.msg, "node ", 5) == 0)
        return as_fail(x->err, rc, "%s", why.msg);
    if (rc < 0)
        return as_fail(x->err, rc, "node '%.60s' (%s): %s", as_node_label(step->graph, node),
                       node->op_name, why.msg);
    return ASSAY_OK;
}

/* What is folded stays, and is made where it stays. */
static enum as_mem_kind kind_of(const struct as_exec *x, uint32_t slot)
{
    if (x->folds)
        return AS_MEM_PARAMETERS;
    return x->p->slots[slot].is_state ? AS_MEM_KV_CACHE : AS_MEM_ACTIVATIONS;
}

static int make_dynamic(struct as_exec *x, const struct as_step *step)
{
    struct as_type *out = as_arena_zero(&x->scratch, (size_t)step->n_out + 1, sizeof *out);
    struct as_dims dims;
    int rc;

    if (!out)
        return as_fail_nomem(x->err);
    rc = as_exec_types(x, step, step->ins, out);
    for (uint32_t i = 0; i < step->n_out && rc == ASSAY_OK; i++) {
        if (!step->outs[i])
            continue;
        if (!as_type_is_static(&out[i]) || !as_type_dims(&out[i], &dims) ||
            out[i].dtype == AS_DTYPE_UNKNOWN)
            return as_fail(x->err, ASSAY_ERR_UNSUPPORTED,
                           "node '%.60s' (%s): the shape of its output %u could not be worked out",
                           as_node_label(step->graph, step->node), step->node->op_name, i);
        as_val_drop(step->outs[i]);
        rc = as_val_new(step->outs[i], &x->p->mem, kind_of(x, step->out[i]), out[i].dtype, &dims,
                        x->err);
    }
    return rc;
}

/* ---- kernels ---- */

#define MOST_SPARE (16u << 20)

static void *take_spare(struct as_exec_plan *p, uint64_t bytes)
{
    for (size_t i = 0; i < AS_SPARES; i++)
        if (p->spares[i].block && p->spares[i].bytes == bytes) {
            void *block = p->spares[i].block;

            p->spares[i].block = NULL;
            as_mem_beside_sub(&p->mem, bytes);
            as_mem_add(&p->mem, AS_MEM_WORKSPACE, bytes);
            return block;
        }
    return NULL;
}

static void drop_spare(struct as_exec_plan *p, struct as_spare *spare)
{
    if (spare->block)
        as_mem_beside_sub(&p->mem, spare->bytes);
    as_free(spare->block);
    spare->block = NULL;
}

static void give_back(struct as_exec_plan *p, void *block, uint64_t bytes)
{
    struct as_spare *spare = &p->spares[p->next_spare++ % AS_SPARES];

    as_mem_sub(&p->mem, AS_MEM_WORKSPACE, bytes);
    for (size_t i = 0; spare->block && i < AS_SPARES; i++)
        if (!p->spares[i].block)
            spare = &p->spares[i];
    drop_spare(p, spare);
    if (bytes > MOST_SPARE || !as_mem_beside(&p->mem, bytes)) {
        as_free(block);
        return;
    }
    *spare = (struct as_spare){block, bytes};
}

void as_exec_drop_spares(struct as_exec_plan *p)
{
    for (size_t i = 0; i < AS_SPARES; i++)
        drop_spare(p, &p->spares[i]);
}

void *as_kernel_work(struct as_kernel_ctx *k, uint64_t count, uint64_t size)
{
    struct as_work *work = as_arena_zero(k->scratch, 1, sizeof *work);
    uint64_t bytes;

    if (!work || !as_mul_u64(count, size, &bytes)) {
        as_fail_nomem(k->err);
        return NULL;
    }
    work->block = take_spare(k->exec->p, bytes);
    if (!work->block)
        work->block = as_mem_alloc(k->mem, AS_MEM_WORKSPACE, bytes);
    if (!work->block) { /* what is kept for others may be what is missing */
        as_exec_drop_spares(k->exec->p);
        work->block = as_mem_alloc(k->mem, AS_MEM_WORKSPACE, bytes);
    }
    if (!work->block) {
        as_fail(k->err, ASSAY_ERR_NOMEM, "no working memory of %llu bytes for node '%.60s'",
                (unsigned long long)bytes, as_node_label(k->graph, k->node));
        return NULL;
    }
    work->bytes = bytes;
    work->next = k->exec->works;
    k->exec->works = work;
    return work->block;
}

static void drop_works(struct as_exec *x, const struct as_work *until)
{
    while (x->works != until) {
        give_back(x->p, x->works->block, x->works->bytes);
        x->works = x->works->next;
    }
}

void as_kernel_parallel(struct as_kernel_ctx *k, uint64_t n, uint64_t grain, as_kernel_work_fn work,
                        void *arg)
{
    as_thread_pool_run(k->threads != 1 ? k->exec->p->pool : NULL, n, grain, work, arg);
}

uint64_t as_kernel_seed(const struct as_kernel_ctx *k)
{
    uint64_t z = k->exec->p->options->seed + 0x9e3779b97f4a7c15u * (k->exec->run + 1);

    z ^= (uint64_t)(k->node - k->graph->nodes) * 0xd1342543de82ef95u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Kernels are never given kinds of values that they do not know. */
static int check_kinds(struct as_kernel_ctx *k, const struct as_kernel *kernel)
{
    for (size_t i = 0; i < k->n_in; i++) {
        const struct as_val *in = k->in[i];

        if (!in)
            continue;
        if (in->kind != AS_VALUE_TENSOR && !(kernel->flags & AS_KERNEL_LISTS))
            return as_kernel_fail(k, "input %zu is not a tensor", i);
        if (in->kind == AS_VALUE_TENSOR && in->dtype == AS_DTYPE_STRING &&
            !(kernel->flags & AS_KERNEL_TEXT))
            return as_kernel_cannot(k, "input %zu holds texts", i);
    }
    return ASSAY_OK;
}

static int run_plain(struct as_exec *x, struct as_step *step)
{
    struct as_exec_plan *p = x->p;
    const struct as_work *before = x->works;
    struct as_kernel_ctx k = {.graph = step->graph,
                              .node = step->spec,
                              .opset = step->opset,
                              .n_in = step->n_in,
                              .n_out = step->n_out,
                              .in = step->ins,
                              .out = step->outs,
                              .exec = x,
                              .scratch = &x->scratch,
                              .mem = &p->mem,
                              .threads = step->threads ? step->threads : p->options->threads,
                              .err = x->err};
    int rc;

    if (!step->is_static)
        k.threads = step->threads = as_step_threads_now(p, step, false);
    rc = check_kinds(&k, step->kernel);
    if (rc < 0)
        return rc;
    if (!step->is_static && p->has_library && as_provider_onednn.run_now) {
        rc = as_provider_onednn.run_now(p, step, &k);
        if (rc != 0) {
            drop_works(x, before);
            return rc < 0 ? rc : ASSAY_OK;
        }
    }
    if (step->is_quantized && as_quant_applies(&k)) {
        rc = as_quant_run(&k, step);
    } else {
        rc = as_half_run(&k, step->kernel);
        if (rc == ASSAY_OK && as_step_has_post_ops(step))
            rc = as_post_ops_apply(&k, step);
    }
    for (uint32_t i = 0; i < step->n_out && rc == ASSAY_OK; i++) {
        if (step->outs[i] && !step->outs[i]->present)
            rc = as_kernel_fail(&k, "it has no output %u to give", i);
        else if (step->outs[i])
            rc = as_val_count_texts(step->outs[i], x->err);
    }
    drop_works(x, before);
    return rc;
}

/* Another shape for the same numbers. */
static int run_view(struct as_exec *x, const struct as_step *step, bool dynamic)
{
    struct as_type *out = as_arena_zero(&x->scratch, (size_t)step->n_out + 1, sizeof *out);
    struct as_val *to = step->outs[0];
    struct as_val shape = {0};
    struct as_dims dims;
    int rc = out ? ASSAY_OK : as_fail_nomem(x->err);

    if (rc == ASSAY_OK && !to)
        return ASSAY_OK;
    if (rc == ASSAY_OK && dynamic)
        rc = as_exec_types(x, step, step->ins, out);
    else if (rc == ASSAY_OK)
        out[0] = x->p->slots[step->out[0]].type;
    if (rc < 0)
        return rc;
    if (!step->ins[0])
        return as_fail(x->err, ASSAY_ERR_FORMAT, "node '%.60s' (%s): its input is missing",
                       as_node_label(step->graph, step->node), step->node->op_name);
    if (step->ins[0]->kind != AS_VALUE_TENSOR) {
        if (step->node->op != AS_OP_Identity)
            return as_fail(x->err, ASSAY_ERR_FORMAT, "node '%.60s' (%s): its input is not a tensor",
                           as_node_label(step->graph, step->node), step->node->op_name);
        as_val_drop(to);
        return as_val_share(to, step->ins[0], x->err);
    }
    if (!as_type_dims(&out[0], &dims))
        return as_fail(x->err, ASSAY_ERR_UNSUPPORTED,
                       "node '%.60s' (%s): the shape of its output could not be worked out",
                       as_node_label(step->graph, step->node), step->node->op_name);
    rc = as_val_shape(&shape, step->ins[0]->dtype, &dims, x->err);
    if (rc == ASSAY_OK && shape.n != step->ins[0]->n)
        rc = as_fail(x->err, ASSAY_ERR_FORMAT, "node '%.60s' (%s) makes %llu elements of %llu",
                     as_node_label(step->graph, step->node), step->node->op_name,
                     (unsigned long long)shape.n, (unsigned long long)step->ins[0]->n);
    if (rc < 0)
        return rc;
    as_val_drop(to);
    rc = as_val_share(to, step->ins[0], x->err);
    if (rc < 0)
        return rc;
    to->rank = shape.rank;
    memcpy(to->dims, shape.dims, sizeof shape.dims);
    return ASSAY_OK;
}

/* An input that a kernel counts on and that was never made. */
static int check_inputs(const struct as_exec *x, const struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_in; i++)
        if (step->ins[i] && !step->ins[i]->present && !x->p->slots[step->in[i]].is_const)
            return as_fail(x->err, ASSAY_ERR_STATE, "node '%.60s' (%s): input %u has no value",
                           as_node_label(step->graph, step->node), step->node->op_name, i);
    return ASSAY_OK;
}

static bool is_of_type(const struct as_val *val, const struct as_type *type)
{
    if (val->kind != AS_VALUE_TENSOR || val->dtype != type->dtype || val->rank != type->rank)
        return false;
    for (int i = 0; i < val->rank; i++)
        if (val->dims[i] != type->dims[i])
            return false;
    return true;
}

/* A shape that was not known before is kept: the last one, and whether there were others. */
static int note_shape(struct as_exec *x, struct as_slot *slot, const struct as_val *val)
{
    if (val->kind != AS_VALUE_TENSOR)
        return ASSAY_OK;
    if (!slot->seen_dims) {
        int64_t *dims = as_arena_zero(&x->p->arena, AS_MAX_RANK, sizeof *dims);

        if (!dims)
            return as_fail_nomem(x->err);
        slot->seen = AS_TYPE_UNKNOWN;
        slot->seen.dims = slot->seen_dims = dims;
    } else if (slot->seen_run != x->run) {
        slot->seen_varies = false;
    } else if (!is_of_type(val, &slot->seen)) {
        slot->seen_varies = true;
    }
    slot->seen_run = x->run;
    slot->seen.rank = val->rank;
    slot->seen.dtype = val->dtype;
    memcpy(slot->seen_dims, val->dims, (size_t)val->rank * sizeof *val->dims);
    return ASSAY_OK;
}

static int note_shapes(struct as_exec *x, const struct as_step *step)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < step->n_out && rc == ASSAY_OK; i++)
        if (step->outs[i])
            rc = note_shape(x, &x->p->slots[step->out[i]], step->outs[i]);
    return rc;
}

/* What a body made, or another view of a tensor, becomes state when the output is one. Where sizes
 * are planned the plan says what each tensor is. */
static void claim_states(const struct as_exec *x, const struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_out && !x->p->planned; i++) {
        const struct as_hold *hold = step->outs[i] ? step->outs[i]->hold : NULL;

        if (hold && hold->kind == AS_MEM_ACTIVATIONS && hold->mem == &x->p->mem &&
            kind_of(x, step->out[i]) == AS_MEM_KV_CACHE)
            as_val_recount(step->outs[i], AS_MEM_KV_CACHE);
    }
}

static int run_step(struct as_exec *x, struct as_step *step)
{
    bool fixed = step->is_static && x->forced == 0;
    bool placed = fixed && x->depth == 0 && x->mode != AS_RUN_MEMORY;
    int rc = ASSAY_OK;

    if (placed) {
        if (step->kind == AS_STEP_VIEW)
            return step->is_free ? ASSAY_OK : run_view(x, step, false);
        return step->provider ? step->provider->run(x->p, step, x->err) : run_plain(x, step);
    }
    rc = check_inputs(x, step);
    if (rc < 0)
        return rc;
    if (step->kind == AS_STEP_VIEW) {
        rc = run_view(x, step, !fixed);
        if (rc == ASSAY_OK)
            claim_states(x, step);
        return rc < 0 || fixed ? rc : note_shapes(x, step);
    }
    if (fixed) {
        for (uint32_t i = 0; i < step->n_out && rc == ASSAY_OK; i++)
            if (step->outs[i])
                rc = make_apart(x, &x->p->slots[step->out[i]]);
        if (rc == ASSAY_OK && step->provider)
            return step->provider->run(x->p, step, x->err);
    } else if (!(step->kernel->flags & AS_KERNEL_MAKES_OUT)) {
        rc = make_dynamic(x, step);
    }
    if (rc == ASSAY_OK)
        rc = run_plain(x, step);
    if (rc == ASSAY_OK && step->kernel->flags & AS_KERNEL_MAKES_OUT)
        claim_states(x, step);
    return rc < 0 || fixed ? rc : note_shapes(x, step);
}

static void drop_dead(struct as_exec *x, const struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_drops; i++) {
        struct as_slot *slot = &x->p->slots[step->drops[i]];

        if (slot->val.hold || slot->val.elems || x->mode == AS_RUN_MEMORY || x->depth > 0)
            if (!slot->is_const)
                as_val_drop(&slot->val);
    }
}

static void note_live(struct as_exec *x, const struct as_step *step)
{
    uint64_t live = x->p->mem.of[AS_MEM_ACTIVATIONS].current_bytes;

    if (live > x->p->live_bytes[step->index])
        x->p->live_bytes[step->index] = live;
}

/* NOLINTNEXTLINE(misc-no-recursion): bodies are at most MAX_BODY_DEPTH deep */
static int run_steps(struct as_exec *x, const struct as_plan *plan)
{
    int rc = ASSAY_OK;

    for (uint32_t s = 0; s < plan->n_steps && rc == ASSAY_OK; s++) {
        struct as_step *step = &plan->steps[s];

        rc = run_step(x, step);
        if (x->mode == AS_RUN_MEMORY)
            note_live(x, step);
        drop_dead(x, step);
        if (x->depth == 0 && x->scratch.used_bytes > 0 && !x->works)
            as_arena_fini(&x->scratch);
    }
    return rc;
}

/* The same, with the time of every step. The end of one is the beginning of the next. */
/* NOLINTNEXTLINE(misc-no-recursion): as above */
static int profile_steps(struct as_exec *x, const struct as_plan *plan)
{
    const uint32_t *sites = x->p->sites;
    uint64_t begin = as_clock_mono_ns();
    int rc = ASSAY_OK;

    for (uint32_t s = 0; s < plan->n_steps && rc == ASSAY_OK; s++) {
        struct as_step *step = &plan->steps[s];
        uint64_t outer = x->inner_ns, end;

        if (step->is_free && x->depth == 0)
            continue;
        x->inner_ns = 0;
        if (sites)
            assay_begin(sites[step->index]);
        rc = run_step(x, step);
        drop_dead(x, step);
        if (x->depth == 0 && x->scratch.used_bytes > 0 && !x->works)
            as_arena_fini(&x->scratch);
        if (sites)
            assay_end(sites[step->index]);
        end = as_clock_mono_ns();
        x->samples[step->index].calls++;
        x->samples[step->index].self_ns += end - begin - x->inner_ns;
        x->inner_ns = outer + (end - begin);
        begin = end;
    }
    return rc;
}

/* ---- bodies ---- */

static bool is_as_prepared(const struct as_slot *slot, const struct as_val *val)
{
    return !slot->is_static || slot->is_const || is_of_type(val, &slot->type);
}

static void drop_body(struct as_exec *x, const struct as_plan *plan)
{
    for (uint32_t i = 0; i < plan->graph->n_inputs; i++)
        as_val_drop(&x->p->slots[plan->in[i]].val);
    for (uint32_t s = 0; s < plan->n_steps; s++)
        for (uint32_t i = 0; i < plan->steps[s].n_out; i++)
            if (plan->steps[s].out[i] != AS_NONE)
                as_val_drop(&x->p->slots[plan->steps[s].out[i]].val);
}

static int give_outputs(struct as_exec *x, const struct as_plan *plan, struct as_val *outs,
                        size_t n_outs)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; i < n_outs; i++)
        outs[i] = (struct as_val){0};
    for (size_t i = 0; i < n_outs && i < plan->graph->n_outputs && rc == ASSAY_OK; i++) {
        const struct as_slot *slot = plan->out[i] == AS_NONE ? NULL : &x->p->slots[plan->out[i]];

        if (slot && slot->val.present)
            rc = as_val_share(&outs[i], &slot->val, x->err);
    }
    return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
int as_kernel_body(struct as_kernel_ctx *k, const struct as_graph *body,
                   const struct as_val *const *ins, size_t n_ins, struct as_val *outs,
                   size_t n_outs)
{
    struct as_exec *x = k->exec;
    struct as_plan *plan = as_exec_plan_plan_of(x->p, body);
    struct as_arena outer = x->scratch;
    bool forced = false;
    int rc = ASSAY_OK;

    if (!plan)
        return as_kernel_fail(k, "its body is not there");
    if (x->depth >= MAX_BODY_DEPTH)
        return as_kernel_fail(k, "its bodies are too deep");
    if (n_ins < body->n_inputs)
        return as_kernel_fail(k, "its body has %u inputs, and %zu are given", body->n_inputs,
                              n_ins);
    for (uint32_t i = 0; i < body->n_inputs && rc == ASSAY_OK; i++) {
        struct as_slot *slot = &x->p->slots[plan->in[i]];

        as_val_drop(&slot->val);
        if (!ins[i])
            continue;
        rc = as_val_share(&slot->val, ins[i], x->err);
        forced = forced || !is_as_prepared(slot, &slot->val);
        if (rc == ASSAY_OK && !slot->is_static)
            rc = note_shape(x, slot, &slot->val);
    }
    plan->n_ran++;
    x->depth++;
    x->forced += forced;
    x->scratch = (struct as_arena){0}; /* emptied after each round, of which there may be many */
    if (rc == ASSAY_OK)
        rc = x->mode == AS_RUN_PROFILE ? profile_steps(x, plan) : run_steps(x, plan);
    if (rc == ASSAY_OK)
        rc = give_outputs(x, plan, outs, n_outs);
    as_arena_fini(&x->scratch);
    x->scratch = outer;
    x->forced -= forced;
    x->depth--;
    drop_body(x, plan);
    return rc;
}

/* ---- a whole run ---- */

static void drop_made(struct as_exec *x, bool all)
{
    struct as_exec_plan *p = x->p;

    for (uint32_t i = 0; i < p->n_plans; i++)
        for (uint32_t s = 0; s < p->plans[i].n_steps; s++)
            for (uint32_t o = 0; o < p->plans[i].steps[s].n_out; o++) {
                uint32_t id = p->plans[i].steps[s].out[o];

                if (id != AS_NONE && !p->slots[id].is_const &&
                    (all || p->slots[id].val.hold || p->slots[id].val.elems))
                    as_val_drop(&p->slots[id].val);
            }
}

int as_exec_run(struct as_exec *x)
{
    struct as_exec_plan *p = x->p;
    bool apart = x->mode == AS_RUN_MEMORY;
    const struct as_plan *plan = &p->plans[0];
    int rc;

    if (apart || apart != p->apart) {
        drop_made(x, true);
        as_exec_bind(p, apart);
        if (apart)
            memset(p->live_bytes, 0, p->n_steps * sizeof *p->live_bytes);
    } else {
        for (uint32_t i = 0; i < plan->graph->n_outputs; i++) {
            struct as_slot *slot = plan->out[i] == AS_NONE ? NULL : &p->slots[plan->out[i]];

            if (slot && !slot->is_const && !slot->is_input && (slot->val.hold || slot->val.elems))
                as_val_drop(&slot->val);
        }
    }
    for (uint32_t i = 0; i < p->n_plans; i++) {
        p->plans[i].n_before = p->plans[i].n_ran;
        p->plans[i].n_ran = i == 0;
    }
    if (p->has_library && as_provider_onednn.begin)
        as_provider_onednn.begin(p);
    if (x->mode == AS_RUN_PROFILE) {
        memset(x->samples, 0, p->n_steps * sizeof *x->samples);
        p->shapes_ns = 0;
        rc = profile_steps(x, plan);
    } else {
        rc = run_steps(x, plan);
    }
    if (p->has_library && as_provider_onednn.end)
        as_provider_onednn.end(p);
    for (uint32_t i = 0; i < p->n_plans && x->run > 0; i++)
        p->plans[i].ran_varies |= p->plans[i].n_ran != p->plans[i].n_before;
    drop_works(x, NULL);
    as_arena_fini(&x->scratch);
    if (rc < 0) {
        drop_made(x, false);
        as_exec_bind(p, false);
    }
    return rc;
}

/* ---- constants ---- */

static bool is_foldable(const struct as_exec_plan *p, const struct as_step *step)
{
    if (step->kernel->flags & AS_KERNEL_RANDOM || step->n_captures > 0)
        return false;
    for (uint32_t i = 0; i < step->node->n_attrs; i++)
        if (step->node->attrs[i].kind == AS_ATTR_GRAPH)
            return false;
    for (uint32_t i = 0; i < step->n_in; i++)
        if (step->in[i] != AS_NONE && !p->slots[step->in[i]].is_const)
            return false;
    return true;
}

/* What it made, as constants; a sequence stays a step of the run. */
static int keep_made(struct as_exec *x, struct as_step *step)
{
    for (uint32_t i = 0; i < step->n_out; i++)
        if (step->outs[i] && step->outs[i]->kind != AS_VALUE_TENSOR)
            return ASSAY_OK;
    for (uint32_t i = 0; i < step->n_out; i++) {
        struct as_val *val = step->outs[i];
        struct as_slot *slot = val ? &x->p->slots[step->out[i]] : NULL;
        struct as_dims dims;

        if (!slot)
            continue;
        as_val_dims(val, &dims);
        if (!as_type_tensor(&slot->type, &x->p->arena, val->dtype, &dims))
            return as_fail_nomem(x->err);
        slot->is_const = slot->is_static = true;
        slot->bytes = val->bytes;
        if (val->hold && val->hold->kind != AS_MEM_PARAMETERS && val->dtype != AS_DTYPE_STRING) {
            struct as_val kept;
            int rc = as_val_new(&kept, &x->p->mem, AS_MEM_PARAMETERS, val->dtype, &dims, x->err);

            if (rc < 0)
                return rc;
            memcpy(kept.data, val->data, (size_t)val->bytes);
            as_val_drop(val);
            *val = kept;
        } else {
            as_val_recount(val, AS_MEM_PARAMETERS); /* texts stay where they are */
        }
    }
    step->dead = true;
    return ASSAY_OK;
}

/* A kernel sees its inputs whole: while one is folded, what goes in and what comes out are both in
 * memory. What went in goes at once when nobody else waits for it. */
static int fold_step(struct as_exec *x, struct as_step *step)
{
    struct as_exec_plan *p = x->p;
    const struct as_val *ins[64] = {NULL};
    struct as_val *outs[64] = {NULL};
    int rc = ASSAY_OK;

    if (step->n_in > 64 || step->n_out > 64)
        return ASSAY_OK;
    for (uint32_t i = 0; i < step->n_in && rc == ASSAY_OK; i++) {
        ins[i] = step->in[i] == AS_NONE ? NULL : as_exec_plan_constant(p, step->in[i], x->err);
        if (step->in[i] != AS_NONE && !ins[i])
            rc = x->err->code ? x->err->code : ASSAY_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < step->n_out; i++)
        outs[i] = step->out[i] == AS_NONE ? NULL : &p->slots[step->out[i]].val;
    step->ins = ins;
    step->outs = outs;
    x->forced = 1;
    if (rc == ASSAY_OK)
        rc = run_step(x, step);
    if (rc == ASSAY_OK)
        rc = keep_made(x, step);
    for (uint32_t i = 0; i < step->n_out && !step->dead; i++)
        if (outs[i])
            as_val_drop(outs[i]);
    for (uint32_t i = 0; i < step->n_in; i++)
        if (step->in[i] != AS_NONE)
            as_exec_plan_constant_done(p, step->in[i]);
    step->ins = NULL;
    step->outs = NULL;
    drop_works(x, NULL);
    as_arena_fini(&x->scratch);
    return rc;
}

int as_exec_fold(struct as_exec_plan *p, struct assay_error *err)
{
    struct as_exec x = {.p = p, .err = err, .folds = true};
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < p->n_plans && rc == ASSAY_OK; i++)
        for (uint32_t s = 0; s < p->plans[i].n_steps && rc == ASSAY_OK; s++)
            if (is_foldable(p, &p->plans[i].steps[s]))
                rc = fold_step(&x, &p->plans[i].steps[s]);
    as_exec_plan_count_uses(p);
    return rc;
}
