/* analyze/run/layers.c - where the time of a run went: per layer, per thread, as a tree, by phase
 * and by iteration. */
#include "analyze/run/layers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/run/layer_collect.h"
#include "base/alloc.h"
#include "base/units.h"
#include "stats/describe/summary.h"
#include "trace/run/run_reader.h"

#define AS_MAX_SAMPLES ((size_t)12 << 20)

static const struct as_call_times no_times = {
    .mean_ns = AS_UNKNOWN,
    .std_population_ns = AS_UNKNOWN,
    .std_sample_ns = AS_UNKNOWN,
    .cv = AS_UNKNOWN,
    .min_ns = AS_UNKNOWN,
    .max_ns = AS_UNKNOWN,
    .median_ns = AS_UNKNOWN,
    .mad_ns = AS_UNKNOWN,
    .p50_ns = AS_UNKNOWN,
    .p90_ns = AS_UNKNOWN,
    .p95_ns = AS_UNKNOWN,
    .p99_ns = AS_UNKNOWN,
    .p50_nearest_ns = AS_UNKNOWN,
    .p95_nearest_ns = AS_UNKNOWN,
    .p99_nearest_ns = AS_UNKNOWN,
    .ci95_low_ns = AS_UNKNOWN,
    .ci95_high_ns = AS_UNKNOWN,
    .exact = true,
};

/* ---- durations ---- */

/* Sorts `sample`; needs n >= 1 and scratch of the same size. */
static void times_from_samples(struct as_call_times *t, uint64_t *sample, size_t n,
                               uint64_t *scratch)
{
    struct as_summary s;
    struct as_interval ci;
    struct as_outliers outliers;
    struct as_sorted sorted = as_sorted_u64(sample, n);

    as_summary_u64(&s, sample, n, scratch, AS_QUANTILE_LINEAR);
    as_outlier_count(&outliers, &sorted, AS_OUTLIER_THRESHOLD);
    *t = (struct as_call_times){
        .n = n,
        .mean_ns = s.mean,
        .std_population_ns = s.std_population,
        .std_sample_ns = s.std_sample,
        .cv = s.cv,
        .min_ns = s.min,
        .max_ns = s.max,
        .median_ns = s.median,
        .mad_ns = s.mad,
        .p50_ns = s.percentile[AS_SUMMARY_P50],
        .p90_ns = s.percentile[AS_SUMMARY_P90],
        .p95_ns = s.percentile[AS_SUMMARY_P95],
        .p99_ns = s.percentile[AS_SUMMARY_P99],
        .p50_nearest_ns = as_quantile_at(&sorted, 50, AS_QUANTILE_NEAREST_RANK),
        .p95_nearest_ns = as_quantile_at(&sorted, 95, AS_QUANTILE_NEAREST_RANK),
        .p99_nearest_ns = as_quantile_at(&sorted, 99, AS_QUANTILE_NEAREST_RANK),
        .p90_supported = s.supported[AS_SUMMARY_P90],
        .p95_supported = s.supported[AS_SUMMARY_P95],
        .p99_supported = s.supported[AS_SUMMARY_P99],
        .ci95_low_ns = AS_UNKNOWN,
        .ci95_high_ns = AS_UNKNOWN,
        .n_outliers = outliers.n_low + outliers.n_high,
        .exact = true,
    };
    if (as_interval_median(&ci, &sorted, 0.95, NULL) == ASSAY_OK) {
        t->ci95_low_ns = ci.low;
        t->ci95_high_ns = ci.high;
        t->ci95_reached = ci.reached;
    }
}

static double from_histogram(const struct as_histogram *h, double p)
{
    uint64_t value;

    return as_histogram_quantile(h, p, &value) ? (double)value : AS_UNKNOWN;
}

/* Exact where totals can be; no interval and no MAD, which need the samples. */
static void times_from_histogram(struct as_call_times *t, const struct as_gathered *g)
{
    struct as_histogram h = {
        .count = g->bucket, .sub_bits = AS_HISTOGRAM_DEFAULT_BITS, .total = g->moments.total};
    uint64_t n = g->moments.total.n;

    *t = no_times;
    t->n = n;
    t->exact = false;
    t->error = as_histogram_error(&h);
    t->mean_ns = as_moments_mean(&g->moments);
    t->std_population_ns = as_moments_std_population(&g->moments);
    t->std_sample_ns = as_moments_std_sample(&g->moments);
    t->cv = t->mean_ns > 0 ? t->std_sample_ns / t->mean_ns : AS_UNKNOWN;
    t->min_ns = (double)g->moments.total.min;
    t->max_ns = (double)g->moments.total.max;
    t->median_ns = t->p50_ns = t->p50_nearest_ns = from_histogram(&h, 50);
    t->p90_ns = from_histogram(&h, 90);
    t->p95_ns = t->p95_nearest_ns = from_histogram(&h, 95);
    t->p99_ns = t->p99_nearest_ns = from_histogram(&h, 99);
    t->p90_supported = as_quantile_supported(n, 90);
    t->p95_supported = as_quantile_supported(n, 95);
    t->p99_supported = as_quantile_supported(n, 99);
}

