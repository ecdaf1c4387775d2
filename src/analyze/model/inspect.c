/* analyze/model/inspect.c - everything that is known of a model without running it, in one struct.
 * Only joins what model/ counts, and adds what follows from several counts together. */
#include "analyze/model/inspect.h"

#include <math.h>

#include "base/alloc.h"
#include "base/units.h"
#include "model/cost/cost_rules.h"

double as_cost_intensity(const struct as_cost *cost)
{
    uint64_t bytes = as_sat_add(cost->bytes_read, cost->bytes_written);

    return bytes ? (double)as_cost_flops(cost) / (double)bytes : AS_UNKNOWN;
}

/* A training step goes through what is made from trained weights: such a row has figures to show.
 */
bool as_row_is_constant(const struct as_cost_row *row)
{
    const struct as_cost *back = &row->backward_total;

    return row->constant && as_cost_flops(back) == 0 && back->bytes_read == 0 &&
           back->bytes_written == 0;
}

static const char *device_class(uint64_t bytes)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } classes[] = {
        {"256 KiB", 256ull << 10}, {"1 MiB", 1ull << 20},     {"4 MiB", 4ull << 20},
        {"16 MiB", 16ull << 20},   {"32 MiB", 32ull << 20},   {"64 MiB", 64ull << 20},
        {"128 MiB", 128ull << 20}, {"256 MiB", 256ull << 20}, {"512 MiB", 512ull << 20},
        {"1 GiB", 1ull << 30},     {"2 GiB", 2ull << 30},     {"4 GiB", 4ull << 30},
        {"8 GiB", 8ull << 30},     {"16 GiB", 16ull << 30},   {"24 GiB", 24ull << 30},
        {"48 GiB", 48ull << 30},   {"80 GiB", 80ull << 30},   {"192 GiB", 192ull << 30},
        {"640 GiB", 640ull << 30},
    };

    for (size_t i = 0; i < AS_COUNT_OF(classes); i++)
        if (bytes <= classes[i].bytes)
            return classes[i].name;
    return NULL;
}

static void size_deployments(struct as_inspection *in)
{
    static const struct {
        const char *name;
        double bits;
    } widths[AS_DEPLOYMENTS] = {{"f32", 32}, {"f16", 16}, {"i8", 8}, {"i4", 4}};
    uint64_t beside = as_sat_add(in->plan->arena_bytes, in->kv_bytes);

    for (size_t i = 0; i < AS_DEPLOYMENTS; i++) {
        double bytes = ceil((double)in->params->parameters * widths[i].bits / 8);
        struct as_deployment *d = &in->deployment[i];

        d->dtype = widths[i].name;
        d->bits = widths[i].bits;
        d->weight_bytes = bytes < 1.8e19 ? (uint64_t)bytes : UINT64_MAX;
        d->total_bytes = as_sat_add(d->weight_bytes, beside);
        d->device_class = device_class(d->total_bytes);
    }
}

/* The least time at the rates the user gives: what is to compute, or what no run can avoid to
 * move. */
static void bound_times(struct as_inspection *in)
{
    double compute = in->options.gflops > 0 ? (double)in->flops / (in->options.gflops * 1e9) : 0;
    double move = in->options.gbps > 0 ? (double)in->floor_bytes / (in->options.gbps * 1e9) : 0;
    double rate = in->options.gbps * 1e9;

    in->min_seconds = in->max_tokens_per_second = in->max_tokens_at_context = AS_UNKNOWN;
    if (in->options.gflops > 0 || in->options.gbps > 0)
        in->min_seconds = compute > move ? compute : move;
    if (in->kv_bytes_per_token == 0 || rate <= 0 || in->streamed_bytes == 0)
        return;
    in->max_tokens_per_second = rate / (double)in->streamed_bytes;
    if (in->kv_bytes)
        in->max_tokens_at_context = rate / ((double)in->streamed_bytes + (double)in->kv_bytes);
}

static void sum_up(struct as_inspection *in)
{
    const struct as_costs *costs = in->costs;
    const struct as_decoder *decoder = &costs->decoder;

    in->n_nodes = costs->n_rows;
    in->flops = as_cost_flops(&costs->forward);
    in->flops_backward = as_cost_flops(&costs->backward);
    in->bytes_moved = as_sat_add(costs->forward.bytes_read, costs->forward.bytes_written);
    in->intensity = as_cost_intensity(&costs->forward);
    in->complete = costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 &&
                   costs->times_known && !costs->overflow && in->model->has_graph;
    in->kv_bytes_per_token =
        as_kv_bytes_per_token(decoder, in->options.kv_bits ? in->options.kv_bits : 16);
    in->kv_bytes = as_sat_mul(in->kv_bytes_per_token, decoder->context);
    in->floor_bytes =
        as_sat_add(in->streamed_bytes, as_sat_add(in->plan->input_bytes, in->plan->output_bytes));
}

