/* model/cost/cost.c - what each node of a model costs: exact counts, in separate columns.
 * Walks the graphs in the order of execution; the rules are in cost_*.c, attention in attention.c.
 */
#include "model/cost/cost.h"

#include <string.h>

#include "base/alloc.h"
#include "model/cost/attention.h"
#include "model/cost/cost_rules.h"
#include "model/cost/kept.h"
#include "model/weights/parameters.h"

/* Nodes that are gone through again for the first rounds of loops; a loop in a loop does so to the
 * power of its depth. */
enum { REPEAT_NODES = 1 << 20 };

struct counting {
    struct as_model *model;
    struct as_costs *costs;
    struct as_params *params;
    struct as_behind *behind; /* the arrays below are by value */
    uint32_t *row_of;         /* that makes it */
    bool *trained;            /* a trained parameter */
    bool *gradient;           /* that, or made from one */
    bool *carried;            /* into a body: what the next round has as gradient */
    bool *kept;               /* for the backward pass by an earlier row */
    bool *constant;           /* known before the model runs */
    int64_t repeated;         /* nodes so far, of REPEAT_NODES */
    unsigned early;           /* > 0: in a round of a loop that is not like the last */
};

uint64_t as_cost_flops(const struct as_cost *cost)
{
    return as_sat_add(as_sat_add(as_sat_mul(cost->macs, 2), cost->elementwise),
                      cost->transcendental);
}

uint64_t as_cost_executed_macs(const struct as_cost *cost)
{
    return as_sat_sub(cost->macs, cost->padding_macs);
}

uint64_t as_cost_executed_flops(const struct as_cost *cost)
{
    struct as_cost executed = *cost;

    executed.macs = as_cost_executed_macs(cost);
    executed.elementwise = as_sat_sub(cost->elementwise, cost->padding_ops);
    return as_cost_flops(&executed);
}

void as_cost_add(struct as_cost *to, const struct as_cost *cost, uint64_t times)
{
    as_count_each(&to->macs, cost->macs, times);
    as_count_each(&to->elementwise, cost->elementwise, times);
    as_count_each(&to->transcendental, cost->transcendental, times);
    as_count_each(&to->padding_macs, cost->padding_macs, times);
    as_count_each(&to->padding_ops, cost->padding_ops, times);
    as_count_each(&to->bytes_read, cost->bytes_read, times);
    as_count_each(&to->bytes_written, cost->bytes_written, times);
}

static bool is_full(const struct as_cost *cost)
{
    return cost->macs == UINT64_MAX || cost->elementwise == UINT64_MAX ||
           cost->transcendental == UINT64_MAX || cost->bytes_read == UINT64_MAX ||
           cost->bytes_written == UINT64_MAX;
}

/* ---- bytes ---- */

/* Strings have no size that the type tells and count nothing. */
static uint64_t type_bytes(const struct as_type *type, bool *unknown)
{
    uint64_t bytes = 0, sum = 0;

    if (type->kind == AS_VALUE_TENSOR) {
        if (type->dtype != AS_DTYPE_STRING && !as_type_bytes(type, &bytes))
            *unknown = true;
        return bytes;
    }
    if (!type->elems || type->n_elems < 0) {
        *unknown = true;
        return 0;
    }
    for (int32_t i = 0; i < type->n_elems; i++) {
        bytes = 0;
        if (type->elems[i].kind == AS_VALUE_TENSOR && type->elems[i].dtype != AS_DTYPE_STRING &&
            !as_type_bytes(&type->elems[i], &bytes))
            *unknown = true;
        sum = as_sat_add(sum, bytes);
    }
    return sum;
}

static uint64_t value_bytes(const struct counting *c, uint32_t value, bool *unknown)
{
    return value == AS_NONE ? 0 : type_bytes(&c->model->values[value].type, unknown);
}

/* A tensor that a node takes twice is read once. */
static bool taken_before(const struct as_node *node, uint32_t i)
{
    for (uint32_t k = 0; k < i && k < 16; k++)
        if (node->inputs[k] == node->inputs[i])
            return true;
    return false;
}

