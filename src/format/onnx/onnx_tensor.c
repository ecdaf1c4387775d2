/* format/onnx/onnx_tensor.c - tensors of ONNX. Their numbers stay in the file: those that lie there
 * as they are in memory are pointed to, the others are decoded when somebody asks.
 *
 * TensorProto: dims 1, type 2, segment 3, floats 4, int32s 5, texts 6, int64s 7, name 8, raw 9,
 * doubles 10, uint64s 11, doc 12, external 13, location 14. Raw bytes are little-endian. 16-bit and
 * smaller types stand in the int32s, two 4-bit numbers in each. */
#include <string.h>

#include "base/cursor.h"
#include "base/units.h"
#include "format/onnx/onnx_reader.h"

enum {
    F_DIMS = 1,
    F_TYPE = 2,
    F_SEGMENT = 3,
    F_FLOATS = 4,
    F_INT32S = 5,
    F_TEXTS = 6,
    F_INT64S = 7,
    F_NAME = 8,
    F_RAW = 9,
    F_DOUBLES = 10,
    F_UINT64S = 11,
    F_LOCATION = 14,
};

/* By the number in the file: our type, the field of its numbers, how many of them are an element.
 */
static const struct kind {
    uint8_t dtype, field, wire, per_element;
} kinds[] = {
    [0] = {AS_DTYPE_UNKNOWN, 0, 0, 0},
    [1] = {AS_DTYPE_F32, F_FLOATS, AS_WIRE_32, 1},
    [2] = {AS_DTYPE_U8, F_INT32S, AS_WIRE_VARINT, 1},
    [3] = {AS_DTYPE_I8, F_INT32S, AS_WIRE_VARINT, 1},
    [4] = {AS_DTYPE_U16, F_INT32S, AS_WIRE_VARINT, 1},
    [5] = {AS_DTYPE_I16, F_INT32S, AS_WIRE_VARINT, 1},
    [6] = {AS_DTYPE_I32, F_INT32S, AS_WIRE_VARINT, 1},
    [7] = {AS_DTYPE_I64, F_INT64S, AS_WIRE_VARINT, 1},
    [8] = {AS_DTYPE_STRING, F_TEXTS, AS_WIRE_SIZED, 1},
    [9] = {AS_DTYPE_BOOL, F_INT32S, AS_WIRE_VARINT, 1},
    [10] = {AS_DTYPE_F16, F_INT32S, AS_WIRE_VARINT, 1},
    [11] = {AS_DTYPE_F64, F_DOUBLES, AS_WIRE_64, 1},
    [12] = {AS_DTYPE_U32, F_UINT64S, AS_WIRE_VARINT, 1},
    [13] = {AS_DTYPE_U64, F_UINT64S, AS_WIRE_VARINT, 1},
    [14] = {AS_DTYPE_C64, F_FLOATS, AS_WIRE_32, 2},
    [15] = {AS_DTYPE_C128, F_DOUBLES, AS_WIRE_64, 2},
    [16] = {AS_DTYPE_BF16, F_INT32S, AS_WIRE_VARINT, 1},
    [17] = {AS_DTYPE_F8E4M3FN, F_INT32S, AS_WIRE_VARINT, 1},
    [18] = {AS_DTYPE_F8E4M3FNUZ, F_INT32S, AS_WIRE_VARINT, 1},
    [19] = {AS_DTYPE_F8E5M2, F_INT32S, AS_WIRE_VARINT, 1},
    [20] = {AS_DTYPE_F8E5M2FNUZ, F_INT32S, AS_WIRE_VARINT, 1},
    [21] = {AS_DTYPE_U4, F_INT32S, AS_WIRE_VARINT, 1},
    [22] = {AS_DTYPE_I4, F_INT32S, AS_WIRE_VARINT, 1},
    [23] = {AS_DTYPE_F4E2M1, F_INT32S, AS_WIRE_VARINT, 1},
};
#define N_KINDS (AS_COUNT_OF(kinds))

unsigned as_onnx_dtype(uint64_t number)
{
    return number < N_KINDS ? kinds[number].dtype : AS_DTYPE_UNKNOWN;
}

