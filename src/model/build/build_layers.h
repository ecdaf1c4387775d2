/* model/build/build_layers.h - layers with parameters for the builder: products, convolutions,
 * norms. The name of a layer is that of its node; its parameters are "name.weight", "name.bias" ...
 */
#ifndef AS_MODEL_BUILD_BUILD_LAYERS_H
#define AS_MODEL_BUILD_BUILD_LAYERS_H

#include "model/build/build_ops.h"

/* The last dimension becomes `out`. Two dimensions: Gemm with a weight of [out, in]; any other
 * number: MatMul with one of [in, out]. */
uint32_t as_build_linear(struct as_builder *b, const char *name, uint32_t x, int64_t out,
                         bool bias);

/* What their parameters are filled with: of a product of so many inputs, of a norm, of a table. */
struct as_seeded as_build_weight_numbers(int64_t in);
struct as_seeded as_build_gain_numbers(void);
struct as_seeded as_build_table_numbers(void);

/* The same in two steps, for weights that are made elsewhere. */
struct as_build_linear_parts {
    int64_t in, out;
    struct as_dims shape; /* that the weight must have */
    int out_axis;         /* where `out` is in it */
    uint32_t weight;      /* to be set in between */
};

/* False: it failed. */
bool as_build_linear_begin(struct as_builder *b, const char *name, uint32_t x, int64_t out,
                           struct as_build_linear_parts *parts);
uint32_t as_build_linear_end(struct as_builder *b, const char *name, uint32_t x,
                             const struct as_build_linear_parts *parts, bool bias);

/* The same with the rows of an embedding as weight, which is not copied: [out, in]. */
uint32_t as_build_linear_tied(struct as_builder *b, const char *name, uint32_t x, uint32_t weight);

/* Zero means 1 for stride, dilation and groups; pads are top/bottom and left/right alike. */
struct as_build_conv {
    int64_t channels;  /* out */
    int64_t kernel[2]; /* height, width */
    int64_t stride[2], pad[2], dilation[2], groups;
    int64_t output_pad[2]; /* of a transposed one */
    bool bias;
};

uint32_t as_build_conv(struct as_builder *b, const char *name, uint32_t x,
                       const struct as_build_conv *conv);
uint32_t as_build_conv_transpose(struct as_builder *b, const char *name, uint32_t x,
                                 const struct as_build_conv *conv);

struct as_build_pool {
    int64_t kernel[2], stride[2], pad[2]; /* stride zero: the kernel */
    bool ceil;                            /* a last window that is not full counts */
    bool count_pad;                       /* of an average: zeros beyond the edge count */
};

uint32_t as_build_max_pool(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_pool *pool);
uint32_t as_build_avg_pool(struct as_builder *b, const char *name, uint32_t x,
                           const struct as_build_pool *pool);
uint32_t as_build_global_avg_pool(struct as_builder *b, const char *name, uint32_t x);
/* To `height` x `width`, which must divide the size there is. The same size needs no node. */
uint32_t as_build_adaptive_avg_pool(struct as_builder *b, const char *name, uint32_t x,
                                    int64_t height, int64_t width);

uint32_t as_build_batch_norm(struct as_builder *b, const char *name, uint32_t x, double eps);
/* Over the last dimension. */
uint32_t as_build_layer_norm(struct as_builder *b, const char *name, uint32_t x, double eps);
/* Over the last dimension, in single steps: the opset has no operator. */
uint32_t as_build_rms_norm(struct as_builder *b, const char *name, uint32_t x, double eps);
/* Groups of channels, for any number of dimensions behind the second. */
uint32_t as_build_group_norm(struct as_builder *b, const char *name, uint32_t x, int64_t groups,
                             double eps);

/* A table of `rows` rows of `width`, and the rows that `indices` asks for. `weight` (may be NULL)
 * gets the table, for as_build_linear_tied(). */
uint32_t as_build_embedding(struct as_builder *b, const char *name, uint32_t indices, int64_t rows,
                            int64_t width, uint32_t *weight);

/* x is [batch, steps, in]; gives [batch, steps, hidden], twice as wide when both ways. */
uint32_t as_build_lstm(struct as_builder *b, const char *name, uint32_t x, int64_t hidden,
                       bool both_ways);

#endif
