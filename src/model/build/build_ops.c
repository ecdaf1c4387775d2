/* model/build/build_ops.c - the small operations of a network for the builder: activations,
 * arithmetic, and what moves tensors about. Each gives one value, AS_NONE after a failure. */
#include "model/build/build_ops.h"

#include <math.h>

#include "base/units.h"

/* Numbers of the dtypes in ONNX files, for Cast. */
static int64_t onnx_dtype(unsigned dtype)
{
    static const struct {
        unsigned dtype;
        int64_t number;
    } known[] = {{AS_DTYPE_F32, 1},  {AS_DTYPE_U8, 2},   {AS_DTYPE_I8, 3},
                 {AS_DTYPE_I32, 6},  {AS_DTYPE_I64, 7},  {AS_DTYPE_BOOL, 9},
                 {AS_DTYPE_F16, 10}, {AS_DTYPE_F64, 11}, {AS_DTYPE_BF16, 16}};

    for (size_t i = 0; i < AS_COUNT_OF(known); i++)
        if (known[i].dtype == dtype)
            return known[i].number;
    return 0;
}

static uint32_t same_shape(struct as_builder *b, const struct as_build_node *node)
{
    struct as_dims dims;
    bool known = as_build_dims(b, node->inputs[0], &dims);

    return as_build_one(b, node, known ? &dims : NULL);
}

uint32_t as_build_unary(struct as_builder *b, const char *op, const char *name, uint32_t x)
{
    struct as_build_node node = {.op = op, .name = name, AS_BUILD_IN(x)};

    return same_shape(b, &node);
}

static bool broadcast(const struct as_dims *x, const struct as_dims *y, struct as_dims *out)
{
    out->rank = x->rank > y->rank ? x->rank : y->rank;
    for (int i = 0; i < out->rank; i++) {
        int xi = i - (out->rank - x->rank), yi = i - (out->rank - y->rank);
        int64_t a = xi >= 0 ? x->at[xi] : 1, c = yi >= 0 ? y->at[yi] : 1;

        if (a >= 0 && c >= 0 && a != c && a != 1 && c != 1)
            return false;
        /* An open dimension beside a known one greater than 1 must be that one. */
        out->at[i] = a == 1 ? c : c == 1 ? a : a >= 0 ? a : c;
    }
    return true;
}

