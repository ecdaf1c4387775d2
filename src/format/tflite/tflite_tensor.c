/* format/tflite/tflite_tensor.c - the tensors of a TensorFlow Lite file: types, quantization,
 * constants. A constant's buffer must have exactly the bytes its shape and type ask for. */
#include "format/tflite/tflite_tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "format/tflite/tflite_options.h"

/* Fields of the tables in the schema. */
enum {
    TENSOR_SHAPE,
    TENSOR_TYPE,
    TENSOR_BUFFER,
    TENSOR_NAME,
    TENSOR_QUANTIZATION,
    TENSOR_VARIABLE,
    TENSOR_SPARSITY,
    TENSOR_SIGNATURE,
    TENSOR_HAS_RANK
};
enum { BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE };
enum { QUANTIZATION_SCALE = 2, QUANTIZATION_ZERO = 3, QUANTIZATION_AXIS = 6 };

int as_tflite_buffer(struct as_tflite *r, uint64_t index, uint64_t *at, uint64_t *size)
{
    struct as_flat_table buffer;
    struct as_flat_vector data;

    *at = *size = 0;
    if (index >= r->buffers.n)
        return as_flat_fail(&r->flat, r->buffers.at,
                            "buffer %llu is asked for, but the file has %u",
                            (unsigned long long)index, r->buffers.n);
    buffer = as_flat_table_at(&r->flat, &r->buffers, (uint32_t)index, "a buffer");
    data = as_flat_vector(&r->flat, &buffer, BUFFER_DATA, 1);
    *at = data.at;
    *size = data.n;
    if (r->flat.rc < 0 || data.n > 0)
        return r->flat.rc;
    /* Files above 2 GB keep their data behind the FlatBuffer. */
    *at = as_flat_uint(&r->flat, &buffer, BUFFER_OFFSET, 8, 0);
    *size = as_flat_uint(&r->flat, &buffer, BUFFER_SIZE, 8, 0);
    if (*at <= 1)
        *at = *size = 0;
    if (*at > r->flat.size || *size > r->flat.size - *at)
        return as_flat_fail(
            &r->flat, buffer.at, "buffer %llu has %llu bytes at %llu, past the end of the file",
            (unsigned long long)index, (unsigned long long)*size, (unsigned long long)*at);
    return r->flat.rc;
}

static int read_type(struct as_tflite *r, const struct as_flat_table *t, struct as_value *value)
{
    struct as_flat_vector shape = as_flat_vector(&r->flat, t, TENSOR_SHAPE, 4);
    uint64_t code = as_flat_uint(&r->flat, t, TENSOR_TYPE, 1, 0);
    struct as_dims dims = {.rank = (int)shape.n};
    unsigned dtype = AS_DTYPE_UNKNOWN;

    if (!as_tflite_dtype(code, &dtype))
        return as_flat_fail(&r->flat, t->at, "tensor '%.80s' is of type %llu, which is not known",
                            value->name, (unsigned long long)code);
    if (shape.n > AS_MAX_RANK)
        return as_flat_fail(&r->flat, shape.at, "tensor '%.80s' has %u dimensions, more than %d",
                            value->name, shape.n, AS_MAX_RANK);
    for (uint32_t i = 0; i < shape.n; i++) {
        dims.at[i] = (int32_t)(uint32_t)as_flat_at(&r->flat, &shape, i, 4);
        if (dims.at[i] < -1)
            return as_flat_fail(&r->flat, shape.at, "a dimension of tensor '%.80s' is %lld",
                                value->name, (long long)dims.at[i]);
        if (dims.at[i] < 0)
            dims.at[i] = AS_DIM_UNKNOWN;
    }
    if (r->flat.rc < 0)
        return r->flat.rc;
    if (!as_type_tensor(&value->type, &r->model->arena, dtype, &dims))
        return as_fail_nomem(r->flat.err);
    return ASSAY_OK;
}

/* The signature says which dimensions of a tensor that is no constant are open. */
static int read_signature(struct as_tflite *r, const struct as_flat_table *t,
                          struct as_value *value)
{
    struct as_flat_vector open = as_flat_vector(&r->flat, t, TENSOR_SIGNATURE, 4);
    bool ranked = as_flat_uint(&r->flat, t, TENSOR_HAS_RANK, 1, 0) != 0;
    struct as_dims dims;
    bool changed = false;

