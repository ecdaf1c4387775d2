/* analyze/model/profile.c - where the time and memory of a network go, and what bounds each part of
 * it. Steps are joined with the counts of the nodes whose work they do. */
#include "analyze/model/profile.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "analyze/model/profile_internal.h"
#include "base/alloc.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

static int index_rows(struct as_joining *j, struct assay_error *err)
{
    for (size_t i = 0; i < j->costs->n_rows; i++) {
        const struct as_node *const *node = &j->costs->rows[i].node;
        uint64_t *known = as_hash_map_find(&j->row_of_node, node, sizeof(void *));

        if (known)
            *known = i; /* the last row of a node stands for it */
        else if (as_hash_map_put(&j->row_of_node, node, sizeof(void *), i) < 0)
            return as_fail_nomem(err);
    }
    return ASSAY_OK;
}

static const struct as_cost_row *find_row(const struct as_joining *j, const struct as_node *node)
{
    const uint64_t *at = as_hash_map_find(&j->row_of_node, &node, sizeof(void *));

    return at ? &j->costs->rows[*at] : NULL;
}

/* What numbers a layer computes with, for the roof it is held against. */
static enum as_peak_type type_of(const struct as_profile_layer *layer)
{
    const struct as_value *value;
    const struct as_node *node = layer->step.node;

    if (!node || !layer->macs)
        return AS_PEAK_F32;
    if (strncmp(layer->step.op, "QLinear", 7) == 0 || strstr(layer->step.op, "Integer") ||
        strcmp(layer->step.op, "QGemm") == 0 || strncmp(layer->step.op, "DynamicQuantize", 15) == 0)
        return AS_PEAK_I8;
    value = as_node_input(layer->step.graph, node, 0);
    if (value && (value->type.dtype == AS_DTYPE_I8 || value->type.dtype == AS_DTYPE_U8))
        return AS_PEAK_I8;
    return value && value->type.dtype == AS_DTYPE_F64 ? AS_PEAK_F64 : AS_PEAK_F32;
}

/* Counts of the nodes in it. Tensors between fused nodes are never stored, so the bytes are those
 * of the step; those of a single node are its own, of a lookup only the rows taken. */
static void join_costs(const struct as_joining *j, struct as_profile_layer *layer)
{
    struct as_cost sum = {0};

    layer->counted = true;
    for (size_t i = 0; i < layer->step.n_sources; i++) {
        const struct as_cost_row *row = find_row(j, layer->step.sources[i]);

        if (!row || row->state != AS_COST_KNOWN || !row->times_known)
            layer->counted = layer->counted && row && row->constant;
        else
            as_cost_add(&sum, &row->forward, row->times);
    }
    layer->macs = sum.macs;
    layer->flops = as_cost_flops(&sum);
    layer->bytes =
        as_sat_mul(as_sat_add(layer->step.bytes_in, layer->step.bytes_out), layer->calls);
    if (layer->step.n_sources == 1 && layer->counted && !layer->step.fused[0])
        layer->bytes = as_sat_add(sum.bytes_read, sum.bytes_written);
    layer->weight_bytes = as_sat_mul(layer->step.weight_bytes, layer->calls);
    if (layer->weight_bytes > layer->bytes)
        layer->weight_bytes = layer->bytes;
    layer->type = type_of(layer);
}

static int compare_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sum_up_times(const struct as_joining *j, struct as_profile_layer *layer)
{
    size_t n = layer->n_trail;
    struct as_summary s;
    struct as_sorted sorted;

    for (size_t i = 0; i < n; i++)
        j->sorted[i] = (double)layer->trail[i];
    qsort(j->sorted, n, sizeof *j->sorted, compare_f64);
    sorted = as_sorted_f64(j->sorted, n);
    as_summary_sorted(&s, &sorted, AS_QUANTILE_LINEAR);
    layer->mean_ns = s.mean;
    layer->std_ns = s.std_sample;
    layer->min_ns = s.min;
    layer->max_ns = s.max;
    layer->p95_ns = s.percentile[AS_SUMMARY_P95];
    /* A processor that runs faster for a while shortens all layers of a run together, so what is
     * typical of a layer is its share of a run. */
    for (size_t i = 0; i < n; i++)
        j->sorted[i] = (double)layer->trail[i] / j->run->profile.run_ns[i];
    qsort(j->sorted, n, sizeof *j->sorted, compare_f64);
    sorted = as_sorted_f64(j->sorted, n);
    layer->self_ns = as_sorted_median(&sorted) * j->run->profile.profiled.summary.median;
}

