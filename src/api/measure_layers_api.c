/* api/measure_layers_api.c - the public calls of assay/measure.h that profile a model layer by
 * layer. Layers are those that were counted; each has the time of the steps that did its work. */
#include <assay/measure.h>

#include <limits.h>
#include <math.h>
#include <string.h>

#include "analyze/model/inspect.h"
#include "analyze/model/layer_times.h"
#include "api/measure_internal.h"
#include "base/alloc.h"
#include "base/hash_map.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

/* The steps of the engine by the layer whose work they did, and its times. */
struct layer_rows {
    struct as_profile_data data;
    size_t *row_of_step; /* of the data */
    double *ns;          /* by layer; NaN: it is not run */
    uint64_t *live_bytes;
    double all_ns;
    struct as_arena arena;
};

/* The node that a step is named after, or whose result it reorders. */
static const struct as_node *node_of(const struct as_measure_setup *s, uint64_t step)
{
    struct as_step_info info;

    as_engine_step(s->run->engine, (size_t)step, &info);
    return info.node ? info.node : info.n_sources ? info.sources[0] : NULL;
}

static int join_rows(struct layer_rows *r, const struct as_measure_setup *s,
                     const struct as_costs *costs, struct assay_error *err)
{
    struct as_hash_map rows = {0};
    int rc = ASSAY_OK;

    for (size_t i = 0; i < costs->n_rows && rc == ASSAY_OK; i++)
        if (as_hash_map_put(&rows, &costs->rows[i].node, sizeof(void *), i) < 0)
            rc = as_fail_nomem(err);
    for (size_t i = 0; i < r->data.n_steps && rc == ASSAY_OK; i++) {
        const struct as_node *node = node_of(s, r->data.steps[i].index);
        const uint64_t *row = node ? as_hash_map_find(&rows, &node, sizeof(void *)) : NULL;

        r->row_of_step[i] = row ? (size_t)*row : AS_NO_ROW;
        if (row && r->data.steps[i].live_bytes > r->live_bytes[*row])
            r->live_bytes[*row] = r->data.steps[i].live_bytes;
    }
    as_hash_map_fini(&rows);
    return rc;
}

static int find_rows(struct layer_rows *r, const struct as_measure_setup *s,
                     const struct as_costs *costs, struct assay_error *err)
{
    int rc = as_profile_data_init(&r->data, s->run, s->model->model, &r->arena, err);

    if (rc < 0)
        return rc;
    r->row_of_step = as_arena_zero(&r->arena, r->data.n_steps + 1, sizeof *r->row_of_step);
    r->ns = as_arena_zero(&r->arena, costs->n_rows + 1, sizeof *r->ns);
    r->live_bytes = as_arena_zero(&r->arena, costs->n_rows + 1, sizeof *r->live_bytes);
    if (!r->row_of_step || !r->ns || !r->live_bytes)
        return as_fail_nomem(err);
    rc = join_rows(r, s, costs, err);
    return rc < 0 ? rc
                  : as_layer_times(r->ns, &r->all_ns, &r->data, r->row_of_step, costs->n_rows, err);
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
        .flops = as_cost_flops(&all),
        .parameter_memory_mb = (double)row->parameter_bytes / AS_MIB,
        .activation_memory_mb = (double)ran->output_bytes / AS_MIB,
        .latency_ms = AS_UNKNOWN,
        .gflops_per_second = AS_UNKNOWN,
        .share = AS_UNKNOWN,
        .peak_memory_mb = AS_UNKNOWN,
        .memory_efficiency = AS_UNKNOWN,
        .reason = "the layer is not executed: its result is constant, or unused",
    };
}

static bool is_counted(const struct as_cost_row *ran)
{
    return ran->constant || (ran->state == AS_COST_KNOWN && ran->times_known);
}

/* Of one inference, without those in padding: rates are of these. */
static uint64_t executed_flops(const struct as_cost_row *ran)
{
    struct as_cost all = {0};

    as_cost_add(&all, &ran->forward, ran->times);
    return as_cost_executed_flops(&all);
}

static void put_time(struct assay_model_layer_profile *layer, const struct layer_rows *r,
                     size_t row, const struct as_cost_row *ran)
{
    double ns = r->ns[row];

    if (isnan(ns))
        return;
    layer->latency_ms = ns / 1e6;
    layer->share = r->all_ns > 0 ? ns / r->all_ns : AS_UNKNOWN;
    layer->peak_memory_mb = (double)r->live_bytes[row] / AS_MIB + layer->parameter_memory_mb;
    layer->reason = NULL;
    if (layer->peak_memory_mb > 0)
        layer->memory_efficiency =
            (layer->parameter_memory_mb + layer->activation_memory_mb) / layer->peak_memory_mb;
    else
        layer->reason = "no tensor is alive while the layer runs";
    if (!is_counted(ran))
        layer->reason = "the work of the layer is not counted: its operator has no rule, or its "
                        "shapes or rounds are not the same all the time";
    else if (ns > 0)
        layer->gflops_per_second = (double)executed_flops(ran) / ns;
    else
        layer->reason = "the layer takes less time than the clock resolves";
}

/* Layers [first, first + capacity) of those the model has. */
static int profile_rows(const struct as_measure_setup *s, size_t first,
                        struct assay_model_layer_profile *layers, size_t capacity,
                        struct assay_error *err)
{
    const struct as_inspection *found = s->model->counted;
    const struct as_costs *costs = found->costs;
    struct layer_rows *r = as_alloc_zero(1, sizeof *r);
    struct as_costs *ran = NULL;
    int rc = r ? find_rows(r, s, costs, err) : as_fail_nomem(err);

    if (rc == ASSAY_OK)
        rc = as_costs_new(&ran, s->model->model, err);
    for (size_t i = 0; rc == ASSAY_OK && i < capacity && first + i < costs->n_rows; i++) {
        put_layer(&layers[i], &costs->rows[first + i], &ran->rows[first + i]);
        put_time(&layers[i], r, first + i, &ran->rows[first + i]);
    }
    as_costs_free(ran);
    if (r)
        as_arena_fini(&r->arena);
    as_free(r);
    return rc;
}

/* Names of layers are those of the last count; counting again does not move them. */
static int profile_layers(struct assay_model *model, const struct assay_measure_options *options,
                          size_t first, struct assay_model_layer_profile *layers, size_t capacity,
                          size_t *n_layers, struct assay_error *err)
{
    struct assay_measure_options o;
    struct as_measure_setup s;
    int rc = as_measure_options(&o, options, err), closed;

    if (rc < 0)
        return rc;
    o.no_fuse = true;
    rc = as_measure_setup_open(&s, model, &o, AS_PASS_PROFILE | AS_PASS_MEMORY, err);
    if (rc < 0)
        return rc;
    *n_layers = (size_t)s.counts.n_layers;
    rc = profile_rows(&s, first, layers, capacity, err);
    closed = as_measure_setup_close(&s, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

int assay_model_profile_layers(struct assay_model *model,
                               const struct assay_measure_options *options,
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

int assay_model_profile_layer(struct assay_model *model, size_t i,
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
