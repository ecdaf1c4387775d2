/* trace/run/run_format.c - the run file: a header and checked blocks, appended and never rewritten.
 * A cut tail costs the last block; a damaged block costs itself; both are counted by the reader. */
#include "trace/run/run_format.h"

#include <sys/random.h>
#include <unistd.h>

#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/units.h"

/* As bytes: nothing here ends with NUL. */
static const uint8_t run_magic[8] = {'A', 'S', 'S', 'A', 'Y', 'R', 'U', 'N'};

void as_run_header_pack(uint8_t out[AS_RUN_HEADER_BYTES], const struct as_run_header *h)
{
    uint8_t *at = out;

    memset(out, 0, AS_RUN_HEADER_BYTES);
    memcpy(at, run_magic, sizeof run_magic);
    at = as_put_u16le(at + 8, h->major);
    at = as_put_u16le(at, h->minor);
    at = as_put_u32le(at, AS_RUN_HEADER_BYTES);
    memcpy(at, h->id, AS_RUN_ID_BYTES);
    as_put_u32le(at + AS_RUN_ID_BYTES, h->salt);
    as_put_u32le(out + AS_RUN_HEADER_BYTES - 4, as_crc32c(0, out, AS_RUN_HEADER_BYTES - 4));
}

enum as_header_verdict as_run_header_unpack(const uint8_t *data, size_t size,
                                            struct as_run_header *h)
{
    struct as_cursor c = as_cursor_over(data, size);
    struct as_cursor tail;
    const uint8_t *bytes;
    uint32_t length, crc;

    if (size < 8 || memcmp(data, run_magic, sizeof run_magic) != 0)
        return size > 0 && size < 8 && memcmp(data, run_magic, size) == 0 ? AS_HEADER_SHORT
                                                                          : AS_HEADER_FOREIGN;
    if (size < AS_RUN_HEADER_BYTES)
        return AS_HEADER_SHORT;
    tail = as_cursor_over(data + AS_RUN_HEADER_BYTES - 4, 4);
    if (!as_take_u32le(&tail, &crc) || crc != as_crc32c(0, data, AS_RUN_HEADER_BYTES - 4))
        return AS_HEADER_DAMAGED;
    if (!as_take_bytes(&c, 8, &bytes) || !as_take_u16le(&c, &h->major) ||
        !as_take_u16le(&c, &h->minor) || !as_take_u32le(&c, &length) ||
        !as_take_bytes(&c, AS_RUN_ID_BYTES, &bytes) || !as_take_u32le(&c, &h->salt))
        return AS_HEADER_SHORT;
    memcpy(h->id, bytes, AS_RUN_ID_BYTES);
    return AS_HEADER_GOOD;
}

void as_block_header_pack(uint8_t out[AS_BLOCK_BYTES], const struct as_block_header *h)
{
    uint8_t *at = as_put_u32le(out, AS_BLOCK_MAGIC);

    at = as_put_u16le(at, h->kind);
    at = as_put_u16le(at, 0);
    at = as_put_u32le(at, h->size);
    at = as_put_u32le(at, h->number);
    at = as_put_u32le(at, h->crc);
    at = as_put_u32le(at, h->records);
    at = as_put_u32le(at, h->salt);
    as_put_u32le(at, as_crc32c(0, out, AS_BLOCK_BYTES - 4));
}

bool as_block_header_unpack(const uint8_t data[AS_BLOCK_BYTES], uint32_t salt,
                            struct as_block_header *h)
{
    struct as_cursor c = as_cursor_over(data, AS_BLOCK_BYTES);
    uint32_t magic, crc;
    uint16_t zero;

    return as_take_u32le(&c, &magic) && magic == AS_BLOCK_MAGIC && as_take_u16le(&c, &h->kind) &&
           as_take_u16le(&c, &zero) && as_take_u32le(&c, &h->size) &&
           as_take_u32le(&c, &h->number) && as_take_u32le(&c, &h->crc) &&
           as_take_u32le(&c, &h->records) && as_take_u32le(&c, &h->salt) && h->salt == salt &&
           as_take_u32le(&c, &crc) && crc == as_crc32c(0, data, AS_BLOCK_BYTES - 4) &&
           h->size <= AS_BLOCK_MAX_BYTES;
}

const char *as_loss_text(uint32_t reason)
{
    static const char *const text[] = {
        [AS_LOSS_RING_FULL] = "the ring was full",
        [AS_LOSS_THREAD_EXIT] = "marked while their thread was ending",
        [AS_LOSS_NO_LANE] = "no memory or file space for the thread's ring",
        [AS_LOSS_WRITE] = "the run file could not be written",
    };
    _Static_assert(AS_COUNT_OF(text) == AS_LOSS_REASON_COUNT, "name every reason");

    return reason < AS_LOSS_REASON_COUNT ? text[reason] : "";
}

void as_run_header_new(struct as_run_header *header)
{
    *header = (struct as_run_header){.major = AS_RUN_MAJOR, .minor = AS_RUN_MINOR};
    if (getrandom(header->id, sizeof header->id, GRND_NONBLOCK) != (ssize_t)sizeof header->id) {
        uint64_t now = as_clock_mono_ns(), pid = (uint64_t)getpid();

        memcpy(header->id, &now, sizeof now);
        memcpy(header->id + sizeof now, &pid, sizeof pid);
    }
    memcpy(&header->salt, header->id, sizeof header->salt);
}
