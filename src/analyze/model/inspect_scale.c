/* analyze/model/inspect_scale.c - how counts and memory grow with the batch, with an open dimension
 * or with the size of a built-in model: one row a value. */
#include "analyze/model/inspect.h"

#include "model/memory/memory_plan.h"
#include "model/weights/parameters.h"

int as_scale_count(struct as_scale_row *row, struct as_model *model,
                   const struct as_infer_options *infer, const struct as_train_options *train,
                   struct assay_error *err)
{
    struct as_memory_plan *plan = NULL;
    struct as_params *params = NULL;
    struct as_costs *costs = NULL;
    struct as_train_memory memory = {0};
    int rc = as_infer_shapes(model, infer, NULL, err);

    if (rc == ASSAY_OK)
        rc = as_costs_new(&costs, model, err);
    if (rc == ASSAY_OK)
        rc = as_params_new(&params, model, false, err);
    if (rc == ASSAY_OK)
        rc = as_memory_plan_new(&plan, model, costs, err);
    if (rc == ASSAY_OK && train)
        rc = as_train_memory_count(&memory, model, costs, params, train, err);
    if (rc == ASSAY_OK) {
        row->parameters = params->parameters;
        row->parameter_bytes = params->parameter_bytes;
        row->macs = costs->forward.macs;
        row->flops = as_cost_flops(&costs->forward);
        row->bytes_moved = costs->forward.bytes_read + costs->forward.bytes_written;
        row->activation_bytes = plan->peak_bytes;
        row->training_bytes = memory.peak_bytes;
        row->samples = costs->batch;
        row->complete = costs->n_unknown_ops == 0 && costs->n_unknown_shapes == 0 &&
                        costs->times_known && !costs->overflow;
    }
    as_memory_plan_free(plan);
    as_params_free(params);
    as_costs_free(costs);
    return rc;
}
