/* probe/process/memory_sampler.c - a thread that takes a reading again and again, out of step with
 * the rest. */
#include "probe/process/memory_sampler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "stats/describe/rng.h"

/* When reading number `i` is due: within a tenth of its place on either side. */
static uint64_t due_ns(const struct as_memory_sampler *s, struct as_rng *rng, uint64_t i)
{
    uint64_t tenth = s->interval_ns / 10;

    return s->begun_ns + i * s->interval_ns - tenth + as_rng_below(rng, 2 * tenth + 1);
}

/* True when it is to stop. Unlike a sleep, it can be woken. */
static bool wait_until(struct as_memory_sampler *s, uint64_t deadline_ns)
{
    struct timespec at = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    int rc = 0;
    bool stopping;

    pthread_mutex_lock(&s->lock);
    while (!s->stopping && rc == 0)
        rc = pthread_cond_timedwait(&s->wake, &s->lock, &at);
    stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static void *sampler_main(void *user)
{
    struct as_memory_sampler *s = user;
    struct as_rng rng;
    uint64_t i = 0, passed, cpu_ns;

    pthread_setname_np(pthread_self(), s->name ? s->name : "assay-memory");
    as_rng_seed(&rng, s->begun_ns); /* another sequence in every run: that is what it is for */
    do {
        s->take(s->user);
        /* Readings that were slept through, by a stopped process say, are not made up for. */
        passed = (as_clock_mono_ns() - s->begun_ns) / s->interval_ns;
        i = passed > i ? passed + 1 : i + 1;
    } while (!wait_until(s, due_ns(s, &rng, i)));
    if (as_clock_thread_cpu_ns(&cpu_ns))
        s->past_cpu += cpu_ns; /* read after the thread was joined */
    return NULL;
}

static int make_wake(pthread_cond_t *wake)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);

    if (rc != 0)
        return rc;
    rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (rc == 0)
        rc = pthread_cond_init(wake, &attr);
    pthread_condattr_destroy(&attr);
    return rc;
}

/* Signals are the program's: none may land on this thread. */
static int make_thread(struct as_memory_sampler *s)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->thread, NULL, sampler_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int as_memory_sampler_start(struct as_memory_sampler *sampler, uint64_t interval_us,
                            as_sampler_take take, void *user, struct assay_error *err)
{
    int rc;

    if (interval_us < AS_SAMPLER_LEAST_US || interval_us > AS_SAMPLER_MOST_US)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "memory is sampled every %d to %d microseconds, not every %llu",
                       AS_SAMPLER_LEAST_US, AS_SAMPLER_MOST_US, (unsigned long long)interval_us);
    if (as_memory_sampler_runs(sampler))
        return as_fail(err, ASSAY_ERR_STATE, "memory is already being sampled: stop that first");
    sampler->stopping = false;
    sampler->interval_ns = interval_us * 1000;
    sampler->begun_ns = as_clock_mono_ns();
    sampler->take = take;
    sampler->user = user;
    sampler->pid = getpid();
    rc = make_wake(&sampler->wake);
    if (rc != 0 || pthread_mutex_init(&sampler->lock, NULL) != 0)
        return as_fail(err, ASSAY_ERR_NOMEM, "no lock for the thread that samples memory");
    rc = make_thread(sampler);
    sampler->runs = rc == 0;
    if (rc == 0)
        return ASSAY_OK;
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->wake);
    errno = rc;
    return as_fail_sys(err, ASSAY_ERR_NOMEM, "no thread to sample memory with");
}

bool as_memory_sampler_runs(const struct as_memory_sampler *sampler)
{
    return sampler->runs && sampler->pid == getpid();
}

void as_memory_sampler_stop(struct as_memory_sampler *sampler)
{
    if (!sampler->runs)
        return;
    if (sampler->pid == getpid()) { /* a forked child has neither the thread nor a sane lock */
        pthread_mutex_lock(&sampler->lock);
        sampler->stopping = true;
        pthread_cond_signal(&sampler->wake);
        pthread_mutex_unlock(&sampler->lock);
        pthread_join(sampler->thread, NULL);
        pthread_cond_destroy(&sampler->wake);
        pthread_mutex_destroy(&sampler->lock);
        sampler->past_wall += as_clock_mono_ns() - sampler->begun_ns;
    }
    sampler->runs = false;
}

/* From outside, so that the thread need not read its own clock at every reading. */
static uint64_t running_cpu_ns(const struct as_memory_sampler *s)
{
    struct timespec t;
    clockid_t id;

    if (pthread_getcpuclockid(s->thread, &id) != 0 || clock_gettime(id, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool as_memory_sampler_cost(const struct as_memory_sampler *sampler, uint64_t *cpu_ns,
                            uint64_t *wall_ns)
{
    bool runs = as_memory_sampler_runs(sampler);

    *cpu_ns = sampler->past_cpu + (runs ? running_cpu_ns(sampler) : 0);
    *wall_ns = sampler->past_wall + (runs ? as_clock_mono_ns() - sampler->begun_ns : 0);
    return *wall_ns > 0;
}

/* ---- what the trackers of memory and power share ---- */

static char *kept_at(const struct as_kept_samples *kept, size_t i)
{
    return (char *)kept->at + i * kept->bytes;
}

static void thin_out(struct as_kept_samples *kept)
{
    for (size_t i = 1; 2 * i < kept->n; i++)
        memcpy(kept_at(kept, i), kept_at(kept, 2 * i), kept->bytes);
    kept->n = (kept->n + 1) / 2;
    kept->stride *= 2;
}

/* Capacity for one more, doubled as in as_vec_reserve() but never above `most`. */
static bool reserve_sample(struct as_kept_samples *kept)
{
    size_t capacity = kept->capacity ? kept->capacity * 2 : 64;
    void *at;

    if (kept->n < kept->capacity)
        return true;
    capacity = capacity < kept->most ? capacity : kept->most;
    at = as_realloc(kept->at, capacity, kept->bytes);
    if (!at)
        return false;
    kept->at = at;
    kept->capacity = capacity;
    return true;
}

bool as_kept_samples_offer(struct as_kept_samples *kept, uint64_t number, const void *sample)
{
    if (number % kept->stride != 0)
        return true;
    if (kept->n == kept->most)
        thin_out(kept);
    if (number % kept->stride != 0 || kept->n == kept->most)
        return true;
    if (!reserve_sample(kept))
        return false;
    memcpy(kept_at(kept, kept->n++), sample, kept->bytes);
    return true;
}

size_t as_kept_samples_copy(const struct as_kept_samples *kept, void *out, size_t capacity)
{
    if (out && capacity && kept->n)
        memcpy(out, kept->at, (kept->n < capacity ? kept->n : capacity) * kept->bytes);
    return kept->n;
}

bool as_tracker_lock_init(struct as_tracker_lock *lock)
{
    lock->pid = getpid();
    return pthread_mutex_init(&lock->mutex, NULL) == 0;
}

void as_tracker_lock_fini(struct as_tracker_lock *lock)
{
    if (lock->pid == getpid())
        pthread_mutex_destroy(&lock->mutex);
}

void as_tracker_enter(struct as_tracker_lock *lock, struct as_memory_sampler *sampler)
{
    if (lock->pid != getpid()) {
        (void)as_tracker_lock_init(lock);
        as_memory_sampler_stop(sampler);
    }
    pthread_mutex_lock(&lock->mutex);
}

void as_tracker_leave(struct as_tracker_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}
