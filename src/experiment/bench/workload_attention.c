/* experiment/bench/workload_attention.c - soft-max attention and attention gated by minimum cuts as
 * a workload, and the witness of what the gates decided. */
#include "experiment/bench/workload.h"

#include <assay/experiment/quality.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "experiment/attention/attention_run.h"
#include "experiment/bench/bench_sample.h"

struct as_load_attention {
    struct as_attention_run run;
    const struct as_bench *bench;
    struct assay_witness **witness; /* by setting; NULL: none is kept */
    char (*config_hash)[65];
    struct as_attention_went went; /* the last run */
    struct as_sample_clock clock;
};

int as_load_attention_new(struct as_load_attention **out, const struct as_attention_plan *plan,
                          const struct as_bench *bench, unsigned threads, struct assay_error *err)
{
    struct as_load_attention *load = as_alloc_zero(1, sizeof *load);
    int rc;

    *out = NULL;
    if (!load)
        return as_fail_nomem(err);
    load->bench = bench;
    load->config_hash = as_alloc_zero(bench->n_settings, sizeof *load->config_hash);
    as_sample_clock_init(&load->clock, threads);
    rc = load->config_hash ? as_attention_run_init(&load->run, plan, threads, err)
                           : as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++)
        rc = as_attention_config_hash(plan, &bench->settings[i], load->config_hash[i], err);
    if (rc < 0)
        as_load_attention_free(load);
    else
        *out = load;
    return rc;
}

void as_load_attention_free(struct as_load_attention *load)
{
    if (!load)
        return;
    for (size_t i = 0; load->witness && i < load->bench->n_settings; i++)
        assay_witness_abandon(load->witness[i]);
    as_free(load->witness);
    as_free(load->config_hash);
    as_attention_run_fini(&load->run);
    as_free(load);
}

const char (*as_load_attention_hashes(const struct as_load_attention *load))[65]
{
    return (const char(*)[65])load->config_hash;
}

/* ---- the witness ---- */

int as_witness_path(const char *folder, const struct as_bench_setting *setting, char *out,
                    size_t capacity, struct assay_error *err)
{
    if (snprintf(out, capacity, "%s/%s.jsonl", folder, setting->name) >= (int)capacity)
        return as_fail(err, ASSAY_ERR_LIMIT, "the path %.60s... is too long", folder);
    return ASSAY_OK;
}

int as_load_attention_witness(struct as_load_attention *load, const char *folder,
                              enum assay_witness_mask how, struct assay_error *err)
{
    const struct as_bench *bench = load->bench;
    int rc = ASSAY_OK;

    load->witness = as_alloc_zero(bench->n_settings, sizeof(struct assay_witness *));
    if (!load->witness)
        return as_fail_nomem(err);
    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings; i++) {
        const struct as_bench_setting *s = &bench->settings[i];
        char path[PATH_MAX];

        if (i == bench->baseline)
            continue;
        rc = as_witness_path(folder, s, path, sizeof path, err);
        /* A run may have ended after the file was made and before its first sample was kept. */
        if (rc == ASSAY_OK && (s->n > 0 || access(path, F_OK) == 0))
            rc = assay_witness_resume(&load->witness[i], path, how, s->n, err);
        else if (rc == ASSAY_OK)
            rc = assay_witness_open(&load->witness[i], path, how, err);
    }
    return rc;
}

int as_load_attention_seal(struct as_load_attention *load, struct assay_error *err)
{
    int rc = ASSAY_OK;

    for (size_t i = 0; load->witness && i < load->bench->n_settings; i++) {
        int one = assay_witness_close(load->witness[i], rc == ASSAY_OK ? err : NULL);

        load->witness[i] = NULL;
        rc = rc < 0 ? rc : one;
    }
    return rc;
}

static int add_entry(struct as_load_attention *load, size_t setting, struct as_bench_sample *out,
                     struct assay_error *err)
{
    struct assay_witness_entry entry;
    int rc = as_attention_run_entry(&load->run, &load->bench->settings[setting], &load->went,
                                    load->config_hash[setting], &entry, err);

    if (rc == ASSAY_OK)
        memcpy(out->output_hash, entry.output_hash, sizeof out->output_hash);
    if (rc == ASSAY_OK && load->witness && load->witness[setting])
        rc = assay_witness_add(load->witness[setting], &entry, err);
    return rc;
}

/* ---- a sample ---- */

static int ready(void *user, uint64_t sample_id, struct assay_error *err)
{
    struct as_load_attention *load = user;
    uint64_t unused;
    int rc = as_attention_run_ready(&load->run, sample_id, err);

    return rc == ASSAY_OK ? as_attention_run_softmax(&load->run, load->run.reference, &unused, err)
                          : rc;
}

static int put_quality(struct as_load_attention *load, struct as_bench_sample *out,
                       struct assay_error *err)
{
    const struct as_attention_run *run = &load->run;
    size_t n = (size_t)run->plan->steps * run->n_q;
    struct assay_quality_result quality = {0};
    struct assay_delta_metric delta = {0};
    int rc = assay_quality_delta_behavior(run->reference, n, run->out, n, &delta, err);

    if (rc == ASSAY_OK)
        rc = assay_quality_check(run->reference, n, run->out, n, run->plan->quality, &quality, err);
    if (rc == ASSAY_OK)
        rc = assay_quality_max_abs_error(run->reference, n, run->out, n, &out->max_abs, err);
    if (rc < 0)
        return rc;
    out->coherence_delta = delta.coherence_delta;
    out->decision_flips = delta.decision_flips;
    out->path_length_change = delta.path_length_change;
    out->l2 = quality.l2_dist;
    out->passes = quality.passes_threshold;
    out->contradicts = delta.coherence_delta < -1; /* a cosine below 0 */
    return ASSAY_OK;
}

static int run(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
               struct assay_error *err)
{
    struct as_load_attention *load = user;
    bool gated = setting != load->bench->baseline;
    struct as_attention_went *went = &load->went;
    int rc;

    as_sample_clock_start(&load->clock);
    rc = gated ? as_attention_run_gated(&load->run, &load->bench->settings[setting], went, err)
               : as_attention_run_softmax(&load->run, load->run.out, &went->peak_bytes, err);

    as_sample_clock_stop(&load->clock, &out->wall_ns, &out->kernel_ns);
    (void)sample_id;
    out->seq_len = load->run.shape.seq_len;
    out->peak_mem_bytes = went->peak_bytes;
    if (!gated || rc < 0)
        return rc;
    out->decide_ns = went->decide_ns;
    out->positions_kept = went->kept_positions;
    out->positions_total = went->positions;
    out->cut_cost = went->cut_cost;
    out->decisions = went->decisions;
    out->cuts = went->cuts;
    return ASSAY_OK;
}

static int after(void *user, size_t setting, uint64_t sample_id, struct as_bench_sample *out,
                 struct assay_error *err)
{
    struct as_load_attention *load = user;
    int rc = put_quality(load, out, err);

    (void)sample_id;
    if (rc < 0 || setting == load->bench->baseline)
        return rc;
    as_attention_run_edges(&load->run, &out->edges_kept, &out->edges_total);
    return add_entry(load, setting, out, err);
}

struct as_bench_load as_load_attention_table(struct as_load_attention *load)
{
    return (struct as_bench_load){.user = load, .ready = ready, .run = run, .after = after};
}
