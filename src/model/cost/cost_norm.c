/* model/cost/cost_norm.c - counts of softmax, normalizations, pools and losses.
 * The figures are those of the plain formulas, each operation written down once. */
#include "model/cost/cost_rules.h"

/* Maximum n - 1, subtract n, exp n, sum n, divide n in each row. */
void as_cost_softmax_of(struct as_cost_ctx *ctx, uint64_t n, uint64_t rows)
{
    as_count(&ctx->forward->elementwise, as_sat_sub(as_sat_mul(n, 4), rows));
    as_count(&ctx->forward->transcendental, n);
    as_count_each(&ctx->backward->elementwise, n, 4);
}

/* The rows a softmax works on: before opset 13 everything from the axis on is one row. */
static bool softmax_rows(struct as_cost_ctx *ctx, uint64_t *n, uint64_t *rows)
{
    bool coerces =
        as_op_domain(ctx->node->op) == AS_DOMAIN_ONNX && ctx->opset > 0 && ctx->opset < 13;
    struct as_dims dims;
    int axis;

    if (!as_cost_in_dims(ctx, 0, &dims))
        return false;
    *n = as_cost_in(ctx, 0);
    *rows = 1;
    if (dims.rank == 0)
        return true;
    axis = as_cost_axis(ctx, "axis", coerces && dims.rank > 1 ? 1 : -1, dims.rank);
    if (axis < 0)
        return false;
    if (coerces)
        *rows = as_cost_volume(&dims, 0, axis);
    else
        *rows = dims.at[axis] ? *n / (uint64_t)dims.at[axis] : 0;
    return true;
}

void as_cost_softmax(struct as_cost_ctx *ctx)
{
    bool logs = ctx->node->op == AS_OP_LogSoftmax;
    uint64_t n, rows;

    if (!softmax_rows(ctx, &n, &rows))
        return;
    if (!logs) {
        as_cost_softmax_of(ctx, n, rows);
        return;
    }
    as_count(&ctx->forward->elementwise, as_sat_sub(as_sat_mul(n, 4), rows));
    as_count(&ctx->forward->transcendental, as_sat_add(n, rows));
    as_count_each(&ctx->backward->elementwise, n, 3);
    as_count(&ctx->backward->transcendental, n);
}

void as_cost_bias_softmax(struct as_cost_ctx *ctx)
{
    uint64_t n, rows;

    if (!softmax_rows(ctx, &n, &rows))
        return;
    as_cost_bias(ctx, 1, n);
    as_cost_softmax_of(ctx, n, rows);
}

void as_cost_hardmax(struct as_cost_ctx *ctx)
{
    uint64_t n, rows;

    if (softmax_rows(ctx, &n, &rows))
        as_count(&ctx->forward->elementwise, as_sat_sub(n, rows));
}

/* Mean: n + 1 a row; subtract n; variance: square n, sum n, divide 1; add epsilon 1, square root 1,
 * reciprocal 1; multiply n; scale n; shift n. Without the mean: no first two. */
void as_cost_norm_of(struct as_cost_ctx *ctx, uint64_t n, uint64_t rows, bool centered, bool scaled,
                     bool shifted)
{
    unsigned each = 3U + (centered ? 2U : 0U) + (scaled ? 1U : 0U) + (shifted ? 1U : 0U);

    as_count_each(&ctx->forward->elementwise, n, each);
    as_count_each(&ctx->forward->elementwise, rows, centered ? 4 : 3);
    as_count(&ctx->forward->transcendental, rows);
    as_count_each(&ctx->backward->elementwise, n, centered ? 9 : 7);
}

void as_cost_batch_norm(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_out(ctx, 0), channels = as_cost_in(ctx, 1);

    if (as_node_int(ctx->node, "training_mode", 0) != 0) {
        as_cost_norm_of(ctx, n, channels, true, true, true);
        as_count_each(&ctx->forward->elementwise, channels, 6); /* the running mean and variance */
        return;
    }
    /* Scale and shift of a channel are made once: add, divide, multiply, subtract, square root. */
    as_count_each(&ctx->forward->elementwise, n, 2);
    as_count_each(&ctx->forward->elementwise, channels, 4);
    as_count(&ctx->forward->transcendental, channels);
    as_count_each(&ctx->backward->elementwise, n, 9);
}

