/* model/memory/memory_plan.h - how much memory a run needs: lifetimes over the order of execution.
 * Planned: tensors share memory when their lives do not overlap. Nothing here is measured. */
#ifndef AS_MODEL_MEMORY_MEMORY_PLAN_H
#define AS_MODEL_MEMORY_MEMORY_PLAN_H

#include "model/cost/cost.h"

enum { AS_PLAN_ALIGN = 64 };

struct as_plan_tensor {
    uint32_t value;
    uint32_t first, last; /* rows of the costs between which it lives, both included */
    uint64_t bytes;       /* as the type says, without rounding */
    uint64_t offset;      /* in the planned arena, a multiple of AS_PLAN_ALIGN */
};

/* What counts as an activation and how long it lives is described in lifetimes.c. No operator is
 * taken to work in place: its inputs and outputs are alive together. When the sum of all passes
 * 2^64, every figure here is UINT64_MAX and nothing is placed (offset UINT64_MAX). */
struct as_memory_plan {
    struct as_plan_tensor *tensors; /* activations: inputs, outputs and what lies between */
    size_t n_tensors;
    uint64_t *live_bytes; /* for each row: bytes alive while it runs */
    size_t n_steps;
    uint64_t peak_bytes; /* the largest of them: no plan can do with less in this order */
    size_t peak_step;
    uint64_t arena_bytes;               /* what the placement below needs; >= peak_bytes */
    uint64_t naive_bytes;               /* the sum of all: no memory used twice */
    uint64_t input_bytes, output_bytes; /* of the whole model, those of known size */
    size_t n_unknown;                   /* tensors of unknown size, left out */
    struct as_arena arena;
};

AS_MUST_USE int as_memory_plan_new(struct as_memory_plan **plan, const struct as_model *model,
                                   const struct as_costs *costs, struct assay_error *err);
void as_memory_plan_free(struct as_memory_plan *plan);

/* Bytes of the keys and values that all layers together cache of one token of one sequence, rounded
 * up. `bits`: of one cached number. 0 when the decoder is not known. A sliding window shortens what
 * is kept, not what a token takes, and is not looked at. */
uint64_t as_kv_bytes_per_token(const struct as_decoder *decoder, unsigned bits);

/* ---- memory_place.c ---- */

/* Up to so many pairs of tensors alive together they are placed the better way. */
#define AS_PLACE_MAX_PAIRS 4000000

/* Sets every offset, and `arena_bytes` to the end of the last tensor. The largest are placed first,
 * each into the smallest gap it fits between those alive with it. That takes time by the pair, so
 * past AS_PLACE_MAX_PAIRS they are placed in the order of their rows, as an allocator that knows
 * nothing of the future would. When the sum of all passes 2^64: every offset and `arena_bytes` are
 * UINT64_MAX. */
AS_MUST_USE int as_memory_place(struct as_plan_tensor *tensors, size_t n, uint64_t *arena_bytes,
                                struct assay_error *err);

/* The second way, for its tests. Offsets are set as above. */
AS_MUST_USE int as_memory_place_in_order(struct as_plan_tensor *tensors, size_t n,
                                         struct assay_error *err);

/* ---- lifetimes.c ---- */

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
 * its dtype says. `storage`: by value, the value whose memory it is in, where more than views share
 * it (model/cost/kept.h); NULL: views alone do. */
AS_MUST_USE int as_lifetimes_find(struct as_lifetimes *out, struct as_arena *arena,
                                  const struct as_model *model, const struct as_costs *costs,
                                  unsigned float_bytes, const uint32_t *storage,
                                  struct assay_error *err);

/* Adds `bytes` to the rows from first to last of an array of differences, which has one more entry
 * than there are rows. Sums are of 64 bits and wrap: whoever fills it checks the sum of all. */
static inline void as_span_add(uint64_t *spans, size_t first, size_t last, uint64_t bytes)
{
    spans[first] += bytes;
    spans[last + 1] -= bytes;
}

#endif
