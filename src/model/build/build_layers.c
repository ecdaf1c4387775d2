/* model/build/build_layers.c - layers with parameters for the builder: products, convolutions,
 * norms. */
#include "model/build/build_layers.h"

#include <math.h>
#include <stdio.h>

/* A parameter of the layer, as "name.what". */
static uint32_t param(struct as_builder *b, const char *name, const char *what,
                      const struct as_dims *dims, const struct as_seeded *how)
{
    char full[256];
    int size = snprintf(full, sizeof full, "%s.%s", name, what);

    if (size < 0 || (size_t)size >= sizeof full)
        return as_build_fail(b, ASSAY_ERR_LIMIT, "the name '%.60s...' is too long", name);
    return as_build_param(b, full, dims, how);
}

static struct as_seeded uniform(double spread)
{
    return (struct as_seeded){AS_SEEDED_UNIFORM, 0, (float)spread};
}

/* Keeps the size of what flows through layers of rectified units. */
static struct as_seeded kaiming(double fan_in)
{
    return (struct as_seeded){AS_SEEDED_NORMAL, 0, (float)sqrt(2 / fan_in)};
}

static int64_t last_dim(struct as_builder *b, const char *name, uint32_t x, struct as_dims *dims)
{
    bool known = as_build_dims(b, x, dims);

    if (as_build_ok(b) && (!known || dims->rank < 1 || dims->at[dims->rank - 1] < 0)) {
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs an input whose last dimension is known",
                      name);
        return -1;
    }
    return as_build_ok(b) ? dims->at[dims->rank - 1] : -1;
}

static bool check_positive(struct as_builder *b, const char *name, const char *what, int64_t value)
{
    if (as_build_ok(b) && (value < 1 || value > INT32_MAX))
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' cannot have %lld for %s", name, (long long)value,
                      what);
    return as_build_ok(b);
}

static uint32_t linear_gemm(struct as_builder *b, const char *name, uint32_t x,
                            const uint32_t weights[2], int64_t out)
{
    struct as_build_node node = {.op = "Gemm",
                                 .name = name,
                                 .inputs = (const uint32_t[]){x, weights[0], weights[1]},
                                 .n_inputs = weights[1] == AS_NONE ? 2 : 3,
                                 AS_BUILD_ATTR(as_attr_of_int("transB", 1))};
    struct as_dims dims;

    (void)as_build_dims(b, x, &dims);
    dims.at[1] = out;
    return as_build_one(b, &node, &dims);
}

bool as_build_linear_begin(struct as_builder *b, const char *name, uint32_t x, int64_t out,
                           struct as_build_linear_parts *parts)
{
    struct as_dims dims;

    *parts = (struct as_build_linear_parts){.out = out, .weight = AS_NONE};
    parts->in = last_dim(b, name, x, &dims);
    if (!as_build_ok(b) || !check_positive(b, name, "the width in", parts->in) ||
        !check_positive(b, name, "the width out", out))
        return false;
    parts->out_axis = dims.rank == 2 ? 0 : 1;
    parts->shape = dims.rank == 2 ? (struct as_dims){2, {out, parts->in}}
                                  : (struct as_dims){2, {parts->in, out}};
    return true;
}

uint32_t as_build_linear_end(struct as_builder *b, const char *name, uint32_t x,
                             const struct as_build_linear_parts *parts, bool bias)
{
    struct as_seeded how = uniform(1 / sqrt((double)parts->in));
    struct as_dims one = {1, {parts->out}};
    uint32_t weights[2] = {parts->weight, AS_NONE}, y;
    char sum[256];

    if (bias)
        weights[1] = param(b, name, "bias", &one, &how);
    if (!as_build_ok(b))
        return AS_NONE;
    if (parts->out_axis == 0)
        return linear_gemm(b, name, x, weights, parts->out);
    y = as_build_matmul(b, name, x, weights[0]);
    if (!bias)
        return y;
    (void)snprintf(sum, sizeof sum, "%.240s.add", name);
    return as_build_binary(b, "Add", sum, y, weights[1]);
}

/* What comes out varies as what goes in. */
struct as_seeded as_build_weight_numbers(int64_t in)
{
    return uniform(sqrt(3.0 / (double)in));
}

