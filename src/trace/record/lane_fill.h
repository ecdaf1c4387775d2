/* trace/record/lane_fill.h - how a thread fills the chunks of its lane, one after the other.
 * For whoever owns the lane, with every signal held back. */
#ifndef AS_TRACE_RECORD_LANE_FILL_H
#define AS_TRACE_RECORD_LANE_FILL_H

#include "trace/record/ring.h"

/* Where a lane without a chunk stands: behind the end of none, so that a claim finds no slot. */
#define AS_FILL_NOWHERE                                                                            \
    {                                                                                              \
        .at = ASSAY_CHUNK_END_, .end = ASSAY_CHUNK_END_, .epoch = 1                                \
    }

/* Stores one record in the next slot of the chunk being filled. */
static inline void as_fill_store(struct assay_lane_ *fill, const struct as_lane *lane,
                                 uint64_t time, uint32_t kind, uint32_t site)
{
    struct assay_record_ *r = (struct assay_record_ *)fill->at;

    __atomic_store_n(&r->time, time, __ATOMIC_RELAXED);
    __atomic_store_n(&r->word, as_record_word(lane->chunk[lane->active].tag, kind, site),
                     __ATOMIC_RELEASE);
    fill->at += sizeof *r;
}

/* Hands the chunk being filled to the reader of the lane, as it is. */
static inline void as_fill_seal(struct as_lane *lane)
{
    if (lane->active < lane->n_chunks) {
        atomic_store_explicit(&lane->head->state[lane->active], AS_CHUNK_FULL,
                              memory_order_release);
        lane->active = lane->n_chunks;
    }
}

/* Fills the rest of the chunk with nothing, so that no slot of it looks as if it were on its way.
 */
static inline void as_fill_pad(struct assay_lane_ *fill, const struct as_lane *lane)
{
    while (fill->at < fill->end)
        as_fill_store(fill, lane, 0, AS_RECORD_PAD, 0);
}

/* The chunk that comes next. */
static inline uint32_t as_fill_next(const struct as_lane *lane)
{
    return (uint32_t)(lane->filled % lane->n_chunks);
}

static inline bool as_fill_is_free(const struct as_lane *lane, uint32_t index)
{
    return atomic_load_explicit(&lane->head->state[index], memory_order_acquire) == AS_CHUNK_FREE;
}

/* Whether half of the ring waits for its reader: worth a system call that wakes it. */
static inline bool as_fill_is_half_full(const struct as_lane *lane)
{
    return 2 * (lane->filled - atomic_load_explicit(&lane->drained, memory_order_relaxed)) >=
           lane->n_chunks;
}

/* Begins chunk `index`, which is free and the next one. */
static inline void as_fill_begin(struct assay_lane_ *fill, struct as_lane *lane, uint32_t index)
{
    struct as_chunk *chunk = &lane->chunk[index];

    __atomic_store_n(&chunk->tag, lane->next_tag << AS_TAG_SHIFT, __ATOMIC_RELAXED);
    chunk->sequence = lane->sequence++;
    chunk->thread = lane->thread;
    lane->next_tag = lane->next_tag == 0xffffff ? 1 : lane->next_tag + 1;
    lane->filled++;
    lane->active = index;
    atomic_store_explicit(&lane->head->state[index], AS_CHUNK_ACTIVE, memory_order_release);
    fill->at = (uintptr_t)chunk->slot;
    fill->end = (uintptr_t)chunk->guard;
}

#endif
