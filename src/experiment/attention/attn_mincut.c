/* experiment/attention/attn_mincut.c - attention gated by a minimum cut: head by head, the logits
 * of one head are all that is held of them. */
#include <string.h>

#include "base/sized.h"
#include "experiment/attention/attn_gate.h"
#include "experiment/attention/attn_rows.h"

/* One call: the run, the gate of the head at work, and what is told of all. */
struct gated {
    struct as_attn_run run;
    struct as_gate gate;
    uint8_t *mask; /* of all heads; NULL: nobody wants it */
    uint64_t *used;
    struct assay_gating sum;
};

static int check(struct assay_attn *attn, const struct assay_attn_shape *shape,
                 struct assay_mincut_config *config, const struct assay_mincut_config *given,
                 const struct as_attn_inputs *in, struct assay_error *err)
{
    int rc;

    if (!attn || !in->q || !in->k || !given)
        return as_fail(err, ASSAY_ERR_USAGE, "gating needs a worker, q, k and a configuration");
    rc = as_attn_check_shape(shape, err);
    if (rc == ASSAY_OK)
        rc = as_sized_take(config, sizeof *config, given, "the configuration of gating", err);
    if (rc == ASSAY_OK)
        rc = as_attn_check_config(config, shape, err);
    if (rc == ASSAY_OK)
        rc = as_attn_check_inputs(attn->kernels, shape, in, err);
    return rc;
}

static void edges_of_row(void *arg, size_t i, const float *logits)
{
    struct gated *g = arg;

    as_gate_edges(&g->gate, i, logits);
}

static void fill_some(void *arg, uint64_t from, uint64_t to)
{
    struct gated *g = arg;
    size_t columns = as_attn_columns(g->gate.n);

    for (uint64_t i = from; i < to; i++)
        as_gate_fill(&g->gate, i, g->run.logits + i * columns);
}

/* Decides on the head at work. */
static void gate_head(struct gated *g)
{
    size_t n = g->gate.n, words = as_attn_words(n);

    as_attn_logits(&g->run, edges_of_row, g);
    if (as_gate_ready(&g->gate)) {
        as_thread_pool_run(g->run.attn->pool, n, 64, fill_some, g);
        as_gate_cut(&g->gate, g->run.logits, as_attn_columns(n), &g->sum);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = g->gate.entries + i * words;

        as_gate_count(row, n, &g->sum, g->used);
        if (g->mask)
            as_attn_bits_put(g->mask, ((uint64_t)g->run.head * n + i) * n, n, row);
    }
}

static void run_heads(struct gated *g)
{
    const struct assay_attn_shape *shape = g->run.shape;
    size_t words = as_attn_words(shape->seq_len);

    for (g->run.kv_head = 0; g->run.kv_head < shape->batch * shape->kv_heads; g->run.kv_head++) {
        as_attn_pack(&g->run);
        memset(g->used, 0, words * sizeof *g->used);
        for (size_t h = 0; h < g->run.group; h++) {
            g->run.head = g->run.kv_head * g->run.group + h;
            gate_head(g);
            if (g->run.out)
                as_attn_rows(&g->run, 1);
        }
        g->sum.positions_kept += as_attn_bits_count(g->used, words);
        g->sum.positions_total += shape->seq_len;
    }
}

/* What is needed beside the packed keys and values. */
static void gate_need(const struct assay_attn_shape *shape, size_t need[AS_ATTN_BUFFERS])
{
    size_t n = shape->seq_len;

    need[AS_ATTN_KEPT] = as_attn_words(n) * sizeof(uint64_t);
    need[AS_ATTN_LOGITS] = n * as_attn_columns(n) * sizeof(float);
    need[AS_ATTN_ENTRIES] = as_gate_bytes(n);
    need[AS_ATTN_FLOW] = as_flow_bytes(n);
}

/* Decides, and attends when there is an output. `mask` NULL: not wanted. */
static int run_gated(struct gated *g, const struct assay_mincut_config *config, bool own_mask,
                     struct assay_error *err)
{
    struct assay_attn *attn = g->run.attn;
    const struct assay_attn_shape *shape = g->run.shape;
    size_t need[AS_ATTN_BUFFERS] = {0}, mask_bytes;
    int rc = assay_attn_mask_bytes(shape, &mask_bytes, err);

