/* report/bottleneck/anomaly_json.c - values that did not belong to the ones before them, as JSON.
 * An infinite z-score is null: the window had no spread. */
#include "report/bottleneck/bottleneck_report.h"

static void put_anomaly(struct as_json_writer *w, const struct assay_anomaly *a)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, a, layer, metric, value);
    as_json_kv_f64(w, "timestamp_unix_seconds", a->timestamp);
    as_json_kv_text(w, "test", assay_anomaly_test_name(a->tests));
    as_json_kv_f64(w, "z_score", a->z);
    as_json_kv_f64(w, "mean", a->mean);
    as_json_kv_f64(w, "std_population", a->std);
    as_json_kv_f64(w, "median", a->median);
    as_json_kv_f64(w, "fence_low", a->low);
    as_json_kv_f64(w, "fence_high", a->high);
    as_json_kv_u64(w, "window_values", a->n_window);
    as_json_object_end(w);
}

static void put_layers(struct as_json_writer *w, const struct assay_anomaly_detector *detector)
{
    const struct assay_anomaly_layer *layers;
    size_t n = assay_anomaly_layers(detector, &layers);

    as_json_kv_object(w, "by_layer");
    for (size_t i = 0; i < n; i++) {
        as_json_kv_object(w, layers[i].layer);
        as_json_kv_u64(w, "values", layers[i].n_values);
        as_json_kv_u64(w, "anomalies", layers[i].n_anomalies);
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

int as_anomaly_json(struct as_json_writer *w, const struct assay_anomaly_detector *detector,
                    struct assay_error *err)
{
    struct assay_anomaly_summary s;
    const struct assay_anomaly *found;

    (void)err;
    assay_anomaly_summary(detector, &s);
    as_json_object(w);
    as_json_kv_u64(w, "anomaly_count", s.n_anomalies);
    as_json_kv_u64(w, "values", s.n_values);
    as_json_kv_u64(w, "values_dropped", s.n_dropped);
    as_json_kv_u64(w, "anomalies_forgotten", s.n_forgotten);
    as_json_kv_u64(w, "series", s.n_series);
    as_json_kv_f64(w, "sensitivity", s.sensitivity);
    as_json_kv_u64(w, "window_values", s.window);
    as_json_kv_f64(w, "z_threshold", s.z_threshold);
    as_json_kv_f64(w, "iqr_factor", s.iqr_factor);
    put_layers(w, detector);
    as_json_kv_array(w, "anomalies");
    for (size_t i = 0; (found = assay_anomaly_at(detector, i)) != NULL; i++)
        put_anomaly(w, found);
    as_json_array_end(w);
    as_json_object_end(w);
    return ASSAY_OK;
}