/* How much of a run its layers explain: of each run, then the median of these. */
static double covered_by(const struct as_joining *j)
{
    const struct as_profile_pass *pass = &j->run->profile;
    const struct as_profile *p = j->profile;
    struct as_sorted sorted;

    for (size_t r = 0; r < pass->n_runs; r++) {
        double sum = 0;

        for (size_t i = 0; i < p->n_layers; i++)
            sum += (double)p->layers[i].trail[r];
        j->sorted[r] = sum / pass->run_ns[r];
    }
    qsort(j->sorted, pass->n_runs, sizeof *j->sorted, compare_f64);
    sorted = as_sorted_f64(j->sorted, pass->n_runs);
    return as_sorted_median(&sorted);
}

/* A stall that hits another layer in each run is in every run and in no layer's median, so medians
 * add up to less than a run took. All layers are stretched alike until they add up to it. */
static void stretch_layers(const struct as_joining *j)
{
    struct as_profile *p = j->profile;
    double sum = 0, stretch;

    for (size_t i = 0; i < p->n_layers; i++)
        sum += p->layers[i].self_ns;
    stretch = sum > 0 ? covered_by(j) * j->run->profile.profiled.summary.median / sum : 1;
    for (size_t i = 0; i < p->n_layers; i++) {
        p->layers[i].self_ns *= stretch;
        p->sum_ns += p->layers[i].self_ns;
    }
}

void as_profile_find_roof(const struct as_joining *j, struct as_roof *roof, enum as_peak_type type,
                          const struct as_profile_counts *counts, double ns)
{
    struct as_roof_work work = {.type = type,
                                .flops = (double)counts->flops,
                                .streamed_bytes = (double)counts->weight_bytes,
                                .local_bytes = (double)(counts->bytes - counts->weight_bytes),
                                .footprint_bytes = j->footprint_bytes,
                                .seconds = ns * 1e-9,
                                .threads = j->profile->threads};

    if (j->profile->peaks)
        as_roof_find(roof, j->profile->peaks, &work);
    else
        *roof = (struct as_roof){.intensity = AS_UNKNOWN,
                                 .achieved = work.flops / work.seconds,
                                 .bandwidth = (double)counts->bytes / work.seconds,
                                 .attainable = AS_UNKNOWN,
                                 .compute_seconds = AS_UNKNOWN,
                                 .memory_seconds = AS_UNKNOWN,
                                 .roof_fraction = AS_UNKNOWN};
}

static int make_layer(struct as_joining *j, size_t step)
{
    const struct as_profile_run *run = j->run;
    struct as_profile *p = j->profile;
    struct as_profile_layer *layer = &p->layers[p->n_layers];

    as_engine_step(run->engine, step, &layer->step);
    layer->step.fused = as_arena_text(&p->arena, layer->step.fused, strlen(layer->step.fused));
    if (!layer->step.fused)
        return ASSAY_ERR_NOMEM;
    layer->index = step;
    layer->calls = run->profile.calls[step * run->profile.n_runs];
    layer->trail = &run->profile.self_ns[step * run->profile.n_runs];
    layer->n_trail = run->profile.n_runs;
    layer->live_known = run->memory_counted;
    layer->live_bytes = run->memory_counted ? run->memory.live_bytes[step] : 0;
    if (layer->calls == 0)
        return ASSAY_OK; /* a view that is free, a branch not taken */
    join_costs(j, layer);
    sum_up_times(j, layer);
    p->n_layers++;
    return ASSAY_OK;
}

static int compare_times(const void *a, const void *b, void *user)
{
    const struct as_profile_layer *layers = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (layers[x].self_ns != layers[y].self_ns)
        return layers[x].self_ns < layers[y].self_ns ? 1 : -1;
    return (x > y) - (x < y);
}