static void norm_from_axis(struct as_cost_ctx *ctx, bool centered, size_t shift)
{
    struct as_dims dims;
    int axis;

    if (!as_cost_in_dims(ctx, 0, &dims) || dims.rank == 0) {
        ctx->unknown = true;
        return;
    }
    axis = as_cost_axis(ctx, "axis", -1, dims.rank);
    if (axis >= 0)
        as_cost_norm_of(ctx, as_cost_in(ctx, 0), as_cost_volume(&dims, 0, axis), centered,
                        as_cost_has(ctx, 1), shift && as_cost_has(ctx, shift));
}

void as_cost_layer_norm(struct as_cost_ctx *ctx)
{
    norm_from_axis(ctx, true, 2);
}

void as_cost_rms_norm(struct as_cost_ctx *ctx)
{
    norm_from_axis(ctx, false, 0);
}

/* input, skip, gamma[, beta], bias: the sum is normalized along the last axis. */
static void skip_norm(struct as_cost_ctx *ctx, bool centered)
{
    struct as_dims dims;
    uint64_t n = as_cost_in(ctx, 0);

    if (!as_cost_in_dims(ctx, 0, &dims) || dims.rank == 0) {
        ctx->unknown = true;
        return;
    }
    as_count(&ctx->forward->elementwise, n);
    as_cost_bias(ctx, centered ? 4 : 3, n);
    as_cost_norm_of(ctx, n, as_cost_volume(&dims, 0, dims.rank - 1), centered, true,
                    centered && as_cost_has(ctx, 3));
}

void as_cost_skip_norm(struct as_cost_ctx *ctx)
{
    skip_norm(ctx, true);
}

void as_cost_skip_rms_norm(struct as_cost_ctx *ctx)
{
    skip_norm(ctx, false);
}

static uint64_t value_bytes(struct as_cost_ctx *ctx, const struct as_value *value)
{
    uint64_t bytes = 0;

    if (value && !as_type_bytes(&value->type, &bytes))
        ctx->unknown = true;
    return bytes;
}

/* Words, positions and, when given, segments are looked up, summed and normalized. Reads a row of
 * each table for each token. */
void as_cost_embed_norm(struct as_cost_ctx *ctx)
{
    struct as_dims dims;
    uint64_t n = as_cost_out(ctx, 0), rows, tables = as_cost_has(ctx, 1) ? 3 : 2;

    if (!as_cost_out_dims(ctx, 0, &dims) || dims.rank < 2) {
        ctx->unknown = true;
        return;
    }
    rows = as_cost_volume(&dims, 0, dims.rank - 1);
    as_count_each(&ctx->forward->elementwise, n, tables - 1);
    as_cost_norm_of(ctx, n, rows, true, true, true);
    ctx->bytes_set = true;
    for (size_t i = 0; i < ctx->node->n_inputs; i++) {
        const struct as_value *value = as_node_input(ctx->graph, ctx->node, i);
        uint64_t bytes = value_bytes(ctx, value);

        if (value && i >= 2 && i <= 4) {
            uint64_t row = 0;

            (void)as_dtype_bytes(value->type.dtype, (uint64_t)dims.at[dims.rank - 1], &row);
            bytes = as_sat_mul(rows, row);
        }
        as_count(&ctx->forward->bytes_read, bytes);
    }
    for (size_t i = 0; i < ctx->node->n_outputs; i++)
        as_count(&ctx->forward->bytes_written,
                 value_bytes(ctx, as_node_output(ctx->graph, ctx->node, i)));
}

void as_cost_instance_norm(struct as_cost_ctx *ctx)
{
    struct as_dims dims;

    if (as_cost_in_dims(ctx, 0, &dims))
        as_cost_norm_of(ctx, as_cost_in(ctx, 0), as_cost_volume(&dims, 0, 2), true, true, true);
}

