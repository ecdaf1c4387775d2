/* api/manager/manager_json.c - a session's report as JSON (schema assay.session), with the
 * documented keys. A profiler that is off, or has nothing, is null, and `<key>_why` says which. */
#include <stdio.h>

#include <assay/assay.h>

#include "api/manager/manager_report.h"
#include "base/units.h"
#include "report/bottleneck/bottleneck_report.h"
#include "report/compare/compare_report.h"

#define SCHEMA         "assay.session"
#define SCHEMA_VERSION 1

void as_manager_json_none(struct as_json_writer *w, const char *key, const char *why)
{
    char name[300];

    (void)snprintf(name, sizeof name, "%.256s_why", key);
    as_json_kv_null(w, key);
    as_json_kv_text(w, name, why);
}

bool as_manager_json_on(const struct assay_manager *m, enum assay_profiler_id id)
{
    return atomic_load_explicit(&m->enabled, memory_order_relaxed) >> id & 1u;
}

/* True when the profiler is on; otherwise the key is told to be off. */
static bool is_on(struct as_json_writer *w, const struct assay_manager *m, const char *key,
                  enum assay_profiler_id id)
{
    char why[64];

    if (as_manager_json_on(m, id))
        return true;
    (void)snprintf(why, sizeof why, "the %s profiler is off", assay_profiler_name(id));
    as_manager_json_none(w, key, why);
    return false;
}

/* ---- the parts, in their order ---- */

static int put_profilers(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err)
{
    (void)err;
    as_json_kv_object(w, "profilers");
    for (int i = 0; i < ASSAY_PROFILER_COUNT; i++) {
        enum assay_profiler_id id = (enum assay_profiler_id)i;

        as_json_kv_bool(w, assay_profiler_name(id), as_manager_json_on(m, id));
    }
    as_json_object_end(w);
    return ASSAY_OK;
}

static int put_memory(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err)
{
    static const char key[] = "memory_profiling";

    (void)err;
    if (!is_on(w, m, key, ASSAY_PROFILER_MEMORY))
        return ASSAY_OK;
    if (m->memory_why) {
        as_manager_json_none(w, key, m->memory_why);
        return ASSAY_OK;
    }
    as_json_key(w, key);
    as_memory_profile_json(w, m->memory);
    return ASSAY_OK;
}

int as_manager_json_layer_leaks(struct as_json_writer *w, struct assay_manager *m,
                                struct assay_error *err)
{
    int n = as_manager_held_judge(&m->held, err);

    if (n < 0)
        return n;
    as_json_kv_object(w, "memory_leaks_by_layer");
    as_json_kv_bool(w, "has_leaks", n > 0);
    as_json_kv_text(w, "source",
                    atomic_load_explicit(&m->held.heap, memory_order_relaxed) ? "heap in use"
                                                                              : "resident memory");
    as_json_kv_f64(w, "left_behind_mb", m->held.all_mb);
    as_json_kv_array(w, "layers");
    for (int i = 0; i < n; i++) {
        const struct assay_layer_leak *leak = &m->held.leak[i];

        as_json_object(w);
        AS_JSON_FIELDS(w, leak, layer, growth_mb, mb_per_step, mb_per_second, p_value);
        as_json_kv_f64(w, "share", leak->process_share);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
    return ASSAY_OK;
}

static int put_leaks(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err)
{
    int rc;

    if (!is_on(w, m, "memory_leaks", ASSAY_PROFILER_LEAK))
        return ASSAY_OK;
    as_json_key(w, "memory_leaks");
    rc = as_manager_held_tell(&m->held, m->leak, err);
    if (rc == ASSAY_OK)
        rc = as_leak_json(w, m->leak, err);
    return rc < 0 ? rc : as_manager_json_layer_leaks(w, m, err);
}

static int put_bottlenecks(struct as_json_writer *w, struct assay_manager *m,
                           struct assay_error *err)
{
    const struct assay_bottleneck_result *result;
    int rc;

    if (!is_on(w, m, "bottlenecks", ASSAY_PROFILER_BOTTLENECK))
        return ASSAY_OK;
    rc = assay_bottleneck_analyze(m->bottleneck, &result, err);
    if (rc < 0)
        return rc;
    as_json_key(w, "bottlenecks");
    return as_bottleneck_json(w, result, err);
}

static int put_gpu(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err)
{
    static const char *const key[] = {"gpu_utilization", "gpu_recommendations"};

    (void)err;
    for (size_t i = 0; i < AS_COUNT_OF(key); i++) {
        if (is_on(w, m, key[i], ASSAY_PROFILER_GPU))
            as_manager_json_none(w, key[i], AS_MANAGER_NO_DEVICE);
    }
    return ASSAY_OK;
}

static int put_distributed(struct as_json_writer *w, struct assay_manager *m,
                           struct assay_error *err)
{
    static const char key[] = "distributed_training";

    if (!is_on(w, m, key, ASSAY_PROFILER_DISTRIBUTED))
        return ASSAY_OK;
    if (assay_distributed_nodes(m->distributed) == 0) {
        as_manager_json_none(w, key, "no node was told");
        return ASSAY_OK;
    }
    as_json_key(w, key);
    return as_distributed_json(w, m->distributed, err);
}

int as_manager_json_backends(struct as_json_writer *w, struct assay_manager *m,
                             struct assay_error *err)
{
    static const char key[] = "backend_comparison";
    const struct assay_comparison *comparison = NULL;
    int rc;

