/* api/manager/manager_cost.c - what a manager costs the program: the time of its marks, without
 * those moments in which another program had the CPU; that of its own thread is measured there. */
#include <math.h>
#include <time.h>

#include "api/manager/manager_internal.h"
#include "base/units.h"

#define MARKS_SETTLED 32u     /* marks before the usual length is known */
#define MARK_LONG     8u      /* longer than this many usual ones, ... */
#define MARK_OURS_NS  100000u /* ... and than our longest samples: the thread was preempted */
#define BARE_OURS_NS  10000u  /* likewise where nothing is read */
#define FIRST_OURS_NS 500000u /* likewise of the first, which make a lane */
#define FED_MARKS     5u  /* one in so many is measured where profilers are fed; odd, since ... */
#define BARE_MARKS    17u /* ... begins and ends alternate; and where none is */

#define COST_CALLS 512 /* of an empty layer */
#define COST_TRIES 9

uint64_t as_manager_process_cpu_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct as_mark_cost as_mark_cost_begin(const struct assay_manager *m, struct as_mark_thread *t,
                                       bool fed)
{
    const uint32_t every = fed ? FED_MARKS : BARE_MARKS;
    struct as_mark_cost cost = {.weight = t->n_marks++ % every == 0 ? every : 0};

    if (fed || cost.weight)
        cost.from_ticks = as_layer_clock_ticks(&m->clock);
    cost.waited_ns = as_mark_waited_ns;
    return cost;
}

void as_mark_cost_end(struct assay_manager *m, const struct as_mark_cost *cost, uint64_t ticks)
{
    uint64_t ns = as_layer_clock_ns(&m->clock, cost->from_ticks, ticks);
    const uint64_t waited = as_mark_waited_ns - cost->waited_ns;
    const uint64_t n = atomic_fetch_add_explicit(&m->n_marks, cost->weight, memory_order_relaxed);
    const uint64_t least = n < MARKS_SETTLED           ? FIRST_OURS_NS
                           : cost->weight == FED_MARKS ? MARK_OURS_NS
                                                       : BARE_OURS_NS;
    uint64_t most = n ? atomic_load_explicit(&m->cost_ns, memory_order_relaxed) / n : 0;

    most = MARK_LONG * most > least ? MARK_LONG * most : least;
    ns = ns > waited ? ns - waited : 0;
    ns = ns < most ? ns : most;
    atomic_fetch_add_explicit(&m->cost_ns, ns * cost->weight, memory_order_relaxed);
}

void as_manager_forget_cost(struct assay_manager *m)
{
    struct as_mark_set *set = m->marks;
    const uint32_t n = atomic_load_explicit(&set->n_threads, memory_order_acquire);

    atomic_store_explicit(&m->n_marks, 0, memory_order_relaxed);
    atomic_store_explicit(&m->cost_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&m->feeding_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&set->wait_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&set->homeless, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        atomic_store_explicit(&set->thread[i]->too_deep, 0, memory_order_relaxed);
        atomic_store_explicit(&set->thread[i]->dropped, 0, memory_order_relaxed);
        atomic_store_explicit(&set->thread[i]->pairs_dropped, 0, memory_order_relaxed);
    }
}

int as_manager_check(const struct assay_manager *m, struct assay_error *err)
{
    if (!m)
        return as_fail(err, ASSAY_ERR_USAGE, "no manager was given");
    if (!as_fork_guard_is_here(m->generation))
        return as_fail(err, ASSAY_ERR_STATE,
                       "the manager belongs to the process that created it: a forked child records "
                       "nothing and creates a manager of its own");
    return ASSAY_OK;
}

/* Begin and end of an empty layer. */
static double time_calls(struct assay_manager *m)
{
    const uint64_t from = as_layer_clock_ticks(&m->clock);

    for (int i = 0; i < COST_CALLS; i++) {
        const struct assay_manager_span span = assay_manager_layer_begin(m, "(empty)");

        (void)assay_manager_layer_end(m, &span, NULL, 0, NULL);
    }
    return (double)as_layer_clock_ns(&m->clock, from, as_layer_clock_ticks(&m->clock)) / COST_CALLS;
}

static void ignore(void *user, struct as_mark_thread *t, const struct as_mark_unit *unit)
{
    (void)user, (void)t, (void)unit;
}

/* As much of a manager as marks need. */
double as_manager_call_cost(uint64_t generation)
{
    struct assay_manager m = {.generation = generation,
                              .enabled = AS_MANAGER_BIT(LAYER),
                              .active = true,
                              .scratch = as_mark_scratch_new()};
    double least = AS_UNKNOWN;

    as_layer_clock_init(&m.clock);
    if (m.scratch && as_mark_set_new(&m.marks, NULL) == ASSAY_OK) {
        /* The quickest of some: what a busy machine adds is not ours. */
        for (int i = 0; i < COST_TRIES; i++) {
            least = fmin(least, time_calls(&m));
            (void)as_mark_take(m.marks, m.scratch, UINT64_MAX, ignore, NULL);
        }
    }
    as_mark_set_free(m.marks);
    as_mark_scratch_free(m.scratch);
    return least;
}
