/* api/manager/manager_read.c - what a manager answers beside its reports, and what it costs itself.
 * Results are borrowed from the profilers; layers are copied. */
#include <math.h>

#include "api/manager/manager_internal.h"
#include "base/units.h"

#define COST_CALLS 512 /* of an empty layer */
#define COST_TRIES 9

int assay_manager_layers(struct assay_manager *manager, size_t top,
                         struct assay_layer_profile **out, struct assay_error *err)
{
    return as_layer_profile_read(manager->layers, top, out, err);
}

int assay_manager_analyze_bottlenecks(struct assay_manager *manager,
                                      const struct assay_bottleneck_result **out,
                                      struct assay_error *err)
{
    int rc;

    pthread_mutex_lock(&manager->lock);
    rc = assay_bottleneck_analyze(manager->bottleneck, out, err);
    pthread_mutex_unlock(&manager->lock);
    return rc;
}

int assay_manager_leak_summary(struct assay_manager *manager, struct assay_leak_summary *out,
                               struct assay_error *err)
{
    int rc;

    pthread_mutex_lock(&manager->lock);
    rc = as_manager_held_tell(&manager->held, manager->leak, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_summary(manager->leak, out, err);
    pthread_mutex_unlock(&manager->lock);
    return rc;
}

int assay_manager_layer_leaks(struct assay_manager *manager, const struct assay_layer_leak **out,
                              struct assay_error *err)
{
    int n;

    pthread_mutex_lock(&manager->lock);
    n = as_manager_held_judge(&manager->held, err);
    *out = manager->held.leak;
    pthread_mutex_unlock(&manager->lock);
    return n;
}

struct assay_distributed *assay_manager_distributed(struct assay_manager *manager)
{
    return manager->distributed;
}

void assay_manager_session(struct assay_manager *manager, struct assay_manager_session *out)
{
    uint32_t threads;
    const uint64_t calls = as_layer_profile_calls(manager->layers, &threads);
    uint64_t lasted_ns;

    pthread_mutex_lock(&manager->lock);
    lasted_ns = manager->lasted_ns;
    if (atomic_load_explicit(&manager->active, memory_order_relaxed))
        lasted_ns += as_clock_mono_ns() - manager->started_ns;
    *out = (struct assay_manager_session){.start_time = manager->start_time,
                                          .end_time = manager->end_time,
                                          .duration_seconds = (double)lasted_ns * 1e-9,
                                          .sessions = manager->sessions,
                                          .calls = calls,
                                          .seconds_per_call = manager->call_ns * 1e-9,
                                          .feeding_seconds = (double)manager->feed_ns * 1e-9,
                                          .feed_failures = manager->feed_failures};
    pthread_mutex_unlock(&manager->lock);
    out->cost_seconds = (double)calls * out->seconds_per_call + out->feeding_seconds;
    out->cost_share = lasted_ns && threads
                          ? out->cost_seconds / (out->duration_seconds * (double)threads)
                          : AS_UNKNOWN;
}

static double time_calls(struct as_layer_profile *p)
{
    const struct as_layer_clock *clock = as_layer_profile_clock(p);
    uint64_t from = as_layer_clock_ticks(clock);

    for (int i = 0; i < COST_CALLS; i++) {
        struct as_layer_opened opened;
        struct as_layer_end how = {.keep = true};
        struct as_layer_call call;
        struct assay_manager_span span = as_layer_profile_begin(p, "empty", &opened);

        if (!span.serial)
            return AS_UNKNOWN;
        *opened.start_ticks = as_layer_clock_ticks(clock);
        how.ticks = as_layer_clock_ticks(clock);
        if (as_layer_profile_end(p, &span, &how, &call, NULL) < 0)
            return AS_UNKNOWN;
    }
    return (double)as_layer_clock_ns(clock, from, as_layer_clock_ticks(clock)) / COST_CALLS;
}

double as_manager_call_cost(void)
{
    const struct as_layer_limits limits = {16, 1024, (size_t)1 << 20};
    struct as_layer_profile *p;
    double least = AS_UNKNOWN;

    if (as_layer_profile_new(&p, &limits, NULL) < 0)
        return least;
    /* The quickest of some: what a busy machine adds is not ours. */
    for (int i = 0; i < COST_TRIES; i++)
        least = fmin(least, time_calls(p));
    as_layer_profile_free(p);
    return least;
}
