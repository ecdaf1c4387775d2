/* model/cost.c - what each node of a model costs: exact counts, in separate columns.
 * Walks the graphs in the order of execution; the rules are in cost_*.c, attention in attention.c.
 */
#include "model/cost.h"

#include <string.h>

#include "base/alloc.h"
#include "model/attention.h"
#include "model/cost_rules.h"
#include "model/param_scan.h"

struct counting {
    struct as_model *model;
    struct as_costs *costs;
    struct as_params *params;
    struct as_behind *behind; /* the arrays below are by value */
    uint32_t *param_of;       /* of a constant */
    uint32_t *row_of;         /* that makes it */
    uint32_t *root;           /* the value whose memory it shares: itself, or through views */
    bool *gradient;           /* a trained parameter or made from one */
    bool *kept;               /* for the backward pass by an earlier row */
    bool *used;               /* by param: an earlier row uses it */
};

uint64_t as_cost_flops(const struct as_cost *cost)
{
    return as_sat_add(as_sat_add(as_sat_mul(cost->macs, 2), cost->elementwise),
                      cost->transcendental);
}

void as_cost_add(struct as_cost *to, const struct as_cost *cost, uint64_t times)
{
    as_count_each(&to->macs, cost->macs, times);
    as_count_each(&to->elementwise, cost->elementwise, times);
    as_count_each(&to->transcendental, cost->transcendental, times);
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

    if (type->kind == AS_KIND_TENSOR) {
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
        if (type->elems[i].kind == AS_KIND_TENSOR && type->elems[i].dtype != AS_DTYPE_STRING &&
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

/* Bytes that are kept of a value and that nobody keeps yet; `read` counts them anyway. */
static void keep(struct counting *c, uint32_t value, uint64_t *kept, uint64_t *read)
{
    bool unknown = false;
    uint64_t bytes = value_bytes(c, value, &unknown);
    uint32_t root = c->root[value];

    as_count(read, bytes);
    if (c->kept[root] || c->behind[value].value != AS_NONE || c->model->values[value].data)
        return;
    c->kept[root] = true;
    as_count(kept, bytes);
}

static void keep_inputs(struct counting *c, const struct as_node *node, bool bilinear,
                        struct as_cost_row *row)
{
    uint32_t gradients = count_gradients(c, node);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];

        if (id == AS_NONE || taken_before(node, i))
            continue;
        /* Of a product: where another operand needs its gradient. */
        if (!bilinear || gradients > (c->gradient[id] ? 1U : 0U))
            keep(c, id, &row->saved_bytes, &row->backward.bytes_read);
    }
}

static void keep_output(struct counting *c, const struct as_node *node, struct as_cost_row *row)
{
    if (node->n_outputs > 0 && node->outputs[0] != AS_NONE)
        keep(c, node->outputs[0], &row->saved_bytes, &row->backward.bytes_read);
}

/* A byte an element, or of what chooses one of many an index of eight. */
static void keep_mask(const struct counting *c, const struct as_node *node, struct as_cost_row *row)
{
    bool chooses = node->op != AS_OP_Dropout && node->op != AS_OP_Where &&
                   node->op != AS_OP_TFL_SELECT && node->op != AS_OP_TFL_SELECT_V2;
    uint64_t n = 0;

    if (node->n_outputs == 0 || node->outputs[0] == AS_NONE ||
        !as_type_elems(&c->model->values[node->outputs[0]].type, &n))
        return;
    n = as_sat_mul(n, chooses ? 8 : 1);
    as_count(&row->saved_bytes, n);
    as_count(&row->backward.bytes_read, n);
}

/* Reads the gradient of what came out and what was kept, writes that of what went in. */
static void count_backward(struct counting *c, const struct as_cost_entry *entry,
                           const struct as_node *node, struct as_cost_row *row)
{
    enum as_saved saved = entry->cost.saved;
    bool unknown = false;

    if (saved == AS_SAVED_INPUTS || saved == AS_SAVED_BOTH)
        keep_inputs(c, node, entry->flags & AS_COST_BILINEAR, row);
    if (saved == AS_SAVED_OUTPUT || saved == AS_SAVED_BOTH)
        keep_output(c, node, row);
    if (saved == AS_SAVED_MASK)
        keep_mask(c, node, row);
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

static void pass_gradient(struct counting *c, const struct as_node *node, bool gradient)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        uint32_t value = node->outputs[i];

        /* Only ever set: what a Constant makes is a parameter by itself. */
        if (gradient && value != AS_NONE && as_dtype_is_float(c->model->values[value].type.dtype))
            c->gradient[value] = true;
    }
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

static void count_parameters(struct counting *c, const struct as_node *node,
                             struct as_cost_row *row)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t constant, param;

        if (node->inputs[i] == AS_NONE || as_node_passes(node, i))
            continue;
        constant = c->behind[node->inputs[i]].value;
        param = constant == AS_NONE ? AS_NONE : c->param_of[constant];
        if (param == AS_NONE || c->params->params[param].role != AS_ROLE_PARAMETER)
            continue;
        if (c->used[param] || c->params->params[param].tied_to != AS_NONE) {
            row->shares_parameters = true;
            continue;
        }
        c->used[param] = true;
        as_count(&row->parameters, c->params->params[param].elems);
        as_count(&row->parameter_bytes, c->params->params[param].bytes);
    }
}

