/* format/onnx/onnx_sparse.c - sparse tensors of ONNX, as dense data that is made when asked for.
 *
 * SparseTensorProto: values 1 (a tensor of nnz, whose name is the tensor's), indices 2 (i64, either
 * nnz places in the dense order or nnz rows of one index a dimension), dims 3. */
#include <string.h>

#include "format/onnx/onnx_reader.h"

enum { PIECE = 256 };

struct sparse {
    const struct as_data *values, *indices;
    uint64_t nnz;
    int rank; /* of the rows of indices; 0: places in the dense order */
    int64_t dims[AS_MAX_RANK];
};

/* The place in the dense order of `n` values from `first` on. */
static int read_places(const struct sparse *s, uint64_t first, uint64_t n, uint64_t *places,
                       struct assay_error *err)
{
    int64_t row[AS_MAX_RANK * 8];
    uint64_t width = s->rank ? (uint64_t)s->rank : 1;

    for (uint64_t at = 0; at < n;) {
        uint64_t count = n - at < 8 ? n - at : 8;
        int rc = as_data_read(s->indices, (first + at) * width, count * width, row, err);

        if (rc < 0)
            return rc;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t place = s->rank ? 0 : (uint64_t)row[i];

            for (int d = 0; d < s->rank; d++)
                place = place * (uint64_t)s->dims[d] + (uint64_t)row[i * width + (uint64_t)d];
            places[at + i] = place;
        }
        at += count;
    }
    return ASSAY_OK;
}

static int make_dense(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                      struct assay_error *err)
{
    const struct sparse *s = data->from;
    uint32_t size = as_dtype_at(data->dtype)->block_bytes;
    uint64_t places[PIECE];
    uint8_t values[PIECE * 16];

    memset(out, 0, (size_t)n * size);
    for (uint64_t at = 0; at < s->nnz; at += PIECE) {
        uint64_t count = s->nnz - at < PIECE ? s->nnz - at : PIECE;
        int rc = read_places(s, at, count, places, err);

        if (rc == ASSAY_OK)
            rc = as_data_read(s->values, at, count, values, err);
        if (rc < 0)
            return rc;
        for (uint64_t i = 0; i < count; i++)
            if (places[i] >= first && places[i] - first < n)
                memcpy((uint8_t *)out + (places[i] - first) * size, values + i * size, size);
    }
    return ASSAY_OK;
}

static int bad(const struct as_onnx *r, const struct as_proto *message, struct as_text name,
               const char *why)
{
    return as_fail_at(r->err, as_proto_offset(message), "sparse tensor '%.*s' %s",
                      AS_ONNX_SHOWN(name), why);
}

/* Every index is within its dimension, so that make_dense() need not ask. */
static int check_indices(struct as_onnx *r, const struct as_proto *message, struct as_text name,
                         const struct sparse *s, uint64_t n_dense)
{
    uint64_t width = s->rank ? (uint64_t)s->rank : 1, total = s->nnz * width;
    int64_t at[PIECE];

    for (uint64_t first = 0; first < total; first += PIECE) {
        uint64_t count = total - first < PIECE ? total - first : PIECE;
        int rc = as_data_read(s->indices, first, count, at, r->err);

        if (rc < 0)
            return rc;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t end = s->rank ? (uint64_t)s->dims[(first + i) % width] : n_dense;

            if (at[i] < 0 || (uint64_t)at[i] >= end)
                return bad(r, message, name, "has an index outside its dimensions");
        }
    }
    return ASSAY_OK;
}

struct parts {
    struct as_onnx_tensor values, indices;
    bool has_values, has_indices;
    struct as_dims dims;
};

static int read_parts(struct as_onnx *r, const struct as_proto *message, struct parts *parts)
{
    struct as_proto p = *message, inner;
    struct as_proto_list list;
    struct as_proto_field f;
    uint64_t bits;
    int rc;

    while ((rc = as_proto_next(&p, &f, r->err)) > 0) {
        if (f.number == 1 || f.number == 2) {
            rc = as_proto_enter(&inner, &p, &f, r->err);
            AS_ONNX_STEP(rc, as_onnx_read_tensor(r, &inner,
                                                 f.number == 1 ? &parts->values : &parts->indices));
            parts->has_values |= f.number == 1;
            parts->has_indices |= f.number == 2;
        }
        if (rc < 0)
            return rc;
    }
    as_proto_list_init(&list, message, 3, AS_WIRE_VARINT);
    while (rc >= 0 && (rc = as_proto_list_next(&list, &bits, r->err)) > 0) {
        if (parts->dims.rank == AS_MAX_RANK || bits > INT64_MAX)
            return bad(r, message, parts->values.name, "has dimensions that cannot be");
        parts->dims.at[parts->dims.rank++] = (int64_t)bits;
    }
    return rc;
}

/* The indices are nnz places, or nnz rows of one for each dimension. */
static bool shapes_fit(const struct parts *parts, struct sparse *s)
{
    const struct as_type *values = &parts->values.type, *indices = &parts->indices.type;

    if (values->rank != 1 || indices->dtype != AS_DTYPE_I64)
        return false;
    s->nnz = (uint64_t)values->dims[0];
    if (indices->rank == 1)
        return indices->dims[0] == values->dims[0];
    s->rank = parts->dims.rank;
    memcpy(s->dims, parts->dims.at, (size_t)s->rank * sizeof *s->dims);
    return indices->rank == 2 && indices->dims[0] == values->dims[0] &&
           indices->dims[1] == parts->dims.rank && s->rank > 0;
}

static int fill(struct as_onnx *r, const struct as_proto *message, const struct parts *parts,
                struct as_onnx_tensor *tensor)
{
    unsigned dtype = parts->values.type.dtype;
    struct sparse *s = as_arena_zero(&r->model->arena, 1, sizeof *s);
    struct as_data *data = as_arena_zero(&r->model->arena, 1, sizeof *data);

    if (!s || !data || !as_type_tensor(&tensor->type, &r->model->arena, dtype, &parts->dims))
        return as_onnx_no_memory(r);
    if (as_dtype_at(dtype)->block_bytes == 0 || as_dtype_at(dtype)->block_elems != 1)
        return bad(r, message, tensor->name, "is of a type that cannot be sparse");
    if (!shapes_fit(parts, s))
        return bad(r, message, tensor->name, "has values and indices that do not fit together");
    if (!as_type_elems(&tensor->type, &data->n) ||
        !as_dtype_bytes(dtype, data->n, &data->size_bytes))
        return bad(r, message, tensor->name,
                   "has dimensions whose product does not fit in 64 bits");
    s->values = parts->values.data;
    s->indices = parts->indices.data;
    data->dtype = (uint8_t)dtype;
    data->stored_elems = s->nnz;
    data->stored_bytes = s->values->stored_bytes + s->indices->stored_bytes;
    data->offset = as_proto_offset(message);
    data->make = make_dense;
    data->from = s;
    tensor->data = data;
    return check_indices(r, message, tensor->name, s, data->n);
}

int as_onnx_read_sparse(struct as_onnx *r, const struct as_proto *message,
                        struct as_onnx_tensor *tensor)
{
    struct parts parts = {0};
    int rc = read_parts(r, message, &parts);

    if (rc < 0)
        return rc;
    tensor->name = parts.values.name;
    if (!parts.has_values || !parts.has_indices)
        return bad(r, message, tensor->name, "lacks its values or its indices");
    return fill(r, message, &parts, tensor);
}
