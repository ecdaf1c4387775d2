/* model/cost/cost_misc.c - counts of images resampled, signals transformed, classical models and
 * the steps of optimizers. */
#include "base/units.h"
#include "model/cost/cost_rules.h"

/* From 2^d neighbors: as many multiplications and one addition less; cubic: 4^d. */
static uint64_t blend(unsigned dims, bool cubic)
{
    return (uint64_t)2 * ((uint64_t)1 << (cubic ? 2 * dims : dims)) - 1;
}

void as_cost_resize(struct as_cost_ctx *ctx)
{
    struct as_dims in, out;
    unsigned changed = 0;
    bool cubic = as_cost_attr_is(ctx, "mode", "cubic");
    bool linear =
        as_cost_attr_is(ctx, "mode", "linear") || as_cost_attr_is(ctx, "mode", "bilinear");

    if (!as_cost_in_dims(ctx, 0, &in) || !as_cost_out_dims(ctx, 0, &out) || in.rank != out.rank) {
        ctx->unknown = true;
        return;
    }
    if (!cubic && !linear)
        return;
    for (int i = 0; i < in.rank; i++)
        changed += in.at[i] != out.at[i];
    if (changed == 0)
        return;
    changed = changed > 8 ? 8 : changed;
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0), blend(changed, cubic));
    as_count_each(&ctx->backward->elementwise, as_cost_out(ctx, 0), blend(changed, cubic));
}

/* Each coordinate is scaled and split: 4 operations. */
void as_cost_grid_sample(struct as_cost_ctx *ctx)
{
    struct as_dims x;
    uint64_t n = as_cost_out(ctx, 0), each = 0;
    bool cubic = as_cost_attr_is(ctx, "mode", "bicubic") || as_cost_attr_is(ctx, "mode", "cubic");

    if (!as_cost_in_dims(ctx, 0, &x) || x.rank < 3 || x.rank > 10) {
        ctx->unknown = true;
        return;
    }
    if (!as_cost_attr_is(ctx, "mode", "nearest"))
        each = blend((unsigned)x.rank - 2, cubic);
    as_count_each(&ctx->forward->elementwise, n, each);
    as_count_each(&ctx->forward->elementwise, as_cost_in(ctx, 1), 4);
    as_count_each(&ctx->backward->elementwise, n, 2 * each);
}

/* d multiplications and d additions a coordinate. */
void as_cost_affine_grid(struct as_cost_ctx *ctx)
{
    struct as_dims theta;

    if (!as_cost_in_dims(ctx, 0, &theta) || theta.rank != 3) {
        ctx->unknown = true;
        return;
    }
    as_count_each(&ctx->forward->elementwise, as_cost_out(ctx, 0),
                  as_sat_mul(2, (uint64_t)theta.at[1]));
}

/* With a ratio of 0 the number of samples goes by the data. */
void as_cost_roi_align(struct as_cost_ctx *ctx)
{
    int64_t ratio = as_node_int(ctx->node, "sampling_ratio", 0);
    uint64_t n = as_cost_out(ctx, 0), samples;

    if (ratio <= 0 || ratio > 65536) {
        ctx->unknown = true;
        return;
    }
    samples = (uint64_t)ratio * (uint64_t)ratio;
    as_count_each(&ctx->forward->elementwise, n, samples * 8 + 1);
    as_count_each(&ctx->backward->elementwise, n, samples * 8);
}

/* The usual figure of a fast transform of n points: 5 n log2 n, the logarithm rounded up. */
static uint64_t transform(uint64_t n)
{
    return as_sat_mul(as_sat_mul(5, n), as_log2_up(n));
}

void as_cost_dft(struct as_cost_ctx *ctx)
{
    double length = 0, given = 0;
    struct as_dims x;
    int64_t axis;
    uint64_t n, rows;

    if (!as_cost_in_dims(ctx, 0, &x) || x.rank < 2) {
        ctx->unknown = true;
        return;
    }
    axis = as_node_int(ctx->node, "axis", ctx->opset >= 20 ? -2 : 1);
    if (as_cost_number(ctx, 2, &given))
        axis = (int64_t)given;
    axis = axis < 0 ? axis + x.rank : axis;
    if (axis < 0 || axis >= x.rank - 1) {
        ctx->unknown = true;
        return;
    }
    rows = x.at[axis] ? as_cost_volume(&x, 0, x.rank - 1) / (uint64_t)x.at[axis] : 0;
    n = (uint64_t)x.at[axis];
    if (as_cost_has(ctx, 1)) {
        if (!as_cost_number(ctx, 1, &length) || length < 0 || length > 1e15) {
            ctx->unknown = true;
            return;
        }
        n = (uint64_t)length;
    }
    as_count_each(&ctx->forward->elementwise, rows, transform(n));
    as_count_each(&ctx->backward->elementwise, rows, transform(n));
}

