/* format/onnx/onnx_attr.c - attributes of ONNX nodes, of every kind.
 *
 * AttributeProto: name 1, float 2, int 3, text 4, tensor 5, graph 6, floats 7, ints 8, texts 9,
 * tensors 10, graphs 11, doc 13, type 14, types 15, kind 20, reference 21, sparse tensor 22, sparse
 * tensors 23. The kind says which of them counts; files of IR version 1 leave it out. */
#include <string.h>

#include "base/units.h"
#include "format/onnx/onnx_reader.h"

/* An attribute as it lies in the file. */
struct source {
    struct as_onnx *r;
    struct as_onnx_scope *scope;
    struct as_proto message;
    struct as_text name, reference;
    uint64_t kind;
    uint32_t seen; /* field of the first value there is */
};

typedef int (*read_step)(const struct source *s, uint32_t field, struct as_attr *attr);

/* The last field of that number, which is the one that counts. 0: there is none. */
static int find_field(const struct source *s, uint32_t number, struct as_proto_field *out)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    int rc, found = 0;

    while ((rc = as_proto_next(&p, &f, s->r->err)) > 0)
        if (f.number == number) {
            *out = f;
            found = 1;
        }
    return rc < 0 ? rc : found;
}

static int read_float(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto_field f;
    float value = 0;
    int rc = find_field(s, field, &f);

    if (rc > 0)
        rc = as_proto_f32(&s->message, &f, &value, s->r->err);
    attr->f = (double)value;
    return rc;
}

static int read_int(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto_field f;
    int rc = find_field(s, field, &f);

    attr->i = 0;
    return rc > 0 ? as_proto_i64(&s->message, &f, &attr->i, s->r->err) : rc;
}

static int read_text(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto_field f;
    int rc = find_field(s, field, &f);

    attr->text = (struct as_text){"", 0};
    return rc > 0 ? as_proto_text(&s->message, &f, &attr->text, s->r->err) : rc;
}

/* The message in a field that must be there. */
static int enter_field(const struct source *s, uint32_t field, struct as_proto *inner)
{
    struct as_proto_field f;
    int rc = find_field(s, field, &f);

    if (rc == 0)
        return as_fail_at(s->r->err, as_proto_offset(&s->message),
                          "attribute '%.*s' has no value of the type it declares",
                          AS_ONNX_SHOWN(s->name));
    return rc < 0 ? rc : as_proto_enter(inner, &s->message, &f, s->r->err);
}

static int read_tensor(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_onnx_tensor tensor;
    struct as_proto inner;
    int rc = enter_field(s, field, &inner);

    if (rc < 0)
        return rc;
    rc = field == 22 ? as_onnx_read_sparse(s->r, &inner, &tensor)
                     : as_onnx_read_tensor(s->r, &inner, &tensor);
    if (rc < 0)
        return rc;
    attr->type = tensor.type;
    attr->data = tensor.data;
    return ASSAY_OK;
}

static int read_graph(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto inner;
    int rc = enter_field(s, field, &inner);

    return rc < 0 ? rc : as_onnx_read_graph(s->r, &inner, s->scope, &attr->graph);
}

static int read_type(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto inner;
    int rc = enter_field(s, field, &inner);

    return rc < 0 ? rc : as_onnx_read_type(s->r, &inner, &attr->type, NULL);
}

/* How many numbers a list has, so that room is made once. */
static int count_list(const struct source *s, uint32_t field, enum as_proto_wire wire, uint32_t *n)
{
    struct as_proto_list list;
    uint64_t bits;
    int rc;

    as_proto_list_init(&list, &s->message, field, wire);
    for (*n = 0; (rc = as_proto_list_next(&list, &bits, s->r->err)) > 0; ++*n)
        if (*n == UINT32_MAX)
            return as_fail_at(s->r->err, as_proto_offset(&s->message), "a list is too long");
    return rc;
}

static int read_ints(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto_list list;
    uint64_t bits;
    int64_t *at;
    int rc = count_list(s, field, AS_WIRE_VARINT, &attr->n);

    if (rc < 0)
        return rc;
    at = as_arena_zero(&s->r->model->arena, attr->n ? attr->n : 1, sizeof *at);
    if (!at)
        return as_onnx_no_memory(s->r);
    attr->ints = at;
    as_proto_list_init(&list, &s->message, field, AS_WIRE_VARINT);
    while ((rc = as_proto_list_next(&list, &bits, s->r->err)) > 0)
        memcpy(at++, &bits, sizeof bits);
    return rc;
}

static int read_floats(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto_list list;
    uint64_t bits;
    uint32_t low;
    float *at;
    int rc = count_list(s, field, AS_WIRE_32, &attr->n);

    if (rc < 0)
        return rc;
    at = as_arena_zero(&s->r->model->arena, attr->n ? attr->n : 1, sizeof *at);
    if (!at)
        return as_onnx_no_memory(s->r);
    attr->floats = at;
    as_proto_list_init(&list, &s->message, field, AS_WIRE_32);
    while ((rc = as_proto_list_next(&list, &bits, s->r->err)) > 0) {
        low = (uint32_t)bits;
        memcpy(at++, &low, sizeof low);
    }
    return rc;
}

