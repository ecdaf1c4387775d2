/* base/proto/protobuf_stream.h - protobuf messages written to a stream, however large.
 * A message is measured before it is written, so nothing of it is held in memory. */
#ifndef AS_BASE_PROTO_PROTOBUF_STREAM_H
#define AS_BASE_PROTO_PROTOBUF_STREAM_H

#include <stdint.h>

#include "base/output.h"

/* {.out = somewhere} writes, {.out = NULL} only measures. */
struct as_proto_out {
    struct as_out *out;
    uint64_t size; /* written or measured so far */
    void *ctx;     /* for the functions that put messages */
};

/* Puts the fields of one message; called once to measure and once to write, it must do the same. */
typedef void (*as_proto_put)(struct as_proto_out *p, const void *what);

void as_proto_put_u64(struct as_proto_out *p, uint32_t field, uint64_t value);
void as_proto_put_i64(struct as_proto_out *p, uint32_t field, int64_t value);
void as_proto_put_f32(struct as_proto_out *p, uint32_t field, float value);
void as_proto_put_bytes(struct as_proto_out *p, uint32_t field, const void *bytes, size_t size);
void as_proto_put_word(struct as_proto_out *p, uint32_t field, const char *text);
/* Nothing when the text is empty. */
void as_proto_put_name(struct as_proto_out *p, uint32_t field, const char *text);
void as_proto_put_message(struct as_proto_out *p, uint32_t field, as_proto_put put,
                          const void *what);
/* The start of a field whose `size` bytes the caller puts with as_proto_put_raw(). */
void as_proto_put_head(struct as_proto_out *p, uint32_t field, uint64_t size);
void as_proto_put_raw(struct as_proto_out *p, const void *bytes, size_t size);

#endif
