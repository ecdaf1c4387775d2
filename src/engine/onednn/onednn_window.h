/* engine/onednn/onednn_window.h - windows of convolutions and pools in oneDNN's numbers.
 * What it cannot express is refused, and left to plain C. */
#ifndef AS_ENGINE_ONEDNN_ONEDNN_WINDOW_H
#define AS_ENGINE_ONEDNN_ONEDNN_WINDOW_H

#include "engine/onednn/onednn.h"

struct as_dnn_window {
    int n; /* spatial axes, 1 to 3 */
    dnnl_dims_t kernel, stride, before, after;
    dnnl_dims_t dilation; /* 0: none */
    bool overhangs;       /* the last window goes past the padding, as with ceil_mode */
};

/* Reads the step's attributes for tensors laid out as `in` and `out`; `kernel` are the spatial
 * lengths of a weight, or NULL: by kernel_shape. With `spread` as in ConvTranspose. */
bool as_dnn_window(const struct as_dnn *d, const dnnl_memory_desc_t *in,
                   const dnnl_memory_desc_t *out, const int64_t *kernel, bool spread,
                   struct as_dnn_window *w);

/* Plain weights as [group, out, in, ...], as they lie; the group only when it is not 1. With
 * `inputs_first` they have those first, as in ConvTranspose. */
bool as_dnn_view_weights(const struct as_dnn *d, const dnnl_memory_desc_t *w, int64_t group,
                         bool inputs_first, dnnl_memory_desc_t *out);

#endif