static void set_outputs(struct counting *c, const struct as_node *node, uint32_t row, bool view)
{
    uint32_t from = node->n_inputs > 0 ? node->inputs[0] : AS_NONE;

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == AS_NONE)
            continue;
        c->row_of[node->outputs[i]] = row;
        if (view && i == 0 && from != AS_NONE)
            c->root[node->outputs[0]] = c->root[from];
    }
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
    bool gradient = any_gradient(c, node), view;

    count_parameters(c, node, row);
    pass_gradient(c, node, gradient && !(entry && (entry->flags & AS_COST_FLAT)));
    set_outputs(c, node, (uint32_t)(row - c->costs->rows), entry && entry->cost.is_view);
    if (is_folded(c, node))
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
    if (ctx.unknown && !view) {
        row->state = AS_COST_UNKNOWN_SHAPE;
        row->forward = row->backward = (struct as_cost){0};
        return;
    }
    if (!view && !(entry->flags & AS_COST_FREE))
        row->output_bytes = row->forward.bytes_written;
    if (!gradient || (entry->flags & AS_COST_FLAT))
        row->backward = (struct as_cost){0};
    else
        count_backward(c, entry, node, row);
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

/* Of two sides of which one runs, only the costlier is counted. */
static void choose_side(struct as_costs *costs, size_t first, size_t second, size_t end)
{
    bool then = flops_between(costs, first, second) >= flops_between(costs, second, end);

    for (size_t i = first; i < end; i++) {
        costs->rows[i].times_known = false;
        if ((i < second) != then)
            costs->rows[i].times = 0;
    }
    costs->times_known = false;
}

struct running {
    uint64_t times;
    bool known;
};

static void walk_graph(struct counting *c, const struct as_graph *graph, struct running run);

static bool body_gradient(const struct counting *c, const struct as_graph *body)
{
    for (uint32_t i = 0; i < body->n_outputs; i++)
        if (body->outputs[i] != AS_NONE && c->gradient[body->outputs[i]])
            return true;
    return false;
}

/* The bodies of a node, after its own row. What a body takes in has a gradient when anything that
 * goes into its owner has. */
static void walk_bodies(struct counting *c, const struct as_node *node, struct running run)
{
    struct as_costs *costs = c->costs;
    bool gradient = any_gradient(c, node), unknown = false;
    size_t starts[2] = {0, 0}, n_bodies = 0;

    for (uint32_t k = 0; k < node->n_attrs; k++) {
        const struct as_graph *body = node->attrs[k].graph;
        struct running inner = run;

        if (node->attrs[k].kind != AS_ATTR_GRAPH || !body)
            continue;
        if (n_bodies < 2)
            starts[n_bodies] = costs->n_rows;
        n_bodies++;
        for (uint32_t i = 0; i < body->n_inputs; i++)
            if (body->inputs[i] != AS_NONE)
                c->gradient[body->inputs[i]] =
                    gradient && as_dtype_is_float(c->model->values[body->inputs[i]].type.dtype);
        if (body->times < 0) {
            unknown = true;
            inner.known = costs->times_known = false;
        } else {
            inner.times = as_sat_mul(run.times, (uint64_t)body->times);
        }
        walk_graph(c, body, inner);
        gradient |= body_gradient(c, body);
    }
    if (n_bodies == 0)
        return;
    if (unknown && n_bodies == 2 && (node->op == AS_OP_If || node->op == AS_OP_TFL_IF))
        choose_side(costs, starts[0], starts[1], costs->n_rows);
    pass_gradient(c, node, gradient);
}

