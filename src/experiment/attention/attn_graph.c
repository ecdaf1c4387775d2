/* experiment/attention/attn_graph.c - logits as a graph, and the minimum cut of any graph.
 * Nodes without edges are left out before the flow, so they cost nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/experiment/attention.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/error.h"
#include "experiment/attention/attn_gate.h"

int assay_attention_graph_init(const float *logits, size_t n_logits, size_t n,
                               struct assay_attention_graph *graph, struct assay_error *err)
{
    size_t n_edges = 0;
    uint64_t wanted;

    if (!graph)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the graph was given");
    *graph = (struct assay_attention_graph){0};
    if (!as_mul_u64(n, n, &wanted) || wanted != n_logits)
        return as_fail(err, ASSAY_ERR_USAGE, "%zu logits are not those of %zu tokens", n_logits, n);
    if (!logits && n_logits > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "no logits were given");
    for (size_t i = 0; i < n_logits; i++) {
        if (!isfinite(logits[i]))
            return as_fail(err, ASSAY_ERR_FORMAT, "the logit of row %zu, column %zu is %s", i / n,
                           i % n, isnan(logits[i]) ? "not a number" : "infinite");
        n_edges += logits[i] > 0;
    }
    graph->nodes = n;
    if (n_edges == 0)
        return ASSAY_OK;
    graph->edges = as_alloc_zero(n_edges, sizeof *graph->edges);
    if (!graph->edges)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n_logits; i++)
        if (logits[i] > 0)
            graph->edges[graph->n_edges++] = (struct assay_edge){i / n, i % n, logits[i]};
    return ASSAY_OK;
}

void assay_attention_graph_fini(struct assay_attention_graph *graph)
{
    if (!graph)
        return;
    as_free(graph->edges);
    *graph = (struct assay_attention_graph){0};
}

/* ---- the cut ---- */

static int check_graph(const struct assay_attention_graph *graph, size_t s, size_t t,
                       struct assay_error *err)
{
    if (!graph || (graph->n_edges > 0 && !graph->edges))
        return as_fail(err, ASSAY_ERR_USAGE, "no graph was given");
    if (s >= graph->nodes || t >= graph->nodes || s == t)
        return as_fail(err, ASSAY_ERR_USAGE, "no cut between nodes %zu and %zu of %zu", s, t,
                       graph->nodes);
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct assay_edge *e = &graph->edges[i];

        if (e->src >= graph->nodes || e->dst >= graph->nodes)
            return as_fail(err, ASSAY_ERR_FORMAT, "edge %zu goes from node %zu to %zu of %zu", i,
                           e->src, e->dst, graph->nodes);
        if (!isfinite(e->weight) || e->weight < 0)
            return as_fail(err, ASSAY_ERR_FORMAT, "edge %zu weighs %g: it must be 0 or more", i,
                           (double)e->weight);
    }
    return ASSAY_OK;
}

/* Nodes that have edges, and s and t, in the order of their numbers. */
struct nodes {
    size_t *at;
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static int find_nodes(struct nodes *nodes, const struct assay_attention_graph *graph, size_t s,
                      size_t t, struct assay_error *err)
{
    size_t n = 0, kept = 0;

    if (graph->n_edges > SIZE_MAX / 4 / sizeof *nodes->at)
        return as_fail_nomem(err);
    nodes->at = as_alloc_zero(2 * graph->n_edges + 2, sizeof *nodes->at);
    if (!nodes->at)
        return as_fail_nomem(err);
    nodes->at[n++] = s;
    nodes->at[n++] = t;
    for (size_t i = 0; i < graph->n_edges; i++) {
        nodes->at[n++] = graph->edges[i].src;
        nodes->at[n++] = graph->edges[i].dst;
    }
    qsort(nodes->at, n, sizeof *nodes->at, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || nodes->at[i] != nodes->at[kept - 1])
            nodes->at[kept++] = nodes->at[i];
    nodes->n = kept;
    if (kept > ASSAY_ATTN_MAX_GATED)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu nodes with edges: at most %d can be cut", kept,
                       ASSAY_ATTN_MAX_GATED);
    return ASSAY_OK;
}

static size_t place_of(const struct nodes *nodes, size_t node)
{
    size_t low = 0, high = nodes->n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (nodes->at[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void fill(struct as_flow *flow, const struct assay_attention_graph *graph,
                 const struct nodes *nodes)
{
    float top = 0;
    double scale;

    memset(flow->residual, 0, flow->n * flow->n * sizeof *flow->residual);
    for (size_t i = 0; i < graph->n_edges; i++)
        top = graph->edges[i].weight > top ? graph->edges[i].weight : top;
    scale = as_flow_scale(top, 2 * (uint64_t)graph->n_edges + 2);
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct assay_edge *e = &graph->edges[i];
        int64_t capacity = llrint((double)e->weight * scale);

        if (e->weight > 0 && capacity < 1)
            capacity = 1;
        flow->residual[place_of(nodes, e->src) * flow->n + place_of(nodes, e->dst)] += capacity;
    }
}

static int tell(const struct as_flow *flow, const struct assay_attention_graph *graph,
                const struct nodes *nodes, struct assay_cut_result *result, struct assay_error *err)
{
    size_t n = graph->n_edges;

    result->keep_mask = as_alloc_zero(n + 1, sizeof *result->keep_mask);
    if (!result->keep_mask)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct assay_edge *e = &graph->edges[i];

        result->keep_mask[i] = !as_flow_reached(flow, place_of(nodes, e->src)) ||
                               as_flow_reached(flow, place_of(nodes, e->dst));
        result->n_cut_edges += !result->keep_mask[i];
        if (!result->keep_mask[i])
            result->cut_cost += (double)e->weight;
    }
    result->n_edges = n;
    result->cut_edges = as_alloc_zero(result->n_cut_edges + 1, sizeof *result->cut_edges);
    if (!result->cut_edges)
        return as_fail_nomem(err);
    for (size_t i = 0, at = 0; i < n; i++)
        if (!result->keep_mask[i])
            result->cut_edges[at++] =
                (struct assay_cut_edge){graph->edges[i].src, graph->edges[i].dst};
    return ASSAY_OK;
}

int assay_attention_graph_min_cut(const struct assay_attention_graph *graph, size_t s, size_t t,
                                  struct assay_cut_result *result, struct assay_error *err)
{
    struct nodes nodes = {0};
    struct as_flow flow;
    void *storage = NULL;
    int rc;

    if (!result)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the cut was given");
    *result = (struct assay_cut_result){0};
    rc = check_graph(graph, s, t, err);
    if (rc < 0)
        return rc;
    rc = find_nodes(&nodes, graph, s, t, err);
    if (rc < 0)
        goto out;
    storage = as_alloc(as_flow_bytes(nodes.n));
    if (!storage) {
        rc = as_fail_nomem(err);
        goto out;
    }
    as_flow_place(&flow, nodes.n, storage);
    fill(&flow, graph, &nodes);
    as_flow_cut(&flow, (uint32_t)place_of(&nodes, s), (uint32_t)place_of(&nodes, t));
    rc = tell(&flow, graph, &nodes, result, err);
    if (rc < 0)
        assay_cut_result_fini(result);
out:
    as_free(storage);
    as_free(nodes.at);
    return rc;
}

void assay_cut_result_fini(struct assay_cut_result *result)
{
    if (!result)
        return;
    as_free(result->cut_edges);
    as_free(result->keep_mask);
    *result = (struct assay_cut_result){0};
}
