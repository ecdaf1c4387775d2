/* base/proto/protobuf_writer.c - protobuf messages, nested, written into memory that grows.
 * A field may be written with any number; who reads decides what it means. Failures are kept until
 * asked. */
#include "base/proto/protobuf_writer.h"

#include <string.h>

#include "base/text/utf8.h"

#define VARINT_BYTES 10 /* the longest */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_SIZED = 2 };

void as_protobuf_reset(struct as_protobuf *p)
{
    p->bytes.size = 0;
    p->depth = 0;
}

void as_protobuf_fini(struct as_protobuf *p)
{
    as_buffer_fini(&p->bytes);
    *p = (struct as_protobuf){.bytes = {.max_bytes = p->bytes.max_bytes}};
}

bool as_protobuf_ok(const struct as_protobuf *p)
{
    return !p->bytes.failed && !p->misused && p->depth == 0;
}

static uint8_t *put_varint(uint8_t *to, uint64_t v)
{
    while (v >= 0x80) {
        *to++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *to++ = (uint8_t)v;
    return to;
}

/* Where `size` bytes may be written, or NULL. */
static inline uint8_t *reserve(struct as_protobuf *p, size_t size)
{
    if (__builtin_expect(p->misused || p->bytes.failed, 0))
        return NULL;
    if (p->bytes.capacity - p->bytes.size >= size)
        return p->bytes.data + p->bytes.size;
    return as_buffer_reserve(&p->bytes, size);
}

/* The tag of a field; returns where its value goes, with `extra` bytes of room, or NULL. */
static inline uint8_t *put_tag(struct as_protobuf *p, uint32_t field, enum wire wire, size_t extra)
{
    uint8_t *at = reserve(p, VARINT_BYTES + extra);

    return at ? put_varint(at, (uint64_t)field << 3 | wire) : NULL;
}

static inline void commit(struct as_protobuf *p, const uint8_t *end)
{
    p->bytes.size = (size_t)(end - p->bytes.data);
}

void as_protobuf_u64(struct as_protobuf *p, uint32_t field, uint64_t value)
{
    uint8_t *at = put_tag(p, field, WIRE_VARINT, VARINT_BYTES);

    if (at)
        commit(p, put_varint(at, value));
}

void as_protobuf_i64(struct as_protobuf *p, uint32_t field, int64_t value)
{
    as_protobuf_u64(p, field, (uint64_t)value);
}

void as_protobuf_f64(struct as_protobuf *p, uint32_t field, double value)
{
    uint8_t *at = put_tag(p, field, WIRE_64, sizeof value);
    uint64_t bits;

    if (!at)
        return;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        *at++ = (uint8_t)(bits >> 8 * i);
    commit(p, at);
}

void as_protobuf_bytes(struct as_protobuf *p, uint32_t field, const void *data, size_t size)
{
    uint8_t *at;

    if (size > SIZE_MAX / 2) {
        p->misused = true;
        return;
    }
    at = put_tag(p, field, WIRE_SIZED, VARINT_BYTES + size);
    if (!at)
        return;
    at = put_varint(at, size);
    if (size)
        memcpy(at, data, size);
    commit(p, at + size);
}

/* Appends one code point of `text`, or U+FFFD for a byte that begins none; returns how many bytes
 * it took. */
static size_t put_code(struct as_protobuf *p, const char *text, size_t size)
{
    uint32_t code;
    size_t n = as_utf8_decode(text, size, &code);
    size_t n_put = n ? n : sizeof AS_UTF8_REPLACEMENT - 1;
    uint8_t *at = reserve(p, n_put);

    if (at) {
        memcpy(at, n ? text : AS_UTF8_REPLACEMENT, n_put);
        commit(p, at + n_put);
    }
    return n ? n : 1;
}

void as_protobuf_text(struct as_protobuf *p, uint32_t field, const char *text)
{
    size_t size = strlen(text), at = 0;

    if (as_utf8_valid(text, size)) {
        as_protobuf_bytes(p, field, text, size);
        return;
    }
    as_protobuf_begin(p, field); /* on the wire a string and a message are the same thing */
    while (at < size)
        at += put_code(p, text + at, size - at);
    as_protobuf_end(p);
}

void as_protobuf_begin(struct as_protobuf *p, uint32_t field)
{
    uint8_t *at;

    if (p->depth == AS_PROTOBUF_DEPTH) {
        p->misused = true;
        return;
    }
    at = put_tag(p, field, WIRE_SIZED, 1);
    if (!at)
        return;
    commit(p,
           at + 1); /* most messages are short: one byte for the length, more are made at the end */
    p->open[p->depth++] = p->bytes.size - 1;
}

void as_protobuf_end(struct as_protobuf *p)
{
    uint8_t length[VARINT_BYTES];
    size_t at, size, extra;

    if (p->bytes.failed || p->misused)
        return;
    if (p->depth == 0) {
        p->misused = true;
        return;
    }
    at = p->open[--p->depth];
    size = p->bytes.size - at - 1;
    extra = (size_t)(put_varint(length, size) - length) - 1;
    if (extra) {
        if (!reserve(p, extra))
            return;
        memmove(p->bytes.data + at + 1 + extra, p->bytes.data + at + 1, size);
        p->bytes.size += extra;
    }
    memcpy(p->bytes.data + at, length, extra + 1);
}
