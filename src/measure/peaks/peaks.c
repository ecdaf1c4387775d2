/* measure/peaks/peaks.c - the most this machine can compute and move, measured: the roofs of a
 * roofline. */
#include "measure/peaks/peaks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "measure/peaks/peak_kernels.h"
#include "probe/process/process_memory.h"

#define COMPUTE_ROUNDS    400000 /* 0.8 ms on a core of 3 GHz with two units */
#define COMPUTE_BUDGET_NS UINT64_C(60000000)
#define VISITS            2
#define HUGE_PAGE         (UINT64_C(2) << 20)
#define DRAM_MAX_BYTES    (UINT64_C(1) << 30)
#define DRAM_QUICK_BYTES  (UINT64_C(256) << 20)
#define DRAM_LEAST_BYTES  (UINT64_C(64) << 20)
#define DRAM_TRIAL_BYTES  (UINT64_C(48) << 20) /* of all threads together */

/* Memory that nobody used before is slow to get in a virtual machine. After the first time, what is
 * there must do if it is larger than the caches; after the second, whatever it is. */
#define TOUCH_ENOUGH_NS UINT64_C(800000000)
#define TOUCH_MOST_NS   UINT64_C(2500000000)
#define TOUCH_BYTES     (UINT64_C(8) << 20)

/* How a level is walked. */
static const struct {
    uint64_t trial_bytes; /* moved by a thread in one trial, at least one pass */
    uint64_t budget_ns;   /* of all trials */
} pace[AS_PEAK_LEVEL_COUNT] = {
    [AS_PEAK_L1] = {UINT64_C(128) << 20, 30000000},
    [AS_PEAK_L2] = {UINT64_C(64) << 20, 40000000},
    [AS_PEAK_L3] = {UINT64_C(32) << 20, 80000000},
    [AS_PEAK_DRAM] = {0, 160000000},
};

struct run {
    const struct as_peaks_options *options;
    struct as_peaks *out;
    unsigned done, total; /* steps, for the progress */
    unsigned visit;       /* of VISITS: a bad moment must not spoil a figure */
    char *memory;         /* for the bandwidths: slices, each touched by the thread that uses it */
    unsigned n_slices;    /* 1 where all memory is equally near: then any thread may use any part */
    uint64_t slice_bytes; /* from one slice to the next */
    uint64_t slice_capacity; /* of each, what was touched */
};

/* False: nothing more is measured. */
static bool begin(struct run *r, const char *what)
{
    if (as_stop_asked(r->options->stop))
        return false;
    if (r->options->progress)
        r->options->progress(r->options->user, what, r->done, r->total);
    r->done++;
    if (r->options->n_measured)
        *r->options->n_measured = r->done;
    return true;
}

static struct as_peak none(enum as_peak_reason reason)
{
    return (struct as_peak){
        .rate = AS_UNKNOWN, .spread = AS_UNKNOWN, .why = as_peak_reason_text(reason)};
}

static struct as_peak peak_of(double amount, const struct as_team_result *t, const char *isa)
{
    return (struct as_peak){
        .rate = amount / t->best_ns * 1e9, .spread = 1 - t->best_ns / t->median_ns, .isa = isa};
}

/* Of two visits the better counts, and their medians together say how far below it trials were. */
static struct as_peak better(const struct as_peak *a, const struct as_peak *b)
{
    struct as_peak out = a->rate >= b->rate ? *a : *b;
    double median = (a->rate * (1 - a->spread) + b->rate * (1 - b->spread)) / 2;

    out.spread = 1 - median / out.rate;
    return out;
}

/* The first visit sets a figure, the later ones can only raise it. */
static void keep(const struct run *r, struct as_peak *out, struct as_peak now)
{
    *out = r->visit == 0 ? now : better(out, &now);
}

static struct as_team_job job_for(const struct run *r, unsigned n_threads, uint64_t budget_ns)
{
    return (struct as_team_job){
        .topology = r->options->topology,
        .n_threads = n_threads,
        .min_trials = 3,
        .max_trials = AS_TEAM_MAX_TRIALS,
        .budget_ns = budget_ns / VISITS / (r->options->quick ? 4 : 1),
    };
}

