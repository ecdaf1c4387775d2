/* model/fold/fold_gather.h - picking and placing elements of constants by index.
 * An index out of its range, or one that is not known, leaves the output unknown. */
#ifndef AS_MODEL_FOLD_FOLD_GATHER_H
#define AS_MODEL_FOLD_FOLD_GATHER_H

#include "model/infer/infer_context.h"

int as_fold_gather(struct as_infer *ctx);
int as_fold_gather_elements(struct as_infer *ctx);
int as_fold_gather_nd(struct as_infer *ctx);
int as_fold_scatter_elements(struct as_infer *ctx);
int as_fold_scatter_nd(struct as_infer *ctx);
int as_fold_one_hot(struct as_infer *ctx);

#endif
