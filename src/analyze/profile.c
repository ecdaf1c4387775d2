/* analyze/profile.c - where the time and memory of a network go, and what bounds each part of it.
 * Steps are joined with the counts of the nodes whose work they do. */
#include "analyze/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/inspect.h"
#include "base/alloc.h"
#include "format/name_map.h"
#include "model/cost_rules.h"

struct joining {
    struct as_profile *profile;
    const struct as_profile_run *run;
    const struct as_costs *costs;
    uint32_t *chain, *next; /* rows by the hash of their node */
    size_t n_chains;
    uint64_t footprint_bytes;
    double *sorted; /* room for one layer's times */
};

static size_t hash_of(const struct joining *j, const struct as_node *node)
{
    uint64_t bits = (uint64_t)(uintptr_t)node >> 4;

    return (size_t)((bits * 0x9e3779b97f4a7c15u >> 20) % j->n_chains);
}

static int index_rows(struct joining *j, struct assay_error *err)
{
    j->n_chains = 2 * j->costs->n_rows + 1;
    j->chain = as_alloc_zero(j->n_chains, sizeof *j->chain);
    j->next = as_alloc_zero(j->costs->n_rows + 1, sizeof *j->next);
    if (!j->chain || !j->next)
        return as_fail_nomem(err);
    for (size_t i = 0; i < j->costs->n_rows; i++) {
        size_t h = hash_of(j, j->costs->rows[i].node);

        j->next[i] = j->chain[h];
        j->chain[h] = (uint32_t)i + 1;
    }
    return ASSAY_OK;
}

static const struct as_cost_row *find_row(const struct joining *j, const struct as_node *node)
{
    for (uint32_t i = j->chain[hash_of(j, node)]; i; i = j->next[i - 1])
        if (j->costs->rows[i - 1].node == node)
            return &j->costs->rows[i - 1];
    return NULL;
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
static void join_costs(const struct joining *j, struct as_profile_layer *layer)
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
    layer->bytes = as_sat_add(layer->step.bytes_in, layer->step.bytes_out);
    if (layer->step.n_sources == 1 && layer->counted && !layer->step.fused[0])
        layer->bytes = as_sat_add(sum.bytes_read, sum.bytes_written);
    layer->weight_bytes =
        layer->step.weight_bytes < layer->bytes ? layer->step.weight_bytes : layer->bytes;
    layer->type = type_of(layer);
}

static int compare_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sum_up_times(const struct joining *j, struct as_profile_layer *layer)
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
static double covered_by(const struct joining *j)
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
static void stretch_layers(const struct joining *j)
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

static void find_roof(const struct joining *j, struct as_roof *roof, enum as_peak_type type,
                      const uint64_t *counts, double ns)
{
    struct as_roof_work work = {.type = type,
                                .flops = (double)counts[0],
                                .streamed_bytes = (double)counts[2],
                                .local_bytes = (double)(counts[1] - counts[2]),
                                .footprint_bytes = j->footprint_bytes,
                                .seconds = ns * 1e-9,
                                .threads = j->profile->threads};

    if (j->profile->peaks)
        as_roof_find(roof, j->profile->peaks, &work);
    else
        *roof = (struct as_roof){.intensity = (double)NAN,
                                 .achieved = work.flops / work.seconds,
                                 .bandwidth = (double)(counts[1]) / work.seconds,
                                 .attainable = (double)NAN,
                                 .compute_seconds = (double)NAN,
                                 .memory_seconds = (double)NAN,
                                 .roof_fraction = (double)NAN};
}

static int make_layer(struct joining *j, size_t step)
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

