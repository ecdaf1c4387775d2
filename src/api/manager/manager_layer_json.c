/* api/manager/manager_layer_json.c - the layers of a session as JSON, with the documented keys.
 * Seconds throughout; what cannot be had is null. */
#include "api/manager/manager_report.h"
#include "stats/describe/quantile.h"

static void put_times(struct as_json_writer *w, const char *key, const double *seconds, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++)
        as_json_f64(w, seconds[i]);
    as_json_array_end(w);
}

static void put_stats(struct as_json_writer *w, const struct assay_layer_stats *s)
{
    const bool exact = s->percentile_error == 0;

    as_json_object(w);
    AS_JSON_FIELDS(w, s, call_count, failed_count, total_time, min_time, max_time, mean_time,
                   std_time, std_time_sample);
    as_json_kv_f64(w, "coefficient_of_variation", s->cv);
    as_json_kv_f64(w, "self_time", s->self_time);
    as_json_kv_f64(w, "failed_time", s->failed_time);
    as_json_kv_f64(w, "p50_time", s->p50);
    as_json_kv_f64(w, "p95_time", s->p95);
    as_json_kv_f64(w, "p99_time", s->p99);
    as_json_kv_text(w, "percentile_method",
                    as_quantile_name(exact ? AS_QUANTILE_LINEAR : AS_QUANTILE_NEAREST_RANK));
    as_json_kv_f64(w, "percentile_error", s->percentile_error);
    as_json_kv_text(w, "percentiles_of", s->percentiles_newest ? "newest calls" : "all calls");
    put_times(w, "execution_times", s->execution_times, s->n_execution_times);
    /* Where no layer ran inside, they would be the same once more. */
    if (s->nested && s->self_times)
        put_times(w, "self_times", s->self_times, s->n_execution_times);
    else if (s->nested)
        as_manager_json_none(w, "self_times", "there was no room for them: see max_history_bytes");
    as_json_object_end(w);
}

void as_manager_json_layer_stats(struct as_json_writer *w, const struct assay_layer_profile *p)
{
    as_json_object(w);
    for (size_t i = 0; i < p->n_layers; i++) {
        as_json_key(w, p->layers[i].layer);
        put_stats(w, &p->layers[i]);
    }
    as_json_object_end(w);
}

static void put_event(struct as_json_writer *w, const struct assay_layer_event *e)
{
    as_json_object(w);
    AS_JSON_FIELDS(w, e, layer, execution_time, self_time, timestamp, cumulative_time,
                   cumulative_self_time);
    as_json_kv_text(w, "status", e->failed ? "failed" : "ok");
    if (e->failed)
        as_json_kv_text(w, "reason", e->reason);
    as_json_kv_u64(w, "depth", e->depth);
    as_json_kv_u64(w, "thread", e->thread);
    for (size_t i = 0; i < e->n_metadata; i++) {
        as_json_key(w, e->metadata[i].key);
        if (e->metadata[i].text)
            as_json_text(w, e->metadata[i].text);
        else
            as_json_f64(w, e->metadata[i].number);
    }
    as_json_object_end(w);
}

void as_manager_json_history(struct as_json_writer *w, const struct assay_layer_profile *p)
{
    as_json_array(w);
    for (size_t i = 0; i < p->n_timeline; i++)
        put_event(w, &p->timeline[i]);
    as_json_array_end(w);
}

/* Pairs of name and value. */
static void put_ranks(struct as_json_writer *w, const char *key,
                      const struct assay_layer_rank *rank, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++) {
        as_json_array(w);
        as_json_text(w, rank[i].layer);
        as_json_f64(w, rank[i].value);
        as_json_array_end(w);
    }
    as_json_array_end(w);
}

static void put_summary(struct as_json_writer *w, const struct assay_layer_profile *p)
{
    as_json_kv_object(w, "summary");
    as_json_kv_u64(w, "total_layers", p->n_layers);
    AS_JSON_FIELDS(w, p, total_time, total_calls, average_time_per_call);
    put_ranks(w, "slowest_layers", p->slowest, p->n_slowest);
    put_ranks(w, "most_variable_layers", p->most_variable, p->n_most_variable);
    put_ranks(w, "most_variable_layers_by_cv", p->most_variable_cv, p->n_most_variable_cv);
    as_json_kv_f64(w, "total_self_time", p->total_self_time);
    as_json_kv_u64(w, "failed_calls", p->failed_calls);
    as_json_kv_u64(w, "threads", p->n_threads);
    as_json_kv_array(w, "open_at_end");
    for (size_t i = 0; i < p->n_open_at_end; i++)
        as_json_text(w, p->open_at_end[i]);
    as_json_array_end(w);
    as_json_object_end(w);
}

void as_manager_json_layers(struct as_json_writer *w, const struct assay_layer_profile *p)
{
    as_json_object(w);
    as_json_key(w, "layer_stats");
    as_manager_json_layer_stats(w, p);
    as_json_key(w, "execution_history");
    as_manager_json_history(w, p);
    put_summary(w, p);
    as_json_object_end(w);
}
