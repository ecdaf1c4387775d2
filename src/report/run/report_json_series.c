/* report/run/report_json_series.c - the parts of a report's JSON about phases, iterations, channels
 * and single calls. Latency keeps the names and the microseconds of the specification. */
#include <math.h>

#include "analyze/run/timeline.h"
#include "report/run/report.h"
#include "stats/describe/quantile.h"

void as_json_phases(struct as_json_writer *w, const struct as_report *report)
{
    as_json_kv_array(w, "phases");
    for (uint32_t i = 0; i < ASSAY_PHASE_COUNT; i++) {
        const struct as_phase_total *p = &report->layers->phase[i];

        if (!p->seen)
            continue;
        as_json_object(w);
        as_json_kv_text(w, "name", as_phase_name(i));
        as_json_kv_u64(w, "calls", p->calls);
        as_json_kv_u64(w, "total_ns", p->inclusive_ns);
        as_json_kv_u64(w, "self_ns", p->self_ns);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

void as_json_iterations(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_iterations *it = &report->layers->iterations;
    const struct as_call_times *t = &it->times;

    as_json_key(w, "iterations");
    if (it->n == 0) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
    AS_JSON_FIELDS(w, it, n, cut, truncated);
    AS_JSON_FIELDS(w, t, median_ns, ci95_low_ns, ci95_high_ns, ci95_reached);
    as_json_kv_text(w, "percentile_method", as_quantile_name(AS_QUANTILE_LINEAR));
    AS_JSON_FIELDS(w, t, p90_ns, p95_ns, p99_ns, p90_supported, p95_supported, p99_supported,
                   mean_ns);
    as_json_kv_f64(w, "std_ns", t->std_population_ns);
    AS_JSON_FIELDS(w, t, std_sample_ns, cv, mad_ns, min_ns, max_ns, n_outliers);
    as_json_key(w, "first_is_outlier");
    if (it->first.tested)
        as_json_bool(w, it->first.outlier);
    else
        as_json_null(w);
    as_json_kv_u64(w, "first_ns", it->record[0].wall_time_ns);
    as_json_object_end(w);
}

static void put_stats(struct as_json_writer *w, const char *key,
                      const struct assay_latency_stats *s)
{
    as_json_key(w, key);
    if (s->n == 0) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
    AS_JSON_FIELDS(w, s, p50_us, p95_us, p99_us, mean_us, std_us, n);
    as_json_kv_text(w, "percentile_method", as_quantile_name(AS_QUANTILE_NEAREST_RANK));
    AS_JSON_FIELDS(w, s, p50_ns, p95_ns, p99_ns, min_ns, max_ns, p95_supported, p99_supported);
    as_json_object_end(w);
}

void as_json_latency(struct as_json_writer *w, const struct as_report *report)
{
    const struct as_iterations *it = &report->layers->iterations;

    as_json_key(w, "latency");
    if (it->n == 0) {
        as_json_null(w);
        return;
    }
    as_json_object(w);
    put_stats(w, "wall", &it->wall);
    put_stats(w, "kernel", &it->kernel);
    as_json_kv_array(w, "by_seq_len");
    for (size_t i = 0; i < it->n_groups; i++) {
        as_json_object(w);
        as_json_kv_u64(w, "seq_len", it->group[i].seq_len);
        put_stats(w, "wall", &it->group[i].wall);
        put_stats(w, "kernel", &it->group[i].kernel);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

void as_json_channels(struct as_json_writer *w, const struct as_report *report)
{
    as_json_kv_array(w, "channels");
    for (size_t i = 0; i < report->layers->n_channels; i++) {
        const struct as_channel *c = &report->layers->channel[i];

        as_json_object(w);
        as_json_kv_text(w, "name", c->info->name);
        as_json_kv_text(w, "unit", c->info->unit);
        AS_JSON_FIELDS(w, c, n, min, mean, max, last);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

/* A key noted again in the same call: the last word wins, for an object holds a key once. */
static bool is_overruled(const struct as_span *s, uint32_t note)
{
    for (uint32_t i = note + 1; i < s->n_notes; i++) {
        if (s->note[i].key == s->note[note].key)
            return true;
    }
    return false;
}

/* Metadata stays apart from our own keys, so that no note can overwrite one. */
static void put_entry(struct as_json_writer *w, struct as_run *run,
                      const struct as_timeline_entry *e)
{
    const struct as_span *s = &e->span;

    as_json_object(w);
    as_json_kv_text(w, "layer", as_run_site_at(run, s->site)->name);
    as_json_kv_u64(w, "execution_time_ns", s->end_ns - s->start_ns);
    as_json_kv_u64(w, "timestamp_ns", s->start_ns);
    as_json_kv_u64(w, "cumulative_time_ns", e->cumulative_ns);
    as_json_kv_u64(w, "thread", s->thread->index);
    as_json_kv_u64(w, "depth", s->depth);
    as_json_kv_text(w, "status", as_span_state_name(s->state));
    as_json_kv_object(w, "metadata");
    for (uint32_t i = 0; i < s->n_notes; i++) {
        if (!is_overruled(s, i))
            as_json_kv_f64(w, as_run_site_at(run, s->note[i].key)->name, s->note[i].value);
    }
    as_json_object_end(w);
    as_json_object_end(w);
}

int as_json_timeline(struct as_json_writer *w, const struct as_report *report,
                     struct assay_error *err)
{
    struct as_timeline *timeline = as_timeline_new(report->run);
    struct as_timeline_entry entry;
    int rc = timeline ? 1 : as_fail_nomem(err);

    as_json_kv_array(w, "timeline");
    while (rc > 0 && (rc = as_timeline_next(timeline, &entry, err)) > 0) {
        if (as_report_has_thread(report, entry.span.thread))
            put_entry(w, report->run, &entry);
    }
    as_json_array_end(w);
    as_timeline_free(timeline);
    return rc;
}
