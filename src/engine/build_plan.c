/* engine/build_plan.c - an execution plan from a graph whose shapes were inferred: one slot for
 * each value, one step for each node that has something to do. What cannot be run is reported here,
 * before anything is.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "engine/exec_plan.h"
#include "engine/op_needs.h"

struct building {
    struct as_exec_plan *p;
    uint32_t
        *same_as; /* value -> the slot that stands for it: outputs of an If that was opened up */
    struct as_graph **waiting; /* bodies whose plans are still to be made */
    uint32_t n_waiting;
    size_t capacity_waiting;
    uint16_t needs[AS_OP_COUNT];
    struct assay_error *err;
};

uint32_t as_exec_plan_slot(struct as_exec_plan *p, const char *name, const struct as_type *type)
{
    struct as_slot *slot;

    if (!AS_VEC_RESERVE(p->slots, p->n_slots, p->capacity_slots))
        return AS_NONE;
    slot = &p->slots[p->n_slots];
    *slot = (struct as_slot){.name = name,
                             .value = AS_NONE,
                             .type = type ? *type : AS_TYPE_UNKNOWN,
                             .seen = AS_TYPE_UNKNOWN,
                             .view_of = AS_NONE,
                             .alt = AS_NONE,
                             .offset = UINT64_MAX};
    return p->n_slots++;
}

struct as_plan *as_exec_plan_plan_of(const struct as_exec_plan *p, const struct as_graph *graph)
{
    for (uint32_t i = 0; i < p->n_plans; i++)
        if (p->plans[i].graph == graph)
            return &p->plans[i];
    return NULL;
}

struct as_step *as_plan_add(struct as_exec_plan *p, struct as_plan *plan, uint32_t n_in,
                            uint32_t n_out)
{
    uint32_t *slots = as_arena_zero(&p->arena, (size_t)n_in + n_out + 1, sizeof *slots);
    struct as_step *step;

    if (!AS_VEC_RESERVE(plan->steps, plan->n_steps, plan->capacity))
        return NULL;
    if (!slots)
        return NULL;
    step = &plan->steps[plan->n_steps++];
    *step = (struct as_step){
        .n_in = n_in, .n_out = n_out, .in = slots, .out = slots + n_in, .graph = plan->graph};
    return step;
}

static uint32_t stands_for(const struct building *b, uint32_t value)
{
    return value == AS_NONE ? AS_NONE : b->same_as[value];
}

static int wait_for(struct building *b, struct as_graph *body)
{
    if (!as_vec_reserve(&b->waiting, b->n_waiting, &b->capacity_waiting, sizeof(void *)))
        return as_fail_nomem(b->err);
    b->waiting[b->n_waiting++] = body;
    return ASSAY_OK;
}

static int cannot_run(const struct building *b, const struct as_graph *graph,
                      const struct as_node *node, const char *why)
{
    const char *domain = node->domain_name[0] ? node->domain_name : "ai.onnx";

    return as_fail(b->err, ASSAY_ERR_UNSUPPORTED,
                   "operator %.60s of node '%.60s' (domain %.40s, opset %lld) cannot be run: %s",
                   node->op_name, as_node_label(graph, node), domain,
                   (long long)as_model_opset_of(b->p->model, node), why);
}

static int64_t opset_of(const struct as_model *model, const struct as_node *node)
{
    int64_t opset = as_model_opset_of(model, node);

    if (opset > 0 || (as_domain_find(node->domain_name) != AS_DOMAIN_ONNX &&
                      as_op_domain(node->op) != AS_DOMAIN_ONNX))
        return opset;
    return model->format == AS_FORMAT_ONNX ? 7 : 21;
}

/* Everything it makes is known already. */
static bool is_done(const struct as_exec_plan *p, const struct as_node *node)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == AS_NONE)
            continue;
        if (!p->slots[node->outputs[i]].is_const)
            return false;
        n++;
    }
    return n > 0;
}

