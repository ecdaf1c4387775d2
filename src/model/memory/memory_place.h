/* model/memory/memory_place.h - gives every tensor of a plan a place in one arena.
 * Two that are alive in the same row never overlap. */
#ifndef AS_MODEL_MEMORY_MEMORY_PLACE_H
#define AS_MODEL_MEMORY_MEMORY_PLACE_H

#include "model/memory/memory_plan.h"

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

#endif
