/* assay/experiment/quality.h - how far what a model gives has moved from what it gave before:
 * outputs, masks, and batches of them; and how well a graph hangs together.
 *
 *     struct assay_delta_metric delta;
 *     assay_quality_delta_behavior(base, n, gated, n, &delta, &err);
 *     if (delta.coherence_loss > 0.05)
 *         puts("the outputs differ");
 *
 * Numbers are f32, sums are double. Two vectors or masks of different lengths are an error, never
 * cut to the shorter; NaN and infinity are errors that name the place. What is unavailable is
 * NaN. There is one sign: coherence_loss is 0 for no change and grows with it. */
#ifndef ASSAY_EXPERIMENT_QUALITY_H
#define ASSAY_EXPERIMENT_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>
#include <assay/experiment/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- two vectors ---- */

/* 1 for the same direction, -1 for the opposite one. Two vectors of zeros (or without elements) are
 * the same and score 1; one of zeros beside another scores 0. */
ASSAY_API int assay_quality_cosine_similarity(const float *a, size_t n_a, const float *b,
                                              size_t n_b, double *out, struct assay_error *err);

/* The length of the difference. */
ASSAY_API int assay_quality_l2_distance(const float *a, size_t n_a, const float *b, size_t n_b,
                                        double *out, struct assay_error *err);

/* The greatest difference of two elements; 0 without elements. */
ASSAY_API int assay_quality_max_abs_error(const float *base, size_t n_base, const float *other,
                                          size_t n_other, double *out, struct assay_error *err);

/* The length of the difference by the length of `base`; NaN when only `base` is zeros, 0 when both
 * are. */
ASSAY_API int assay_quality_relative_error(const float *base, size_t n_base, const float *other,
                                           size_t n_other, double *out, struct assay_error *err);

/* The Kullback-Leibler divergence of softmax(other) from softmax(base), in nats: 0 for the same
 * distribution. */
ASSAY_API int assay_quality_softmax_kl(const float *base, size_t n_base, const float *other,
                                       size_t n_other, double *out, struct assay_error *err);

struct assay_delta_metric {
    size_t size;               /* set by the library */
    double coherence_delta;    /* cosine - 1: never above 0 */
    double coherence_loss;     /* 1 - cosine: 0 to 2, the one to compare with a bound */
    uint64_t decision_flips;   /* elements whose sign changed; 0 counts as positive */
    double path_length_change; /* |gated| / |base| - 1; 0 for two zeros, NaN for a base of zeros */
};
ASSAY_API int assay_quality_delta_behavior(const float *base, size_t n_base, const float *gated,
                                           size_t n_gated, struct assay_delta_metric *out,
                                           struct assay_error *err);

struct assay_quality_result {
    size_t size; /* set by the library */
    double cosine_sim, l2_dist;
    bool passes_threshold; /* cosine_sim >= threshold */
};
ASSAY_API int assay_quality_check(const float *base, size_t n_base, const float *gated,
                                  size_t n_gated, double threshold,
                                  struct assay_quality_result *out, struct assay_error *err);

/* ---- lists of vectors ---- */

struct assay_vector {
    const float *at;
    size_t n;
};

/* The share of pairs that point away from each other (a negative product); 0 without pairs. */
ASSAY_API int assay_quality_contradiction_rate(const struct assay_vector *predictions,
                                               size_t n_predictions,
                                               const struct assay_vector *references,
                                               size_t n_references, double *out,
                                               struct assay_error *err);

/* The mean cosine of each vector and the one after it; 1 with fewer than two. */
ASSAY_API int assay_quality_entailment_consistency(const struct assay_vector *outputs, size_t n,
                                                   double *out, struct assay_error *err);

