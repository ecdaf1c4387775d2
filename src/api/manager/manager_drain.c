/* api/manager/manager_drain.c - takes what the lanes of a manager hold and hands it to its
 * profilers: a thread while a session runs, and every call that reads results. */
#include <sys/resource.h>

#include "api/manager/manager_internal.h"
#include "base/units.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

#define POLL_NS    200000000u  /* how late a profiler hears of a call, at most */
#define IDLE_NS    1000000000u /* the same when nothing happened for a while */
#define IDLE_POLLS 10u

/* The lock is held. */
static size_t take(struct assay_manager *m)
{
    uint64_t from = 0, to = 0;
    const bool timed = as_clock_thread_cpu_ns(&from);
    size_t n;

    as_memory_profile_refresh(m->memory);
    n = as_mark_take(m->marks, m->scratch, as_manager_feed, m);
    if (timed && as_clock_thread_cpu_ns(&to) && n)
        atomic_fetch_add_explicit(&m->feeding_ns, to - from, memory_order_relaxed);
    return n;
}

void as_manager_lock(struct assay_manager *m)
{
    pthread_mutex_lock(&m->lock);
    take(m);
}

void as_manager_unlock(struct assay_manager *m)
{
    pthread_mutex_unlock(&m->lock);
}

/* What this thread takes for itself is in no layer's count. */
static void tell_own_faults(struct assay_manager *m)
{
    struct rusage r;

    if (getrusage(RUSAGE_THREAD, &r) == 0)
        as_memory_profile_own_faults(m->memory, (uint64_t)r.ru_minflt, (uint64_t)r.ru_majflt);
}

static void *drain(void *arg)
{
    struct assay_manager *m = arg;
    unsigned idle = 0;

    (void)pthread_setname_np(pthread_self(), "assay-manager");
    while (!atomic_load_explicit(&m->stop, memory_order_acquire)) {
        const uint32_t seen = atomic_load_explicit(&m->marks->wake, memory_order_acquire);
        uint64_t sleep_ns = POLL_NS;
        size_t n;

        pthread_mutex_lock(&m->lock);
        n = take(m);
        idle = n ? 0 : idle + 1;
        if (m->marks->has_hole)
            sleep_ns = AS_MARK_HOLE_NS;
        else if (idle > IDLE_POLLS)
            sleep_ns = IDLE_NS;
        pthread_mutex_unlock(&m->lock);
        tell_own_faults(m);
        if (!atomic_load_explicit(&m->stop, memory_order_acquire))
            as_futex_wait(&m->marks->wake, seen, sleep_ns);
    }
    return NULL;
}

int as_manager_drain_start(struct assay_manager *m, struct assay_error *err)
{
    sigset_t saved;

    atomic_store_explicit(&m->stop, false, memory_order_relaxed);
    as_signals_block(&saved); /* inherited: the program's signals are never delivered there */
    m->drains = pthread_create(&m->drainer, NULL, drain, m) == 0;
    as_signals_restore(&saved);
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