uint32_t as_build_binary(struct as_builder *b, const char *op, const char *name, uint32_t x,
                         uint32_t y)
{
    struct as_build_node node = {.op = op, .name = name, AS_BUILD_IN(x, y)};
    struct as_dims dx, dy, out;
    bool known = as_build_dims(b, x, &dx) && as_build_dims(b, y, &dy);

    if (as_build_ok(b) && known && !broadcast(&dx, &dy, &out))
        return as_build_fail(b, ASSAY_ERR_USAGE, "%s '%.60s' has inputs whose shapes do not match",
                             op, name ? name : "");
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_softmax(struct as_builder *b, const char *name, uint32_t x, int64_t axis)
{
    struct as_build_node node = {
        .op = "Softmax", .name = name, AS_BUILD_IN(x), AS_BUILD_ATTR(as_attr_of_int("axis", axis))};

    return same_shape(b, &node);
}

uint32_t as_build_dropout(struct as_builder *b, const char *name, uint32_t x, double ratio)
{
    struct as_build_node node = {
        .op = "Dropout", .name = name, AS_BUILD_IN(x, as_build_number(b, ratio))};

    return same_shape(b, &node);
}

/* ---- activations ---- */

static uint32_t relu6(struct as_builder *b, const char *name, uint32_t x)
{
    struct as_build_node node = {
        .op = "Clip",
        .name = name,
        AS_BUILD_IN(x, as_build_number(b, 0), as_build_number(b, 6)),
    };

    return same_shape(b, &node);
}

static uint32_t leaky_relu(struct as_builder *b, const char *name, uint32_t x)
{
    struct as_build_node node = {.op = "LeakyRelu",
                                 .name = name,
                                 AS_BUILD_IN(x),
                                 AS_BUILD_ATTR(as_attr_of_float("alpha", 0.01))};

    return same_shape(b, &node);
}

static uint32_t hardsigmoid(struct as_builder *b, const char *name, uint32_t x)
{
    struct as_build_node node = {.op = "HardSigmoid",
                                 .name = name,
                                 AS_BUILD_IN(x),
                                 AS_BUILD_ATTR(as_attr_of_float("alpha", 1.0 / 6))};

    return same_shape(b, &node);
}

static uint32_t silu(struct as_builder *b, const char *name, uint32_t x)
{
    (void)name;
    return as_build_binary(b, "Mul", "Mul", x, as_build_unary(b, "Sigmoid", "Sigmoid", x));
}

/* x / 2 * (1 + erf(x / sqrt 2)), in the order exporters write it. */
static uint32_t gelu(struct as_builder *b, const char *name, uint32_t x)
{
    uint32_t y = as_build_binary(b, "Div", "Div", x, as_build_number(b, sqrt(2)));

    (void)name;
    y = as_build_unary(b, "Erf", "Erf", y);
    y = as_build_binary(b, "Add", "Add", y, as_build_number(b, 1));
    y = as_build_binary(b, "Mul", "Mul", x, y);
    return as_build_binary(b, "Mul", "Mul_half", y, as_build_number(b, 0.5));
}

/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */
static uint32_t gelu_tanh(struct as_builder *b, const char *name, uint32_t x)
{
    uint32_t y = as_build_binary(b, "Mul", "Mul_square", x, x);

    (void)name;
    y = as_build_binary(b, "Mul", "Mul_cube", y, x);
    y = as_build_binary(b, "Mul", "Mul_cubic", y, as_build_number(b, 0.044715));
    y = as_build_binary(b, "Add", "Add_cubic", x, y);
    y = as_build_binary(b, "Mul", "Mul_scale", y, as_build_number(b, 0.7978845608028654));
    y = as_build_unary(b, "Tanh", "Tanh", y);
    y = as_build_binary(b, "Add", "Add", y, as_build_number(b, 1));
    y = as_build_binary(b, "Mul", "Mul", x, y);
    return as_build_binary(b, "Mul", "Mul_half", y, as_build_number(b, 0.5));
}

static const struct {
    const char *word;
    const char *op; /* one operator does it, ... */
    uint32_t (*build)(struct as_builder *b, const char *name, uint32_t x); /* ... or this */
    bool scope; /* several nodes, in a scope of their own */
} activations[] = {
    [AS_ACT_RELU] = {"relu", "Relu", NULL, false},
    [AS_ACT_RELU6] = {"relu6", NULL, relu6, false},
    [AS_ACT_LEAKY_RELU] = {"leaky_relu", NULL, leaky_relu, false},
    [AS_ACT_SIGMOID] = {"sigmoid", "Sigmoid", NULL, false},
    [AS_ACT_TANH] = {"tanh", "Tanh", NULL, false},
    [AS_ACT_HARDSWISH] = {"hardswish", "HardSwish", NULL, false},
    [AS_ACT_HARDSIGMOID] = {"hardsigmoid", NULL, hardsigmoid, false},
    [AS_ACT_SILU] = {"silu", NULL, silu, true},
    [AS_ACT_GELU] = {"gelu", NULL, gelu, true},
    [AS_ACT_GELU_TANH] = {"gelu_tanh", NULL, gelu_tanh, true},
};
_Static_assert(AS_COUNT_OF(activations) == AS_ACT_COUNT, "build every activation");

uint32_t as_build_activation(struct as_builder *b, enum as_activation act, const char *name,
                             uint32_t x)
{
    uint32_t y;

    if ((unsigned)act >= AS_ACT_COUNT)
        return as_build_fail(b, ASSAY_ERR_USAGE, "there is no activation number %d", (int)act);
    name = name ? name : activations[act].word;
    if (activations[act].op)
        return as_build_unary(b, activations[act].op, name, x);
    if (activations[act].scope)
        as_build_scope(b, "%s", name);
    y = activations[act].build(b, name, x);
    if (activations[act].scope)
        as_build_scope_end(b);
    return y;
}

/* ---- what moves tensors about ---- */

/* Counted from the front; false when there is no such axis. */
static bool axis_of(int64_t axis, int rank, int *out)
{
    axis = axis < 0 ? axis + rank : axis;
    *out = (int)axis;
    return axis >= 0 && axis < rank;
}

static uint32_t no_axis(struct as_builder *b, const char *name, int64_t axis)
{
    return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' has no axis %lld to work along",
                         name ? name : "a layer", (long long)axis);
}

