/* model/infer/infer_window.h - windows that slide over spatial axes, as convolutions and pools do.
 * Attributes may hold anything; what can never work is a conflict that names it. */
#ifndef AS_MODEL_INFER_INFER_WINDOW_H
#define AS_MODEL_INFER_INFER_WINDOW_H

#include "model/infer/infer_context.h"

enum as_pad_way { AS_PAD_GIVEN, AS_PAD_SAME, AS_PAD_VALID };

struct as_window {
    int n; /* spatial axes */
    enum as_pad_way pad;
    bool ceil;
    int64_t kernel[AS_MAX_RANK], stride[AS_MAX_RANK], dilation[AS_MAX_RANK];
    int64_t before[AS_MAX_RANK], after[AS_MAX_RANK];
};

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for `n` axes; a kernel that
 * is not given is AS_DIM_UNKNOWN. */
AS_MUST_USE int as_window_read(struct as_infer *ctx, int n, struct as_window *w);

/* Takes the kernel of axis `i` from a weight; a conflict when kernel_shape says another. */
AS_MUST_USE int as_window_kernel(struct as_infer *ctx, struct as_window *w, int i, int64_t size);

/* How many places the window has along axis `i` of length `in`. */
AS_MUST_USE int as_window_places(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                                 int64_t *out);

/* How long axis `i` becomes when the window spreads what it covers, as in ConvTranspose. */
AS_MUST_USE int as_window_spread(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                                 int64_t extra, int64_t *out);

/* A convolution of input `x` with weights `w` [M, C/group, k...]; sets output 0. */
struct as_conv_rule {
    size_t x, w;
    unsigned dtype;
    bool channels_last; /* of x and the output; of the weights by as_filter_turn() */
};

/* Dimensions of weights in the order of attribute filter_layout, which TensorFlow Lite's have, as
 * [M, C/group, k...]: "OHWI", "1HWO" of one channel a group, "DHWIO". False: they cannot be. */
AS_MUST_USE bool as_filter_turn(const struct as_node *node, const int64_t *dims, int rank,
                                int64_t *out);
AS_MUST_USE int as_infer_conv(struct as_infer *ctx, const struct as_conv_rule *conv);

/* A transposed one, weights [C, M/group, k...]; `pads` NULL: those of the attribute. */
AS_MUST_USE int as_infer_conv_transpose(struct as_infer *ctx, const struct as_ints *pads);

/* A pool of input 0 by kernel_shape; sets output 0. */
AS_MUST_USE int as_infer_pool(struct as_infer *ctx, bool channels_last);
/* All spatial axes to 1. */
AS_MUST_USE int as_infer_global_pool(struct as_infer *ctx, bool channels_last);

#endif
