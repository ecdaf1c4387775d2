/* experiment/attention/attn_gate.c - which entries of one head stay: edges above eps, less a cheap
 * cut. Costs are compared as doubles; flow is whole numbers, so no tolerance is needed anywhere. */
#include "experiment/attention/attn_gate.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

size_t as_gate_bytes(size_t n)
{
    return n * (as_attn_words(n) * sizeof(uint64_t) + sizeof(int64_t) + sizeof(float));
}

void as_gate_place(struct as_gate *gate, void *storage)
{
    gate->entries = storage;
    gate->sums = (int64_t *)(void *)(gate->entries + gate->n * as_attn_words(gate->n));
    gate->tops = (float *)(void *)(gate->sums + gate->n);
}

static size_t seen(const struct as_gate *gate, size_t i)
{
    return gate->causal ? i + 1 : gate->n;
}

void as_gate_edges(struct as_gate *gate, size_t i, const float *logits)
{
    size_t words = as_attn_words(gate->n);
    uint64_t *row = gate->entries + i * words;

    memset(row, 0, words * sizeof *row);
    gate->tops[i] = gate->kernels->above(logits, seen(gate, i), gate->eps, row);
}

bool as_gate_ready(struct as_gate *gate)
{
    float top = 0;

    for (size_t i = 0; i < gate->n; i++)
        top = gate->tops[i] > top ? gate->tops[i] : top;
    if (gate->n < 2 || !(top > 0)) {
        memset(gate->entries, 0, gate->n * as_attn_words(gate->n) * sizeof *gate->entries);
        return false;
    }
    gate->scale = as_flow_scale(top, 2 * (uint64_t)gate->n);
    return true;
}

void as_gate_fill(struct as_gate *gate, size_t i, const float *logits)
{
    int64_t *row = gate->flow.residual + i * gate->n;
    size_t n = seen(gate, i);

    gate->sums[i] = gate->kernels->capacities(logits, gate->entries + i * as_attn_words(gate->n), n,
                                              gate->scale, row);
    memset(row + n, 0, (gate->n - n) * sizeof *row);
}

/* Edges from the source's side to the other: what they cost, and drops them when asked to. */
static double cross(struct as_gate *gate, const float *logits, size_t stride, bool drop)
{
    size_t words = as_attn_words(gate->n);
    double cost = 0;

    for (size_t i = 0; i < gate->n; i++) {
        uint64_t *row = gate->entries + i * words;

        if (!as_flow_reached(&gate->flow, i))
            continue;
        for (size_t w = 0; w < words; w++)
            for (uint64_t left = row[w]; left; left &= left - 1) {
                size_t j = w * 64 + (size_t)__builtin_ctzll(left);

                if (as_flow_reached(&gate->flow, j))
                    continue;
                cost += (double)logits[i * stride + j];
                if (drop)
                    row[w] &= ~(left & -left);
            }
    }
    return cost;
}

void as_gate_cut(struct as_gate *gate, const float *logits, size_t stride, struct assay_gating *sum)
{
    uint64_t edges = as_attn_bits_count(gate->entries, gate->n * as_attn_words(gate->n));
    uint32_t last = (uint32_t)gate->n - 1;
    double total = 0, threshold, cost;

    for (size_t i = 0; i < gate->n; i++)
        total += (double)gate->sums[i];
    threshold = (double)gate->lambda * (total / gate->scale / (double)edges);
    /* With a causal mask all edges lead back, and none leaves the first token. */
    as_flow_cut(&gate->flow, gate->causal ? last : 0, gate->causal ? 0 : last);
    cost = cross(gate, logits, stride, false);
    sum->threshold += threshold;
    if (cost > threshold)
        return;
    (void)cross(gate, logits, stride, true);
    sum->cut_cost += cost;
    sum->cuts_applied++;
}

void as_gate_count(const uint64_t *row, size_t n, struct assay_gating *sum, uint64_t *used)
{
    size_t words = as_attn_words(n);
    uint64_t kept = as_attn_bits_count(row, words);

    sum->edges_kept += kept;
    sum->edges_total += n;
    sum->rows_empty += kept == 0;
    for (size_t w = 0; w < words; w++)
        used[w] |= row[w];
}

/* ---- the logits of one head, as callers have them ---- */

static int check_logits(const struct as_attn_kernels *kernels, const float *logits, size_t n,
                        struct assay_error *err)
{
    size_t at = 0;

    if (kernels->largest(logits, n * n) < 0x7f800000)
        return ASSAY_OK;
    while (isfinite(logits[at]))
        at++;
    return as_fail(err, ASSAY_ERR_FORMAT, "the logit of row %zu, column %zu is %s", at / n, at % n,
                   isnan(logits[at]) ? "not a number" : "infinite");
}

static void gate_logits(struct as_gate *gate, const float *logits, struct assay_gating *sum)
{
    for (size_t i = 0; i < gate->n; i++)
        as_gate_edges(gate, i, logits + i * gate->n);
    if (!as_gate_ready(gate))
        return;
    for (size_t i = 0; i < gate->n; i++)
        as_gate_fill(gate, i, logits + i * gate->n);
    as_gate_cut(gate, logits, gate->n, sum);
}

/* Counts what is kept and writes it as the caller wants it; `used` is the first row of sums. */
static void tell(const struct as_gate *gate, uint64_t *used, uint8_t *keep_mask,
                 struct assay_gating *sum)
{
    size_t n = gate->n, words = as_attn_words(n);

    memset(used, 0, words * sizeof *used);
    memset(keep_mask, 0, (n * n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        as_gate_count(gate->entries + i * words, n, sum, used);
        as_attn_bits_put(keep_mask, i * n, n, gate->entries + i * words);
    }
    sum->positions_kept = as_attn_bits_count(used, words);
    sum->positions_total = n;
}

int assay_mincut_gate(const float *logits, size_t n, float lambda, unsigned tau, float eps,
                      uint8_t *keep_mask, struct assay_gating *gating, struct assay_error *err)
{
    struct as_gate gate = {as_attn_kernels_at(0), n, lambda, eps, .causal = false};
    struct assay_gating sum = {.size = sizeof sum};
    size_t gate_bytes, words = as_attn_words(n);
    uint64_t *storage = NULL;
    int rc;

    (void)tau;
    if (n > ASSAY_ATTN_MAX_GATED)
        return as_fail(err, ASSAY_ERR_LIMIT, "%zu tokens: at most %d can be gated", n,
                       ASSAY_ATTN_MAX_GATED);
    if ((!logits || !keep_mask) && n > 0)
        return as_fail(err, ASSAY_ERR_USAGE, "gating needs logits and a mask");
    if (!isfinite(lambda) || lambda < 0 || !isfinite(eps) || eps < 0)
        return as_fail(err, ASSAY_ERR_USAGE, "lambda is %g and eps is %g: both must be 0 or more",
                       (double)lambda, (double)eps);
    if (n == 0)
        goto out;
    rc = check_logits(gate.kernels, logits, n, err);
    if (rc < 0)
        return rc;
    gate_bytes = (as_gate_bytes(n) + 7) / 8 * 8;
    storage = as_alloc(gate_bytes + words * sizeof *storage + as_flow_bytes(n));
    if (!storage)
        return as_fail_nomem(err);
    as_gate_place(&gate, storage);
    as_flow_place(&gate.flow, n, storage + gate_bytes / 8 + words);
    gate_logits(&gate, logits, &sum);
    tell(&gate, storage + gate_bytes / 8, keep_mask, &sum);
out:
    as_free(storage);
    if (gating)
        *gating = sum;
    return ASSAY_OK;
}