/* Recurrent operators may leave out any output, others give their first. */
static bool gives_first(const struct as_node *node)
{
    switch (node->op) {
    case AS_OP_LSTM:
    case AS_OP_GRU:
    case AS_OP_RNN:
    case AS_OP_MS_DynamicQuantizeLSTM:
    case AS_OP_If:
    case AS_OP_Loop:
    case AS_OP_Scan:
    case AS_OP_SequenceMap:
        return true;
    default:
        return node->n_outputs > 0 && node->outputs[0] != AS_NONE;
    }
}

static int check_node(const struct building *b, const struct as_graph *graph,
                      const struct as_node *node)
{
    const char *label = as_node_label(graph, node);

    for (uint32_t i = 0; b->needs[node->op] >> i; i++)
        if (b->needs[node->op] >> i & 1 && (i >= node->n_inputs || node->inputs[i] == AS_NONE))
            return as_fail(b->err, ASSAY_ERR_FORMAT,
                           "node '%.60s' (%.60s, opset %lld) cannot work: input %u is missing",
                           label, node->op_name, (long long)as_model_opset_of(b->p->model, node),
                           i);
    if (!gives_first(node))
        return as_fail(b->err, ASSAY_ERR_FORMAT,
                       "node '%.60s' (%.60s, opset %lld) cannot work: its first output is left out",
                       label, node->op_name, (long long)as_model_opset_of(b->p->model, node));
    /* Kernels look at each output themselves; a view has none. */
    for (uint32_t i = 1; b->p->kernels[node->op]->flags & AS_KERNEL_VIEW && i < node->n_outputs;
         i++)
        if (node->outputs[i] != AS_NONE)
            return as_fail(b->err, ASSAY_ERR_FORMAT,
                           "node '%.60s' (%.60s, opset %lld) cannot work: it has no output %u to "
                           "give",
                           label, node->op_name, (long long)as_model_opset_of(b->p->model, node),
                           i);
    return ASSAY_OK;
}

/* An activation that TensorFlow Lite keeps as an option of the operator before it. */
static int add_fused(const struct building *b, const struct as_node *node, struct as_step *step)
{
    static const char name[] = "fused_activation_function";
    static const struct {
        const char *name;
        struct as_post_op post;
    } known[] = {
        {"RELU", {AS_OP_Relu, 0, 0, AS_NONE}},
        {"RELU_N1_TO_1", {AS_OP_Clip, -1, 1, AS_NONE}},
        {"RELU6", {AS_OP_Clip, 0, 6, AS_NONE}},
        {"TANH", {AS_OP_Tanh, 0, 0, AS_NONE}},
    };

    if (!as_node_extra(node, name) || as_node_text_is(node, name, "NONE"))
        return ASSAY_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (as_node_text_is(node, name, known[i].name)) {
            step->post_ops[step->n_post_ops++] = known[i].post;
            return ASSAY_OK;
        }
    return cannot_run(b, step->graph, node, "there is no kernel for the activation fused to it");
}

static bool has_scales(const struct as_model *model, uint32_t id)
{
    return id != AS_NONE && model->values[id].quant;
}

