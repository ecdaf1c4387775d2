/* format/tflite/tflite_lower.h - operators of TensorFlow Lite as operators of ONNX.
 * A node keeps the operator's name and domain of the file for reports; what it does is expressed by
 * node->op and by attributes with ONNX's names. docs/formats.md lists what those add to ONNX. */
#ifndef AS_FORMAT_TFLITE_TFLITE_LOWER_H
#define AS_FORMAT_TFLITE_TFLITE_LOWER_H

#include "model/graph/graph.h"

struct as_tflite_row; /* one operator of the table; NULL where an operator is not lowered */

const struct as_tflite_row *as_tflite_row_find(const char *name);

/* Turns a node with TensorFlow Lite's options as attributes into one of ONNX, in place. Outputs
 * still have the types the file declares. Without a row it stays as it is. */
AS_MUST_USE int as_tflite_lower(struct as_model *model, struct as_node *node,
                                const struct as_tflite_row *row, struct assay_error *err);

#endif
