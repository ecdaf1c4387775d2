/* format/onnx/onnx_value.c - a single value that ONNX keeps in a file of its own.
 *
 * SequenceProto: name 1, kind of its elements 2, tensors 3, sparse tensors 4, sequences 5, maps 6,
 * optionals 7. OptionalProto: the same numbers, one value or none. TensorProto: onnx_tensor.c. */
#include "format/onnx/onnx_value.h"

#include "format/onnx/onnx_reader.h"

enum { FIELD_TENSOR = 3, FIELD_SEQUENCE = 5, FIELD_OPTIONAL = 7 };

static int read_value(struct as_onnx *r, enum as_value_kind kind, const struct as_proto *message,
                      struct as_type *type, struct as_data **data);

static bool kind_of_field(uint32_t field, enum as_value_kind *kind)
{
    *kind = field == FIELD_TENSOR     ? AS_VALUE_TENSOR
            : field == FIELD_SEQUENCE ? AS_VALUE_SEQUENCE
                                      : AS_VALUE_OPTIONAL;
    return field == FIELD_TENSOR || field == FIELD_SEQUENCE || field == FIELD_OPTIONAL;
}

static int count_values(struct as_onnx *r, const struct as_proto *message, int32_t *n)
{
    struct as_proto p = *message;
    struct as_proto_field f;
    enum as_value_kind kind;
    int rc;

    for (*n = 0; (rc = as_proto_next(&p, &f, r->err)) > 0;)
        if (kind_of_field(f.number, &kind) && ++*n == INT32_MAX)
            return as_fail_at(r->err, f.offset, "a sequence is too long");
    return rc;
}

static int read_values(struct as_onnx *r, enum as_value_kind kind, const struct as_proto *message,
                       struct as_type *type)
{
    struct as_proto p = *message, inner;
    struct as_proto_field f;
    struct as_type *elems;
    struct as_data *data;
    enum as_value_kind of;
    int rc;

    *type = AS_TYPE_UNKNOWN;
    type->kind = (uint8_t)kind;
    rc = count_values(r, message, &type->n_elems);
    if (rc < 0)
        return rc;
    elems = as_arena_zero(&r->model->arena, (size_t)type->n_elems + 1, sizeof *elems);
    if (!elems)
        return as_fail_nomem(r->err);
    type->elems = type->n_elems ? elems : NULL;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (!kind_of_field(f.number, &of))
            continue;
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, read_value(r, of, &inner, elems++, &data));
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* As deep as messages may be, which as_proto_enter() counts. */
static int read_value(struct as_onnx *r, enum as_value_kind kind, const struct as_proto *message,
                      struct as_type *type, struct as_data **data)
{
    struct as_onnx_tensor tensor;
    int rc;

    *data = NULL;
    if (kind != AS_VALUE_TENSOR)
        return read_values(r, kind, message, type);
    rc = as_onnx_read_tensor(r, message, &tensor);
    if (rc < 0)
        return rc;
    *type = tensor.type;
    *data = tensor.data;
    return ASSAY_OK;
}

int as_onnx_value_read(struct as_model *model, enum as_value_kind kind, const uint8_t *bytes,
                       uint64_t size, struct as_type *type, struct as_data **data,
                       struct assay_error *err)
{
    struct as_mapped_file file = {.bytes = bytes, .size = size};
    struct assay_error unread = {0};
    struct as_onnx r = {.model = model, .file = &file, .err = err ? err : &unread};
    struct as_proto message;
    int rc;

    as_proto_init(&message, &r.input, "ONNX tensor file", bytes, (size_t)size);
    rc = read_value(&r, kind, &message, type, data);
    as_hash_map_fini(&r.words);
    as_hash_map_fini(&r.ops);
    as_hash_map_fini(&r.files);
    as_hash_map_fini(&r.function_names);
    return rc < 0 ? rc : ASSAY_OK;
}
