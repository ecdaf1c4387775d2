/* api/manager/manager_dashboard.c - what a dashboard shows of a session, as one JSON object.
 * Bottlenecks are analysed anew each time, so that no view is older than the others. */

#include "api/manager/manager_report.h"
#include "base/json/json_tree.h"
#include "base/units.h"
#include "report/bottleneck/bottleneck_report.h"
#include "report/compare/compare_report.h"

#define MAX_VALUES ((size_t)1 << 24)

static void put_off(struct as_json_writer *w, const char *const *key, size_t n, const char *why)
{
    for (size_t i = 0; i < n; i++)
        as_manager_json_none(w, key[i], why);
}
#define PUT_OFF(w, key, why) put_off(w, key, sizeof(key) / sizeof *(key), why)

static void put_layers(struct as_json_writer *w, const struct assay_manager *m,
                       const struct assay_layer_profile *layers)
{
    static const char *const key[] = {"execution_history", "layer_stats"};

    if (!as_manager_json_on(m, ASSAY_PROFILER_LAYER)) {
        PUT_OFF(w, key, "the layer profiler is off");
        return;
    }
    as_json_key(w, key[0]);
    as_manager_json_history(w, layers);
    as_json_key(w, key[1]);
    as_manager_json_layer_stats(w, layers);
}

static void put_memory(struct as_json_writer *w, struct assay_manager *m)
{
    static const char *const key[] = {"memory_snapshots", "memory_growth", "memory_summary"};

    if (!as_manager_json_on(m, ASSAY_PROFILER_MEMORY) || m->memory_why) {
        PUT_OFF(w, key, m->memory_why ? m->memory_why : "the memory profiler is off");
        return;
    }
    as_json_key(w, key[0]);
    as_memory_profile_json_snapshots(w, m->memory);
    as_json_key(w, key[1]);
    as_memory_profile_json_growth(w, m->memory);
    as_json_key(w, key[2]);
    as_memory_profile_json_summary(w, m->memory);
}

static int put_leaks(struct as_json_writer *w, struct assay_manager *m, struct assay_error *err)
{
    static const char *const key[] = {"memory_leak_summary", "memory_leaks_by_layer"};
    int rc;

    if (!as_manager_json_on(m, ASSAY_PROFILER_LEAK)) {
        PUT_OFF(w, key, "the leak profiler is off");
        return ASSAY_OK;
    }
    as_json_key(w, key[0]);
    rc = as_manager_held_tell(&m->held, m->leak, err);
    if (rc == ASSAY_OK)
        rc = as_leak_json(w, m->leak, err);
    return rc < 0 ? rc : as_manager_json_layer_leaks(w, m, err);
}

/* The members of the analysis that views ask for, each under its own key. */
static int put_members(struct as_json_writer *w, const char *const *key, size_t n,
                       const struct assay_bottleneck_result *result, struct assay_error *err)
{
    const struct as_json_value *all;
    struct as_arena arena = {0};
    struct as_json_writer whole;
    struct as_out out;
    size_t size;
    int rc = as_out_memory(&out, err);

    if (rc < 0)
        return rc;
    as_json_writer_init(&whole, &out, 0);
    rc = as_bottleneck_json(&whole, result, err);
    if (rc == ASSAY_OK && !as_out_ok(&out))
        rc = as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        const char *text = as_out_get(&out, &size);

        rc = as_json_tree_read(&all, &arena, text, size, MAX_VALUES, err);
    }
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++) {
        const struct as_json_value *member = as_json_get(all, key[i]);

        as_json_key(w, key[i]);
        if (member)
            as_json_tree_write(w, member);
        else
            as_json_null(w);
    }
    as_arena_fini(&arena);
    as_out_drop(&out);
    return rc;
}

static int put_bottlenecks(struct as_json_writer *w, struct assay_manager *m,
                           struct assay_error *err)
{
    static const char *const key[] = {"bottlenecks", "recommendations", "ranked", "advice"};
    const struct assay_bottleneck_result *result;
    int rc;

    if (!as_manager_json_on(m, ASSAY_PROFILER_BOTTLENECK)) {
        PUT_OFF(w, key, "the bottleneck profiler is off");
        return ASSAY_OK;
    }
    rc = assay_bottleneck_analyze(m->bottleneck, &result, err);
    return rc < 0 ? rc : put_members(w, key, AS_COUNT_OF(key), result, err);
}

static int put_distributed(struct as_json_writer *w, struct assay_manager *m,
                           struct assay_error *err)
{
    static const char key[] = "distributed_metrics";

    if (!as_manager_json_on(m, ASSAY_PROFILER_DISTRIBUTED)) {
        as_manager_json_none(w, key, "the distributed profiler is off");
        return ASSAY_OK;
    }
    if (assay_distributed_nodes(m->distributed) == 0) {
        as_manager_json_none(w, key, "no node was told");
        return ASSAY_OK;
    }
    as_json_key(w, key);
    return as_distributed_dashboard_json(w, m->distributed, err);
}

static int put_dashboard(struct as_json_writer *w, struct assay_manager *m,
                         const struct assay_layer_profile *layers, struct assay_error *err)
{
    static const char *const gpu[] = {"gpu_metrics", "gpu_summary"};
    int rc;

    as_json_object(w);
    as_json_kv_f64(w, "timestamp", as_clock_unix_seconds());
    pthread_mutex_lock(&m->lock);
    put_layers(w, m, layers);
    put_memory(w, m);
    rc = put_leaks(w, m, err);
    if (rc == ASSAY_OK)
        rc = put_bottlenecks(w, m, err);
    if (as_manager_json_on(m, ASSAY_PROFILER_GPU))
        PUT_OFF(w, gpu, AS_MANAGER_NO_DEVICE);
    else
        PUT_OFF(w, gpu, "the gpu profiler is off");
    if (rc == ASSAY_OK)
        rc = put_distributed(w, m, err);
    if (rc == ASSAY_OK)
        rc = as_manager_json_backends(w, m, err);
    if (rc == ASSAY_OK)
        rc = as_manager_json_anomalies(w, m, err);
    if (rc == ASSAY_OK)
        as_manager_json_extensions(w, m);
    pthread_mutex_unlock(&m->lock);
    if (rc < 0)
        return rc;
    as_json_object_end(w);
    return as_json_writer_finish(w, err);
}

int as_manager_json_dashboard(struct as_out *out, struct assay_manager *m, struct assay_error *err)
{
    return as_manager_json_text(out, m, put_dashboard, err);
}
