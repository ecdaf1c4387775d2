/* model/graph/graph_link.c - checks a graph somebody built, orders its nodes and fills in what
 * follows. Nothing here trusts an index: a reader may hand over whatever a file says. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "model/graph/graph.h"
#include "model/graph/node_labels.h"

struct linking {
    struct as_model *model;
    struct assay_error *err;
    uint64_t n_nodes; /* of all graphs so far */
};

static int check_values(const struct linking *l, const struct as_graph *graph,
                        const struct as_node *node, const uint32_t *at, uint32_t n,
                        const char *what)
{
    for (uint32_t i = 0; i < n; i++)
        if (at[i] != AS_NONE && at[i] >= l->model->n_values)
            return as_fail(l->err, ASSAY_ERR_FORMAT, "node '%.80s' has %s %u that is not a tensor",
                           node ? as_node_label(graph, node) : graph->name, what, i);
    return ASSAY_OK;
}

static int claim_output(const struct linking *l, struct as_graph *graph, uint32_t n, uint32_t id)
{
    const struct as_node *node = &graph->nodes[n];
    struct as_value *value = &l->model->values[id];

    if (value->producer != AS_NONE || value->is_input || value->is_initializer)
        return as_fail(l->err, ASSAY_ERR_FORMAT,
                       "node '%.80s' (%.40s) makes tensor '%.80s', which another one makes too",
                       as_node_label(graph, node), node->op_name, value->name);
    value->producer = n;
    value->graph = graph;
    return ASSAY_OK;
}

/* The graph and those around it: a body may use what they make. */
static bool encloses(const struct as_graph *outer, const struct as_graph *inner)
{
    for (; inner; inner = inner->parent)
        if (inner == outer)
            return true;
    return false;
}

static int check_use(const struct linking *l, const struct as_graph *graph,
                     const struct as_node *node, uint32_t id)
{
    const struct as_value *value = &l->model->values[id];
    bool made =
        value->producer != AS_NONE || value->is_input || value->is_initializer || value->data;

    char tensor[100];

    if (made && encloses(value->graph, graph))
        return ASSAY_OK;
    if (value->name[0])
        (void)snprintf(tensor, sizeof tensor, "'%.80s'", value->name);
    else
        (void)snprintf(tensor, sizeof tensor, "number %u", id);
    if (!node)
        return as_fail(l->err, ASSAY_ERR_FORMAT,
                       "graph '%.80s' gives out tensor %s, which nothing makes", graph->name,
                       tensor);
    return as_fail(l->err, ASSAY_ERR_FORMAT,
                   "node '%.80s' (%.40s) needs tensor %s, which nothing makes",
                   as_node_label(graph, node), node->op_name, tensor);
}

/* Orders the nodes of one graph so that each comes after those it needs, also through the bodies
 * inside it. Kahn's way; among the ready ones the first in the file goes first. */
struct order {
    struct as_graph *graph;
    uint32_t *waits; /* how many of its needs a node still waits for */
    uint32_t *heads; /* node -> first edge to one that needs it */
    uint32_t *next;  /* edge -> next edge of the same node */
    uint32_t *to;    /* edge -> the node that needs */
    size_t n_edges, capacity;
    bool sorted; /* the order of the file is one */
};

static bool add_edge(struct order *o, uint32_t from, uint32_t to)
{
    if (o->n_edges == o->capacity) {
        size_t capacity = o->capacity ? o->capacity * 2 : 256;
        uint32_t *next = as_realloc(o->next, capacity, sizeof *next);
        uint32_t *into;

        if (!next)
            return false;
        o->next = next;
        into = as_realloc(o->to, capacity, sizeof *into);
        if (!into)
            return false;
        o->to = into;
        o->capacity = capacity;
    }
    o->to[o->n_edges] = to;
    o->next[o->n_edges] = o->heads[from];
    o->heads[from] = (uint32_t)o->n_edges++;
    o->waits[to]++;
    if (from >= to)
        o->sorted = false;
    return true;
}

static bool add_need(struct order *o, uint32_t id, uint32_t node)
{
    const struct as_value *value = &o->graph->model->values[id];

    if (id == AS_NONE || value->graph != o->graph || value->producer == AS_NONE)
        return true;
    return add_edge(o, value->producer, node);
}

