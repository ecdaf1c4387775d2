/* trace/record/chunk_pack.c - turns the records of one chunk into the payload of an events block.
 * The recorder packs live chunks with it, the reader those of a ring that was left behind. */
#include "trace/record/chunk_pack.h"

struct as_chunk_packed as_chunk_pack(const struct as_chunk *chunk, uint8_t *out)
{
    struct as_chunk_packed packed = {0};
    struct as_event_coder coder = {0};
    uint8_t *to = out, *base_at;
    uint32_t holes = 0;

    to = as_put_varint(to, chunk->thread);
    to = as_put_varint(to, chunk->sequence);
    to = as_put_varint(to, 0);
    base_at = to;
    to = as_put_u64le(to, 0);
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY; i++) {
        /* The word first: when it is there, so is the time stored before it. */
        uint64_t word = __atomic_load_n(&chunk->slot[i].word, __ATOMIC_ACQUIRE);
        struct as_event event = {.time = __atomic_load_n(&chunk->slot[i].time, __ATOMIC_RELAXED),
                                 .site = as_word_site(word),
                                 .kind = as_word_kind(word)};

        if ((word & AS_TAG_MASK) != chunk->tag) {
            holes++;
            continue;
        }
        packed.n_holes = holes; /* empty slots after the last record are no holes */
        if (event.kind == AS_RECORD_NONE || event.kind == AS_RECORD_PAD ||
            event.kind >= AS_RECORD_COUNT)
            continue;
        if (packed.n_records++ == 0 && as_kind_is_timed(event.kind)) {
            coder.time = event.time;
            as_put_u64le(base_at, event.time);
        }
        to = as_event_encode(&coder, &event, to);
    }
    packed.n_tail = holes - packed.n_holes;
    packed.size = (size_t)(to - out);
    return packed;
}
