/* trace/record/chunk_pack.h - turns the records of one chunk into the payload of an events block.
 * The recorder packs live chunks with it, the reader those of a ring that was left behind. */
#ifndef AS_TRACE_RECORD_CHUNK_PACK_H
#define AS_TRACE_RECORD_CHUNK_PACK_H

#include "trace/record/event_code.h"
#include "trace/record/ring.h"

/* Room for the largest payload. */
#define AS_CHUNK_PACKED_BYTES ((size_t)AS_CHUNK_CAPACITY * AS_EVENT_MAX_BYTES + 64)

struct as_chunk_packed {
    size_t size;        /* of the payload */
    uint32_t n_records; /* in it */
    uint32_t n_holes;   /* slots before the last record that were claimed and not stored */
    uint32_t n_tail;    /* slots after the last record; of a chunk that was filled to its end, these
                           too were claimed */
};

/* Packs the complete records of `chunk` into `out`, which has AS_CHUNK_PACKED_BYTES. */
struct as_chunk_packed as_chunk_pack(const struct as_chunk *chunk, uint8_t *out);

#endif
