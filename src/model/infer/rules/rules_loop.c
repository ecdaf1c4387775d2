/* model/infer/rules/rules_loop.c - the shape rule of Loop.
 * Where trip count and condition can be followed the rounds are gone through one by one; else the
 * body is inferred until what it carries holds for every round. */
#include "model/infer/infer_context.h"
#include "model/infer/infer_rules.h"
#include "model/infer/infer_subgraph.h"

enum { MAX_UNROLL = 256 };

struct loop {
    struct as_graph *body;
    size_t n_carried, n_scan;
    int64_t most;          /* the trip count; INT64_MAX: no limit; AS_DIM_UNKNOWN: not known */
    int goes;              /* the condition at the start: 1, 0, or -1 for not known */
    bool counts;           /* the body uses the number of the round */
    bool begun;            /* the body was inferred at least once */
    struct as_type *types; /* of what is carried */
    struct as_data **data; /* and its numbers, or NULL */
    struct as_type *scans; /* what each scan output has in common over the rounds */
    int64_t rounds;        /* that were gone through; AS_DIM_UNKNOWN: not known */
    struct as_rounds seen; /* how they differ */
};

static bool uses(const struct as_graph *graph, uint32_t id)
{
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        if (graph->outputs[i] == id)
            return true;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];

        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] == id)
                return true;
        for (uint32_t k = 0; k < node->n_attrs; k++)
            if (node->attrs[k].kind == AS_ATTR_GRAPH && uses(node->attrs[k].graph, id))
                return true;
    }
    return false;
}

static int open_loop(struct as_infer *ctx, struct loop *l)
{
    int64_t number;
    size_t n = ctx->node->n_inputs < 2 ? 0 : ctx->node->n_inputs - 2;

    l->body = as_node_graph(ctx->node, "body");
    if (!l->body)
        return as_conflict(ctx, "the body is missing");
    if (l->body->n_inputs != n + 2 || l->body->n_outputs < n + 1)
        return as_conflict(ctx, "the body has %u inputs and %u outputs for %zu carried values",
                           l->body->n_inputs, l->body->n_outputs, n);
    l->n_carried = n;
    l->n_scan = l->body->n_outputs - n - 1;
    l->most = AS_DIM_UNKNOWN;
    if (!as_in_type(ctx, 0))
        l->most = INT64_MAX;
    else if (as_in_int(ctx, 0, &number))
        l->most = number < 0 ? 0 : number;
    l->goes = -1;
    if (!as_in_type(ctx, 1))
        l->goes = 1;
    else if (as_in_int(ctx, 1, &number))
        l->goes = number != 0;
    l->counts = uses(l->body, l->body->inputs[0]);
    l->types = as_arena_zero(ctx->arena, n + 1, sizeof *l->types);
    l->data = as_arena_zero(ctx->arena, n + 1, sizeof(void *));
    l->scans = as_arena_zero(ctx->arena, l->n_scan + 1, sizeof *l->scans);
    return l->types && l->data && l->scans ? ASSAY_OK : as_fail_nomem(ctx->err);
}

/* What goes in at the start. */
static void start_loop(const struct as_infer *ctx, struct loop *l)
{
    for (size_t k = 0; k < l->n_carried; k++) {
        const struct as_value *value = as_node_input(ctx->graph, ctx->node, 2 + k);

        l->types[k] = value ? value->type : AS_TYPE_UNKNOWN;
        l->data[k] = value ? value->data : NULL;
    }
}

/* The number of the round, and the condition: a body only ever sees a true one. `round` -1: not
 * known. */
static int set_head(struct as_infer *ctx, const struct loop *l, int64_t round)
{
    struct as_dims scalar = {0, {0}};
    struct as_data *number = NULL, *yes = as_data_new(ctx->arena, AS_DTYPE_BOOL, 1);
    struct as_type type;

    if (round >= 0)
        number = as_data_new(ctx->arena, AS_DTYPE_I64, 1);
    if (!yes || (round >= 0 && !number))
        return as_fail_nomem(ctx->err);
    as_data_put_i64(yes, 0, 1);
    if (number)
        as_data_put_i64(number, 0, round);
    if (!as_type_tensor(&type, ctx->arena, AS_DTYPE_I64, &scalar))
        return as_fail_nomem(ctx->err);
    as_body_set(l->body, 0, &type, number);
    type.dtype = AS_DTYPE_BOOL;
    as_body_set(l->body, 1, &type, yes);
    return ASSAY_OK;
}

/* The condition a round ended with: 1, 0, or -1 for not known. */
static int condition_after(const struct as_infer *ctx, const struct loop *l)
{
    struct as_value value = *as_body_output(l->body, 0);

    if (!value.data || value.data->n != 1 || value.data->dtype == AS_DTYPE_STRING ||
        !as_model_load(ctx->model, value.data, 64))
        return -1;
    return as_data_i64(value.data, 0) != 0;
}

static bool keep_scans(struct as_infer *ctx, struct loop *l, bool first)
{
    for (size_t k = 0; k < l->n_scan; k++) {
        const struct as_type *type = &as_body_output(l->body, 1 + l->n_carried + k)->type;

        if (first)
            l->scans[k] = *type;
        else if (!as_type_merge(ctx->arena, &l->scans[k], type, &l->scans[k]))
            return false;
    }
    return true;
}

