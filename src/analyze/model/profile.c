/* analyze/model/profile.c - where the time and memory of a network go, and what bounds each part of
 * it. Steps are joined with the counts of the nodes whose work they do. */
#include "analyze/model/profile.h"

#include <string.h>

#include "analyze/model/layer_times.h"
#include "analyze/model/profile_internal.h"
#include "base/alloc.h"
#include "base/text/name_fit.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

#define SHORT_NS 10000 /* a call this short is mostly start and hand-over */

/* Statistics of the layer's times alone; what is typical of it comes from as_layer_times(). */
static void sum_up_times(struct as_profile_layer *layer, double *sorted, double *scratch)
{
    size_t n = layer->step->n_inferences;
    struct as_summary s;
    struct as_sorted view;

    for (size_t i = 0; i < n; i++)
        sorted[i] = (double)layer->step->self_ns[i];
    as_sort_f64(sorted, n, scratch);
    view = as_sorted_f64(sorted, n);
    as_summary_sorted(&s, &view, AS_QUANTILE_LINEAR);
    layer->mean_ns = s.mean;
    layer->std_ns = s.std_sample;
    layer->min_ns = s.min;
    layer->max_ns = s.max;
    layer->p95_ns = s.percentile[AS_SUMMARY_P95];
}

void as_profile_find_roof(const struct as_joining *j, struct as_roof *roof, enum as_peak_type type,
                          const struct as_profile_counts *counts, double ns)
{
    struct as_roof_work work = {.type = type,
                                .flops = (double)counts->flops,
                                .streamed_bytes = (double)counts->weight_bytes,
                                .local_bytes = (double)(counts->bytes - counts->weight_bytes),
                                .footprint_bytes = j->footprint_bytes,
                                .seconds = ns / 1e9,
                                .threads = counts->threads};

    if (j->profile->peaks)
        as_roof_find(roof, j->profile->peaks, &work);
    else
        *roof = (struct as_roof){.intensity = counts->bytes > 0 ? work.flops / (double)counts->bytes
                                                                : AS_UNKNOWN,
                                 .achieved = work.flops / work.seconds,
                                 .bandwidth = (double)counts->bytes / work.seconds,
                                 .attainable = AS_UNKNOWN,
                                 .compute_seconds = AS_UNKNOWN,
                                 .memory_seconds = AS_UNKNOWN,
                                 .roof_fraction = AS_UNKNOWN};
}

static int make_layers(struct as_joining *j, struct assay_error *err)
{
    const struct as_profile_data *d = j->data;
    struct as_profile *p = j->profile;
    double *room = as_alloc_zero(2 * d->n_runs + d->n_steps + 1, sizeof *room);
    int rc;

    if (!room)
        return as_fail_nomem(err);
    rc = as_layer_times(room, &p->sum_ns, d, NULL, d->n_steps, err);
    for (size_t i = 0; i < d->n_steps && rc == ASSAY_OK; i++) {
        struct as_profile_layer *layer = &p->layers[i];

        layer->step = &d->steps[i];
        layer->index = i;
        layer->self_ns = room[i];
        sum_up_times(layer, room + d->n_steps, room + d->n_steps + d->n_runs);
    }
    p->n_layers = d->n_steps;
    as_free(room);
    return rc;
}

static void finish_layers(struct as_joining *j)
{
    struct as_profile *p = j->profile;
    double so_far = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        struct as_profile_layer *layer = &p->layers[i];
        struct as_profile_counts counts = {
            layer->step->executed_flops, layer->step->bytes, layer->step->weight_bytes,
            layer->step->threads ? layer->step->threads : j->data->threads};

        layer->share = p->sum_ns > 0 ? layer->self_ns / p->sum_ns : 0;
        as_profile_find_roof(j, &layer->roof, layer->step->type, &counts, layer->self_ns);
        layer->roof.is_short = layer->self_ns < SHORT_NS * (double)layer->step->calls;
        if (!layer->step->counted) {
            layer->roof.bound = AS_BOUND_UNKNOWN;
            layer->roof.roof_fraction = layer->roof.attainable = AS_UNKNOWN;
        }
        p->bound_share[layer->roof.bound] += layer->share;
        if (layer->roof.bound == AS_BOUND_OVERHEAD && layer->roof.is_short)
            p->short_share += layer->share;
        if (layer->step->is_reorder)
            p->reorder_share += layer->share;
        else if (strcmp(layer->step->kernel, "plain C") == 0)
            p->plain_share += layer->share;
    }
    as_profile_order_by(p, 0, p->by_time);
    for (size_t i = 0; i < p->n_layers; i++) {
        so_far += p->layers[p->by_time[i]].share;
        p->layers[p->by_time[i]].cumulative_share = so_far;
    }
}

