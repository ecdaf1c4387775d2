/* model/infer/rules/rules_tflite.h - what the shape rules of TensorFlow Lite share.
 * Its files say the dtype of every tensor, so the rules only work out dimensions. */
#ifndef AS_MODEL_INFER_RULES_RULES_TFLITE_H
#define AS_MODEL_INFER_RULES_RULES_TFLITE_H

#include "model/infer/infer_context.h"

/* The dtype the file gives output `i`, else that of the first input. */
unsigned as_tfl_dtype(const struct as_infer *ctx, size_t i);
int as_tfl_out(struct as_infer *ctx, size_t i, const struct as_dims *dims);

/* All elements of a constant input of integers, at most AS_MAX_RANK; -1: it is none. */
int as_tfl_list(const struct as_infer *ctx, size_t in, int64_t out[AS_MAX_RANK]);

/* An axis made positive; a conflict when it is outside `rank`. */
int as_tfl_axis(struct as_infer *ctx, int64_t said, int rank, int *axis);
/* Output 0 of the rank of `dims`, nothing else known of it, and why. */
int as_tfl_unknown(struct as_infer *ctx, struct as_dims *dims, const char *why);
void as_tfl_insert(struct as_dims *dims, int axis, int64_t dim);
void as_tfl_remove(struct as_dims *dims, int axis);
/* Integers as the numbers of output 0, when it holds such and all are known. */
int as_tfl_fold(struct as_infer *ctx, const int64_t *at, int n);

/* Leaves what the file declares. */
int as_tfl_declared(struct as_infer *ctx);
/* Dimensions of input 0. */
int as_tfl_like(struct as_infer *ctx);

#endif