uint32_t as_build_linear(struct as_builder *b, const char *name, uint32_t x, int64_t out, bool bias)
{
    struct as_build_linear_parts parts;
    struct as_seeded how;

    name = name ? name : "linear";
    if (!as_build_linear_begin(b, name, x, out, &parts))
        return AS_NONE;
    how = as_build_weight_numbers(parts.in);
    parts.weight = param(b, name, "weight", &parts.shape, &how);
    return as_build_linear_end(b, name, x, &parts, bias);
}

/* The leading dimensions of x and then `out`, as a list for Reshape that holds for any of them. */
static uint32_t tied_shape(struct as_builder *b, uint32_t x, const struct as_dims *dims,
                           int64_t out)
{
    struct as_build_node shape = {
        .op = "Shape",
        .name = "Shape",
        AS_BUILD_IN(x),
        AS_BUILD_ATTR(as_attr_of_int("start", 0), as_attr_of_int("end", -1))};
    struct as_dims lead = {1, {dims->rank - 1}};
    int64_t at[AS_MAX_RANK];
    uint32_t parts[2];
    bool fixed = true;

    for (int i = 1; i < dims->rank - 1; i++)
        fixed = fixed && dims->at[i] >= 0;
    if (fixed) {
        at[0] = -1;
        for (int i = 1; i < dims->rank - 1; i++)
            at[i] = dims->at[i];
        at[dims->rank - 1] = out;
        return as_build_ints(b, at, (size_t)dims->rank);
    }
    parts[0] = as_build_one(b, &shape, &lead);
    as_build_set_type(b, parts[0], AS_DTYPE_I64, &lead);
    parts[1] = as_build_ints(b, &out, 1);
    return as_build_concat(b, "Concat", parts, 2, 0);
}

uint32_t as_build_linear_tied(struct as_builder *b, const char *name, uint32_t x, uint32_t weight)
{
    struct as_dims dims, table;
    uint32_t flat, y, weights[2] = {weight, AS_NONE};
    int64_t in, rows[2];

    name = name ? name : "linear";
    in = last_dim(b, name, x, &dims);
    if (as_build_ok(b) &&
        (!as_build_dims(b, weight, &table) || table.rank != 2 || table.at[1] != in))
        return as_build_fail(b, ASSAY_ERR_USAGE,
                             "'%.60s' needs a table with rows as wide as its input, %lld", name,
                             (long long)in);
    if (!as_build_ok(b))
        return AS_NONE;
    if (dims.rank == 2)
        return linear_gemm(b, name, x, weights, table.at[0]);
    if (dims.rank < 2)
        return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs two dimensions or more", name);
    rows[0] = -1;
    rows[1] = in;
    as_build_scope(b, "%s", name);
    flat = as_build_reshape(b, "Reshape_rows", x, rows, 2);
    y = linear_gemm(b, "Gemm", flat, weights, table.at[0]);
    dims.at[dims.rank - 1] = table.at[0];
    {
        struct as_build_node back = {
            .op = "Reshape",
            .name = "Reshape_back",
            AS_BUILD_IN(y, tied_shape(b, x, &dims, table.at[0])),
        };

        y = as_build_one(b, &back, &dims);
    }
    as_build_scope_end(b);
    return y;
}

/* ---- convolutions ---- */

static int64_t or_one(int64_t value)
{
    return value ? value : 1;
}

/* Fills in defaults and checks; `in` gets the channels that come in. */
static bool check_conv(struct as_builder *b, const char *name, uint32_t x,
                       struct as_build_conv *conv, struct as_dims *dims)
{
    conv->groups = or_one(conv->groups);
    for (int i = 0; i < 2; i++) {
        conv->stride[i] = or_one(conv->stride[i]);
        conv->dilation[i] = or_one(conv->dilation[i]);
        check_positive(b, name, "the kernel", conv->kernel[i]);
        check_positive(b, name, "the stride", conv->stride[i]);
        check_positive(b, name, "the dilation", conv->dilation[i]);
        check_positive(b, name, "the padding", conv->pad[i] + 1);
        check_positive(b, name, "the output padding", conv->output_pad[i] + 1);
    }
    check_positive(b, name, "the channels out", conv->channels);
    check_positive(b, name, "the groups", conv->groups);
    if (as_build_ok(b) && (!as_build_dims(b, x, dims) || dims->rank != 4 || dims->at[1] < 1))
        as_build_fail(b, ASSAY_ERR_USAGE,
                      "'%.60s' needs an input of [batch, channels, height, width]", name);
    if (as_build_ok(b) && (dims->at[1] % conv->groups || conv->channels % conv->groups))
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' cannot divide its channels into %lld groups",
                      name, (long long)conv->groups);
    return as_build_ok(b);
}

