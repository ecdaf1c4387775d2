/* engine/kernels/move/kern_make.c - kernels that make tensors: constants, ranges, shapes, windows.
 * Noise is in kern_random.c. */
#include "engine/kernels/move/kern_move.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

/* ---- Constant ---- */

static int put_texts(struct as_kernel_ctx *k, const struct as_text *texts, uint64_t n)
{
    if (k->out[0]->dtype != AS_DTYPE_STRING || k->out[0]->n != n || (n && !texts))
        return as_kernel_fail(k, "its texts do not fit");
    if (n)
        memcpy(k->out[0]->data, texts, n * sizeof *texts);
    return as_move_own_texts(k, k->out[0]);
}

static int put_data(struct as_kernel_ctx *k, const struct as_data *data)
{
    struct as_val *out = k->out[0];

    if (!data || data->dtype != out->dtype || data->n != out->n)
        return as_kernel_fail(k, "its value is not the tensor it declares");
    if (data->dtype == AS_DTYPE_STRING)
        return put_texts(k, data->texts, data->n);
    return as_data_read(data, 0, data->n, out->data, k->err);
}

static int constant_of(struct as_kernel_ctx *k, const struct as_attr *attr)
{
    struct as_val *out = k->out[0];
    bool list = attr->kind == AS_ATTR_INTS || attr->kind == AS_ATTR_FLOATS;

    if (attr->kind == AS_ATTR_TENSOR)
        return put_data(k, attr->data);
    if (attr->kind == AS_ATTR_TEXT)
        return put_texts(k, &attr->text, 1);
    if (attr->kind == AS_ATTR_TEXTS)
        return put_texts(k, attr->texts, attr->n);
    if (out->n != (list ? attr->n : 1) || out->dtype == AS_DTYPE_STRING)
        return as_kernel_fail(k, "its value is of another size");
    for (uint64_t i = 0; i < out->n; i++) {
        if (attr->kind == AS_ATTR_INT || attr->kind == AS_ATTR_INTS)
            as_val_put_i64(out, i, list ? attr->ints[i] : attr->i);
        else if (attr->kind == AS_ATTR_FLOAT || attr->kind == AS_ATTR_FLOATS)
            as_val_put_f64(out, i, list ? (double)attr->floats[i] : attr->f);
        else
            return as_kernel_cannot(k, "its value is of a kind that is not read");
    }
    return ASSAY_OK;
}

static int constant(struct as_kernel_ctx *k)
{
    static const char *const names[] = {"value",         "value_float", "value_floats",
                                        "value_int",     "value_ints",  "value_string",
                                        "value_strings", "sparse_value"};

    for (size_t i = 0; i < AS_COUNT_OF(names); i++) {
        const struct as_attr *attr = as_node_attr(k->node, names[i]);

        if (attr)
            return constant_of(k, attr);
    }
    return as_kernel_fail(k, "a constant without a value");
}

static int constant_of_shape(struct as_kernel_ctx *k)
{
    const struct as_attr *attr = as_node_attr(k->node, "value");
    struct as_val *out = k->out[0];
    uint8_t one[16];
    size_t width;
    int rc;

    if (!attr || attr->kind != AS_ATTR_TENSOR) {
        memset(out->data, 0, out->bytes);
        return ASSAY_OK;
    }
    rc = as_move_width(k, out, &width);
    if (rc < 0)
        return rc;
    if (!attr->data || attr->data->n != 1 || attr->data->dtype != out->dtype ||
        out->dtype == AS_DTYPE_STRING)
        return as_kernel_fail(k, "its value is not one number");
    rc = as_data_read(attr->data, 0, 1, one, k->err);
    if (rc == ASSAY_OK)
        as_move_fill(out->data, one, out->n, width);
    return rc;
}

