/* model/infer/rules/rules_control.c - shape rules of If, Scan and SequenceMap; Loop is in
 * rules_loop.c. Each says in graph->times how often a body runs, or that it is not known. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"
#include "model/infer/infer_subgraph.h"

#include <string.h>

static void find_branch(const struct as_infer *ctx, const char *text)
{
    if (ctx->again == 0)
        as_model_find(ctx->model, AS_FINDING_BRANCH, as_node_label(ctx->graph, ctx->node),
                      ctx->node->op_name, "%s", text);
}

/* ---- If ---- */

static int take_branch(struct as_infer *ctx, struct as_graph *taken, struct as_graph *other)
{
    bool ran;
    int rc;

    taken->times = 1;
    other->times = 0;
    rc = as_body_run(ctx, taken, false, &ran);
    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK && ran; i++) {
        const struct as_value *from = as_body_output(taken, i);
        struct as_value *to = as_node_output(ctx->graph, ctx->node, i);

        rc = as_out_type(ctx, i, &from->type);
        if (to)
            to->data = from->data;
    }
    return rc;
}

static int take_both(struct as_infer *ctx, struct as_graph *one, struct as_graph *two)
{
    bool ran_one = false, ran_two = false;
    int rc;

    one->times = two->times = AS_DIM_UNKNOWN;
    find_branch(ctx, "which branch runs depends on data; the one with more known FLOPs is counted");
    ctx->unsure++;
    rc = as_body_run(ctx, one, false, &ran_one);
    if (rc == ASSAY_OK)
        rc = as_body_run(ctx, two, false, &ran_two);
    ctx->unsure--;
    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK && ran_one && ran_two; i++) {
        struct as_type merged;

        if (!as_type_merge(ctx->arena, &as_body_output(one, i)->type, &as_body_output(two, i)->type,
                           &merged))
            return as_fail_nomem(ctx->err);
        rc = as_out_type(ctx, i, &merged);
    }
    return rc;
}

static int infer_if(struct as_infer *ctx)
{
    struct as_graph *yes = as_node_graph(ctx->node, "then_branch");
    struct as_graph *no = as_node_graph(ctx->node, "else_branch");
    int64_t condition;

    if (!yes || !no)
        return as_conflict(ctx, "a branch is missing");
    if (yes->n_outputs < ctx->node->n_outputs || no->n_outputs < ctx->node->n_outputs)
        return as_conflict(ctx, "a branch gives fewer outputs than the node has");
    if (as_in_int(ctx, 0, &condition))
        return take_branch(ctx, condition ? yes : no, condition ? no : yes);
    return take_both(ctx, yes, no);
}

/* ---- Scan ---- */

struct scan {
    struct as_graph *body;
    size_t n_scan, n_state, n_outs; /* scanned inputs, carried states, scanned outputs */
    size_t first;                   /* input where the states begin */
    bool batched;                   /* opset 8: axis 0 is a batch, axis 1 the sequence */
    int64_t batch, steps;
};

static int axis_in(const struct as_node *node, const char *list, size_t k, int64_t *axis)
{
    struct as_ints axes;

    *axis = 0;
    if (!as_node_ints(node, list, &axes) || axes.n == 0)
        return ASSAY_OK;
    if (k >= axes.n)
        return -1;
    *axis = axes.at[k];
    return ASSAY_OK;
}