/* What of input 0 is looked up: as many elements as come out. */
static uint64_t looked_up_bytes(const struct counting *c, const struct as_node *node, bool *unknown)
{
    const struct as_type *data = &c->model->values[node->inputs[0]].type;
    uint64_t n = 0, bytes = 0;

    if (data->dtype == AS_DTYPE_STRING)
        return 0;
    if (node->n_outputs == 0 || node->outputs[0] == AS_NONE ||
        !as_type_elems(&c->model->values[node->outputs[0]].type, &n) ||
        !as_dtype_bytes(data->dtype, n, &bytes))
        *unknown = true;
    return bytes;
}

static void count_bytes(const struct counting *c, const struct as_node *node, unsigned flags,
                        struct as_cost_ctx *ctx)
{
    for (uint32_t i = 0; i < node->n_inputs && !(flags & AS_COST_FILL); i++) {
        if (node->inputs[i] == AS_NONE || taken_before(node, i))
            continue;
        as_count(&ctx->forward->bytes_read, i == 0 && (flags & AS_COST_LOOKUP)
                                                ? looked_up_bytes(c, node, &ctx->unknown)
                                                : value_bytes(c, node->inputs[i], &ctx->unknown));
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        as_count(&ctx->forward->bytes_written, value_bytes(c, node->outputs[i], &ctx->unknown));
}

/* ---- the backward pass ---- */

static bool any_gradient(const struct counting *c, const struct as_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != AS_NONE && c->gradient[node->inputs[i]])
            return true;
    return false;
}

static uint32_t count_gradients(const struct counting *c, const struct as_node *node)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        n += node->inputs[i] != AS_NONE && c->gradient[node->inputs[i]];
    return n;
}

/* Bytes that are kept of a value and that nobody keeps yet; `read` counts them anyway. What is a
 * part of another tensor keeps that whole. */
static void keep(struct counting *c, uint32_t value, uint64_t *kept, uint64_t *read)
{
    bool unknown = false;
    uint32_t root = c->costs->kept->storage[value];

    as_count(read, value_bytes(c, value, &unknown));
    if (c->early || c->kept[root] || c->behind[value].value != AS_NONE ||
        c->model->values[value].data)
        return;
    c->kept[root] = true;
    as_count(kept, value_bytes(c, root, &unknown));
}

/* Returns the floats of inputs that are kept as a copy. */
static uint64_t keep_inputs(struct counting *c, const struct as_node *node, struct as_cost_row *row)
{
    const struct as_kept_extra *extra = as_kept_extra_of(c->costs->kept, node);
    uint32_t gradients = count_gradients(c, node), origin;
    uint64_t copies = 0;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];
        bool others;

        if (id == AS_NONE || taken_before(node, i))
            continue;
        others = gradients > (c->gradient[id] ? 1U : 0U);
        if (i < 2 && extra->copies[i] && others)
            copies = as_sat_add(copies, extra->copies[i]);
        if (as_keeps_input(c->costs->kept, node, i, others))
            keep(c, id, &row->saved_bytes, &row->backward.bytes_read);
    }
    origin = as_keeps_origin(c->costs->kept, node);
    if (origin != AS_NONE)
        keep(c, origin, &row->saved_bytes, &row->backward.bytes_read);
    return as_sat_add(copies, extra->floats);
}

static void keep_output(struct counting *c, const struct as_node *node, struct as_cost_row *row)
{
    if (as_keeps_output(c->costs->kept, node))
        keep(c, node->outputs[0], &row->saved_bytes, &row->backward.bytes_read);
}

static void keep_inner(struct as_cost_row *row, uint64_t bytes)
{
    as_count(&row->inner_bytes, bytes);
    as_count(&row->saved_bytes, bytes);
    as_count(&row->backward.bytes_read, bytes);
}

/* A byte an element, or of what chooses one of many an index of eight. */
static void keep_mask(const struct counting *c, const struct as_node *node, struct as_cost_row *row)
{
    bool chooses = node->op != AS_OP_Dropout;
    uint64_t n = 0;

    if (node->n_outputs == 0 || node->outputs[0] == AS_NONE ||
        !as_type_elems(&c->model->values[node->outputs[0]].type, &n) ||
        (node->op == AS_OP_Dropout && as_drops_nothing(c->model, node)))
        return;
    keep_inner(row, as_sat_mul(n, chooses ? 8 : 1));
}

