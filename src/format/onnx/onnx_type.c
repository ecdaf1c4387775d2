/* format/onnx/onnx_type.c - types of ONNX: tensors with dimensions that may be symbols, sequences,
 * optionals, maps.
 *
 * ValueInfoProto: name 1, type 2, doc 3.
 * TypeProto: tensor 1, sequence 4, map 5, sparse tensor 8, optional 9, denotation 6.
 *   tensor: element type 1, shape 2. sequence and optional: element 1. map: key 1, value 2.
 * TensorShapeProto: dim 1. Dimension: value 1, symbol 2, denotation 3. */
#include <string.h>

#include "base/units.h"
#include "format/onnx/onnx_reader.h"

static int read_dim(struct as_onnx *r, const struct as_proto *message, int64_t *dim,
                    struct as_text *symbol)
{
    struct as_proto p = *message;
    struct as_proto_field f;
    int64_t value;
    int rc;

    *dim = AS_DIM_UNKNOWN;
    *symbol = (struct as_text){NULL, 0};
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number == 1) {
            rc = as_proto_i64(&p, &f, &value, r->err);
            if (rc < 0)
                return rc;
            *dim = value >= 0 ? value : AS_DIM_UNKNOWN; /* exporters write -1 for "not known" */
        } else if (f.number == 2) {
            rc = as_proto_text(&p, &f, symbol, r->err);
            AS_ONNX_STEP(rc, as_onnx_check_name(r, *symbol, "symbol of a dimension"));
            if (rc < 0)
                return rc;
        } else if (f.number == 3) {
            struct as_text role;

            rc = as_proto_text(&p, &f, &role, r->err);
            if (rc < 0)
                return rc;
            if (symbol->size == 0 && role.size == strlen(AS_DATA_BATCH) &&
                memcmp(role.at, AS_DATA_BATCH, role.size) == 0)
                *symbol = role;
        }
    }
    return rc;
}

/* The symbols of dimensions, as the model keeps them; NULL without any. */
static int keep_symbols(struct as_onnx *r, const struct as_text *symbols, int rank,
                        const char *const **out)
{
    const char **at = NULL;

    for (int i = 0; i < rank; i++) {
        if (symbols[i].size == 0)
            continue;
        if (!at)
            at = as_arena_zero(&r->model->arena, (size_t)rank, sizeof *at);
        if (!at)
            return as_onnx_no_memory(r);
        at[i] = as_onnx_word(r, symbols[i]);
        if (!at[i])
            return r->err->code;
    }
    *out = at;
    return ASSAY_OK;
}

static int read_shape(struct as_onnx *r, const struct as_proto *message, struct as_dims *dims,
                      const char *const **symbols)
{
    struct as_text symbol[AS_MAX_RANK];
    struct as_proto p = *message, inner;
    struct as_proto_field f;
    int rc;

    dims->rank = 0;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != 1)
            continue;
        if (dims->rank == AS_MAX_RANK)
            return as_fail_at(r->err, f.offset, "a tensor has more than %d dimensions",
                              AS_MAX_RANK);
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, read_dim(r, &inner, &dims->at[dims->rank], &symbol[dims->rank]));
        if (rc < 0)
            return rc;
        dims->rank++;
    }
    if (rc == 0 && symbols)
        rc = keep_symbols(r, symbol, dims->rank, symbols);
    return rc;
}

static int read_tensor_type(struct as_onnx *r, const struct as_proto *message, struct as_type *type,
                            const char *const **symbols)
{
    struct as_dims dims = {.rank = -1};
    struct as_proto p = *message, inner;
    uint64_t number = 0;
    struct as_proto_field f;
    unsigned dtype;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number == 1) {
            rc = as_proto_u64(&p, &f, &number, r->err);
        } else if (f.number == 2) {
            rc = as_proto_enter(&inner, &p, &f, r->err);
            AS_ONNX_STEP(rc, read_shape(r, &inner, &dims, symbols));
        }
        if (rc < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    dtype = as_onnx_dtype(number);
    if (dtype == AS_DTYPE_UNKNOWN && number != 0)
        return as_fail_at(r->err, as_proto_offset(message),
                          "a tensor's element type is %llu, which ONNX does not have",
                          (unsigned long long)number);
    return as_type_tensor(type, &r->model->arena, dtype, &dims) ? ASSAY_OK : as_onnx_no_memory(r);
}

/* Of a sequence, optional or map: the one type of its elements. */
static int read_element_type(struct as_onnx *r, const struct as_proto *message, uint8_t kind,
                             struct as_type *type)
{
    uint32_t wanted = kind == AS_VALUE_MAP ? 2 : 1;
    struct as_proto p = *message, inner;
    struct as_type *elem = NULL;
    struct as_proto_field f;
    int rc;

    *type = AS_TYPE_UNKNOWN;
    type->kind = kind;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number != wanted)
            continue;
        if (!elem)
            elem = as_arena_zero(&r->model->arena, 1, sizeof *elem);
        if (!elem)
            return as_onnx_no_memory(r);
        rc = as_proto_enter(&inner, &p, &f, r->err);
        AS_ONNX_STEP(rc, as_onnx_read_type(r, &inner, elem, NULL));
        if (rc < 0)
            return rc;
    }
    type->elems = elem;
    return rc;
}

/* Depth is limited by as_proto_enter(), so types may call themselves. */
int as_onnx_read_type(struct as_onnx *r, const struct as_proto *message, struct as_type *type,
                      const char *const **symbols)
{
    static const struct {
        uint32_t field;
        uint8_t kind;
    } kinds[] = {
        {1, AS_VALUE_TENSOR}, {8, AS_VALUE_TENSOR},   {4, AS_VALUE_SEQUENCE},
        {5, AS_VALUE_MAP},    {9, AS_VALUE_OPTIONAL},
    };
    struct as_proto p = *message, inner;
    struct as_proto_field f;
    int rc;

    *type = AS_TYPE_UNKNOWN;
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        for (size_t i = 0; i < AS_COUNT_OF(kinds) && rc >= 0; i++) {
            if (kinds[i].field != f.number)
                continue;
            rc = as_proto_enter(&inner, &p, &f, r->err);
            if (kinds[i].kind == AS_VALUE_TENSOR)
                AS_ONNX_STEP(rc, read_tensor_type(r, &inner, type, symbols));
            else
                AS_ONNX_STEP(rc, read_element_type(r, &inner, kinds[i].kind, type));
        }
        if (rc < 0)
            return rc;
    }
    return rc;
}

int as_onnx_read_info(struct as_onnx *r, const struct as_proto *message, struct as_onnx_info *info)
{
    struct as_proto p = *message, inner;
    struct as_proto_field f;
    int rc;

    *info = (struct as_onnx_info){.type = AS_TYPE_UNKNOWN};
    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number == 1) {
            rc = as_proto_text(&p, &f, &info->name, r->err);
        } else if (f.number == 2) {
            rc = as_proto_enter(&inner, &p, &f, r->err);
            AS_ONNX_STEP(rc, as_onnx_read_type(r, &inner, &info->type, &info->symbols));
            info->typed = true;
        }
        if (rc < 0)
            return rc;
    }
    return rc;
}
