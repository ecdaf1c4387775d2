/* analyze/model/profile_whole.c - a profiled network as a whole: its memory, its roof, what bounds
 * it. Work that is set against a time is always that of the same layers. */
#include <math.h>

#include "analyze/model/profile_internal.h"
#include "base/alloc.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

#define PASS_DIFFERS 0.05

static uint64_t bytes_of(const struct as_fact *fact)
{
    return fact->why ? 0 : fact->value;
}

/* The kernel sums up pages by thread late, so a later reading of the peak can be a bit lower. */
static uint64_t greatest_rss(const struct as_profile_data *d)
{
    uint64_t timed = bytes_of(&d->timed.rss_peak), ran = bytes_of(&d->ran.rss_peak);

    return timed > ran ? timed : ran;
}

void as_profile_sum_memory(struct as_profile *p)
{
    const struct as_profile_data *d = p->data;
    const struct as_mem *mem = &d->memory;

    p->memory = (struct as_profile_memory){
        .parameter_bytes = d->model.parameter_bytes,
        .counted = d->memory_counted,
        .why = d->why_no_memory,
        .held_bytes = d->held_bytes,
        .widened = d->widened,
        .activation_bytes = mem->of[AS_MEM_ACTIVATIONS].peak_bytes,
        .planned_bytes = d->plan.peak_bytes,
        .planned = d->plan.known,
        .workspace_bytes = mem->of[AS_MEM_WORKSPACE].peak_bytes,
        .kv_cache_bytes = mem->of[AS_MEM_KV_CACHE].peak_bytes,
        .peak_bytes = mem->all.peak_bytes,
        .rss_bytes = bytes_of(&d->timed.rss),
        .peak_rss_bytes = greatest_rss(d),
        .base_rss_bytes = bytes_of(&d->before.rss),
        .rss_known = !d->timed.rss.why && !d->ran.rss_peak.why,
        .peak_rss_fresh = d->peak_is_fresh,
        .efficiency = AS_UNKNOWN,
    };
    if (p->memory.peak_bytes > 0)
        p->memory.efficiency = (double)(p->memory.held_bytes + p->memory.activation_bytes) /
                               (double)p->memory.peak_bytes;
}

enum as_bound as_profile_bound(const double of_bound[AS_BOUND_COUNT])
{
    enum as_bound most = AS_BOUND_UNKNOWN;

    for (int b = 0; b < AS_BOUND_COUNT; b++)
        if (of_bound[b] > of_bound[most])
            most = (enum as_bound)b;
    return most;
}

enum as_peak_level as_profile_level(const double of_level[AS_PEAK_LEVEL_COUNT])
{
    enum as_peak_level most = AS_PEAK_L1;

    for (int l = 0; l < AS_PEAK_LEVEL_COUNT; l++)
        if (of_level[l] > of_level[most])
            most = (enum as_peak_level)l;
    return most;
}

/* What is set against the roofs: work and time of the same layers. */
struct whole {
    struct as_profile_counts counts;
    double share;      /* of the time of all layers */
    double at_roof_ns; /* all of them one after the other, each at its roof */
    double level_share[AS_PEAK_LEVEL_COUNT];
};

static void add_layers(struct whole *whole, const struct as_profile *p)
{
    for (size_t i = 0; i < p->n_layers; i++) {
        const struct as_profile_layer *layer = &p->layers[i];

        if (!layer->step->counted)
            continue;
        whole->counts.flops = as_sat_add(whole->counts.flops, layer->step->executed_flops);
        whole->counts.bytes = as_sat_add(whole->counts.bytes, layer->step->bytes);
        whole->counts.weight_bytes =
            as_sat_add(whole->counts.weight_bytes, layer->step->weight_bytes);
        whole->share += layer->share;
        if (isfinite(layer->roof.roof_fraction))
            whole->at_roof_ns += layer->roof.roof_fraction * layer->self_ns;
        if (layer->roof.bound == AS_BOUND_MEMORY)
            whole->level_share[layer->roof.level] += layer->share;
    }
}

