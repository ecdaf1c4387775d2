/* experiment/attention/attention_replay.c - holds a witness against what its plan gives here. */
#include <stdio.h>

#include "base/hash.h"
#include "base/units.h"
#include "experiment/attention/attention_run.h"
#include "experiment/bench/workload.h"
#include "experiment/bundle/rvf.h"
#include "experiment/witness/witness_entry.h"

struct replay {
    struct as_attention_run run;
    const struct as_bench_setting *setting;
    char config_hash[65];
    uint64_t step; /* every so many entries one is computed again */
    struct as_attention_again *out;
    struct assay_error *err;
};

/* What must come out the same, and what it is called. */
static bool differs(const struct assay_witness_entry *was, const struct assay_witness_entry *is,
                    const char **what)
{
    const struct {
        const char *name, *a, *b;
    } parts[] = {
        {"configuration", was->config_hash, is->config_hash},
        {"queries", was->q_hash, is->q_hash},
        {"keys", was->k_hash, is->k_hash},
        {"values", was->v_hash, is->v_hash},
        {"mask", was->mask_hash, is->mask_hash},
        {"output", was->output_hash, is->output_hash},
    };

    for (size_t i = 0; i < AS_COUNT_OF(parts); i++) {
        *what = parts[i].name;
        if (strcmp(parts[i].a, parts[i].b) != 0)
            return true;
    }
    *what = "cost of the cut";
    if (was->cut_cost != is->cut_cost)
        return true;
    *what = "entry"; /* its settings, its counts: all that its hash covers */
    return strcmp(was->entry_hash, is->entry_hash) != 0;
}

/* What the entry at `index`, behind the one whose hash is `prev`, is when it is computed here. */
static int compute(struct replay *r, uint64_t index, const char *prev,
                   struct assay_witness_entry *again)
{
    struct as_attention_went went;
    int rc = as_attention_run_ready(&r->run, index, r->err);

    if (rc == ASSAY_OK)
        rc = as_attention_run_gated(&r->run, r->setting, &went, r->err);
    if (rc == ASSAY_OK)
        rc = as_attention_run_entry(&r->run, r->setting, &went, r->config_hash, again, r->err);
    if (rc < 0)
        return rc;
    again->index = index;
    memcpy(again->prev_hash, prev, sizeof again->prev_hash);
    rc = assay_witness_hash(again, r->err);
    r->out->checked += rc == ASSAY_OK;
    return rc;
}

static int check(void *user, const struct assay_witness_entry *entry)
{
    struct replay *r = user;
    struct assay_witness_entry again;
    const char *what = NULL;
    int rc;

    if (!r->out->same)
        return ASSAY_OK;
    if (entry->sample_id != entry->index) {
        r->out->same = false;
        (void)snprintf(r->out->sentence, sizeof r->out->sentence,
                       "entry %llu is of sample %llu, not of the one it should be of",
                       (unsigned long long)entry->index, (unsigned long long)entry->sample_id);
        return ASSAY_OK;
    }
    if (entry->index % r->step != 0)
        return ASSAY_OK;
    rc = compute(r, entry->index, entry->prev_hash, &again);
    if (rc < 0)
        return rc;
    if (differs(entry, &again, &what)) {
        r->out->same = false;
        (void)snprintf(r->out->sentence, sizeof r->out->sentence,
                       "sample %llu: the %s is another when it is computed here",
                       (unsigned long long)entry->sample_id, what);
    }
    return ASSAY_OK;
}

static int begin(struct replay *r, const struct as_attention_plan *plan, unsigned threads)
{
    int rc = as_attention_run_init(&r->run, plan, threads, r->err);

    *r->out = (struct as_attention_again){.same = true};
    if (rc == ASSAY_OK)
        rc = as_attention_config_hash(plan, r->setting, r->config_hash, r->err);
    return rc;
}

static void count(struct as_attention_again *out, uint64_t entries, uint64_t samples)
{
    out->entries = entries;
    if (entries == samples || !out->same)
        return;
    out->same = false;
    (void)snprintf(out->sentence, sizeof out->sentence, "there are %llu entries of %llu samples",
                   (unsigned long long)entries, (unsigned long long)samples);
}

int as_attention_replay(const struct as_attention_plan *plan,
                        const struct as_bench_setting *setting, const char *path, unsigned threads,
                        uint64_t most, struct as_attention_again *out, struct assay_error *err)
{
    uint64_t samples = plan->n_short + plan->n_long;
    struct replay r = {.setting = setting, .out = out, .err = err};
    struct assay_witness_report report;
    int rc = begin(&r, plan, threads);

    r.step = most && samples > most ? (samples + most - 1) / most : 1;
    if (rc == ASSAY_OK)
        rc = assay_witness_verify(path, check, &r, &report, err);
    if (rc == ASSAY_OK && !report.whole) {
        out->entries = report.entries;
        out->same = false;
        (void)snprintf(out->sentence, sizeof out->sentence, "%s", report.sentence);
    } else if (rc == ASSAY_OK) {
        count(out, report.entries, samples);
    }
    as_attention_run_fini(&r.run);
    return rc;
}

int as_attention_replay_chain(const struct as_attention_plan *plan,
                              const struct as_bench_setting *setting, const uint8_t *chain,
                              uint64_t entries, unsigned threads, struct as_attention_again *out,
                              struct assay_error *err)
{
    uint64_t samples = plan->n_short + plan->n_long;
    struct replay r = {.setting = setting, .out = out, .err = err};
    char prev[ASSAY_WITNESS_HEX];
    int rc = begin(&r, plan, threads);

    memcpy(prev, as_witness_genesis, sizeof prev);
    for (uint64_t i = 0; rc == ASSAY_OK && out->same && i < entries && i < samples; i++) {
        struct assay_witness_entry again;

        rc = compute(&r, i, prev, &again);
        as_hex(chain + i * AS_RVF_ENTRY_BYTES + AS_RVF_ACTION_AT, AS_SHA256_BYTES, prev);
        if (rc < 0 || strcmp(again.entry_hash, prev) == 0)
            continue;
        out->same = false;
        (void)snprintf(out->sentence, sizeof out->sentence,
                       "sample %llu: its entry has another hash when it is computed here",
                       (unsigned long long)i);
    }
    if (rc == ASSAY_OK)
        count(out, entries, samples);
    as_attention_run_fini(&r.run);
    return rc;
}