/* Gates, states and probabilities, in the dtype the node computes in. */
static void keep_floats(const struct counting *c, const struct as_node *node, uint64_t n,
                        struct as_cost_row *row)
{
    uint64_t bytes = 0;

    if (n == 0 || node->n_inputs == 0 || node->inputs[0] == AS_NONE)
        return;
    if (!as_dtype_bytes(c->model->values[node->inputs[0]].type.dtype, n, &bytes))
        bytes = UINT64_MAX;
    row->inner_floats = n;
    keep_inner(row, bytes);
}

/* Reads the gradient of what came out and what was kept, writes that of what went in. */
static void count_backward(struct counting *c, const struct as_cost_entry *entry,
                           const struct as_cost_ctx *ctx, struct as_cost_row *row)
{
    const struct as_node *node = ctx->node;
    enum as_saved saved = entry->cost.saved;
    uint64_t floats = keep_inputs(c, node, row);
    bool unknown = false;

    keep_output(c, node, row);
    if (saved == AS_SAVED_MASK || saved == AS_SAVED_INDICES)
        keep_mask(c, node, row);
    keep_floats(c, node, as_sat_add(ctx->kept_floats, floats), row);
    if (entry->cost.is_view && saved == AS_SAVED_NONE)
        return;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE &&
            as_dtype_is_float(c->model->values[node->outputs[i]].type.dtype))
            as_count(&row->backward.bytes_read, value_bytes(c, node->outputs[i], &unknown));
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != AS_NONE && c->gradient[node->inputs[i]] && !taken_before(node, i))
            as_count(&row->backward.bytes_written, value_bytes(c, node->inputs[i], &unknown));
}

/* ---- one node ---- */

static void set_gradient(struct counting *c, uint32_t value, bool gradient)
{
    if (value != AS_NONE)
        c->gradient[value] = c->trained[value] ||
                             (gradient && as_dtype_is_float(c->model->values[value].type.dtype));
}

static void pass_gradient(struct counting *c, const struct as_node *node, bool gradient)
{
    for (uint32_t i = 0; i < node->n_outputs; i++)
        set_gradient(c, node->outputs[i], gradient);
}

static bool is_folded(const struct counting *c, const struct as_node *node)
{
    bool any = false;

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == AS_NONE)
            continue;
        if (!c->model->values[node->outputs[i]].data)
            return false;
        any = true;
    }
    return any;
}

static bool has_body(const struct as_node *node)
{
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].kind == AS_ATTR_GRAPH)
            return true;
    return false;
}

/* Gives other numbers every time. */
static bool is_random(enum as_op op)
{
    switch (op) {
    case AS_OP_RandomNormal:
    case AS_OP_RandomNormalLike:
    case AS_OP_RandomUniform:
    case AS_OP_RandomUniformLike:
    case AS_OP_Bernoulli:
    case AS_OP_Multinomial:
    case AS_OP_MS_Sampling:
    case AS_OP_Dropout:
    case AS_OP_TFL_MULTINOMIAL:
    case AS_OP_TFL_RANDOM_STANDARD_NORMAL:
    case AS_OP_TFL_RANDOM_UNIFORM:
        return true;
    default:
        return false;
    }
}

/* Every engine computes such a node once, when it loads the model. */
static bool from_constants(const struct counting *c, const struct as_node *node)
{
    bool any = node->op == AS_OP_Constant;

    if (!as_cost_entry_at(node->op) || has_body(node) || is_random(node->op))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == AS_NONE)
            continue;
        if (!c->constant[node->inputs[i]])
            return false;
        any = true;
    }
    return any;
}

static bool varies(const struct counting *c, const uint32_t *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] != AS_NONE && c->model->values[values[i]].varies)
            return true;
    return false;
}

static void set_outputs(struct counting *c, const struct as_node *node, uint32_t row)
{
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE)
            c->row_of[node->outputs[i]] = row;
}