static const struct as_roof unknown_roof = {.intensity = AS_UNKNOWN,
                                            .achieved = AS_UNKNOWN,
                                            .bandwidth = AS_UNKNOWN,
                                            .attainable = AS_UNKNOWN,
                                            .compute_seconds = AS_UNKNOWN,
                                            .memory_seconds = AS_UNKNOWN,
                                            .roof_fraction = AS_UNKNOWN};

/* Of the whole the roof is that of its parts, one after the other; where some are not counted, of
 * the others and their share of the time. */
static void find_whole(struct as_joining *j)
{
    struct as_profile *p = j->profile;
    double ns = j->data->latency.figures.summary.median;
    struct whole whole = {0};

    p->type = p->n_ops ? p->ops[0].type : AS_PEAK_F32;
    if (p->n_layers == 0) {
        p->roof = unknown_roof;
        p->roof.achieved = ns > 0 ? (double)j->data->model.executed_flops / ns * 1e9 : AS_UNKNOWN;
        return;
    }
    whole.counts.threads = j->data->threads;
    add_layers(&whole, p);
    if (!j->data->model.complete)
        ns *= whole.share;
    as_profile_find_roof(j, &p->roof, p->type, &whole.counts, ns);
    if (!p->peaks)
        return;
    p->roof.roof_fraction = ns > 0 ? whole.at_roof_ns / ns : AS_UNKNOWN;
    p->roof.attainable =
        whole.at_roof_ns > 0 ? (double)whole.counts.flops / whole.at_roof_ns * 1e9 : AS_UNKNOWN;
    p->roof.inconsistent = p->roof.roof_fraction > as_roof_most(p->peaks);
    p->roof.bound = as_profile_bound(p->bound_share);
    p->roof.is_short = p->short_share > p->bound_share[AS_BOUND_OVERHEAD] / 2;
    p->roof.level = as_profile_level(whole.level_share);
    if (p->roof.bound == AS_BOUND_UNKNOWN)
        p->roof.roof_fraction = p->roof.attainable = AS_UNKNOWN;
}

/* Layers are timed in a pass of their own: how far it is from the one that the headline is of. */
static int compare_passes(struct as_profile *p, struct assay_error *err)
{
    const struct as_profile_data *d = p->data;
    const struct as_interval *headline = &d->latency.figures.median.interval;
    struct as_series_interval pass = {0};
    double median, *times;
    int rc;

    p->pass_ratio = AS_UNKNOWN;
    if (d->n_runs == 0 || d->latency.n == 0)
        return ASSAY_OK;
    times = as_alloc_zero(d->n_runs, sizeof *times);
    if (!times)
        return as_fail_nomem(err);
    for (size_t i = 0; i < d->n_runs; i++)
        times[i] = d->runs[i].run_ns;
    rc = as_latency_interval(&pass, times, d->n_runs, AS_LATENCY_LEVEL, &median, err);
    as_free(times);
    if (rc < 0)
        return rc;
    p->pass_ratio = p->run_ns / d->latency.figures.summary.median;
    if (headline->reached && pass.interval.reached)
        p->pass_differs = pass.interval.low > headline->high || pass.interval.high < headline->low;
    else
        p->pass_differs = fabs(p->pass_ratio - 1) > PASS_DIFFERS;
    return ASSAY_OK;
}

int as_profile_sum_up(struct as_joining *j, struct assay_error *err)
{
    const struct as_profile_data *d = j->data;
    struct as_profile *p = j->profile;

    for (size_t i = 0; i < p->n_layers; i++)
        p->bytes = as_sat_add(p->bytes, p->layers[i].step->bytes);
    p->run_ns = d->profiled ? d->profiled_median_ns : AS_UNKNOWN;
    p->covered_share = d->profiled ? p->sum_ns / p->run_ns : AS_UNKNOWN;
    find_whole(j);
    p->inferences_per_second = as_latency_throughput(&d->latency, 1);
    p->samples_per_second = d->model.batch_why
                                ? AS_UNKNOWN
                                : as_latency_throughput(&d->latency, (double)d->model.batch);
    p->tokens_per_second = d->model.tokens > 0
                               ? as_latency_throughput(&d->latency, (double)d->model.tokens)
                               : AS_UNKNOWN;
    return compare_passes(p, err);
}