static int read_texts(const struct source *s, uint32_t field, struct as_attr *attr)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    struct as_text *texts;
    uint32_t i = 0;
    int rc;

    while ((rc = as_proto_next(&p, &f, s->r->err)) > 0)
        attr->n += f.number == field;
    if (rc < 0)
        return rc;
    texts = as_arena_zero(&s->r->model->arena, attr->n ? attr->n : 1, sizeof *texts);
    if (!texts)
        return as_onnx_no_memory(s->r);
    attr->texts = texts;
    for (p = s->message; rc >= 0 && (rc = as_proto_next(&p, &f, s->r->err)) > 0;)
        if (f.number == field)
            rc = as_proto_text(&p, &f, &texts[i++], s->r->err);
    return rc;
}

/* By the number in the file. A kind without a step is kept by name only. */
static const struct {
    uint32_t field;
    enum as_attr_kind kind;
    read_step read;
} kinds[] = {
    [0] = {0, AS_ATTR_OTHER, NULL},         [1] = {2, AS_ATTR_FLOAT, read_float},
    [2] = {3, AS_ATTR_INT, read_int},       [3] = {4, AS_ATTR_TEXT, read_text},
    [4] = {5, AS_ATTR_TENSOR, read_tensor}, [5] = {6, AS_ATTR_GRAPH, read_graph},
    [6] = {7, AS_ATTR_FLOATS, read_floats}, [7] = {8, AS_ATTR_INTS, read_ints},
    [8] = {9, AS_ATTR_TEXTS, read_texts},   [9] = {10, AS_ATTR_OTHER, NULL},
    [10] = {11, AS_ATTR_OTHER, NULL},       [11] = {22, AS_ATTR_TENSOR, read_tensor},
    [12] = {23, AS_ATTR_OTHER, NULL},       [13] = {14, AS_ATTR_TYPE, read_type},
    [14] = {15, AS_ATTR_OTHER, NULL},
};
#define N_KINDS (AS_COUNT_OF(kinds))

static int scan(struct source *s)
{
    struct as_proto p = s->message;
    struct as_proto_field f;
    int rc;

    while ((rc = as_proto_next(&p, &f, s->r->err)) > 0) {
        if (f.number == 1)
            rc = as_proto_text(&p, &f, &s->name, s->r->err);
        else if (f.number == 21)
            rc = as_proto_text(&p, &f, &s->reference, s->r->err);
        else if (f.number == 20)
            rc = as_proto_u64(&p, &f, &s->kind, s->r->err);
        else if (f.number != 13 && s->seen == 0)
            s->seen = f.number;
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* Takes the value from the call of the function we are in. */
static int follow(const struct source *s, struct as_attr *attr, bool *kept)
{
    const struct as_onnx_call *call = s->scope->call;
    const char *name = attr->name;

    s->r->input.steps += call ? call->n_attrs / 4 : 0; /* many calls times many attributes */
    for (size_t i = 0; call && i < call->n_attrs; i++) {
        const struct as_attr *given = &call->attrs[i];

        if (strlen(given->name) != s->reference.size ||
            memcmp(given->name, s->reference.at, s->reference.size) != 0)
            continue;
        if (given->kind == AS_ATTR_GRAPH)
            return as_fail_at(s->r->err, as_proto_offset(&s->message),
                              "attribute '%.*s' hands a graph into a function, which is not "
                              "supported",
                              AS_ONNX_SHOWN(s->reference));
        *attr = *given;
        attr->name = name;
        *kept = true;
        return ASSAY_OK;
    }
    *kept = !call;
    return ASSAY_OK;
}

int as_onnx_read_attr(struct as_onnx *r, struct as_onnx_scope *scope,
                      const struct as_proto *message, struct as_attr *attr, bool *kept)
{
    struct source s = {.r = r, .scope = scope, .message = *message};
    int rc = scan(&s);

    if (rc < 0)
        return rc;
    if (s.name.size == 0)
        return as_fail_at(r->err, as_proto_offset(message), "an attribute has no name");
    *attr = (struct as_attr){.kind = AS_ATTR_OTHER};
    attr->name = as_onnx_word(r, s.name);
    if (!attr->name)
        return r->err->code;
    if (s.reference.size)
        return follow(&s, attr, kept);
    *kept = true;
    for (size_t i = 1; s.kind == 0 && i < N_KINDS; i++)
        if (kinds[i].field == s.seen)
            s.kind = i;
    if (s.kind >= N_KINDS)
        return as_fail_at(r->err, as_proto_offset(message),
                          "attribute '%.*s' is of kind %llu, which ONNX does not have",
                          AS_ONNX_SHOWN(s.name), (unsigned long long)s.kind);
    if (!kinds[s.kind].read)
        return ASSAY_OK;
    rc = kinds[s.kind].read(&s, kinds[s.kind].field, attr);
    attr->kind = kinds[s.kind].kind;
    return rc < 0 ? rc : ASSAY_OK;
}