unsigned as_onnx_dtype_number(unsigned dtype)
{
    for (unsigned i = 1; i < N_KINDS; i++)
        if (kinds[i].dtype == dtype)
            return i;
    return 0;
}

/* A tensor as it lies in the file. */
struct source {
    struct as_onnx *r;
    struct as_proto message;
    struct as_text name, raw;
    uint64_t number; /* of its type */
    uint64_t location;
    struct as_dims dims;
    uint32_t typed;         /* the field its numbers are in; 0: none */
    struct as_cursor chunk; /* the packed one, when there is one alone */
    uint64_t n_chunks;
    const struct kind *kind;
    uint64_t n, size_bytes; /* elements and their bytes; of texts 0 bytes */
};

static int bad(const struct source *s, const char *why)
{
    return as_fail_at(s->r->err, as_proto_offset(&s->message), "tensor '%.*s' %s",
                      AS_ONNX_SHOWN(s->name), why);
}

static int add_dim(struct source *s, uint64_t bits)
{
    int64_t dim;

    memcpy(&dim, &bits, sizeof dim);
    if (s->dims.rank == AS_MAX_RANK)
        return bad(s, "has more dimensions than 32");
    if (dim < 0)
        return bad(s, "has a negative dimension");
    s->dims.at[s->dims.rank++] = dim;
    return ASSAY_OK;
}

static int add_numbers(struct source *s, const struct as_proto_field *f)
{
    if (f->wire == AS_WIRE_SIZED && f->number != F_TEXTS && as_cursor_left(&f->body) == 0)
        return ASSAY_OK;
    if (s->typed && s->typed != f->number)
        return bad(s, "has its numbers in two fields");
    s->typed = f->number;
    s->chunk = f->wire == AS_WIRE_SIZED ? f->body : (struct as_cursor){NULL, NULL};
    s->n_chunks++;
    return ASSAY_OK;
}

static int scan_field(struct source *s, const struct as_proto *p, const struct as_proto_field *f)
{
    struct as_proto_list list;
    uint64_t bits;
    int rc;

    switch (f->number) {
    case F_DIMS:
        if (f->wire == AS_WIRE_VARINT)
            return add_dim(s, f->value);
        as_proto_list_init(&list, p, F_DIMS, AS_WIRE_VARINT);
        rc = as_proto_text(p, f, &(struct as_text){0}, s->r->err);
        list.message.at = (struct as_cursor){p->at.at, p->at.at};
        list.chunk = f->body;
        while (rc >= 0 && (rc = as_proto_list_next(&list, &bits, s->r->err)) > 0)
            rc = add_dim(s, bits);
        return rc;
    case F_TYPE:
        return as_proto_u64(p, f, &s->number, s->r->err);
    case F_SEGMENT:
        return bad(s, "is in segments, which is not supported");
    case F_NAME:
        return as_proto_text(p, f, &s->name, s->r->err);
    case F_RAW:
        return as_proto_text(p, f, &s->raw, s->r->err);
    case F_LOCATION:
        return as_proto_u64(p, f, &s->location, s->r->err);
    case F_FLOATS:
    case F_INT32S:
    case F_TEXTS:
    case F_INT64S:
    case F_DOUBLES:
    case F_UINT64S:
        return add_numbers(s, f);
    default:
        return ASSAY_OK;
    }
}

/* The name is known first, so that every sentence can have it. */
static int scan_name(struct source *s)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    int rc;

    while ((rc = as_proto_next(&p, &f, s->r->err)) > 0)
        if (f.number == F_NAME && (rc = as_proto_text(&p, &f, &s->name, s->r->err)) < 0)
            return rc;
    return rc;
}

