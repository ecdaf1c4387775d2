/* model/fold/fold_math.h - arithmetic on constants, element by element.
 * Every function is a fold of struct as_op_rule for the operators in its table. */
#ifndef AS_MODEL_FOLD_FOLD_MATH_H
#define AS_MODEL_FOLD_FOLD_MATH_H

#include "model/infer/infer_context.h"

int as_fold_unary(struct as_infer *ctx);
int as_fold_binary(struct as_infer *ctx);
int as_fold_variadic(struct as_infer *ctx);
int as_fold_where(struct as_infer *ctx);
int as_fold_clip(struct as_infer *ctx);
int as_fold_cast(struct as_infer *ctx);

#endif
