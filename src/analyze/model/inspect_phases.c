/* analyze/model/inspect_phases.c - the two phases of a text model with a cache, counted apart: the
 * inference as it was asked for, and the one of the next token. */
#include "analyze/model/inspect.h"
#include "measure/tokens/decode_profile.h"
#include "model/cost/cost_rules.h"

const char *as_inspect_phase_name(const struct as_inspect_phase *phase)
{
    return phase->tokens == 1 && phase->past > 0 ? "decode" : "prefill";
}

/* What the next inference begins with. */
static uint64_t cache_bytes(const struct as_model *model, const struct as_state_pairs *pairs)
{
    uint64_t sum = 0, bytes;

    for (size_t i = 0; i < pairs->n; i++)
        if (as_type_bytes(&model->values[pairs->at[i].output_value].type, &bytes))
            sum = as_sat_add(sum, bytes);
    return sum;
}

static void take_phase(struct as_inspect_phase *out, const struct as_model *model,
                       const struct as_state_pairs *pairs, const struct as_costs *costs)
{
    const struct as_cost *c = &costs->forward;

    out->macs = c->macs;
    out->flops = as_cost_flops(c);
    out->bytes_moved = as_sat_add(c->bytes_read, c->bytes_written);
    out->cache_bytes = cache_bytes(model, pairs);
    out->complete = costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 &&
                    costs->times_known && !costs->overflow;
}

static int count_next(struct as_inspection *in, const struct as_token_place *at,
                      const struct as_state_pairs *pairs, struct assay_error *err)
{
    struct as_infer_options infer = in->options.infer;
    struct as_token_inputs inputs;
    struct as_costs *costs = NULL;
    int rc = as_token_inputs_init(&inputs, in->model, pairs, err);

    if (rc < 0)
        return rc;
    rc = as_decode_infer(&inputs, in->model, at, &infer, err);
    if (rc == ASSAY_OK)
        rc = as_costs_new(&costs, in->model, err);
    if (rc == ASSAY_OK) {
        struct as_inspect_phase *phase = &in->phases[1];

        *phase = (struct as_inspect_phase){.tokens = 1, .past = (uint64_t)at->past};
        take_phase(phase, in->model, pairs, costs);
        in->n_phases = AS_INSPECT_PHASES;
    }
    as_costs_free(costs);
    as_token_inputs_fini(&inputs);
    return rc;
}

int as_inspect_decode(struct as_inspection *in, struct assay_error *err)
{
    struct as_state_pairs pairs = {0};
    struct as_token_phase phase = {0};
    struct assay_error ignored = {0};
    int rc = ASSAY_OK, again = ASSAY_OK;

    if (!in->model->has_graph)
        return ASSAY_OK;
    rc = as_state_pairs_find(&pairs, in->model, NULL, 0, err);
    if (rc == ASSAY_OK)
        rc = as_token_phase_find(&phase, in->model, &pairs, err);
    in->has_cache = rc == ASSAY_OK && phase.has_cache;
    if (in->has_cache) {
        in->phases[0].tokens = (uint64_t)phase.tokens;
        in->phases[0].past = (uint64_t)phase.past;
        in->n_phases = 1;
    }
    if (in->has_cache && !(phase.tokens == 1 && phase.past > 0)) {
        const struct as_token_place at = {phase.batch, phase.past + phase.tokens, 1};

        rc = count_next(in, &at, &pairs, &ignored);
        again = as_infer_shapes(in->model, &in->options.infer, &in->bound, err);
        if (rc == ASSAY_ERR_NOMEM && err)
            *err = ignored;
        else if (rc < 0)
            rc = ASSAY_OK; /* a model that does not take it has no figures of that phase */
    }
    as_state_pairs_fini(&pairs);
    return again < 0 ? again : rc;
}

int as_inspect_prefill(struct as_inspection *in, struct assay_error *err)
{
    struct as_state_pairs pairs = {0};
    int rc = ASSAY_OK;

    if (in->n_phases == 0)
        return ASSAY_OK;
    rc = as_state_pairs_find(&pairs, in->model, NULL, 0, err);
    if (rc == ASSAY_OK)
        take_phase(&in->phases[0], in->model, &pairs, in->costs);
    as_state_pairs_fini(&pairs);
    return rc;
}
