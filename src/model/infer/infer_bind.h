/* model/infer/infer_bind.h - gives the inputs of a model their dimensions: what the user says, else
 * what the file says, else a default that is said aloud. */
#ifndef AS_MODEL_INFER_INFER_BIND_H
#define AS_MODEL_INFER_INFER_BIND_H

#include "model/infer/infer.h"

/* Sets the types (and numbers, where given) of the main graph's inputs. `overridden` becomes true
 * when they differ from fixed dimensions in the file. */
AS_MUST_USE int as_infer_bind(struct as_model *model, const struct as_infer_options *options,
                              struct as_bound_dims *bound, bool *overridden,
                              struct assay_error *err);

#endif
