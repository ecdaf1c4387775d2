/* experiment/attention/attention_run.c - one sample of the attention experiment: its data, and how
 * each setting computes it. */
#include "experiment/attention/attention_run.h"

#include <assay/memory.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "experiment/attention/attn_worker.h"

/* ---- memory ---- */

static int reserve(struct as_attention_run *run, struct assay_error *err)
{
    const struct as_attention_plan *p = run->plan;
    uint64_t longest = p->n_long ? p->long_max : 0;
    struct assay_attn_shape shape;
    size_t q, kv;
    int rc;

    if (p->n_short && p->short_max > longest)
        longest = p->short_max;
    as_attention_shape(p, 0, &shape);
    shape.seq_len = (size_t)longest;
    rc = assay_attn_mask_bytes(&shape, &run->mask_bytes, err);
    if (rc < 0)
        return rc;
    q = (size_t)(p->steps * p->heads * longest * p->dim); /* far below 2^64 by the plan's limits */
    kv = (size_t)(p->kv_heads * longest * p->dim);
    run->q = as_alloc_zero(q, sizeof *run->q);
    run->out = as_alloc_zero(q, sizeof *run->out);
    run->reference = as_alloc_zero(q, sizeof *run->reference);
    run->k = as_alloc_zero(kv, sizeof *run->k);
    run->v = as_alloc_zero(kv, sizeof *run->v);
    run->raw = as_alloc_zero(run->mask_bytes, 1);
    run->mask = as_alloc_zero(run->mask_bytes, 1);
    if (!run->q || !run->out || !run->reference || !run->k || !run->v || !run->raw || !run->mask)
        return as_fail_nomem(err);
    return ASSAY_OK;
}

/* What the sample at hand holds, by category; of no sample when `there` is false. */
static void count_held(struct as_attention_run *run, bool there)
{
    uint64_t q = (uint64_t)run->n_q * run->plan->steps * sizeof(float);

    assay_memory_sub(ASSAY_MEMORY_KV_CACHE, run->held_kv);
    assay_memory_sub(ASSAY_MEMORY_ACTIVATIONS, run->held_activations);
    assay_memory_sub(ASSAY_MEMORY_TEMP, run->held_temp);
    run->held_kv = there ? 2 * (uint64_t)run->n_kv * sizeof(float) : 0;
    run->held_activations = there ? 3 * q : 0; /* queries, outputs and those of the baseline */
    run->held_temp = there ? 2 * (uint64_t)run->mask_bytes : 0;
    assay_memory_add(ASSAY_MEMORY_KV_CACHE, run->held_kv);
    assay_memory_add(ASSAY_MEMORY_ACTIVATIONS, run->held_activations);
    assay_memory_add(ASSAY_MEMORY_TEMP, run->held_temp);
}

int as_attention_run_init(struct as_attention_run *run, const struct as_attention_plan *plan,
                          unsigned threads, struct assay_error *err)
{
    int rc;

    *run = (struct as_attention_run){.plan = plan};
    rc = assay_attn_new(
        &run->attn,
        &(struct assay_attn_options){.size = sizeof(struct assay_attn_options), .threads = threads},
        err);
    if (rc == ASSAY_OK)
        rc = reserve(run, err);
    if (rc < 0)
        as_attention_run_fini(run);
    return rc;
}

void as_attention_run_fini(struct as_attention_run *run)
{
    if (run->plan)
        count_held(run, false);
    assay_attn_free(run->attn);
    as_free(run->q);
    as_free(run->k);
    as_free(run->v);
    as_free(run->out);
    as_free(run->reference);
    as_free(run->raw);
    as_free(run->mask);
    *run = (struct as_attention_run){0};
}

int as_attention_run_ready(struct as_attention_run *run, uint64_t sample_id,
                           struct assay_error *err)
{
    const struct as_attention_plan *p = run->plan;
    int rc;

    run->sample_id = sample_id;
    run->q_hash[0] = '\0';
    as_attention_shape(p, sample_id, &run->shape);
    run->n_q = run->shape.heads * run->shape.seq_len * run->shape.dim;
    run->n_kv = run->shape.kv_heads * run->shape.seq_len * run->shape.dim;
    as_attention_keys(p, sample_id, run->k, run->v);
    for (uint64_t step = 0; step < p->steps; step++)
        as_attention_queries(p, sample_id, step, run->q + step * run->n_q);
    rc = assay_attn_mask_bytes(&run->shape, &run->mask_bytes, err);
    if (rc == ASSAY_OK)
        count_held(run, true);
    return rc;
}

/* ---- computing ---- */

/* Tensors that are there for any setting: keys, values, and one step's queries and outputs. */
static uint64_t tensor_bytes(const struct as_attention_run *run)
{
    return (2 * (uint64_t)run->n_kv + 2 * (uint64_t)run->n_q) * sizeof(float);
}

static uint64_t workspace_bytes(const struct as_attention_run *run)
{
    struct assay_attn_usage usage;

    assay_attn_read_usage(run->attn, &usage);
    return usage.peak_workspace_bytes;
}

int as_attention_run_softmax(struct as_attention_run *run, float *out, uint64_t *peak_bytes,
                             struct assay_error *err)
{
    int rc = ASSAY_OK;

