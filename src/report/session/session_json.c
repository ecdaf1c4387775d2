/* report/session/session_json.c - memory, leaks and bottlenecks of a run, as members of a report's
 * JSON. Base units in the keys; what is not known is null with its reason. */
#include <math.h>

#include "base/units.h"
#include "report/bottleneck/bottleneck_report.h"
#include "report/session/session_report.h"

static void put_status(struct as_json_writer *w, const char *why)
{
    as_json_kv_text(w, "status", why ? "unavailable" : "ok");
    as_json_kv_text(w, "reason", why);
}

static void put_bytes(struct as_json_writer *w, const char *key, double mb)
{
    as_json_kv_f64(w, key, isfinite(mb) ? round(mb * AS_MIB) : mb);
}

static void put_series(struct as_json_writer *w, const struct as_view_memory *m)
{
    as_json_kv_array(w, "series");
    for (size_t i = 0; i < m->n; i++) {
        as_json_object(w);
        as_json_kv_f64(w, "seconds", m->seconds[i]);
        put_bytes(w, "bytes", m->mb[i]);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void put_layers(struct as_json_writer *w, const struct as_saved_profile *view)
{
    as_json_kv_array(w, "layers");
    for (size_t i = 0; i < view->n_layers; i++) {
        const struct as_view_layer *l = &view->layer[i];

        if (!l->memory_readings)
            continue;
        as_json_object(w);
        as_json_kv_text(w, "layer", l->name);
        as_json_kv_u64(w, "call_count", l->memory_readings);
        AS_JSON_FIELDS(w, l, mean_memory_mb, std_memory_mb, min_memory_mb, max_memory_mb);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_session_memory_json(struct as_json_writer *w, const struct as_saved_profile *view)
{
    const struct as_view_memory *m = &view->memory;
    double unknown = AS_UNKNOWN;

    as_json_kv_object(w, "memory");
    put_status(w, m->why);
    as_json_kv_text(w, "what", m->what);
    put_bytes(w, "baseline_bytes", m->why ? unknown : m->baseline_mb);
    put_bytes(w, "peak_bytes", m->why ? unknown : m->peak_mb);
    put_bytes(w, "last_bytes", m->why ? unknown : m->last_mb);
    as_json_kv_f64(w, "baseline_memory_mb", m->why ? unknown : m->baseline_mb);
    as_json_kv_f64(w, "peak_memory_mb", m->why ? unknown : m->peak_mb);
    as_json_kv_u64(w, "total_snapshots", m->snapshots);
    put_series(w, m);
    put_layers(w, view);
    as_json_object_end(w);
}

int as_session_leaks_json(struct as_json_writer *w, const struct as_saved_profile *view,
                          struct assay_error *err)
{
    as_json_key(w, "leaks");
    if (!view->leaks.why && view->detector)
        return as_leak_json(w, view->detector, err);
    as_json_object(w);
    put_status(w, view->leaks.why ? view->leaks.why : "not looked for");
    as_json_object_end(w);
    return ASSAY_OK;
}

void as_session_no_bottlenecks_json(struct as_json_writer *w, const char *why)
{
    as_json_kv_object(w, "bottlenecks");
    put_status(w, why);
    as_json_object_end(w);
}

int as_session_bottlenecks_json(struct as_json_writer *w, const struct as_saved_profile *view,
                                struct assay_error *err)
{
    as_json_key(w, "bottlenecks");
    return as_bottleneck_json(w, &view->bottlenecks, err);
}
