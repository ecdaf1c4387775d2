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

/* ---- onednn_quant.c ---- */

/* A constant scale of one number; false: it is none or cannot be. */
bool as_dnn_scale(struct as_dnn *d, uint32_t i, float *scale);
/* A constant zero point, 0 when it is left out; of many numbers all must be equal. */
bool as_dnn_zero(struct as_dnn *d, uint32_t i, int32_t *zero);

/* Where the weights of an integer operator are among its inputs. */
struct as_dnn_weights {
    struct as_dnn_tensor t; /* constant, i8 or u8 */
    int32_t zero;
    void *numbers; /* as i8 around 0 */
};
/* Brings unsigned weights around 128 to signed ones around 0; false: others than 0 stay. */
bool as_dnn_weights(struct as_dnn *d, uint32_t at, uint32_t zero_at, struct as_dnn_weights *w);

/* What becomes of sums: scaled by x * w[channel] / y, or left alone. */
struct as_dnn_rescale {
    uint32_t x_scale, x_zero, w_scale, y_scale, y_zero; /* inputs; AS_NONE: none */
    int axis;                                           /* of the channels in the output */
    int64_t channels;
    bool zero_now; /* the zero point of x is no constant */
};
bool as_dnn_rescale(struct as_dnn *d, struct as_dnn_rescale *r, dnnl_primitive_attr_t attr);
/* The zero point of x as an argument, when it is no constant; before the call it is made s32. */
bool as_dnn_zero_source(struct as_dnn *d, const struct as_dnn_rescale *r, struct as_dnn_ref *ref);
bool as_dnn_zero_arg(struct as_dnn *d, const struct as_dnn_rescale *r, struct as_dnn_call *call,
                     const struct as_dnn_ref *ref);
/* No post-ops, or a Relu: the only one that means the same to integers. */
bool as_dnn_quant_post_ops(const struct as_step *step);

#endif
