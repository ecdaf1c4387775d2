/* analyze/model/inspect_weights.c - how the layers use the weights: which are read whole, and which
 * would gain most from fewer bits. */
#include "analyze/model/inspect.h"

#include <string.h>

#include "base/alloc.h"
#include "model/cost/cost_rules.h"

/* Below this the table of scales and the change of format eat what is won. */
enum { LEAST_BYTES = 65536 };

struct use {
    struct as_inspection *in;
    uint32_t *param_of; /* value -> index of its param + 1; 0: none */
    bool *taken;        /* param: an earlier layer has it */
    bool *streamed;     /* param: some layer reads all of it */
};

/* Reads single rows of its first input. */
static bool is_lookup(enum as_op op)
{
    switch (op) {
    case AS_OP_Gather:
    case AS_OP_GatherND:
    case AS_OP_GatherElements:
    case AS_OP_MS_EmbedLayerNormalization:
    case AS_OP_MS_QEmbedLayerNormalization:
    case AS_OP_MS_GatherBlockQuantized:
    case AS_OP_TFL_EMBEDDING_LOOKUP:
        return true;
    default:
        return false;
    }
}

/* Largest first; the list is short. */
static void offer(struct as_inspection *in, const struct as_quant_candidate *candidate)
{
    size_t at = in->n_quant;

    while (at > 0 && in->quant[at - 1].saved_bytes < candidate->saved_bytes)
        at--;
    if (at == AS_QUANT_CANDIDATES)
        return;
    if (in->n_quant < AS_QUANT_CANDIDATES)
        in->n_quant++;
    for (size_t i = in->n_quant - 1; i > at; i--)
        in->quant[i] = in->quant[i - 1];
    in->quant[at] = *candidate;
}

/* A matrix, a kernel or a table of numbers wider than 8 bits. */
static bool can_be_narrower(const struct as_inspection *in, const struct as_param *param)
{
    const struct as_value *value = &in->model->values[param->value];

    return as_dtype_is_float(value->type.dtype) && as_dtype_bits(value->type.dtype) > 8 &&
           value->type.rank >= 2;
}

static void use_param(const struct use *u, const struct as_cost_row *row, uint32_t index,
                      struct as_quant_candidate *candidate)
{
    const struct as_params *params = u->in->params;
    const struct as_param *param = &params->params[index];

    if (param->tied_to != AS_NONE) {
        index = param->tied_to;
        param = &params->params[index];
    }
    u->streamed[index] |= !is_lookup(row->node->op) && row->times > 0;
    if (u->taken[index] || !can_be_narrower(u->in, param))
        return;
    u->taken[index] = true;
    candidate->parameters = as_sat_add(candidate->parameters, param->elems);
    candidate->bytes = as_sat_add(candidate->bytes, param->bytes);
}

static void use_row(const struct use *u, size_t i)
{
    const struct as_model *model = u->in->model;
    const struct as_cost_row *row = &u->in->costs->rows[i];
    struct as_quant_candidate candidate = {.row = i};

    if (row->constant)
        return;
    for (uint32_t k = 0; k < row->node->n_inputs; k++) {
        uint32_t value = row->node->inputs[k];

        if (value != AS_NONE)
            value = as_constant_behind(model, value);
        if (value == AS_NONE || u->param_of[value] == 0)
            continue;
        if (u->in->params->params[u->param_of[value] - 1].role == AS_ROLE_PARAMETER)
            use_param(u, row, u->param_of[value] - 1, &candidate);
    }
    if (candidate.bytes < LEAST_BYTES || candidate.bytes <= candidate.parameters)
        return;
    candidate.saved_bytes = candidate.bytes - candidate.parameters;
    candidate.intensity = as_cost_intensity(&row->forward);
    offer(u->in, &candidate);
}

int as_inspect_weight_use(struct as_inspection *in, struct assay_error *err)
{
    size_t n_params = in->params->n_params;
    struct use u = {.in = in};
    int rc = ASSAY_OK;

    u.param_of = as_alloc_zero(in->model->n_values + 1, sizeof *u.param_of);
    u.taken = as_alloc_zero(n_params + 1, sizeof *u.taken);
    u.streamed = as_alloc_zero(n_params + 1, sizeof *u.streamed);
    if (!u.param_of || !u.taken || !u.streamed) {
        rc = as_fail_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < n_params; i++)
        u.param_of[in->params->params[i].value] = (uint32_t)i + 1;
    for (size_t i = 0; i < in->costs->n_rows; i++)
        use_row(&u, i);
    for (size_t i = 0; i < n_params; i++)
        if (u.streamed[i])
            in->streamed_bytes = as_sat_add(in->streamed_bytes, in->params->params[i].bytes);
out:
    as_free(u.streamed);
    as_free(u.taken);
    as_free(u.param_of);
    return rc;
}