/* A block of scratch for each thread. */
struct compute {
    const struct as_compute_kernel *kernel;
    char *scratch;
};

static void compute_trial(void *user, unsigned member)
{
    const struct compute *c = user;

    c->kernel->run(COMPUTE_ROUNDS, c->scratch + (size_t)member * AS_PEAK_SCRATCH_BYTES);
}

static int measure_compute(struct run *r, enum as_peak_type type, unsigned i,
                           struct assay_error *err)
{
    unsigned n_threads = r->out->threads[i];
    struct as_team_job job = job_for(r, n_threads, COMPUTE_BUDGET_NS);
    struct as_peak *out = &r->out->compute[type][i];
    struct compute c = {0};
    struct as_team_result t;
    const char *why;
    char what[64];
    int rc;

    (void)snprintf(what, sizeof what, "%s on %u thread%s", as_peak_type_name(type), n_threads,
                   n_threads == 1 ? "" : "s");
    if (!begin(r, what))
        return ASSAY_OK;
    c.kernel = as_compute_kernel_find(type, &why);
    if (!c.kernel) {
        *out = (struct as_peak){.rate = AS_UNKNOWN, .spread = AS_UNKNOWN, .why = why};
        return ASSAY_OK;
    }
    c.scratch = as_alloc_aligned(64, (size_t)n_threads * AS_PEAK_SCRATCH_BYTES);
    if (!c.scratch)
        return as_fail_nomem(err);
    for (unsigned m = 0; m < n_threads; m++)
        as_compute_scratch(type, c.scratch + (size_t)m * AS_PEAK_SCRATCH_BYTES);
    job.trial = compute_trial;
    job.user = &c;
    rc = as_team_run(&t, &job, err);
    if (rc == ASSAY_OK)
        keep(r, out, peak_of(c.kernel->ops * COMPUTE_ROUNDS * n_threads, &t, c.kernel->isa));
    as_free(c.scratch);
    return rc;
}

struct walker {
    _Alignas(64) uint64_t at; /* where the next trial begins */
};

struct bandwidth {
    const struct as_memory_kernel *kernel;
    char *memory;
    uint64_t share;  /* bytes of the memory that belong to one thread */
    uint64_t set;    /* of those, the bytes walked round and round */
    uint64_t stride; /* walked in one trial: all of `set`, or a part that moves on */
    uint64_t passes;
    struct walker walkers[AS_PEAK_MAX_THREADS];
};

static void bandwidth_prepare(void *user, unsigned member)
{
    struct bandwidth *b = user;

    if (b->stride == b->set) /* otherwise the set is larger than any cache */
        b->kernel->run(b->memory + member * b->share, b->stride, 1);
}

static void bandwidth_trial(void *user, unsigned member)
{
    struct bandwidth *b = user;
    struct walker *w = &b->walkers[member];

    b->kernel->run(b->memory + member * b->share + w->at, b->stride, b->passes);
    w->at += b->stride;
    if (w->at + b->stride > b->set)
        w->at = 0;
}

static uint64_t round_down(uint64_t bytes, uint64_t to)
{
    return bytes - bytes % to;
}

/* What one of `n_threads` threads walks so that all together stay in that level. */
static uint64_t set_bytes(const struct run *r, enum as_peak_level level, unsigned n_threads)
{
    const struct as_topology *t = r->options->topology;
    const struct as_cache *cache = as_topology_cache(t, (unsigned)level + 1);
    const struct as_cache *l2 = as_topology_cache(t, 2);
    uint64_t bytes, users;

    if (!cache)
        return 0;
    users = (n_threads + cache->n - 1) / cache->n;
    if (users < 2 && cache->shared_by > 1) /* somebody else works there too */
        users = 2;
    bytes = cache->size_bytes / 2 / users;
    if (level == AS_PEAK_L3 && l2) {
        /* What L2 holds as well would be measured as L2; much more meets others in L3. */
        if (bytes > 8 * l2->size_bytes)
            bytes = 8 * l2->size_bytes;
        if (bytes < 2 * l2->size_bytes)
            bytes = cache->size_bytes / users < 2 * l2->size_bytes ? cache->size_bytes / users
                                                                   : 2 * l2->size_bytes;
    }
    return round_down(bytes, AS_PEAK_CHUNK);
}

