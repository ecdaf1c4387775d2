/* trace/record/event_code.h - events packed for the file: about four bytes each instead of sixteen.
 * A decoder never reads past its cursor and refuses what an encoder would not have written.
 *
 *   event = u8 control, [varint site], [varint time difference | data]
 *   control: bits 0-4 kind
 *            bits 5-6 site form: 0 none, 1 the site of the event before, 2 given
 *            bit 7    the time difference is negative
 *
 * A timed kind carries the difference to the timed event before it (or to the block's base); note
 * and value carry the eight bytes of a double, the other kinds of data a varint. */
#ifndef AS_TRACE_RECORD_EVENT_CODE_H
#define AS_TRACE_RECORD_EVENT_CODE_H

#include "base/cursor.h"
#include "trace/record/record.h"
#include "trace/record/ring.h"

#define AS_EVENT_MAX_BYTES 16 /* of one encoded event */

struct as_event {
    uint64_t time; /* ticks, or the data of an untimed kind */
    uint32_t site;
    uint32_t kind; /* enum as_record_kind */
};

/* What both sides remember between two events. {.time = base} at the start of a block. */
struct as_event_coder {
    uint64_t time;
    uint32_t site;
};

/* Writes one event at `to`, which has AS_EVENT_MAX_BYTES of room; returns the end. */
uint8_t *as_event_encode(struct as_event_coder *coder, const struct as_event *event, uint8_t *to);

static inline bool as_event_has_bits(uint32_t kind)
{
    return kind == AS_RECORD_VALUE || kind == AS_RECORD_NOTE;
}

/* Budget: 5 ns an event. False at the end of the block or when the bytes make no sense. */
static inline bool as_event_decode(struct as_event_coder *coder, struct as_cursor *c,
                                   struct as_event *event)
{
    uint8_t control;
    uint64_t value;

    if (!as_take_u8(c, &control))
        return false;
    event->kind = control & 31;
    switch (control >> 5 & 3) {
    case 0:
        event->site = 0;
        break;
    case 1:
        event->site = coder->site;
        break;
    case 2:
        if (!as_take_varint(c, &value) || value > UINT32_MAX)
            return false;
        event->site = coder->site = (uint32_t)value;
        break;
    default:
        return false;
    }
    if (as_event_has_bits(event->kind))
        return as_take_u64le(c, &event->time);
    if (!as_take_varint(c, &value))
        return false;
    if (!as_kind_is_timed(event->kind)) {
        event->time = value;
        return event->kind != AS_RECORD_NONE;
    }
    coder->time += control & 0x80 ? 0 - value : value;
    event->time = coder->time;
    return true;
}

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
