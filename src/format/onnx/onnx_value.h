/* format/onnx/onnx_value.h - a single value that ONNX keeps in a file of its own: inputs and
 * outputs of test cases. A tensor, a sequence or an optional; the file does not say which. */
#ifndef AS_FORMAT_ONNX_ONNX_VALUE_H
#define AS_FORMAT_ONNX_ONNX_VALUE_H

#include "model/graph/graph.h"

/* What is made lives in the model's arena, and `bytes` must live as long. `data` becomes that of a
 * tensor, else NULL. Of an optional of unknown content the type has n_elems 0. */
AS_MUST_USE int as_onnx_value_read(struct as_model *model, enum as_value_kind kind,
                                   const uint8_t *bytes, uint64_t size, struct as_type *type,
                                   struct as_data **data, struct assay_error *err);

#endif
