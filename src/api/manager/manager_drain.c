/* api/manager/manager_drain.c - takes what the lanes of a manager hold and hands it to its
 * profilers: a thread while a session runs, and every call that reads results. */
#include <sys/resource.h>
#include <time.h>

#include "api/manager/manager_internal.h"
#include "base/units.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

#define POLL_NS    200000000u /* how late a profiler hears of a call, at most */
#define SETTLED_NS 50000000u  /* threads that were preempted in a mark have ended it by then */
#define WAITS      50u        /* for marks that are being made, of ... */
#define WAIT_NS    1000000

/* Takes what is older than that; the lock is held. */
static void take(struct assay_manager *m, uint64_t age_ns)
{
    const uint64_t ticks = (uint64_t)((double)age_ns / m->clock.ns_a_tick);
    const uint64_t until = age_ns ? as_layer_clock_ticks(&m->clock) - ticks : UINT64_MAX;
    uint64_t from = 0, to = 0;
    const bool timed = as_clock_thread_cpu_ns(&from);
    size_t n;

    as_memory_profile_refresh(m->memory);
    if (atomic_exchange_explicit(&m->unread, false, memory_order_relaxed))
        (void)as_memory_read_rss(&m->reader);
    n = as_mark_take(m->marks, m->scratch, until, as_manager_feed, m);
    if (timed && as_clock_thread_cpu_ns(&to) && n)
        atomic_fetch_add_explicit(&m->feeding_ns, to - from, memory_order_relaxed);
}

void as_manager_lock(struct assay_manager *m)
{
    pthread_mutex_lock(&m->lock);
    take(m, 0);
}

void as_manager_lock_all(struct assay_manager *m)
{
    const struct timespec nap = {0, WAIT_NS};

    as_manager_lock(m);
    for (unsigned i = 0; i < WAITS && m->marks->has_hole; i++) {
        as_manager_unlock(m);
        (void)nanosleep(&nap, NULL);
        as_manager_lock(m);
    }
}

void as_manager_unlock(struct assay_manager *m)
{
    pthread_mutex_unlock(&m->lock);
}

/* What this thread takes is in no layer's count; the lock is held. */
static void publish_own_faults(struct assay_manager *m)
{
    struct rusage now;

    if (getrusage(RUSAGE_THREAD, &now) != 0)
        return;
    atomic_store_explicit(&m->own.minor, m->own_minor_before + (uint64_t)now.ru_minflt,
                          memory_order_relaxed);
    atomic_store_explicit(&m->own.major, m->own_major_before + (uint64_t)now.ru_majflt,
                          memory_order_relaxed);
}

static void *drain(void *arg)
{
    struct assay_manager *m = arg;

    (void)pthread_setname_np(pthread_self(), "assay-manager");
    while (!atomic_load_explicit(&m->stop, memory_order_acquire)) {
        const uint32_t seen = atomic_load_explicit(&m->marks->wake, memory_order_acquire);
        uint64_t sleep_ns = POLL_NS;

        pthread_mutex_lock(&m->lock);
        take(m, as_mark_is_urgent(m->marks) ? 0 : SETTLED_NS);
        publish_own_faults(m);
        if (m->marks->has_hole)
            sleep_ns = AS_MARK_HOLE_NS;
        pthread_mutex_unlock(&m->lock);
        if (as_guest_program_has_ended()) { /* it ends with its last thread: this one */
            atomic_fetch_sub(&as_own_threads, 1);
            return NULL;
        }
        if (!atomic_load_explicit(&m->stop, memory_order_acquire))
            as_futex_wait(&m->marks->wake, seen, sleep_ns);
    }
    pthread_mutex_lock(&m->lock);
    publish_own_faults(m);
    m->own_minor_before = atomic_load_explicit(&m->own.minor, memory_order_relaxed);
    m->own_major_before = atomic_load_explicit(&m->own.major, memory_order_relaxed);
    pthread_mutex_unlock(&m->lock);
    atomic_fetch_sub(&as_own_threads, 1);
    return NULL;
}

int as_manager_drain_start(struct assay_manager *m, struct assay_error *err)
{
    struct as_held saved;

    atomic_store_explicit(&m->stop, false, memory_order_relaxed);
    as_signals_block(&saved); /* inherited: the program's signals are never delivered there */
    m->drains = pthread_create(&m->drainer, NULL, drain, m) == 0;
    as_signals_restore(&saved);
    atomic_fetch_add(&as_own_threads, m->drains);
    return m->drains ? ASSAY_OK
                     : as_fail(err, ASSAY_ERR_NOMEM, "the manager cannot start its thread");
}

void as_manager_drain_stop(struct assay_manager *m)
{
    if (!m->drains)
        return;
    atomic_store_explicit(&m->stop, true, memory_order_release);
    atomic_fetch_add_explicit(&m->marks->wake, 1, memory_order_release);
    as_futex_wake(&m->marks->wake);
    pthread_join(m->drainer, NULL);
    m->drains = false;
}

int assay_manager_flush(struct assay_manager *manager, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    as_manager_unlock(manager);
    return ASSAY_OK;
}
