/* model/fold/fold_reduce.h - sums, products, extremes and orders of constants along axes.
 * Each leaves the outputs as they are when it cannot be exact. */
#ifndef AS_MODEL_FOLD_FOLD_REDUCE_H
#define AS_MODEL_FOLD_FOLD_REDUCE_H

#include "model/infer/infer_context.h"

/* Reduce* over the axes that are marked, one flag for each dimension of input 0. */
int as_fold_reduce(struct as_infer *ctx, const bool *marked);
int as_fold_arg(struct as_infer *ctx);
int as_fold_cumsum(struct as_infer *ctx);
int as_fold_topk(struct as_infer *ctx);

#endif
