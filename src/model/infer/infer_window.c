/* model/infer/infer_window.c - windows that slide over spatial axes, as convolutions and pools do.
 * Attributes may hold anything; what can never work is a conflict that names it. */
#include "model/infer/infer_context.h"

/* Larger attributes are refused, so that sums and products below stay inside 64 bits. */
#define ATTR_MAX ((int64_t)1 << 30)

struct list_attr {
    const char *name;
    int64_t fallback, least;
};

/* `n` numbers of an attribute, each at least `least`. */
static int read_list(struct as_infer *ctx, const struct list_attr *attr, size_t n, int64_t *out)
{
    struct as_ints given;

    for (size_t i = 0; i < n; i++)
        out[i] = attr->fallback;
    if (!as_node_ints(ctx->node, attr->name, &given) || given.n == 0)
        return ASSAY_OK;
    if (given.n != n)
        return as_conflict(ctx, "%s has %zu numbers where %zu are needed", attr->name, given.n, n);
    for (size_t i = 0; i < n; i++) {
        if (given.at[i] < attr->least || given.at[i] > ATTR_MAX)
            return as_conflict(ctx, "%s holds %lld, which cannot be", attr->name,
                               (long long)given.at[i]);
        out[i] = given.at[i];
    }
    return ASSAY_OK;
}

int as_window_read(struct as_infer *ctx, int n, struct as_window *w)
{
    static const struct list_attr kernel = {"kernel_shape", AS_DIM_UNKNOWN, 1};
    static const struct list_attr stride = {"strides", 1, 1}, dilation = {"dilations", 1, 1};
    static const struct list_attr pad = {"pads", 0, -ATTR_MAX};
    int64_t pads[2 * AS_MAX_RANK];
    size_t count = (size_t)n;
    int rc;

    *w = (struct as_window){.n = n};
    w->ceil = as_node_int(ctx->node, "ceil_mode", 0) != 0;
    if (as_node_text_is(ctx->node, "auto_pad", "SAME_UPPER") ||
        as_node_text_is(ctx->node, "auto_pad", "SAME_LOWER"))
        w->pad = AS_PAD_SAME;
    else if (as_node_text_is(ctx->node, "auto_pad", "VALID"))
        w->pad = AS_PAD_VALID;
    rc = read_list(ctx, &kernel, count, w->kernel);
    if (rc == ASSAY_OK)
        rc = read_list(ctx, &stride, count, w->stride);
    if (rc == ASSAY_OK)
        rc = read_list(ctx, &dilation, count, w->dilation);
    if (rc < 0 || w->pad != AS_PAD_GIVEN)
        return rc;
    rc = read_list(ctx, &pad, 2 * count, pads);
    for (int i = 0; rc == ASSAY_OK && i < n; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[n + i];
    }
    return rc;
}

