/* api/manager/manager_feed.c - hands every call to the profilers that are on, in one order: memory,
 * leaks, bottlenecks, anomalies, extensions. What that takes is measured and is no layer's time. */
#include <assay/session.h>
#include <math.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/json/json_writer.h"
#include "base/units.h"

#define FEED_SETTLED 32u /* feeds before the usual length is known */
#define FEED_LONG    8u
#define FEED_OURS_NS 1000000u /* a turn of another program is longer */
#define UNREAD_SHARE 20u      /* a 20th of a layer's own time may be of others unread */

/* Adds what feeding took, and returns it. A thread may lose its processor meanwhile, and that is
 * not our cost: one that took far longer than they usually do counts as long. Needs no lock, which
 * might let a layer sleep that has begun. */
static uint64_t count_feed(struct assay_manager *m, uint64_t from)
{
    const struct as_layer_clock *clock = as_layer_profile_clock(m->layers);
    uint64_t ns = as_layer_clock_ns(clock, from, as_layer_clock_ticks(clock));
    uint64_t feeds = atomic_load_explicit(&m->feeds, memory_order_relaxed);
    uint64_t all_ns = atomic_load_explicit(&m->feed_ns, memory_order_relaxed);
    uint64_t most = feeds >= FEED_SETTLED ? FEED_LONG * (all_ns / feeds) : ns;

    /* Judging a series of memory takes longer than most feeds, and is ours. */
    most = most > FEED_OURS_NS ? most : FEED_OURS_NS;

    atomic_fetch_add_explicit(&m->feeds, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->feed_ns, ns < most ? ns : most, memory_order_relaxed);
    return ns;
}

/* Two calls of the kernel would weigh on a layer that takes no longer than they. */
static bool wants_usage(const struct assay_manager *m, uint32_t on,
                        const struct as_layer_opened *opened)
{
    return (on & AS_MANAGER_BIT(BOTTLENECK)) && m->usage_min_seconds >= 0 &&
           !as_layer_profile_is_short(m->layers, opened, m->usage_min_seconds);
}

void as_manager_before(struct assay_manager *m, uint32_t on, const struct as_layer_opened *opened)
{
    struct as_layer_note *note = opened->note;
    uint64_t from = as_layer_clock_ticks(as_layer_profile_clock(m->layers));
    const bool usage = wants_usage(m, on, opened);
    uint64_t rss = ASSAY_MEMORY_UNKNOWN;

    if (usage && opened->outer && opened->outer->usage_known)
        note->entered_known = as_layer_usage_read(&note->entered);
    as_manager_lock(m);
    if (on & AS_MANAGER_BIT(MEMORY)) {
        note->memory_begun = true;
        if (as_memory_profile_begin_layer(m->memory, &note->memory, NULL) == 0)
            rss = note->memory.before.rss_bytes;
    }
    if ((on & AS_MANAGER_BIT(LEAK)) && rss == ASSAY_MEMORY_UNKNOWN &&
        !atomic_load_explicit(&m->held.heap, memory_order_relaxed))
        rss = as_memory_read_rss(&m->reader);
    as_manager_unlock(m);
    /* What we took for ourselves is not the layer's. */
    if (on & AS_MANAGER_BIT(LEAK)) {
        note->held_bytes = as_manager_held_heap(&m->held);
        note->held_heap = note->held_bytes != ASSAY_MEMORY_UNKNOWN;
        if (!note->held_heap)
            note->held_bytes = rss;
        note->held_known = note->held_bytes != ASSAY_MEMORY_UNKNOWN;
    }
    if (usage) {
        note->inner = (struct as_layer_usage){0};
        note->usage_known = as_layer_usage_read(&note->usage);
    }
    *opened->before_ns = count_feed(m, from);
}

/* ---- what a program tells of a call, as metrics ---- */

static const struct {
    const char *key;
    size_t at;
} metric[] = {
    {"memory_usage", offsetof(struct assay_layer_metrics, memory_usage_mb)},
    {"io_operations", offsetof(struct assay_layer_metrics, io_operations)},
    {"gpu_utilization", offsetof(struct assay_layer_metrics, gpu_utilization_percent)},
    {"flops", offsetof(struct assay_layer_metrics, flops)},
    {"bytes", offsetof(struct assay_layer_metrics, bytes)},
};

