/* api/model_sizes.c - the sizes a user gave to a model, as inference wants them. */
#include "api/model_sizes.h"

#include "base/alloc.h"

int as_handle_sizes_init(struct as_handle_sizes *sizes, const struct assay_model *model,
                         struct assay_error *err)
{
    *sizes = (struct as_handle_sizes){.infer = {.batch = model->batch}};
    sizes->inputs = as_alloc_zero(model->n_inputs + 1, sizeof *sizes->inputs);
    sizes->dims = as_alloc_zero(model->n_dims + 1, sizeof *sizes->dims);
    if (!sizes->inputs || !sizes->dims) {
        as_handle_sizes_fini(sizes);
        return as_fail_nomem(err);
    }
    for (size_t i = 0; i < model->n_inputs; i++)
        sizes->inputs[i] =
            (struct as_infer_input){.name = model->inputs[i].name, .dims = &model->inputs[i].dims};
    for (size_t i = 0; i < model->n_dims; i++)
        sizes->dims[i] = (struct as_infer_dim){model->dims[i].symbol, model->dims[i].value};
    sizes->infer.inputs = sizes->inputs;
    sizes->infer.n_inputs = model->n_inputs;
    sizes->infer.dims = sizes->dims;
    sizes->infer.n_dims = model->n_dims;
    return ASSAY_OK;
}

void as_handle_sizes_fini(struct as_handle_sizes *sizes)
{
    as_free(sizes->inputs);
    as_free(sizes->dims);
    *sizes = (struct as_handle_sizes){0};
}
