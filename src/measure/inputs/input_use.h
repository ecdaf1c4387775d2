/* measure/inputs/input_use.h - what numbers an input must hold so that the model can run at all.
 * Indices must stay inside the table they look into, lengths inside what they count. */
#ifndef AS_MEASURE_INPUTS_INPUT_USE_H
#define AS_MEASURE_INPUTS_INPUT_USE_H

#include "model/graph/graph.h"

struct as_input_use {
    uint64_t below;    /* it is an index, and must be below this; 0: it is none */
    const char *table; /* what it looks into */
    int64_t length;    /* it counts steps, and all of them are so many; -1: it does not */
    bool is_choice;    /* it is held against a constant, as a mode or a sampling rate is, ... */
    int64_t choice;    /* ... this one first */
};

/* Follows value `input` through nodes that only move, cast or join numbers. After inference. */
AS_MUST_USE int as_input_use_find(struct as_input_use *out, const struct as_model *model,
                                  uint32_t input, struct assay_error *err);

#endif