static int name_layers(struct as_profile *p, struct assay_error *err)
{
    const char **names = as_arena_zero(&p->arena, 2 * p->n_layers + 1, sizeof *names);

    if (!names)
        return as_fail_nomem(err);
    for (size_t i = 0; i < p->n_layers; i++)
        names[i] = p->layers[i].step->name;
    if (as_names_brief(names, p->n_layers, names + p->n_layers) < 0)
        return as_fail_nomem(err);
    for (size_t i = 0; i < p->n_layers; i++)
        p->layers[i].brief = names[p->n_layers + i];
    return ASSAY_OK;
}

/* Bytes of weights that one inference reads, each step's once: of a table that is looked up only
 * the rows taken. Not more than the engine keeps. */
static uint64_t weights_read(const struct as_profile_data *d, uint64_t held)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < d->n_steps; i++)
        sum = as_sat_add(sum, d->steps[i].weight_bytes / d->steps[i].calls);
    return sum < held && d->n_steps > 0 ? sum : held;
}

static int fill(struct as_joining *j, unsigned scope_depth, struct assay_error *err)
{
    struct as_profile *p = j->profile;
    const struct as_profile_data *d = j->data;
    int rc;

    p->layers = as_arena_zero(&p->arena, d->n_steps + 1, sizeof *p->layers);
    p->by_time = as_arena_zero(&p->arena, d->n_steps + 1, sizeof *p->by_time);
    if (!p->layers || !p->by_time)
        return as_fail_nomem(err);
    as_profile_sum_memory(p);
    j->footprint_bytes =
        as_sat_add(weights_read(d, p->memory.held_bytes),
                   p->memory.counted ? p->memory.activation_bytes : p->memory.planned_bytes);
    rc = make_layers(j, err);
    if (rc == ASSAY_OK)
        rc = name_layers(p, err);
    if (rc < 0)
        return rc;
    finish_layers(j);
    rc = as_profile_group(j, true, 0, &p->ops, &p->n_ops, err);
    if (rc == ASSAY_OK)
        rc = as_profile_group(j, false, scope_depth, &p->scopes, &p->n_scopes, err);
    return rc == ASSAY_OK ? as_profile_sum_up(j, err) : rc;
}

int as_profile_new(struct as_profile **out, const struct as_profile_data *data,
                   unsigned scope_depth, struct assay_error *err)
{
    struct as_profile *p = as_alloc_zero(1, sizeof *p);
    struct as_joining j = {.profile = p, .data = data};
    int rc;

    *out = NULL;
    if (!p)
        return as_fail_nomem(err);
    p->data = data;
    p->peaks = data->has_peaks ? &data->peaks : NULL;
    as_fitness_judge(&p->fitness, &(struct as_fitness_facts){.topology = &data->topology,
                                                             .load = &data->load,
                                                             .headroom = &data->headroom,
                                                             .peaks = p->peaks});
    rc = fill(&j, scope_depth, err);
    if (rc == ASSAY_OK)
        as_profile_recommend(p);
    if (rc == ASSAY_OK && data->decode) /* which has none of its own */
        rc = as_profile_new(&p->decode, data->decode, scope_depth, err);
    if (rc < 0)
        as_profile_free(p);
    else
        *out = p;
    return rc;
}

void as_profile_free(struct as_profile *profile)
{
    if (!profile)
        return;
    as_profile_free(profile->decode);
    as_arena_fini(&profile->arena);
    as_free(profile);
}