static void finish_layers(struct as_joining *j)
{
    struct as_profile *p = j->profile;
    double so_far = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        struct as_profile_layer *layer = &p->layers[i];
        struct as_profile_counts counts = {layer->flops, layer->bytes, layer->weight_bytes};

        layer->share = p->sum_ns > 0 ? layer->self_ns / p->sum_ns : 0;
        as_profile_find_roof(j, &layer->roof, layer->type, &counts, layer->self_ns);
        if (!layer->counted) {
            layer->roof.bound = AS_BOUND_UNKNOWN;
            layer->roof.roof_fraction = layer->roof.attainable = AS_UNKNOWN;
        }
        p->by_time[i] = (uint32_t)i;
        p->bound_share[layer->roof.bound] += layer->share;
        if (layer->step.is_reorder)
            p->reorder_share += layer->share;
        else if (strcmp(layer->step.kernel, "plain C") == 0)
            p->plain_share += layer->share;
    }
    qsort_r(p->by_time, p->n_layers, sizeof *p->by_time, compare_times, p->layers);
    for (size_t i = 0; i < p->n_layers; i++) {
        so_far += p->layers[p->by_time[i]].share;
        p->layers[p->by_time[i]].cumulative_share = so_far;
    }
}

/* Tokens that go in with one run: elements of a first input of integers that is looked up. */
static uint64_t tokens_of(const struct as_model *model)
{
    for (uint32_t i = 0; model->main && i < model->main->n_inputs; i++) {
        const struct as_value *value = &model->values[model->main->inputs[i]];
        uint64_t n;

        if (value->is_input && as_dtype_is_integer(value->type.dtype) && value->type.rank == 2 &&
            (strstr(value->name, "ids") || strstr(value->name, "tokens")) &&
            as_type_elems(&value->type, &n))
            return n;
    }
    return 0;
}

static int fill(struct as_joining *j, const struct as_profile_inputs *in,
                const struct as_params *params, struct assay_error *err)
{
    struct as_profile *p = j->profile;
    size_t n_steps = j->run->profiled ? j->run->profile.n_steps : 0;
    int rc = index_rows(j, err);

    p->layers = as_arena_zero(&p->arena, n_steps + 1, sizeof *p->layers);
    p->by_time = as_arena_zero(&p->arena, n_steps + 1, sizeof *p->by_time);
    j->sorted = as_alloc_zero(j->run->profile.n_runs + 1, sizeof *j->sorted);
    if (!p->layers || !p->by_time || !j->sorted)
        return as_fail_nomem(err);
    as_profile_sum_memory(p, params);
    j->footprint_bytes =
        as_sat_add(p->memory.held_bytes,
                   p->memory.counted ? p->memory.activation_bytes : p->memory.planned_bytes);
    for (size_t i = 0; i < n_steps && rc == ASSAY_OK; i++)
        if (make_layer(j, i) < 0)
            rc = as_fail_nomem(err);
    if (rc < 0)
        return rc;
    stretch_layers(j);
    finish_layers(j);
    rc = as_profile_group(j, true, 0, &p->ops, &p->n_ops, err);
    if (rc == ASSAY_OK)
        rc = as_profile_group(j, false, in->scope_depth, &p->scopes, &p->n_scopes, err);
    if (rc == ASSAY_OK)
        as_profile_sum_up(j, params);
    return rc;
}

int as_profile_new(struct as_profile **out, const struct as_profile_inputs *in,
                   struct assay_error *err)
{
    struct as_profile *p = as_alloc_zero(1, sizeof *p);
    struct as_joining j = {.profile = p, .run = in->run};
    struct as_params *params = NULL;
    struct as_costs *costs = NULL;
    int rc;

    *out = NULL;
    if (!p)
        return as_fail_nomem(err);
    p->run = in->run;
    p->model = in->model;
    p->peaks = in->peaks;
    p->why_no_peaks = in->why_no_peaks;
    p->threads = in->run->threads;
    p->tokens = tokens_of(in->model);
    as_engine_tell_shapes(in->run->engine);
    rc = as_costs_new(&costs, in->model, err);
    if (rc == ASSAY_OK)
        rc = as_params_new(&params, in->model, false, err);
    j.costs = costs;
    if (rc == ASSAY_OK)
        rc = fill(&j, in, params, err);
    if (rc == ASSAY_OK)
        as_profile_advise(p);
    as_free(j.sorted);
    as_hash_map_fini(&j.row_of_node);
    as_params_free(params);
    as_costs_free(costs);
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
    as_arena_fini(&profile->arena);
    as_free(profile);
}
