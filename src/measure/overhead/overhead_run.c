/* measure/overhead/overhead_run.c - what measuring costs by itself: each probe in nanoseconds, and
 * each pass of the engine against the same run without it. */
#include "measure/overhead/overhead_run.h"

#include <assay/session.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "measure/latency/latency_run.h"
#include "measure/overhead/built_network.h"
#include "model/build/build_layers.h"
#include "stats/describe/sorted.h"

enum {
    CALLS = 2000, /* of a probe in a trial: its events fit into the ring many times */
    MAX_ROUNDS = 400,
    DEFAULT_ROUNDS = 40,
    RING_KIB = 4096,
    TINY_STEPS = 200,
    TINY_SIZE = 64,
    LARGE_STEPS = 4,
    LARGE_ROWS = 256,
    LARGE_SIZE = 512,
    COPY_BYTES = 100 * 100 * 4,
    COPY_RUNS = 50, /* samples of a copy in a round */
};

#define PAIR_S 0.4

static const struct {
    const char *key, *text;
    bool session;
} probe_names[] = {
#define X(name, key, text, session) {key, text, session},
    AS_PROBES(X)
#undef X
};

static const struct {
    const char *key, *text;
} overhead_names[] = {
#define X(name, key, text) {key, text},
    AS_OVERHEADS(X)
#undef X
};

const char *as_probe_key(enum as_probe probe)
{
    return (unsigned)probe < AS_PROBE_COUNT ? probe_names[probe].key : "unknown";
}

const char *as_probe_text(enum as_probe probe)
{
    return (unsigned)probe < AS_PROBE_COUNT ? probe_names[probe].text : "unknown";
}

const char *as_overhead_key(enum as_overhead_kind kind)
{
    return (unsigned)kind < AS_OVERHEAD_COUNT ? overhead_names[kind].key : "unknown";
}

const char *as_overhead_text(enum as_overhead_kind kind)
{
    return (unsigned)kind < AS_OVERHEAD_COUNT ? overhead_names[kind].text : "unknown";
}

/* ---- the probes ---- */

struct probing {
    enum as_clock_kind clock;
    uint32_t layer, channel;
};

/* Calls one probe CALLS times. The compiler must neither move it nor make fewer of it. */
typedef void (*probe_loop)(const struct probing *p);

static inline void keep_u64(uint64_t value)
{
    __asm__ __volatile__("" : : "r"(value) : "memory");
}

static void loop_nothing(const struct probing *p)
{
    (void)p;
    for (uint64_t i = 0; i < CALLS; i++)
        keep_u64(i);
}

static void loop_ticks(const struct probing *p)
{
    for (uint64_t i = 0; i < CALLS; i++)
        keep_u64(as_clock_ticks(p->clock));
}

static void loop_clock(const struct probing *p)
{
    (void)p;
    for (uint64_t i = 0; i < CALLS; i++)
        keep_u64(as_clock_mono_ns());
}

static void loop_cpu_clock(const struct probing *p)
{
    uint64_t ns = 0;

    (void)p;
    for (uint64_t i = 0; i < CALLS; i++) {
        (void)as_clock_thread_cpu_ns(&ns);
        keep_u64(ns);
    }
}

static void loop_scope(const struct probing *p)
{
    for (uint64_t i = 0; i < CALLS; i++) {
        assay_begin(p->layer);
        keep_u64(i);
        assay_end(p->layer);
    }
}

static void loop_switch(const struct probing *p)
{
    for (uint64_t i = 0; i < CALLS; i++) {
        assay_switch(p->layer);
        keep_u64(i);
    }
    assay_switch(0);
}

static void loop_iteration(const struct probing *p)
{
    (void)p;
    for (uint64_t i = 0; i < CALLS; i++)
        assay_iteration(i);
    assay_iteration_end();
}

static void loop_sample(const struct probing *p)
{
    for (uint64_t i = 0; i < CALLS; i++)
        assay_sample(p->channel, (double)i);
}

static const probe_loop loops[] = {
    [AS_PROBE_TICKS] = loop_ticks,         [AS_PROBE_CLOCK] = loop_clock,
    [AS_PROBE_CPU_CLOCK] = loop_cpu_clock, [AS_PROBE_SCOPE_OFF] = loop_scope,
    [AS_PROBE_SCOPE] = loop_scope,         [AS_PROBE_SWITCH] = loop_switch,
    [AS_PROBE_ITERATION] = loop_iteration, [AS_PROBE_SAMPLE] = loop_sample,
};
_Static_assert(AS_COUNT_OF(loops) == AS_PROBE_COUNT, "loop every probe");

