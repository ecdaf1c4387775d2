/* model/infer/rules/rules_make.c - shape rules of operators that make tensors: constants, ranges,
 * shapes, noise. A constant of any size is described, not stored: its numbers are made when
 * somebody reads them. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "model/fold/fold.h"
#include "model/infer/infer_rules.h"

/* ---- Constant ---- */

static int constant_texts(struct as_infer *ctx, const struct as_text *texts, size_t n,
                          const struct as_dims *dims)
{
    struct as_data *data = as_data_new(ctx->arena, AS_DTYPE_STRING, n);

    if (!data)
        return as_fail_nomem(ctx->err);
    data->texts = texts;
    data->generated = false;
    data->stored_elems = n;
    return as_out_data(ctx, 0, data, dims);
}

static int constant_float(struct as_infer *ctx, double value)
{
    struct as_data *data = as_data_new(ctx->arena, AS_DTYPE_F32, 1);
    struct as_dims scalar = {0};

    if (data)
        as_data_put_f64(data, 0, value);
    return as_out_data(ctx, 0, data, &scalar);
}

static int constant_of(struct as_infer *ctx, const struct as_attr *attr)
{
    struct as_dims dims = {0}, list = {1, {attr->n}};
    struct as_data *data;

    switch (attr->kind) {
    case AS_ATTR_TENSOR:
        if (!attr->data || !as_type_dims(&attr->type, &dims))
            return as_out_type(ctx, 0, &attr->type);
        return as_out_data(ctx, 0, attr->data, &dims);
    case AS_ATTR_INT:
        data = as_data_over(ctx->arena, AS_DTYPE_I64, 1, &attr->i);
        return as_out_data(ctx, 0, data, &dims);
    case AS_ATTR_INTS:
        data = as_data_over(ctx->arena, AS_DTYPE_I64, attr->n, attr->ints);
        return as_out_data(ctx, 0, data, &list);
    case AS_ATTR_FLOAT:
        return constant_float(ctx, attr->f);
    case AS_ATTR_FLOATS:
        data = as_data_over(ctx->arena, AS_DTYPE_F32, attr->n, attr->floats);
        return as_out_data(ctx, 0, data, &list);
    case AS_ATTR_TEXT:
        return constant_texts(ctx, &attr->text, 1, &dims);
    case AS_ATTR_TEXTS:
        return constant_texts(ctx, attr->texts, attr->n, &list);
    default:
        return as_unknown(ctx, "its value is of a kind that is not read");
    }
}

static int constant(struct as_infer *ctx)
{
    static const char *const names[] = {"value",         "value_float", "value_floats",
                                        "value_int",     "value_ints",  "value_string",
                                        "value_strings", "sparse_value"};

    for (size_t i = 0; i < AS_COUNT_OF(names); i++) {
        const struct as_attr *attr = as_node_attr(ctx->node, names[i]);

        if (attr)
            return constant_of(ctx, attr);
    }
    return as_conflict(ctx, "a constant without a value");
}

/* ---- ConstantOfShape ---- */

/* As often as asked for the one element in `from`. */
static int fill(const struct as_data *data, uint64_t first, uint64_t n, void *out,
                struct assay_error *err)
{
    const struct as_data *one = data->from;
    uint32_t width = as_dtype_at(data->dtype)->block_bytes;
    uint64_t bytes;
    uint8_t *at = out;

    (void)first;
    if (!as_dtype_bytes(data->dtype, n, &bytes))
        return as_fail(err, ASSAY_ERR_LIMIT, "a tensor is larger than 2^64 bytes");
    if (as_dtype_at(data->dtype)->block_elems == 2)
        memset(at, (one->bytes[0] & 15) * 17, bytes);
    else
        for (uint64_t i = 0; i < n; i++)
            memcpy(at + i * width, one->bytes, width);
    return ASSAY_OK;
}