static void read_metrics(struct assay_layer_metrics *out, const struct as_layer_end *how)
{
    for (size_t i = 0; i < how->n_metadata; i++) {
        const struct assay_metadata *pair = &how->metadata[i];

        for (size_t k = 0; pair->key && !pair->text && k < AS_COUNT_OF(metric); k++) {
            if (strcmp(pair->key, metric[k].key) == 0)
                memcpy((char *)out + metric[k].at, &pair->number, sizeof pair->number);
        }
    }
}

/* ---- one profiler after the other, with the lock held ---- */

static void note_failure(struct assay_manager *m, int rc)
{
    m->feed_failures += rc < 0;
}

/* Facts of a call as one JSON value, for the snapshot it belongs to; NULL: there are none. */
static const char *metadata_json(struct as_out *out, const struct as_layer_end *how)
{
    struct as_json_writer w;
    size_t size;

    if (!how->n_metadata || as_out_memory(out, NULL) < 0)
        return NULL;
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    for (size_t i = 0; i < how->n_metadata && i < AS_LAYER_MAX_PAIRS; i++) {
        const struct assay_metadata *pair = &how->metadata[i];
        bool again = !pair->key;

        for (size_t k = i + 1; !again && k < how->n_metadata && k < AS_LAYER_MAX_PAIRS; k++)
            again = how->metadata[k].key && strcmp(pair->key, how->metadata[k].key) == 0;
        if (again)
            continue;
        as_json_key(&w, pair->key);
        if (pair->text)
            as_json_text(&w, pair->text);
        else
            as_json_f64(&w, pair->number);
    }
    as_json_object_end(&w);
    return as_json_writer_finish(&w, NULL) == 0 ? as_out_get(out, &size) : NULL;
}

/* Resident memory at the end of the call, where the memory profiler read it. */
static uint64_t feed_memory(struct assay_manager *m, uint32_t on, const struct as_layer_end *how,
                            const struct as_layer_call *call)
{
    struct as_memory_layer_reading reading;
    struct as_out out = {0};
    int rc;

    if (!call->note->memory_begun)
        return ASSAY_MEMORY_UNKNOWN;
    if (!(on & AS_MANAGER_BIT(MEMORY))) {
        as_memory_profile_cancel_layer(m->memory, &call->note->memory);
        return ASSAY_MEMORY_UNKNOWN;
    }
    rc = as_memory_profile_end_layer(m->memory, &call->note->memory, call->name->text,
                                     as_manager_seconds(m, call->end_ticks),
                                     metadata_json(&out, how), &reading, NULL);
    as_out_drop(&out);
    note_failure(m, rc);
    return rc < 0 ? ASSAY_MEMORY_UNKNOWN : reading.rss_after_bytes;
}

/* Resident memory without what we hold ourselves. */
static double process_mb(uint64_t rss)
{
    return fmax((double)rss - (double)as_alloc_live_bytes(), 0) / AS_MIB;
}

/* Returns what the call left behind, layers inside it included. */
static int64_t feed_leak(struct assay_manager *m, const struct as_layer_call *call, uint64_t rss,
                         uint64_t held)
{
    const struct as_layer_note *note = call->note;
    const double timestamp = as_manager_seconds(m, call->end_ticks);
    const uint64_t step = atomic_load_explicit(&m->step, memory_order_relaxed);
    const bool heap = held != ASSAY_MEMORY_UNKNOWN;
    uint64_t now_ns = as_clock_mono_ns();
    int64_t left;

    if (rss != ASSAY_MEMORY_UNKNOWN &&
        (m->leak_fed_ns == 0 || now_ns - m->leak_fed_ns >= m->memory_interval_ns)) {
        m->leak_fed_ns = now_ns;
        note_failure(m, assay_leak_detector_add(m->leak, call->name->text, process_mb(rss), step,
                                                timestamp, NULL));
        if (heap)
            note_failure(m, as_manager_held_note(&m->held, held, step, timestamp, NULL));
    }
    held = heap ? held : rss;
    if (!note->held_known || note->held_heap != heap || held == ASSAY_MEMORY_UNKNOWN)
        return 0;
    left = (int64_t)(held - note->held_bytes);
    note_failure(m, as_manager_held_add(&m->held, call->name, left - note->inner_bytes, step,
                                        timestamp, NULL));
    return left;
}

