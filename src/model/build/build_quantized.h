/* model/build/build_quantized.h - numbers of few bits for the builder: to them, back, and a dense
 * layer whose weight is stored so. A scale is one number, or one for each slice of an axis. */
#ifndef AS_MODEL_BUILD_BUILD_QUANTIZED_H
#define AS_MODEL_BUILD_BUILD_QUANTIZED_H

#include "model/build/builder.h"

struct as_build_scale {
    uint32_t scale;
    uint32_t zero_point; /* AS_NONE: 0 */
    int64_t axis;        /* of x, for a scale that is a list; negative counts from the end */
};

/* QuantizeLinear; the dtype is that of the zero point, u8 without one. */
uint32_t as_build_quantize(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_scale *by);
/* DequantizeLinear; the dtype is that of the scale. */
uint32_t as_build_dequantize(struct as_builder *b, const char *name, uint32_t x,
                             const struct as_build_scale *by);

/* as_build_linear() with "name.weight" of 8 or 4 bits and "name.weight_scale" for each of `out`. */
uint32_t as_build_linear_quantized(struct as_builder *b, const char *name, uint32_t x, int64_t out,
                                   int bits, bool bias);

#endif
