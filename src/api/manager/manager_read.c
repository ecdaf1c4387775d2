/* api/manager/manager_read.c - what a manager answers beside its reports, and what it costs itself.
 * Results are borrowed from the profilers; layers are copied. */
#include <math.h>

#include "api/manager/manager_internal.h"
#include "base/units.h"

/* What did not reach the lanes. */
static void count_lost(const struct as_mark_set *set, struct assay_layer_profile *to)
{
    const uint32_t n = atomic_load_explicit(&set->n_threads, memory_order_acquire);

    to->calls_too_deep += atomic_load_explicit(&set->homeless, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        struct as_mark_thread *t = set->thread[i];

        to->calls_too_deep += atomic_load_explicit(&t->too_deep, memory_order_relaxed);
        to->calls_dropped += atomic_load_explicit(&t->dropped, memory_order_relaxed);
        to->metadata_dropped += atomic_load_explicit(&t->pairs_dropped, memory_order_relaxed);
    }
}

int assay_manager_layers(struct assay_manager *manager, size_t top,
                         struct assay_layer_profile **out, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (out)
        *out = NULL;
    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the layers");
    as_manager_lock(manager);
    rc = as_layer_profile_read(manager->layers, top, out, err);
    if (rc == ASSAY_OK)
        count_lost(manager->marks, *out);
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_analyze_bottlenecks(struct assay_manager *manager,
                                      const struct assay_bottleneck_result **out,
                                      struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the bottlenecks");
    as_manager_lock(manager);
    rc = assay_bottleneck_analyzer_analyze(manager->bottleneck, out, err);
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_leak_summary(struct assay_manager *manager, struct assay_leak_summary *out,
                               struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the summary of leaks");
    as_manager_lock(manager);
    rc = as_manager_held_tell(&manager->held, manager->leak, err);
    if (rc == ASSAY_OK)
        rc = assay_leak_detector_summary(manager->leak, out, err);
    as_manager_unlock(manager);
    return rc;
}

int assay_manager_layer_leaks(struct assay_manager *manager, const struct assay_layer_leak **out,
                              struct assay_error *err)
{
    int n = as_manager_check(manager, err);

    if (n < 0)
        return n;
    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the list of leaks");
    as_manager_lock(manager);
    n = as_manager_held_judge(&manager->held, err);
    *out = manager->held.leak;
    as_manager_unlock(manager);
    return n;
}

struct assay_distributed *assay_manager_distributed(struct assay_manager *manager)
{
    return manager ? manager->distributed : NULL;
}

void assay_manager_read_session(struct assay_manager *manager, struct assay_manager_session *out)
{
    uint64_t calls, lasted_ns, cpu_ns;

    if (!out)
        return;
    *out = (struct assay_manager_session){.size = sizeof(struct assay_manager_session),
                                          .start_time_seconds = AS_UNKNOWN,
                                          .end_time_seconds = AS_UNKNOWN,
                                          .duration_seconds = AS_UNKNOWN,
                                          .seconds_per_call = AS_UNKNOWN,
                                          .feeding_seconds = AS_UNKNOWN,
                                          .wait_seconds = AS_UNKNOWN,
                                          .cpu_seconds = AS_UNKNOWN,
                                          .cost_seconds = AS_UNKNOWN,
                                          .cost_share = AS_UNKNOWN};
    if (as_manager_check(manager, NULL) < 0)
        return;
    as_manager_lock(manager);
    calls = as_layer_profile_calls(manager->layers);
    lasted_ns = manager->lasted_ns;
    cpu_ns = manager->lasted_cpu_ns;
    if (atomic_load_explicit(&manager->active, memory_order_relaxed)) {
        lasted_ns += as_clock_mono_ns() - manager->started_ns;
        cpu_ns += as_manager_process_cpu_ns() - manager->started_cpu_ns;
    }
    *out = (struct assay_manager_session){.size = sizeof(struct assay_manager_session),
                                          .start_time_seconds = manager->start_time,
                                          .end_time_seconds = manager->end_time,
                                          .duration_seconds = (double)lasted_ns / 1e9,
                                          .sessions = manager->sessions,
                                          .calls = calls,
                                          .seconds_per_call = manager->call_ns / 1e9,
                                          .feeding_seconds = (double)manager->feeding_ns / 1e9,
                                          .wait_seconds = (double)manager->marks->wait_ns / 1e9,
                                          .cost_seconds = (double)manager->cost_ns / 1e9,
                                          .cpu_seconds = (double)cpu_ns / 1e9,
                                          .feed_failures = manager->feed_failures};
    as_manager_unlock(manager);
    /* An estimate may exceed the whole by a little. */
    /* Marks cost no less than empty ones do, which are timed as a whole. */
    out->cost_seconds = fmax(out->cost_seconds, out->seconds_per_call * (double)out->calls);
    out->cost_seconds =
        fmin(out->cost_seconds + out->feeding_seconds, out->cpu_seconds) + out->wait_seconds;
    out->cost_share =
        cpu_ns && calls ? out->cost_seconds / (out->cpu_seconds + out->wait_seconds) : AS_UNKNOWN;
}