/* The element a ConstantOfShape repeats, loaded; NULL: none to be had. */
static const struct as_data *filler(struct as_infer *ctx, unsigned *dtype)
{
    const struct as_attr *attr = as_node_attr(ctx->node, "value");

    *dtype = AS_DTYPE_F32;
    if (!attr || attr->kind != AS_ATTR_TENSOR)
        return as_data_new(ctx->arena, AS_DTYPE_F32, 1);
    *dtype = attr->type.dtype;
    if (!attr->data || attr->data->n != 1 || attr->data->dtype == AS_DTYPE_STRING ||
        as_dtype_at(attr->data->dtype)->kind == AS_CLASS_BLOCK ||
        !as_model_load(ctx->model, attr->data, 16))
        return NULL;
    return attr->data;
}

static int give_filled(struct as_infer *ctx, const struct as_data *one)
{
    struct as_value *value = as_node_output(ctx->graph, ctx->node, 0);
    struct as_data *data;
    uint64_t n;

    if (!value || !one || !as_type_elems(&value->type, &n))
        return ASSAY_OK;
    data = as_arena_zero(ctx->arena, 1, sizeof *data);
    if (!data)
        return as_fail_nomem(ctx->err);
    data->dtype = one->dtype;
    data->generated = true;
    data->n = n;
    data->make = fill;
    data->from = one;
    if (as_dtype_bytes(one->dtype, n, &data->size_bytes))
        value->data = data;
    return ASSAY_OK;
}

static int constant_of_shape(struct as_infer *ctx)
{
    int64_t length = as_in_length(ctx, 0);
    const struct as_data *one;
    struct as_dims dims;
    unsigned dtype;
    int rc;

    one = filler(ctx, &dtype);
    if (!as_in_list(ctx, 0, &dims)) {
        (void)as_unknown(ctx, "the shape is not known before it runs");
        if (length > AS_MAX_RANK)
            return as_conflict(ctx, "%lld dimensions; at most %d are supported", (long long)length,
                               AS_MAX_RANK);
        for (dims.rank = 0; dims.rank < length; dims.rank++)
            dims.at[dims.rank] = AS_DIM_UNKNOWN;
        return as_out_tensor(ctx, 0, dtype, length < 0 ? NULL : &dims);
    }
    rc = as_out_tensor(ctx, 0, dtype, &dims);
    return rc < 0 ? rc : give_filled(ctx, one);
}

/* ---- Range ---- */

/* How many numbers there are, or AS_DIM_UNKNOWN; false: a step of zero. */
static bool count_ints(int64_t start, int64_t limit, int64_t delta, int64_t *n)
{
    bool up = delta > 0;
    uint64_t step = up ? (uint64_t)delta : 0 - (uint64_t)delta, span, count;

    *n = 0;
    if (delta == 0)
        return false;
    if (up ? limit <= start : limit >= start)
        return true;
    span = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    count = (span - 1) / step + 1;
    *n = count > INT64_MAX / 2 ? AS_DIM_UNKNOWN : (int64_t)count;
    return true;
}

static bool count_floats(double start, double limit, double delta, int64_t *n)
{
    double count = ceil((limit - start) / delta);

    *n = AS_DIM_UNKNOWN;
    if (delta == 0)
        return false;
    if (count <= 0)
        *n = 0;
    else if (count < 4e18)
        *n = (int64_t)count;
    return true;
}

/* False: a step of zero. *n is AS_DIM_UNKNOWN when it is unknown. */
static bool count_range(const struct as_infer *ctx, int64_t *n)
{
    int64_t whole[3];
    double real[3];

    *n = AS_DIM_UNKNOWN;
    if (as_dtype_is_float(as_in_dtype(ctx, 0))) {
        for (size_t i = 0; i < 3; i++)
            if (!as_in_float(ctx, i, &real[i]))
                return true;
        return count_floats(real[0], real[1], real[2], n);
    }
    for (size_t i = 0; i < 3; i++)
        if (!as_in_int(ctx, i, &whole[i]))
            return true;
    return count_ints(whole[0], whole[1], whole[2], n);
}

static int range(struct as_infer *ctx)
{
    struct as_dims dims = {1, {AS_DIM_UNKNOWN}};

    if (!count_range(ctx, &dims.at[0]))
        return as_conflict(ctx, "the step is 0");
    if (dims.at[0] == AS_DIM_UNKNOWN)
        (void)as_unknown(ctx, "where the range begins or ends is not known before it runs");
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &dims);
}

