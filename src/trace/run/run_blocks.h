/* trace/run/run_blocks.h - takes the payload of one checked block into a run.
 * A payload that makes no sense is refused whole: nothing of it stays. */
#ifndef AS_TRACE_RUN_RUN_BLOCKS_H
#define AS_TRACE_RUN_RUN_BLOCKS_H

#include "trace/run/run_reader.h"

/* 1 when the block was taken, 0 when its payload is nonsense, negative when memory ran out. */
AS_MUST_USE int as_run_take_block(struct as_run *run, const struct as_block_header *block,
                                  const uint8_t *payload, uint64_t payload_at,
                                  struct assay_error *err);

#endif
