/* base/proto/protobuf_reader.c - protobuf messages as they lie in memory: fields are borrowed,
 * never copied. */
#include "base/proto/protobuf_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_FIELD 536870911U /* 2^29 - 1 */

/* Beside what a few walks through the whole of a file need. */
#define SPARE_STEPS ((uint64_t)8 << 20)

void as_proto_init(struct as_proto *p, struct as_proto_input *in, const char *what,
                   const void *bytes, size_t size)
{
    *in = (struct as_proto_input){.base = bytes, .what = what};
    in->max_steps = SPARE_STEPS + 8 * (uint64_t)size;
    *p = (struct as_proto){.at = as_cursor_over(bytes, size), .in = in};
}

uint64_t as_proto_offset(const struct as_proto *p)
{
    return (uint64_t)(p->at.at - p->in->base);
}

int as_proto_damaged(const struct as_proto *p, uint64_t offset, struct assay_error *err,
                     const char *fmt, ...)
{
    char why[160];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return as_fail_at(err, offset, "damaged %s: %s", p->in->what, why);
}

static int cut_off(const struct as_proto *p, uint64_t offset, struct assay_error *err)
{
    return as_proto_damaged(p, offset, err, "it is cut off in the middle of a field");
}

static int take_sized(struct as_proto *p, struct as_proto_field *field, struct assay_error *err)
{
    const uint8_t *bytes;

    if (!as_take_varint(&p->at, &field->value))
        return as_proto_damaged(p, field->offset, err, "the length of field %u cannot be read",
                                field->number);
    if (field->value > as_cursor_left(&p->at))
        return as_proto_damaged(p, field->offset, err,
                                "field %u claims %llu bytes where %zu are left", field->number,
                                (unsigned long long)field->value, as_cursor_left(&p->at));
    if (!as_take_bytes(&p->at, (size_t)field->value, &bytes))
        return cut_off(p, field->offset, err);
    field->body = as_cursor_over(bytes, (size_t)field->value);
    return 1;
}

static int take_fixed(struct as_proto *p, struct as_proto_field *field, size_t size,
                      struct assay_error *err)
{
    const uint8_t *bytes;

    if (!as_take_bytes(&p->at, size, &bytes))
        return cut_off(p, field->offset, err);
    field->body = as_cursor_over(bytes, size);
    field->value = 0;
    for (size_t i = 0; i < size; i++)
        field->value |= (uint64_t)bytes[i] << (8 * i);
    return 1;
}

int as_proto_next(struct as_proto *p, struct as_proto_field *field, struct assay_error *err)
{
    uint64_t tag;

    if (as_cursor_left(&p->at) == 0)
        return 0;
    field->offset = as_proto_offset(p);
    if (++p->in->steps > p->in->max_steps)
        return as_fail(err, ASSAY_ERR_LIMIT, "the %s makes more than %llu fields out of its bytes",
                       p->in->what, (unsigned long long)p->in->max_steps);
    if (!as_take_varint(&p->at, &tag) || tag >> 3 == 0 || tag >> 3 > MAX_FIELD)
        return as_proto_damaged(p, field->offset, err, "no field can begin like this");
    field->number = (uint32_t)(tag >> 3);
    field->wire = (enum as_proto_wire)(tag & 7);
    switch (tag & 7) {
    case AS_WIRE_VARINT:
        if (!as_take_varint(&p->at, &field->value))
            return as_proto_damaged(p, field->offset, err, "the number in field %u cannot be read",
                                    field->number);
        return 1;
    case AS_WIRE_SIZED:
        return take_sized(p, field, err);
    case AS_WIRE_64:
        return take_fixed(p, field, 8, err);
    case AS_WIRE_32:
        return take_fixed(p, field, 4, err);
    default:
        return as_proto_damaged(p, field->offset, err, "field %u is a group or of no known kind",
                                field->number);
    }
}

static int wrong_wire(const struct as_proto *p, const struct as_proto_field *field,
                      const char *wanted, struct assay_error *err)
{
    return as_proto_damaged(p, field->offset, err, "field %u should be %s", field->number, wanted);
}

