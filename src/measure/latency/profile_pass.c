/* measure/latency/profile_pass.c - the time of every step, run after run, and what measuring it
 * costs: runs with and without stand beside each other (ABBA), so that both see the same machine.
 */
#include "measure/latency/profile_pass.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"

#define DEFAULT_TIME_S 1.5
#define DEFAULT_LEVEL  0.95
#define LOW_FACTOR     2
#define HIGH_FACTOR    10

struct profiling {
    struct as_engine *engine;
    const struct as_interference_source *source;
    struct as_profile_pass *out;
    struct as_step_sample *step;   /* of the run that is made */
    struct as_step_sample *by_run; /* of all, run after run */
    size_t capacity;               /* runs */
};

static int timed(struct profiling *p, enum as_run_mode mode, double *ns, struct assay_error *err)
{
    uint64_t from = p->source->now_ns(p->source->user);
    int rc = as_engine_run(p->engine, mode, mode == AS_RUN_PROFILE ? p->step : NULL, err);

    *ns = (double)(p->source->now_ns(p->source->user) - from);
    return rc;
}

/* One plain and one profiled run; which comes first changes with each pair. */
static int pair(struct profiling *p, struct assay_error *err)
{
    struct as_profile_pass *out = p->out;
    size_t i = out->n_runs;
    bool plain_first = i % 2 == 0;
    int rc = ASSAY_OK;

    if (plain_first)
        rc = timed(p, AS_RUN_PLAIN, &out->plain_ns[i], err);
    if (rc == ASSAY_OK)
        rc = timed(p, AS_RUN_PROFILE, &out->run_ns[i], err);
    if (rc == ASSAY_OK && !plain_first)
        rc = timed(p, AS_RUN_PLAIN, &out->plain_ns[i], err);
    if (rc < 0)
        return rc;
    memcpy(p->by_run + i * out->n_steps, p->step, out->n_steps * sizeof *p->step);
    out->n_runs++;
    return ASSAY_OK;
}

static void tell(const struct profiling *p, const struct as_profile_pass_options *o, double s,
                 double time_s)
{
    double share = o->runs ? (double)p->out->n_runs / o->runs : s / time_s;

    if (o->progress)
        o->progress(o->user, fmin(share, 1), share > 0 ? fmax(s / share - s, 0) : AS_UNKNOWN);
}

static int run_pairs(struct profiling *p, const struct as_profile_pass_options *o,
                     struct assay_error *err)
{
    double time_s = o->time_s > 0 ? o->time_s : DEFAULT_TIME_S, s = 0, unused;
    size_t wanted = o->runs ? o->runs : AS_PROFILE_MAX_RUNS;
    uint64_t from;
    int rc;

    /* Both ways once before: neither shall be the first. */
    rc = timed(p, AS_RUN_PROFILE, &unused, err);
    if (rc == ASSAY_OK)
        rc = timed(p, AS_RUN_PLAIN, &unused, err);
    from = p->source->now_ns(p->source->user);
    if (rc == ASSAY_OK && as_stop_asked(o->stop))
        rc = as_fail(err, ASSAY_ERR_STATE, AS_STOPPED_BEFORE_FIRST);
    while (rc == ASSAY_OK && p->out->n_runs < p->capacity) {
        rc = pair(p, err);
        s = (double)(p->source->now_ns(p->source->user) - from) / 1e9;
        tell(p, o, s, time_s);
        if (as_stop_asked(o->stop))
            break;
        if (!o->runs && s >= time_s && p->out->n_runs >= AS_PROFILE_MIN_RUNS)
            break;
        if (!o->runs && s >= 10 * time_s && p->out->n_runs > 0)
            break;
    }
    p->out->capped = p->out->n_runs == p->capacity && p->capacity < wanted;
    return rc;
}

/* From run after run to step after step. */
static int turn(struct profiling *p, struct assay_error *err)
{
    struct as_profile_pass *out = p->out;
    size_t n = out->n_steps * out->n_runs;

    out->self_ns = as_alloc_zero(n + 1, sizeof *out->self_ns);
    out->calls = as_alloc_zero(n + 1, sizeof *out->calls);
    if (!out->self_ns || !out->calls)
        return as_fail_nomem(err);
    for (size_t run = 0; run < out->n_runs; run++)
        for (size_t step = 0; step < out->n_steps; step++) {
            const struct as_step_sample *from = &p->by_run[run * out->n_steps + step];

            out->self_ns[step * out->n_runs + run] = from->self_ns;
            out->calls[step * out->n_runs + run] = from->calls;
        }
    return ASSAY_OK;
}