    as_attn_rows_need(&g->run, shape->seq_len, need);
    gate_need(shape, need);
    need[AS_ATTN_MASK] = own_mask ? mask_bytes : 0;
    if (rc == ASSAY_OK)
        rc = as_attn_fit(attn, need, err);
    if (rc < 0)
        return rc;
    if (own_mask)
        g->mask = attn->buffer[AS_ATTN_MASK];
    if (g->mask)
        memset(g->mask, 0, mask_bytes);
    g->used = attn->buffer[AS_ATTN_KEPT];
    g->gate = (struct as_gate){
        .kernels = attn->kernels,
        .n = shape->seq_len,
        .lambda = config->lambda,
        .eps = config->eps,
        .causal = shape->causal,
    };
    as_gate_place(&g->gate, attn->buffer[AS_ATTN_ENTRIES]);
    as_flow_place(&g->gate.flow, shape->seq_len, attn->buffer[AS_ATTN_FLOW]);
    g->run.logits = attn->buffer[AS_ATTN_LOGITS];
    g->run.entries = g->gate.entries;
    run_heads(g);
    attn->usage.kv_bytes = attn->usage.kv_bytes_dense =
        (g->run.in.v ? 2 : 1) * sizeof(float) * (uint64_t)g->sum.positions_total * shape->dim;
    return ASSAY_OK;
}

int assay_attn_decide(struct assay_attn *attn, const struct assay_attn_shape *shape,
                      const struct assay_mincut_config *given, const float *q, const float *k,
                      uint8_t *mask, struct assay_gating *gating, struct assay_error *err)
{
    struct as_attn_inputs in = {q, k, NULL};
    struct gated g = {0};
    struct assay_mincut_config config = {0};
    int rc = check(attn, shape, &config, given, &in, err);

    if (rc < 0)
        return rc;
    if (!mask)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the mask was given");
    g.mask = mask;
    as_attn_run_init(&g.run, attn, shape, &in, NULL);
    rc = run_gated(&g, &config, false, err);
    if (rc == ASSAY_OK && gating) {
        *gating = g.sum;
        gating->size = sizeof *gating;
    }
    return rc;
}

/* ---- with hysteresis ---- */

static bool same_shape(const struct assay_attn_shape *a, const struct assay_attn_shape *b)
{
    return a->batch == b->batch && a->heads == b->heads && a->kv_heads == b->kv_heads &&
           a->seq_len == b->seq_len && a->dim == b->dim && a->causal == b->causal;
}

static int track(struct gated *g, unsigned tau, struct assay_error *err)
{
    struct assay_attn *attn = g->run.attn;
    const struct assay_attn_shape *shape = g->run.shape;
    int rc = ASSAY_OK;

    if (attn->tracker && (attn->tracked_tau != tau || !same_shape(&attn->tracked, shape)))
        assay_attn_reset_masks(attn);
    if (!attn->tracker)
        rc = assay_hysteresis_new(&attn->tracker,
                                  &(struct assay_hysteresis_options){
                                      .size = sizeof(struct assay_hysteresis_options), .tau = tau},
                                  err);
    if (rc < 0)
        return rc;
    attn->tracked = *shape;
    attn->tracked_tau = tau;
    rc = assay_hysteresis_apply(attn->tracker, g->mask,
                                shape->batch * shape->heads * shape->seq_len * shape->seq_len,
                                g->mask, err);
    as_attn_count_tracker(attn);
    return rc;
}

/* Counts the mask that is used instead of the one that was decided. */
static void count_again(struct gated *g)
{
    const struct assay_attn_shape *shape = g->run.shape;
    size_t n = shape->seq_len, words = as_attn_words(n);
    uint64_t *row = g->gate.entries;

    g->sum.edges_kept = g->sum.edges_total = g->sum.rows_empty = g->sum.positions_kept = 0;
    for (size_t kv = 0; kv < shape->batch * shape->kv_heads; kv++) {
        memset(g->used, 0, words * sizeof *g->used);
        for (size_t i = kv * g->run.group * n; i < (kv + 1) * g->run.group * n; i++) {
            as_attn_bits_get(g->mask, (uint64_t)i * n, n, row);
            as_gate_count(row, n, &g->sum, g->used);
        }
        g->sum.positions_kept += as_attn_bits_count(g->used, words);
    }
}

int assay_attn_mincut(struct assay_attn *attn, const struct assay_attn_shape *shape,
                      const struct assay_mincut_config *given, const float *q, const float *k,
                      const float *v, float *out, uint8_t *mask, struct assay_gating *gating,
                      struct assay_error *err)
{
    struct as_attn_inputs in = {q, k, v};
    struct gated g = {0};
    struct assay_mincut_config config = {0};
    bool tracks;
    int rc;

    if (!v || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "attention needs v and an output");
    rc = check(attn, shape, &config, given, &in, err);
    if (rc < 0)
        return rc;
    tracks = config.mode == ASSAY_GATING_HYSTERESIS;
    if (tracks)
        in.v = NULL; /* decided on first */
    g.mask = mask;
    as_attn_run_init(&g.run, attn, shape, &in, tracks ? NULL : out);
    rc = run_gated(&g, &config, tracks && !mask, err);
    if (rc == ASSAY_OK && tracks) {
        rc = track(&g, config.tau, err);
        if (rc == ASSAY_OK) {
            count_again(&g);
            rc = assay_attn_masked(attn, shape, q, k, v, g.mask, out, err);
        }
    }
    if (rc == ASSAY_OK && gating) {
        *gating = g.sum;
        gating->size = sizeof *gating;
    }
    return rc;
}