int as_proto_enter(struct as_proto *inner, const struct as_proto *outer,
                   const struct as_proto_field *field, struct assay_error *err)
{
    if (field->wire != AS_WIRE_SIZED)
        return wrong_wire(outer, field, "a message", err);
    if (outer->depth + 1 >= AS_MAX_MESSAGE_DEPTH) {
        as_fail_at(err, field->offset, "the %s is nested more than %d deep", outer->in->what,
                   AS_MAX_MESSAGE_DEPTH);
        return ASSAY_ERR_FORMAT;
    }
    *inner = (struct as_proto){field->body, outer->in, outer->depth + 1};
    return ASSAY_OK;
}

int as_proto_u64(const struct as_proto *p, const struct as_proto_field *field, uint64_t *out,
                 struct assay_error *err)
{
    if (field->wire != AS_WIRE_VARINT)
        return wrong_wire(p, field, "a number", err);
    *out = field->value;
    return ASSAY_OK;
}

int as_proto_i64(const struct as_proto *p, const struct as_proto_field *field, int64_t *out,
                 struct assay_error *err)
{
    uint64_t bits = 0;
    int rc = as_proto_u64(p, field, &bits, err);

    if (rc == ASSAY_OK)
        memcpy(out, &bits, sizeof *out);
    return rc;
}

int as_proto_text(const struct as_proto *p, const struct as_proto_field *field, struct as_text *out,
                  struct assay_error *err)
{
    if (field->wire != AS_WIRE_SIZED)
        return wrong_wire(p, field, "text or bytes", err);
    *out = (struct as_text){(const char *)field->body.at, as_cursor_left(&field->body)};
    return ASSAY_OK;
}

int as_proto_f32(const struct as_proto *p, const struct as_proto_field *field, float *out,
                 struct assay_error *err)
{
    uint32_t bits = (uint32_t)field->value;

    if (field->wire != AS_WIRE_32)
        return wrong_wire(p, field, "a float", err);
    memcpy(out, &bits, sizeof *out);
    return ASSAY_OK;
}

void as_proto_list_init(struct as_proto_list *list, const struct as_proto *message, uint32_t field,
                        enum as_proto_wire wire)
{
    *list = (struct as_proto_list){.message = *message, .field = field, .wire = wire};
}

static int list_damaged(const struct as_proto_list *list, struct assay_error *err)
{
    return as_proto_damaged(&list->message, (uint64_t)(list->chunk.at - list->message.in->base),
                            err, "a number in the list of field %u cannot be read", list->field);
}

/* The next number of the packed field we are in. */
static int take_packed(struct as_proto_list *list, uint64_t *bits, struct assay_error *err)
{
    uint32_t narrow = 0;
    bool ok;

    if (list->wire == AS_WIRE_VARINT)
        ok = as_take_varint(&list->chunk, bits);
    else if (list->wire == AS_WIRE_64)
        ok = as_take_u64le(&list->chunk, bits);
    else {
        ok = as_take_u32le(&list->chunk, &narrow);
        *bits = narrow;
    }
    return ok ? 1 : list_damaged(list, err);
}

int as_proto_list_next(struct as_proto_list *list, uint64_t *bits, struct assay_error *err)
{
    struct as_proto_field field = {0};
    int rc;

    if (as_cursor_left(&list->chunk) > 0)
        return take_packed(list, bits, err);
    while ((rc = as_proto_next(&list->message, &field, err)) > 0) {
        if (field.number != list->field)
            continue;
        if (field.wire == list->wire) {
            *bits = field.value;
            return 1;
        }
        if (field.wire != AS_WIRE_SIZED)
            return wrong_wire(&list->message, &field, "a list of numbers", err);
        list->chunk = field.body;
        list->message.in->steps += as_cursor_left(&field.body) / 8;
        if (as_cursor_left(&list->chunk) > 0)
            return take_packed(list, bits, err);
    }
    return rc;
}
