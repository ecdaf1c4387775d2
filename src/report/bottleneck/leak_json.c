/* report/bottleneck/leak_json.c - whether memory grows, as JSON: the window test's answer and the
 * sound one. Documented keys first; what cannot be had is null. */
#include "report/bottleneck/bottleneck_report.h"

#include <math.h>

#include "analyze/detect/leak_detector.h"

#define METHOD                                                                                     \
    "Theil-Sen slope and Mann-Kendall test within the levels left by at most two steps, "          \
    "corrected "                                                                                   \
    "for autocorrelation; growth in both halves and of the floor; warm-up left out"

static void put_leak(struct as_json_writer *w, const struct assay_leak *leak)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, leak, start_memory_mb, end_memory_mb, increase_mb, growth_rate_mb_per_step,
                   window_size);
    as_json_kv_array(w, "layers_involved");
    for (size_t i = 0; i < leak->n_layers_involved; i++)
        as_json_text(w, leak->layers_involved[i]);
    as_json_array_end(w);
    as_json_kv_f64(w, "timestamp", leak->timestamp);
    as_json_object_end(w);
}

static void put_step(struct as_json_writer *w, const char *key, uint64_t step)
{
    if (step == ASSAY_LEAK_NO_STEP)
        as_json_kv_null(w, key);
    else
        as_json_kv_u64(w, key, step);
}

/* NULL: it is known. */
static const char *exhaustion_why(const struct assay_leak_incident *incident)
{
    if (isfinite(incident->seconds_to_exhaustion))
        return NULL;
    return isfinite(incident->mb_per_second) ? "how much memory is left was not told"
                                             : "no time passed between the readings";
}

static void put_incident(struct as_json_writer *w, const struct assay_leak_incident *incident)
{
    as_json_object(w);
    as_json_kv_text(w, "layer", incident->layer);
    as_json_kv_u64(w, "first_reading", incident->first);
    as_json_kv_u64(w, "last_reading", incident->last);
    put_step(w, "first_step", incident->first_step);
    put_step(w, "last_step", incident->last_step);
    as_json_kv_f64(w, "start_time_unix_seconds", incident->start_time);
    as_json_kv_f64(w, "end_time_unix_seconds", incident->end_time);
    AS_JSON_FIELDS(w, incident, start_memory_mb, end_memory_mb, net_growth_mb);
    as_json_kv_f64(w, "growth_mb_per_step", incident->mb_per_step);
    as_json_kv_f64(w, "growth_mb_per_second", incident->mb_per_second);
    as_json_kv_f64(w, "p_value", incident->p_value);
    as_json_kv_f64(w, "kendall_tau", incident->tau);
    as_json_kv_f64(w, "seconds_to_exhaustion", incident->seconds_to_exhaustion);
    as_json_kv_text(w, "exhaustion_why", exhaustion_why(incident));
    as_json_object_end(w);
}

int as_leak_json(struct as_json_writer *w, struct assay_leak_detector *detector,
                 struct assay_error *err)
{
    const struct assay_leak_incident *incidents;
    const struct assay_leak *leaks;
    struct assay_leak_summary s;
    size_t n_leaks = assay_leak_list(detector, &leaks);
    int rc = assay_leak_summary(detector, &s, err), n;

    if (rc < 0)
        return rc;
    n = assay_leak_incidents(detector, &incidents, err);
    if (n < 0)
        return n;
    as_json_object(w);
    AS_JSON_FIELDS(w, &s, has_leaks, leak_count, total_memory_leaked_mb, average_growth_rate);
    as_json_kv_array(w, "leaks");
    for (size_t i = 0; i < n_leaks; i++)
        put_leak(w, &leaks[i]);
    as_json_array_end(w);
    as_json_kv_u64(w, "leaks_dropped", s.leaks_dropped);
    as_json_kv_bool(w, "growing", s.growing);
    as_json_kv_array(w, "incidents");
    for (int i = 0; i < n; i++)
        put_incident(w, &incidents[i]);
    as_json_array_end(w);
    as_json_kv_f64(w, "outside_heap_mb", as_leak_outside_heap_mb(detector));
    as_json_kv_u64(w, "series", s.n_series);
    as_json_kv_u64(w, "readings", s.n_readings);
    as_json_kv_u64(w, "layer_readings_dropped", s.layers_dropped);
    as_json_kv_text(w, "method", METHOD);
    as_json_kv_text(w, "mb_means", "MiB");
    as_json_object_end(w);
    return ASSAY_OK;
}
