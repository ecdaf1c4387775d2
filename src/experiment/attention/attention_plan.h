/* experiment/attention/attention_plan.h - the attention experiment as it was asked for, and its
 * data, which follow from the plan alone: any sample can be made again, on any machine, bit by bit.
 */
#ifndef AS_EXPERIMENT_ATTENTION_ATTENTION_PLAN_H
#define AS_EXPERIMENT_ATTENTION_ATTENTION_PLAN_H

#include <assay/experiment/attention.h>
#include <assay/experiment/fingerprint.h>

#include "base/json/json_tree.h"
#include "experiment/bench/bench.h"

enum { AS_ATTENTION_LIST = 32 };

/* A sample is `steps` queries of one length over the same keys and values. */
struct as_attention_plan {
    uint64_t seed;
    uint64_t n_short, n_long;                          /* samples */
    uint64_t short_min, short_max, long_min, long_max; /* tokens */
    uint64_t dim, heads, kv_heads;
    bool causal;
    uint64_t steps;
    uint64_t refresh; /* steps from one decision to the next */
    uint64_t gating;  /* enum assay_gating_mode */
    uint64_t topics;  /* tokens of one topic look for each other */
    double filler;    /* share of tokens that no query looks for */
    double drift;     /* how far queries move from step to step */
    double eps;
    double quality; /* least cosine beside the baseline that counts as right */
    double lambdas[AS_ATTENTION_LIST], taus[AS_ATTENTION_LIST];
    uint64_t n_lambdas, n_taus;
};

/* What is documented: 1,000 samples, lambda 0.3 0.5 0.7, tau 0 2. */
void as_attention_plan_init(struct as_attention_plan *plan);

/* USAGE with a sentence for what cannot be. */
AS_MUST_USE int as_attention_plan_check(const struct as_attention_plan *plan,
                                        struct assay_error *err);

/* The baseline and every lambda with every tau, with their names. */
AS_MUST_USE int as_attention_plan_settings(const struct as_attention_plan *plan,
                                           struct as_bench *bench, struct assay_error *err);

/* As members of an open object, and back from one; FORMAT for a member that is missing or wrong. */
void as_attention_plan_write(const struct as_attention_plan *plan, struct as_json_writer *w);
AS_MUST_USE int as_attention_plan_read(struct as_attention_plan *plan,
                                       const struct as_json_value *object, struct assay_error *err);

/* The hash of all that decides what setting `setting` of the bench decides: its own lambda and tau,
 * and the data. It is the same on every machine. */
AS_MUST_USE int as_attention_config_hash(const struct as_attention_plan *plan,
                                         const struct as_bench_setting *setting,
                                         char hex[ASSAY_HASH_HEX], struct assay_error *err);

/* The shape of a sample; short and long ones are spread evenly. */
void as_attention_shape(const struct as_attention_plan *plan, uint64_t sample_id,
                        struct assay_attn_shape *shape);

/* Keys and values, and the queries of one step, of the shape's sizes. */
void as_attention_keys(const struct as_attention_plan *plan, uint64_t sample_id, float *k,
                       float *v);
void as_attention_queries(const struct as_attention_plan *plan, uint64_t sample_id, uint64_t step,
                          float *q);

#endif