/* Windows that fit; unknown stays unknown, and 0 is "none". */
static int64_t windows(int64_t in, int64_t capacity, int64_t stride, bool ceil)
{
    if (in < 0)
        return AS_DIM_UNKNOWN;
    if (in + capacity < 0)
        return 0;
    return (in + capacity + (ceil ? stride - 1 : 0)) / stride + 1;
}

static uint32_t conv_node(struct as_builder *b, const char *op, const char *name, uint32_t x,
                          const struct as_build_conv *conv, const struct as_dims *weight,
                          const struct as_dims *out)
{
    int64_t pads[4] = {conv->pad[0], conv->pad[1], conv->pad[0], conv->pad[1]};
    struct as_dims one = {1, {conv->channels}};
    double fan = (double)(weight->at[2] * weight->at[3]) *
                 (op[4] ? (double)weight->at[0] / (double)conv->groups : (double)weight->at[1]);
    struct as_seeded how = kaiming(fan);
    uint32_t inputs[3] = {x, param(b, name, "weight", weight, &how), AS_NONE};
    struct as_attr attrs[6] = {as_attr_of_ints("kernel_shape", conv->kernel, 2),
                               as_attr_of_ints("strides", conv->stride, 2),
                               as_attr_of_ints("pads", pads, 4),
                               as_attr_of_ints("dilations", conv->dilation, 2),
                               as_attr_of_int("group", conv->groups),
                               as_attr_of_ints("output_padding", conv->output_pad, 2)};
    struct as_build_node node = {.op = op,
                                 .name = name,
                                 .inputs = inputs,
                                 .n_inputs = conv->bias ? 3 : 2,
                                 .attrs = attrs,
                                 .n_attrs = op[4] ? 6 : 5};

    how = uniform(1 / sqrt(fan));
    if (conv->bias)
        inputs[2] = param(b, name, "bias", &one, &how);
    return as_build_one(b, &node, out);
}

uint32_t as_build_conv(struct as_builder *b, const char *name, uint32_t x,
                       const struct as_build_conv *conv)
{
    struct as_build_conv c = *conv;
    struct as_dims dims, weight, out;

    name = name ? name : "conv";
    if (!check_conv(b, name, x, &c, &dims))
        return AS_NONE;
    weight = (struct as_dims){4, {c.channels, dims.at[1] / c.groups, c.kernel[0], c.kernel[1]}};
    out = (struct as_dims){4, {dims.at[0], c.channels}};
    for (int i = 0; i < 2; i++) {
        out.at[2 + i] =
            windows(dims.at[2 + i], 2 * c.pad[i] - c.dilation[i] * (c.kernel[i] - 1) - 1,
                    c.stride[i], false);
        if (out.at[2 + i] == 0)
            return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' has a kernel larger than its input",
                                 name);
    }
    return conv_node(b, "Conv", name, x, &c, &weight, &out);
}

uint32_t as_build_conv_transpose(struct as_builder *b, const char *name, uint32_t x,
                                 const struct as_build_conv *conv)
{
    struct as_build_conv c = *conv;
    struct as_dims dims, weight, out;

    name = name ? name : "conv_transpose";
    if (!check_conv(b, name, x, &c, &dims))
        return AS_NONE;
    weight = (struct as_dims){4, {dims.at[1], c.channels / c.groups, c.kernel[0], c.kernel[1]}};
    out = (struct as_dims){4, {dims.at[0], c.channels}};
    for (int i = 0; i < 2; i++) {
        int64_t in = dims.at[2 + i];

        out.at[2 + i] = in < 0 ? AS_DIM_UNKNOWN
                               : (in - 1) * c.stride[i] - 2 * c.pad[i] +
                                     c.dilation[i] * (c.kernel[i] - 1) + c.output_pad[i] + 1;
        if (in >= 0 && out.at[2 + i] < 1)
            return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' pads away its whole output", name);
    }
    return conv_node(b, "ConvTranspose", name, x, &c, &weight, &out);
}