static int scan(struct source *s, struct as_type *type)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    int rc = scan_name(s);

    while (rc >= 0 && (rc = as_proto_next(&p, &f, s->r->err)) > 0)
        rc = scan_field(s, &p, &f);
    if (rc < 0)
        return rc;
    if (s->number == 0 || s->number >= N_KINDS)
        return as_fail_at(s->r->err, as_proto_offset(&s->message),
                          "tensor '%.*s' is of type %llu, which ONNX does not have",
                          AS_ONNX_SHOWN(s->name), (unsigned long long)s->number);
    s->kind = &kinds[s->number];
    if (!as_type_tensor(type, &s->r->model->arena, s->kind->dtype, &s->dims))
        return as_onnx_no_memory(s->r);
    if (!as_type_elems(type, &s->n) || !as_dtype_bytes(s->kind->dtype, s->n, &s->size_bytes))
        return bad(s, "has dimensions whose product does not fit in 64 bits");
    return ASSAY_OK;
}

static int wrong_size(const struct source *s, uint64_t given, const char *unit, uint64_t wanted)
{
    return as_fail_at(s->r->err, as_proto_offset(&s->message),
                      "tensor '%.*s' has %llu %s where its shape and type need %llu",
                      AS_ONNX_SHOWN(s->name), (unsigned long long)given, unit,
                      (unsigned long long)wanted);
}

/* Numbers that are decoded when asked for. Every so many of them we keep the place, so that reading
 * in pieces does not begin at the start each time. */
#define MARK_EVERY 65536U

struct numbers {
    const uint8_t *base;
    struct as_proto_list *marks;
    size_t n_marks;
    uint32_t bytes_each;
};

static int make_numbers(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                        struct assay_error *err)
{
    const struct numbers *from = data->from;
    struct as_proto_input input = {
        .base = from->base, .what = "ONNX file", .max_steps = UINT64_MAX};
    struct as_proto_list list;
    uint8_t *to = out;
    uint64_t at, count, skip, bits;
    int rc = 1;

    if (n == 0)
        return ASSAY_OK;
    (void)as_dtype_bytes(data->dtype, first, &at);
    (void)as_dtype_bytes(data->dtype, n, &count);
    at /= from->bytes_each;
    count /= from->bytes_each;
    list = from->marks[at / MARK_EVERY];
    list.message.in = &input;
    for (skip = at % MARK_EVERY; skip > 0 && rc > 0; skip--)
        rc = as_proto_list_next(&list, &bits, err);
    for (; count > 0 && rc > 0; count--) {
        rc = as_proto_list_next(&list, &bits, err);
        for (uint32_t b = 0; b < from->bytes_each && rc > 0; b++)
            *to++ = (uint8_t)(bits >> (8 * b));
    }
    return rc < 0 ? rc : ASSAY_OK;
}

/* Walks the numbers once, to count them and to keep the places. */
static int mark_numbers(struct source *s, struct numbers *numbers, uint64_t wanted)
{
    struct as_proto_list list;
    uint64_t n = 0, bits;
    int rc = 1;

    as_proto_list_init(&list, &s->message, s->typed, (enum as_proto_wire)s->kind->wire);
    while (rc > 0) {
        if (n % MARK_EVERY == 0 && n / MARK_EVERY < numbers->n_marks)
            numbers->marks[n / MARK_EVERY] = list;
        rc = as_proto_list_next(&list, &bits, s->r->err);
        n += rc > 0;
    }
    return rc < 0 ? rc : n == wanted ? ASSAY_OK : wrong_size(s, n, "numbers", wanted);
}

static int use_numbers(struct source *s, struct as_data *data)
{
    uint64_t wanted = s->n * s->kind->per_element; /* cannot wrap: its bytes did not */
    struct numbers *numbers;
    uint64_t capacity;

    if (s->kind->dtype == AS_DTYPE_I4 || s->kind->dtype == AS_DTYPE_U4 ||
        s->kind->dtype == AS_DTYPE_F4E2M1)
        wanted = s->size_bytes;
    /* A number takes a byte at least, so a shape that asks for more is refused before room is made.
     */
    capacity = as_cursor_left(&s->message.at);
    if (wanted > capacity)
        return wrong_size(s, capacity, "bytes at most", wanted);
    numbers = as_arena_zero(&s->r->model->arena, 1, sizeof *numbers);
    if (!numbers)
        return as_onnx_no_memory(s->r);
    numbers->base = s->r->input.base;
    numbers->bytes_each = (uint32_t)(s->size_bytes / wanted);
    numbers->n_marks = (size_t)(wanted / MARK_EVERY + 1);
    numbers->marks = as_arena_zero(&s->r->model->arena, numbers->n_marks, sizeof *numbers->marks);
    if (!numbers->marks)
        return as_onnx_no_memory(s->r);
    data->make = make_numbers;
    data->from = numbers;
    return mark_numbers(s, numbers, wanted);
}

