/* base/proto/protobuf_writer.h - protobuf messages written into memory, to a stream, or only
 * measured. A field may have any number; whoever reads it decides what it means. Failures are kept
 * until as_protobuf_ok() is asked. */
#ifndef AS_BASE_PROTO_PROTOBUF_WRITER_H
#define AS_BASE_PROTO_PROTOBUF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/output.h"

#define AS_PROTOBUF_DEPTH 16

/* {0} writes into `bytes`, {.out = somewhere} to a stream, {.measure = true} only counts. */
struct as_protobuf {
    struct as_buffer bytes;
    struct as_out *out;
    bool measure;
    uint64_t size;                  /* written or measured so far, of a stream or a measurement */
    void *ctx;                      /* for the functions that put messages */
    size_t open[AS_PROTOBUF_DEPTH]; /* where the length of each open message stands */
    unsigned depth;
    bool misused; /* nested too deep, or ended what was not begun; nothing more is written */
};

/* Forgets what was written into memory and keeps the memory. */
void as_protobuf_reset(struct as_protobuf *p);

/* Frees the memory; accepts a writer already emptied. */
void as_protobuf_fini(struct as_protobuf *p);

/* True when everything written into memory so far is there and no message is left open. */
bool as_protobuf_ok(const struct as_protobuf *p);

/* uint32, uint64, bool and enum fields, and int32 and int64 ones: a negative one, converted, takes
 * ten bytes. */
void as_protobuf_u64(struct as_protobuf *p, uint32_t field, uint64_t value);

void as_protobuf_f64(struct as_protobuf *p, uint32_t field, double value);
void as_protobuf_fixed64(struct as_protobuf *p, uint32_t field, uint64_t value);
void as_protobuf_f32(struct as_protobuf *p, uint32_t field, float value);

void as_protobuf_bytes(struct as_protobuf *p, uint32_t field, const void *data, size_t size);

/* The bytes of a string as they are. */
void as_protobuf_string(struct as_protobuf *p, uint32_t field, const char *text);
/* The same; nothing when `text` is NULL or empty. */
void as_protobuf_name(struct as_protobuf *p, uint32_t field, const char *text);

/* A string field in memory: bytes that are not UTF-8 become U+FFFD, since readers may refuse them.
 */
void as_protobuf_text(struct as_protobuf *p, uint32_t field, const char *text);

/* A message in memory: what is written between the two is inside it. */
void as_protobuf_begin(struct as_protobuf *p, uint32_t field);
void as_protobuf_end(struct as_protobuf *p);

/* A message of any size to a stream: `put` is called once to measure the message and once to write
 * it, and must do the same both times. Nothing of the message is held in memory. */
typedef void (*as_protobuf_put)(struct as_protobuf *p, const void *what);
void as_protobuf_message(struct as_protobuf *p, uint32_t field, as_protobuf_put put,
                         const void *what);

/* The start of a field whose `size` bytes the caller puts with as_protobuf_raw(). */
void as_protobuf_head(struct as_protobuf *p, uint32_t field, uint64_t size);
void as_protobuf_raw(struct as_protobuf *p, const void *data, size_t size);

#endif