static void count_node(struct counting *c, const struct as_graph *graph, const struct as_node *node,
                       struct as_cost_row *row)
{
    const struct as_cost_entry *entry = as_cost_entry_at(node->op);
    struct as_cost_ctx ctx = {.model = c->model,
                              .graph = graph,
                              .node = node,
                              .opset = as_model_opset_of(c->model, node),
                              .forward = &row->forward,
                              .backward = &row->backward,
                              .needs_gradient = c->gradient};
    bool gradient = any_gradient(c, node), view, constant = from_constants(c, node);

    pass_gradient(c, node, gradient && !(entry && (entry->flags & AS_COST_FLAT)));
    set_outputs(c, node, (uint32_t)(row - c->costs->rows));
    for (uint32_t i = 0; constant && i < node->n_outputs; i++)
        if (node->outputs[i] != AS_NONE)
            c->constant[node->outputs[i]] = true;
    row->constant = constant || is_folded(c, node);
    if (row->constant && !gradient)
        return;
    if (!entry) {
        row->state = AS_COST_UNKNOWN_OP;
        return;
    }
    entry->cost.rule(&ctx);
    /* A Dropout that trains is no view. */
    view = entry->cost.is_view && row->forward.elementwise == 0;
    if (!view && !ctx.unknown && !ctx.bytes_set && !(entry->flags & AS_COST_FREE))
        count_bytes(c, node, entry->flags, &ctx);
    if (!view && !(entry->flags & AS_COST_FREE) &&
        (varies(c, node->inputs, node->n_inputs) || varies(c, node->outputs, node->n_outputs)))
        ctx.unknown = true;
    if (ctx.unknown && !view) {
        row->state = row->constant ? AS_COST_KNOWN : AS_COST_UNKNOWN_SHAPE;
        row->forward = row->backward = (struct as_cost){0};
        return;
    }
    if (row->constant)
        row->forward = (struct as_cost){0};
    if (!view && !(entry->flags & AS_COST_FREE))
        row->output_bytes = row->forward.bytes_written;
    if (!gradient || (entry->flags & AS_COST_FLAT))
        row->backward = (struct as_cost){0};
    else
        count_backward(c, entry, &ctx, row);
}

/* ---- graphs ---- */

static size_t count_nodes(const struct as_graph *graph)
{
    size_t n = graph->n_nodes;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_attrs; k++)
            if (graph->nodes[i].attrs[k].kind == AS_ATTR_GRAPH && graph->nodes[i].attrs[k].graph)
                n += count_nodes(graph->nodes[i].attrs[k].graph);
    return n;
}

static uint64_t flops_between(const struct as_costs *costs, size_t from, size_t to)
{
    struct as_cost sum = {0};

    for (size_t i = from; i < to; i++)
        as_cost_add(&sum, &costs->rows[i].forward, costs->rows[i].times);
    return as_cost_flops(&sum);
}

/* Of two sides of which one runs, that with more FLOPs that are known is counted. */
static void choose_side(struct as_costs *costs, size_t first, size_t second, size_t end)
{
    bool then = flops_between(costs, first, second) >= flops_between(costs, second, end);

    for (size_t i = first; i < end; i++) {
        costs->rows[i].times_known = false;
        if ((i < second) == then)
            continue;
        costs->rows[i].times = 0;
        costs->rows[i].state = AS_COST_NOT_COUNTED;
        costs->rows[i].backward_total = (struct as_cost){0};
    }
    costs->times_known = false;
}

struct running {
    uint64_t times; /* in one run of the model */
    uint64_t fresh; /* of these, those with the gradients of now */
    bool known;
};

static void walk_graph(struct counting *c, const struct as_graph *graph, struct running run);
static void spread_gradient(struct counting *c, const struct as_graph *graph);

static bool body_gradient(const struct counting *c, const struct as_graph *body)
{
    for (uint32_t i = 0; i < body->n_outputs; i++)
        if (body->outputs[i] != AS_NONE && c->gradient[body->outputs[i]])
            return true;
    return false;
}

/* What a body hands from one round to the next: value k comes in at input `in + k` of the body, at
 * first from input `from + k` of the node, and goes out at output `out + k`. Inputs after these are
 * sliced from those of the node. */
