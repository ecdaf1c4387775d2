/* assay/experiment/attention.h - attention as a workload: the softmax baseline, the operator gated
 * by a minimum cut, and a sparse one that computes only what a mask keeps.
 *
 *     struct assay_attn_shape shape = {1, 8, 8, 1024, 64, false};
 *     struct assay_attn *attn;
 *     assay_attn_new(&attn, NULL, &err);
 *     assay_attn_softmax(attn, &shape, q, k, v, out, &err);
 *
 * Results and decisions are the same bits for any number of threads, on any processor and with any
 * optimization, in the default floating-point environment. Numbers are f32; q and out are
 * [batch][heads][seq_len][dim], k and v are [batch][kv_heads][seq_len][dim]. NaN and infinity are
 * errors that say where they are. A worker may be used by one thread at a time. */
#ifndef ASSAY_EXPERIMENT_ATTENTION_H
#define ASSAY_EXPERIMENT_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `heads` is a multiple of `kv_heads`: that many neighboring query heads share a key head.
 * `causal`: query i sees keys 0 to i. */
struct assay_attn_shape {
    size_t batch, heads, kv_heads, seq_len, dim;
    bool causal;
};

#define ASSAY_ATTN_MAX_SEQ   65536
#define ASSAY_ATTN_MAX_DIM   4096
#define ASSAY_ATTN_MAX_GATED 16384 /* tokens of a head whose logits are gated, nodes of a graph */

/* ---- the worker ---- */

struct assay_attn; /* threads and working memory, reused from call to call */

/* Zero means the default. */
struct assay_attn_options {
    size_t size;      /* sizeof(struct assay_attn_options) */
    unsigned threads; /* the caller's own among them: 1; at most 256 */
};