static int measure_access(struct run *r, struct bandwidth *b, enum as_peak_level level,
                          enum as_peak_access access, unsigned i, struct assay_error *err)
{
    unsigned n_threads = r->out->threads[i];
    struct as_team_job job = job_for(r, n_threads, pace[level].budget_ns);
    struct as_team_result t;
    int rc;

    b->kernel = as_memory_kernel_find(access);
    if (!b->kernel)
        return ASSAY_OK;
    job.prepare = bandwidth_prepare;
    job.trial = bandwidth_trial;
    job.user = b;
    rc = as_team_run(&t, &job, err);
    if (rc == ASSAY_OK)
        keep(r, &r->out->bandwidth[level][access][i],
             peak_of((double)b->stride * (double)b->passes * n_threads, &t, b->kernel->isa));
    return rc;
}

static int measure_level(struct run *r, enum as_peak_level level, unsigned i,
                         struct assay_error *err)
{
    unsigned n_threads = r->out->threads[i];
    struct bandwidth b = {.memory = r->memory, .share = r->slice_bytes};
    uint64_t headroom = r->slice_capacity;
    enum as_peak_reason reason = AS_PEAK_NO_MEMORY;
    bool short_of_memory;
    char what[64];
    int rc = ASSAY_OK;

    (void)snprintf(what, sizeof what, "%s bandwidth on %u thread%s", as_peak_level_name(level),
                   n_threads, n_threads == 1 ? "" : "s");
    if (!begin(r, what))
        return ASSAY_OK;
    if (r->n_slices == 1)
        b.share = headroom = round_down(headroom / n_threads, (uint64_t)AS_PEAK_CHUNK * 64);
    b.set = level == AS_PEAK_DRAM ? round_down(headroom, AS_PEAK_CHUNK)
                                  : set_bytes(r, level, n_threads);
    if (r->memory && r->slice_capacity < r->slice_bytes)
        reason = AS_PEAK_SLOW_MEMORY;
    short_of_memory = !r->memory || b.set > headroom || headroom * n_threads < DRAM_LEAST_BYTES;
    for (int access = 0; r->visit == 0 && access < AS_PEAK_ACCESS_COUNT; access++)
        r->out->bandwidth[level][access][i] = none(!short_of_memory && b.set == 0 ? AS_PEAK_NO_CACHE
                                                   : short_of_memory              ? reason
                                                                     : AS_PEAK_NO_KERNEL);
    if (b.set == 0 || short_of_memory)
        return ASSAY_OK;
    if (i == 0)
        r->out->place[level].set_bytes = b.set;
    b.stride = b.set;
    if (level == AS_PEAK_DRAM) {
        b.stride = round_down(DRAM_TRIAL_BYTES / n_threads, AS_PEAK_CHUNK);
        if (2 * b.stride > b.set)
            b.stride = round_down(b.set / 2, AS_PEAK_CHUNK);
        for (unsigned m = 0; m < n_threads; m++)
            b.walkers[m].at = b.stride; /* the caches still hold the beginning */
    }
    b.passes = pace[level].trial_bytes / b.stride;
    if (b.passes == 0)
        b.passes = 1;
    for (int access = 0; rc == ASSAY_OK && access < AS_PEAK_ACCESS_COUNT; access++)
        rc = measure_access(r, &b, level, (enum as_peak_access)access, i, err);
    return rc;
}