int as_window_kernel(struct as_infer *ctx, struct as_window *w, int i, int64_t size)
{
    if (size == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    if (size <= 0)
        return as_conflict(ctx, "the kernel is %lld long on spatial axis %d", (long long)size, i);
    if (w->kernel[i] != AS_DIM_UNKNOWN && w->kernel[i] != size)
        return as_conflict(ctx,
                           "kernel_shape is %lld on spatial axis %d, but the weights have %lld",
                           (long long)w->kernel[i], i, (long long)size);
    w->kernel[i] = size <= ATTR_MAX ? size : AS_DIM_UNKNOWN;
    return ASSAY_OK;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

int as_window_places(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                     int64_t *out)
{
    int64_t reach, capacity, padding;

    *out = AS_DIM_UNKNOWN;
    if (in == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    if (w->pad == AS_PAD_SAME) {
        *out = ceil_div(in, w->stride[i]);
        return ASSAY_OK;
    }
    if (w->kernel[i] == AS_DIM_UNKNOWN || in > INT64_MAX / 2)
        return ASSAY_OK;
    reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    padding = w->before[i] + w->after[i];
    capacity = in + padding - reach;
    if (capacity < 0 && !(w->ceil && capacity > -w->stride[i]))
        return as_conflict(ctx,
                           "a window of %lld does not fit into %lld with padding %lld on spatial "
                           "axis %d",
                           (long long)reach, (long long)in, (long long)padding, i);
    if (!w->ceil || w->pad == AS_PAD_VALID) {
        *out = capacity < 0 ? 0 : capacity / w->stride[i] + 1;
        return ASSAY_OK;
    }
    *out = (capacity < 0 ? 0 : ceil_div(capacity, w->stride[i])) + 1;
    /* The last window starts inside the input or the padding before it, else it is dropped. */
    if ((*out - 1) * w->stride[i] >= in + w->before[i])
        --*out;
    return ASSAY_OK;
}

int as_window_spread(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                     int64_t extra, int64_t *out)
{
    int64_t grown, rest;

    *out = AS_DIM_UNKNOWN;
    if (in == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    grown = as_dim_mul(in, w->stride[i]);
    if (w->pad == AS_PAD_SAME) {
        *out = grown;
        return ASSAY_OK;
    }
    if (w->kernel[i] == AS_DIM_UNKNOWN || grown == AS_DIM_UNKNOWN || in == 0) {
        *out = in == 0 ? 0 : AS_DIM_UNKNOWN;
        return ASSAY_OK;
    }
    rest = (w->kernel[i] - 1) * w->dilation[i] + 1 + extra - w->before[i] - w->after[i];
    if (grown - w->stride[i] + rest < 0)
        return as_conflict(ctx, "nothing would be left of spatial axis %d after padding", i);
    *out = grown - w->stride[i] + rest;
    return ASSAY_OK;
}

static int check_group(struct as_infer *ctx, int64_t *group)
{
    *group = as_node_int(ctx->node, "group", 1);
    if (*group < 1)
        return as_conflict(ctx, "group is %lld", (long long)*group);
    return ASSAY_OK;
}

static int check_conv_channels(struct as_infer *ctx, int64_t channels, const struct as_dims *w)
{
    int64_t group, needed;
    int rc = check_group(ctx, &group);

    if (rc < 0)
        return rc;
    if (w->at[0] != AS_DIM_UNKNOWN && w->at[0] % group != 0)
        return as_conflict(ctx, "%lld output channels cannot be split into %lld groups",
                           (long long)w->at[0], (long long)group);
    if (channels == AS_DIM_UNKNOWN || w->at[1] == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    needed = as_dim_mul(w->at[1], group);
    if (needed != channels)
        return as_conflict(ctx,
                           "the input has %lld channels, the weights are for %lld in %lld groups",
                           (long long)channels, (long long)needed, (long long)group);
    return ASSAY_OK;
}

/* Both ranks, or as much as one of them tells of the other. */
static int conv_ranks(struct as_infer *ctx, bool has_x, struct as_dims *x, bool has_w,
                      struct as_dims *w)
{
    const struct as_dims *known = has_x ? x : w;
    struct as_dims *other = has_x ? w : x;

    if (has_x && has_w && x->rank != w->rank)
        return as_conflict(ctx, "the input has %d dimensions, the weights %d", x->rank, w->rank);
    if (known->rank < 2)
        return as_conflict(ctx, "a tensor of %d dimensions has no channels", known->rank);
    if (has_x && has_w)
        return ASSAY_OK;
    other->rank = known->rank;
    for (int i = 0; i < other->rank; i++)
        other->at[i] = AS_DIM_UNKNOWN;
    return ASSAY_OK;
}

bool as_filter_turn(const struct as_node *node, const int64_t *dims, int rank, int64_t *out)
{
    bool deep = as_node_text_is(node, "filter_layout", "1HWO");
    bool last = as_node_text_is(node, "filter_layout", "DHWIO");

    if (rank < 3 || (deep && dims[0] != 1 && dims[0] != AS_DIM_UNKNOWN))
        return false;
    out[0] = dims[deep || last ? rank - 1 : 0];
    out[1] = deep ? 1 : dims[last ? rank - 2 : rank - 1];
    for (int i = 2; i < rank; i++)
        out[i] = dims[last ? i - 2 : i - 1];
    return true;
}

/* With filter_layout the number of groups follows from the channels. */
static int turn_filter(struct as_infer *ctx, int64_t channels, struct as_dims *w)
{
    struct as_dims from = *w;
    int64_t group;

    if (!as_filter_turn(ctx->node, from.at, from.rank, w->at))
        return as_conflict(ctx, "weights of %d dimensions", from.rank);
    if (channels == AS_DIM_UNKNOWN || w->at[1] == AS_DIM_UNKNOWN || w->at[0] == AS_DIM_UNKNOWN)
        return ASSAY_OK;
    group = w->at[1] > 0 && channels % w->at[1] == 0 ? channels / w->at[1] : 0;
    return group > 0 && w->at[0] % group == 0
               ? ASSAY_OK
               : as_conflict(ctx, "%lld channels do not go with weights from %lld to %lld",
                             (long long)channels, (long long)w->at[1], (long long)w->at[0]);
}

int as_infer_conv(struct as_infer *ctx, const struct as_conv_rule *conv)
{
    struct as_dims x, w, out;
    bool has_x = as_in_dims(ctx, conv->x, &x), has_w = as_in_dims(ctx, conv->w, &w);
    bool turned = as_node_extra(ctx->node, "filter_layout") != NULL;
    struct as_window window;
    int first, rc;

    if (!has_x && !has_w)
        return as_out_tensor(ctx, 0, conv->dtype, NULL);
    rc = conv_ranks(ctx, has_x, &x, has_w, &w);
    if (rc < 0)
        return rc;
    first = conv->channels_last ? 1 : 2;
    rc = turned ? turn_filter(ctx, x.at[x.rank - 1], &w)
                : check_conv_channels(ctx, x.at[conv->channels_last ? x.rank - 1 : 1], &w);
    if (rc == ASSAY_OK)
        rc = as_window_read(ctx, x.rank - 2, &window);
    out.rank = x.rank;
    out.at[0] = x.at[0];
    out.at[conv->channels_last ? x.rank - 1 : 1] = w.at[0];
    for (int i = 0; rc == ASSAY_OK && i < x.rank - 2; i++) {
        rc = as_window_kernel(ctx, &window, i, w.at[2 + i]);
        if (rc == ASSAY_OK)
            rc = as_window_places(ctx, &window, i, x.at[first + i], &out.at[first + i]);
    }
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, conv->dtype, &out) : rc;
}

/* output_shape names the spatial axes, in some files all axes; the last ones count. */
static int spread_axes(struct as_infer *ctx, struct as_window *window, const struct as_dims *x,
                       const struct as_dims *w, struct as_dims *out)
{
    static const struct list_attr padding = {"output_padding", 0, 0};
    struct as_ints shape;
    int64_t extra[AS_MAX_RANK];
    bool said = as_node_ints(ctx->node, "output_shape", &shape) && shape.n > 0;
    size_t skip;
    int rc = read_list(ctx, &padding, (size_t)window->n, extra);

    if (rc == ASSAY_OK && said && shape.n != (size_t)window->n && shape.n != (size_t)x->rank)
        rc = as_conflict(ctx, "output_shape has %zu numbers where %d are needed", shape.n,
                         window->n);
    skip = said ? shape.n - (size_t)window->n : 0;
    for (int i = 0; rc == ASSAY_OK && i < window->n; i++) {
        rc = as_window_kernel(ctx, window, i, w->at[2 + i]);
        if (rc < 0)
            break;
        if (said) {
            out->at[2 + i] = shape.at[skip + (size_t)i];
            if (out->at[2 + i] < 0)
                rc = as_conflict(ctx, "output_shape holds %lld", (long long)out->at[2 + i]);
        } else {
            rc = as_window_spread(ctx, window, i, x->at[2 + i], extra[i], &out->at[2 + i]);
        }
    }
    return rc;
}

static int take_pads(struct as_infer *ctx, struct as_window *window, const struct as_ints *pads)
{
    if (pads->n != 2 * (size_t)window->n)
        return as_conflict(ctx, "pads has %zu numbers where %d are needed", pads->n, 2 * window->n);
    for (int i = 0; i < window->n; i++) {
        window->before[i] = pads->at[i];
        window->after[i] = pads->at[window->n + i];
        if (window->before[i] < 0 || window->before[i] > ATTR_MAX || window->after[i] < 0 ||
            window->after[i] > ATTR_MAX)
            window->kernel[i] = AS_DIM_UNKNOWN;
    }
    return ASSAY_OK;
}

int as_infer_conv_transpose(struct as_infer *ctx, const struct as_ints *pads)
{
    struct as_dims x, w, out;
    bool has_x = as_in_dims(ctx, 0, &x), has_w = as_in_dims(ctx, 1, &w);
    unsigned dtype = as_in_dtype(ctx, 0);
    struct as_window window;
    int64_t group = 1;
    int rc;

    if (!has_x && !has_w)
        return as_out_tensor(ctx, 0, dtype, NULL);
    rc = conv_ranks(ctx, has_x, &x, has_w, &w);
    if (rc == ASSAY_OK)
        rc = check_group(ctx, &group);
    if (rc < 0)
        return rc;
    if (x.at[1] != AS_DIM_UNKNOWN && w.at[0] != AS_DIM_UNKNOWN && x.at[1] != w.at[0])
        return as_conflict(ctx, "the input has %lld channels, the weights are for %lld",
                           (long long)x.at[1], (long long)w.at[0]);
    if (x.at[1] != AS_DIM_UNKNOWN && x.at[1] % group != 0)
        return as_conflict(ctx, "%lld channels cannot be split into %lld groups",
                           (long long)x.at[1], (long long)group);
    out = x;
    out.at[1] = as_dim_mul(w.at[1], group);
    rc = as_window_read(ctx, x.rank - 2, &window);
    if (rc == ASSAY_OK && pads)
        rc = take_pads(ctx, &window, pads);
    if (rc == ASSAY_OK)
        rc = spread_axes(ctx, &window, &x, &w, &out);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, dtype, &out) : rc;
}

int as_infer_pool(struct as_infer *ctx, bool channels_last)
{
    struct as_dims x;
    struct as_window window;
    int first = channels_last ? 1 : 2, rc;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank < 2)
        return as_conflict(ctx, "a tensor of %d dimensions has no channels", x.rank);
    rc = as_window_read(ctx, x.rank - 2, &window);
    if (rc == ASSAY_OK && x.rank > 2 && window.kernel[0] == AS_DIM_UNKNOWN)
        rc = as_conflict(ctx, "kernel_shape is missing");
    for (int i = 0; rc == ASSAY_OK && i < window.n; i++)
        rc = as_window_places(ctx, &window, i, x.at[first + i], &x.at[first + i]);
    return rc == ASSAY_OK ? as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x) : rc;
}

int as_infer_global_pool(struct as_infer *ctx, bool channels_last)
{
    struct as_dims x;
    int first = channels_last ? 1 : 2;

    if (!as_in_dims(ctx, 0, &x))
        return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), NULL);
    if (x.rank < 2)
        return as_conflict(ctx, "a tensor of %d dimensions has no channels", x.rank);
    for (int i = first; i < first + x.rank - 2; i++)
        x.at[i] = 1;
    return as_out_tensor(ctx, 0, as_in_dtype(ctx, 0), &x);
}