/* signal [batch, length, ...], step, window, frame length -> [batch, frames, bins, 2] */
void as_cost_stft(struct as_cost_ctx *ctx)
{
    double length = 0;
    struct as_dims window, y;
    uint64_t n, frames;

    if (as_cost_has(ctx, 3) && as_cost_number(ctx, 3, &length) && length > 0 && length < 1e15)
        n = (uint64_t)length;
    else if (as_cost_has(ctx, 2) && as_cost_in_dims(ctx, 2, &window) && window.rank == 1)
        n = (uint64_t)window.at[0];
    else {
        ctx->unknown = true;
        return;
    }
    if (!as_cost_out_dims(ctx, 0, &y))
        return;
    frames = as_cost_volume(&y, 0, 2);
    as_count_each(&ctx->forward->elementwise, frames,
                  as_sat_add(transform(n), as_cost_has(ctx, 2) ? n : 0));
}

void as_cost_tfl_rfft(struct as_cost_ctx *ctx)
{
    struct as_dims x;
    uint64_t h, w;

    if (!as_cost_in_dims(ctx, 0, &x) || x.rank < 2) {
        ctx->unknown = true;
        return;
    }
    h = (uint64_t)x.at[x.rank - 2];
    w = (uint64_t)x.at[x.rank - 1];
    as_count_each(&ctx->forward->elementwise, as_cost_volume(&x, 0, x.rank - 2),
                  as_sat_add(as_sat_mul(h, transform(w)), as_sat_mul(w, transform(h))));
}

/* ---- ai.onnx.ml ---- */

static uint64_t rows_of_input(struct as_cost_ctx *ctx)
{
    struct as_dims x;

    if (!as_cost_in_dims(ctx, 0, &x))
        return 0;
    return x.rank > 1 ? (uint64_t)x.at[0] : 1;
}

static uint64_t floats_in(const struct as_cost_ctx *ctx, const char *name)
{
    const struct as_attr *attr = as_node_attr(ctx->node, name);

    return attr && attr->kind == AS_ATTR_FLOATS ? attr->n : 0;
}

void as_cost_linear_model(struct as_cost_ctx *ctx)
{
    uint64_t rows = rows_of_input(ctx);

    as_count_each(&ctx->forward->macs, rows, floats_in(ctx, "coefficients"));
    as_count_each(&ctx->forward->elementwise, rows, floats_in(ctx, "intercepts"));
}

/* The kernel of every support vector, then their weighted sum. */
void as_cost_svm(struct as_cost_ctx *ctx)
{
    uint64_t rows = rows_of_input(ctx), weights = floats_in(ctx, "coefficients");

    as_count_each(&ctx->forward->macs, rows,
                  as_sat_add(floats_in(ctx, "support_vectors"), weights));
    if (!as_cost_attr_is(ctx, "kernel_type", "LINEAR"))
        as_count_each(&ctx->forward->transcendental, rows, weights);
}

/* ---- training ---- */

/* rate, step, then as many tensors of each kind (parameters, gradients, states) */
void as_cost_optimizer(struct as_cost_ctx *ctx)
{
    static const struct {
        enum as_op op;
        uint8_t kinds, elementwise, transcendental;
    } steps[] = {
        {AS_OP_TRAIN_Adagrad, 3, 8, 1},
        {AS_OP_TRAIN_Adam, 4, 13, 1},
        {AS_OP_TRAIN_Momentum, 3, 7, 0},
    };

    for (size_t s = 0; s < AS_COUNT_OF(steps); s++) {
        uint64_t n = 0;
        size_t tensors;

        if (steps[s].op != ctx->node->op)
            continue;
        tensors = ctx->node->n_inputs > 2 ? (ctx->node->n_inputs - 2) / steps[s].kinds : 0;
        for (size_t i = 0; i < tensors; i++)
            n = as_sat_add(n, as_cost_in(ctx, 2 + i));
        as_count_each(&ctx->forward->elementwise, n, steps[s].elementwise);
        as_count_each(&ctx->forward->transcendental, n, steps[s].transcendental);
    }
}