static void feed_bottleneck(struct assay_manager *m, const struct as_layer_end *how,
                            const struct as_layer_call *call, const struct as_layer_usage *now)
{
    const struct as_layer_note *note = call->note;
    struct assay_layer_metrics metrics = assay_layer_metrics_init;

    metrics.execution_seconds = (double)call->duration_ns / 1e9;
    metrics.self_seconds = (double)call->self_ns / 1e9;
    metrics.failed = how->failed;
    /* What layers inside it used without its being read cannot be told from what it used itself. */
    if (now && note->unread_ns <= call->self_ns / UNREAD_SHARE)
        as_layer_usage_tell(&metrics, &note->usage, now, &note->inner);
    read_metrics(&metrics, how);
    note_failure(m, as_bottleneck_record(m->bottleneck, call->name->text, &metrics, NULL));
}

static void feed_extensions(struct assay_manager *m, const struct as_layer_end *how,
                            const struct as_layer_call *call, uint64_t rss)
{
    const struct assay_layer_call told = {
        .size = sizeof told,
        .layer = call->name->text,
        .execution_seconds = (double)call->duration_ns / 1e9,
        .self_seconds = (double)call->self_ns / 1e9,
        .timestamp_seconds = as_manager_seconds(m, call->end_ticks),
        .depth = call->depth,
        .thread = call->thread,
        .step = atomic_load_explicit(&m->step, memory_order_relaxed),
        .memory_mb = rss == ASSAY_MEMORY_UNKNOWN ? AS_UNKNOWN : (double)rss / AS_MIB,
        .failed = how->failed,
        .reason = how->reason,
        .metadata = how->metadata,
        .n_metadata = how->n_metadata};

    for (size_t i = 0; i < m->n_extensions; i++) {
        if (m->extension[i].table.layer_end)
            m->extension[i].table.layer_end(m->extension[i].state, &told);
    }
}

void as_manager_note_memory(struct assay_manager *m)
{
    uint64_t rss;

    as_manager_lock(m);
    rss = as_memory_read_rss(&m->reader);
    as_manager_unlock(m);
    if (rss != ASSAY_MEMORY_UNKNOWN)
        assay_note("rss_bytes", process_mb(rss) * AS_MIB);
}

/* The layer around this one is blamed for nothing that was used since this one was entered. */
static void leave_outer(const struct as_layer_call *call, int64_t left)
{
    struct as_layer_usage now;

    if (!call->outer)
        return;
    call->outer->inner_bytes += left;
    if (!call->note->entered_known)
        return;
    if (as_layer_usage_read(&now))
        as_layer_usage_add(&call->outer->inner, &call->note->entered, &now);
    else
        call->outer->unread_ns += call->duration_ns;
}

void as_manager_after(struct assay_manager *m, uint32_t on, const struct as_layer_end *how,
                      const struct as_layer_call *call, uint64_t held_bytes)
{
    struct as_layer_usage usage;
    const bool used = call->note->usage_known && as_layer_usage_read(&usage);
    int64_t left = 0;
    uint64_t rss, ns;

    as_manager_lock(m);
    rss = feed_memory(m, on, how, call);
    if (on & AS_MANAGER_BIT(LEAK)) {
        if (rss == ASSAY_MEMORY_UNKNOWN)
            rss = as_memory_read_rss(&m->reader);
        left = feed_leak(m, call, rss, held_bytes);
    }
    if (on & AS_MANAGER_BIT(BOTTLENECK))
        feed_bottleneck(m, how, call, used ? &usage : NULL);
    if ((on & AS_MANAGER_WATCHED) && !how->failed)
        note_failure(m, assay_anomaly_detector_add(m->anomaly, call->name->text, "execution_time",
                                                   (double)call->duration_ns / 1e9,
                                                   as_manager_seconds(m, call->end_ticks), NULL,
                                                   NULL));
    feed_extensions(m, how, call, rss);
    as_manager_unlock(m);
    leave_outer(call, left);
    ns = count_feed(m, how->ticks);
    as_layer_profile_excuse(m->layers, ns);
    if (call->outer && !call->note->entered_known)
        call->outer->unread_ns += ns;
}

void assay_manager_step(struct assay_manager *manager, uint64_t n)
{
    if (!assay_manager_is_active(manager))
        return;
    atomic_store_explicit(&manager->step, n, memory_order_relaxed);
    if (assay_session_is_open())
        assay_iteration(n);
}
