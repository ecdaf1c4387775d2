/* clang-format off */
/* trace/run/run_format.h - the run file: a header and checked blocks, appended and never rewritten.
 * A cut tail costs the last block; a damaged block costs itself; both are counted by the reader.
 *
 *   file    = header block*
 *   header  = "ASSAYRUN" u16 major u16 minor u32 size(64) u8 id[16] u32 salt u8 zero[24] u32 crc
 *             64 bytes
 *   block   = u32 magic u16 kind u16 zero u32 size u32 number u32 crc u32 records u32 salt
 *             u32 header_crc: 32 bytes, followed by `size` bytes of payload
 *
 * All integers are little-endian. `crc` is the CRC-32C of the payload, `header_crc` of the 28 bytes
 * before it. `salt` is the file's, so that the leftovers of another run never look like a block of
 * this one. `number` counts blocks from 0, `records` the events in an events block. varint is
 * base-128, low group first; text is varint length and bytes.
 *
 *   meta    JSON object: facts of the host, the tool and the configuration; a later block's keys win
 *   sites   entries: u8 1, varint id, u8 category, varint line, text name, text file, text unit
 *                    u8 2, varint id, text key, text value          an attribute of a site
 *                    u8 3, varint id, text key, u64 double          a number
 *   threads varint index, varint tid, varint ticks, text name
 *   events  varint thread, varint chunk, varint first, u64 base ticks, then `records` events
 *           (trace/record/event_code.h)
 *   clock   varint ticks, varint width, varint monotonic ns, varint real ns
 *   loss    varint reason, varint count
 *   end     varint events, varint lost, varint threads: the session was closed
 *   data    text kind, then a JSON value: a list or facts that belong to no event
 *
 * The ring file beside a run that was not closed is drawn in trace/record/ring.h. */
/* clang-format on */
#ifndef AS_TRACE_RUN_RUN_FORMAT_H
#define AS_TRACE_RUN_RUN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cursor.h"

#define AS_RUN_MAGIC        "ASSAYRUN"
#define AS_RUN_MAJOR        1
#define AS_RUN_MINOR        1
#define AS_RUN_HEADER_BYTES 64
#define AS_BLOCK_MAGIC      0x4b4c4241u /* "ABLK" */
#define AS_BLOCK_BYTES      32
#define AS_RUN_ID_BYTES     16

/* What a reader accepts, so that a small file cannot cost much memory. */
#define AS_BLOCK_MAX_BYTES    (16u << 20)
#define AS_RUN_MAX_SITES      (1u << 16)
#define AS_RUN_MAX_THREADS    (1u << 20)
#define AS_RUN_MAX_NAME       4096u
#define AS_RUN_MAX_ATTRIBUTES 256u /* of one site */
#define AS_RUN_MAX_DEPTH      4096u

enum as_block_kind {
    AS_BLOCK_META = 1,
    AS_BLOCK_SITES = 2,
    AS_BLOCK_THREADS = 3,
    AS_BLOCK_EVENTS = 4,
    AS_BLOCK_CLOCK = 5,
    AS_BLOCK_LOSS = 6,
    AS_BLOCK_END = 7,
    AS_BLOCK_DATA = 8,
    AS_BLOCK_KIND_COUNT = 9 /* a reader passes over kinds of later minor versions */
};

enum as_site_entry { AS_ENTRY_SITE = 1, AS_ENTRY_TEXT = 2, AS_ENTRY_NUMBER = 3 };

enum as_loss_reason {
    AS_LOSS_RING_FULL = 0,   /* no free chunk; also told in place by LOST events */
    AS_LOSS_THREAD_EXIT = 1, /* marked after the thread had said good-bye */
    AS_LOSS_NO_LANE = 2,     /* no memory or file space for the thread's ring */
    AS_LOSS_WRITE = 3,       /* the run file could not be written */
    AS_LOSS_REASON_COUNT = 4
};

struct as_run_header {
    uint16_t major, minor;
    uint8_t id[AS_RUN_ID_BYTES];
    uint32_t salt;
};

struct as_block_header {
    uint16_t kind;
    uint32_t size, number, crc, records, salt;
};

enum as_header_verdict { AS_HEADER_GOOD, AS_HEADER_SHORT, AS_HEADER_FOREIGN, AS_HEADER_DAMAGED };

/* A run of this version with an identity of its own. */
void as_run_header_new(struct as_run_header *h);
void as_run_header_pack(uint8_t out[AS_RUN_HEADER_BYTES], const struct as_run_header *h);
enum as_header_verdict as_run_header_unpack(const uint8_t *data, size_t size,
                                            struct as_run_header *h);

void as_block_header_pack(uint8_t out[AS_BLOCK_BYTES], const struct as_block_header *h);

/* False when the bytes are not a block header of a file with this salt. */
bool as_block_header_unpack(const uint8_t data[AS_BLOCK_BYTES], uint32_t salt,
                            struct as_block_header *h);

/* The words of a report for a reason, "" for a number that is none. */
const char *as_loss_text(uint32_t reason);

/* Little-endian stores into memory the caller sized. */
static inline uint8_t *as_put_u16le(uint8_t *to, uint16_t v)
{
    to[0] = (uint8_t)v;
    to[1] = (uint8_t)(v >> 8);
    return to + 2;
}

static inline uint8_t *as_put_u32le(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(v >> 8 * i);
    return to + 4;
}

static inline uint8_t *as_put_u64le(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(v >> 8 * i);
    return to + 8;
}

#define AS_VARINT_MAX 10

static inline uint8_t *as_put_varint(uint8_t *to, uint64_t v)
{
    while (v >= 0x80) {
        *to++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *to++ = (uint8_t)v;
    return to;
}

/* A text: its length, then its bytes. `text` may be NULL when it has none. */
static inline uint8_t *as_put_text(uint8_t *to, const char *text, size_t size)
{
    to = as_put_varint(to, size);
    if (size)
        memcpy(to, text, size);
    return to + size;
}

#endif
