/* analyze/model/inspect_scale.h - how counts and memory grow with the batch, with an open dimension
 * or with the size of a built-in model: one row a value. */
#ifndef AS_ANALYZE_MODEL_INSPECT_SCALE_H
#define AS_ANALYZE_MODEL_INSPECT_SCALE_H

#include "model/cost/cost.h"
#include "model/infer/infer.h"
#include "model/memory/train_memory.h"

enum { AS_SCALE_MAX = 32 };

struct as_scale_row {
    int64_t value;
    uint64_t parameters, parameter_bytes, macs, flops, bytes_moved;
    uint64_t activation_bytes; /* planned peak */
    uint64_t training_bytes;   /* peak of a step; 0: not asked for */
    uint64_t samples;
    bool complete;
};

/* Fills one row from the model with these shapes; afterwards its shapes are those. `train` may be
 * NULL. */
AS_MUST_USE int as_scale_count(struct as_scale_row *row, struct as_model *model,
                               const struct as_infer_options *infer,
                               const struct as_train_options *train, struct assay_error *err);

#endif
