/* engine/kernels/conv/kern_window.h - where the windows of convolutions and pools are, in numbers
 * checked against the tensors. Fewer than three spatial axes are filled up with ones in front. */
#ifndef AS_ENGINE_KERNELS_CONV_KERN_WINDOW_H
#define AS_ENGINE_KERNELS_CONV_KERN_WINDOW_H

#include "engine/kernel.h"

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

#endif