/* `options` may be NULL. */
ASSAY_API int assay_attn_new(struct assay_attn **out, const struct assay_attn_options *options,
                             struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_attn_free(struct assay_attn *attn);

/* Working memory is counted allocation by allocation and added to the process's account as
 * ASSAY_MEMORY_TEMP. A call holds exactly what its shape needs: what an earlier call left behind is
 * used again when the size is the same and given back otherwise. */
struct assay_attn_usage {
    size_t size;                   /* set by the library */
    uint64_t workspace_bytes;      /* held now */
    uint64_t peak_workspace_bytes; /* the most a call held since the peak was reset */
    uint64_t kv_bytes;             /* of keys and values the last call read: kept positions only */
    uint64_t kv_bytes_dense;       /* of all of them */
};
/* Zeros for NULL. */
ASSAY_API void assay_attn_read_usage(const struct assay_attn *attn, struct assay_attn_usage *out);
/* The peak starts again at 0 with the next call. Accepts NULL. */
ASSAY_API void assay_attn_reset_peak(struct assay_attn *attn);

/* ---- the baseline ---- */

/* softmax(q k^T / sqrt(dim)) v. Blocks of rows at a time: logits are never kept as a whole. */
ASSAY_API int assay_attn_softmax(struct assay_attn *attn, const struct assay_attn_shape *shape,
                                 const float *q, const float *k, const float *v, float *out,
                                 struct assay_error *err);

/* ---- gating ---- */

enum assay_gating_mode {
    ASSAY_GATING_EXACT = 0,      /* as the operator is documented: `tau` is ignored */
    ASSAY_GATING_HYSTERESIS = 1, /* masks go through a tracker the worker keeps */
};

struct assay_mincut_config {
    size_t size;          /* sizeof(struct assay_mincut_config) */
    float lambda;         /* a cut is made when it costs at most this times the mean weight; >= 0 */
    unsigned tau;         /* how often in a row an entry must disagree before it flips */
    float eps;            /* logits up to it are not edges; >= 0 */
    uint64_t seed;        /* kept with the configuration; nothing here is random */
    bool witness_enabled; /* for whoever writes witnesses; nothing here reads it */
    enum assay_gating_mode mode;
};
/* The documented one: lambda 0.5, tau 2, eps 0.01, seed 42. Here 0 is a value, so start from it. */
static inline struct assay_mincut_config assay_mincut_config_make(void)
{
    struct assay_mincut_config config = ASSAY_SIZED(struct assay_mincut_config);

    config.lambda = 0.5F;
    config.tau = 2;
    config.eps = 0.01F;
    config.seed = 42;
    config.witness_enabled = true;
    return config;
}

/* A mask of all heads has one bit an entry: bit ((b * heads + h) * n + i) * n + j is whether
 * query i of head h uses key j. The least significant bit of a byte comes first, nothing lies
 * between rows, bits past the end are 0. */
ASSAY_API int assay_attn_mask_bytes(const struct assay_attn_shape *shape, size_t *bytes,
                                    struct assay_error *err);

/* Sums over all heads of all batches. */
struct assay_gating {
    size_t size;      /* set by the library */
    double cut_cost;  /* of the cuts that were applied */
    double threshold; /* lambda times the mean weight, of heads with edges */
    uint64_t edges_kept, edges_total;
    /* A position is a token of a key head; it is kept while one query uses its key and value. What
     * is not kept is what a KV cache could free. */
    uint64_t positions_kept, positions_total;
    uint64_t rows_empty;   /* queries that see nothing: their output is 0 */
    uint64_t cuts_applied; /* heads whose cut was cheap enough, a cut of nothing included */
};

/* How a head is gated: logits up to `eps` are dropped, the rest are edges i -> j with the logit as
 * weight; one minimum cut separates token 0 from token n - 1 and is applied, which drops its edges,
 * when it costs at most lambda times the mean weight of the edges (those of a token with itself
 * included). Without edges, or with one token, nothing is kept.
 *
 * Capacities are whole multiples of a power of two, at most the greatest weight / 2^50 up to 1,024
 * tokens (one bit less for each doubling), so flow is exact, and so is the cut wherever the
 * weights are such multiples; logits within a factor of 2^26 of the greatest are.
 *
 * Our extensions: heads and batches, each head gated on its own, and `causal`, where entries j > i
 * are not edges and stay dropped. All edges lead back to earlier tokens then, so the cut separates
 * token n - 1 from token 0. */

/* Logits and gating alone, without hysteresis. */
ASSAY_API int assay_attn_decide(struct assay_attn *attn, const struct assay_attn_shape *shape,
                                const struct assay_mincut_config *config, const float *q,
                                const float *k, uint8_t *mask, struct assay_gating *gating,
                                struct assay_error *err);

/* The documented operator: decides, takes what is dropped as minus infinity, softmax by rows (a
 * row without entries becomes 0), times v. `mask` (the one used) and `gating` may be NULL.
 *
 * With hysteresis the mask that was decided goes through the worker's tracker first, which starts
 * anew with another shape or tau; counts are of the mask that was used. */
ASSAY_API int assay_attn_mincut(struct assay_attn *attn, const struct assay_attn_shape *shape,
                                const struct assay_mincut_config *config, const float *q,
                                const float *k, const float *v, float *out, uint8_t *mask,
                                struct assay_gating *gating, struct assay_error *err);
/* Lets the worker's tracker forget the masks it saw. Accepts NULL. */
ASSAY_API void assay_attn_reset_masks(struct assay_attn *attn);

/* The sparse path: keys and values no query uses are left out, and so are columns none of a block
 * of queries uses, 16 at a time. Bit for bit what assay_attn_mincut() gives for that mask. With
 * `causal` entries j > i are dropped whatever the mask is. */
ASSAY_API int assay_attn_masked(struct assay_attn *attn, const struct assay_attn_shape *shape,
                                const float *q, const float *k, const float *v, const uint8_t *mask,
                                float *out, struct assay_error *err);

/* ---- graph and cut ---- */

struct assay_edge {
    size_t src, dst;
    float weight;
};

/* {0} is empty. */
struct assay_attention_graph {
    size_t nodes;
    struct assay_edge *edges;
    size_t n_edges;
};

/* An edge for every positive logit of the `n` by `n` given, row by row; USAGE unless `n_logits` is
 * n * n. The caller empties the graph with fini. */
ASSAY_API int assay_attention_graph_init(const float *logits, size_t n_logits, size_t n,
                                         struct assay_attention_graph *graph,
                                         struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_attention_graph_fini(struct assay_attention_graph *graph);

struct assay_cut_edge {
    size_t src, dst;
};

/* {0} is empty. */
struct assay_cut_result {
    struct assay_cut_edge
        *cut_edges; /* from the source's side to the other, as the graph has them */
    size_t n_cut_edges;
    double cut_cost; /* sum of their weights */
    bool *keep_mask; /* by edge: false for those that are cut */
    size_t n_edges;
};

/* The minimum cut between two different nodes, by Dinic's algorithm; of several the one nearest to
 * `s`. Weights are finite and not negative. Only nodes that have edges cost memory: 8 bytes for
 * each pair of them. The caller empties the result with fini. */
ASSAY_API int assay_attention_graph_min_cut(const struct assay_attention_graph *graph, size_t s,
                                            size_t t, struct assay_cut_result *result,
                                            struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_cut_result_fini(struct assay_cut_result *result);

/* Gates the `n` by `n` logits of one head as described above. `keep_mask` has (n * n + 7) / 8
 * bytes. `tau` is ignored, as documented. `gating` may be NULL. */
ASSAY_API int assay_mincut_gate(const float *logits, size_t n, float lambda, unsigned tau,
                                float eps, uint8_t *keep_mask, struct assay_gating *gating,
                                struct assay_error *err);

/* ---- hysteresis ---- */

struct assay_hysteresis;

/* The first mask passes. Then an entry flips when it has disagreed with the current mask `tau`
 * times in a row; agreement starts the count again. */
struct assay_hysteresis_options {
    size_t size;  /* sizeof(struct assay_hysteresis_options) */
    unsigned tau; /* 0 and 1: at once */
};

/* `options` may be NULL. */
ASSAY_API int assay_hysteresis_new(struct assay_hysteresis **out,
                                   const struct assay_hysteresis_options *options,
                                   struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_hysteresis_free(struct assay_hysteresis *hysteresis);
/* `raw` and `out`, which may be the same, have (n_bits + 7) / 8 bytes. Another length than before
 * starts anew. After a failure the tracker is as it was. */
ASSAY_API int assay_hysteresis_apply(struct assay_hysteresis *hysteresis, const uint8_t *raw,
                                     size_t n_bits, uint8_t *out, struct assay_error *err);
/* How many masks it was given; 0 for NULL. */
ASSAY_API uint64_t assay_hysteresis_step(const struct assay_hysteresis *hysteresis);
/* The mask in force, valid until the next call; NULL before the first. `n_bits` may be NULL. */
ASSAY_API const uint8_t *assay_hysteresis_current_mask(const struct assay_hysteresis *hysteresis,
                                                       size_t *n_bits);

/* ---- what a KV cache takes ---- */

#define ASSAY_KV_ALL UINT64_MAX

struct assay_kv_cache {
    uint64_t layers, kv_heads, head_dim, seq_len, batch, dtype_bytes;
    /* Tokens kept, counted once for each layer, batch and key head; ASSAY_KV_ALL: every one. */
    uint64_t kept_positions;
};

/* Keys and values: 2 * head_dim * dtype_bytes for each position kept. LIMIT when that is more than
 * 64 bits hold, USAGE when more are kept than there are. */
ASSAY_API int assay_kv_cache_bytes(const struct assay_kv_cache *cache, uint64_t *bytes,
                                   struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