struct carry {
    const struct as_graph *body;
    uint32_t from, in, out, n;
    uint64_t starts; /* how often one execution of the node starts anew */
};

static bool find_carry(const struct counting *c, const struct as_node *node,
                       const struct as_graph *body, struct carry *carry)
{
    int64_t n_scan = as_node_int(node, "num_scan_inputs", 0);
    const struct as_value *first;

    *carry = (struct carry){.body = body, .starts = 1};
    if (node->op == AS_OP_Loop && node->n_inputs >= 2) {
        carry->from = carry->in = 2;
        carry->out = 1;
        carry->n = node->n_inputs - 2;
    } else if (node->op == AS_OP_TFL_WHILE && body == as_node_graph(node, "body")) {
        carry->n = node->n_inputs;
    } else if (node->op == AS_OP_Scan && n_scan > 0) {
        int64_t opset = as_model_opset_of(c->model, node);

        carry->from = opset > 0 && opset < 9 ? 1 : 0; /* then with a batch in front */
        if ((uint64_t)n_scan + carry->from > node->n_inputs)
            return false;
        carry->n = node->n_inputs - carry->from - (uint32_t)n_scan;
        first = as_node_input(body->parent ? body->parent : body, node, node->n_inputs - 1);
        if (carry->from == 1 && first && first->type.rank > 0 && first->type.dims[0] > 0)
            carry->starts = (uint64_t)first->type.dims[0];
    } else {
        return false;
    }
    return body->n_inputs >= carry->in + carry->n && body->n_outputs >= carry->out + carry->n;
}

/* What goes into the first round. */
static void enter_body(struct counting *c, const struct as_node *node, const struct carry *carry)
{
    for (uint32_t i = 0; i < carry->body->n_inputs; i++) {
        uint32_t at = carry->from + i - carry->in;
        bool given = i >= carry->in && at < node->n_inputs && node->inputs[at] != AS_NONE;

        set_gradient(c, carry->body->inputs[i], given && c->gradient[node->inputs[at]]);
    }
}

/* Spreads gradients through one round. False: the next one begins with the same. */
static bool next_round(struct counting *c, const struct carry *carry)
{
    bool differs = false;

    spread_gradient(c, carry->body);
    for (uint32_t k = 0; k < carry->n; k++) {
        uint32_t in = carry->body->inputs[carry->in + k],
                 out = carry->body->outputs[carry->out + k];

        if (in == AS_NONE)
            continue;
        c->carried[in] = out != AS_NONE && c->gradient[out];
        differs |= c->carried[in] != c->gradient[in];
    }
    return differs;
}

/* `all`: keeps those there were. */
static void take_round(struct counting *c, const struct carry *carry, bool all)
{
    for (uint32_t k = 0; k < carry->n; k++) {
        uint32_t in = carry->body->inputs[carry->in + k];

        if (in != AS_NONE)
            set_gradient(c, in, c->carried[in] || (all && c->gradient[in]));
    }
}

static bool may_repeat(const struct counting *c)
{
    return c->repeated < REPEAT_NODES;
}

/* Whatever any round needs; where that cannot be followed, everything that is carried. */
static void settle_gradient(struct counting *c, const struct carry *carry)
{
    bool differs = true;

    for (uint32_t k = 0; differs && k <= carry->n && may_repeat(c); k++) {
        differs = next_round(c, carry);
        if (differs)
            take_round(c, carry, true);
    }
    for (uint32_t k = 0; differs && k < carry->n; k++)
        set_gradient(c, carry->body->inputs[carry->in + k], true);
}

/* Of one execution of the node, for each time that it starts anew. */
static uint64_t rounds_of(const struct carry *carry)
{
    return carry->body->times > 0 ? (uint64_t)carry->body->times / carry->starts : 0;
}

/* The first rounds, which may need fewer gradients, one by one; then all that are like the last. */
static void walk_rounds(struct counting *c, const struct as_node *node, const struct carry *carry,
                        struct running run, struct running inner)
{
    const struct as_graph *body = carry->body;
    uint64_t each = as_sat_mul(run.fresh, carry->starts), left = rounds_of(carry);
    size_t row = c->costs->n_rows;
    bool differs = true;

