/* experiment/attention/attn_gate.h - which entries of one head stay: edges above eps, less a cheap
 * cut. Rows may be prepared by several threads; the cut is one piece. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_GATE_H
#define AS_EXPERIMENT_ATTENTION_ATTN_GATE_H

#include <assay/experiment/attention.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment/attention/attn_kernels.h"

/* ---- attn_flow.c ---- */

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
void as_flow_place(struct as_flow *flow, size_t n, void *storage);

/* What capacities are multiplied with so that `most` of them, none above `weight`, can be added;
 * a power of two. A capacity stays below 2^51. */
double as_flow_scale(float weight, uint64_t most);

/* Finds the minimum cut nearest to `s`; s and t differ. */
void as_flow_cut(struct as_flow *flow, uint32_t s, uint32_t t);

static inline bool as_flow_reached(const struct as_flow *flow, size_t node)
{
    return flow->level[node] != AS_FLOW_FAR;
}

/* ---- attn_gate.c ---- */

struct as_gate {
    const struct as_attn_kernels *kernels;
    size_t n;
    float lambda, eps;
    bool causal;
    uint64_t *entries; /* [n][words] */
    float *tops;       /* of each row, 0 without edges */
    int64_t *sums;     /* of the capacities of each row */
    struct as_flow flow;
    double scale; /* of capacities */
};

/* Bytes for entries, tops and sums, aligned for uint64_t; and where they lie. */
size_t as_gate_bytes(size_t n);
void as_gate_place(struct as_gate *gate, void *storage);

/* The edges of row `i`. */
void as_gate_edges(struct as_gate *gate, size_t i, const float *logits);
/* After all rows: whether there is anything to cut. If not, nothing is kept. */
bool as_gate_ready(struct as_gate *gate);
/* The capacities of row `i`. */
void as_gate_fill(struct as_gate *gate, size_t i, const float *logits);
/* After all rows: finds the cut and applies it when it is cheap enough; adds cost, threshold and
 * whether it was applied to `sum`. Row i of the logits begins at i * stride. */
void as_gate_cut(struct as_gate *gate, const float *logits, size_t stride,
                 struct assay_gating *sum);

/* Adds a row of entries to the counts, and its columns to `used`. */
void as_gate_count(const uint64_t *row, size_t n, struct assay_gating *sum, uint64_t *used);

/* ---- attn_bits.c ---- */

/* Words a row of `n` bits takes. */
static inline size_t as_attn_words(size_t n)
{
    return (n + 63) / 64;
}

/* The `n` bits from bit `at` of the mask on; the others of the last word are 0. */
void as_attn_bits_get(const uint8_t *mask, uint64_t at, size_t n, uint64_t *words);

/* Adds `n` bits to a mask that has none there yet. */
void as_attn_bits_put(uint8_t *mask, uint64_t at, size_t n, const uint64_t *words);

/* Keeps the first `n` bits and clears what follows in the words. */
void as_attn_bits_trim(uint64_t *words, size_t n_words, size_t n);

/* Moves the bits of `from` where `keep` has one next to each other; `to` has `n_words` too. */
void as_attn_bits_squeeze(const uint64_t *from, const uint64_t *keep, size_t n_words, uint64_t *to);

uint64_t as_attn_bits_count(const uint64_t *words, size_t n_words);

#endif
