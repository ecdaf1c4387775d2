/* experiment/attention/attn_flow.h - the greatest flow through a dense graph, in whole numbers.
 * The residual is one matrix, so an edge and the one against it are two of its entries. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_FLOW_H
#define AS_EXPERIMENT_ATTENTION_ATTN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_FLOW_FAR UINT32_MAX

struct as_flow {
    size_t n;
    int64_t *residual; /* [n][n]: filled with capacities by the caller, used up by the cut */
    uint32_t *level;   /* after the cut AS_FLOW_FAR for nodes on the side of `t` */
    uint32_t *queue, *left, *arc, *start, *path;
};

/* Bytes for a graph of `n` nodes, up to 2^31. */
size_t as_flow_bytes(size_t n);
/* Lays a graph out in memory aligned for int64_t. */
void as_flow_place(struct as_flow *flow, size_t n, void *capacity);

/* What capacities are multiplied with so that `most` of them, none above `weight`, can be added;
 * a power of two. A capacity stays below 2^51. */
double as_flow_scale(float weight, uint64_t most);

/* Finds the minimum cut nearest to `s`; s and t differ. */
void as_flow_cut(struct as_flow *flow, uint32_t s, uint32_t t);

static inline bool as_flow_reached(const struct as_flow *flow, size_t node)
{
    return flow->level[node] != AS_FLOW_FAR;
}

#endif
