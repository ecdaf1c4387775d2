/* api/model_sizes.h - the sizes a user gave to a model, as inference wants them.
 * Borrows names and dimensions from the model. */
#ifndef AS_API_MODEL_SIZES_H
#define AS_API_MODEL_SIZES_H

#include "model/graph/model_handle.h"
#include "model/infer/infer.h"

struct as_handle_sizes {
    struct as_infer_options infer; /* points to the two below */
    struct as_infer_input *inputs;
    struct as_infer_dim *dims;
};

AS_MUST_USE int as_handle_sizes_init(struct as_handle_sizes *sizes, const struct assay_model *model,
                                     struct assay_error *err);
void as_handle_sizes_fini(struct as_handle_sizes *sizes);

/* model_builder_api.c: the number of a kind of elements in assay/model.h; -1: it has none. */
int as_dtype_public(unsigned dtype);

#endif