/* Depth is limited when a graph is made, so this may call itself. */
static bool add_needs(struct order *o, const struct as_graph *graph, const struct as_node *node,
                      uint32_t at)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!add_need(o, node->inputs[i], at))
            return false;
    for (uint32_t i = 0; i < node->n_attrs; i++) {
        const struct as_graph *body = node->attrs[i].graph;

        if (node->attrs[i].kind != AS_ATTR_GRAPH)
            continue;
        for (uint32_t k = 0; k < body->n_nodes; k++)
            if (!add_needs(o, body, &body->nodes[k], at))
                return false;
        for (uint32_t k = 0; k < body->n_outputs; k++)
            if (!add_need(o, body->outputs[k], at))
                return false;
    }
    (void)graph;
    return true;
}

/* The nodes that are ready, as a binary heap: the first of the file on top. */
struct ready {
    uint32_t *at;
    uint32_t n;
};

static void add_ready(struct ready *r, uint32_t node)
{
    uint32_t i = r->n++;

    for (; i > 0 && r->at[(i - 1) / 2] > node; i = (i - 1) / 2)
        r->at[i] = r->at[(i - 1) / 2];
    r->at[i] = node;
}

static uint32_t take_ready(struct ready *r)
{
    uint32_t top = r->at[0], last = r->at[--r->n], i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < r->n && r->at[child + 1] < r->at[child])
            child++;
        if (child >= r->n || r->at[child] >= last)
            break;
        r->at[i] = r->at[child];
        i = child;
    }
    r->at[i] = last;
    return top;
}

static int fail_circle(const struct order *o, struct assay_error *err)
{
    const struct as_graph *graph = o->graph;
    uint32_t i = 0;

    while (i + 1 < graph->n_nodes && o->waits[i] == 0)
        i++;
    return as_fail(err, ASSAY_ERR_FORMAT,
                   "the graph is a circle: node '%.80s' (%.40s) needs what comes out of itself",
                   as_node_label(graph, &graph->nodes[i]), graph->nodes[i].op_name);
}

/* Kahn's way, and of the ready nodes always the first of the file: its order stays where it can. */
static int sort_nodes(struct order *o, struct assay_error *err)
{
    struct as_graph *graph = o->graph;
    uint32_t n = graph->n_nodes, done = 0;
    struct as_node *sorted = as_arena_alloc(&graph->model->arena, n * sizeof *sorted);
    struct ready ready = {as_alloc(n * sizeof *ready.at), 0};
    int rc = ASSAY_OK;

    if (!ready.at || !sorted) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (uint32_t i = 0; i < n; i++)
        if (o->waits[i] == 0)
            add_ready(&ready, i);
    while (ready.n > 0) {
        uint32_t node = take_ready(&ready);

        sorted[done++] = graph->nodes[node];
        for (uint32_t e = o->heads[node]; e != AS_NONE; e = o->next[e])
            if (--o->waits[o->to[e]] == 0)
                add_ready(&ready, o->to[e]);
    }
    if (done < n) {
        rc = fail_circle(o, err);
        goto out;
    }
    graph->nodes = sorted;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < sorted[i].n_outputs; k++)
            if (sorted[i].outputs[k] != AS_NONE)
                graph->model->values[sorted[i].outputs[k]].producer = i;
out:
    as_free(ready.at);
    return rc;
}

static int order_graph(const struct linking *l, struct as_graph *graph)
{
    struct order o = {.graph = graph, .sorted = true};
    size_t n = graph->n_nodes;
    int rc = ASSAY_OK;

    if (n == 0)
        return ASSAY_OK;
    o.waits = as_alloc_zero(n, sizeof *o.waits);
    o.heads = as_alloc(n * sizeof *o.heads);
    if (!o.waits || !o.heads) {
        rc = as_fail_nomem(l->err);
        goto out;
    }
    memset(o.heads, 0xff, n * sizeof *o.heads);
    for (uint32_t i = 0; i < n; i++)
        if (!add_needs(&o, graph, &graph->nodes[i], i)) {
            rc = as_fail_nomem(l->err);
            goto out;
        }
    if (!o.sorted)
        rc = sort_nodes(&o, l->err);
out:
    as_free(o.waits);
    as_free(o.heads);
    as_free(o.next);
    as_free(o.to);
    return rc;
}