/* Graphs are at most AS_MAX_GRAPH_DEPTH deep, so this may come back to itself. */
static void walk_graph(struct counting *c, const struct as_graph *graph, struct running run)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct as_cost_row *row = &c->costs->rows[c->costs->n_rows++];

        *row = (struct as_cost_row){.graph = graph,
                                    .node = &graph->nodes[i],
                                    .depth = graph->depth,
                                    .times = run.times,
                                    .times_known = run.known,
                                    .attention = AS_NONE};
        count_node(c, graph, &graph->nodes[i], row);
        walk_bodies(c, &graph->nodes[i], run);
    }
}

/* ---- the whole ---- */

static uint64_t batch_of(const struct as_model *model)
{
    for (uint32_t i = 0; i < model->main->n_inputs; i++) {
        const struct as_value *value = &model->values[model->main->inputs[i]];

        if (value->is_input && value->type.kind == AS_KIND_TENSOR && value->type.rank >= 1)
            return value->type.dims[0] > 0 ? (uint64_t)value->type.dims[0] : 1;
    }
    return 1;
}

static void sum_rows(struct as_costs *costs)
{
    for (size_t i = 0; i < costs->n_rows; i++) {
        const struct as_cost_row *row = &costs->rows[i];

        if (is_full(&row->forward) || is_full(&row->backward))
            costs->overflow = true;
        if (row->times == 0)
            continue;
        costs->n_unknown_ops += row->state == AS_COST_UNKNOWN_OP;
        costs->n_unknown_shapes += row->state == AS_COST_UNKNOWN_SHAPE;
        as_cost_add(&costs->forward, &row->forward, row->times);
        as_cost_add(&costs->backward, &row->backward, row->times);
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

static bool start(struct counting *c)
{
    const struct as_params *params = c->params;
    uint32_t n = c->model->n_values;

    c->behind = as_alloc_zero((size_t)n + 1, sizeof *c->behind);
    c->param_of = as_alloc_zero((size_t)n + 1, sizeof *c->param_of);
    c->row_of = as_alloc_zero((size_t)n + 1, sizeof *c->row_of);
    c->root = as_alloc_zero((size_t)n + 1, sizeof *c->root);
    c->gradient = as_alloc_zero((size_t)n + 1, sizeof *c->gradient);
    c->kept = as_alloc_zero((size_t)n + 1, sizeof *c->kept);
    c->used = as_alloc_zero(params->n_params + 1, sizeof *c->used);
    if (!c->behind || !c->param_of || !c->row_of || !c->root || !c->gradient || !c->kept ||
        !c->used)
        return false;
    as_behind_all(c->model, c->behind);
    for (uint32_t i = 0; i < n; i++) {
        c->param_of[i] = c->row_of[i] = AS_NONE;
        c->root[i] = i;
    }
    for (size_t i = 0; i < params->n_params; i++) {
        const struct as_param *p = &params->params[i];

        c->param_of[p->value] = (uint32_t)i;
        c->gradient[p->value] = p->role == AS_ROLE_PARAMETER &&
                                as_dtype_is_float(c->model->values[p->value].type.dtype);
    }
    return true;
}

static void stop(struct counting *c)
{
    as_free(c->behind);
    as_free(c->param_of);
    as_free(c->row_of);
    as_free(c->root);
    as_free(c->gradient);
    as_free(c->kept);
    as_free(c->used);
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
    c.costs->times_known = true;
    walk_graph(&c, model->main, (struct running){1, true});
    sum_rows(c.costs);
    c.costs->batch = batch_of(model);
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
