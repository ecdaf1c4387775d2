/* model/memory/checkpoint_segments.h - where checkpointing cuts a network.
 * Only between nodes of the main graph; a body is never cut. */
#ifndef AS_MODEL_MEMORY_CHECKPOINT_SEGMENTS_H
#define AS_MODEL_MEMORY_CHECKPOINT_SEGMENTS_H

#include "model/memory/lifetimes.h"

struct as_train_blocks {
    uint32_t *block_of;    /* row -> its block, from 0 */
    uint32_t *start, *end; /* block -> its first and last row */
    uint32_t n;            /* at least 1 when there are rows */
};

/* floor(sqrt(n)) blocks of the n nodes of the main graph when `cut`, else one. In `arena`. */
AS_MUST_USE int as_train_blocks_find(struct as_train_blocks *out, struct as_arena *arena,
                                     const struct as_lifetimes *life, size_t n_rows, bool cut,
                                     struct assay_error *err);

#endif
