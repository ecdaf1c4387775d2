/* base/proto/protobuf_stream.c - protobuf messages written to a stream, however large.
 * A message is measured before it is written, so nothing of it is held in memory. */
#include "base/proto/protobuf_stream.h"

#include <string.h>

#include "base/proto/protobuf_reader.h"

void as_proto_put_raw(struct as_proto_out *p, const void *bytes, size_t size)
{
    p->size += size;
    if (p->out && size)
        as_out_put(p->out, bytes, size);
}

static void put_varint(struct as_proto_out *p, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    as_proto_put_raw(p, bytes, n);
}

static void put_tag(struct as_proto_out *p, uint32_t field, enum as_proto_wire wire)
{
    put_varint(p, (uint64_t)field << 3 | wire);
}

void as_proto_put_u64(struct as_proto_out *p, uint32_t field, uint64_t value)
{
    put_tag(p, field, AS_WIRE_VARINT);
    put_varint(p, value);
}

void as_proto_put_i64(struct as_proto_out *p, uint32_t field, int64_t value)
{
    as_proto_put_u64(p, field, (uint64_t)value);
}

void as_proto_put_f32(struct as_proto_out *p, uint32_t field, float value)
{
    uint32_t bits;
    uint8_t bytes[4];

    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    put_tag(p, field, AS_WIRE_32);
    as_proto_put_raw(p, bytes, sizeof bytes);
}

void as_proto_put_head(struct as_proto_out *p, uint32_t field, uint64_t size)
{
    put_tag(p, field, AS_WIRE_SIZED);
    put_varint(p, size);
}

void as_proto_put_bytes(struct as_proto_out *p, uint32_t field, const void *bytes, size_t size)
{
    as_proto_put_head(p, field, size);
    as_proto_put_raw(p, bytes, size);
}

void as_proto_put_word(struct as_proto_out *p, uint32_t field, const char *text)
{
    as_proto_put_bytes(p, field, text, strlen(text));
}

void as_proto_put_name(struct as_proto_out *p, uint32_t field, const char *text)
{
    if (text && text[0])
        as_proto_put_word(p, field, text);
}

void as_proto_put_message(struct as_proto_out *p, uint32_t field, as_proto_put put,
                          const void *what)
{
    struct as_proto_out measured = {.ctx = p->ctx};

    put(&measured, what);
    as_proto_put_head(p, field, measured.size);
    if (p->out)
        put(p, what);
    else
        p->size += measured.size;
}
