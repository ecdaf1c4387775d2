/* model/build/build_ops.h - the small operations of a network for the builder: activations,
 * arithmetic, and what moves tensors about. Each gives one value, AS_NONE after a failure. */
#ifndef AS_MODEL_BUILD_BUILD_OPS_H
#define AS_MODEL_BUILD_BUILD_OPS_H

#include "model/build/builder.h"

#define AS_ACTIVATIONS(X)                                                                          \
    X(RELU, "relu")                                                                                \
    X(RELU6, "relu6")                                                                              \
    X(LEAKY_RELU, "leaky_relu") /* slope 0.01 */                                                   \
    X(SIGMOID, "sigmoid")                                                                          \
    X(TANH, "tanh")                                                                                \
    X(HARDSWISH, "hardswish")                                                                      \
    X(HARDSIGMOID, "hardsigmoid") /* x / 6 + 1/2, cut at 0 and 1 */                                \
    X(SILU, "silu")                                                                                \
    X(GELU, "gelu")           /* by the error function */                                          \
    X(GELU_TANH, "gelu_tanh") /* its usual approximation */

enum as_activation {
#define X(name, word) AS_ACT_##name,
    AS_ACTIVATIONS(X)
#undef X
        AS_ACT_COUNT
};

/* Those that the opset has no operator for are written in several nodes, in a scope of `name`. */
uint32_t as_build_activation(struct as_builder *b, enum as_activation act, const char *name,
                             uint32_t x);

/* Softmax over one axis, which may count from the end. */
uint32_t as_build_softmax(struct as_builder *b, const char *name, uint32_t x, int64_t axis);
uint32_t as_build_dropout(struct as_builder *b, const char *name, uint32_t x, double ratio);

/* `op` is "Add", "Sub", "Mul", "Div" or another of two inputs that broadcasts. */
uint32_t as_build_binary(struct as_builder *b, const char *op, const char *name, uint32_t x,
                         uint32_t y);
/* One input, and an output of the same shape and dtype. */
uint32_t as_build_unary(struct as_builder *b, const char *op, const char *name, uint32_t x);

uint32_t as_build_concat(struct as_builder *b, const char *name, const uint32_t *values, size_t n,
                         int64_t axis);
/* `n` equal parts along the axis; false after a failure. */
bool as_build_split(struct as_builder *b, const char *name, uint32_t x, int64_t axis, uint32_t n,
                    uint32_t *parts);

/* As the operator has it: 0 keeps a dimension, one -1 takes what is left. */
uint32_t as_build_reshape(struct as_builder *b, const char *name, uint32_t x, const int64_t *shape,
                          size_t rank);
uint32_t as_build_flatten(struct as_builder *b, const char *name, uint32_t x, int64_t axis);
uint32_t as_build_transpose(struct as_builder *b, const char *name, uint32_t x,
                            const int64_t *order, size_t rank);
/* A product of matrices; leading dimensions broadcast. */
uint32_t as_build_matmul(struct as_builder *b, const char *name, uint32_t x, uint32_t y);
uint32_t as_build_gather(struct as_builder *b, const char *name, uint32_t x, uint32_t indices,
                         int64_t axis);
/* The mean over the axes, which stay as dimensions of 1 when `keep`. */
uint32_t as_build_mean(struct as_builder *b, const char *name, uint32_t x, const int64_t *axes,
                       size_t n, bool keep);
uint32_t as_build_cast(struct as_builder *b, const char *name, uint32_t x, unsigned dtype);
/* The length of dimension `axis` as a single i64, whatever it will be when the model runs. */
uint32_t as_build_length(struct as_builder *b, const char *name, uint32_t x, int64_t axis);

/* ---- build_opset.c ---- */

enum { AS_OPSET_F8 = 19, AS_OPSET_4BIT = 21 };

/* The model is in `opset` or a later one. */
void as_build_need_opset(struct as_builder *b, int64_t opset);

/* The same for tensors of this dtype, wherever they are. */
void as_build_need_dtype(struct as_builder *b, unsigned dtype);

/* Says the nodes as the opset needed has them: from 18 on the axes of reductions are an input and
 * Split says into how many parts. */
void as_build_raise_nodes(struct as_builder *b);

/* ---- build_quantized.c ---- */

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