    enter_body(c, node, carry);
    for (uint32_t k = 0; left > 1 && k <= carry->n && may_repeat(c); k++, left--) {
        differs = next_round(c, carry);
        if (!differs)
            break;
        inner.fresh = each;
        c->early++;
        walk_graph(c, body, inner);
        c->early--;
        c->costs->n_rows = row;
        take_round(c, carry, false);
    }
    inner.fresh = body->times < 0 ? run.fresh : as_sat_mul(each, left);
    if (body->times < 0 || (left > 1 && differs))
        settle_gradient(c, carry);
    if (left > 1 && differs)
        as_model_find(c->model, AS_FINDING_NOTE, node->name, node->op_name,
                      "which rounds need which gradients is not followed to the end; the backward "
                      "pass is counted with all of them in every round");
    walk_graph(c, body, inner);
}

/* What comes out of a node with bodies. */
static void leave_bodies(struct counting *c, const struct as_node *node, bool any)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        bool gradient = false, exact = false;

        for (uint32_t k = 0; k < node->n_attrs; k++) {
            const struct as_graph *body = node->attrs[k].graph;
            struct carry carry;
            uint32_t at = i;

            if (node->attrs[k].kind != AS_ATTR_GRAPH || !body)
                continue;
            if (find_carry(c, node, body, &carry))
                at = carry.out + i;
            else if (node->op != AS_OP_If && node->op != AS_OP_TFL_IF)
                continue;
            exact = true;
            if (body->times != 0 && at < body->n_outputs && body->outputs[at] != AS_NONE)
                gradient |= c->gradient[body->outputs[at]];
            else if (body->times == 0 && carry.n > i)
                gradient |= c->gradient[body->inputs[carry.in + i]];
        }
        set_gradient(c, node->outputs[i], exact ? gradient : any);
    }
}

/* The bodies of a node, after its own row. What a body takes in has a gradient when what it is made
 * from has; where that is not known, when anything that goes into its owner has. */
static void walk_bodies(struct counting *c, const struct as_node *node, struct running run)
{
    struct as_costs *costs = c->costs;
    bool gradient = any_gradient(c, node), unknown = false;
    size_t starts[2] = {0, 0}, n_bodies = 0;

    for (uint32_t k = 0; k < node->n_attrs; k++) {
        const struct as_graph *body = node->attrs[k].graph;
        struct running inner = run;
        struct carry carry;

        if (node->attrs[k].kind != AS_ATTR_GRAPH || !body)
            continue;
        if (n_bodies < 2)
            starts[n_bodies] = costs->n_rows;
        n_bodies++;
        if (body->ran >= 0) {
            inner = (struct running){(uint64_t)body->ran, (uint64_t)body->ran, true};
        } else if (body->times < 0) {
            unknown = true;
            inner.known = costs->times_known = false;
        } else {
            inner.times = as_sat_mul(run.times, (uint64_t)body->times);
            inner.fresh = as_sat_mul(run.fresh, (uint64_t)body->times);
        }
        if (find_carry(c, node, body, &carry)) {
            walk_rounds(c, node, &carry, run, inner);
        } else {
            for (uint32_t i = 0; i < body->n_inputs; i++)
                set_gradient(c, body->inputs[i], gradient);
            walk_graph(c, body, inner);
        }
        gradient |= body_gradient(c, body);
    }
    if (n_bodies == 0)
        return;
    if (unknown && n_bodies == 2 && (node->op == AS_OP_If || node->op == AS_OP_TFL_IF))
        choose_side(costs, starts[0], starts[1], costs->n_rows);
    leave_bodies(c, node, gradient);
}