static int use_texts(struct source *s, struct as_data *data)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    struct as_text *texts;
    uint64_t i = 0;
    int rc = ASSAY_OK;

    if (s->n_chunks != s->n)
        return wrong_size(s, s->n_chunks, "texts", s->n);
    texts = as_arena_zero(&s->r->model->arena, (size_t)s->n + 1, sizeof *texts);
    if (!texts)
        return as_onnx_no_memory(s->r);
    while (rc >= 0 && (rc = as_proto_next(&p, &f, s->r->err)) > 0)
        if (f.number == F_TEXTS && i < s->n) {
            rc = as_proto_text(&p, &f, &texts[i], s->r->err);
            data->stored_bytes += texts[i++].size;
        }
    data->texts = texts;
    return rc < 0 ? rc : ASSAY_OK;
}

static int use_bytes(struct source *s, struct as_data *data, const uint8_t *bytes, uint64_t size)
{
    if (size != s->size_bytes)
        return wrong_size(s, size, "bytes", s->size_bytes);
    data->bytes = bytes;
    data->offset = as_onnx_offset(s->r, bytes);
    return ASSAY_OK;
}

static int use_external(struct source *s, struct as_data *data)
{
    if (s->raw.size || s->typed)
        return bad(s, "has data both in the file and outside");
    if (s->kind->dtype == AS_DTYPE_STRING)
        return bad(s, "is of strings, which cannot be outside the file");
    return as_onnx_external(s->r, &s->message, s->name, s->size_bytes, &data->bytes);
}

static int use_typed(struct source *s, struct as_data *data)
{
    if (s->typed != s->kind->field)
        return as_fail_at(s->r->err, as_proto_offset(&s->message),
                          "tensor '%.*s' is of %s but its numbers are in field %u",
                          AS_ONNX_SHOWN(s->name), as_dtype_name(s->kind->dtype), s->typed);
    if (s->kind->dtype == AS_DTYPE_STRING)
        return use_texts(s, data);
    if (s->n == 0)
        return bad(s, "has no elements by its shape, but numbers");
    if (s->kind->wire != AS_WIRE_VARINT && s->n_chunks == 1 && s->chunk.at)
        return use_bytes(s, data, s->chunk.at, as_cursor_left(&s->chunk));
    return use_numbers(s, data);
}

static int use_data(struct source *s, struct as_data *data)
{
    if (s->location > 1)
        return bad(s, "has its data at a place ONNX does not have");
    if (s->location == 1)
        return use_external(s, data);
    if (s->raw.size && s->typed)
        return bad(s, "has its numbers twice, raw and in a list");
    if (s->raw.size && s->kind->dtype == AS_DTYPE_STRING)
        return bad(s, "is of strings but has raw bytes");
    if (s->raw.size)
        return use_bytes(s, data, (const uint8_t *)s->raw.at, s->raw.size);
    if (s->typed)
        return use_typed(s, data);
    if (s->n > 0)
        return bad(s, "has no data");
    data->bytes = s->message.at.at;
    return ASSAY_OK;
}

int as_onnx_read_tensor(struct as_onnx *r, const struct as_proto *message,
                        struct as_onnx_tensor *tensor)
{
    struct source s = {.r = r, .message = *message};
    struct as_data *data;
    int rc = scan(&s, &tensor->type);

    if (rc < 0 || !s.kind)
        return rc;
    data = as_arena_zero(&r->model->arena, 1, sizeof *data);
    if (!data)
        return as_onnx_no_memory(r);
    data->dtype = s.kind->dtype;
    data->n = data->stored_elems = s.n;
    data->size_bytes = data->stored_bytes = s.size_bytes;
    data->offset = as_proto_offset(message);
    tensor->name = s.name;
    tensor->data = data;
    return use_data(&s, data);
}