/* A thread's part of the memory, and how much of it was touched. */
struct toucher {
    struct run *run;
    uint64_t enough; /* bytes of a slice that leave the caches */
    _Alignas(64) struct walker done[AS_PEAK_MAX_THREADS];
};

static void touch(void *user, unsigned member)
{
    struct toucher *t = user;
    char *slice = t->run->memory + member * t->run->slice_bytes;
    uint64_t begin = as_clock_mono_ns(), done = 0, took = 0;

    while (done < t->run->slice_bytes && took < TOUCH_MOST_NS &&
           (took < TOUCH_ENOUGH_NS || done < t->enough)) {
        uint64_t left = t->run->slice_bytes - done;
        uint64_t step = left < TOUCH_BYTES ? left : TOUCH_BYTES;

        memset(slice + done, 1, step);
        done += step;
        took = as_clock_mono_ns() - begin;
    }
    t->done[member].at = done;
}

static uint64_t l3_bytes(const struct as_topology *t)
{
    const struct as_cache *l3 = as_topology_cache(t, 3);

    return l3 ? l3->size_bytes * l3->n : 0;
}

/* The least that a bandwidth of DRAM can be measured with. */
static uint64_t enough_bytes(const struct as_topology *t)
{
    uint64_t beyond_caches = l3_bytes(t) / 4 * 5;

    return beyond_caches > DRAM_LEAST_BYTES ? beyond_caches : DRAM_LEAST_BYTES;
}

/* How much memory the bandwidths may use: enough to leave the caches, a quarter of what is left. */
static uint64_t memory_wanted(const struct run *r)
{
    const struct as_topology *t = r->options->topology;
    uint64_t wanted = 4 * l3_bytes(t);
    uint64_t most = r->options->memory_bytes;

    if (most == 0) {
        struct as_memory_headroom headroom;

        as_memory_headroom_read(&headroom, "", &t->container);
        most = headroom.left.why ? DRAM_QUICK_BYTES : headroom.left.value / 4;
    }
    if (wanted < DRAM_QUICK_BYTES)
        wanted = DRAM_QUICK_BYTES;
    if (wanted > (r->options->quick ? DRAM_QUICK_BYTES : DRAM_MAX_BYTES))
        wanted = r->options->quick ? DRAM_QUICK_BYTES : DRAM_MAX_BYTES;
    if (wanted > most)
        wanted = most;
    return wanted < DRAM_LEAST_BYTES ? 0 : round_down(wanted, HUGE_PAGE);
}

/* Memory that nobody can give is a reason, not a failure. */
static int get_memory(struct run *r, unsigned n_slices, struct assay_error *err)
{
    struct toucher t = {.run = r, .enough = enough_bytes(r->options->topology) / n_slices + 1};
    struct as_team_job job = job_for(r, n_slices, 0);
    struct as_team_result ignored;
    uint64_t wanted = memory_wanted(r);
    int rc;

    as_free(r->memory);
    r->n_slices = n_slices;
    r->slice_bytes = round_down(wanted / n_slices, (uint64_t)AS_PEAK_CHUNK * 64);
    r->slice_capacity = 0;
    r->memory = wanted ? as_alloc_aligned(HUGE_PAGE, wanted) : NULL;
    if (!r->memory)
        return ASSAY_OK;
    (void)madvise(r->memory, wanted, MADV_HUGEPAGE); /* a wish */
    job.min_trials = job.max_trials = 1;
    job.trial = touch;
    job.user = &t;
    rc = as_team_run(&ignored, &job, err);
    r->slice_capacity = t.done[0].at;
    for (unsigned i = 1; i < n_slices; i++)
        r->slice_capacity = t.done[i].at < r->slice_capacity ? t.done[i].at : r->slice_capacity;
    return rc;
}

/* The levels for one thread count. Where memory may be near or far, its threads touch it anew. */
static int measure_levels(struct run *r, unsigned i, struct assay_error *err)
{
    bool uneven = r->options->topology->n_numa > 1;
    int rc = ASSAY_OK;

    if (r->visit == 0 && (i == 0 || uneven) && !as_stop_asked(r->options->stop))
        rc = get_memory(r, uneven ? r->out->threads[i] : 1, err);
    for (int level = 0; rc == ASSAY_OK && level < AS_PEAK_LEVEL_COUNT; level++)
        rc = measure_level(r, (enum as_peak_level)level, i, err);
    return rc;
}