/* Takes over what a round gives to the next; true when that one will be the same. */
static bool carry_on(struct loop *l)
{
    bool same = !l->counts;

    for (size_t k = 0; k < l->n_carried; k++) {
        const struct as_value *value = as_body_output(l->body, 1 + k);

        same = same && !value->data && !l->data[k] && as_type_equal(&l->types[k], &value->type);
        l->types[k] = value->type;
        l->data[k] = value->data;
    }
    return same;
}

static int one_round(struct as_infer *ctx, struct loop *l, int64_t round, bool *ran)
{
    int rc = set_head(ctx, l, round);

    for (size_t k = 0; k < l->n_carried; k++)
        as_body_set(l->body, 2 + k, &l->types[k], l->data[k]);
    if (rc == ASSAY_OK)
        rc = as_body_run(ctx, l->body, round > 0, ran);
    if (rc == ASSAY_OK && *ran && !keep_scans(ctx, l, round == 0))
        rc = as_fail_nomem(ctx->err);
    if (rc == ASSAY_OK && *ran)
        rc = as_rounds_note(ctx, l->body, &l->seen);
    return rc;
}

/* Goes through the rounds. *done is false when they cannot be followed to the end. */
static int unroll(struct as_infer *ctx, struct loop *l, bool *done)
{
    bool ran = true;

    *done = false;
    if (l->most == AS_DIM_UNKNOWN || l->goes != 1)
        return ASSAY_OK;
    for (l->rounds = 0; l->rounds < l->most; l->rounds++) {
        int rc, after;
        bool same;

        if (l->rounds == MAX_UNROLL)
            return ASSAY_OK;
        l->begun = true;
        rc = one_round(ctx, l, l->rounds, &ran);
        if (rc < 0 || !ran)
            return rc;
        after = condition_after(ctx, l);
        if (after < 0)
            return ASSAY_OK;
        same = carry_on(l);
        if (after == 0) {
            l->rounds++;
            break;
        }
        if (same) { /* and so will be all that follow */
            l->rounds = l->most == INT64_MAX ? AS_DIM_UNKNOWN : l->most;
            break;
        }
    }
    *done = true;
    return ASSAY_OK;
}

/* No round at all: what goes in comes out, and the scans are empty. */
static int run_never(struct as_infer *ctx, struct loop *l)
{
    bool ran;
    int rc;

    l->rounds = 0;
    ctx->unsure++;
    rc = one_round(ctx, l, 0, &ran);
    ctx->unsure--;
    return rc;
}

/* Types that hold for every round, without any numbers. */
static int settle(struct as_infer *ctx, struct loop *l)
{
    bool certain = l->goes == 1 && l->most != AS_DIM_UNKNOWN && l->most > 0, settled = false;
    struct as_carry carry = {l->body, 2, 1, l->n_carried, l->types, l->begun};
    int rc = set_head(ctx, l, -1), after;

    start_loop(ctx, l);
    for (size_t k = 0; k < l->n_carried; k++)
        l->data[k] = NULL;
    ctx->unsure += !certain;
    if (rc == ASSAY_OK)
        rc = as_body_settle(ctx, &carry, &settled);
    ctx->unsure -= !certain;
    if (rc == ASSAY_OK && !keep_scans(ctx, l, true))
        rc = as_fail_nomem(ctx->err);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < l->n_scan && !settled; k++)
        l->scans[k] = AS_TYPE_UNKNOWN;
    after = settled ? condition_after(ctx, l) : -1;
    l->rounds = AS_DIM_UNKNOWN;
    if (certain && after == 0)
        l->rounds = 1;
    else if (certain && after == 1 && l->most != INT64_MAX)
        l->rounds = l->most;
    return ASSAY_OK;
}

static int loop_outputs(struct as_infer *ctx, const struct loop *l)
{
    int rc = ASSAY_OK;

    for (size_t k = 0; k < l->n_carried && rc == ASSAY_OK; k++) {
        struct as_value *to = as_node_output(ctx->graph, ctx->node, k);

        rc = as_out_type(ctx, k, &l->types[k]);
        if (to)
            to->data = l->data[k];
    }
    for (size_t k = 0; k < l->n_scan && rc == ASSAY_OK; k++) {
        struct as_type type;

        if (!as_type_with_axis(ctx->arena, &l->scans[k], 0, l->rounds, &type))
            return as_fail_nomem(ctx->err);
        rc = as_out_type(ctx, l->n_carried + k, &type);
    }
    return rc;
}

static int infer_loop(struct as_infer *ctx)
{
    struct loop l = {0};
    bool done = true;
    int rc = open_loop(ctx, &l);

    if (rc < 0)
        return rc;
    start_loop(ctx, &l);
    if (l.most == 0 || l.goes == 0)
        rc = run_never(ctx, &l);
    else
        rc = unroll(ctx, &l, &done);
    if (rc == ASSAY_OK && done)
        as_rounds_tell(ctx, l.body, &l.seen);
    as_rounds_fini(&l.seen);
    if (rc == ASSAY_OK && !done)
        rc = settle(ctx, &l);
    if (rc < 0)
        return rc;
    l.body->times = l.rounds;
    if (l.rounds == AS_DIM_UNKNOWN && ctx->again == 0)
        as_model_find(ctx->model, AS_FINDING_BRANCH, as_node_label(ctx->graph, ctx->node),
                      ctx->node->op_name, "how often the body runs depends on data");
    return loop_outputs(ctx, &l);
}

const struct as_op_rule as_rules_loop[] = {
    {AS_OP_Loop, infer_loop, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
