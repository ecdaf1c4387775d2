/* trace/record/event_code.c - events packed for the file: about four bytes each instead of sixteen.
 * A decoder never reads past its cursor and refuses what an encoder would not have written. */
#include "trace/record/event_code.h"

#include "trace/run/run_format.h"

_Static_assert(AS_RECORD_COUNT <= 32, "a kind has five bits in a file");

uint8_t *as_event_encode(struct as_event_coder *coder, const struct as_event *event, uint8_t *to)
{
    uint8_t *control = to++;
    unsigned form = event->site == 0 ? 0u : event->site == coder->site ? 1u : 2u;

    *control = (uint8_t)(event->kind | form << 5);
    if (form == 2) {
        to = as_put_varint(to, event->site);
        coder->site = event->site;
    }
    if (as_event_has_bits(event->kind))
        return as_put_u64le(to, event->time);
    if (!as_kind_is_timed(event->kind))
        return as_put_varint(to, event->time);
    if (event->time < coder->time) {
        *control |= 0x80;
        to = as_put_varint(to, coder->time - event->time);
    } else {
        to = as_put_varint(to, event->time - coder->time);
    }
    coder->time = event->time;
    return to;
}

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