static double trial_ns(probe_loop loop, const struct probing *p)
{
    uint64_t from = as_clock_mono_ns();

    loop(p);
    return (double)(as_clock_mono_ns() - from) / CALLS;
}

struct overhead {
    struct as_overhead_options options;
    struct as_overhead_run *out;
    struct probing probing;
    double *trials;  /* MAX_ROUNDS of each probe */
    double empty_ns; /* the loop around a probe */
    struct as_built_network tiny, large;
    struct as_step_sample *samples; /* of the larger number of steps */
    char *from, *to;                /* of the copy */
};

/* All probes with or without a session, round after round, and the empty loop with them: the best
 * of it is taken off, for what disturbs it must not make a probe look cheap. */
static void take_trials(struct overhead *o, bool session)
{
    for (unsigned round = 0; round < o->options.rounds; round++) {
        o->empty_ns = fmin(o->empty_ns, trial_ns(loop_nothing, &o->probing));
        for (int i = 0; i < AS_PROBE_COUNT; i++)
            if (probe_names[i].session == session)
                o->trials[(size_t)i * MAX_ROUNDS + round] = trial_ns(loops[i], &o->probing);
    }
}

static int sum_up_probe(struct overhead *o, int i, struct assay_error *err)
{
    struct as_probe_cost *cost = &o->out->probes[i];
    double *trials = o->trials + (size_t)i * MAX_ROUNDS;
    struct as_series_interval interval = {0};
    int rc;

    for (unsigned r = 0; r < o->options.rounds; r++)
        trials[r] = fmax(trials[r] - o->empty_ns, 0);
    rc =
        as_latency_interval(&interval, trials, o->options.rounds, AS_LATENCY_LEVEL, &cost->ns, err);
    cost->known = rc == ASSAY_OK;
    cost->low_ns = interval.interval.low;
    cost->high_ns = interval.interval.high;
    cost->least_ns = trials[0];
    for (unsigned r = 1; r < o->options.rounds; r++)
        cost->least_ns = fmin(cost->least_ns, trials[r]);
    cost->n_trials = o->options.rounds;
    cost->n_calls = CALLS;
    return rc;
}

static bool session_open(struct overhead *o)
{
    struct assay_session_options options = {.size = sizeof(struct assay_session_options)};
    struct assay_error why = {0};

    options.ring_kib = RING_KIB;
    if (!o->options.record)
        (void)snprintf(o->out->session_why, sizeof o->out->session_why, "no place to record to");
    else if (assay_session_open(o->options.record, &options, &why) < 0)
        (void)snprintf(o->out->session_why, sizeof o->out->session_why, "%s", why.msg);
    else
        return true;
    return false;
}

/* First calls find ids and memory; they do not count. */
static void warm_probes(struct overhead *o, bool session)
{
    o->probing.layer = assay_layer("overhead");
    o->probing.channel = assay_channel("overhead", "count");
    for (int i = 0; i < AS_PROBE_COUNT; i++)
        if (probe_names[i].session == session)
            (void)trial_ns(loops[i], &o->probing);
}

static void tell(const struct overhead *o, const char *what, double share)
{
    if (o->options.progress)
        o->options.progress(o->options.user, what, share);
}

/* ---- networks ---- */

static void build_tiny(struct as_builder *b, int64_t size)
{
    const struct as_dims dims = {2, {1, size}};
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, &dims, NULL);

    for (int i = 0; i < TINY_STEPS; i++)
        x = as_build_unary(b, "Neg", NULL, x);
    as_build_output(b, x, NULL);
}

static void build_large(struct as_builder *b, int64_t size)
{
    const struct as_dims dims = {2, {LARGE_ROWS, size}};
    uint32_t x = as_build_input(b, "x", AS_DTYPE_F32, &dims, NULL);

    for (int i = 0; i < LARGE_STEPS; i++)
        x = as_build_linear(b, NULL, x, size, false);
    as_build_output(b, x, NULL);
}

static int run_profiled(void *user, struct assay_error *err)
{
    struct overhead *o = user;

    return as_engine_run(o->tiny.engine, AS_RUN_PROFILE, o->samples, err);
}

