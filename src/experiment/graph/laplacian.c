/* experiment/graph/laplacian.c - the Laplacian of a weighted graph, row by row, and what is solved
 * with it. */
#include "experiment/graph/laplacian.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

#define NEAR 1e-20 /* of the square of the right side */

static int check(const struct assay_attention_graph *graph, struct assay_error *err)
{
    if (!graph || (graph->n_edges > 0 && !graph->edges))
        return as_fail(err, ASSAY_ERR_USAGE, "no graph was given");
    if (graph->nodes < 2)
        return as_fail(err, ASSAY_ERR_USAGE, "a graph of %zu nodes has no health", graph->nodes);
    if (graph->nodes > AS_LAPLACIAN_MAX_NODES)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu nodes: at most %d are possible", graph->nodes,
                       AS_LAPLACIAN_MAX_NODES);
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

static bool counts(const struct assay_edge *e)
{
    return e->src != e->dst && e->weight > 0;
}

static void put(struct as_laplacian *l, size_t from, size_t to, float weight)
{
    size_t at = l->start[from]++;

    l->to[at] = (uint32_t)to;
    l->weight[at] = (double)weight;
    l->degree[from] += (double)weight;
}

/* Counts the rows, then fills them; while filling `start` runs ahead to the next row's. */
static void fill(struct as_laplacian *l, const struct assay_attention_graph *graph)
{
    for (size_t i = 0; i < graph->n_edges; i++)
        if (counts(&graph->edges[i])) {
            l->start[graph->edges[i].src + 1]++;
            l->start[graph->edges[i].dst + 1]++;
        }
    for (size_t i = 0; i < l->n; i++)
        l->start[i + 1] += l->start[i];
    for (size_t i = 0; i < graph->n_edges; i++)
        if (counts(&graph->edges[i])) {
            put(l, graph->edges[i].src, graph->edges[i].dst, graph->edges[i].weight);
            put(l, graph->edges[i].dst, graph->edges[i].src, graph->edges[i].weight);
        }
    memmove(l->start + 1, l->start, l->n * sizeof *l->start);
    l->start[0] = 0;
}

/* Which part every node is in; `queue` has n places. */
static void find_parts(struct as_laplacian *l, uint32_t *queue)
{
    for (size_t i = 0; i < l->n; i++)
        l->part[i] = UINT32_MAX;
    for (size_t i = 0; i < l->n; i++) {
        size_t n = 0;

        if (l->part[i] != UINT32_MAX)
            continue;
        l->part[i] = (uint32_t)l->n_parts;
        queue[n++] = (uint32_t)i;
        for (size_t head = 0; head < n; head++)
            for (size_t e = l->start[queue[head]]; e < l->start[queue[head] + 1]; e++)
                if (l->part[l->to[e]] == UINT32_MAX) {
                    l->part[l->to[e]] = (uint32_t)l->n_parts;
                    queue[n++] = l->to[e];
                }
        l->n_parts++;
    }
}

int as_laplacian_init(struct as_laplacian *l, const struct assay_attention_graph *graph,
                      struct assay_error *err)
{
    size_t n_entries = 1;
    uint32_t *queue;
    int rc;

    *l = (struct as_laplacian){0};
    rc = check(graph, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < graph->n_edges; i++)
        n_entries += counts(&graph->edges[i]) ? 2 : 0;
    l->n = graph->nodes;
    l->start = as_alloc_zero(l->n + 1, sizeof *l->start);
    l->to = as_alloc_zero(n_entries, sizeof *l->to);
    l->weight = as_alloc_zero(n_entries, sizeof *l->weight);
    l->degree = as_alloc_zero(l->n, sizeof *l->degree);
    l->part = as_alloc_zero(l->n, sizeof *l->part);
    l->r = as_alloc_zero(l->n, 3 * sizeof *l->r);
    queue = as_alloc_zero(l->n, sizeof *queue);
    if (l->start && l->to && l->weight && l->degree && l->part && l->r && queue) {
        l->p = l->r + l->n;
        l->ap = l->p + l->n;
        fill(l, graph);
        find_parts(l, queue);
    } else {
        as_laplacian_fini(l);
        rc = as_fail_nomem(err);
    }
    as_free(queue);
    return rc;
}

void as_laplacian_fini(struct as_laplacian *l)
{
    as_free(l->start);
    as_free(l->to);
    as_free(l->weight);
    as_free(l->degree);
    as_free(l->part);
    as_free(l->r);
    *l = (struct as_laplacian){0};
}

void as_laplacian_apply(const struct as_laplacian *l, const double *x, double *y)
{
    for (size_t i = 0; i < l->n; i++) {
        double sum = l->degree[i] * x[i];

        for (size_t e = l->start[i]; e < l->start[i + 1]; e++)
            sum -= l->weight[e] * x[l->to[e]];
        y[i] = sum;
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void as_laplacian_solve(struct as_laplacian *l, const double *b, double *y)
{
    size_t n = l->n, most = 4 * n + 100;
    double left, enough;

    memset(y, 0, n * sizeof *y);
    memcpy(l->r, b, n * sizeof *b);
    memcpy(l->p, b, n * sizeof *b);
    left = dot(b, b, n);
    enough = left * NEAR;
    for (size_t i = 0; i < most && left > enough; i++) {
        double step, next, curve;

        as_laplacian_apply(l, l->p, l->ap);
        curve = dot(l->p, l->ap, n);
        if (!(curve > 0))
            break;
        step = left / curve;
        for (size_t k = 0; k < n; k++) {
            y[k] += step * l->p[k];
            l->r[k] -= step * l->ap[k];
        }
        next = dot(l->r, l->r, n);
        for (size_t k = 0; k < n; k++)
            l->p[k] = l->r[k] + next / left * l->p[k];
        left = next;
    }
    l->n_unsolved += left > enough * 1e8; /* a millionth of the right side */
}