/* Gradients alone, without counting anything. */
static void spread_bodies(struct counting *c, const struct as_node *node)
{
    bool gradient = any_gradient(c, node);

    for (uint32_t k = 0; k < node->n_attrs; k++) {
        const struct as_graph *body = node->attrs[k].graph;
        struct carry carry;

        if (node->attrs[k].kind != AS_ATTR_GRAPH || !body)
            continue;
        if (find_carry(c, node, body, &carry)) {
            uint64_t left = rounds_of(&carry);
            bool differs = true;

            enter_body(c, node, &carry);
            for (uint32_t i = 0; differs && left > 1 && i <= carry.n && may_repeat(c);
                 i++, left--) {
                differs = next_round(c, &carry);
                if (differs)
                    take_round(c, &carry, false);
            }
            if (body->times < 0 || (left > 1 && differs))
                settle_gradient(c, &carry);
        } else {
            for (uint32_t i = 0; i < body->n_inputs; i++)
                set_gradient(c, body->inputs[i], gradient);
        }
        spread_gradient(c, body);
        gradient |= body_gradient(c, body);
    }
    leave_bodies(c, node, gradient);
}

static void spread_gradient(struct counting *c, const struct as_graph *graph)
{
    c->repeated += (int64_t)graph->n_nodes + 1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct as_node *node = &graph->nodes[i];
        const struct as_cost_entry *entry = as_cost_entry_at(node->op);

        pass_gradient(c, node, any_gradient(c, node) && !(entry && (entry->flags & AS_COST_FLAT)));
        if (has_body(node))
            spread_bodies(c, node);
    }
}

/* Graphs are at most AS_MAX_GRAPH_DEPTH deep, so this may come back to itself. */
static void walk_graph(struct counting *c, const struct as_graph *graph, struct running run)
{
    if (c->early)
        c->repeated += (int64_t)graph->n_nodes + 1;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct as_cost_row *row = &c->costs->rows[c->costs->n_rows++];

        *row = (struct as_cost_row){.graph = graph,
                                    .node = &graph->nodes[i],
                                    .depth = graph->depth,
                                    .times = run.times,
                                    .times_known = run.known,
                                    .backward_total = row->backward_total,
                                    .attention = AS_NONE};
        count_node(c, graph, &graph->nodes[i], row);
        as_cost_add(&row->backward_total, &row->backward, run.fresh);
        if (has_body(&graph->nodes[i]))
            walk_bodies(c, &graph->nodes[i], run);
    }
}

/* ---- the whole ---- */

static uint64_t batch_of(const struct as_model *model)
{
    const struct as_batch_place *place = &model->batch;
    const struct as_value *value = place->value == AS_NONE ? NULL : &model->values[place->value];

    if (!model->inferred || !value || value->type.kind != AS_VALUE_TENSOR ||
        place->axis >= value->type.rank || value->type.dims[place->axis] <= 0)
        return 1;
    return (uint64_t)value->type.dims[place->axis];
}

static void sum_rows(struct as_costs *costs)
{
    for (size_t i = 0; i < costs->n_rows; i++) {
        const struct as_cost_row *row = &costs->rows[i];

        if (is_full(&row->forward) || is_full(&row->backward_total))
            costs->overflow = true;
        if (row->times == 0)
            continue;
        costs->n_unknown_ops += row->state == AS_COST_UNKNOWN_OP;
        costs->n_unknown_shapes += row->state == AS_COST_UNKNOWN_SHAPE;
        as_cost_add(&costs->forward, &row->forward, row->times);
        as_cost_add(&costs->backward, &row->backward_total, 1);
    }
    if (is_full(&costs->forward) || is_full(&costs->backward))
        costs->overflow = true;
}

/* Fills what the file did not say from the causal attention found; a graph with such attention and
 * keys kept from before, or as many keys as queries, is a decoder. */
static void complete_decoder(struct as_costs *costs, const struct as_model *model)
{
    struct as_decoder *d = &costs->decoder;
    const struct as_attention *first = NULL;
    uint64_t layers = 0;

    *d = model->decoder;
    for (size_t i = 0; i < costs->n_attentions; i++) {
        const struct as_attention *a = &costs->attentions[i];

        if (!a->causal || a->cross)
            continue;
        first = first ? first : a;
        layers++;
    }
    if (!first)
        return;
    if (!d->architecture)
        d->architecture = "decoder";
    d->layers = d->layers ? d->layers : layers;
    d->heads = d->heads ? d->heads : first->heads;
    d->kv_heads = d->kv_heads ? d->kv_heads : first->kv_heads;
    d->head_dim = d->head_dim ? d->head_dim : first->head_dim;
    d->value_dim = d->value_dim ? d->value_dim : first->value_dim;
    d->width = d->width ? d->width : as_sat_mul(first->heads, first->head_dim);
}