static int run_profiled_large(void *user, struct assay_error *err)
{
    struct overhead *o = user;

    return as_engine_run(o->large.engine, AS_RUN_PROFILE, o->samples, err);
}

static int run_memory(void *user, struct assay_error *err)
{
    struct as_built_network *network = user;

    return as_engine_run(network->engine, AS_RUN_MEMORY, NULL, err);
}

static void keep_pair(struct as_overhead_pair *pair, const struct as_pair_run *run, size_t n_steps)
{
    *pair = (struct as_overhead_pair){
        .known = true,
        .n_steps = n_steps,
        .n_pairs = run->n_pairs,
        .plain_ns = run->plain.summary.median,
        .with_ns = run->other.summary.median,
        .factor = run->factor,
        .factor_low = run->factor_low,
        .factor_high = run->factor_high,
    };
}

static int compare(struct overhead *o, enum as_overhead_kind kind, struct as_built_network *network,
                   as_measured other, void *user, struct assay_error *err)
{
    const struct as_pair_options options = {.plain = as_built_network_run,
                                            .plain_user = network,
                                            .other = other,
                                            .other_user = user,
                                            .time_s = o->options.pair_s};
    struct as_pair_run run;
    int rc;

    tell(o, as_overhead_text(kind), (1.0 + (double)kind) / (1.0 + (double)AS_OVERHEAD_COUNT));
    rc = as_pair_run(&run, &options, err);
    if (rc == ASSAY_OK)
        keep_pair(&o->out->pairs[kind], &run, as_engine_n_steps(network->engine));
    return rc;
}

static int compare_engines(struct overhead *o, struct assay_error *err)
{
    int rc = compare(o, AS_OVERHEAD_PROFILE_TINY, &o->tiny, run_profiled, o, err);

    if (rc == ASSAY_OK)
        rc = compare(o, AS_OVERHEAD_PROFILE_LARGE, &o->large, run_profiled_large, o, err);
    if (rc == ASSAY_OK)
        rc = compare(o, AS_OVERHEAD_MEMORY_TINY, &o->tiny, run_memory, &o->tiny, err);
    if (rc == ASSAY_OK)
        rc = compare(o, AS_OVERHEAD_MEMORY_LARGE, &o->large, run_memory, &o->large, err);
    return rc;
}

/* ---- a function: bare, and through the protocol ---- */

static int copy(void *user, struct assay_error *err)
{
    struct overhead *o = user;

    (void)err;
    memcpy(o->to, o->from, COPY_BYTES);
    __asm__ __volatile__("" : : "r"(o->to) : "memory");
    return ASSAY_OK;
}

/* The time that passes while so many calls are timed, by call: the samples themselves leave out
 * what stands around them, and warm-up is not in it. */
static int measured_ns(struct overhead *o, bool batched, double *ns, struct assay_error *err)
{
    const struct as_latency_options options = {.runs = COPY_RUNS, .no_batch = !batched};
    struct as_latency_run run = {0};
    int rc = as_latency_run(&run, copy, o, &options, err);

    if (rc == ASSAY_OK)
        *ns = run.seconds * 1e9 / (double)(run.n * run.batch);
    as_latency_run_fini(&run);
    return rc;
}

static double bare_ns(struct overhead *o)
{
    uint64_t from;

    for (int i = 0; i < COPY_RUNS; i++)
        (void)copy(o, NULL);
    from = as_clock_mono_ns();
    for (int i = 0; i < COPY_RUNS; i++)
        (void)copy(o, NULL);
    return (double)(as_clock_mono_ns() - from) / COPY_RUNS;
}

static double median_of(double *values, size_t n, double *scratch)
{
    struct as_sorted sorted = as_sorted_f64(values, n);

    as_sort_f64(values, n, scratch);
    return as_sorted_median(&sorted);
}