/* ---- pooling ---- */

static uint32_t pool_node(struct as_builder *b, const char *op, const char *name, uint32_t x,
                          const struct as_build_pool *pool)
{
    int64_t stride[2] = {pool->stride[0] ? pool->stride[0] : pool->kernel[0],
                         pool->stride[1] ? pool->stride[1] : pool->kernel[1]};
    int64_t pads[4] = {pool->pad[0], pool->pad[1], pool->pad[0], pool->pad[1]};
    struct as_attr attrs[5] = {
        as_attr_of_ints("kernel_shape", pool->kernel, 2), as_attr_of_ints("strides", stride, 2),
        as_attr_of_ints("pads", pads, 4), as_attr_of_int("ceil_mode", pool->ceil),
        as_attr_of_int("count_include_pad", pool->count_pad)};
    struct as_build_node node = {
        .op = op, .name = name, AS_BUILD_IN(x), .attrs = attrs, .n_attrs = op[0] == 'A' ? 5 : 4};
    struct as_dims dims;

    for (int i = 0; i < 2; i++) {
        check_positive(b, name, "the kernel", pool->kernel[i]);
        check_positive(b, name, "the stride", stride[i]);
        check_positive(b, name, "the padding", pool->pad[i] + 1);
    }
    if (as_build_ok(b) && (!as_build_dims(b, x, &dims) || dims.rank != 4))
        as_build_fail(b, ASSAY_ERR_USAGE,
                      "'%.60s' needs an input of [batch, channels, height, width]", name);
    for (int i = 0; as_build_ok(b) && i < 2; i++) {
        int64_t in = dims.at[2 + i], capacity = 2 * pool->pad[i] - pool->kernel[i];

        dims.at[2 + i] = windows(in, capacity, stride[i], pool->ceil);
        if (dims.at[2 + i] == 0)
            as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' has a kernel larger than its input", name);
    }
    return as_build_one(b, &node, &dims);
}

uint32_t as_build_max_pool(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_pool *pool)
{
    return pool_node(b, "MaxPool", name ? name : "max_pool", x, pool);
}

uint32_t as_build_avg_pool(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_pool *pool)
{
    return pool_node(b, "AveragePool", name ? name : "avg_pool", x, pool);
}

uint32_t as_build_global_avg_pool(struct as_builder *b, const char *name, uint32_t x)
{
    struct as_build_node node = {
        .op = "GlobalAveragePool", .name = name ? name : "global_avg_pool", AS_BUILD_IN(x)};
    struct as_dims dims;
    bool known = as_build_dims(b, x, &dims);

    for (int i = 2; i < dims.rank; i++)
        dims.at[i] = 1;
    return as_build_one(b, &node, known ? &dims : NULL);
}

uint32_t as_build_adaptive_avg_pool(struct as_builder *b, const char *name, uint32_t x,
                                    int64_t height, int64_t width)
{
    struct as_build_pool pool = {0};
    int64_t want[2] = {height, width};
    struct as_dims dims;

    name = name ? name : "adaptive_avg_pool";
    if (height == 1 && width == 1)
        return as_build_global_avg_pool(b, name, x);
    if (as_build_ok(b) && (!as_build_dims(b, x, &dims) || dims.rank != 4))
        as_build_fail(b, ASSAY_ERR_USAGE,
                      "'%.60s' needs an input of [batch, channels, height, width]", name);
    for (int i = 0; i < 2 && check_positive(b, name, "the size", want[i]); i++) {
        int64_t in = dims.at[2 + i];

        if (in < 0 || in % want[i])
            return as_build_fail(b, ASSAY_ERR_UNSUPPORTED,
                                 "'%.60s' needs a size that is a multiple of %lld", name,
                                 (long long)want[i]);
        pool.kernel[i] = in / want[i];
    }
    if (as_build_ok(b) && pool.kernel[0] == 1 && pool.kernel[1] == 1)
        return x;
    return pool_node(b, "AveragePool", name, x, &pool);
}

/* ---- norms ---- */

/* Not all ones and zeros: equal tensors would pass for one that is used twice. */
static const struct as_seeded gains = {AS_SEEDED_UNIFORM, 1, 0.1f};

struct as_seeded as_build_gain_numbers(void)
{
    return gains;
}
static const struct as_seeded shifts = {AS_SEEDED_UNIFORM, 0, 0.1f};