/* The ratio of neighbors, whose common noise cancels. */
static int find_cost(struct as_profile_pass *out, double level, struct assay_error *err)
{
    double *ratio = as_alloc_zero(out->n_runs + 1, sizeof *ratio), median = AS_UNKNOWN;
    struct as_series_interval interval = {0};
    int rc;

    if (!ratio)
        return as_fail_nomem(err);
    for (size_t i = 0; i < out->n_runs; i++)
        ratio[i] = out->plain_ns[i] > 0 ? out->run_ns[i] / out->plain_ns[i] : 1;
    rc = as_latency_interval(&interval, ratio, out->n_runs, level, &median, err);
    out->cost_share = median - 1;
    out->cost_low_share = interval.interval.low - 1;
    out->cost_high_share = interval.interval.high - 1;
    as_free(ratio);
    return rc;
}

static int reserve(struct profiling *p, const struct as_profile_pass_options *o,
                   struct assay_error *err)
{
    struct as_profile_pass *out = p->out;
    size_t most = AS_PROFILE_MAX_SAMPLES / (out->n_steps ? out->n_steps : 1);

    p->capacity = o->runs ? o->runs : AS_PROFILE_MAX_RUNS;
    most = most > AS_PROFILE_MIN_RUNS ? most : AS_PROFILE_MIN_RUNS;
    p->capacity = p->capacity < most ? p->capacity : most;
    p->step = as_alloc_zero(out->n_steps + 1, sizeof *p->step);
    p->by_run = as_alloc_zero(p->capacity * (out->n_steps + 1), sizeof *p->by_run);
    out->run_ns = as_alloc_zero(p->capacity, sizeof *out->run_ns);
    out->plain_ns = as_alloc_zero(p->capacity, sizeof *out->plain_ns);
    return p->step && p->by_run && out->run_ns && out->plain_ns ? ASSAY_OK : as_fail_nomem(err);
}

int as_profile_pass(struct as_profile_pass *out, struct as_engine *engine,
                    const struct as_profile_pass_options *options, struct assay_error *err)
{
    struct profiling p = {.engine = engine,
                          .source =
                              options->source ? options->source : as_interference_machine(false),
                          .out = out};
    double level = options->level > 0 ? options->level : DEFAULT_LEVEL;
    int rc;

    *out = (struct as_profile_pass){.n_steps = as_engine_n_steps(engine)};
    rc = reserve(&p, options, err);
    if (rc == ASSAY_OK)
        rc = run_pairs(&p, options, err);
    if (rc == ASSAY_OK)
        rc = turn(&p, err);
    if (rc == ASSAY_OK)
        rc = as_latency_metrics(&out->profiled, out->run_ns, out->n_runs, level, err);
    if (rc == ASSAY_OK)
        rc = as_latency_metrics(&out->plain, out->plain_ns, out->n_runs, level, err);
    if (rc == ASSAY_OK)
        rc = find_cost(out, level, err);
    as_free(p.step);
    as_free(p.by_run);
    if (rc < 0)
        as_profile_pass_fini(out);
    return rc;
}

void as_profile_pass_fini(struct as_profile_pass *pass)
{
    if (!pass)
        return;
    as_free(pass->self_ns);
    as_free(pass->calls);
    as_free(pass->run_ns);
    as_free(pass->plain_ns);
    *pass = (struct as_profile_pass){0};
}

const char *as_profile_cost_class(double factor)
{
    return factor < LOW_FACTOR ? "low" : factor < HIGH_FACTOR ? "moderate" : "high";
}

const char *as_profile_cost_hint(double factor)
{
    if (factor < LOW_FACTOR)
        return "cheap enough to profile often, also beside real work";
    if (factor < HIGH_FACTOR)
        return "profile while developing, and narrow it to the paths that matter";
    return "profile only what is being investigated: times with it are not those without";
}