    if (r->flat.rc < 0)
        return r->flat.rc;
    if (value->type.rank == 0 && !ranked) {
        value->type.rank = -1; /* [] also stands for a rank that is not known */
        return ASSAY_OK;
    }
    if (open.n == 0 || (int)open.n != value->type.rank || !as_type_dims(&value->type, &dims))
        return ASSAY_OK;
    for (uint32_t i = 0; i < open.n; i++)
        if ((int32_t)(uint32_t)as_flat_at(&r->flat, &open, i, 4) < 0) {
            dims.at[i] = AS_DIM_UNKNOWN;
            changed = true;
        }
    if (changed && !as_type_tensor(&value->type, &r->model->arena, value->type.dtype, &dims))
        return as_fail_nomem(r->flat.err);
    return ASSAY_OK;
}

/* Texts: i32 count, count + 1 offsets from there, bytes. */
static int read_texts(struct as_tflite *r, const struct as_value *value, struct as_data *data,
                      uint64_t at, uint64_t size)
{
    struct as_cursor in = as_cursor_over(r->flat.bytes + at, (size_t)size);
    struct as_text *texts;
    uint32_t n, from, to;

    if (!as_take_u32le(&in, &n) || n > as_cursor_left(&in) / 4 || n != data->n ||
        !as_take_u32le(&in, &from))
        return as_flat_fail(&r->flat, at, "tensor '%.80s' of %llu texts does not hold them",
                            value->name, (unsigned long long)data->n);
    texts = as_arena_zero(&r->model->arena, n ? n : 1, sizeof *texts);
    if (!texts)
        return as_fail_nomem(r->flat.err);
    for (uint32_t i = 0; i < n; i++, from = to) {
        if (!as_take_u32le(&in, &to) || to < from || to > size)
            return as_flat_fail(&r->flat, at, "text %u of tensor '%.80s' is outside its buffer", i,
                                value->name);
        texts[i] = (struct as_text){(const char *)r->flat.bytes + at + from, to - from};
    }
    data->texts = texts;
    data->stored_bytes = size;
    return ASSAY_OK;
}

static int check_constant(struct as_tflite *r, const struct as_value *value, bool sparse,
                          uint64_t at, uint64_t size)
{
    uint64_t bytes;

    if (sparse || value->type.dtype == AS_DTYPE_STRING)
        return ASSAY_OK;
    if (!as_type_bytes(&value->type, &bytes))
        return as_flat_fail(&r->flat, at, "the size of constant '%.80s' is not known", value->name);
    if (bytes != size)
        return as_flat_fail(&r->flat, at,
                            "constant '%.80s' needs %llu bytes, but its buffer has %llu",
                            value->name, (unsigned long long)bytes, (unsigned long long)size);
    return ASSAY_OK;
}

static int read_constant(struct as_tflite *r, const struct as_flat_table *t, uint32_t id,
                         uint64_t at, uint64_t size)
{
    struct as_value *value = &r->model->values[id];
    bool sparse = as_flat_has(&r->flat, t, TENSOR_SPARSITY);
    uint32_t width = as_dtype_at(value->type.dtype)->block_bytes;
    uint64_t n;
    int rc = check_constant(r, value, sparse, at, size);

    if (rc < 0)
        return rc;
    if (!as_type_elems(&value->type, &n))
        return as_flat_fail(&r->flat, at, "the size of constant '%.80s' is not known", value->name);
    value->data = as_data_over(&r->model->arena, value->type.dtype, n, r->flat.bytes + at);
    if (!value->data)
        return as_fail_nomem(r->flat.err);
    value->data->offset = at;
    value->is_initializer = true;
    if (sparse) {
        value->data->bytes = NULL;
        value->data->stored_bytes = size;
        value->data->stored_elems = width ? size / width : 0;
    }
    if (value->type.dtype == AS_DTYPE_STRING)
        return read_texts(r, value, value->data, at, size);
    return ASSAY_OK;
}

/* Scales that do not go with the tensor are only counted: nothing can be computed with them. */
static int read_quant(struct as_tflite *r, const struct as_flat_table *t, struct as_value *value)
{
    struct as_flat_vector scales = as_flat_vector(&r->flat, t, QUANTIZATION_SCALE, 4);
    struct as_flat_vector zeros = as_flat_vector(&r->flat, t, QUANTIZATION_ZERO, 8);
    int32_t axis = as_flat_i32(&r->flat, t, QUANTIZATION_AXIS, 0);
    struct as_quant *quant;
    float *values;
    int64_t *zero_points;

    value->n_scales = scales.n;
    if (r->flat.rc < 0 || scales.n == 0 || (zeros.n > 1 && zeros.n != scales.n))
        return r->flat.rc;
    if (scales.n > 1 &&
        (axis < 0 || axis >= value->type.rank || value->type.dims[axis] != (int64_t)scales.n))
        return ASSAY_OK;
    quant = as_arena_zero(&r->model->arena, 1, sizeof *quant);
    values = as_arena_zero(&r->model->arena, scales.n, sizeof *values);
    zero_points = as_arena_zero(&r->model->arena, scales.n, sizeof *zero_points);
    if (!quant || !values || !zero_points)
        return as_model_no_memory(r->model, r->flat.err);
    for (uint32_t i = 0; i < scales.n; i++) {
        uint32_t bits = (uint32_t)as_flat_at(&r->flat, &scales, i, 4);

        memcpy(&values[i], &bits, sizeof bits);
        if (zeros.n > 0)
            zero_points[i] = (int64_t)as_flat_at(&r->flat, &zeros, zeros.n == 1 ? 0 : i, 8);
    }
    *quant = (struct as_quant){scales.n, scales.n > 1 ? axis : 0, values, zero_points};
    value->quant = quant;
    return ASSAY_OK;
}