uint32_t as_build_concat(struct as_builder *b, const char *name, const uint32_t *values, size_t n,
                         int64_t axis)
{
    struct as_build_node node = {.op = "Concat",
                                 .name = name,
                                 .inputs = values,
                                 .n_inputs = n,
                                 AS_BUILD_ATTR(as_attr_of_int("axis", axis))};
    struct as_dims out, dims;
    bool known = n > 0 && as_build_dims(b, values[0], &out);
    int at = 0;

    if (!as_build_ok(b))
        return AS_NONE;
    if (known && !axis_of(axis, out.rank, &at))
        return no_axis(b, name, axis);
    for (size_t i = 1; known && i < n; i++) {
        known = as_build_dims(b, values[i], &dims);
        for (int k = 0; known && k < out.rank; k++)
            if (dims.rank != out.rank ||
                (k != at && dims.at[k] >= 0 && out.at[k] >= 0 && dims.at[k] != out.at[k]))
                return as_build_fail(b, ASSAY_ERR_USAGE,
                                     "Concat '%.60s' has inputs whose shapes do not match",
                                     name ? name : "");
        if (known)
            out.at[at] =
                out.at[at] < 0 || dims.at[at] < 0 ? AS_DIM_UNKNOWN : out.at[at] + dims.at[at];
    }
    return as_build_one(b, &node, known ? &out : NULL);
}

bool as_build_split(struct as_builder *b, const char *name, uint32_t x, int64_t axis, uint32_t n,
                    uint32_t *parts)
{
    struct as_build_node node = {
        .op = "Split", .name = name, AS_BUILD_IN(x), AS_BUILD_ATTR(as_attr_of_int("axis", axis))};
    struct as_dims dims;
    bool known = as_build_dims(b, x, &dims);
    int at = 0;

    if (as_build_ok(b) && known && !axis_of(axis, dims.rank, &at))
        no_axis(b, name, axis);
    if (as_build_ok(b) && known && n > 0 && dims.at[at] >= 0) {
        if (dims.at[at] % n != 0)
            as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' cannot cut %lld into %u equal parts",
                          name ? name : "Split", (long long)dims.at[at], n);
        dims.at[at] /= n;
    }
    if (!as_build_add(b, &node, n, parts))
        return false;
    for (uint32_t i = 0; i < n; i++)
        as_build_set_type(b, parts[i], as_build_dtype(b, x), known ? &dims : NULL);
    return as_build_ok(b);
}

/* The dimensions of a reshaped tensor; an open one stays open. False when they cannot be. */
static bool reshaped(const struct as_dims *in, const int64_t *shape, struct as_dims *out)
{
    int64_t have = 1, given = 1;
    int free_at = -1;

    for (int i = 0; i < in->rank; i++)
        have = have < 0 || in->at[i] < 0 || (in->at[i] > 0 && have > INT64_MAX / in->at[i])
                   ? -1
                   : have * in->at[i];
    for (int i = 0; i < out->rank; i++) {
        if (shape[i] == 0 && i >= in->rank)
            return false;
        out->at[i] = shape[i] == 0 ? in->at[i] : shape[i];
        if (shape[i] == -1) {
            free_at = i;
            continue;
        }
        given = given < 0 || out->at[i] < 0 || (out->at[i] > 0 && given > INT64_MAX / out->at[i])
                    ? -1
                    : given * out->at[i];
    }
    if (free_at >= 0) {
        out->at[free_at] = AS_DIM_UNKNOWN;
        if (have >= 0 && given > 0) {
            if (have % given != 0)
                return false;
            out->at[free_at] = have / given;
        }
        return true;
    }
    return have < 0 || given < 0 || have == given;
}