void as_cost_group_norm(struct as_cost_ctx *ctx)
{
    int64_t groups = as_node_int(ctx->node, "num_groups", as_node_int(ctx->node, "groups", 0));
    bool skips = ctx->node->op == AS_OP_MS_SkipGroupNorm;
    struct as_dims dims;
    uint64_t n;

    if (!as_cost_in_dims(ctx, 0, &dims) || groups <= 0 || dims.rank == 0) {
        ctx->unknown = true;
        return;
    }
    n = as_cost_in(ctx, 0);
    if (skips)
        as_count(&ctx->forward->elementwise, n);
    if (skips)
        as_cost_bias(ctx, 4, n);
    as_cost_norm_of(ctx, n, as_sat_mul((uint64_t)dims.at[0], (uint64_t)groups), true, true, true);
    if (as_node_int(ctx->node, "activation", 0) == 1) { /* x times its sigmoid */
        as_count_each(&ctx->forward->elementwise, n, 3);
        as_count(&ctx->forward->transcendental, n);
    }
}

void as_cost_mean_variance(struct as_cost_ctx *ctx)
{
    static const int64_t usual[] = {0, 2, 3};
    struct as_ints axes;
    struct as_dims dims;
    uint64_t n, row = 1;

    if (!as_cost_in_dims(ctx, 0, &dims))
        return;
    if (!as_node_ints(ctx->node, "axes", &axes))
        axes = (struct as_ints){3, usual};
    for (size_t i = 0; i < axes.n; i++) {
        int64_t axis = axes.at[i] < 0 ? axes.at[i] + dims.rank : axes.at[i];

        if (axis < 0 || axis >= dims.rank) {
            ctx->unknown = true;
            return;
        }
        row = as_sat_mul(row, (uint64_t)dims.at[axis]);
    }
    n = as_cost_in(ctx, 0);
    as_cost_norm_of(ctx, n, row ? n / row : 0, true, false, false);
}

/* Absolute value or square, sum, divide; and a square root a row. */
void as_cost_lp_norm(struct as_cost_ctx *ctx)
{
    struct as_dims dims;
    uint64_t n;
    int axis;

    if (!as_cost_in_dims(ctx, 0, &dims))
        return;
    n = as_cost_in(ctx, 0);
    axis = dims.rank ? as_cost_axis(ctx, "axis", -1, dims.rank) : 0;
    if (axis < 0)
        return;
    as_count_each(&ctx->forward->elementwise, n, 3);
    if (as_node_int(ctx->node, "p", 2) == 2 && dims.rank && dims.at[axis])
        as_count(&ctx->forward->transcendental, n / (uint64_t)dims.at[axis]);
    as_count_each(&ctx->backward->elementwise, n, 5);
}

static void lrn(struct as_cost_ctx *ctx, int64_t size)
{
    uint64_t n = as_cost_out(ctx, 0);

    if (size <= 0) {
        ctx->unknown = true;
        return;
    }
    /* square, sum of `size`, scale, add, power, divide */
    as_count_each(&ctx->forward->elementwise, n, as_sat_add((uint64_t)size, 4));
    as_count(&ctx->forward->transcendental, n);
    as_count_each(&ctx->backward->elementwise, n, as_sat_add((uint64_t)size, 6));
}

void as_cost_lrn(struct as_cost_ctx *ctx)
{
    lrn(ctx, as_node_int(ctx->node, "size", 0));
}

void as_cost_tfl_lrn(struct as_cost_ctx *ctx)
{
    int64_t radius = as_node_int(ctx->node, "radius", -1);

    lrn(ctx, radius < 0 || radius > INT64_MAX / 4 ? 0 : 2 * radius + 1);
}

enum pool_kind { POOL_AVERAGE, POOL_MAX, POOL_LP };

