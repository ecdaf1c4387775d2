/* experiment/bench/bench.c - one experiment: settings, the samples each of them gave, and the loop
 * that takes them in turns. */
#include "experiment/bench/bench.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text/redact.h"
#include "base/units.h"
#include "base/vec.h"
#include "stats/describe/rng.h"

int as_bench_init(struct as_bench *bench, const char *kind, size_t n, struct assay_error *err)
{
    *bench = (struct as_bench){.kind = kind, .baseline = SIZE_MAX};
    bench->settings = as_alloc_zero(n, sizeof *bench->settings);
    if (!bench->settings)
        return as_fail_nomem(err);
    bench->n_settings = n;
    for (size_t i = 0; i < n; i++) {
        bench->settings[i].lambda = bench->settings[i].tau = AS_UNKNOWN;
        bench->settings[i].items = 1;
    }
    return ASSAY_OK;
}

void as_bench_fini(struct as_bench *bench)
{
    for (size_t i = 0; i < bench->n_settings; i++)
        as_free(bench->settings[i].samples);
    as_free(bench->settings);
    *bench = (struct as_bench){0};
}

static int keep_failure(struct as_bench_setting *setting, const char *why)
{
    setting->failed = true;
    (void)snprintf(setting->why, sizeof setting->why, "%s", why);
    return ASSAY_OK;
}

int as_bench_keep(void *user, const struct as_bench_sample *sample, const char *why,
                  struct assay_error *err)
{
    struct as_bench *bench = user;
    struct as_bench_setting *setting;

    if (sample->setting >= bench->n_settings)
        return as_fail(err, ASSAY_ERR_FORMAT, "the journal names a setting that does not exist");
    setting = &bench->settings[sample->setting];
    if (why)
        return keep_failure(setting, why);
    if (sample->sample_id != setting->n || sample->sample_id >= bench->n_samples)
        return as_fail(err, ASSAY_ERR_FORMAT, "the journal's samples of %s are out of order",
                       setting->name);
    if (sample->wall_ns == AS_BENCH_UNKNOWN)
        return as_fail(err, ASSAY_ERR_FORMAT, "a sample of %s has no time", setting->name);
    if (setting->n == setting->capacity) {
        if (!AS_VEC_RESERVE(setting->samples, setting->n, setting->capacity))
            return as_fail_nomem(err);
    }
    setting->samples[setting->n++] = *sample;
    return ASSAY_OK;
}

uint64_t as_bench_done(const struct as_bench *bench)
{
    uint64_t n = 0;

    for (size_t i = 0; i < bench->n_settings; i++)
        n += bench->settings[i].failed ? bench->n_samples : bench->settings[i].n;
    return n;
}

uint64_t as_bench_measured(const struct as_bench *bench)
{
    uint64_t n = 0;

    for (size_t i = 0; i < bench->n_settings; i++)
        n += bench->settings[i].n;
    return n;
}

/* ---- the loop ---- */

static void shuffle(size_t *order, size_t n, uint64_t seed)
{
    struct as_rng rng;

    as_rng_seed(&rng, seed);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)as_rng_below(&rng, i), kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
}

static bool wants(const struct as_bench *bench, size_t setting, uint64_t sample_id)
{
    return !bench->settings[setting].failed && bench->settings[setting].n == sample_id;
}

static bool any_wants(const struct as_bench *bench, uint64_t sample_id)
{
    for (size_t i = 0; i < bench->n_settings; i++)
        if (wants(bench, i, sample_id))
            return true;
    return false;
}

/* Ends everything, whichever setting met it. */
static bool is_everybodys(int rc)
{
    return rc == ASSAY_ERR_NOMEM || rc == ASSAY_ERR_IO || rc == ASSAY_ERR_STATE;
}

static int fail_setting(struct as_bench *bench, const struct as_bench_loop *loop, size_t setting,
                        const struct assay_error *why, struct assay_error *err)
{
    const char *words = loop->redact ? "it failed; why is " AS_REDACTED : why->msg;

    (void)keep_failure(&bench->settings[setting], words);
    return loop->journal ? as_journal_fail(loop->journal, setting, words, err) : ASSAY_OK;
}

static int run_one(struct as_bench *bench, const struct as_bench_loop *loop, size_t setting,
                   uint64_t sample_id, bool warming, struct assay_error *err)
{
    const struct as_bench_load *load = loop->load;
    const struct as_bench_meter *meter = warming ? NULL : loop->meter;
    struct as_bench_sample sample;
    struct assay_error why = {0}, unread = {0};
    double joules = AS_UNKNOWN;
    bool metered;
    int rc = load->before ? load->before(load->user, setting, &why) : ASSAY_OK;

    as_bench_sample_init(&sample);
    metered = rc == ASSAY_OK && meter && meter->begin(meter->user, &unread) == ASSAY_OK;
    if (rc == ASSAY_OK)
        rc = load->run(load->user, setting, sample_id, &sample, &why);
    if (metered && meter->end(meter->user, &joules, &unread) == ASSAY_OK)
        sample.energy_j = joules;
    if (rc == ASSAY_OK && !warming && load->after)
        rc = load->after(load->user, setting, sample_id, &sample, &why);
    /* Whatever interrupts us may have ended the command that ran, or hurried it. */
    if (as_stop_asked(loop->stop))
        return ASSAY_OK;
    if (rc < 0 && is_everybodys(rc))
        return as_fail(err, rc, "%s", why.msg);
    if (rc < 0)
        return fail_setting(bench, loop, setting, &why, err);
    if (warming)
        return ASSAY_OK;
    sample.setting = setting;
    sample.sample_id = sample_id;
    rc = as_bench_keep(bench, &sample, NULL, err);
    if (rc == ASSAY_OK && loop->journal)
        rc = as_journal_add(loop->journal, &sample, err);
    return rc;
}

static int run_round(struct as_bench *bench, const struct as_bench_loop *loop, size_t *order,
                     uint64_t sample_id, bool warming, struct assay_error *err)
{
    const struct as_bench_load *load = loop->load;
    int rc = load->ready ? load->ready(load->user, sample_id, err) : ASSAY_OK;

    shuffle(order, bench->n_settings, loop->seed + sample_id * 0x9e3779b97f4a7c15u);
    for (size_t i = 0; rc == ASSAY_OK && i < bench->n_settings && !as_stop_asked(loop->stop); i++) {
        if (warming ? bench->settings[order[i]].failed : !wants(bench, order[i], sample_id))
            continue;
        if (loop->progress)
            loop->progress(loop->user, bench, warming);
        rc = run_one(bench, loop, order[i], sample_id, warming, err);
    }
    return rc;
}

int as_bench_run(struct as_bench *bench, const struct as_bench_loop *loop, struct assay_error *err)
{
    size_t *order = as_alloc_zero(bench->n_settings, sizeof *order);
    int rc = ASSAY_OK;

    if (!order)
        return as_fail_nomem(err);
    if (as_bench_done(bench) < bench->n_samples * bench->n_settings)
        for (unsigned i = 0; rc == ASSAY_OK && i < loop->warmup && !as_stop_asked(loop->stop); i++)
            rc = run_round(bench, loop, order, i % bench->n_samples, true, err);
    for (uint64_t id = 0; rc == ASSAY_OK && id < bench->n_samples && !as_stop_asked(loop->stop);
         id++)
        if (any_wants(bench, id))
            rc = run_round(bench, loop, order, id, false, err);
    as_free(order);
    return rc;
}