int as_tflite_tensor(struct as_tflite *r, struct as_graph *graph, const struct as_flat_table *t)
{
    struct as_text name = as_flat_text(&r->flat, t, TENSOR_NAME);
    uint64_t buffer = as_flat_uint(&r->flat, t, TENSOR_BUFFER, 4, 0), at = 0, size = 0;
    struct as_flat_table quantization =
        as_flat_table(&r->flat, t, TENSOR_QUANTIZATION, "the quantization of a tensor");
    const char *end = memchr(name.at, 0, name.size);
    uint32_t id;
    int rc = r->flat.rc;

    if (rc == ASSAY_OK && name.size > AS_MAX_NAME_BYTES)
        rc = as_flat_fail(&r->flat, t->at, "the name of a tensor has %zu bytes, more than %d",
                          name.size, AS_MAX_NAME_BYTES);
    if (rc < 0)
        return rc;
    if (end)
        name.size = (size_t)(end - name.at);
    id = as_model_add_value(r->model, graph, name.at, name.size, r->flat.err);
    if (id == AS_NONE)
        return ASSAY_ERR_NOMEM;
    rc = read_type(r, t, &r->model->values[id]);
    if (rc == ASSAY_OK)
        rc = read_quant(r, &quantization, &r->model->values[id]);
    if (rc == ASSAY_OK)
        rc = as_tflite_buffer(r, buffer, &at, &size);
    if (rc < 0)
        return rc;
    /* Buffer 0 is always empty by convention; resources have no bytes. */
    if (buffer > 0 && size > 0 && r->model->values[id].type.dtype != AS_DTYPE_UNKNOWN)
        return read_constant(r, t, id, at, size);
    return read_signature(r, t, &r->model->values[id]);
}

static int make_zeros(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                      struct assay_error *err)
{
    uint64_t bytes = 0;

    (void)first;
    (void)err;
    if (as_dtype_bytes(data->dtype, n, &bytes))
        memset(out, 0, (size_t)bytes);
    return ASSAY_OK;
}

int as_tflite_settle(struct as_tflite *r, const struct as_flat_table *t, uint32_t id)
{
    struct as_value *value = &r->model->values[id];
    bool variable = as_flat_uint(&r->flat, t, TENSOR_VARIABLE, 1, 0) != 0;
    uint64_t n, bytes;

    if (value->data || value->is_input || !as_type_elems(&value->type, &n) ||
        !as_type_bytes(&value->type, &bytes) || (!variable && n > 0))
        return r->flat.rc;
    value->data = as_data_over(&r->model->arena, value->type.dtype, n, NULL);
    if (!value->data)
        return as_fail_nomem(r->flat.err);
    value->is_initializer = n == 0; /* a constant after all */
    value->data->make = make_zeros;
    value->data->generated = true;
    value->data->stored_elems = value->data->stored_bytes = 0;
    return ASSAY_OK;
}

int as_tflite_symbols(struct as_tflite *r, uint32_t id)
{
    struct as_value *value = &r->model->values[id];
    const char **symbols;
    char text[96];

    if (value->type.rank <= 0 || as_type_is_static(&value->type))
        return ASSAY_OK;
    symbols = as_arena_zero(&r->model->arena, (size_t)value->type.rank, sizeof *symbols);
    if (!symbols)
        return as_fail_nomem(r->flat.err);
    for (int i = 0; i < value->type.rank; i++) {
        if (value->type.dims[i] >= 0)
            continue;
        (void)snprintf(text, sizeof text, i ? "%.64s_%d" : "batch", value->name, i);
        symbols[i] = as_arena_text(&r->model->arena, text, strlen(text));
        if (!symbols[i])
            return as_fail_nomem(r->flat.err);
    }
    value->symbols = symbols;
    return ASSAY_OK;
}