/* ---- layers ---- */

static void fill_spark(struct as_layer *layer, const struct as_collector *c,
                       const struct as_gathered *g)
{
    size_t used = (size_t)(c->out->last_ns >> c->spark_shift) + 1;

    for (size_t i = 0; i < AS_LAYER_SPARK; i++) {
        size_t from = i * used / AS_LAYER_SPARK, to = (i + 1) * used / AS_LAYER_SPARK;
        double sum = 0;
        uint64_t n = 0;

        for (size_t b = from; g->spark && b < to && b < AS_SPARK_BINS; b++) {
            sum += g->spark->sum_ns[b];
            n += g->spark->n[b];
        }
        layer->spark_ns[i] = n ? sum / (double)n : AS_UNKNOWN;
    }
}

static double number_of(const struct as_run_site *site, const char *key)
{
    const struct as_run_attribute *a = as_run_site_get(site, key);

    return a && !a->text ? a->number : AS_UNKNOWN;
}

static const char *text_of(const struct as_run_site *site, const char *key)
{
    const struct as_run_attribute *a = as_run_site_get(site, key);

    return a ? a->text : NULL;
}

static void fill_layer(struct as_layer *layer, const struct as_collector *c, struct as_gathered *g,
                       uint64_t *scratch)
{
    const struct as_layers *out = c->out;
    const struct as_run_site *info = as_run_site_at(c->run, g->site);

    *layer = (struct as_layer){.site = g->site,
                               .info = info,
                               .op = text_of(info, "op"),
                               .shape = text_of(info, "shape"),
                               .flops = number_of(info, "flops"),
                               .bytes = number_of(info, "bytes"),
                               .calls = g->moments.total.n,
                               .failed = g->failed,
                               .unclosed = g->unclosed,
                               .cut = g->cut,
                               .open = g->open,
                               .inclusive_ns = g->inclusive_ns,
                               .self_ns = g->self_ns,
                               .first_ns = g->first_ns,
                               .times = no_times,
                               .n_threads = g->n_threads};
    layer->share = out->self_total_ns ? (double)g->self_ns / (double)out->self_total_ns : 0;
    if (g->bucket)
        times_from_histogram(&layer->times, g);
    else if (g->n_samples)
        times_from_samples(&layer->times, g->sample, g->n_samples, scratch);
    layer->near_cost =
        out->cost_known && layer->times.median_ns < AS_COST_FACTOR * out->cost_pair_ns;
    memcpy(layer->phase_calls, g->phase_calls, sizeof layer->phase_calls);
    memcpy(layer->phase_self_ns, g->phase_self_ns, sizeof layer->phase_self_ns);
    fill_spark(layer, c, g);
}

