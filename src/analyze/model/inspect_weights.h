/* analyze/model/inspect_weights.h - how the layers use the weights: which are read whole, and which
 * would gain most from fewer bits. */
#ifndef AS_ANALYZE_MODEL_INSPECT_WEIGHTS_H
#define AS_ANALYZE_MODEL_INSPECT_WEIGHTS_H

#include "analyze/model/inspect.h"

/* Fills in->streamed_bytes and in->quant; needs costs and params. */
AS_MUST_USE int as_inspect_weight_use(struct as_inspection *in, struct assay_error *err);

#endif