    assay_attn_reset_peak(run->attn);
    for (uint64_t step = 0; rc == ASSAY_OK && step < run->plan->steps; step++)
        rc = assay_attn_softmax(run->attn, &run->shape, run->q + step * run->n_q, run->k, run->v,
                                out + step * run->n_q, err);
    *peak_bytes = tensor_bytes(run) + workspace_bytes(run);
    return rc;
}

/* A decision: the raw mask, and what the history makes of it. */
static int decide(struct as_attention_run *run, const struct assay_mincut_config *config,
                  struct assay_hysteresis *history, uint64_t step, struct as_attention_went *went,
                  struct assay_error *err)
{
    size_t bits = run->shape.heads * run->shape.seq_len * run->shape.seq_len;
    struct assay_gating gating;
    int rc = assay_attn_decide(run->attn, &run->shape, config, run->q + step * run->n_q, run->k,
                               history ? run->raw : run->mask, &gating, err);

    if (rc < 0)
        return rc;
    went->cut_cost = gating.cut_cost;
    went->decisions++;
    went->cuts += gating.cut_cost > 0;
    return history ? assay_hysteresis_apply(history, run->raw, bits, run->mask, err) : ASSAY_OK;
}

static int compute_step(struct as_attention_run *run, uint64_t step, struct as_attention_went *went,
                        struct assay_error *err)
{
    struct assay_attn_usage usage;
    int rc = assay_attn_masked(run->attn, &run->shape, run->q + step * run->n_q, run->k, run->v,
                               run->mask, run->out + step * run->n_q, err);
    uint64_t kept;

    if (rc < 0)
        return rc;
    assay_attn_read_usage(run->attn, &usage);
    kept = usage.kv_bytes / (2 * sizeof(float) * run->shape.dim);
    went->positions = usage.kv_bytes_dense / (2 * sizeof(float) * run->shape.dim);
    if (kept > went->kept_positions)
        went->kept_positions = kept;
    return ASSAY_OK;
}

static uint64_t count_bits(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)__builtin_popcount(bytes[i]);
    return sum;
}

int as_attention_run_gated(struct as_attention_run *run, const struct as_bench_setting *setting,
                           struct as_attention_went *went, struct assay_error *err)
{
    const struct as_attention_plan *p = run->plan;
    struct assay_mincut_config config = assay_mincut_config_make();
    struct assay_hysteresis *history = NULL;
    int rc = ASSAY_OK;

    *went = (struct as_attention_went){0};
    config.lambda = (float)setting->lambda;
    config.tau = (unsigned)setting->tau;
    config.eps = (float)p->eps;
    config.seed = p->seed;
    if (p->gating == ASSAY_GATING_HYSTERESIS)
        rc = assay_hysteresis_new(
            &history,
            &(struct assay_hysteresis_options){.size = sizeof(struct assay_hysteresis_options),
                                               .tau = config.tau},
            err);
    assay_attn_reset_peak(run->attn);
    for (uint64_t step = 0; rc == ASSAY_OK && step < p->steps; step++) {
        uint64_t from = as_clock_mono_ns();

        if (step % p->refresh == 0)
            rc = decide(run, &config, history, step, went, err);
        went->decide_ns += as_clock_mono_ns() - from;
        if (rc == ASSAY_OK)
            rc = compute_step(run, step, went, err);
    }
    went->peak_bytes = tensor_bytes(run) + workspace_bytes(run) + run->mask_bytes +
                       (history ? run->mask_bytes : 0) + as_hysteresis_bytes(history);
    assay_hysteresis_free(history);
    return rc;
}

void as_attention_run_edges(const struct as_attention_run *run, uint64_t *kept, uint64_t *all)
{
    *kept = count_bits(run->mask, run->mask_bytes);
    *all = (uint64_t)run->shape.heads * run->shape.seq_len * run->shape.seq_len;
}

/* ---- the witness ---- */

int as_attention_run_entry(struct as_attention_run *run, const struct as_bench_setting *setting,
                           const struct as_attention_went *went, const char *config_hash,
                           struct assay_witness_entry *entry, struct assay_error *err)
{
    size_t n = (size_t)run->plan->steps * run->n_q;
    struct timespec now = {0};
    int rc = ASSAY_OK;

    if (!run->q_hash[0]) {
        rc = assay_witness_hash_tensor(run->k, run->n_kv, run->k_hash, err);
        if (rc == ASSAY_OK)
            rc = assay_witness_hash_tensor(run->v, run->n_kv, run->v_hash, err);
        if (rc == ASSAY_OK)
            rc = assay_witness_hash_tensor(run->q, n, run->q_hash, err);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *entry = (struct assay_witness_entry){
        .sample_id = run->sample_id,
        .seq_len = run->shape.seq_len,
        .mask = run->mask,
        .mask_bits = (uint64_t)run->shape.heads * run->shape.seq_len * run->shape.seq_len,
        .cut_cost = (float)went->cut_cost,
        .lambda = (float)setting->lambda,
        .eps = (float)run->plan->eps,
        .tau = (uint32_t)setting->tau,
        .timestamp_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    };
    memcpy(entry->q_hash, run->q_hash, sizeof entry->q_hash);
    memcpy(entry->k_hash, run->k_hash, sizeof entry->k_hash);
    memcpy(entry->v_hash, run->v_hash, sizeof entry->v_hash);
    memcpy(entry->config_hash, config_hash, sizeof entry->config_hash);
    if (rc == ASSAY_OK)
        rc = assay_witness_hash_tensor(run->out, n, entry->output_hash, err);
    return rc;
}