struct assay_batch_result {
    size_t size;                                      /* set by the library */
    double mean_coherence_delta, std_coherence_delta; /* std divides by n - 1 */
    double mean_coherence_loss;
    double ci_95_lower, ci_95_upper; /* of the mean delta, with Student's quantile */
    uint64_t n_samples;
    double pass_rate; /* share whose cosine is at least the threshold */
};
/* NaN for what needs more samples: everything without any, the spread with one. */
ASSAY_API int assay_quality_evaluate_batch(const struct assay_vector *bases, size_t n_bases,
                                           const struct assay_vector *gateds, size_t n_gateds,
                                           double threshold, struct assay_batch_result *out,
                                           struct assay_error *err);

/* ---- masks of bits, the least significant of a byte first; bits past the end are not read ---- */

/* What both keep by what either keeps; 1 when neither keeps anything. */
ASSAY_API int assay_mask_jaccard(const uint8_t *a, size_t n_a_bits, const uint8_t *b,
                                 size_t n_b_bits, double *out, struct assay_error *err);

/* Entries that differ. */
ASSAY_API int assay_mask_count_flips(const uint8_t *a, size_t n_a_bits, const uint8_t *b,
                                     size_t n_b_bits, uint64_t *out, struct assay_error *err);

struct assay_mask_comparison {
    size_t size; /* set by the library */
    double jaccard;
    uint64_t edge_flips, baseline_edges, gated_edges;
    /* Share of entries dropped, gated by baseline; gated alone when the baseline drops nothing. */
    double sparsity_ratio;
};
ASSAY_API int assay_mask_compare(const uint8_t *baseline, size_t n_baseline_bits,
                                 const uint8_t *gated, size_t n_gated_bits,
                                 struct assay_mask_comparison *out, struct assay_error *err);

/* ---- how well a graph hangs together ---- */

/* Edges are taken as undirected: those between the same two nodes add up, those of a node with
 * itself do not count. Every score is between 0 and 1. Zero means the default. */
struct assay_spectral_options {
    size_t size;             /* sizeof(struct assay_spectral_options) */
    unsigned max_iterations; /* of each eigenvalue: 50 */
    double tolerance;        /* relative change that ends the iterations: 1e-6 */
    unsigned max_pairs;      /* whose resistance is computed, all when there are no more: 32 */
    uint64_t seed;           /* of start vectors and of the choice of pairs: 42 */
};

/* Bits of `alerts`. */
enum assay_spectral_alert {
    ASSAY_SPECTRAL_ALERT_FIEDLER = 1,    /* fiedler_score below 0.05 */
    ASSAY_SPECTRAL_ALERT_GAP = 2,        /* gap_ratio below 0.01 */
    ASSAY_SPECTRAL_ALERT_RESISTANCE = 4, /* resistance_score above 0.95 */
    ASSAY_SPECTRAL_ALERT_COMPOSITE = 8,  /* composite below 0.3 */
};

struct assay_spectral_health {
    size_t size;          /* set by the library */
    double fiedler_value; /* second eigenvalue of the Laplacian; 0: it falls apart */
    double largest_value;
    double mean_resistance;   /* of the pairs looked at; infinite when one is not connected */
    uint64_t n_pairs;         /* looked at */
    uint64_t n_parts;         /* connected ones */
    bool converged;           /* both eigenvalues, within the tolerance */
    double fiedler_score;     /* by that of a complete graph with the same weight */
    double gap_ratio;         /* second by largest eigenvalue */
    double resistance_score;  /* 0 for a complete graph with the same weight, 1 for none */
    double degree_regularity; /* 1 - std / mean of the nodes' weights, not below 0 */
    double composite;         /* 0.3 fiedler + 0.3 gap + 0.2 (1 - resistance) + 0.2 regularity */
    unsigned alerts;
    bool rebuild; /* two alerts or more */
};

/* At least two nodes; weights finite and not negative. `options` may be NULL. */
ASSAY_API int assay_attention_graph_health(const struct assay_attention_graph *graph,
                                           const struct assay_spectral_options *options,
                                           struct assay_spectral_health *out,
                                           struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