static int fold_range(struct as_infer *ctx)
{
    bool is_float = as_dtype_is_float(as_in_dtype(ctx, 0));
    struct as_fold_in start, delta;
    struct as_fold_out out;
    union as_number from, step, number;
    struct as_dims dims = {1, {0}};

    if (!count_range(ctx, &dims.at[0]) || !as_fold_in(ctx, 0, &start) ||
        !as_fold_in(ctx, 2, &delta) || start.data->n != 1 || delta.data->n != 1 ||
        !as_fold_number(start.data, 0, is_float, &from) ||
        !as_fold_number(delta.data, 0, is_float, &step) ||
        !as_fold_start(ctx, &out, start.data->dtype, &dims))
        return ASSAY_OK;
    for (uint64_t i = 0; i < out.data->n; i++) {
        if (is_float)
            number.f = from.f + (double)i * step.f;
        else
            number.i = (int64_t)((uint64_t)from.i + i * (uint64_t)step.i);
        if (!as_fold_put(&out, i, is_float, number))
            return ASSAY_OK;
    }
    return as_fold_end(ctx, 0, &out);
}

/* ---- Shape and Size ---- */

static int64_t clamp_axis(int64_t axis, int rank)
{
    if (axis < 0)
        axis = axis < -(int64_t)rank ? 0 : axis + rank;
    return axis > rank ? rank : axis;
}

/* Of 32 bits, as TensorFlow Lite has it, only when all are known: such data is never partial. */
static int narrow_shape(struct as_infer *ctx, const struct as_dims *in)
{
    struct as_dims dims = {1, {in->rank}};
    struct as_data *data;

    for (int i = 0; i < in->rank; i++)
        if (in->at[i] == AS_DIM_UNKNOWN)
            return as_out_tensor(ctx, 0, AS_DTYPE_I32, &dims);
    data = as_data_new(ctx->arena, AS_DTYPE_I32, (uint64_t)in->rank);
    for (int i = 0; data && i < in->rank; i++)
        as_data_put_i64(data, (uint64_t)i, in->at[i]);
    return as_out_data(ctx, 0, data, &dims);
}

static int shape(struct as_infer *ctx)
{
    bool narrow = as_dtype_of_onnx(as_node_extra_int(ctx->node, "output_dtype", 0)) == AS_DTYPE_I32;
    struct as_dims in, open = {1, {AS_DIM_UNKNOWN}};
    int64_t from, to;

    if (!as_in_dims(ctx, 0, &in))
        return as_out_tensor(ctx, 0, narrow ? AS_DTYPE_I32 : AS_DTYPE_I64, &open);
    if (narrow)
        return narrow_shape(ctx, &in);
    from = clamp_axis(as_node_int(ctx->node, "start", 0), in.rank);
    to = clamp_axis(as_node_int(ctx->node, "end", in.rank), in.rank);
    return as_out_ints(ctx, 0, in.at + from, to > from ? (size_t)(to - from) : 0);
}

static int size(struct as_infer *ctx)
{
    struct as_dims in, scalar = {0};
    struct as_data *data;
    int64_t n;

    n = as_in_dims(ctx, 0, &in) ? as_dims_product(&in, 0, in.rank) : AS_DIM_UNKNOWN;
    if (n < 0)
        return as_out_tensor(ctx, 0, AS_DTYPE_I64, &scalar);
    data = as_data_new(ctx->arena, AS_DTYPE_I64, 1);
    if (data)
        as_data_put_i64(data, 0, n);
    return as_out_data(ctx, 0, data, &scalar);
}

/* ---- the rest ---- */

static unsigned dtype_said(const struct as_infer *ctx, const char *name, unsigned fallback)
{
    unsigned dtype = as_dtype_of_onnx(as_node_int(ctx->node, name, 0));

    return dtype != AS_DTYPE_UNKNOWN ? dtype : fallback;
}

