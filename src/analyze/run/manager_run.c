/* analyze/run/manager_run.c - what a manager found, in the structs that all runs share. */
#include "analyze/run/manager_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "stats/describe/quantile.h"

int as_anomaly_report(const struct assay_anomaly_detector *detector, struct as_arena *arena,
                      struct as_anomaly_report *out, struct assay_error *err)
{
    size_t n = assay_anomaly_detector_count(detector);
    struct assay_anomaly *list = as_arena_zero(arena, n + 1, sizeof *list);

    if (!list)
        return as_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        list[i] = *assay_anomaly_detector_at(detector, i);
    *out = (struct as_anomaly_report){.list = list, .n = n};
    assay_anomaly_detector_summary(detector, &out->summary);
    out->n_layers = assay_anomaly_detector_layers(detector, &out->layer);
    return ASSAY_OK;
}

/* ---- layers ---- */

/* A time was checked when it was read. */
static uint64_t whole_ns(double seconds)
{
    return isnan(seconds) ? 0 : (uint64_t)llround(seconds * 1e9);
}

static struct as_call_times times_of(const struct assay_layer_stats *s)
{
    return (struct as_call_times){
        .n = s->call_count,
        .mean_ns = s->mean_seconds * 1e9,
        .std_population_ns = s->std_seconds * 1e9,
        .std_sample_ns = s->std_sample_seconds * 1e9,
        .cv = s->mean_seconds > 0 ? s->std_sample_seconds / s->mean_seconds : AS_UNKNOWN,
        .min_ns = s->min_seconds * 1e9,
        .max_ns = s->max_seconds * 1e9,
        .median_ns = s->p50_seconds * 1e9,
        .mad_ns = AS_UNKNOWN,
        .p50_ns = s->p50_seconds * 1e9,
        .p90_ns = AS_UNKNOWN,
        .p95_ns = s->p95_seconds * 1e9,
        .p99_ns = s->p99_seconds * 1e9,
        .p50_nearest_ns = AS_UNKNOWN,
        .p95_nearest_ns = AS_UNKNOWN,
        .p99_nearest_ns = AS_UNKNOWN,
        .p90_supported = as_quantile_supported(s->call_count, 90),
        .p95_supported = as_quantile_supported(s->call_count, 95),
        .p99_supported = as_quantile_supported(s->call_count, 99),
        .ci95_low_ns = AS_UNKNOWN,
        .ci95_high_ns = AS_UNKNOWN,
        .exact = s->percentile_error == 0,
        .error = s->percentile_error,
    };
}

static void fill_layer(struct as_layer *to, struct as_run_site *site, uint32_t id,
                       const struct assay_layer_stats *s)
{
    *site = (struct as_run_site){.name = s->layer, .category = ASSAY_CATEGORY_LAYER, .known = true};
    *to = (struct as_layer){
        .site = id,
        .info = site,
        .flops = AS_UNKNOWN,
        .bytes = AS_UNKNOWN,
        .calls = s->call_count,
        .failed = s->failed_count,
        .inclusive_ns = whole_ns(s->total_seconds),
        .self_ns = whole_ns(s->self_seconds),
        .first_ns = id, /* they stand in the order of their first calls */
        .times = times_of(s),
        .call_seconds = s->execution_times_seconds,
        .call_self_seconds = s->self_times_seconds,
        .n_call_seconds = s->n_execution_times,
    };
    for (size_t k = 0; k < AS_LAYER_SPARK; k++)
        to->spark_ns[k] = AS_UNKNOWN;
}

static int by_self(const void *a, const void *b)
{
    const struct as_layer *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* Memory by layer, joined by name. */
static int fill_memory(struct as_layers *out, const struct as_memory_report *from,
                       struct assay_error *err)
{
    struct as_hash_map map = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < from->n_layers && rc == ASSAY_OK; i++)
        if (as_hash_map_put(&map, from->layer[i].layer, strlen(from->layer[i].layer), i) < 0)
            rc = as_fail_nomem(err);
    for (size_t i = 0; i < out->n_layers && rc == ASSAY_OK; i++) {
        const char *name = out->layer[i].info->name;
        const uint64_t *at = as_hash_map_find(&map, name, strlen(name));
        const struct as_memory_layer_row *row = at ? &from->layer[*at] : NULL;

        if (row && row->n_known)
            out->layer[i].memory =
                (struct as_layer_memory){row->call_count, row->mean_memory_mb, row->std_memory_mb,
                                         row->min_memory_mb, row->max_memory_mb};
    }
    as_hash_map_fini(&map);
    return rc;
}

