/* api/manager/manager_feed.c - what lanes hold becomes calls of layers, and every call goes to the
 * profilers that were on when it ended, in one order: memory, leaks, bottlenecks, anomalies,
 * extensions. With the lock held. */
#include <assay/session.h>
#include <math.h>
#include <string.h>

#include "analyze/detect/bottleneck_internal.h"
#include "api/manager/manager_internal.h"
#include "base/alloc.h"
#include "base/json/json_writer.h"
#include "base/units.h"

#define UNREAD_SHARE 20u /* a 20th of a layer's own time may be of others unread */

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

/* A call that ended: what its thread says of it, and what became of that. */
struct call {
    const struct as_mark_fields *fields;
    const struct as_layer_end *how;
    struct as_layer_call times;
    uint32_t on;
    double timestamp;
    uint64_t step;
};

static uint64_t value(const struct call *c, unsigned field)
{
    return as_mark_get(c->fields, field, ASSAY_UNKNOWN);
}

/* Returns resident memory at its end, where that was read. */
static uint64_t feed_memory(struct assay_manager *m, const struct call *c)
{
    struct as_memory_change change;
    struct as_out out = {0};
    int rc;

    if (!as_mark_has(c->fields, AS_MARK_MEMORY))
        return ASSAY_UNKNOWN;
    memcpy(&change, &c->fields->value[AS_MARK_MEMORY], sizeof change);
    rc = as_memory_profile_add(m->memory, &change, c->times.name->text, c->timestamp,
                               metadata_json(&out, c->how), NULL, NULL);
    if (c->how->n_metadata)
        as_out_drop(&out);
    note_failure(m, rc);
    return change.rss_after_bytes;
}

static void feed_leak(struct assay_manager *m, const struct call *c)
{
    const uint64_t rss = value(c, AS_MARK_PROCESS_BYTES), heap = value(c, AS_MARK_HEAP_BYTES);
    const char *layer = c->times.name->text;
    const uint64_t ticks = c->times.end_ticks;

    if (rss != ASSAY_UNKNOWN &&
        (m->leak_fed_ticks == 0 ||
         as_layer_clock_ns(&m->clock, m->leak_fed_ticks, ticks) >= m->memory_interval_ns)) {
        m->leak_fed_ticks = ticks;
        note_failure(m, assay_leak_detector_add(m->leak, layer, (double)rss / AS_MIB, c->step,
                                                c->timestamp, NULL));
        if (heap != ASSAY_UNKNOWN)
            note_failure(m, as_manager_held_note(&m->held, heap, c->step, c->timestamp, NULL));
    }
    if (as_mark_has(c->fields, AS_MARK_LEFT_BYTES))
        note_failure(m, as_manager_held_add(&m->held, c->times.name,
                                            (int64_t)value(c, AS_MARK_LEFT_BYTES), c->step,
                                            c->timestamp, NULL));
}

static void feed_bottleneck(struct assay_manager *m, const struct call *c)
{
    struct assay_layer_metrics metrics = as_layer_metrics_unknown;

    metrics.execution_seconds = (double)c->times.duration_ns / 1e9;
    metrics.self_seconds = (double)c->times.self_ns / 1e9;
    metrics.failed = c->how->failed;
    /* What layers inside it used without its being read cannot be told from what it used itself. */
    if (as_mark_has(c->fields, AS_MARK_CPU_NS) &&
        value(c, AS_MARK_UNREAD_NS) <= c->times.self_ns / UNREAD_SHARE) {
        metrics.cpu_seconds = (double)value(c, AS_MARK_CPU_NS) / 1e9;
        metrics.minor_faults = (double)value(c, AS_MARK_MINOR_FAULTS);
        metrics.major_faults = (double)value(c, AS_MARK_MAJOR_FAULTS);
        metrics.switches = (double)value(c, AS_MARK_SWITCHES);
        metrics.sleeps = (double)value(c, AS_MARK_SLEEPS);
        metrics.io_bytes = (double)value(c, AS_MARK_IO_BLOCKS) * AS_USAGE_BLOCK_BYTES;
    }
    read_metrics(&metrics, c->how);
    note_failure(m, as_bottleneck_record(m->bottleneck, c->times.name->text, &metrics, NULL));
}