static int by_self(const void *a, const void *b)
{
    const struct as_layer *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

static bool is_phase(const struct as_collector *c, const struct as_gathered *g)
{
    return as_run_site_at(c->run, g->site)->category == ASSAY_CATEGORY_PHASE;
}

static int make_layers(struct as_collector *c, struct assay_error *err)
{
    struct as_layers *out = c->out;
    uint64_t *scratch;
    size_t most = 1;

    for (size_t i = 0; i < c->n_seen; i++)
        most = c->seen[i]->n_samples > most ? c->seen[i]->n_samples : most;
    scratch = as_alloc_zero(most, sizeof *scratch);
    out->layer = as_arena_zero(&out->arena, c->n_seen ? c->n_seen : 1, sizeof *out->layer);
    if (!scratch || !out->layer) {
        as_free(scratch);
        return as_fail_nomem(err);
    }
    for (size_t i = 0; i < c->n_seen; i++) {
        struct as_gathered *g = c->seen[i];

        if (is_phase(c, g))
            continue;
        fill_layer(&out->layer[out->n_layers], c, g, scratch);
        out->calls += out->layer[out->n_layers].calls;
        out->failed += out->layer[out->n_layers].failed;
        out->n_near_cost += out->layer[out->n_layers].near_cost;
        out->n_layers++;
    }
    qsort(out->layer, out->n_layers, sizeof *out->layer, by_self);
    as_free(scratch);
    return ASSAY_OK;
}

static void make_phases(struct as_collector *c)
{
    for (size_t i = 0; i < c->n_seen; i++) {
        const struct as_gathered *g = c->seen[i];
        int8_t phase = c->phase_of_site[g->site];

        if (phase >= 0)
            c->out->phase[phase] = (struct as_phase_total){.calls = g->moments.total.n,
                                                           .inclusive_ns = g->inclusive_ns,
                                                           .self_ns = g->self_ns,
                                                           .seen = true};
    }
}

/* ---- rows by thread ---- */

static int by_thread_then_layer(const void *a, const void *b)
{
    const struct as_thread_layer *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

/* The rows were made with the site's id; phases have no layer and go. */
static int make_thread_layers(struct as_collector *c, struct assay_error *err)
{
    struct as_layers *out = c->out;
    uint32_t *place = as_alloc_zero((size_t)c->run->n_sites + 1, sizeof *place);
    size_t kept = 0;

    if (!place)
        return as_fail_nomem(err);
    for (size_t i = 0; i < out->n_layers; i++)
        place[out->layer[i].site] = (uint32_t)i + 1;
    for (size_t i = 0; i < out->n_thread_layers; i++) {
        uint32_t at = place[out->thread_layer[i].layer];

        if (!at)
            continue;
        out->thread_layer[kept] = out->thread_layer[i];
        out->thread_layer[kept++].layer = at - 1;
    }
    out->n_thread_layers = kept;
    if (kept)
        qsort(out->thread_layer, kept, sizeof *out->thread_layer, by_thread_then_layer);
    as_free(place);
    return ASSAY_OK;
}

/* ---- channels, iterations ---- */

static int make_channels(struct as_collector *c, struct assay_error *err)
{
    struct as_layers *out = c->out;

    out->channel =
        as_arena_zero(&out->arena, c->n_channels ? c->n_channels : 1, sizeof *out->channel);
    if (!out->channel)
        return as_fail_nomem(err);
    for (uint32_t i = 0; i <= c->run->n_sites; i++) {
        if (c->channel[i])
            out->channel[out->n_channels++] = *c->channel[i];
    }
    return ASSAY_OK;
}

static int make_iterations(struct as_layers *out, struct assay_error *err)
{
    struct as_iterations *it = &out->iterations;
    uint64_t *wall = NULL;
    int rc;

    it->times = no_times;
    it->first.score = AS_UNKNOWN;
    if (it->n == 0)
        return ASSAY_OK;
    rc = assay_latency_summarize(it->record, it->n, ASSAY_LATENCY_WALL, &it->wall, err);
    if (rc == ASSAY_OK)
        rc = assay_latency_summarize(it->record, it->n, ASSAY_LATENCY_KERNEL, &it->kernel, err);
    if (rc < 0)
        return rc;
    wall = as_alloc_zero(3 * it->n, sizeof *wall); /* the samples, and room for both tests */
    if (!wall)
        return as_fail_nomem(err);
    for (size_t i = 0; i < it->n; i++)
        wall[i] = it->record[i].wall_time_ns;
    as_outlier_first_u64(&it->first, wall, it->n, AS_OUTLIER_THRESHOLD, wall + it->n);
    times_from_samples(&it->times, wall, it->n, wall + it->n);
    as_free(wall);
    if (it->any_length) {
        rc = assay_latency_groups(it->record, it->n, NULL, 0, err);
        if (rc < 0)
            return rc;
        it->n_groups = (size_t)rc;
        it->group = as_arena_zero(&out->arena, it->n_groups, sizeof *it->group);
        if (!it->group)
            return as_fail_nomem(err);
        rc = assay_latency_groups(it->record, it->n, it->group, it->n_groups, err);
        if (rc < 0)
            return rc;
    }
    return ASSAY_OK;
}

/* ---- the whole ---- */

static void add_thread(struct as_layers *out, const struct as_thread_summary *t)
{
    const struct as_walk_counts *n = &t->counts;

    out->events += n->events;
    out->stray_ends += n->stray_ends;
    out->stray_after_loss += n->stray_after_loss;
    out->too_deep += n->too_deep;
    out->events_beside.stray_locks += n->stray_locks;
    out->displaced += n->displaced;
    out->backwards += n->backwards;
    out->bad_events += n->bad;
    out->waited_ns += t->waited_ns;
    if (n->events == 0)
        return;
    if (n->first_ns < out->first_ns)
        out->first_ns = n->first_ns;
    if (n->last_ns > out->last_ns)
        out->last_ns = n->last_ns;
}

/* A closed session gave its own account, in its ring if need be; of any other, only what is said in
 * place is known. */
static void count_losses(struct as_layers *out)
{
    const struct as_run_health *h = &out->run->health;
    uint64_t seen = 0;

    for (size_t i = 0; i < out->n_threads; i++) {
        seen += out->thread[i].lost;
        out->lost_unknown |= out->thread[i].lost_unknown && !h->closed;
    }
    if (h->closed) {
        out->lost_events = as_run_health_lost(h);
        if (out->lost_events < h->told_lost) /* a block of losses was damaged */
            out->lost_events = h->told_lost;
        if (h->expected_events > h->events)
            out->lost_events += h->expected_events - h->events;
    } else {
        out->lost_events = seen + h->damaged_events + h->cut_events;
        if (h->write_sys) /* all of them, those in place too */
            out->lost_events = as_run_health_lost(h) + h->damaged_events;
        out->lost_unknown |=
            h->damaged_blocks > 0 || !h->ring_found; /* the last events were in the ring */
    }
    out->lost_events += out->bad_events;
}

static void find_cost(struct as_layers *out)
{
    double pair_ticks, floor_ticks, thread_ns = 0;

    if (!as_run_fact_number(out->run, "cost.pair_ticks", &pair_ticks) || pair_ticks <= 0)
        return;
    out->cost_known = true;
    out->cost_pair_ns = pair_ticks * out->run->time.mean_rate;
    if (as_run_fact_number(out->run, "cost.floor_ticks", &floor_ticks))
        out->cost_floor_ns = floor_ticks * out->run->time.mean_rate;
    for (size_t i = 0; i < out->n_threads; i++) {
        const struct as_walk_counts *n = &out->thread[i].counts;

        out->cost_total_ns += (double)n->spans * out->cost_pair_ns;
        if (!as_run_thread_is_ours(out->thread[i].info))
            thread_ns += (double)(n->last_ns - n->first_ns);
    }
    out->cost_share = thread_ns > 0 ? out->cost_total_ns / thread_ns : 0;
}

static int walk_threads(struct as_collector *c, int64_t only, struct assay_error *err)
{
    struct as_layers *out = c->out;

    out->thread =
        as_arena_zero(&out->arena, c->run->n_threads ? c->run->n_threads : 1, sizeof *out->thread);
    if (!out->thread)
        return as_fail_nomem(err);
    out->first_ns = UINT64_MAX;
    for (size_t i = 0; i < c->run->n_threads; i++) {
        const struct as_run_thread *thread = &c->run->thread[i];
        struct as_thread_summary *summary = &out->thread[out->n_threads];
        int rc;

        if (only >= 0 && thread->index != (uint64_t)only)
            continue;
        rc = as_collector_walk(c, thread, summary, err);
        if (rc < 0)
            return rc;
        out->n_threads++;
        add_thread(out, summary);
    }
    if (only >= 0 && out->n_threads == 0)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "%s has no thread %lld", c->run->path,
                       (long long)only);
    if (out->first_ns == UINT64_MAX)
        out->first_ns = 0;
    out->wall_ns = out->last_ns - out->first_ns;
    return ASSAY_OK;
}

static int make_result(struct as_collector *c, struct assay_error *err)
{
    struct as_layers *out = c->out;
    int rc;

    for (size_t i = 0; i < c->n_seen; i++)
        out->self_total_ns += is_phase(c, c->seen[i]) ? 0 : c->seen[i]->self_ns;
    count_losses(out);
    find_cost(out);
    make_phases(c);
    rc = make_layers(c, err);
    if (rc == ASSAY_OK)
        rc = make_thread_layers(c, err);
    if (rc == ASSAY_OK)
        rc = as_call_tree_order(&c->tree, &out->arena, &out->node, &out->n_nodes, err);
    if (rc == ASSAY_OK)
        rc = make_channels(c, err);
    if (rc == ASSAY_OK)
        rc = make_iterations(out, err);
    c->events.run = c->run;
    if (rc == ASSAY_OK)
        rc = as_events_finish(&c->events, &out->arena, &out->events_beside, err);
    return rc;
}

int as_layers_analyze(struct as_layers **result, struct as_run *run,
                      const struct as_layers_options *options, struct assay_error *err)
{
    static const struct as_layers_options usual = AS_LAYERS_OPTIONS_INIT;
    const struct as_layers_options *o = options ? options : &usual;
    struct as_layers *out = as_alloc_zero(1, sizeof *out);
    struct as_collector c = {0};
    int rc;

    *result = NULL;
    if (!out)
        return as_fail_nomem(err);
    out->run = run;
    rc = as_collector_init(&c, run, out, o->max_samples ? o->max_samples : AS_MAX_SAMPLES, err);
    if (rc == ASSAY_OK)
        rc = walk_threads(&c, o->thread, err);
    if (rc == ASSAY_OK)
        rc = make_result(&c, err);
    as_collector_fini(&c);
    if (rc < 0)
        as_layers_free(out);
    else
        *result = out;
    return rc;
}

void as_layers_free(struct as_layers *layers)
{
    if (!layers)
        return;
    as_free(layers->thread_layer);
    as_free(layers->iterations.record);
    as_arena_fini(&layers->arena);
    as_free(layers);
}