static int64_t channels_of(struct as_builder *b, const char *name, uint32_t x, struct as_dims *dims)
{
    bool known = as_build_dims(b, x, dims);

    if (as_build_ok(b) && (!known || dims->rank < 2 || dims->at[1] < 1)) {
        as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs an input of [batch, channels, ...]", name);
        return -1;
    }
    return as_build_ok(b) ? dims->at[1] : -1;
}

uint32_t as_build_batch_norm(struct as_builder *b, const char *name, uint32_t x, double eps)
{
    struct as_dims dims, one = {.rank = 1};

    name = name ? name : "batch_norm";
    one.at[0] = channels_of(b, name, x, &dims);
    if (!as_build_ok(b))
        return AS_NONE;
    {
        struct as_build_node node = {
            .op = "BatchNormalization",
            .name = name,
            AS_BUILD_IN(x, param(b, name, "weight", &one, &gains),
                        param(b, name, "bias", &one, &shifts),
                        param(b, name, "running_mean", &one, &shifts),
                        param(b, name, "running_var", &one, &gains)),
            AS_BUILD_ATTR(as_attr_of_float("epsilon", eps)),
        };

        return as_build_one(b, &node, &dims);
    }
}

uint32_t as_build_layer_norm(struct as_builder *b, const char *name, uint32_t x, double eps)
{
    struct as_dims dims, one = {.rank = 1};

    name = name ? name : "layer_norm";
    one.at[0] = last_dim(b, name, x, &dims);
    if (!as_build_ok(b))
        return AS_NONE;
    {
        struct as_build_node node = {
            .op = "LayerNormalization",
            .name = name,
            AS_BUILD_IN(x, param(b, name, "weight", &one, &gains),
                        param(b, name, "bias", &one, &shifts)),
            AS_BUILD_ATTR(as_attr_of_int("axis", -1), as_attr_of_float("epsilon", eps)),
        };

        return as_build_one(b, &node, &dims);
    }
}

uint32_t as_build_rms_norm(struct as_builder *b, const char *name, uint32_t x, double eps)
{
    struct as_dims dims, one = {.rank = 1};
    int64_t last = -1;
    uint32_t weight, y;

    name = name ? name : "rms_norm";
    one.at[0] = last_dim(b, name, x, &dims);
    weight = as_build_ok(b) ? param(b, name, "weight", &one, &gains) : AS_NONE;
    as_build_scope(b, "%s", name);
    y = as_build_binary(b, "Mul", "Mul_square", x, x);
    y = as_build_mean(b, "ReduceMean", y, &last, 1, true);
    y = as_build_binary(b, "Add", "Add", y, as_build_number(b, eps));
    y = as_build_unary(b, "Sqrt", "Sqrt", y);
    y = as_build_binary(b, "Div", "Div", x, y);
    y = as_build_binary(b, "Mul", "Mul", y, weight);
    as_build_scope_end(b);
    return y;
}

/* What is left of the last dimension when its mean is 0 and its variance 1. */
static uint32_t standardised(struct as_builder *b, uint32_t x, double eps)
{
    const int64_t last = -1;
    uint32_t y;

    x = as_build_binary(b, "Sub", "Sub", x, as_build_mean(b, "ReduceMean", x, &last, 1, true));
    y = as_build_binary(b, "Mul", "Mul_square", x, x);
    y = as_build_mean(b, "ReduceMean_square", y, &last, 1, true);
    y = as_build_binary(b, "Add", "Add_eps", y, as_build_number(b, eps));
    return as_build_binary(b, "Div", "Div", x, as_build_unary(b, "Sqrt", "Sqrt", y));
}

