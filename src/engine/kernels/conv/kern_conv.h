/* engine/kernels/conv/kern_conv.h - convolutions for the operators that are one under another name.
 * All of f32; dimensions are checked here. */
#ifndef AS_ENGINE_KERNELS_CONV_KERN_CONV_H
#define AS_ENGINE_KERNELS_CONV_KERN_CONV_H

#include "engine/kernel.h"

/* ---- kern_window.c ---- */

enum { AS_SPACE = 3 };

struct as_slide {
    int64_t in[AS_SPACE], out[AS_SPACE], kernel[AS_SPACE], stride[AS_SPACE], dilation[AS_SPACE];
    int64_t before[AS_SPACE], after[AS_SPACE]; /* padding */
    int64_t n_in, n_out, n_kernel;             /* products */
};

/* Reads the attributes of the node for input `in` and output `out`, whose spatial axes begin at
 * `first`; `kernel` are the spatial lengths of a weight, or NULL: by kernel_shape. Fails when they
 * do not go together. With `spread` the output is the larger side, as in ConvTranspose. */
struct as_slide_rule {
    const struct as_val *in, *out;
    const int64_t *kernel;
    int first, n;
    bool spread;
};
AS_MUST_USE int as_slide_read(struct as_kernel_ctx *k, const struct as_slide_rule *rule,
                              struct as_slide *s);

/* How long the spatial axes of `in` become when the window spreads them, as in MaxUnpool; `out`
 * begins with the first of them. */
AS_MUST_USE int as_slide_spread(struct as_kernel_ctx *k, const struct as_val *in, int64_t *out);

/* Places [*from, *to) of the window on axis `i` whose element `tap` falls into the input. */
void as_slide_range(const struct as_slide *s, int i, int64_t tap, int64_t *from, int64_t *to);

/* ---- kern_conv.c ---- */

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