/* Two lengths that must agree. */
static int agree(struct as_infer *ctx, int64_t *known, int64_t dim, const char *what)
{
    if (dim == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    if (*known != AS_DIM_UNKNOWN && *known != dim)
        return as_conflict(ctx, "the scanned inputs have %s of %lld and %lld", what,
                           (long long)*known, (long long)dim);
    *known = dim;
    return ASSAY_OK;
}

/* Sets one scanned input of the body: a slice of the whole. */
static int set_scanned(struct as_infer *ctx, struct scan *s, size_t k)
{
    const struct as_type *type = as_in_type(ctx, s->first + s->n_state + k);
    struct as_type slice;
    struct as_dims dims;
    int64_t said;
    int axis, rc;

    slice = AS_TYPE_UNKNOWN;
    if (type && !as_type_dims(type, &dims)) {
        slice.dtype = type->kind == AS_VALUE_TENSOR ? type->dtype : (uint8_t)AS_DTYPE_UNKNOWN;
    } else if (type) {
        if (axis_in(ctx->node, "scan_input_axes", k, &said) < 0)
            return as_conflict(ctx, "scan_input_axes is shorter than the scanned inputs");
        if (!as_axis(s->batched ? 1 : said, dims.rank, &axis))
            return as_conflict(ctx, "axis %lld of a scanned input of %d dimensions",
                               s->batched ? 1LL : (long long)said, dims.rank);
        rc = agree(ctx, &s->steps, dims.at[axis], "lengths");
        if (rc == ASSAY_OK && s->batched)
            rc = agree(ctx, &s->batch, dims.at[0], "batches");
        if (rc < 0)
            return rc;
        if (!as_type_without_axis(ctx->arena, type, axis, &slice) ||
            (s->batched && !as_type_without_axis(ctx->arena, &slice, 0, &slice)))
            return as_fail_nomem(ctx->err);
    }
    as_body_set(s->body, s->n_state + k, &slice, NULL);
    return ASSAY_OK;
}

static int state_types(struct as_infer *ctx, struct scan *s, struct as_type *types)
{
    for (size_t k = 0; k < s->n_state; k++) {
        const struct as_type *type = as_in_type(ctx, s->first + k);
        struct as_dims dims;

        types[k] = type ? *type : AS_TYPE_UNKNOWN;
        if (!s->batched)
            continue;
        if (as_type_dims(&types[k], &dims) && dims.rank > 0) {
            int rc = agree(ctx, &s->batch, dims.at[0], "batches");

            if (rc < 0)
                return rc;
        }
        if (!as_type_without_axis(ctx->arena, &types[k], 0, &types[k]))
            return as_fail_nomem(ctx->err);
    }
    return ASSAY_OK;
}

static int scan_outputs(struct as_infer *ctx, const struct scan *s, const struct as_type *states)
{
    int rc = ASSAY_OK;

    for (size_t k = 0; k < s->n_state + s->n_outs && rc == ASSAY_OK; k++) {
        bool scanned = k >= s->n_state;
        struct as_type type = scanned ? as_body_output(s->body, k)->type : states[k];
        struct as_dims dims;
        int64_t said = 0;
        int axis = 0;

        if (scanned && !s->batched && as_type_dims(&type, &dims)) {
            if (axis_in(ctx->node, "scan_output_axes", k - s->n_state, &said) < 0 ||
                !as_axis(said, dims.rank + 1, &axis))
                return as_conflict(ctx, "scan_output_axes does not fit its outputs");
        }
        if (scanned && !as_type_with_axis(ctx->arena, &type, axis, s->steps, &type))
            return as_fail_nomem(ctx->err);
        if (s->batched && !as_type_with_axis(ctx->arena, &type, 0, s->batch, &type))
            return as_fail_nomem(ctx->err);
        rc = as_out_type(ctx, k, &type);
    }
    return rc;
}

static int open_scan(struct as_infer *ctx, struct scan *s)
{
    int64_t n_scan = as_node_int(ctx->node, "num_scan_inputs", 0);
    size_t n_inputs = ctx->node->n_inputs;

    s->body = as_node_graph(ctx->node, "body");
    s->batched = ctx->opset > 0 && ctx->opset < 9;
    s->first = s->batched ? 1 : 0;
    s->batch = s->steps = AS_DIM_UNKNOWN;
    if (!s->body)
        return as_conflict(ctx, "the body is missing");
    if (n_inputs < s->first || n_scan < 1 || (uint64_t)n_scan > n_inputs - s->first)
        return as_conflict(ctx, "num_scan_inputs is %lld of %zu inputs", (long long)n_scan,
                           n_inputs);
    s->n_scan = (size_t)n_scan;
    s->n_state = n_inputs - s->first - s->n_scan;
    if (s->body->n_inputs != s->n_state + s->n_scan || s->body->n_outputs < s->n_state)
        return as_conflict(ctx,
                           "the body has %u inputs and %u outputs for %zu states and %zu scans",
                           s->body->n_inputs, s->body->n_outputs, s->n_state, s->n_scan);
    s->n_outs = s->body->n_outputs - s->n_state;
    return ASSAY_OK;
}

static int infer_scan(struct as_infer *ctx)
{
    struct scan s = {0};
    struct as_type *states;
    bool settled = false, certain;
    int rc = open_scan(ctx, &s);

    if (rc < 0)
        return rc;
    states = as_arena_zero(ctx->arena, s.n_state + 1, sizeof *states);
    if (!states)
        return as_fail_nomem(ctx->err);
    rc = state_types(ctx, &s, states);
    for (size_t k = 0; k < s.n_scan && rc == ASSAY_OK; k++)
        rc = set_scanned(ctx, &s, k);
    if (rc < 0)
        return rc;
    s.body->times = s.steps;
    if (s.batched)
        s.body->times = as_dim_mul(s.steps, s.batch);
    if (s.steps == AS_DIM_UNKNOWN)
        find_branch(ctx, "how often the body runs depends on data");
    certain = s.steps != AS_DIM_UNKNOWN && s.steps > 0;
    ctx->unsure += !certain;
    rc = as_body_settle(ctx, &(struct as_carry){s.body, 0, 0, s.n_state, states, false}, &settled);
    ctx->unsure -= !certain;
    if (rc == ASSAY_OK && !settled)
        return as_unknown(ctx, "what the body carries never comes to rest");
    return rc == ASSAY_OK ? scan_outputs(ctx, &s, states) : rc;
}

/* ---- SequenceMap ---- */

/* How many elements the sequences have; they must agree. */
static int map_length(struct as_infer *ctx, int32_t *n)
{
    *n = -1;
    for (size_t i = 0; i < ctx->node->n_inputs; i++) {
        const struct as_type *type = as_in_type(ctx, i);

        if (!type || type->kind != AS_VALUE_SEQUENCE || type->n_elems < 0)
            continue;
        if (*n >= 0 && *n != type->n_elems)
            return as_conflict(ctx, "sequences of %d and %d elements are mapped together", *n,
                               type->n_elems);
        *n = type->n_elems;
    }
    return ASSAY_OK;
}

/* Sets the body's inputs for element `k`; -1: for one like all of them. */
static int map_inputs(struct as_infer *ctx, struct as_graph *body, int32_t k)
{
    for (size_t i = 0; i < ctx->node->n_inputs; i++) {
        const struct as_value *value = as_node_input(ctx->graph, ctx->node, i);
        struct as_type type = AS_TYPE_UNKNOWN;

        if (value && value->type.kind != AS_VALUE_SEQUENCE && i > 0)
            type = value->type;
        else if (value && value->type.kind == AS_VALUE_SEQUENCE && k >= 0 &&
                 k < value->type.n_elems)
            type = value->type.elems[k];
        else if (value && value->type.kind == AS_VALUE_SEQUENCE &&
                 !as_type_common(ctx->arena, &value->type, &type))
            return as_fail_nomem(ctx->err);
        as_body_set(body, i, &type,
                    value && value->type.kind == AS_VALUE_TENSOR && i > 0 ? value->data : NULL);
    }
    return ASSAY_OK;
}

static int map_once(struct as_infer *ctx, struct as_graph *body, int32_t n)
{
    bool ran;
    int rc = map_inputs(ctx, body, -1);

    ctx->unsure += n <= 0;
    if (rc == ASSAY_OK)
        rc = as_body_run(ctx, body, false, &ran);
    ctx->unsure -= n <= 0;
    for (size_t i = 0; i < ctx->node->n_outputs && rc == ASSAY_OK; i++) {
        struct as_type type;

        if (!as_type_many(ctx->arena, &as_body_output(body, i)->type, &type))
            return as_fail_nomem(ctx->err);
        if (n == 0)
            type.n_elems = 0;
        rc = as_out_type(ctx, i, &type);
    }
    return rc;
}

static int map_each(struct as_infer *ctx, struct as_graph *body, int32_t n)
{
    size_t n_outs = ctx->node->n_outputs;
    struct as_type *elems = as_arena_zero(ctx->arena, n_outs * (size_t)n + 1, sizeof *elems);
    struct as_rounds seen = {0};
    bool ran = true;
    int rc = ASSAY_OK;

    if (!elems)
        return as_fail_nomem(ctx->err);
    for (int32_t k = 0; k < n && rc == ASSAY_OK && ran; k++) {
        rc = map_inputs(ctx, body, k);
        if (rc == ASSAY_OK)
            rc = as_body_run(ctx, body, k > 0, &ran);
        if (rc == ASSAY_OK && ran)
            rc = as_rounds_note(ctx, body, &seen);
        for (size_t i = 0; i < n_outs && rc == ASSAY_OK; i++)
            elems[i * (size_t)n + (size_t)k] = as_body_output(body, i)->type;
    }
    if (rc == ASSAY_OK)
        as_rounds_tell(ctx, body, &seen);
    as_rounds_fini(&seen);
    if (rc < 0 || !ran)
        return rc;
    for (size_t i = 0; i < n_outs && rc == ASSAY_OK; i++) {
        struct as_type type;

        if (!as_type_list(ctx, AS_VALUE_SEQUENCE, elems + i * (size_t)n, (size_t)n, &type))
            return as_fail_nomem(ctx->err);
        rc = as_out_type(ctx, i, &type);
    }
    return rc;
}

static int infer_sequence_map(struct as_infer *ctx)
{
    struct as_graph *body = as_node_graph(ctx->node, "body");
    int32_t n;
    int rc;

    if (!body)
        return as_conflict(ctx, "the body is missing");
    if (body->n_inputs != ctx->node->n_inputs || body->n_outputs < ctx->node->n_outputs)
        return as_conflict(ctx, "the body does not have the inputs and outputs of the node");
    rc = map_length(ctx, &n);
    if (rc < 0)
        return rc;
    body->times = n < 0 ? AS_DIM_UNKNOWN : n;
    if (n < 0)
        find_branch(ctx, "how often the body runs depends on data");
    if (n > 0 && n <= 256 && as_body_may_repeat(ctx, body, n) &&
        as_type_may_copy(ctx, n * (int64_t)(ctx->node->n_outputs < 16 ? 1 : AS_SEQUENCE_MAX)))
        return map_each(ctx, body, n);
    return map_once(ctx, body, n);
}

const struct as_op_rule as_rules_control[] = {
    {AS_OP_If, infer_if, NULL},
    {AS_OP_Scan, infer_scan, NULL},
    {AS_OP_SequenceMap, infer_sequence_map, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