static int add_node(struct building *b, struct as_plan *plan, const struct as_graph *graph,
                    const struct as_node *node)
{
    struct as_exec_plan *p = b->p;
    const struct as_kernel *kernel = p->kernels[node->op];
    struct as_step *step;
    int rc = ASSAY_OK;

    if (!kernel)
        return cannot_run(b, graph, node,
                          node->op == AS_OP_UNKNOWN ? "it is not known"
                                                    : "there is no kernel for it");
    rc = check_node(b, graph, node);
    if (rc < 0)
        return rc;
    step = as_plan_add(p, plan, node->n_inputs, node->n_outputs);
    if (step)
        step->sources = as_arena_zero(&p->arena, 1, sizeof(struct as_node *));
    if (!step || !step->sources)
        return as_fail_nomem(b->err);
    step->kind = kernel->flags & AS_KERNEL_VIEW ? AS_STEP_VIEW : AS_STEP_NODE;
    step->graph = graph;
    step->node = step->spec = step->sources[0] = node;
    step->n_sources = 1;
    /* Quantized tensors, channels that come last, orders and axes that are inputs: no pass and no
     * library may take a node of TensorFlow Lite for just what ONNX says of its operator. */
    step->op = as_node_is_lowered(node) ? AS_OP_UNKNOWN : node->op;
    step->opset = opset_of(p->model, node);
    step->kernel = kernel;
    step->impl = "plain C";
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        step->in[i] = stands_for(b, node->inputs[i]);
        step->is_quantized |= has_scales(p->model, node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        step->out[i] = node->outputs[i];
        step->is_quantized |= has_scales(p->model, node->outputs[i]);
    }
    for (uint32_t i = 0; i < node->n_attrs && rc == ASSAY_OK; i++)
        if (node->attrs[i].kind == AS_ATTR_GRAPH)
            rc = wait_for(b, node->attrs[i].graph);
    return rc < 0 ? rc : add_fused(b, node, step);
}

/* The side that an If takes, when that is known before the run; else NULL. */
static const struct as_graph *side_taken(const struct building *b, const struct as_node *node)
{
    uint32_t cond =
        node->op == AS_OP_If && node->n_inputs ? stands_for(b, node->inputs[0]) : AS_NONE;
    const struct as_slot *slot = cond == AS_NONE ? NULL : &b->p->slots[cond];
    uint8_t value = 0;

    if (!slot || !slot->is_const || !slot->data || slot->data->n != 1 ||
        slot->data->dtype != AS_DTYPE_BOOL || as_data_read(slot->data, 0, 1, &value, NULL) < 0)
        return NULL;
    return as_node_graph(node, value ? "then_branch" : "else_branch");
}

/* Depth is bounded by AS_MAX_GRAPH_DEPTH: as_model_link() has seen to it. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static int add_graph(struct building *b, struct as_plan *plan, const struct as_graph *graph)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++) {
        const struct as_node *node = &graph->nodes[i];
        const struct as_graph *side = side_taken(b, node);

        if (is_done(b->p, node))
            continue;
        if (!side) {
            rc = add_node(b, plan, graph, node);
            continue;
        }
        rc = add_graph(b, plan, side);
        for (uint32_t o = 0; o < node->n_outputs && o < side->n_outputs; o++)
            if (node->outputs[o] != AS_NONE)
                b->same_as[node->outputs[o]] = stands_for(b, side->outputs[o]);
    }
    return rc;
}

static int add_plan(struct building *b, struct as_graph *graph)
{
    struct as_exec_plan *p = b->p;
    struct as_plan *grown = as_realloc(p->plans, p->n_plans + 1, sizeof *grown);
    struct as_plan *plan;
    int rc;

    if (!grown)
        return as_fail_nomem(b->err);
    p->plans = grown;
    plan = &p->plans[p->n_plans++];
    *plan = (struct as_plan){.graph = graph};
    plan->in = as_arena_zero(&p->arena, (size_t)graph->n_inputs + 1, sizeof *plan->in);
    plan->out = as_arena_zero(&p->arena, (size_t)graph->n_outputs + 1, sizeof *plan->out);
    if (!plan->in || !plan->out)
        return as_fail_nomem(b->err);
    rc = add_graph(b, plan, graph);
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        plan->in[i] = graph->inputs[i];
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        plan->out[i] = stands_for(b, graph->outputs[i]);
    return rc;
}

/* Kernels know no quantized blocks, and a GGUF file means its halves to be computed with in f32. */
static void widen_type(struct as_exec_plan *p, struct as_slot *slot)
{
    unsigned dtype = slot->type.dtype;
    bool is_half = dtype == AS_DTYPE_F16 || dtype == AS_DTYPE_BF16;
    uint64_t stored;

    if (slot->type.kind != AS_VALUE_TENSOR || (as_dtype_at(dtype)->kind != AS_CLASS_BLOCK &&
                                               !(is_half && p->model->format == AS_FORMAT_GGUF)))
        return;
    if (slot->is_const && as_type_bytes(&slot->type, &stored))
        p->widened.stored_bytes += stored;
    slot->type.dtype = AS_DTYPE_F32;
    if (slot->is_const) {
        p->widened.n++;
        (void)as_type_bytes(&slot->type, &slot->bytes);
        p->widened.held_bytes += slot->bytes;
    }
}

