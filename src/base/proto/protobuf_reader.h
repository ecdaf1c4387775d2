/* base/proto/protobuf_reader.h - protobuf messages as they lie in memory: fields are borrowed,
 * never copied. Every length is compared with what is left, and every step is counted against a
 * limit. */
#ifndef AS_BASE_PROTO_PROTOBUF_READER_H
#define AS_BASE_PROTO_PROTOBUF_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"

enum { AS_MAX_MESSAGE_DEPTH = 64 };

enum as_proto_wire {
    AS_WIRE_VARINT = 0,
    AS_WIRE_64 = 1,
    AS_WIRE_SIZED = 2,
    AS_WIRE_32 = 5,
};

/* The whole of the input; all messages in it share one. */
struct as_proto_input {
    const uint8_t *base;
    const char *what;   /* "ONNX file", for messages */
    uint64_t steps;     /* fields looked at so far */
    uint64_t max_steps; /* a file that makes us look at more is refused */
};

/* A message that is being read. */
struct as_proto {
    struct as_cursor at;
    struct as_proto_input *in;
    unsigned depth;
};

struct as_proto_field {
    uint32_t number;
    enum as_proto_wire wire;
    uint64_t offset;       /* of its tag in the input */
    uint64_t value;        /* of a varint, 64 or 32 bits */
    struct as_cursor body; /* of a sized field; of a fixed one its bytes */
};

/* Lets the reader look at a number of fields that is linear in `size`. */
void as_proto_init(struct as_proto *p, struct as_proto_input *in, const char *what,
                   const void *bytes, size_t size);

/* Where in the input the cursor is. */
uint64_t as_proto_offset(const struct as_proto *p);

/* 1: a field; 0: the message is at its end; negative: it is damaged. */
int as_proto_next(struct as_proto *p, struct as_proto_field *field, struct assay_error *err);

/* The message inside a field. ASSAY_ERR_LIMIT past AS_MAX_MESSAGE_DEPTH. */
AS_MUST_USE int as_proto_enter(struct as_proto *inner, const struct as_proto *outer,
                               const struct as_proto_field *field, struct assay_error *err);

/* The number, text or float of a field; an error when it is of another kind. */
AS_MUST_USE int as_proto_u64(const struct as_proto *p, const struct as_proto_field *field,
                             uint64_t *out, struct assay_error *err);
AS_MUST_USE int as_proto_i64(const struct as_proto *p, const struct as_proto_field *field,
                             int64_t *out, struct assay_error *err);
AS_MUST_USE int as_proto_text(const struct as_proto *p, const struct as_proto_field *field,
                              struct as_text *out, struct assay_error *err);
AS_MUST_USE int as_proto_f32(const struct as_proto *p, const struct as_proto_field *field,
                             float *out, struct assay_error *err);

/* A repeated field of numbers, packed, alone or mixed, within a message. */
struct as_proto_list {
    struct as_proto message; /* what is left of it */
    struct as_cursor chunk;  /* what is left of the packed field we are in */
    uint32_t field;
    enum as_proto_wire wire; /* of one element: varint, 64 or 32 */
};

void as_proto_list_init(struct as_proto_list *list, const struct as_proto *message, uint32_t field,
                        enum as_proto_wire wire);

/* 1 with the bits of the next number, 0 at the end, negative when damaged. */
int as_proto_list_next(struct as_proto_list *list, uint64_t *bits, struct assay_error *err);

/* The sentence of a damaged input: "damaged ONNX file: WHY (byte N)". */
AS_PRINTF(4, 5)
int as_proto_damaged(const struct as_proto *p, uint64_t offset, struct assay_error *err,
                     const char *fmt, ...);

#endif
