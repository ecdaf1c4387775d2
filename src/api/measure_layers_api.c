/* api/measure_layers_api.c - the public calls of assay/measure.h that profile a model layer by
 * layer. Layers are those that were counted; each has the time of the steps that did its work. */
#include <assay/measure.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "api/measure_internal.h"
#include "base/alloc.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"
#include "stats/describe/sorted.h"

enum { NO_STEP = -1 };

/* Which steps of the engine did the work of which layer: lists by layer. */
struct step_lists {
    int32_t *first; /* by layer */
    int32_t *next;  /* by step */
};

struct row_of_node {
    const struct as_node *node;
    size_t row;
};

static int by_node(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct row_of_node *)a)->node;
    uintptr_t y = (uintptr_t)((const struct row_of_node *)b)->node;

    return (x > y) - (x < y);
}

static int list_steps(struct step_lists *lists, const struct as_engine *engine,
                      const struct as_costs *costs, struct assay_error *err)
{
    size_t n_steps = as_engine_n_steps(engine), n_rows = costs->n_rows;
    struct row_of_node *index = as_alloc_zero(n_rows + 1, sizeof *index);

    lists->first = as_alloc_zero(n_rows + 1, sizeof *lists->first);
    lists->next = as_alloc_zero(n_steps + 1, sizeof *lists->next);
    if (!index || !lists->first || !lists->next) {
        as_free(index);
        return as_fail_nomem(err);
    }
    for (size_t i = 0; i < n_rows; i++) {
        index[i] = (struct row_of_node){costs->rows[i].node, i};
        lists->first[i] = NO_STEP;
    }
    qsort(index, n_rows, sizeof *index, by_node);
    for (size_t i = n_steps; i-- > 0;) {
        struct as_step_info info;
        struct row_of_node key = {0}, *found;

        as_engine_step(engine, i, &info);
        key.node = info.node ? info.node : info.n_sources ? info.sources[0] : NULL;
        found = key.node ? bsearch(&key, index, n_rows, sizeof *index, by_node) : NULL;
        if (!found)
            continue;
        lists->next[i] = lists->first[found->row];
        lists->first[found->row] = (int32_t)i;
    }
    as_free(index);
    return ASSAY_OK;
}

/* The times of all layers, and what is needed to find them. */
struct layer_times {
    const struct as_profile_pass *pass;
    struct step_lists lists;
    double *share;  /* of one layer or of all, by run */
    double *of_all; /* the same of all layers */
    double *sorting;
    double *ns; /* by layer; NaN: it is not run */
    double all_ns;
};

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* Its median share of a run, times the median run: a processor that is faster for a while shortens
 * all layers of a run together. */
static double typical_ns(struct layer_times *t, size_t row)
{
    size_t n = t->pass->n_runs;

    if (t->lists.first[row] == NO_STEP)
        return AS_UNKNOWN;
    memset(t->share, 0, n * sizeof *t->share);
    for (int32_t s = t->lists.first[row]; s != NO_STEP; s = t->lists.next[s])
        for (size_t i = 0; i < n; i++)
            t->share[i] += (double)t->pass->self_ns[(size_t)s * n + i] / t->pass->run_ns[i];
    for (size_t i = 0; i < n; i++)
        t->of_all[i] += t->share[i];
    return median_of(t->share, n, t->sorting) * t->pass->profiled.summary.median;
}

/* A stall that hits another layer in each run is in no layer's median: all are stretched alike
 * until they add up to what the layers of a run do. */
static void find_times(struct layer_times *t, size_t n_rows)
{
    double sum = 0, stretch;

    for (size_t i = 0; i < n_rows; i++) {
        t->ns[i] = typical_ns(t, i);
        sum += isnan(t->ns[i]) ? 0 : t->ns[i];
    }
    t->all_ns =
        median_of(t->of_all, t->pass->n_runs, t->sorting) * t->pass->profiled.summary.median;
    stretch = sum > 0 ? t->all_ns / sum : 1;
    for (size_t i = 0; i < n_rows; i++)
        t->ns[i] *= stretch;
}

static int open_times(struct layer_times *t, const struct as_measure_setup *s,
                      const struct as_costs *costs, struct assay_error *err)
{
    size_t n = s->run->profile.n_runs;

    *t = (struct layer_times){.pass = &s->run->profile};
    t->share = as_alloc_zero(n + 1, sizeof *t->share);
    t->of_all = as_alloc_zero(n + 1, sizeof *t->of_all);
    t->sorting = as_alloc_zero(n + 1, sizeof *t->sorting);
    t->ns = as_alloc_zero(costs->n_rows + 1, sizeof *t->ns);
    if (!t->share || !t->of_all || !t->sorting || !t->ns)
        return as_fail_nomem(err);
    return list_steps(&t->lists, s->run->engine, costs, err);
}

static void close_times(struct layer_times *t)
{
    as_free(t->lists.first);
    as_free(t->lists.next);
    as_free(t->share);
    as_free(t->of_all);
    as_free(t->sorting);
    as_free(t->ns);
}

