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

/* What counts as an activation and how long it lives is told in lifetimes.h. No operator is taken
 * to work in place: its inputs and outputs are alive together. When the sum of all passes 2^64,
 * every figure here is UINT64_MAX and nothing is placed (offset UINT64_MAX). */
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

#endif
