/* measure/peaks/peak_team.c - threads that do the same thing at the same moment, several times.
 * Each is bound to a processor of its own where that is allowed. */
#include "measure/peaks/peak_kernels.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "stats/describe/sorted.h"

#define SPINS 20000 /* before a waiting thread lets others run: somebody may need its processor */

/* Shared by all threads of a team. */
struct team {
    const struct as_team_job *job;
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint generation;
    atomic_bool stop;      /* set by the last to arrive, read by all after the barrier */
    atomic_bool dissolved; /* not all threads could be started */
    uint64_t deadline_ns;  /* 0 until the first trial begins */
    unsigned n_trials;     /* done, as the last to arrive counts them */
    uint64_t *begin, *end; /* [trial * n_threads + member] */
};

struct member {
    struct team *team;
    unsigned number;
    pthread_t thread;
};

/* Only the last to arrive runs this, while the others wait. */
static void between_trials(struct team *t)
{
    uint64_t now = as_clock_mono_ns();

    if (t->deadline_ns == 0)
        t->deadline_ns = now + t->job->budget_ns;
    else
        t->n_trials++;
    if (t->n_trials >= t->job->max_trials ||
        (t->n_trials >= t->job->min_trials && now >= t->deadline_ns))
        atomic_store_explicit(&t->stop, true, memory_order_relaxed);
}

/* Waits for all, and returns false when there is nothing more to do. */
static bool meet(struct team *t)
{
    unsigned generation = atomic_load_explicit(&t->generation, memory_order_acquire);
    unsigned n = atomic_fetch_add_explicit(&t->arrived, 1, memory_order_acq_rel) + 1;

    if (n == t->job->n_threads) {
        between_trials(t);
        atomic_store_explicit(&t->arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&t->generation, 1, memory_order_release);
    } else {
        for (unsigned spins = 0;
             atomic_load_explicit(&t->generation, memory_order_acquire) == generation; spins++) {
            if (spins < SPINS)
                continue;
            if (atomic_load_explicit(&t->dissolved, memory_order_relaxed))
                return false;
            sched_yield();
        }
    }
    return !atomic_load_explicit(&t->stop, memory_order_relaxed);
}

/* Not being allowed to is no failure: the kernel then places the thread. */
static void bind_to(const struct as_topology *topology, unsigned number)
{
    cpu_set_t set[AS_CPU_SETS] = {0};
    int cpu = as_topology_cpu_at(topology, number % topology->n_usable);

    if (cpu < 0)
        return;
    CPU_SET_S((size_t)cpu, sizeof set, set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, set);
}

static void *work(void *arg)
{
    struct member *m = arg;
    struct team *t = m->team;
    const struct as_team_job *job = t->job;

    bind_to(job->topology, m->number);
    if (job->prepare)
        job->prepare(job->user, m->number);
    for (size_t at = m->number; meet(t); at += job->n_threads) {
        t->begin[at] = as_clock_mono_ns();
        job->trial(job->user, m->number);
        t->end[at] = as_clock_mono_ns();
    }
    return NULL;
}

static uint64_t span_of(const struct team *t, size_t trial)
{
    size_t n = t->job->n_threads;
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = trial * n; i < (trial + 1) * n; i++) {
        first = t->begin[i] < first ? t->begin[i] : first;
        last = t->end[i] > last ? t->end[i] : last;
    }
    return last - first;
}

static void sum_up(struct as_team_result *out, const struct team *t)
{
    uint64_t spans[AS_TEAM_MAX_TRIALS], scratch[AS_TEAM_MAX_TRIALS];
    struct as_sorted sorted;

    for (size_t i = 0; i < t->n_trials; i++)
        spans[i] = span_of(t, i);
    as_sort_u64(spans, t->n_trials, scratch);
    sorted = as_sorted_u64(spans, t->n_trials);
    /* A clock too coarse to see a trial must not make it infinitely fast. */
    out->n_trials = t->n_trials;
    out->best_ns = spans[0] ? (double)spans[0] : 1;
    out->median_ns = fmax(out->best_ns, as_sorted_median(&sorted));
}

int as_team_run(struct as_team_result *out, const struct as_team_job *job, struct assay_error *err)
{
    struct team team = {.job = job};
    size_t n_times = (size_t)job->n_threads * job->max_trials;
    struct member *members = as_alloc_zero(job->n_threads, sizeof *members);
    unsigned n_started = 0;
    int rc = ASSAY_OK;

    team.begin = as_alloc_zero(n_times, sizeof *team.begin);
    team.end = as_alloc_zero(n_times, sizeof *team.end);
    if (!members || !team.begin || !team.end) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (; n_started < job->n_threads; n_started++) {
        members[n_started] = (struct member){.team = &team, .number = n_started};
        if (pthread_create(&members[n_started].thread, NULL, work, &members[n_started]) != 0)
            break;
    }
    if (n_started < job->n_threads) {
        atomic_store_explicit(&team.dissolved, true, memory_order_relaxed);
        rc = as_fail(err, ASSAY_ERR_LIMIT, "cannot start %u threads: the system allows %u",
                     job->n_threads, n_started);
    }
    for (unsigned i = 0; i < n_started; i++)
        (void)pthread_join(members[i].thread, NULL);
    if (rc == ASSAY_OK)
        sum_up(out, &team);
out:
    as_free(team.end);
    as_free(team.begin);
    as_free(members);
    return rc;
}