    if (!is_on(w, m, key, ASSAY_PROFILER_COMPARATIVE))
        return ASSAY_OK;
    if (m->n_backends == 0) {
        as_manager_json_none(w, key, "no backend was added");
        return ASSAY_OK;
    }
    /* One backend alone is no failure of the report: it says so itself. */
    rc = assay_compare_run(m->compare, NULL, 0, &comparison, err);
    if (rc < 0 && rc != ASSAY_ERR_USAGE)
        return rc;
    as_json_key(w, key);
    return as_compare_json(w, comparison, err);
}

int as_manager_json_anomalies(struct as_json_writer *w, struct assay_manager *m,
                              struct assay_error *err)
{
    if (!(atomic_load_explicit(&m->enabled, memory_order_relaxed) & AS_MANAGER_WATCHED)) {
        as_manager_json_none(w, "anomalies", "not asked for, and the bottleneck profiler is off");
        return ASSAY_OK;
    }
    as_json_key(w, "anomalies");
    return as_anomaly_json(w, m->anomaly, err);
}

static int put_extensions(struct as_json_writer *w, struct assay_manager *m,
                          struct assay_error *err)
{
    (void)err;
    as_manager_json_extensions(w, m);
    return ASSAY_OK;
}

typedef int (*put_part)(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err);
static const put_part part[] = {
    put_memory,
    put_leaks,
    put_bottlenecks,
    put_gpu,
    put_distributed,
    as_manager_json_backends,
    as_manager_json_anomalies,
    put_extensions,
};

/* ---- what needs no lock of the manager's ---- */

static void put_session(struct as_json_writer *w, const struct assay_manager_session *s)
{
    as_json_kv_object(w, "profiling_session");
    as_json_kv_f64(w, "start_time", s->start_time);
    as_json_kv_f64(w, "end_time", s->end_time);
    as_json_kv_f64(w, "duration_seconds", s->sessions ? s->duration_seconds : AS_UNKNOWN);
    as_json_kv_u64(w, "sessions", s->sessions);
    as_json_object_end(w);
}

static void put_cost(struct as_json_writer *w, const struct assay_manager_session *s)
{
    as_json_kv_object(w, "cost_of_profiling");
    AS_JSON_FIELDS(w, s, calls, seconds_per_call, feeding_seconds);
    as_json_kv_f64(w, "total_seconds", s->cost_seconds);
    as_json_kv_f64(w, "share", s->cost_share);
    as_json_object_end(w);
}

static void put_dropped(struct as_json_writer *w, const struct assay_layer_profile *p,
                        const struct assay_manager_session *s)
{
    as_json_kv_object(w, "dropped");
    as_json_kv_u64(w, "timeline_calls", p->timeline_dropped);
    as_json_kv_u64(w, "calls_unnamed", p->calls_unnamed);
    as_json_kv_u64(w, "calls_too_deep", p->calls_too_deep);
    as_json_kv_u64(w, "metadata", p->metadata_dropped);
    as_json_kv_u64(w, "open_layers", p->open_dropped);
    as_json_kv_u64(w, "feed_failures", s->feed_failures);
    as_json_object_end(w);
}

static int put_report(struct as_json_writer *w, struct assay_manager *m,
                      const struct assay_layer_profile *layers, struct assay_error *err)
{
    struct assay_manager_session session;
    int rc;

    assay_manager_session(m, &session);
    as_json_object(w);
    as_json_kv_text(w, "schema", SCHEMA);
    as_json_kv_u64(w, "schema_version", SCHEMA_VERSION);
    as_json_kv_text(w, "assay_version", assay_version());
    as_json_kv_f64(w, "timestamp", as_clock_unix_seconds());
    put_session(w, &session);
    pthread_mutex_lock(&m->lock);
    rc = put_profilers(w, m, err);
    if (is_on(w, m, "layer_profiling", ASSAY_PROFILER_LAYER)) {
        as_json_key(w, "layer_profiling");
        as_manager_json_layers(w, layers);
    }
    for (size_t i = 0; rc == ASSAY_OK && i < AS_COUNT_OF(part); i++)
        rc = part[i](w, m, err);
    pthread_mutex_unlock(&m->lock);
    if (rc < 0)
        return rc;
    put_cost(w, &session);
    put_dropped(w, layers, &session);
    as_json_object_end(w);
    return as_json_writer_finish(w, err);
}

int as_manager_json_text(struct as_out *out, struct assay_manager *m, as_manager_put put,
                         struct assay_error *err)
{
    struct assay_layer_profile *layers;
    struct as_json_writer w;
    int rc = assay_manager_layers(m, 0, &layers, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&w, out, 2);
    rc = put(&w, m, layers, err);
    as_out_char(out, '\n');
    assay_layer_profile_free(layers);
    return rc;
}

int as_manager_json_report(struct as_out *out, struct assay_manager *m, struct assay_error *err)
{
    return as_manager_json_text(out, m, put_report, err);
}