static void feed_extensions(struct assay_manager *m, const struct call *c, uint64_t rss)
{
    const struct assay_layer_call told = {.size = sizeof told,
                                          .layer = c->times.name->text,
                                          .execution_seconds = (double)c->times.duration_ns / 1e9,
                                          .self_seconds = (double)c->times.self_ns / 1e9,
                                          .timestamp_seconds = c->timestamp,
                                          .depth = c->times.depth,
                                          .thread = c->times.thread,
                                          .step = c->step,
                                          .memory_mb = rss == ASSAY_UNKNOWN ? AS_UNKNOWN
                                                                            : (double)rss / AS_MIB,
                                          .failed = c->how->failed,
                                          .reason = c->how->reason,
                                          .metadata = c->how->metadata,
                                          .n_metadata = c->how->n_metadata};

    for (size_t i = 0; i < m->n_extensions; i++) {
        if (m->extension[i].table.layer_end)
            m->extension[i].table.layer_end(m->extension[i].state, &told);
    }
}

static void feed_call(struct assay_manager *m, const struct call *c)
{
    const uint64_t rss = feed_memory(m, c);

    if (c->on & AS_MANAGER_BIT(LEAK))
        feed_leak(m, c);
    if (c->on & AS_MANAGER_BIT(BOTTLENECK))
        feed_bottleneck(m, c);
    if ((c->on & AS_MANAGER_WATCHED) && !c->how->failed)
        note_failure(m, assay_anomaly_detector_add(
                            m->anomaly, c->times.name->text, "execution_time",
                            (double)c->times.duration_ns / 1e9, c->timestamp, NULL, NULL));
    feed_extensions(m, c, rss);
}

static void feed_end(struct assay_manager *m, struct as_layer_thread *figures,
                     const struct as_mark_unit *unit)
{
    const uint32_t on = (uint32_t)as_mark_get(&unit->fields, AS_MARK_ON, 0);
    const struct as_layer_end how = {.ticks = unit->time,
                                     .failed = unit->kind == AS_RECORD_FAIL,
                                     .keep = on & AS_MANAGER_BIT(LAYER),
                                     .reason = unit->reason,
                                     .metadata = unit->pair,
                                     .n_metadata = unit->n_pairs};
    struct call c = {.fields = &unit->fields,
                     .how = &how,
                     .on = on,
                     .timestamp = as_manager_seconds(m, unit->time)};

    if (!as_layer_profile_end(m->layers, figures, &how, &c.times))
        return;
    c.step = value(&c, AS_MARK_STEP);
    if (as_manager_is_fed(c.on))
        feed_call(m, &c);
    if (as_mark_has(&unit->fields, AS_MARK_AFTER))
        as_layer_profile_excuse(figures,
                                as_layer_clock_ns(&m->clock, 0, unit->fields.value[AS_MARK_AFTER]));
}

/* Whether a layer is of the session that is going on, or ended last. */
static bool is_of_now(const struct assay_manager *m, const struct as_mark_unit *unit)
{
    const uint64_t session = atomic_load_explicit(&m->marks->session, memory_order_relaxed);

    return unit->site >> AS_MARK_SITE_BITS == as_mark_layer(session, 0) >> AS_MARK_SITE_BITS;
}

void as_manager_feed(void *manager, struct as_mark_thread *t, const struct as_mark_unit *unit)
{
    struct assay_manager *m = manager;
    struct as_layer_thread *figures = t->reader;

    if (!figures)
        figures = t->reader = as_layer_profile_thread(m->layers);
    if (!figures) {
        m->feed_failures += unit->kind == AS_RECORD_END || unit->kind == AS_RECORD_FAIL;
        return;
    }
    switch (unit->kind) {
    case AS_RECORD_BEGIN:
        if (!is_of_now(m, unit))
            break;
        as_layer_profile_begin(
            m->layers, figures, unit->site & ((1u << AS_MARK_SITE_BITS) - 1), unit->time,
            as_layer_clock_ns(&m->clock, 0, as_mark_get(&unit->fields, AS_MARK_BEFORE, 0)));
        break;
    case AS_RECORD_END:
    case AS_RECORD_FAIL:
        if (is_of_now(m, unit))
            feed_end(m, figures, unit);
        break;
    case AS_MARK_DROP:
        as_layer_profile_abandon(m->layers, figures, unit->time);
        break;
    case AS_MARK_RESTART:
        as_layer_thread_restart(m->layers, figures, (uint32_t)unit->time, unit->site);
        break;
    default:
        break; /* data of a unit that was given up */
    }
}

void assay_manager_step(struct assay_manager *manager, uint64_t n)
{
    if (!assay_manager_is_active(manager))
        return;
    atomic_store_explicit(&manager->step, n, memory_order_relaxed);
    if (assay_session_is_open())
        assay_iteration(n);
}
