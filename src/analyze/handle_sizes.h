/* analyze/handle_sizes.h - the sizes a user gave to a model, as inference wants them.
 * Borrows names and dimensions from the model. */
#ifndef AS_ANALYZE_HANDLE_SIZES_H
#define AS_ANALYZE_HANDLE_SIZES_H

#include "model/infer.h"
#include "model/model_handle.h"

struct as_handle_sizes {
    struct as_infer_options infer; /* points to the two below */
    struct as_infer_input *inputs;
    struct as_infer_dim *dims;
};

AS_MUST_USE int as_handle_sizes_init(struct as_handle_sizes *sizes, const struct assay_model *model,
                                     struct assay_error *err);
void as_handle_sizes_fini(struct as_handle_sizes *sizes);

#endif
