/* engine/kernels/conv/kern_conv.h - convolutions for the operators that are one under another name.
 * All of f32; dimensions are checked here. */
#ifndef AS_ENGINE_KERNELS_CONV_KERN_CONV_H
#define AS_ENGINE_KERNELS_CONV_KERN_CONV_H

#include "engine/kernels/conv/kern_window.h"

/* Channels first, weights [M, C/group, k...], bias [M] or NULL. */
struct as_conv {
    const struct as_val *x, *w, *bias;
    struct as_val *out;
};
AS_MUST_USE int as_kernel_conv(struct as_kernel_ctx *k, const struct as_conv *conv);
AS_MUST_USE int as_kernel_conv_transpose(struct as_kernel_ctx *k, const struct as_conv *conv);

/* Channels last: x is [batch, in..., group * channels], weights [group * m, kernel..., channels].
 */
struct as_conv_last {
    struct as_slide slide;
    const float *x, *w, *bias; /* bias may be NULL */
    float *out;
    int64_t batch, group, channels, m; /* of one group */
    bool taps_first; /* of one channel in a group: weights are [kernel..., group * m] */
};
AS_MUST_USE int as_kernel_conv_last(struct as_kernel_ctx *k, const struct as_conv_last *conv);
/* The same of a node whose attribute filter_layout says what weights it has. */
AS_MUST_USE int as_kernel_conv_filter(struct as_kernel_ctx *k, const struct as_conv *conv);

int as_kernel_deform_conv(struct as_kernel_ctx *k);

#endif
