/* model/fold/fold_shape.h - parts of tensors: Slice, Split, Pad, Tile and Concat of constants.
 * The rules of the first three are here too, for they share their arithmetic with the folds. */
#ifndef AS_MODEL_FOLD_FOLD_SHAPE_H
#define AS_MODEL_FOLD_FOLD_SHAPE_H

#include "model/infer/infer_context.h"

int as_infer_slice(struct as_infer *ctx);
int as_infer_split(struct as_infer *ctx);
int as_infer_pad(struct as_infer *ctx);
int as_fold_slice(struct as_infer *ctx);
int as_fold_split(struct as_infer *ctx);
int as_fold_pad(struct as_infer *ctx);
int as_fold_tile(struct as_infer *ctx);
int as_fold_concat(struct as_infer *ctx);

#endif
