/* engine/onednn/onednn_quant.h - scales and zero points of integer operators in oneDNN's terms. */
#ifndef AS_ENGINE_ONEDNN_ONEDNN_QUANT_H
#define AS_ENGINE_ONEDNN_ONEDNN_QUANT_H

#include "engine/onednn/onednn.h"

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
/* No posts, or a Relu: the only one that means the same to integers. */
bool as_dnn_quant_post_ops(const struct as_step *step);

#endif
