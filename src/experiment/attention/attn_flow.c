/* experiment/attention/attn_flow.c - Dinic's algorithm on a matrix: levels by breadth, then paths
 * down the levels until none is left. The queue holds the nodes level by level, so the nodes a path
 * can go on to are neighbors in it. */
#include "experiment/attention/attn_gate.h"

#include <math.h>

enum { LISTS = 6 }; /* of n + 2 numbers */

size_t as_flow_bytes(size_t n)
{
    return n * n * sizeof(int64_t) + LISTS * (n + 2) * sizeof(uint32_t);
}

void as_flow_place(struct as_flow *flow, size_t n, void *storage)
{
    uint32_t *lists;

    flow->n = n;
    flow->residual = storage;
    lists = (uint32_t *)(void *)(flow->residual + n * n);
    flow->level = lists;
    flow->queue = lists + (n + 2);
    flow->left = lists + 2 * (n + 2);
    flow->arc = lists + 3 * (n + 2);
    flow->start = lists + 4 * (n + 2);
    flow->path = lists + 5 * (n + 2);
}

double as_flow_scale(float weight, uint64_t most)
{
    int exponent, bits = 0;

    (void)frexpf(weight, &exponent); /* weight is below 2^exponent */
    while (bits < 63 && (uint64_t)1 << bits < most)
        bits++;
    bits = 62 - bits < 51 ? 62 - bits : 51;
    return ldexp(1, bits - exponent);
}

/* Gives every node its distance from `s`. False when `t` is not reached. In the level of `t` only
 * `t` counts. */
static bool find_levels(struct as_flow *flow, uint32_t s, uint32_t t)
{
    size_t n_left = 0, end = 1, depth = 0;

    for (uint32_t v = 0; v < flow->n; v++) {
        flow->level[v] = AS_FLOW_FAR;
        if (v != s)
            flow->left[n_left++] = v;
    }
    flow->level[s] = 0;
    flow->queue[0] = s;
    flow->start[0] = 0;
    for (size_t head = 0; head < end; depth++) {
        size_t level_end = end;

        flow->start[depth + 1] = (uint32_t)end;
        for (; head < level_end; head++) {
            const int64_t *row = flow->residual + flow->queue[head] * flow->n;
            size_t kept = 0;

            for (size_t i = 0; i < n_left; i++) {
                uint32_t v = flow->left[i];

                if (row[v] > 0) {
                    flow->level[v] = (uint32_t)depth + 1;
                    flow->queue[end++] = v;
                } else {
                    flow->left[kept++] = v;
                }
            }
            n_left = kept;
        }
        if (flow->level[t] != AS_FLOW_FAR) {
            flow->queue[level_end] = t;
            flow->start[depth + 2] = (uint32_t)level_end + 1;
            return true;
        }
    }
    return false;
}

/* Sends what fits along the path of `depth` edges; returns how many of them are still usable from
 * the start. */
static size_t send(struct as_flow *flow, size_t depth)
{
    size_t usable = depth;
    int64_t fits = INT64_MAX;

    for (size_t i = 0; i < depth; i++) {
        int64_t capacity = flow->residual[flow->path[i] * flow->n + flow->path[i + 1]];

        fits = capacity < fits ? capacity : fits;
    }
    for (size_t i = depth; i-- > 0;) {
        size_t u = flow->path[i], v = flow->path[i + 1];

        flow->residual[u * flow->n + v] -= fits;
        flow->residual[v * flow->n + u] += fits;
        if (flow->residual[u * flow->n + v] == 0)
            usable = i;
    }
    return usable;
}

/* Paths down the levels until there is none. `arc` remembers how far a node has looked. */
static void block_flow(struct as_flow *flow, uint32_t s, uint32_t t)
{
    size_t depth = 0;

    for (size_t i = 0; i < flow->start[flow->level[t]]; i++)
        flow->arc[flow->queue[i]] = flow->start[flow->level[flow->queue[i]] + 1];
    flow->path[0] = s;
    for (;;) {
        uint32_t u = flow->path[depth], end;
        const int64_t *row = flow->residual + u * flow->n;

        if (u == t) {
            depth = send(flow, depth);
            continue;
        }
        end = flow->start[depth + 2];
        while (flow->arc[u] < end && row[flow->queue[flow->arc[u]]] <= 0)
            flow->arc[u]++;
        if (flow->arc[u] < end) {
            flow->path[depth + 1] = flow->queue[flow->arc[u]];
            depth++;
        } else if (depth > 0) {
            depth--;
            flow->arc[flow->path[depth]]++;
        } else {
            return;
        }
    }
}

void as_flow_cut(struct as_flow *flow, uint32_t s, uint32_t t)
{
    while (find_levels(flow, s, t))
        block_flow(flow, s, t);
}
