/* model/infer/einsum.h - the equations of Einsum: which letter is which dimension, and what comes
 * out. Costs need the lengths of all letters, so the parsed equation is shared. */
#ifndef AS_MODEL_INFER_EINSUM_H
#define AS_MODEL_INFER_EINSUM_H

#include "model/infer/infer_context.h"

enum { AS_EINSUM_LETTERS = 128 }; /* by their ASCII numbers */

struct as_einsum {
    int64_t length[AS_EINSUM_LETTERS]; /* of each letter; AS_DIM_UNKNOWN: not known, or not used */
    uint32_t uses[AS_EINSUM_LETTERS];  /* in all inputs together */
    bool in_output[AS_EINSUM_LETTERS];
    struct as_dims dots; /* what "..." stands for, broadcast over the inputs; rank -1: not known */
    bool dots_used, dots_in_output;
    struct as_dims out; /* rank -1: not known */
};

/* ASSAY_ERR_FORMAT through as_conflict() when equation and inputs do not fit. */
AS_MUST_USE int as_einsum_read(struct as_infer *ctx, struct as_einsum *e);

int as_infer_einsum(struct as_infer *ctx);

#endif