/* The length is the output's, so a step of zero cannot be here. */
static int range(struct as_kernel_ctx *k)
{
    struct as_val *out = k->out[0];

    if (!as_has_in(k, 0) || k->in[0]->n != 1 || !as_has_in(k, 2) || k->in[2]->n != 1)
        return as_kernel_fail(k, "start and delta are not one number each");
    if (as_dtype_is_float(out->dtype)) {
        double start = as_val_f64(k->in[0], 0), delta = as_val_f64(k->in[2], 0);

        for (uint64_t i = 0; i < out->n; i++)
            as_val_put_f64(out, i, start + (double)i * delta);
    } else {
        uint64_t start = (uint64_t)as_val_i64(k->in[0], 0);
        uint64_t delta = (uint64_t)as_val_i64(k->in[2], 0);

        for (uint64_t i = 0; i < out->n; i++)
            as_val_put_i64(out, i, (int64_t)(start + i * delta));
    }
    return ASSAY_OK;
}

/* ---- Shape and Size ---- */

static int64_t clamp_axis(int64_t axis, int rank)
{
    if (axis < 0)
        axis = axis < -(int64_t)rank ? 0 : axis + rank;
    return axis > rank ? rank : axis;
}

static int shape(struct as_kernel_ctx *k)
{
    const struct as_val *in = k->in[0];
    int64_t from = clamp_axis(as_node_int(k->node, "start", 0), in->rank);
    int64_t to = clamp_axis(as_node_int(k->node, "end", in->rank), in->rank);

    if (k->out[0]->n != (uint64_t)(to > from ? to - from : 0))
        return as_kernel_fail(k, "the output is not as long as the shape");
    for (int64_t i = from; i < to; i++)
        as_val_put_i64(k->out[0], (uint64_t)(i - from), in->dims[i]);
    return ASSAY_OK;
}

static int size(struct as_kernel_ctx *k)
{
    as_val_put_i64(k->out[0], 0, (int64_t)k->in[0]->n);
    return ASSAY_OK;
}

/* ---- windows ---- */

/* a - b cos(2 pi n / N) + c cos(4 pi n / N) */
static int window(struct as_kernel_ctx *k)
{
    static const struct {
        enum as_op op;
        double a, b, c;
    } kinds[] = {
        {AS_OP_HannWindow, 0.5, 0.5, 0},
        {AS_OP_HammingWindow, 25.0 / 46, 21.0 / 46, 0},
        {AS_OP_BlackmanWindow, 0.42, 0.5, 0.08},
    };
    struct as_val *out = k->out[0];
    double length = (double)out->n - (as_node_int(k->node, "periodic", 1) != 0 ? 0 : 1);
    size_t kind = 0;

    while (kinds[kind].op != k->node->op && kind + 1 < AS_COUNT_OF(kinds))
        kind++;
    for (uint64_t i = 0; i < out->n; i++) {
        double x = length > 0 ? 2 * 3.14159265358979323846 * (double)i / length : 0;

        as_val_put_f64(out, i, kinds[kind].a - kinds[kind].b * cos(x) + kinds[kind].c * cos(2 * x));
    }
    return ASSAY_OK;
}

#define MOVES (AS_KERNEL_HALF | AS_KERNEL_TEXT)

const struct as_kernel as_kernels_make[] = {
    {AS_OP_Constant, constant, MOVES},
    {AS_OP_ConstantOfShape, constant_of_shape, AS_KERNEL_HALF},
    {AS_OP_Range, range, AS_KERNEL_HALF},
    {AS_OP_Shape, shape, MOVES},
    {AS_OP_Size, size, MOVES},
    {AS_OP_HannWindow, window, AS_KERNEL_HALF},
    {AS_OP_HammingWindow, window, AS_KERNEL_HALF},
    {AS_OP_BlackmanWindow, window, AS_KERNEL_HALF},
    {AS_OP_RandomNormal, as_kern_random_normal, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_RandomNormalLike, as_kern_random_normal, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_RandomUniform, as_kern_random_uniform, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_RandomUniformLike, as_kern_random_uniform, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_Bernoulli, as_kern_bernoulli, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_Multinomial, as_kern_multinomial, AS_KERNEL_RANDOM | AS_KERNEL_HALF},
    {AS_OP_UNKNOWN, NULL, 0},
};