static int make_slots(struct building *b)
{
    struct as_exec_plan *p = b->p;
    const struct as_model *model = p->model;

    b->same_as = as_alloc_zero((size_t)model->n_values + 1, sizeof *b->same_as);
    if (!b->same_as)
        return as_fail_nomem(b->err);
    for (uint32_t i = 0; i < model->n_values; i++) {
        const struct as_value *value = &model->values[i];
        uint32_t id = as_exec_plan_slot(p, value->name, &value->type);
        struct as_slot *slot;

        if (id == AS_NONE)
            return as_fail_nomem(b->err);
        slot = &p->slots[id];
        b->same_as[i] = id;
        slot->value = i;
        if (value->data && !value->data->partial && value->type.kind == AS_VALUE_TENSOR &&
            as_type_is_static(&value->type)) {
            slot->is_const = slot->is_static = true;
            slot->data = value->data;
            (void)as_type_bytes(&value->type, &slot->bytes);
        }
        widen_type(p, slot);
    }
    return ASSAY_OK;
}

/* What a body reads that it does not make itself, for the step that runs it. */
static bool is_made_in(const struct as_plan *plan, const struct as_exec_plan *p, uint32_t id,
                       const uint32_t *home)
{
    return home[id] == (uint32_t)(plan - p->plans);
}

static int note_capture(struct building *b, struct as_step *step, uint32_t id)
{
    uint32_t *grown;

    for (uint32_t i = 0; i < step->n_captures; i++)
        if (step->captures[i] == id)
            return ASSAY_OK;
    grown = as_arena_alloc(&b->p->arena, ((size_t)step->n_captures + 1) * sizeof *grown);
    if (!grown)
        return as_fail_nomem(b->err);
    if (step->n_captures)
        memcpy(grown, step->captures, step->n_captures * sizeof *grown);
    grown[step->n_captures++] = id;
    step->captures = grown;
    return ASSAY_OK;
}

/* What body `inner` reads from outside becomes a capture of the step that owns it. */
static int capture(struct building *b, struct as_step *owner, const struct as_plan *inner,
                   const uint32_t *home)
{
    const struct as_exec_plan *p = b->p;
    int rc = ASSAY_OK;

    for (uint32_t s = 0; s < inner->n_steps && rc == ASSAY_OK; s++) {
        const struct as_step *step = &inner->steps[s];

        for (uint32_t i = 0; i < step->n_in + step->n_captures && rc == ASSAY_OK; i++) {
            uint32_t id = i < step->n_in ? step->in[i] : step->captures[i - step->n_in];

            if (id != AS_NONE && !p->slots[id].is_const && !is_made_in(inner, p, id, home))
                rc = note_capture(b, owner, id);
        }
    }
    for (uint32_t i = 0; i < inner->graph->n_outputs && rc == ASSAY_OK; i++)
        if (inner->out[i] != AS_NONE && !p->slots[inner->out[i]].is_const &&
            !is_made_in(inner, p, inner->out[i], home))
            rc = note_capture(b, owner, inner->out[i]);
    return rc;
}