static void look_at_attention(struct as_inspection *in)
{
    const struct as_costs *costs = in->costs;
    uint64_t products = 0, projections = 0;

    in->projections_known = costs->n_attentions > 0;
    for (size_t i = 0; i < costs->n_attentions; i++) {
        const struct as_attention *a = &costs->attentions[i];

        products = as_sat_add(products, a->macs);
        projections = as_sat_add(projections, a->projection_macs);
        in->projections_known &= a->projection_macs > 0;
    }
    in->recomputed = in->has_cache ? 0 : as_costs_recomputed(costs);
    in->attention_macs = in->projections_known ? as_sat_add(products, projections) : products;
}

static int read_weights(struct as_inspection *in, struct assay_error *err)
{
    in->weights_rc =
        as_weight_stats_read(&in->weights, NULL, in->model, in->params, in->options.progress,
                             in->options.user, &in->weights_error);
    /* A model without weights is an answer, not a failure of the whole. */
    if (in->weights_rc < 0 && in->weights_rc != ASSAY_ERR_NOTFOUND) {
        if (err)
            *err = in->weights_error;
        return in->weights_rc;
    }
    return ASSAY_OK;
}

static int ask_fit(struct as_inspection *in, struct assay_error *err)
{
    struct as_fit_question question = {
        .what = in->options.fit_what,
        .symbol = in->options.fit_symbol,
        .memory_bytes = in->options.fit_bytes,
        .training = in->options.training,
        .train = in->options.train,
        .kv_bits = in->options.kv_bits,
    };

    return as_fit(&in->fit, in->model, &in->options.infer, &question, err);
}

static int inspect(struct as_inspection *in, struct assay_error *err)
{
    int rc = ASSAY_OK;

    /* First, because it infers other shapes for a while. */
    if (in->options.fit_bytes)
        rc = ask_fit(in, err);
    if (rc == ASSAY_OK)
        rc = as_infer_shapes(in->model, &in->options.infer, &in->bound, err);
    if (rc == ASSAY_OK)
        rc = as_inspect_decode(in, err);
    if (rc == ASSAY_OK)
        rc = as_costs_new(&in->costs, in->model, err);
    if (rc == ASSAY_OK)
        rc = as_inspect_prefill(in, err);
    if (rc == ASSAY_OK)
        rc = as_params_new(&in->params, in->model, in->options.look_into_weights, err);
    if (rc == ASSAY_OK && in->params->ties_cut)
        as_model_find(in->model, AS_FINDING_NOTE, NULL, NULL,
                      "too many tensors resemble each other to compare all; some of equal content "
                      "may not be listed");
    if (rc == ASSAY_OK)
        rc = as_memory_plan_new(&in->plan, in->model, in->costs, err);
    if (rc == ASSAY_OK && in->options.training)
        rc = as_train_memory_count(&in->train, in->model, in->costs, in->params, &in->options.train,
                                   err);
    if (rc == ASSAY_OK && in->options.weights)
        rc = read_weights(in, err);
    if (rc < 0)
        return rc;
    rc = as_inspect_weight_use(in, err);
    if (rc < 0)
        return rc;
    sum_up(in);
    look_at_attention(in);
    size_deployments(in);
    bound_times(in);
    as_inspect_recommend(in);
    return ASSAY_OK;
}

int as_inspection_new(struct as_inspection **inspection, struct as_model *model,
                      const struct as_inspect_options *options, struct assay_error *err)
{
    struct as_inspection *in = as_alloc_zero(1, sizeof *in);
    int rc;

    if (!in)
        return as_fail_nomem(err);
    in->model = model;
    in->options = *options;
    rc = inspect(in, err);
    if (rc < 0) {
        as_inspection_free(in);
        return rc;
    }
    *inspection = in;
    return ASSAY_OK;
}

void as_inspection_free(struct as_inspection *inspection)
{
    if (!inspection)
        return;
    as_memory_plan_free(inspection->plan);
    as_params_free(inspection->params);
    as_costs_free(inspection->costs);
    as_arena_fini(&inspection->arena);
    as_free(inspection);
}