/* Layers a session ended in. One without a complete call gets a row of its own. */
static void fill_open(struct as_layers *out, struct as_run_site *site,
                      const struct assay_layer_profile *from)
{
    for (size_t i = 0; i < from->n_open_at_end; i++) {
        static const struct assay_layer_stats none = {.p50_seconds = AS_UNKNOWN,
                                                      .p95_seconds = AS_UNKNOWN,
                                                      .p99_seconds = AS_UNKNOWN,
                                                      .min_seconds = AS_UNKNOWN,
                                                      .max_seconds = AS_UNKNOWN,
                                                      .mean_seconds = AS_UNKNOWN,
                                                      .std_seconds = AS_UNKNOWN,
                                                      .std_sample_seconds = AS_UNKNOWN};
        struct assay_layer_stats stats = none;
        size_t at = 0;

        while (at < out->n_layers && strcmp(out->layer[at].info->name, from->open_at_end[i]) != 0)
            at++;
        if (at == out->n_layers) {
            stats.layer = from->open_at_end[i];
            fill_layer(&out->layer[at], &site[at], (uint32_t)at + 1, &stats);
            out->n_layers++;
        }
        out->layer[at].open++;
    }
    out->open = from->n_open_at_end + from->open_dropped;
    out->unclosed = from->calls_abandoned;
}

static void fill_totals(struct as_layers *out, const struct as_manager_run *from)
{
    const struct assay_manager_session *s = &from->session;

    for (size_t i = 0; i < out->n_layers; i++)
        out->self_total_ns += out->layer[i].self_ns;
    for (size_t i = 0; i < out->n_layers; i++)
        out->layer[i].share = out->self_total_ns
                                  ? (double)out->layer[i].self_ns / (double)out->self_total_ns
                                  : AS_UNKNOWN;
    out->calls = from->layers.total_calls;
    out->failed = from->layers.failed_calls;
    out->failed_apart = true;
    out->events = 2 * (out->calls + out->failed);
    out->too_deep = from->layers.calls_too_deep;
    out->wall_ns = whole_ns(s->duration_seconds);
    out->cost_known = isfinite(s->seconds_per_call) && s->seconds_per_call >= 0;
    out->cost_total_ns = s->cost_seconds * 1e9;
    out->cost_pair_ns =
        out->calls > 0 ? out->cost_total_ns / (double)out->calls : s->seconds_per_call * 1e9;
    out->cost_share = s->cost_share;
    for (size_t i = 0; i < out->n_layers && out->cost_known; i++) {
        struct as_layer *l = &out->layer[i];

        l->near_cost = l->times.median_ns < AS_COST_FACTOR * out->cost_pair_ns;
        out->n_near_cost += l->near_cost;
    }
}

/* A thread is known by its number alone. */
static bool fill_threads(struct as_layers *out, size_t n)
{
    struct as_run_thread *thread = as_arena_zero(&out->arena, n + 1, sizeof *thread);

    out->thread = as_arena_zero(&out->arena, n + 1, sizeof *out->thread);
    for (; thread && out->thread && out->n_threads < n; out->n_threads++) {
        thread[out->n_threads] = (struct as_run_thread){.index = out->n_threads, .name = ""};
        out->thread[out->n_threads].info = &thread[out->n_threads];
    }
    return thread && out->thread;
}

int as_manager_run_layers(struct as_layers **result, struct as_run *run,
                          const struct as_manager_run *from, struct assay_error *err)
{
    struct as_layers *out = as_alloc_zero(1, sizeof *out);
    size_t n = from->layers.n_layers, most = n + from->layers.n_open_at_end + 1;
    struct as_run_site *site;
    int rc = ASSAY_OK;

    *result = NULL;
    if (!out)
        return as_fail_nomem(err);
    out->run = run;
    out->layer = as_arena_zero(&out->arena, most, sizeof *out->layer);
    site = as_arena_zero(&out->arena, most, sizeof *site);
    if (!out->layer || !site || !fill_threads(out, from->layers.n_threads))
        rc = as_fail_nomem(err);
    for (; rc == ASSAY_OK && out->n_layers < n; out->n_layers++)
        fill_layer(&out->layer[out->n_layers], &site[out->n_layers], (uint32_t)out->n_layers + 1,
                   &from->layers.layers[out->n_layers]);
    if (rc == ASSAY_OK) {
        fill_open(out, site, &from->layers);
        qsort(out->layer, out->n_layers, sizeof *out->layer, by_self);
        fill_totals(out, from);
        rc = fill_memory(out, &from->memory, err);
    }
    if (rc < 0)
        as_layers_free(out);
    else
        *result = out;
    return rc;
}
