/* api/manager/manager.c - one object that holds every profiler: made, switched, started, ended.
 * What happens in a layer is in manager_layer.c and manager_feed.c. */
#include <math.h>
#include <string.h>

#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text/text.h"
#include "base/units.h"
#include "probe/process/memory_sampler.h"

#define MAX_LAYERS        65536u
#define MAX_TIMELINE      10000u
#define MOST_TIMELINE     ((size_t)10000000)
#define MAX_HISTORY_BYTES ((size_t)256 << 20)
#define USAGE_MIN_SECONDS 20e-6

static const char *const profiler_name[] = {
#define X(name, text) [ASSAY_PROFILER_##name] = (text),
    ASSAY_PROFILERS(X)
#undef X
};
_Static_assert(AS_COUNT_OF(profiler_name) == ASSAY_PROFILER_COUNT, "name every profiler");

const char *assay_profiler_name(enum assay_profiler_id id)
{
    return (unsigned)id < ASSAY_PROFILER_COUNT ? profiler_name[id] : NULL;
}

static int find_profiler(const char *name, struct assay_error *err)
{
    const char *near;

    if (!name)
        return as_fail(err, ASSAY_ERR_USAGE, "a profiler needs a name");
    for (int i = 0; i < ASSAY_PROFILER_COUNT; i++) {
        if (strcmp(name, profiler_name[i]) == 0)
            return i;
    }
    near = as_text_nearest(name, profiler_name, ASSAY_PROFILER_COUNT);
    if (near)
        return as_fail(err, ASSAY_ERR_USAGE, "no profiler is called %.40s; did you mean %s?", name,
                       near);
    return as_fail(err, ASSAY_ERR_USAGE,
                   "no profiler is called %.40s: there are layer, memory, leak, bottleneck, "
                   "comparative, distributed and gpu",
                   name);
}

/* Anomalies are watched with the bottlenecks, unless they were asked for. */
static uint32_t with_watch(const struct assay_manager *m, uint32_t on)
{
    on &= ~AS_MANAGER_WATCHED;
    return m->always_watched || (on & AS_MANAGER_BIT(BOTTLENECK)) ? on | AS_MANAGER_WATCHED : on;
}

static int switch_profiler(struct assay_manager *m, const char *name, bool on,
                           struct assay_error *err)
{
    int id = as_manager_check(m, err);
    uint32_t bits;

    if (id == ASSAY_OK)
        id = find_profiler(name, err);
    if (id < 0)
        return id;
    as_manager_lock(m);
    bits = atomic_load_explicit(&m->enabled, memory_order_relaxed);
    bits = on ? bits | 1u << id : bits & ~(1u << id);
    atomic_store_explicit(&m->enabled, with_watch(m, bits), memory_order_relaxed);
    as_manager_unlock(m);
    return ASSAY_OK;
}

int assay_manager_enable(struct assay_manager *manager, const char *name, struct assay_error *err)
{
    return switch_profiler(manager, name, true, err);
}

int assay_manager_disable(struct assay_manager *manager, const char *name, struct assay_error *err)
{
    return switch_profiler(manager, name, false, err);
}

bool assay_manager_is_enabled(const struct assay_manager *manager, const char *name)
{
    int id = find_profiler(name, NULL);

    return manager && id >= 0 &&
           (atomic_load_explicit(&manager->enabled, memory_order_relaxed) >> id & 1u);
}

static int choose_profilers(struct assay_manager *m, const struct assay_manager_options *o,
                            struct assay_error *err)
{
    uint32_t bits = 0;

    if (!o->profilers)
        bits = (1u << ASSAY_PROFILER_COUNT) - 1;
    for (size_t i = 0; o->profilers && i < o->n_profilers; i++) {
        int id = find_profiler(o->profilers[i], err);

        if (id < 0)
            return id;
        bits |= 1u << id;
    }
    m->always_watched = o->anomaly;
    atomic_store_explicit(&m->enabled, with_watch(m, bits), memory_order_relaxed);
    return ASSAY_OK;
}

/* Resident memory belongs to the process; what layers leave behind has a detector of its own, and
 * the program is alerted once. */
static int make_detectors(struct assay_manager *m, const struct assay_leak_detector_options *given,
                          struct assay_error *err)
{
    struct assay_leak_detector_options process, layers;
    int rc = as_sized_take(&process, sizeof process, given, "options of a leak detector", err);

    if (rc < 0)
        return rc;
    layers = process;
    process.process_only = true;
    layers.process_only = false;
    layers.alert = NULL;
    rc = assay_leak_detector_new(&m->leak, &process, err);
    return rc < 0 ? rc : as_manager_held_init(&m->held, &layers, err);
}

static int make_parts(struct assay_manager *m, const struct assay_manager_options *o,
                      struct assay_error *err)
{
    struct as_layer_limits limits = {
        .max_layers = o->max_layers ? o->max_layers : MAX_LAYERS,
        .max_timeline = o->max_timeline ? o->max_timeline : MAX_TIMELINE,
        .max_history_bytes = o->max_history_bytes ? o->max_history_bytes : MAX_HISTORY_BYTES};
    const struct as_memory_profile_options memory = {.interval_us = o->memory_interval_us,
                                                     .sample_us = o->memory_sample_us};
    int rc = as_mark_set_new(&m->marks, err);

