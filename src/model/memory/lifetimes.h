/* model/memory/lifetimes.h - which tensors a run has to hold, and from which row to which.
 * The one walk over the rows that plans of inference and of training share. */
#ifndef AS_MODEL_MEMORY_LIFETIMES_H
#define AS_MODEL_MEMORY_LIFETIMES_H

#include "model/memory/memory_plan.h"

/* Activations are all values but constants and what nodes make from constants alone, which is made
 * once and kept. Inputs of the model live from row 0 to their last use, its outputs to the last
 * row. A view has no bytes of its own: its uses are uses of what it shares; only a sequence made of
 * tensors counts as a copy of them. A tensor of a body lives within the rows of the body; one from
 * outside that a body reads, and whatever the node around the body reads or makes, lives over the
 * node and all its bodies. Rows that never run make and use nothing. */
struct as_lifetimes {
    struct as_plan_tensor *tensors; /* in the order of `first`, inputs of the model ahead */
    size_t n_tensors;
    uint32_t *tensor_of; /* value -> the tensor that holds it, or AS_NONE */
    uint32_t *end_of;    /* row -> the last row of its bodies; itself without */
    uint32_t *top_of;    /* row -> the row of the main graph it is in; itself there */
    size_t n_unknown;    /* activations of unknown size, not in `tensors` */
};

/* Everything is made in `arena`. `float_bytes` is what an element of any float dtype takes; 0: what
 * its dtype says. */
AS_MUST_USE int as_lifetimes_find(struct as_lifetimes *out, struct as_arena *arena,
                                  const struct as_model *model, const struct as_costs *costs,
                                  unsigned float_bytes, struct assay_error *err);

/* Adds `bytes` to the rows from first to last of an array of differences, which has one more entry
 * than there are rows. Sums are of 64 bits and wrap: whoever fills it checks the sum of all. */
static inline void as_span_add(uint64_t *spans, size_t first, size_t last, uint64_t bytes)
{
    spans[first] += bytes;
    spans[last + 1] -= bytes;
}

#endif
