/* measure/latency/interleaved_run.c - two ways to do the same thing, timed in turns (ABBA). */
#include "measure/latency/interleaved_run.h"

#include <math.h>

#include "base/alloc.h"
#include "stats/describe/quantile.h"

#define TIME_S      0.3
#define LEVEL       0.95
#define SAMPLE_NS   20000.0 /* the least length of a sample */
#define HARD_FACTOR 10
#define WARM_SHARE  0.2 /* of the time, for each way */

struct pairing {
    struct as_pair_options options;
    struct as_pair_run *out;
    double *plain_ns, *other_ns, *ratio;
};

static int warm(struct pairing *p, as_measured fn, void *user, double *call_ns,
                struct assay_error *err)
{
    const struct as_warm_up_options options = {
        .min_runs = 5, .max_s = p->options.time_s * WARM_SHARE, .source = p->options.source};
    struct as_warm_up warm_up;
    int rc = as_warm_up(&warm_up, fn, user, &options, err);

    *call_ns = rc == ASSAY_OK ? warm_up.call_ns : 0;
    return rc;
}

static int timed(const struct pairing *p, bool other, double *ns, struct assay_error *err)
{
    const struct as_pair_options *o = &p->options;
    uint64_t took = 0, done = 0;
    int rc = as_measured_calls(other ? o->other : o->plain, other ? o->other_user : o->plain_user,
                               p->out->batch, &done, o->source, &took, err);

    *ns = (double)took / (double)p->out->batch;
    return rc;
}

/* Which comes first changes with each pair. */
static int pair(struct pairing *p, struct assay_error *err)
{
    size_t i = p->out->n_pairs;
    bool other_first = i % 2;
    int rc = timed(p, other_first, other_first ? &p->other_ns[i] : &p->plain_ns[i], err);

    if (rc == ASSAY_OK)
        rc = timed(p, !other_first, other_first ? &p->plain_ns[i] : &p->other_ns[i], err);
    if (rc < 0)
        return rc;
    p->ratio[i] = p->plain_ns[i] > 0 ? p->other_ns[i] / p->plain_ns[i] : 1;
    p->out->n_pairs++;
    return ASSAY_OK;
}

static int run_pairs(struct pairing *p, struct assay_error *err)
{
    const struct as_interference_source *source = p->options.source;
    double plain_ns, other_ns, s = 0;
    uint64_t from;
    int rc = warm(p, p->options.plain, p->options.plain_user, &plain_ns, err);

    if (rc == ASSAY_OK)
        rc = warm(p, p->options.other, p->options.other_user, &other_ns, err);
    if (rc != ASSAY_OK)
        return rc;
    p->out->batch = (uint64_t)fmax(1, ceil(SAMPLE_NS / fmax(fmin(plain_ns, other_ns), 1)));
    from = source->now_ns(source->user);
    while (rc == ASSAY_OK && p->out->n_pairs < AS_PAIR_MAX) {
        rc = pair(p, err);
        s = (double)(source->now_ns(source->user) - from) / 1e9;
        if ((s >= p->options.time_s && p->out->n_pairs >= AS_PAIR_MIN) ||
            s >= HARD_FACTOR * p->options.time_s)
            break;
    }
    return rc;
}

/* The order of the ratios is lost. */
static double percentile_90(double *ratio, size_t n)
{
    double scratch[AS_PAIR_MAX];
    struct as_sorted sorted = as_sorted_f64(ratio, n);

    as_sort_f64(ratio, n, scratch);
    return as_quantile_at(&sorted, 0.9, AS_QUANTILE_LINEAR);
}

static int sum_up(struct pairing *p, struct assay_error *err)
{
    struct as_pair_run *out = p->out;
    struct as_series_interval interval = {0};
    int rc = as_latency_metrics(&out->plain, p->plain_ns, out->n_pairs, p->options.level, err);

    if (rc == ASSAY_OK)
        rc = as_latency_metrics(&out->other, p->other_ns, out->n_pairs, p->options.level, err);
    if (rc == ASSAY_OK)
        rc = as_latency_interval(&interval, p->ratio, out->n_pairs, p->options.level, &out->factor,
                                 err);
    out->factor_p90 = percentile_90(p->ratio, out->n_pairs);
    out->factor_low = interval.interval.low;
    out->factor_high = interval.interval.high;
    return rc;
}

int as_pair_run(struct as_pair_run *out, const struct as_pair_options *options,
                struct assay_error *err)
{
    struct pairing p = {.options = *options, .out = out};
    int rc;

    *out = (struct as_pair_run){.batch = 1};
    p.options.time_s = options->time_s > 0 ? options->time_s : TIME_S;
    p.options.level = options->level > 0 ? options->level : LEVEL;
    p.options.source = options->source ? options->source : as_interference_machine(false);
    p.plain_ns = as_alloc_zero(AS_PAIR_MAX, sizeof *p.plain_ns);
    p.other_ns = as_alloc_zero(AS_PAIR_MAX, sizeof *p.other_ns);
    p.ratio = as_alloc_zero(AS_PAIR_MAX, sizeof *p.ratio);
    rc = p.plain_ns && p.other_ns && p.ratio ? ASSAY_OK : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        rc = run_pairs(&p, err);
    if (rc == ASSAY_OK)
        rc = sum_up(&p, err);
    as_free(p.plain_ns);
    as_free(p.other_ns);
    as_free(p.ratio);
    return rc;
}