/* Numbers that hold for the whole run: in a body that is repeated they may be those of one round.
 */
static bool is_known(const struct as_value *value)
{
    if (value->is_initializer)
        return true;
    if (!value->data || value->data->partial || value->is_input)
        return false;
    for (const struct as_graph *graph = value->graph; graph; graph = graph->parent)
        if (graph->times > 1 || graph->times < 0)
            return false;
    return true;
}

static bool start(struct counting *c)
{
    const struct as_params *params = c->params;
    uint32_t n = c->model->n_values;

    c->behind = as_alloc_zero((size_t)n + 1, sizeof *c->behind);
    c->row_of = as_alloc_zero((size_t)n + 1, sizeof *c->row_of);
    c->trained = as_alloc_zero((size_t)n + 1, sizeof *c->trained);
    c->gradient = as_alloc_zero((size_t)n + 1, sizeof *c->gradient);
    c->carried = as_alloc_zero((size_t)n + 1, sizeof *c->carried);
    c->kept = as_alloc_zero((size_t)n + 1, sizeof *c->kept);
    c->constant = as_alloc_zero((size_t)n + 1, sizeof *c->constant);
    if (!c->behind || !c->row_of || !c->trained || !c->gradient || !c->carried || !c->kept ||
        !c->constant)
        return false;
    as_behind_all(c->model, c->behind);
    for (uint32_t i = 0; i < n; i++) {
        c->row_of[i] = AS_NONE;
        c->constant[i] = is_known(&c->model->values[i]);
    }
    for (size_t i = 0; i < params->n_params; i++) {
        const struct as_param *p = &params->params[i];

        c->trained[p->value] = c->gradient[p->value] =
            p->role == AS_ROLE_PARAMETER &&
            as_dtype_is_float(c->model->values[p->value].type.dtype);
    }
    return true;
}

static void stop(struct counting *c)
{
    as_free(c->behind);
    as_free(c->row_of);
    as_free(c->trained);
    as_free(c->gradient);
    as_free(c->carried);
    as_free(c->kept);
    as_free(c->constant);
    as_params_free(c->params);
}

int as_costs_new(struct as_costs **costs, struct as_model *model, struct assay_error *err)
{
    struct counting c = {.model = model};
    int rc = ASSAY_OK;

    *costs = NULL;
    c.costs = as_alloc_zero(1, sizeof *c.costs);
    if (!c.costs)
        return as_fail_nomem(err);
    rc = as_params_new(&c.params, model, false, err);
    if (rc < 0)
        goto out;
    c.costs->rows =
        as_arena_zero(&c.costs->arena, count_nodes(model->main) + 1, sizeof *c.costs->rows);
    if (!c.costs->rows || !start(&c)) {
        rc = as_fail_nomem(err);
        goto out;
    }
    c.costs->kept = as_arena_zero(&c.costs->arena, 1, sizeof *c.costs->kept);
    rc = c.costs->kept ? as_kept_find(c.costs->kept, &c.costs->arena, model, err)
                       : as_fail_nomem(err);
    if (rc < 0)
        goto out;
    c.costs->times_known = true;
    walk_graph(&c, model->main, (struct running){1, 1, true});
    sum_rows(c.costs);
    rc = as_costs_attribute(c.costs, model, c.params, err);
    if (rc < 0)
        goto out;
    c.costs->batch = batch_of(model);
    c.costs->batch_why = model->inferred ? model->batch.why : NULL;
    rc = as_attentions_find(c.costs, model, c.row_of, err);
    if (rc < 0)
        goto out;
    complete_decoder(c.costs, model);
    *costs = c.costs;
out:
    if (rc < 0)
        as_costs_free(c.costs);
    stop(&c);
    return rc;
}

void as_costs_free(struct as_costs *costs)
{
    if (!costs)
        return;
    as_arena_fini(&costs->arena);
    as_free(costs);
}