/* Inner plans come after outer ones, so going backwards an inner body's captures are known. */
static int find_captures(struct building *b)
{
    struct as_exec_plan *p = b->p;
    uint32_t *home = as_alloc_zero((size_t)p->n_slots + 1, sizeof *home);
    int rc = ASSAY_OK;

    if (!home)
        return as_fail_nomem(b->err);
    memset(home, 0xff, p->n_slots * sizeof *home);
    for (uint32_t i = 0; i < p->n_plans; i++) {
        const struct as_plan *plan = &p->plans[i];

        for (uint32_t j = 0; j < plan->graph->n_inputs; j++)
            if (plan->in[j] != AS_NONE)
                home[plan->in[j]] = i;
        for (uint32_t s = 0; s < plan->n_steps; s++)
            for (uint32_t o = 0; o < plan->steps[s].n_out; o++)
                if (plan->steps[s].out[o] != AS_NONE)
                    home[plan->steps[s].out[o]] = i;
    }
    for (uint32_t i = p->n_plans; i-- > 0 && rc == ASSAY_OK;)
        for (uint32_t s = 0; s < p->plans[i].n_steps && rc == ASSAY_OK; s++) {
            struct as_step *step = &p->plans[i].steps[s];

            for (uint32_t a = 0; a < step->node->n_attrs && rc == ASSAY_OK; a++) {
                const struct as_plan *inner =
                    step->node->attrs[a].kind == AS_ATTR_GRAPH
                        ? as_exec_plan_plan_of(p, step->node->attrs[a].graph)
                        : NULL;

                if (inner)
                    rc = capture(b, step, inner, home);
            }
        }
    as_free(home);
    return rc;
}

int as_exec_plan_build(struct as_exec_plan *p, struct assay_error *err)
{
    struct building b = {.p = p, .err = err};
    struct as_graph *graph = p->model->main;
    int rc;

    if (!p->model->has_graph || !graph)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "this file holds weights only: there is no graph to run");
    as_rules_collect(p->rules);
    as_op_needs(b.needs);
    for (unsigned op = 1; op < AS_OP_COUNT; op++)
        p->kernels[op] = as_kernel_find((enum as_op)op);
    rc = make_slots(&b);
    if (rc == ASSAY_OK)
        rc = add_plan(&b, graph);
    for (uint32_t i = 0; i < b.n_waiting && rc == ASSAY_OK; i++)
        rc = add_plan(&b, b.waiting[i]);
    if (rc == ASSAY_OK && p->n_plans > 1)
        rc = find_captures(&b);
    for (uint32_t i = 0; i < graph->n_inputs && rc == ASSAY_OK; i++)
        p->slots[graph->inputs[i]].is_input = p->model->values[graph->inputs[i]].is_input;
    for (uint32_t i = 0; i < graph->n_outputs && rc == ASSAY_OK; i++)
        if (p->plans[0].out[i] != AS_NONE)
            p->slots[p->plans[0].out[i]].is_output = true;
    as_free(b.same_as);
    as_free(b.waiting);
    if (rc == ASSAY_OK)
        as_exec_plan_count_uses(p);
    return rc;
}

void as_exec_plan_count_uses(struct as_exec_plan *p)
{
    for (uint32_t i = 0; i < p->n_slots; i++)
        p->slots[i].n_uses = p->slots[i].n_waiting = 0;
    for (uint32_t i = 0; i < p->n_plans; i++) {
        const struct as_plan *plan = &p->plans[i];

        for (uint32_t s = 0; s < plan->n_steps; s++) {
            const struct as_step *step = &plan->steps[s];

            for (uint32_t j = 0; j < step->n_in + step->n_captures && !step->dead; j++) {
                uint32_t id = j < step->n_in ? step->in[j] : step->captures[j - step->n_in];

                if (id != AS_NONE)
                    p->slots[id].n_uses++;
            }
        }
        for (uint32_t j = 0; i > 0 && j < plan->graph->n_outputs; j++)
            if (plan->out[j] != AS_NONE)
                p->slots[plan->out[j]].n_uses++;
    }
    for (uint32_t i = 0; i < p->n_slots; i++)
        p->slots[i].n_waiting = p->slots[i].n_uses;
}