typedef int (*graph_step)(struct linking *l, struct as_graph *graph);

/* Does one step for a graph and then for every body in it. */
static int each_graph(struct linking *l, struct as_graph *graph, graph_step step)
{
    int rc = step(l, graph);

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_attrs && rc == ASSAY_OK; k++)
            if (graph->nodes[i].attrs[k].kind == AS_ATTR_GRAPH)
                rc = each_graph(l, graph->nodes[i].attrs[k].graph, step);
    return rc;
}

static int check_indices(struct linking *l, struct as_graph *graph)
{
    int rc;

    l->n_nodes += graph->n_nodes;
    if (l->n_nodes > AS_MAX_NODES)
        return as_fail(l->err, ASSAY_ERR_LIMIT, "the model has more than %d nodes", AS_MAX_NODES);
    rc = check_values(l, graph, NULL, graph->inputs, graph->n_inputs, "input");
    if (rc == ASSAY_OK)
        rc = check_values(l, graph, NULL, graph->outputs, graph->n_outputs, "output");
    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++) {
        const struct as_node *node = &graph->nodes[i];

        rc = check_values(l, graph, node, node->inputs, node->n_inputs, "input");
        if (rc == ASSAY_OK)
            rc = check_values(l, graph, node, node->outputs, node->n_outputs, "output");
    }
    for (uint32_t i = 0; i < graph->n_inputs && rc == ASSAY_OK; i++) {
        if (graph->inputs[i] == AS_NONE)
            return as_fail(l->err, ASSAY_ERR_FORMAT, "graph '%.80s' has an input without a name",
                           graph->name);
        l->model->values[graph->inputs[i]].is_input =
            !l->model->values[graph->inputs[i]].is_initializer;
    }
    return rc;
}

static int claim_outputs(struct linking *l, struct as_graph *graph)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_outputs && rc == ASSAY_OK; k++)
            if (graph->nodes[i].outputs[k] != AS_NONE)
                rc = claim_output(l, graph, i, graph->nodes[i].outputs[k]);
    return rc;
}

static int check_uses(struct linking *l, struct as_graph *graph)
{
    int rc = ASSAY_OK;

    for (uint32_t i = 0; i < graph->n_nodes && rc == ASSAY_OK; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_inputs && rc == ASSAY_OK; k++)
            if (graph->nodes[i].inputs[k] != AS_NONE)
                rc = check_use(l, graph, &graph->nodes[i], graph->nodes[i].inputs[k]);
    for (uint32_t i = 0; i < graph->n_outputs && rc == ASSAY_OK; i++)
        if (graph->outputs[i] != AS_NONE) {
            rc = check_use(l, graph, NULL, graph->outputs[i]);
            l->model->values[graph->outputs[i]].is_output = true;
        }
    return rc;
}

static int order_step(struct linking *l, struct as_graph *graph)
{
    return order_graph(l, graph);
}

static int set_owners(struct linking *l, struct as_graph *graph)
{
    (void)l;
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t k = 0; k < graph->nodes[i].n_attrs; k++)
            if (graph->nodes[i].attrs[k].kind == AS_ATTR_GRAPH)
                graph->nodes[i].attrs[k].graph->owner = &graph->nodes[i];
    return ASSAY_OK;
}

int as_model_link(struct as_model *model, struct assay_error *err)
{
    static const graph_step steps[] = {check_indices, claim_outputs, check_uses, order_step,
                                       set_owners};
    struct linking l = {model, err, 0};
    int rc = ASSAY_OK;

    if (!model->main)
        return as_fail(err, ASSAY_ERR_FORMAT, "the model has no graph");
    for (size_t i = 0; i < AS_COUNT_OF(steps) && rc == ASSAY_OK; i++)
        rc = each_graph(&l, model->main, steps[i]);
    return rc == ASSAY_OK ? as_node_labels_make(model, err) : rc;
}
