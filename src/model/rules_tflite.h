/* model/rules_tflite.h - what the shape rules of TensorFlow Lite share.
 * Its files say the dtype of every tensor, so the rules only work out dimensions. */
#ifndef AS_MODEL_RULES_TFLITE_H
#define AS_MODEL_RULES_TFLITE_H

#include "model/infer_ctx.h"

/* The dtype the file gives output `i`, else that of the first input. */
unsigned as_tfl_dtype(const struct as_infer *ctx, size_t i);
int as_tfl_out(struct as_infer *ctx, size_t i, const struct as_dims *dims);

/* All elements of a constant input of integers, at most AS_MAX_RANK; -1: it is none. */
int as_tfl_list(const struct as_infer *ctx, size_t in, int64_t out[AS_MAX_RANK]);

/* Leaves what the file declares. */
int as_tfl_declared(struct as_infer *ctx);
/* Dimensions of input 0. */
int as_tfl_like(struct as_infer *ctx);

#endif
