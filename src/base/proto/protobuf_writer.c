/* base/proto/protobuf_writer.c - protobuf messages written into memory, to a stream, or only
 * measured. */
#include "base/proto/protobuf_writer.h"

#include <string.h>

#include "base/proto/protobuf_reader.h"
#include "base/text/utf8.h"

#define VARINT_BYTES ((size_t)10) /* the longest */

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

static inline void put(struct as_protobuf *p, const void *data, size_t size)
{
    struct as_buffer *b = &p->bytes;

    if (__builtin_expect(p->misused || b->failed, 0))
        return;
    if (__builtin_expect(p->out || p->measure, 0)) {
        p->size += size;
        if (p->out && size)
            as_out_put(p->out, data, size);
        return;
    }
    if (b->capacity - b->size < size && !as_buffer_reserve(b, size))
        return;
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

void as_protobuf_raw(struct as_protobuf *p, const void *data, size_t size)
{
    if (size > SIZE_MAX / 2)
        p->misused = true;
    else
        put(p, data, size);
}

static inline uint8_t *encode(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static inline uint8_t *encode_tag(uint8_t *to, uint32_t field, enum as_proto_wire wire)
{
    return encode(to, (uint64_t)field << 3 | wire);
}

static void put_number(struct as_protobuf *p, uint32_t field, enum as_proto_wire wire,
                       uint64_t value)
{
    uint8_t bytes[2 * VARINT_BYTES];
    uint8_t *end = encode(encode_tag(bytes, field, wire), value);

    put(p, bytes, (size_t)(end - bytes));
}

/* `n` bytes of `bits`, the lowest first. */
static void put_fixed(struct as_protobuf *p, uint32_t field, enum as_proto_wire wire, uint64_t bits,
                      unsigned n)
{
    uint8_t bytes[VARINT_BYTES + 8];
    uint8_t *end = encode_tag(bytes, field, wire);

    for (unsigned i = 0; i < n; i++)
        *end++ = (uint8_t)(bits >> 8 * i);
    put(p, bytes, (size_t)(end - bytes));
}

void as_protobuf_u64(struct as_protobuf *p, uint32_t field, uint64_t value)
{
    put_number(p, field, AS_WIRE_VARINT, value);
}

void as_protobuf_f64(struct as_protobuf *p, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_fixed(p, field, AS_WIRE_64, bits, 8);
}

void as_protobuf_fixed64(struct as_protobuf *p, uint32_t field, uint64_t value)
{
    put_fixed(p, field, AS_WIRE_64, value, 8);
}

void as_protobuf_f32(struct as_protobuf *p, uint32_t field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_fixed(p, field, AS_WIRE_32, bits, 4);
}

void as_protobuf_head(struct as_protobuf *p, uint32_t field, uint64_t size)
{
    put_number(p, field, AS_WIRE_SIZED, size);
}

void as_protobuf_bytes(struct as_protobuf *p, uint32_t field, const void *data, size_t size)
{
    if (size > SIZE_MAX / 2) {
        p->misused = true;
        return;
    }
    /* All of the field or nothing of it. */
    if (!p->out && !p->measure && !as_buffer_reserve(&p->bytes, size + 2 * VARINT_BYTES))
        return;
    as_protobuf_head(p, field, size);
    put(p, data, size);
}

void as_protobuf_string(struct as_protobuf *p, uint32_t field, const char *text)
{
    as_protobuf_bytes(p, field, text, strlen(text));
}

void as_protobuf_name(struct as_protobuf *p, uint32_t field, const char *text)
{
    if (text && text[0])
        as_protobuf_string(p, field, text);
}

/* Appends one code point of `text`, or U+FFFD for a byte that begins none; returns how many bytes
 * of `text` it took. */
static size_t put_code(struct as_protobuf *p, const char *text, size_t size)
{
    uint32_t code;
    size_t n = as_utf8_decode(text, size, &code);

    put(p, n ? text : AS_UTF8_REPLACEMENT, n ? n : sizeof AS_UTF8_REPLACEMENT - 1);
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
    if (p->depth == AS_PROTOBUF_DEPTH || p->out || p->measure) {
        p->misused = true;
        return;
    }
    /* Most messages are short: one byte for the length, more are made at the end. */
    as_protobuf_head(p, field, 0);
    if (!p->bytes.failed && !p->misused)
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
    extra = (size_t)(encode(length, size) - length) - 1;
    if (extra) {
        if (p->bytes.capacity - p->bytes.size < extra && !as_buffer_reserve(&p->bytes, extra))
            return;
        memmove(p->bytes.data + at + 1 + extra, p->bytes.data + at + 1, size);
        p->bytes.size += extra;
    }
    memcpy(p->bytes.data + at, length, extra + 1);
}

void as_protobuf_message(struct as_protobuf *p, uint32_t field, as_protobuf_put put_message,
                         const void *what)
{
    struct as_protobuf measured = {.measure = true, .ctx = p->ctx};

    put_message(&measured, what);
    as_protobuf_head(p, field, measured.size);
    if (p->measure)
        p->size += measured.size;
    else
        put_message(p, what);
}
