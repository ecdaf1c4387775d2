/* report/compare/compare_json.c - a comparison of backends as JSON, with the documented keys.
 * Strict: what is not known is null. */
#include "report/compare/compare_report.h"

static void put_names(struct as_json_writer *w, const char *key, const char *const *names, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++)
        as_json_text(w, names[i]);
    as_json_array_end(w);
}

static void put_calls(struct as_json_writer *w, uint64_t calls)
{
    if (calls)
        as_json_kv_u64(w, "call_count", calls);
    else
        as_json_kv_null(w, "call_count");
}

static void put_test(struct as_json_writer *w, const struct assay_speedup_test *test)
{
    as_json_kv_object(w, "significance");
    as_json_kv_text(w, "verdict", assay_difference_name(test->difference));
    as_json_kv_f64(w, "speedup_low", test->low);
    as_json_kv_f64(w, "speedup_high", test->high);
    as_json_kv_f64(w, "p_value", test->p_value);
    as_json_kv_f64(w, "degrees_of_freedom", test->degrees);
    as_json_kv_f64(w, "level", 0.95);
    as_json_object_end(w);
}

static void put_layer(struct as_json_writer *w, const struct assay_layer_comparison *layer)
{
    as_json_kv_object(w, layer->layer);
    as_json_kv_text(w, "layer", layer->layer);
    as_json_kv_object(w, "backend_data");
    for (size_t i = 0; i < layer->n_backends; i++) {
        const struct assay_backend_data *data = &layer->backend_data[i];

        as_json_kv_object(w, data->backend);
        AS_JSON_FIELDS(w, data, mean_time, std_time, total_time);
        put_calls(w, data->call_count);
        as_json_object_end(w);
    }
    as_json_object_end(w);
    AS_JSON_FIELDS(w, layer, fastest_backend, slowest_backend, speedup, time_difference_ms,
                   call_counts_differ);
    put_test(w, &layer->test);
    as_json_object_end(w);
}

static double total_time(const struct assay_backend_total *t)
{
    return t->total_time;
}

static double normalized_time(const struct assay_backend_total *t)
{
    return t->normalized_time;
}

static double peak_memory(const struct assay_backend_total *t)
{
    return t->peak_memory_mb;
}

static double energy(const struct assay_backend_total *t)
{
    return t->energy_j;
}

static double wins(const struct assay_backend_total *t)
{
    return (double)t->layer_wins;
}

static double sure_wins(const struct assay_backend_total *t)
{
    return (double)t->sure_wins;
}

/* An object of one figure of each backend. */
static void put_figure(struct as_json_writer *w, const char *key, const struct assay_comparison *c,
                       double (*figure)(const struct assay_backend_total *))
{
    as_json_kv_object(w, key);
    for (size_t i = 0; i < c->n_backends; i++)
        as_json_kv_f64(w, c->backends[i].backend, figure(&c->backends[i]));
    as_json_object_end(w);
}

static void put_summary(struct as_json_writer *w, const struct assay_comparison *c)
{
    const struct assay_comparison_summary *s = &c->summary;

    as_json_kv_object(w, "summary");
    AS_JSON_FIELDS(w, s, fastest_backend, slowest_backend, overall_speedup);
    put_figure(w, "total_times", c, total_time);
    put_figure(w, "layer_wins", c, wins);
    as_json_kv_text(w, "recommendation", s->recommendation);
    put_figure(w, "sure_layer_wins", c, sure_wins);
    as_json_kv_text(w, "most_wins_backend", s->most_wins);
    put_figure(w, "normalized_times", c, normalized_time);
    as_json_kv_text(w, "compared_by", s->normalized ? "normalized_times" : "total_times");
    as_json_kv_text(w, "unequal_because", s->why_unequal);
    put_test(w, &s->test);
    put_figure(w, "peak_memory_mb", c, peak_memory);
    as_json_kv_text(w, "least_memory_backend", s->least_memory_backend);
    put_figure(w, "energy_j", c, energy);
    as_json_kv_text(w, "least_energy_backend", s->least_energy_backend);
    as_json_object_end(w);
}

static void put_comparison(struct as_json_writer *w, const struct assay_comparison *c)
{
    as_json_object(w);
    if (c->error) {
        as_json_kv_text(w, "error", c->error);
        put_names(w, "available_backends", c->available_backends, c->n_available);
        as_json_object_end(w);
        return;
    }
    as_json_kv_array(w, "backends");
    for (size_t i = 0; i < c->n_backends; i++)
        as_json_text(w, c->backends[i].backend);
    as_json_array_end(w);
    put_names(w, "unknown_backends", c->unknown_backends, c->n_unknown);
    as_json_kv_object(w, "layer_comparisons");
    for (size_t i = 0; i < c->n_layers; i++)
        put_layer(w, &c->layers[i]);
    as_json_object_end(w);
    put_summary(w, c);
    as_json_object_end(w);
}

int as_compare_json(struct as_json_writer *w, const struct assay_comparison *comparison,
                    struct assay_error *err)
{
    if (!comparison)
        return as_fail(err, ASSAY_ERR_USAGE, "there is no comparison to write");
    put_comparison(w, comparison);
    return ASSAY_OK;
}

static void put_profiles(struct as_json_writer *w, const struct assay_backend_total *totals,
                         size_t n)
{
    as_json_kv_object(w, "backend_profiles");
    for (size_t i = 0; i < n; i++) {
        as_json_kv_object(w, totals[i].backend);
        as_json_kv_f64(w, "timestamp", totals[i].timestamp);
        as_json_kv_object(w, "profile_summary");
        AS_JSON_FIELDS(w, &totals[i], total_time, peak_memory_mb, energy_j);
        as_json_object_end(w);
        as_json_object_end(w);
    }
    as_json_object_end(w);
}

/* Pairs of name and total, as documented. */
static void put_ranking(struct as_json_writer *w, const struct assay_backend_total *totals,
                        size_t n)
{
    as_json_kv_array(w, "backend_ranking");
    for (size_t i = 0; i < n; i++) {
        as_json_array(w);
        as_json_text(w, totals[i].backend);
        as_json_f64(w, totals[i].total_time);
        as_json_array_end(w);
    }
    as_json_array_end(w);
}

int as_compare_export_json(struct as_json_writer *w, struct assay_compare *compare,
                           struct assay_error *err)
{
    const struct assay_comparison *comparison;
    const struct assay_backend_total *ranking;
    size_t n;
    int rc = assay_compare_run(compare, NULL, 0, &comparison, err);

    if (rc < 0 && !comparison->error)
        return rc;
    rc = assay_compare_ranking(compare, &ranking, &n, err);
    if (rc < 0)
        return rc;
    as_json_object(w);
    put_profiles(w, ranking, n);
    as_json_key(w, "comparison_results");
    put_comparison(w, comparison);
    put_ranking(w, ranking, n);
    as_json_object_end(w);
    return ASSAY_OK;
}
