/* experiment/attention/attention_run.h - one sample of the attention experiment: its data, and how
 * each setting computes it. The bench times it, a replay only looks at what comes out. */
#ifndef AS_EXPERIMENT_ATTENTION_ATTENTION_RUN_H
#define AS_EXPERIMENT_ATTENTION_ATTENTION_RUN_H

#include <assay/experiment/witness.h>

#include "experiment/attention/attention_plan.h"

struct as_attention_run {
    const struct as_attention_plan *plan;
    struct assay_attn *attn;
    uint64_t sample_id;
    struct assay_attn_shape shape;
    float *q, *k, *v;       /* queries of all steps */
    float *out, *reference; /* of all steps; the reference is the baseline's */
    uint8_t *raw, *mask;    /* as decided, and as used in the last step */
    size_t n_q, n_kv;       /* numbers of one step's queries, of keys */
    size_t mask_bytes;      /* of one mask of the sample */
    uint64_t held_kv, held_activations, held_temp; /* bytes, as counted by category */
    char q_hash[65], k_hash[65], v_hash[65];       /* of the sample; "" until asked for */
};

/* How a gated run went. */
struct as_attention_went {
    uint64_t decide_ns;
    uint64_t kept_positions, positions; /* of the step that kept most */
    double cut_cost;                    /* of the last decision */
    uint64_t decisions, cuts;           /* made; those whose cut took an edge away */
    uint64_t peak_bytes;                /* counted, of the whole sample */
};

/* The plan is the caller's and lives on. Memory for the longest sample is taken at once. */
AS_MUST_USE int as_attention_run_init(struct as_attention_run *run,
                                      const struct as_attention_plan *plan, unsigned threads,
                                      struct assay_error *err);
void as_attention_run_fini(struct as_attention_run *run);

/* Makes the data of a sample. */
AS_MUST_USE int as_attention_run_ready(struct as_attention_run *run, uint64_t sample_id,
                                       struct assay_error *err);

/* All steps by softmax, into `out`, which is run->out or run->reference. */
AS_MUST_USE int as_attention_run_softmax(struct as_attention_run *run, float *out,
                                         uint64_t *peak_bytes, struct assay_error *err);

/* All steps with that setting's gate, into run->out; the last mask stays in run->mask. */
AS_MUST_USE int as_attention_run_gated(struct as_attention_run *run,
                                       const struct as_bench_setting *setting,
                                       struct as_attention_went *went, struct assay_error *err);

/* Entries that the mask of the last step keeps, of all. */
void as_attention_run_edges(const struct as_attention_run *run, uint64_t *kept, uint64_t *all);

/* What the witness says of the sample as the setting just computed it; the mask is borrowed. */
AS_MUST_USE int as_attention_run_entry(struct as_attention_run *run,
                                       const struct as_bench_setting *setting,
                                       const struct as_attention_went *went,
                                       const char *config_hash, struct assay_witness_entry *entry,
                                       struct assay_error *err);

#endif
