/* model/cost/cost_window.c - how much of what a sliding window counts lies in the padding.
 * Kernels skip that part, so rates are of the rest. Axes are independent of each other: along each
 * one, pairs of a place of the window and a tap of the kernel are counted that meet an element. */
#include "model/cost/cost_rules.h"
#include "model/infer/infer_context.h"

/* Attributes beyond this are not of a window that runs; nothing of it is taken for padding then. */
#define LONGEST ((int64_t)1 << 30)
/* Taps or places along one axis that are gone through one by one. */
#define MAX_STEPS ((int64_t)1 << 20)

/* One axis: the window has `places`, `taps` at each; tap k of place i meets element
 * i x stride - before + k x dilation of `size`. */
struct axis {
    int64_t places, size, taps, stride, dilation, before;
};

/* i with 0 <= i x step + at < size, of `n`. */
static uint64_t count_inside(int64_t n, int64_t step, int64_t at, int64_t size)
{
    int64_t first = at >= 0 ? 0 : (-at + step - 1) / step;
    int64_t last = at >= size ? -1 : (size - 1 - at) / step;

    if (last > n - 1)
        last = n - 1;
    return last >= first ? (uint64_t)(last - first + 1) : 0;
}

static uint64_t pairs_inside(const struct axis *a)
{
    bool by_taps = a->taps <= a->places;
    int64_t n = by_taps ? a->taps : a->places;
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += by_taps ? count_inside(a->places, a->stride, i * a->dilation - a->before, a->size)
                       : count_inside(a->taps, a->dilation, i * a->stride - a->before, a->size);
    return sum;
}

static bool is_plain(const struct axis *a)
{
    return a->places > 0 && a->places < LONGEST && a->size > 0 && a->size < LONGEST &&
           a->taps > 0 && a->taps < LONGEST && a->stride > 0 && a->stride < LONGEST &&
           a->dilation > 0 && a->dilation < LONGEST && a->before > -LONGEST &&
           a->before < LONGEST && (a->taps < a->places ? a->taps : a->places) <= MAX_STEPS;
}

static int64_t at_or(const struct as_ints *list, size_t i, int64_t otherwise)
{
    return i < list->n ? list->at[i] : otherwise;
}

/* Padding that follows from the sizes; of an odd number SAME_UPPER has one more after the axis. */
static int64_t before_by_size(const struct as_cost_ctx *ctx, const struct axis *a, int64_t extra)
{
    int64_t reach = (a->taps - 1) * a->dilation + 1;
    int64_t all = (a->places - 1) * a->stride + reach + extra - a->size;

    if (all < 0)
        all = 0;
    return as_cost_attr_is(ctx, "auto_pad", "SAME_UPPER") ? all / 2 : all - all / 2;
}

static bool is_channels_last(const struct as_node *node)
{
    return as_node_extra(node, "filter_layout") || node->op == AS_OP_MS_NhwcConv ||
           as_node_int(node, "channels_last", 0) != 0;
}

/* Taps along each spatial axis: of the weights, or of kernel_shape. */
static bool read_taps(struct as_cost_ctx *ctx, size_t weight, int n, int64_t *taps)
{
    struct as_dims dims, turned;
    struct as_ints kernel;

    if (weight == AS_COST_NO_WEIGHT) {
        if (!as_node_ints(ctx->node, "kernel_shape", &kernel) || kernel.n != (size_t)n)
            return false;
        for (int i = 0; i < n; i++)
            taps[i] = kernel.at[i];
        return true;
    }
    if (!as_cost_in_dims(ctx, weight, &dims) || dims.rank != n + 2)
        return false;
    turned = dims;
    if (as_node_extra(ctx->node, "filter_layout") &&
        !as_filter_turn(ctx->node, dims.at, dims.rank, turned.at))
        return false;
    for (int i = 0; i < n; i++)
        taps[i] = turned.at[i + 2];
    return true;
}

/* `counted` of the pairs of one axis after the other; what of it is outside. UINT64_MAX as a sum
 * that no longer is one stays out of it. */
static uint64_t outside(uint64_t counted, const struct axis *axes, int n)
{
    uint64_t all = 1, inside = 1;

    for (int i = 0; i < n; i++) {
        all = as_sat_mul(all, as_sat_mul((uint64_t)axes[i].places, (uint64_t)axes[i].taps));
        inside = as_sat_mul(inside, pairs_inside(&axes[i]));
    }
    if (all == UINT64_MAX || counted == UINT64_MAX || counted % all != 0)
        return 0;
    return counted - counted / all * inside;
}

uint64_t as_cost_in_padding(struct as_cost_ctx *ctx, bool spreads, size_t weight, uint64_t counted)
{
    struct as_ints stride, dilation, pads, extra, shape;
    struct as_dims x, y;
    struct axis axes[AS_MAX_RANK];
    int64_t taps[AS_MAX_RANK];
    bool valid = as_cost_attr_is(ctx, "auto_pad", "VALID");
    bool by_size =
        as_cost_attr_is(ctx, "auto_pad", "SAME_UPPER") ||
        as_cost_attr_is(ctx, "auto_pad", "SAME_LOWER") ||
        (spreads && !valid && as_node_ints(ctx->node, "output_shape", &shape) && shape.n > 0);
    int first = is_channels_last(ctx->node) ? 1 : 2, n;

    if (counted == 0 || !as_cost_in_dims(ctx, 0, &x) || !as_cost_out_dims(ctx, 0, &y) ||
        x.rank != y.rank || x.rank < 3)
        return 0;
    n = x.rank - 2;
    if (!read_taps(ctx, weight, n, taps))
        return 0;
    as_node_ints(ctx->node, "strides", &stride);
    as_node_ints(ctx->node, "dilations", &dilation);
    as_node_ints(ctx->node, "pads", &pads);
    as_node_ints(ctx->node, "output_padding", &extra);
    for (int i = 0; i < n; i++) {
        int64_t in = x.at[first + i], out = y.at[first + i];

        axes[i] = (struct axis){.places = spreads ? in : out,
                                .size = spreads ? out : in,
                                .taps = taps[i],
                                .stride = at_or(&stride, (size_t)i, 1),
                                .dilation = at_or(&dilation, (size_t)i, 1),
                                .before = valid ? 0 : at_or(&pads, (size_t)i, 0)};
        if (!is_plain(&axes[i]))
            return 0;
        if (by_size)
            axes[i].before =
                before_by_size(ctx, &axes[i], spreads ? at_or(&extra, (size_t)i, 0) : 0);
    }
    return outside(counted, axes, n);
}
