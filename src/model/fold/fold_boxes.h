/* model/fold/fold_boxes.h - NonMaxSuppression: how many boxes are kept, when boxes and scores are
 * known. Anything larger than a test or a constant would need is left unknown. */
#ifndef AS_MODEL_FOLD_FOLD_BOXES_H
#define AS_MODEL_FOLD_FOLD_BOXES_H

#include "model/infer/infer_context.h"

int as_infer_boxes(struct as_infer *ctx);
int as_fold_boxes(struct as_infer *ctx);

#endif