static int compare_function(struct overhead *o, bool batched, struct assay_error *err)
{
    struct as_overhead_pair *pair =
        &o->out->pairs[batched ? AS_OVERHEAD_BATCHED : AS_OVERHEAD_MEASURED];
    double *bare = o->trials, *with = bare + MAX_ROUNDS, *ratio = with + MAX_ROUNDS,
           *scratch = ratio + MAX_ROUNDS;
    size_t n = o->options.rounds;
    struct as_series_interval interval = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < n; i++) {
        bare[i] = bare_ns(o);
        rc = measured_ns(o, batched, &with[i], err);
        ratio[i] = with[i] / fmax(bare[i], 1);
    }
    if (rc == ASSAY_OK)
        rc = as_latency_interval(&interval, ratio, n, AS_LATENCY_LEVEL, &pair->factor, err);
    if (rc < 0)
        return rc;
    pair->known = true;
    pair->n_steps = 1;
    pair->n_pairs = n;
    pair->plain_ns = median_of(bare, n, scratch);
    pair->with_ns = median_of(with, n, scratch);
    pair->factor_low = interval.interval.low;
    pair->factor_high = interval.interval.high;
    return ASSAY_OK;
}

/* ---- the whole ---- */

static int prepare(struct overhead *o, struct assay_error *err)
{
    const struct as_engine_options plain = {.threads = 1, .no_fuse = true};
    size_t n_steps;
    int rc;

    o->trials = as_alloc_zero((size_t)AS_PROBE_COUNT * MAX_ROUNDS, sizeof *o->trials);
    o->from = as_alloc_zero(COPY_BYTES, 1);
    o->to = as_alloc_zero(COPY_BYTES, 1);
    if (!o->trials || !o->from || !o->to)
        return as_fail_nomem(err);
    rc = as_built_network_open(&o->tiny, build_tiny, TINY_SIZE, &plain, err);
    if (rc == ASSAY_OK)
        rc = as_built_network_open(&o->large, build_large, LARGE_SIZE, &plain, err);
    if (rc < 0)
        return rc;
    n_steps = as_engine_n_steps(o->tiny.engine) + as_engine_n_steps(o->large.engine);
    o->samples = as_alloc_zero(n_steps, sizeof *o->samples);
    return o->samples ? ASSAY_OK : as_fail_nomem(err);
}

static int probe_all(struct overhead *o, bool session, struct assay_error *err)
{
    int rc = ASSAY_OK;

    warm_probes(o, session);
    take_trials(o, session);
    for (int i = 0; rc == ASSAY_OK && i < AS_PROBE_COUNT; i++)
        if (probe_names[i].session == session)
            rc = sum_up_probe(o, i, err);
    return rc;
}

/* Last, since an engine that records goes on doing so. A file that cannot be closed is no failure
 * of the study. */
static int run_session(struct overhead *o, struct assay_error *err)
{
    struct assay_error why = {0};
    int rc;

    if (!session_open(o))
        return ASSAY_OK;
    rc = probe_all(o, true, err);
    o->out->lost_events = assay_session_lost();
    if (rc == ASSAY_OK)
        rc = as_engine_record(o->tiny.engine, err);
    if (rc == ASSAY_OK)
        rc = compare(o, AS_OVERHEAD_RECORD_TINY, &o->tiny, run_profiled, o, err);
    if (assay_session_close(&why) < 0)
        (void)snprintf(o->out->session_why, sizeof o->out->session_why, "%s", why.msg);
    return rc;
}

int as_overhead_run(struct as_overhead_run *out, const struct as_overhead_options *options,
                    struct assay_error *err)
{
    struct overhead *o = as_alloc_zero(1, sizeof *o);
    int rc;

    *out = (struct as_overhead_run){0};
    if (!o)
        return as_fail_nomem(err);
    o->options = *options;
    o->options.rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
    o->options.rounds = o->options.rounds < MAX_ROUNDS ? o->options.rounds : MAX_ROUNDS;
    o->options.pair_s = options->pair_s > 0 ? options->pair_s : PAIR_S;
    o->out = out;
    o->empty_ns = (double)INFINITY;
    o->probing.clock = as_clock_choose(true).kind;
    out->clock = as_clock_name(o->probing.clock);
    rc = prepare(o, err);
    tell(o, "timing probes", 0);
    if (rc == ASSAY_OK)
        rc = probe_all(o, false, err);
    if (rc == ASSAY_OK)
        rc = compare_function(o, false, err);
    if (rc == ASSAY_OK)
        rc = compare_function(o, true, err);
    if (rc == ASSAY_OK)
        rc = compare_engines(o, err);
    if (rc == ASSAY_OK)
        rc = run_session(o, err);
    as_built_network_close(&o->tiny);
    as_built_network_close(&o->large);
    as_free(o->samples);
    as_free(o->trials);
    as_free(o->from);
    as_free(o->to);
    as_free(o);
    return rc;
}
