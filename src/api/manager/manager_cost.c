/* api/manager/manager_cost.c - what a manager costs the program: the time of its marks, without
 * those moments in which another program had the CPU, and the time that threads wait for its lock.
 */
#include <time.h>

#include "api/manager/manager_internal.h"

#define MARKS_SETTLED 32u      /* marks before the usual length is known */
#define MARK_LONG     8u       /* longer than this many usual ones, ... */
#define MARK_OURS_NS  1000000u /* ... and than our longest analysis: the thread was preempted */
#define BARE_OURS_NS  10000u   /* likewise where nothing is analyzed */
#define BARE_MARKS    16u      /* one in so many is measured where no profiler is fed */

static __thread uint64_t waited_ns; /* by this thread for the lock of any manager */

uint64_t as_manager_process_cpu_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct as_mark_cost as_mark_cost_begin(uint32_t *turn, bool fed, const struct as_layer_clock *clock)
{
    struct as_mark_cost cost = {.weight = fed ? 1 : (*turn)++ % BARE_MARKS == 0 ? BARE_MARKS : 0};

    if (cost.weight) {
        cost.from_ticks = as_layer_clock_ticks(clock);
        cost.waited_ns = waited_ns;
    }
    return cost;
}

void as_mark_cost_end(struct assay_manager *m, const struct as_mark_cost *cost, uint64_t ticks)
{
    uint64_t ns = as_layer_clock_ns(as_layer_profile_clock(m->layers), cost->from_ticks, ticks);
    const uint64_t waited = waited_ns - cost->waited_ns;
    const uint64_t n = atomic_fetch_add_explicit(&m->n_marks, cost->weight, memory_order_relaxed);
    const uint64_t least = cost->weight == 1 ? MARK_OURS_NS : BARE_OURS_NS;
    uint64_t most = n ? atomic_load_explicit(&m->cost_cpu_ns, memory_order_relaxed) / n : 0;

    most = MARK_LONG * most > least ? MARK_LONG * most : least;
    ns = ns > waited ? ns - waited : 0;
    if (n >= MARKS_SETTLED && ns > most)
        ns = most;
    atomic_fetch_add_explicit(&m->cost_cpu_ns, ns * cost->weight, memory_order_relaxed);
}

void as_manager_lock(struct assay_manager *m)
{
    uint64_t from, ns;

    as_mark_block();
    if (pthread_mutex_trylock(&m->lock) == 0)
        return;
    from = as_clock_mono_ns();
    pthread_mutex_lock(&m->lock);
    ns = as_clock_mono_ns() - from;
    waited_ns += ns;
    atomic_fetch_add_explicit(&m->wait_ns, ns, memory_order_relaxed);
}

void as_manager_unlock(struct assay_manager *m)
{
    pthread_mutex_unlock(&m->lock);
    as_mark_leave();
}

int as_manager_check(const struct assay_manager *m, struct assay_error *err)
{
    if (!m)
        return as_fail(err, ASSAY_ERR_USAGE, "no manager was given");
    if (!as_mark_is_here(m->generation))
        return as_fail(err, ASSAY_ERR_STATE,
                       "the manager belongs to the process that created it: a forked child records "
                       "nothing and creates a manager of its own");
    return ASSAY_OK;
}