/* As input 0 in shape, and in dtype unless an attribute says another. */
static int like(struct as_infer *ctx)
{
    unsigned dtype = dtype_said(ctx, "dtype", as_in_dtype(ctx, 0));
    struct as_dims dims;

    return as_out_tensor(ctx, 0, dtype, as_in_dims(ctx, 0, &dims) ? &dims : NULL);
}

static int eye_like(struct as_infer *ctx)
{
    struct as_dims dims;

    if (as_in_dims(ctx, 0, &dims) && dims.rank != 2)
        return as_conflict(ctx, "an identity matrix of %d dimensions", dims.rank);
    return like(ctx);
}

static int fold_eye(struct as_infer *ctx)
{
    int64_t k = as_node_int(ctx->node, "k", 0);
    unsigned dtype = as_fold_type(ctx, 0)->dtype;
    struct as_fold_out out;
    struct as_dims dims;

    if (!as_type_dims(as_fold_type(ctx, 0), &dims) || dims.rank != 2 || dtype == AS_DTYPE_STRING ||
        as_dtype_at(dtype)->kind == AS_CLASS_COMPLEX || !as_fold_start(ctx, &out, dtype, &dims) ||
        k <= -dims.at[0] || k >= dims.at[1] || out.data->n == 0 || out.data->n > 4096)
        return ASSAY_OK;
    for (int64_t row = 0; row < dims.at[0]; row++)
        if (row + k >= 0 && row + k < dims.at[1])
            as_data_put_i64(out.data, (uint64_t)(row * dims.at[1] + row + k), 1);
    return as_fold_end(ctx, 0, &out);
}

static int random_of_shape(struct as_infer *ctx)
{
    struct as_dims dims = {0};
    struct as_ints ints;

    if (!as_node_ints(ctx->node, "shape", &ints) || ints.n > AS_MAX_RANK)
        return as_conflict(ctx, "no 'shape', or more than %d dimensions", AS_MAX_RANK);
    for (; (size_t)dims.rank < ints.n; dims.rank++)
        dims.at[dims.rank] = ints.at[dims.rank];
    return as_out_tensor(ctx, 0, dtype_said(ctx, "dtype", AS_DTYPE_F32), &dims);
}

static int multinomial(struct as_infer *ctx)
{
    struct as_dims in, out = {2, {AS_DIM_UNKNOWN, as_node_int(ctx->node, "sample_size", 1)}};

    if (as_in_dims(ctx, 0, &in)) {
        if (in.rank != 2)
            return as_conflict(ctx, "the input has %d dimensions, not 2", in.rank);
        out.at[0] = in.at[0];
    }
    return as_out_tensor(ctx, 0, dtype_said(ctx, "dtype", AS_DTYPE_I32), &out);
}

static int window(struct as_infer *ctx)
{
    struct as_dims dims = {1, {AS_DIM_UNKNOWN}};

    if (!as_in_int(ctx, 0, &dims.at[0]))
        (void)as_unknown(ctx, "the length is not known before it runs");
    return as_out_tensor(ctx, 0, dtype_said(ctx, "output_datatype", AS_DTYPE_F32), &dims);
}

const struct as_op_rule as_rules_make[] = {
    {AS_OP_Constant, constant, NULL},
    {AS_OP_ConstantOfShape, constant_of_shape, NULL},
    {AS_OP_Range, range, fold_range},
    {AS_OP_Shape, shape, NULL},
    {AS_OP_Size, size, NULL},
    {AS_OP_EyeLike, eye_like, fold_eye},
    {AS_OP_RandomNormal, random_of_shape, NULL},
    {AS_OP_RandomUniform, random_of_shape, NULL},
    {AS_OP_RandomNormalLike, like, NULL},
    {AS_OP_RandomUniformLike, like, NULL},
    {AS_OP_Multinomial, multinomial, NULL},
    {AS_OP_HannWindow, window, NULL},
    {AS_OP_HammingWindow, window, NULL},
    {AS_OP_BlackmanWindow, window, NULL},
    {AS_OP_UNKNOWN, NULL, NULL},
};