/* `out` windows of k numbers each; those cut by padding are counted whole. */
static void pool(struct as_cost_ctx *ctx, enum pool_kind kind, uint64_t out, uint64_t k, int64_t p)
{
    switch (kind) {
    case POOL_AVERAGE:
        as_count_each(&ctx->forward->elementwise, out, as_sat_add(k, 1));
        as_count_each(&ctx->backward->elementwise, out, as_sat_add(k, 1));
        break;
    case POOL_MAX:
        as_count_each(&ctx->forward->elementwise, out, as_sat_sub(k, 1));
        as_count(&ctx->backward->elementwise, out);
        break;
    case POOL_LP:
        as_count_each(&ctx->forward->elementwise, out, p == 1 || p == 2 ? as_sat_mul(k, 2) : k);
        if (p != 1)
            as_count_each(&ctx->forward->transcendental, out, p == 2 ? 1 : as_sat_add(k, 1));
        as_count_each(&ctx->backward->elementwise, out, as_sat_mul(k, 2));
        break;
    }
}

void as_cost_pool(struct as_cost_ctx *ctx)
{
    enum pool_kind kind = ctx->node->op == AS_OP_MaxPool  ? POOL_MAX
                          : ctx->node->op == AS_OP_LpPool ? POOL_LP
                                                          : POOL_AVERAGE;
    struct as_ints kernel;
    uint64_t k = 1;

    if (!as_node_ints(ctx->node, "kernel_shape", &kernel)) {
        ctx->unknown = true;
        return;
    }
    for (size_t i = 0; i < kernel.n; i++)
        k = as_sat_mul(k, kernel.at[i] > 0 ? (uint64_t)kernel.at[i] : 0);
    pool(ctx, kind, as_cost_out(ctx, 0), k, as_node_int(ctx->node, "p", 2));
    ctx->forward->padding_ops =
        as_cost_in_padding(ctx, false, AS_COST_NO_WEIGHT, as_sat_mul(as_cost_out(ctx, 0), k));
    as_cost_fused(ctx, as_cost_out(ctx, 0));
}

void as_cost_global_pool(struct as_cost_ctx *ctx)
{
    uint64_t in = as_cost_in(ctx, 0), out = as_cost_out(ctx, 0);

    if (out == 0)
        return;
    pool(ctx,
         ctx->node->op == AS_OP_GlobalMaxPool  ? POOL_MAX
         : ctx->node->op == AS_OP_GlobalLpPool ? POOL_LP
                                               : POOL_AVERAGE,
         out, in / out, as_node_int(ctx->node, "p", 2));
}

/* Of each target: negate, weigh when there are weights, add to the sum; and one division. */
static void loss(struct as_cost_ctx *ctx)
{
    uint64_t n = as_cost_in(ctx, 1);
    bool reduces = !as_cost_attr_is(ctx, "reduction", "none");

    as_count_each(&ctx->forward->elementwise, n,
                  1U + (as_cost_has(ctx, 2) ? 1U : 0U) + (reduces ? 1U : 0U));
    if (reduces && !as_cost_attr_is(ctx, "reduction", "sum"))
        as_count(&ctx->forward->elementwise, 1);
    as_count_each(&ctx->backward->elementwise, n, 2);
}

void as_cost_nll_loss(struct as_cost_ctx *ctx)
{
    loss(ctx);
}

void as_cost_cross_entropy(struct as_cost_ctx *ctx)
{
    struct as_dims dims;
    uint64_t n, rows;

    if (!as_cost_in_dims(ctx, 0, &dims) || dims.rank < 2) {
        ctx->unknown = true;
        return;
    }
    n = as_cost_in(ctx, 0);
    rows = dims.at[1] ? n / (uint64_t)dims.at[1] : 0;
    as_count(&ctx->forward->elementwise, as_sat_sub(as_sat_mul(n, 4), rows));
    as_count(&ctx->forward->transcendental, as_sat_add(n, rows));
    as_count_each(&ctx->backward->elementwise, n, 2);
    as_count(&ctx->backward->transcendental, n);
    loss(ctx);
}
