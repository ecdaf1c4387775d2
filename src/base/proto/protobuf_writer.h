/* base/proto/protobuf_writer.h - protobuf messages, nested, written into memory that grows.
 * A field may be written with any number; who reads decides what it means. Failures are kept until
 * asked. */
#ifndef AS_BASE_PROTO_PROTOBUF_WRITER_H
#define AS_BASE_PROTO_PROTOBUF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define AS_PROTOBUF_DEPTH 16

/* {0} is an empty writer. */
struct as_protobuf {
    struct as_buffer bytes;
    size_t open[AS_PROTOBUF_DEPTH]; /* where the length of each open message stands */
    unsigned depth;
    bool misused; /* nested too deep, or ended what was not begun; nothing more is written */
};

/* Forgets what was written and keeps the memory. */
void as_protobuf_reset(struct as_protobuf *p);

/* Frees the memory; accepts a writer already emptied. */
void as_protobuf_fini(struct as_protobuf *p);

/* True when everything written so far is there and no message is left open. */
bool as_protobuf_ok(const struct as_protobuf *p);

/* uint32, uint64, bool and enum fields, and int32 and int64 ones that are not negative. */
void as_protobuf_u64(struct as_protobuf *p, uint32_t field, uint64_t value);

/* int32 and int64 fields: a negative value takes ten bytes. */
void as_protobuf_i64(struct as_protobuf *p, uint32_t field, int64_t value);

/* A double field. */
void as_protobuf_f64(struct as_protobuf *p, uint32_t field, double value);

/* A bytes field. */
void as_protobuf_bytes(struct as_protobuf *p, uint32_t field, const void *data, size_t size);

/* A string field: bytes that are not UTF-8 become U+FFFD, since readers may refuse them. */
void as_protobuf_text(struct as_protobuf *p, uint32_t field, const char *text);

/* A message field: what is written between the two is inside it. */
void as_protobuf_begin(struct as_protobuf *p, uint32_t field);
void as_protobuf_end(struct as_protobuf *p);

#endif