/* In single steps: the operator came later than the opset and was mended later still. */
uint32_t as_build_group_norm(struct as_builder *b, const char *name, uint32_t x, int64_t groups,
                             double eps)
{
    struct as_dims dims, side = {.rank = 0};
    int64_t channels, rows[3] = {0, groups, -1}, back[AS_MAX_RANK];
    uint32_t weight, bias, y;

    name = name ? name : "group_norm";
    channels = channels_of(b, name, x, &dims);
    if (!check_positive(b, name, "the groups", groups))
        return AS_NONE;
    if (channels % groups)
        return as_build_fail(b, ASSAY_ERR_USAGE,
                             "'%.60s' cannot divide %lld channels into %lld groups", name,
                             (long long)channels, (long long)groups);
    for (int i = 2; i < dims.rank; i++)
        if (dims.at[i] < 0)
            return as_build_fail(b, ASSAY_ERR_USAGE,
                                 "'%.60s' needs a height and width that are "
                                 "known",
                                 name);
    side.rank = dims.rank - 1;
    for (int i = 0; i < side.rank; i++)
        side.at[i] = i ? 1 : channels;
    weight = param(b, name, "weight", &side, &gains);
    bias = param(b, name, "bias", &side, &shifts);
    for (int i = 0; i < dims.rank; i++)
        back[i] = i ? dims.at[i] : -1;
    as_build_scope(b, "%s", name);
    y = as_build_reshape(b, "Reshape_groups", x, rows, 3);
    y = as_build_reshape(b, "Reshape_back", standardised(b, y, eps), back, (size_t)dims.rank);
    y = as_build_binary(b, "Mul", "Mul", y, weight);
    y = as_build_binary(b, "Add", "Add", y, bias);
    as_build_scope_end(b);
    return y;
}

/* ---- tables and steps ---- */

struct as_seeded as_build_table_numbers(void)
{
    return (struct as_seeded){AS_SEEDED_NORMAL, 0, 0.02f};
}

uint32_t as_build_embedding(struct as_builder *b, const char *name, uint32_t indices, int64_t rows,
                            int64_t width, uint32_t *weight)
{
    const struct as_seeded how = as_build_table_numbers();
    struct as_dims table = {2, {rows, width}};
    uint32_t made;

    name = name ? name : "embedding";
    check_positive(b, name, "the rows", rows);
    check_positive(b, name, "the width", width);
    made = as_build_ok(b) ? param(b, name, "weight", &table, &how) : AS_NONE;
    if (weight)
        *weight = made;
    return as_build_gather(b, name, made, indices, 0);
}

static uint32_t lstm_node(struct as_builder *b, const char *name, uint32_t x, int64_t in,
                          int64_t hidden, int64_t ways)
{
    const struct as_seeded how = uniform(1 / sqrt((double)hidden));
    struct as_dims w = {3, {ways, 4 * hidden, in}}, r = {3, {ways, 4 * hidden, hidden}},
                   bias = {2, {ways, 8 * hidden}};
    const char *way = ways == 2 ? "bidirectional" : "forward";
    struct as_build_node node = {
        .op = "LSTM",
        .name = name,
        AS_BUILD_IN(x, param(b, name, "weight", &w, &how), param(b, name, "recurrent", &r, &how),
                    param(b, name, "bias", &bias, &how)),
        AS_BUILD_ATTR(as_attr_of_int("hidden_size", hidden),
                      as_attr_of_text("direction", way, ways == 2 ? 13 : 7)),
    };
    struct as_dims dims, out;

    (void)as_build_dims(b, x, &dims);
    out = (struct as_dims){4, {dims.at[0], ways, dims.at[1], hidden}};
    return as_build_one(b, &node, &out);
}

uint32_t as_build_lstm(struct as_builder *b, const char *name, uint32_t x, int64_t hidden,
                       bool both_ways)
{
    static const int64_t steps_first[] = {1, 0, 2}, batch_first[] = {2, 0, 1, 3};
    const int64_t ways = both_ways ? 2 : 1, rows[3] = {0, 0, ways * hidden};
    struct as_dims dims;
    int64_t in;
    uint32_t y;

    name = name ? name : "lstm";
    in = last_dim(b, name, x, &dims);
    if (!check_positive(b, name, "the hidden size", hidden))
        return AS_NONE;
    if (dims.rank != 3)
        return as_build_fail(b, ASSAY_ERR_USAGE, "'%.60s' needs an input of [batch, steps, width]",
                             name);
    as_build_scope(b, "%s", name);
    y = as_build_transpose(b, "Transpose_in", x, steps_first, 3);
    as_build_scope_end(b);
    y = lstm_node(b, name, y, in, hidden, ways);
    as_build_scope(b, "%s", name);
    y = as_build_transpose(b, "Transpose_out", y, batch_first, 4);
    y = as_build_reshape(b, "Reshape", y, rows, 3);
    as_build_scope_end(b);
    return y;
}