    if (rc < 0)
        return rc;
    limits.names = &m->marks->names;
    m->scratch = as_mark_scratch_new();
    rc = m->scratch ? as_layer_profile_new(&m->layers, &limits, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK)
        m->clock = *as_layer_profile_clock(m->layers);
    if (rc == ASSAY_OK)
        rc = as_memory_profile_new(&m->memory, &memory, err);
    if (rc == ASSAY_OK) {
        as_memory_profile_own_faults(m->memory, &m->own, &m->marks->faults);
        rc = make_detectors(m, o->leak, err);
    }
    if (rc == ASSAY_OK)
        rc = assay_bottleneck_analyzer_new(&m->bottleneck, o->bottleneck, err);
    if (rc == ASSAY_OK)
        rc = assay_anomaly_detector_new(&m->anomaly, o->anomaly, err);
    if (rc == ASSAY_OK)
        rc = assay_distributed_new(&m->distributed, o->distributed, err);
    if (rc == ASSAY_OK)
        rc = assay_compare_new(&m->compare, NULL, err);
    return rc;
}

static int read_options(struct assay_manager_options *to, const struct assay_manager_options *from,
                        struct assay_error *err)
{
    int rc = as_sized_take(to, sizeof *to, from, "options of a manager", err);

    if (rc < 0)
        return rc;
    if (to->max_layers > MAX_LAYERS || to->max_timeline > MOST_TIMELINE)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "at most %u layers and 10,000,000 calls of the timeline can be kept",
                       MAX_LAYERS);
    if (to->memory_sample_us &&
        (to->memory_sample_us < AS_SAMPLER_LEAST_US || to->memory_sample_us > AS_SAMPLER_MOST_US))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "memory_sample_us must be 0, or from %d to %d microseconds",
                       AS_SAMPLER_LEAST_US, AS_SAMPLER_MOST_US);
    if (isnan(to->usage_min_seconds))
        return as_fail(err, ASSAY_ERR_USAGE, "usage_min_seconds is not a number");
    return ASSAY_OK;
}

int assay_manager_new(struct assay_manager **out, const struct assay_manager_options *options,
                      struct assay_error *err)
{
    struct assay_manager *m = NULL;
    struct assay_manager_options o;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "no place was given for the new manager");
    *out = NULL;
    rc = read_options(&o, options, err);
    if (rc < 0)
        return rc;
    m = as_alloc_zero(1, sizeof *m);
    if (!m)
        return as_fail_nomem(err);
    if (pthread_mutex_init(&m->lock, NULL) != 0 || pthread_mutex_init(&m->life, NULL) != 0) {
        as_free(m);
        return as_fail_nomem(err);
    }
    m->generation = as_fork_guard_prepare();
    as_memory_reader_init(&m->reader, "");
    m->usage_min_seconds = o.usage_min_seconds == 0 ? USAGE_MIN_SECONDS : o.usage_min_seconds;
    m->memory_interval_ns = o.memory_interval_us * 1000u;
    m->start_time = m->end_time = AS_UNKNOWN;
    m->call_ns = as_manager_call_cost(m->generation);
    atomic_store_explicit(&m->step, ASSAY_UNKNOWN, memory_order_relaxed);
    rc = choose_profilers(m, &o, err);
    if (rc == ASSAY_OK)
        rc = make_parts(m, &o, err);
    if (rc < 0) {
        assay_manager_free(m);
        return rc;
    }
    *out = m;
    return ASSAY_OK;
}

void assay_manager_free(struct assay_manager *manager)
{
    if (as_manager_check(manager, NULL) < 0)
        return; /* in a forked child its locks may be held for good: it stays */
    as_manager_drain_stop(manager);
    for (size_t i = 0; i < manager->n_extensions; i++) {
        const struct as_manager_extension *e = &manager->extension[i];

        if (e->table.destroy)
            e->table.destroy(e->state);
        as_free(e->name);
    }
    assay_compare_free(manager->compare);
    assay_distributed_free(manager->distributed);
    assay_anomaly_detector_free(manager->anomaly);
    as_free(manager->anomaly_list);
    as_free(manager->anomaly_layers);
    assay_bottleneck_analyzer_free(manager->bottleneck);
    as_manager_held_fini(&manager->held);
    assay_leak_detector_free(manager->leak);
    as_memory_profile_free(manager->memory);
    as_memory_reader_fini(&manager->reader);
    as_layer_profile_free(manager->layers);
    as_mark_set_free(manager->marks);
    as_mark_scratch_free(manager->scratch);
    pthread_mutex_destroy(&manager->lock);
    pthread_mutex_destroy(&manager->life);
    as_free(manager);
}

/* Memory that is left for the process, for how long a leak may go on. */
static void tell_capacity(struct assay_manager *m)
{
    uint64_t total = as_memory_read_total(&m->reader), rss = as_memory_read_rss(&m->reader);

    if (total != ASSAY_UNKNOWN && rss != ASSAY_UNKNOWN && total > rss)
        assay_leak_detector_set_headroom(m->leak, (double)(total - rss) / AS_MIB);
}

