/* experiment/attention/attn_gate.h - which entries of one head stay: edges above eps, less a cheap
 * cut. Rows may be prepared by several threads; the cut is one piece. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTN_GATE_H
#define AS_EXPERIMENT_ATTENTION_ATTN_GATE_H

#include <assay/attention.h>

#include "experiment/attention/attn_flow.h"
#include "experiment/attention/attn_kernels.h"

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
void as_gate_place(struct as_gate *gate, void *capacity);

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

#endif