/* Nanoseconds of one reading: the best of some bursts. */
static double clock_cost_ns(enum as_clock_kind kind)
{
    enum { BURSTS = 20, READS = 200 };
    double best = (double)INFINITY;

    for (int i = 0; i < BURSTS; i++) {
        uint64_t begin = as_clock_mono_ns();

        for (int k = 0; k < READS; k++)
            (void)as_clock_ticks(kind);
        best = fmin(best, (double)(as_clock_mono_ns() - begin) / READS);
    }
    return best;
}

static int measure_count(struct run *r, unsigned i, struct assay_error *err)
{
    struct as_peaks *out = r->out;
    int rc = ASSAY_OK;

    for (int type = 0; rc == ASSAY_OK && type < AS_PEAK_TYPE_COUNT; type++)
        rc = measure_compute(r, (enum as_peak_type)type, i, err);
    /* After the processor was kept busy, so that it runs as fast as it does under work. */
    if (i == 0 && !as_stop_asked(r->options->stop)) {
        out->frequency_hz = fmax(out->frequency_hz, as_frequency_measure());
        out->vector_hz = fmax(out->vector_hz, as_frequency_under_vectors());
    }
    return rc == ASSAY_OK ? measure_levels(r, i, err) : rc;
}

static void set_places(struct as_peaks *out, const struct as_topology *t)
{
    for (int level = AS_PEAK_L1; level < AS_PEAK_DRAM; level++) {
        const struct as_cache *cache = as_topology_cache(t, (unsigned)level + 1);

        out->place[level].size_bytes = cache ? cache->size_bytes : 0;
    }
    if (!t->memory_bytes.why)
        out->place[AS_PEAK_DRAM].size_bytes = t->memory_bytes.value;
}

/* What a measurement that is interrupted leaves. */
static void set_unknown(struct as_peaks *out)
{
    const struct as_peak unknown = none(AS_PEAK_INTERRUPTED);

    for (unsigned i = 0; i < out->n_counts; i++) {
        for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
            out->compute[type][i] = unknown;
        for (int at = 0; at < AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT; at++)
            out->bandwidth[at / AS_PEAK_ACCESS_COUNT][at % AS_PEAK_ACCESS_COUNT][i] = unknown;
    }
}

int as_peaks_measure(struct as_peaks *out, const struct as_peaks_options *options,
                     struct assay_error *err)
{
    const struct as_topology *t = options->topology;
    struct run r = {.options = options, .out = out};
    struct as_clock_anchor begin = as_clock_read_anchor(AS_CLOCK_MONOTONIC);
    int rc = ASSAY_OK;

    *out = (struct as_peaks){.quick = options->quick,
                             .measured_unix_ns = begin.real_ns,
                             .frequency_hz = AS_UNKNOWN,
                             .vector_hz = AS_UNKNOWN};
    out->n_counts = as_peaks_counts(
        options->max_threads ? options->max_threads : as_topology_threads(t), out->threads);
    r.total = VISITS * out->n_counts * (AS_PEAK_TYPE_COUNT + AS_PEAK_LEVEL_COUNT);
    set_places(out, t);
    set_unknown(out);
    out->clock_ns = clock_cost_ns(as_clock_choose(true).kind);
    out->gettime_ns = clock_cost_ns(AS_CLOCK_MONOTONIC);
    for (unsigned i = 0; rc == ASSAY_OK && i < out->n_counts; i++)
        for (r.visit = 0; rc == ASSAY_OK && r.visit < VISITS; r.visit++)
            rc = measure_count(&r, i, err);
    as_free(r.memory);
    out->took_ns = as_clock_mono_ns() - begin.mono_ns;
    return rc;
}