/* What must be there before the first mark; the lock is held. */
static int prepare(struct assay_manager *m, struct assay_error *err)
{
    const uint32_t on = atomic_load_explicit(&m->enabled, memory_order_relaxed);
    int rc = ASSAY_OK;

    m->day = as_layer_clock_day(&m->clock);
    m->memory_why = NULL;
    (void)as_memory_read_rss(&m->reader); /* opens the file that marks read */
    if (on & AS_MANAGER_BIT(MEMORY))
        rc = as_memory_profile_start(m->memory, err);
    /* A machine that reports nothing of memory is no reason not to profile the rest. */
    if (rc == ASSAY_ERR_UNSUPPORTED) {
        m->memory_why = "the system does not report how much memory the process holds";
        rc = ASSAY_OK;
    }
    if (rc == ASSAY_OK && (on & AS_MANAGER_BIT(LEAK)))
        tell_capacity(m);
    return rc;
}

static void begin_session(struct assay_manager *m)
{
    for (size_t i = 0; i < m->n_extensions; i++) {
        if (m->extension[i].table.start)
            m->extension[i].table.start(m->extension[i].state);
    }
    if (m->sessions++ == 0)
        m->start_time = as_clock_unix_seconds();
    m->end_time = AS_UNKNOWN;
    m->started_ns = as_clock_mono_ns();
    m->started_cpu_ns = as_manager_process_cpu_ns();
    atomic_store_explicit(&m->active, true, memory_order_release);
}

int assay_manager_start(struct assay_manager *manager, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&manager->life);
    as_manager_lock(manager);
    if (atomic_load_explicit(&manager->active, memory_order_relaxed)) {
        rc = as_fail(err, ASSAY_ERR_STATE, "a session is running already: end it first");
        goto out;
    }
    rc = prepare(manager, err);
    if (rc == ASSAY_OK)
        rc = as_manager_drain_start(manager, err);
    if (rc == ASSAY_OK)
        begin_session(manager);
    else
        as_memory_profile_stop(manager->memory);
out:
    as_manager_unlock(manager);
    pthread_mutex_unlock(&manager->life);
    return rc;
}

static void end_session(struct assay_manager *m)
{
    atomic_store_explicit(&m->active, false, memory_order_release);
    m->end_time = as_clock_unix_seconds();
    m->lasted_ns += as_clock_mono_ns() - m->started_ns;
    m->lasted_cpu_ns += as_manager_process_cpu_ns() - m->started_cpu_ns;
    as_memory_profile_stop(m->memory);
}

int assay_manager_end(struct assay_manager *manager, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&manager->life);
    as_manager_lock(manager);
    if (atomic_load_explicit(&manager->active, memory_order_relaxed))
        end_session(manager);
    else
        rc = as_fail(err, ASSAY_ERR_STATE, "no session is running: start one first");
    as_manager_unlock(manager);
    if (rc == ASSAY_OK) {
        as_manager_drain_stop(manager); /* without the lock, which that thread takes */
        as_manager_lock_all(manager);
        rc = (int)as_layer_profile_close(manager->layers);
        atomic_fetch_add_explicit(&manager->marks->session, 1, memory_order_release);
        as_manager_unlock(manager);
    }
    pthread_mutex_unlock(&manager->life);
    return rc;
}

bool assay_manager_is_active(const struct assay_manager *manager)
{
    return manager && as_fork_guard_is_here(manager->generation) &&
           atomic_load_explicit(&manager->active, memory_order_acquire);
}

int assay_manager_reset(struct assay_manager *manager, struct assay_error *err)
{
    int rc = as_manager_check(manager, err);

    if (rc < 0)
        return rc;
    as_manager_lock(manager);
    if (atomic_load_explicit(&manager->active, memory_order_relaxed)) {
        as_manager_unlock(manager);
        return as_fail(err, ASSAY_ERR_STATE, "a session is running: end it before resetting");
    }
    as_layer_profile_reset(manager->layers);
    as_memory_profile_reset(manager->memory);
    assay_leak_detector_reset(manager->leak);
    as_manager_held_reset(&manager->held);
    assay_bottleneck_analyzer_reset(manager->bottleneck);
    assay_anomaly_detector_reset(manager->anomaly);
    assay_distributed_reset(manager->distributed);
    for (size_t i = 0; i < manager->n_extensions; i++) {
        if (manager->extension[i].table.reset)
            manager->extension[i].table.reset(manager->extension[i].state);
    }
    manager->start_time = manager->end_time = AS_UNKNOWN;
    manager->lasted_ns = manager->sessions = manager->feed_failures = 0;
    manager->leak_fed_ticks = 0;
    manager->lasted_cpu_ns = 0;
    as_manager_forget_cost(manager);
    atomic_store_explicit(&manager->step, ASSAY_UNKNOWN, memory_order_relaxed);
    as_manager_unlock(manager);
    return ASSAY_OK;
}