/* Its work and what it takes; nothing of time. `ran` is the row as it ran. */
static void put_layer(struct assay_model_layer_profile *layer, const struct as_cost_row *row,
                      const struct as_cost_row *ran)
{
    struct as_cost all = {0};

    as_cost_add(&all, &ran->forward, ran->times);
    *layer = (struct assay_model_layer_profile){
        .name = as_node_label(row->graph, row->node),
        .layer_type = row->node->op_name,
        .parameters = row->parameters,
        .flops = all.macs ? as_sat_mul(all.macs, 2) : as_cost_flops(&all),
        .parameter_memory_mb = (double)row->parameter_bytes / AS_MIB,
        .activation_memory_mb = (double)ran->output_bytes / AS_MIB,
        .latency_ms = AS_UNKNOWN,
        .gflops_per_second = AS_UNKNOWN,
        .share = AS_UNKNOWN,
        .peak_memory_mb = AS_UNKNOWN,
        .memory_efficiency = AS_UNKNOWN,
        .reason = "the layer is not run: its result is known before, or nobody needs it",
    };
}

static bool is_counted(const struct as_cost_row *ran)
{
    return ran->constant || (ran->state == AS_COST_KNOWN && ran->times_known);
}

static void put_time(struct assay_model_layer_profile *layer, const struct layer_times *t,
                     size_t row, const struct as_cost_row *ran, const uint64_t *live_bytes)
{
    uint64_t live = 0;

    if (t->lists.first[row] == NO_STEP)
        return;
    for (int32_t s = t->lists.first[row]; s != NO_STEP; s = t->lists.next[s])
        live = live_bytes[s] > live ? live_bytes[s] : live;
    layer->latency_ms = t->ns[row] / 1e6;
    layer->share = t->all_ns > 0 ? t->ns[row] / t->all_ns : AS_UNKNOWN;
    layer->peak_memory_mb = (double)live / AS_MIB + layer->parameter_memory_mb;
    layer->reason = NULL;
    if (layer->peak_memory_mb > 0)
        layer->memory_efficiency =
            (layer->parameter_memory_mb + layer->activation_memory_mb) / layer->peak_memory_mb;
    else
        layer->reason = "no tensor is alive while the layer runs";
    if (!is_counted(ran))
        layer->reason = "the work of the layer is not counted: its operator has no rule, or its "
                        "shapes or rounds are not the same all the time";
    else if (t->ns[row] > 0)
        layer->gflops_per_second = (double)layer->flops / t->ns[row];
    else
        layer->reason = "the layer takes less time than the clock can see";
}

/* Layers [first, first + room) of those the model has. */
static int profile_rows(const struct as_measure_setup *s, size_t first,
                        struct assay_model_layer_profile *layers, size_t capacity,
                        struct assay_error *err)
{
    const struct as_inspection *found = s->model->counted;
    const struct as_costs *costs = found->costs;
    struct layer_times t = {0};
    struct as_costs *ran = NULL;
    int rc = as_measure_count_ran(s, &ran, err);

    if (rc == ASSAY_OK)
        rc = open_times(&t, s, costs, err);
    if (rc == ASSAY_OK) {
        find_times(&t, costs->n_rows);
        for (size_t i = 0; i < capacity && first + i < costs->n_rows; i++) {
            put_layer(&layers[i], &costs->rows[first + i], &ran->rows[first + i]);
            put_time(&layers[i], &t, first + i, &ran->rows[first + i], s->run->memory.live_bytes);
        }
    }
    close_times(&t);
    as_costs_free(ran);
    return rc;
}

/* Names of layers are those of the last count; counting again does not move them. */
static int profile_layers(struct assay_model *model, const struct assay_measure_options *options,
                          size_t first, struct assay_model_layer_profile *layers, size_t capacity,
                          size_t *n_layers, struct assay_error *err)
{
    struct assay_measure_options o = as_measure_options(options);
    struct as_measure_setup s;
    int rc, closed;

    o.no_fuse = true;
    rc = as_measure_setup_open(&s, model, &o, AS_PASS_PROFILE | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    *n_layers = (size_t)s.counts.n_layers;
    rc = profile_rows(&s, first, layers, capacity, err);
    closed = as_measure_setup_close(&s, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

int assay_profile_layers(struct assay_model *model, const struct assay_measure_options *options,
                         struct assay_model_layer_profile *layers, size_t capacity,
                         struct assay_error *err)
{
    size_t n = 0;
    int rc;

    if (!layers && capacity)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the layers is given");
    rc = profile_layers(model, options, 0, layers, capacity, &n, err);
    if (rc < 0)
        return rc;
    return n > INT_MAX ? INT_MAX : (int)n;
}

int assay_profile_layer(struct assay_model *model, size_t i,
                        const struct assay_measure_options *options,
                        struct assay_model_layer_profile *layer, struct assay_error *err)
{
    struct assay_model_counts counts;
    size_t n = 0;
    int rc;

    if (!layer)
        return as_fail(err, ASSAY_ERR_USAGE, "no place for the layer is given");
    memset(layer, 0, sizeof *layer);
    rc = assay_model_count(model, &counts, err);
    if (rc < 0)
        return rc;
    if (i >= counts.n_layers)
        return as_fail(err, ASSAY_ERR_NOTFOUND,
                       "the model has %llu layers, so there is no layer %zu",
                       (unsigned long long)counts.n_layers, i);
    return profile_layers(model, options, i, layer, 1, &n, err);
}