static void finish_layers(struct joining *j)
{
    struct as_profile *p = j->profile;
    double so_far = 0;

    for (size_t i = 0; i < p->n_layers; i++) {
        struct as_profile_layer *layer = &p->layers[i];
        uint64_t counts[] = {layer->flops, layer->bytes, layer->weight_bytes};

        layer->share = p->sum_ns > 0 ? layer->self_ns / p->sum_ns : 0;
        find_roof(j, &layer->roof, layer->type, counts, layer->self_ns);
        if (!layer->counted) {
            layer->roof.bound = AS_BOUND_UNKNOWN;
            layer->roof.roof_fraction = (double)NAN;
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

/* ---- groups ---- */

static const char *group_name(struct as_profile *p, const struct as_profile_layer *layer,
                              bool by_op, unsigned depth)
{
    const char *name = layer->step.name;
    size_t size;

    if (by_op)
        return layer->step.op;
    if (layer->step.is_reorder)
        return "(reorders)";
    size = as_name_scope(name, depth);
    return size ? as_arena_text(&p->arena, name, size) : "(top)";
}

/* The group of that name, made when it is new; NULL: no memory. */
static struct as_profile_group *group_for(struct as_profile_group *groups, size_t *n,
                                          struct as_name_map *names, const char *name)
{
    const uint64_t *place = as_name_map_find(names, name, strlen(name));

    if (place)
        return &groups[*place];
    if (as_name_map_put(names, name, strlen(name), *n) < 0)
        return NULL;
    groups[*n] = (struct as_profile_group){.name = name, .counted = true};
    return &groups[(*n)++];
}

static int compare_groups(const void *a, const void *b)
{
    const struct as_profile_group *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns < y->self_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void add_to_group(struct as_profile_group *group, const struct as_profile_layer *layer)
{
    group->n_layers++;
    group->calls += layer->calls;
    group->self_ns += layer->self_ns;
    group->share += layer->share;
    group->counted = group->counted && layer->counted;
    group->macs = as_sat_add(group->macs, layer->macs);
    group->flops = as_sat_add(group->flops, layer->flops);
    group->bytes = as_sat_add(group->bytes, layer->bytes);
    group->weight_bytes = as_sat_add(group->weight_bytes, layer->weight_bytes);
    if (layer->type != AS_PEAK_F32)
        group->type = layer->type;
    group->bound_ns[layer->roof.bound] += layer->self_ns;
    if (layer->roof.bound == AS_BOUND_MEMORY)
        group->level_ns[layer->roof.level] += layer->self_ns;
    if (!isnan(layer->roof.roof_fraction))
        group->roof_ns += layer->roof.roof_fraction * layer->self_ns;
}

/* Each layer has its own roof: that of a group is its layers' time at the roof over the time taken,
 * and its bound that of the layers with most of the time. */
static void finish_group(const struct joining *j, struct as_profile_group *group)
{
    uint64_t counts[] = {group->flops, group->bytes, group->weight_bytes};
    enum as_bound bound = AS_BOUND_UNKNOWN;
    enum as_peak_level level = AS_PEAK_L1;

    find_roof(j, &group->roof, group->type, counts, group->self_ns);
    group->roof.roof_fraction =
        j->profile->peaks && group->self_ns > 0 ? group->roof_ns / group->self_ns : (double)NAN;
    for (int b = 0; b < AS_BOUND_COUNT; b++)
        if (group->bound_ns[b] > group->bound_ns[bound])
            bound = (enum as_bound)b;
    /* The rule for layers holds for the whole of them too. */
    if (bound != AS_BOUND_UNKNOWN && group->roof.roof_fraction < AS_ROOF_OVERHEAD_SHARE)
        bound = AS_BOUND_OVERHEAD;
    else if (bound == AS_BOUND_OVERHEAD)
        bound = group->bound_ns[AS_BOUND_MEMORY] > group->bound_ns[AS_BOUND_COMPUTE]
                    ? AS_BOUND_MEMORY
                    : AS_BOUND_COMPUTE;
    for (int l = 0; l < AS_PEAK_LEVEL_COUNT; l++)
        if (group->level_ns[l] > group->level_ns[level])
            level = (enum as_peak_level)l;
    group->roof.bound = bound;
    group->roof.level = level;
}

static int make_groups(struct joining *j, bool by_op, unsigned depth, struct as_profile_group **out,
                       size_t *n_out, struct assay_error *err)
{
    struct as_profile *p = j->profile;
    struct as_profile_group *groups = as_arena_zero(&p->arena, p->n_layers + 1, sizeof *groups);
    struct as_name_map names = {0};
    double so_far = 0;
    size_t n = 0;
    int rc = groups ? ASSAY_OK : as_fail_nomem(err);

    for (size_t i = 0; i < p->n_layers && rc == ASSAY_OK; i++) {
        const char *name = group_name(p, &p->layers[i], by_op, depth);
        struct as_profile_group *group = name ? group_for(groups, &n, &names, name) : NULL;

        if (group)
            add_to_group(group, &p->layers[i]);
        else
            rc = as_fail_nomem(err);
    }
    if (rc == ASSAY_OK)
        qsort(groups, n, sizeof *groups, compare_groups);
    for (size_t i = 0; i < n && rc == ASSAY_OK; i++) {
        finish_group(j, &groups[i]);
        so_far += groups[i].share;
        groups[i].cumulative_share = so_far;
    }
    *out = groups;
    *n_out = n;
    as_name_map_fini(&names);
    return rc;
}

/* ---- the whole ---- */

static uint64_t bytes_of(const struct as_fact *fact)
{
    return fact->why ? 0 : fact->value;
}

/* The kernel sums up pages by thread late, so a later reading of the peak can be a bit lower. */
static uint64_t greatest_rss(const struct as_memory_pass *pass)
{
    uint64_t timed = bytes_of(&pass->timed.rss_peak), ran = bytes_of(&pass->ran.rss_peak);

    return timed > ran ? timed : ran;
}

static void sum_up_memory(struct as_profile *p, const struct as_params *params)
{
    const struct as_memory_pass *pass = &p->run->memory;
    const struct as_mem *mem = &pass->counted;

    p->memory = (struct as_profile_memory){
        .parameter_bytes = params->parameter_bytes,
        .counted = p->run->memory_counted,
        .why = p->run->no_memory.code ? p->run->no_memory.msg : NULL,
        .held_bytes = p->run->memory_counted
                          ? mem->of[AS_MEM_PARAMETERS].peak_bytes
                          : as_engine_memory(p->run->engine)->of[AS_MEM_PARAMETERS].current_bytes,
        .activation_bytes = mem->of[AS_MEM_ACTIVATIONS].peak_bytes,
        .planned_bytes = pass->plan.peak_bytes,
        .planned = pass->plan.known,
        .workspace_bytes = mem->of[AS_MEM_WORKSPACE].peak_bytes,
        .kv_cache_bytes = mem->of[AS_MEM_KV_CACHE].peak_bytes,
        .peak_bytes = mem->all.peak_bytes,
        .rss_bytes = bytes_of(&pass->timed.rss),
        .peak_rss_bytes = greatest_rss(pass),
        .base_rss_bytes = bytes_of(&pass->before.rss),
        .rss_known = !pass->timed.rss.why && !pass->ran.rss_peak.why,
        .peak_rss_fresh = pass->peak_is_fresh,
        .efficiency = (double)NAN,
    };
    if (p->memory.peak_bytes > 0)
        p->memory.efficiency = (double)(p->memory.held_bytes + p->memory.activation_bytes) /
                               (double)p->memory.peak_bytes;
}

/* The whole is bound by what bounds most of its time, of memory by the level with most of that. */
static void choose_bound(struct as_profile *p)
{
    double of_level[AS_PEAK_LEVEL_COUNT] = {0};

    p->roof.bound = AS_BOUND_UNKNOWN;
    for (int b = 0; b < AS_BOUND_COUNT; b++)
        if (p->bound_share[b] > p->bound_share[p->roof.bound])
            p->roof.bound = (enum as_bound)b;
    if (p->roof.bound != AS_BOUND_UNKNOWN && p->roof.roof_fraction < AS_ROOF_OVERHEAD_SHARE)
        p->roof.bound = AS_BOUND_OVERHEAD;
    else if (p->roof.bound == AS_BOUND_OVERHEAD)
        p->roof.bound = p->bound_share[AS_BOUND_MEMORY] > p->bound_share[AS_BOUND_COMPUTE]
                            ? AS_BOUND_MEMORY
                            : AS_BOUND_COMPUTE;
    for (size_t i = 0; i < p->n_layers; i++)
        if (p->layers[i].roof.bound == AS_BOUND_MEMORY)
            of_level[p->layers[i].roof.level] += p->layers[i].share;
    for (int l = 0; l < AS_PEAK_LEVEL_COUNT; l++)
        if (of_level[l] > of_level[p->roof.level])
            p->roof.level = (enum as_peak_level)l;
}

static void sum_up(struct joining *j, const struct as_params *params)
{
    struct as_profile *p = j->profile;
    uint64_t counts[3] = {0};

    p->parameters = params->parameters;
    p->n_nodes = j->costs->n_rows;
    p->cost = j->costs->forward;
    p->flops = as_cost_flops(&p->cost);
    p->batch = j->costs->batch;
    p->counted = j->costs->n_unknown_ops == 0 && j->costs->n_unknown_shapes == 0 &&
                 j->costs->times_known && !j->costs->overflow;
    for (size_t i = 0; i < p->n_layers; i++) {
        counts[1] = as_sat_add(counts[1], p->layers[i].bytes);
        counts[2] = as_sat_add(counts[2], p->layers[i].weight_bytes);
    }
    counts[0] = p->flops;
    p->bytes = counts[1];
    p->run_ns = j->run->profiled ? j->run->profile.profiled.summary.median : (double)NAN;
    p->covered_share = j->run->profiled ? p->sum_ns / p->run_ns : (double)NAN;
    find_roof(j, &p->roof, p->n_ops ? p->ops[0].type : AS_PEAK_F32, counts,
              j->run->latency.figures.summary.median);
    /* Of the whole the roof is that of its parts, one after the other. */
    if (p->n_layers > 0 && p->peaks) {
        double at_roof = 0;

        for (size_t i = 0; i < p->n_layers; i++)
            if (isfinite(p->layers[i].roof.roof_fraction))
                at_roof += p->layers[i].roof.roof_fraction * p->layers[i].self_ns;
        p->roof.roof_fraction = at_roof / j->run->latency.figures.summary.median;
        p->roof.attainable = at_roof > 0 ? (double)p->flops / at_roof * 1e9 : (double)NAN;
        p->roof.inconsistent = p->roof.roof_fraction > as_roof_most(p->peaks);
        choose_bound(p);
    }
    if (p->roof.bound == AS_BOUND_UNKNOWN)
        p->roof.roof_fraction = (double)NAN;
    p->samples_per_second = as_latency_throughput(&j->run->latency, (double)p->batch);
    p->tokens_per_second =
        p->tokens > 0 ? as_latency_throughput(&j->run->latency, (double)p->tokens) : (double)NAN;
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

static int fill(struct joining *j, const struct as_profile_inputs *in,
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
    sum_up_memory(p, params);
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
    rc = make_groups(j, true, 0, &p->ops, &p->n_ops, err);
    if (rc == ASSAY_OK)
        rc = make_groups(j, false, in->scope_depth, &p->scopes, &p->n_scopes, err);
    if (rc == ASSAY_OK)
        sum_up(j, params);
    return rc;
}

int as_profile_new(struct as_profile **out, const struct as_profile_inputs *in,
                   struct assay_error *err)
{
    struct as_profile *p = as_alloc_zero(1, sizeof *p);
    struct joining j = {.profile = p, .run = in->run};
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
    as_free(j.next);
    as_free(j.chain);
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