/* With one dimension open and copied, what is left for -1 can still be inferred from the others. */
static void close_free(const struct as_dims *in, const int64_t *shape, struct as_dims *out)
{
    int64_t have = 1, given = 1;
    int free_at = -1;

    for (int i = 0; i < in->rank; i++)
        if (!(i < out->rank && shape[i] == 0))
            have = have < 0 || in->at[i] < 0 ? -1 : have * in->at[i];
    for (int i = 0; i < out->rank; i++)
        if (shape[i] == -1)
            free_at = i;
        else if (shape[i] != 0)
            given *= shape[i];
    if (free_at >= 0 && out->at[free_at] < 0 && have >= 0 && given > 0 && have % given == 0)
        out->at[free_at] = have / given;
}

uint32_t as_build_reshape(struct as_builder *b, const char *name, uint32_t x, const int64_t *shape,
                          size_t rank)
{
    struct as_build_node node = {
        .op = "Reshape", .name = name, AS_BUILD_IN(x, as_build_ints(b, shape, rank))};
    struct as_dims dims, out = {.rank = (int)rank};
    bool known = as_build_dims(b, x, &dims);

    if (!as_build_ok(b))
        return AS_NONE;
    if (known && !reshaped(&dims, shape, &out))
        return as_build_fail(b, ASSAY_ERR_USAGE,
                             "Reshape '%.60s' cannot give its elements that shape",
                             name ? name : "");
    if (known)
        close_free(&dims, shape, &out);
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_flatten(struct as_builder *b, const char *name, uint32_t x, int64_t axis)
{
    struct as_build_node node = {
        .op = "Flatten", .name = name, AS_BUILD_IN(x), AS_BUILD_ATTR(as_attr_of_int("axis", axis))};
    struct as_dims dims, out = {2, {1, 1}};
    bool known = as_build_dims(b, x, &dims);

    axis = axis < 0 ? axis + dims.rank : axis;
    for (int i = 0; known && i < dims.rank; i++) {
        int64_t *to = &out.at[i >= axis];

        *to = *to < 0 || dims.at[i] < 0 ? AS_DIM_UNKNOWN : *to * dims.at[i];
    }
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_transpose(struct as_builder *b, const char *name, uint32_t x,
                            const int64_t *order, size_t rank)
{
    struct as_build_node node = {.op = "Transpose",
                                 .name = name,
                                 AS_BUILD_IN(x),
                                 AS_BUILD_ATTR(as_attr_of_ints("perm", order, (uint32_t)rank))};
    struct as_dims dims, out = {.rank = (int)rank};
    bool known = as_build_dims(b, x, &dims) && dims.rank == out.rank;

    for (int i = 0; known && i < out.rank; i++) {
        if (order[i] < 0 || order[i] >= out.rank)
            return no_axis(b, name, order[i]);
        out.at[i] = dims.at[order[i]];
    }
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_matmul(struct as_builder *b, const char *name, uint32_t x, uint32_t y)
{
    struct as_build_node node = {.op = "MatMul", .name = name, AS_BUILD_IN(x, y)};
    struct as_dims dx, dy, out;
    bool known = as_build_dims(b, x, &dx) && as_build_dims(b, y, &dy);
    int64_t rows, columns;

    if (!as_build_ok(b))
        return AS_NONE;
    if (!known || dx.rank < 1 || dy.rank < 2)
        return as_build_one(b, &node, NULL);
    if (dx.at[dx.rank - 1] >= 0 && dy.at[dy.rank - 2] >= 0 &&
        dx.at[dx.rank - 1] != dy.at[dy.rank - 2])
        return as_build_fail(b, ASSAY_ERR_USAGE,
                             "MatMul '%.60s' would multiply rows of %lld by %lld", name ? name : "",
                             (long long)dx.at[dx.rank - 1], (long long)dy.at[dy.rank - 2]);
    columns = dy.at[dy.rank - 1];
    if (dx.rank == 1) {
        out = (struct as_dims){1, {columns}};
        return as_build_one(b, &node, dy.rank == 2 ? &out : NULL);
    }
    rows = dx.at[dx.rank - 2];
    dx.rank -= 2;
    dy.rank -= 2;
    known = broadcast(&dx, &dy, &out);
    out.at[out.rank++] = rows;
    out.at[out.rank++] = columns;
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_gather(struct as_builder *b, const char *name, uint32_t x, uint32_t indices,
                         int64_t axis)
{
    struct as_build_node node = {.op = "Gather",
                                 .name = name,
                                 AS_BUILD_IN(x, indices),
                                 AS_BUILD_ATTR(as_attr_of_int("axis", axis))};
    struct as_dims dims, di, out = {0};
    bool known = as_build_dims(b, x, &dims) && as_build_dims(b, indices, &di);
    int at = 0;

    if (as_build_ok(b) && known && !axis_of(axis, dims.rank, &at))
        return no_axis(b, name, axis);
    for (int i = 0; known && i < dims.rank; i++)
        for (int k = 0; k < (i == at ? di.rank : 1) && out.rank < AS_MAX_RANK; k++)
            out.at[out.rank++] = i == at ? di.at[k] : dims.at[i];
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_mean(struct as_builder *b, const char *name, uint32_t x, const int64_t *axes,
                       size_t n, bool keep)
{
    struct as_build_node node = {.op = "ReduceMean",
                                 .name = name,
                                 AS_BUILD_IN(x),
                                 AS_BUILD_ATTR(as_attr_of_ints("axes", axes, (uint32_t)n),
                                               as_attr_of_int("keepdims", keep))};
    struct as_dims dims, out = {0};
    bool known = as_build_dims(b, x, &dims), gone[AS_MAX_RANK] = {false};
    int at;

    for (size_t i = 0; known && i < n; i++) {
        if (!axis_of(axes[i], dims.rank, &at))
            return no_axis(b, name, axes[i]);
        gone[at] = true;
    }
    for (int i = 0; known && i < dims.rank; i++)
        if (!gone[i] || keep)
            out.at[out.rank++] = gone[i] ? 1 : dims.at[i];
    return as_build_one(b, &node, known ? &out : NULL);
}

uint32_t as_build_cast(struct as_builder *b, const char *name, uint32_t x, unsigned dtype)
{
    struct as_build_node node = {.op = "Cast",
                                 .name = name,
                                 AS_BUILD_IN(x),
                                 AS_BUILD_ATTR(as_attr_of_int("to", onnx_dtype(dtype)))};
    uint32_t out;
    struct as_dims dims;
    bool known = as_build_dims(b, x, &dims);

    if (as_build_dtype(b, x) == dtype)
        return x;
    out = as_build_one(b, &node, NULL);
    as_build_set_type(b, out, dtype, known ? &dims : NULL);
    return out;
}

uint32_t as_build_length(struct as_builder *b, const char *name, uint32_t x, int64_t axis)
{
    struct as_build_node shape = {.op = "Shape", .name = "Shape", AS_BUILD_IN(x)};
    struct as_dims dims, rank = {1, {AS_DIM_UNKNOWN}};
    uint32_t all, one;

    if (as_build_dims(b, x, &dims))
        rank.at[0] = dims.rank;
    as_build_scope(b, "%s", name);
    all = as_build_one(b, &shape, &rank);
    as_build_set_type(b, all, AS_DTYPE_I64, &rank);
    one = as_build_gather(b, "Gather", all, as_build_int(b, axis), 0);
    as_build_scope_end(b);
    return one;
}
