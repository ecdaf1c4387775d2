/* assay/model.h - describes a neural network in C, or opens one from a file, and counts it.
 *
 *     struct assay_model *m;
 *     struct assay_model_counts counts;
 *     const int64_t shape[] = {1, 128};
 *     assay_model_new(&m, NULL, &err);
 *     int x = assay_model_input(m, "x", ASSAY_DTYPE_F32, 2, shape);
 *     x = assay_model_linear(m, "fc1", x, 64, true);
 *     x = assay_model_activation(m, ASSAY_ACTIVATION_RELU, NULL, x);
 *     x = assay_model_linear(m, "fc2", x, 10, true);
 *     assay_model_output(m, x, "y");
 *     if (assay_model_count(m, &counts, &err) < 0)
 *         fprintf(stderr, "%s\n", err.msg);
 *     assay_model_free(m);
 *
 * A tensor is a small number; a negative number is not a tensor. The first call that fails is
 * remembered by the model and makes all later ones do nothing, so one check at the end is enough. A
 * model that was opened, counted or written cannot grow: adding to it gives ASSAY_ERR_STATE, which
 * assay_model_error() reports too, and changes nothing, so that it can still be counted. NULL where
 * something is needed gives ASSAY_ERR_USAGE; a model that is NULL gives ASSAY_ERR_NOMEM. Names may
 * be NULL: then they follow from the kind of layer; a name in use gets a number behind it.
 * Parameters are called after their layer, "fc1.weight" and "fc1.bias". Weights are computed from a
 * seed when somebody asks for them, so a model of any size costs no memory. Link with -lassay. One
 * model is for one thread at a time. */
#ifndef ASSAY_MODEL_H
#define ASSAY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A network, described or opened. */
struct assay_model;

/* The kinds of numbers a tensor can be described with. */
enum assay_dtype {
    ASSAY_DTYPE_F32 = 0,
    ASSAY_DTYPE_F64 = 1,
    ASSAY_DTYPE_F16 = 2,
    ASSAY_DTYPE_BF16 = 3,
    ASSAY_DTYPE_I64 = 4,
    ASSAY_DTYPE_I32 = 5,
    ASSAY_DTYPE_I8 = 6,
    ASSAY_DTYPE_U8 = 7,
    ASSAY_DTYPE_BOOL = 8,
    ASSAY_DTYPE_I16 = 9,
    ASSAY_DTYPE_U16 = 10,
    ASSAY_DTYPE_U32 = 11,
    ASSAY_DTYPE_U64 = 12,
    ASSAY_DTYPE_I4 = 13, /* two in a byte, the first one low */
    ASSAY_DTYPE_U4 = 14,
    ASSAY_DTYPE_F8E4M3FN = 15,
    ASSAY_DTYPE_F8E4M3FNUZ = 16,
    ASSAY_DTYPE_F8E5M2 = 17,
    ASSAY_DTYPE_F8E5M2FNUZ = 18
};

/* ---- beginning and ending ---- */

/* How a model begins. Zero means the default everywhere. */
struct assay_model_options {
    size_t size;            /* sizeof(struct assay_model_options) */
    const char *name;       /* of the graph; NULL for none */
    uint64_t seed;          /* of the weights; the same seed gives the same weights */
    enum assay_dtype dtype; /* of parameters: F32, F64, F16 or BF16 */
};

/* A new, empty model; `options` may be NULL. After a failure `*out` is NULL, which every call below
 * accepts and fails. */
ASSAY_API int assay_model_new(struct assay_model **out, const struct assay_model_options *options,
                              struct assay_error *err);

/* Opens a file of any kind the library knows (ONNX, GGUF, safetensors, TensorFlow Lite; found by
 * content), or "zoo:resnet50". Nothing can be added to it. */
ASSAY_API int assay_model_open(struct assay_model **model, const char *path,
                               struct assay_error *err);

/* Accepts NULL. */
ASSAY_API void assay_model_free(struct assay_model *model);

/* 0 while every call on the model worked; else the code of the first that did not, and why in
 * `err`. */
ASSAY_API int assay_model_error(const struct assay_model *model, struct assay_error *err);

/* Names of layers given from here on begin with `name` and a dot; scopes nest. */
ASSAY_API void assay_model_scope_begin(struct assay_model *model, const char *name);
/* Ends the innermost one. */
ASSAY_API void assay_model_scope_end(struct assay_model *model);

/* ---- tensors ---- */

/* An input of the model. A negative dimension is open: its size is given when the model is counted,
 * and 1 otherwise. */
ASSAY_API int assay_model_input(struct assay_model *model, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *dims);

/* The same with names for open dimensions: symbols[i] belongs to dims[i] and may be NULL. */
ASSAY_API int assay_model_input_named(struct assay_model *model, const char *name,
                                      enum assay_dtype dtype, int rank, const int64_t *dims,
                                      const char *const *symbols);

/* A constant with the numbers given in `data`, which are copied. */
ASSAY_API int assay_model_constant(struct assay_model *model, const char *name,
                                   enum assay_dtype dtype, int rank, const int64_t *dims,
                                   const void *data);

/* A trained tensor of the model's dtype; its numbers follow from the seed, around 0 with standard
 * deviation `spread`. */
ASSAY_API int assay_model_parameter(struct assay_model *model, const char *name, int rank,
                                    const int64_t *dims, double spread);

/* The same of another type: a floating one as above, or I8, U8, I4 or U4. Integers are counted in
 * steps of 1; U8 and U4 lie around 128 and 8. Such weights are used behind
 * assay_model_dequantize(). */
ASSAY_API int assay_model_parameter_typed(struct assay_model *model, const char *name,
                                          enum assay_dtype dtype, int rank, const int64_t *dims,
                                          double spread);

/* Gives a tensor out, as `name` when it is not NULL. A model for which this is never called gives
 * out every tensor that no layer uses. */
ASSAY_API void assay_model_output(struct assay_model *model, int tensor, const char *name);

/* The dimensions of a tensor as far as they are known while describing: open ones are -1. Returns
 * the rank, which may be more than `capacity`, or a negative code when it is not known. */
ASSAY_API int assay_model_dims(const struct assay_model *model, int tensor, int64_t *dims,
                               int capacity);

/* ---- layers; each returns the tensor that comes out ---- */

/* The last dimension becomes `out`; those before it may be any. */
ASSAY_API int assay_model_linear(struct assay_model *model, const char *name, int x, int64_t out,
                                 bool bias);

/* The same with the table of an embedding as weight, so that both are one parameter. */
ASSAY_API int assay_model_linear_tied(struct assay_model *model, const char *name, int x,
                                      int table);

/* x in steps of `scale`, moved by `zero_point`, which also has the type: I8, U8, I16, U16, I4, U4
 * or one of 8-bit floats; U8 when it is negative, for none. `scale` is one number (rank 0), or a
 * list with one for each slice of `axis`; the zero point has as many. */
ASSAY_API int assay_model_quantize(struct assay_model *model, const char *name, int x, int scale,
                                   int zero_point, int axis);
/* The way back: (x - zero_point) x scale, of the type of `scale`: F32, F16 or BF16. */
ASSAY_API int assay_model_dequantize(struct assay_model *model, const char *name, int x, int scale,
                                     int zero_point, int axis);
/* assay_model_linear() whose weight is stored in 8 or 4 bits, with a scale for each of `out`. */
ASSAY_API int assay_model_linear_quantized(struct assay_model *model, const char *name, int x,
                                           int64_t out, int bits, bool bias);

/* A convolution. Zero means 1 for stride, dilation and groups. */
struct assay_conv2d {
    size_t size;                        /* sizeof(struct assay_conv2d) */
    int64_t channels;                   /* that come out */
    int64_t kernel_h, kernel_w;         /* its height and width */
    int64_t stride_h, stride_w;         /* steps between places */
    int64_t pad_h, pad_w;               /* zeros added on both sides */
    int64_t dilation_h, dilation_w;     /* steps inside the kernel */
    int64_t groups;                     /* channels apart; equal to the channels: depthwise */
    int64_t output_pad_h, output_pad_w; /* of a transposed one: added at the end */
    bool no_bias;
};
/* A square one, with strides and dilations of 1 and no padding. */
static inline struct assay_conv2d assay_conv2d_make(int64_t channels, int64_t kernel)
{
    struct assay_conv2d conv = ASSAY_SIZED(struct assay_conv2d);

    conv.channels = channels;
    conv.kernel_h = conv.kernel_w = kernel;
    return conv;
}

/* x is [batch, channels, height, width], as for all layers on images. */
ASSAY_API int assay_model_conv2d(struct assay_model *model, const char *name, int x,
                                 const struct assay_conv2d *conv);
/* The transposed one, which makes images larger. */
ASSAY_API int assay_model_conv_transpose2d(struct assay_model *model, const char *name, int x,
                                           const struct assay_conv2d *conv);

/* A pooling. A stride of zero is the kernel. */
struct assay_pool2d {
    size_t size; /* sizeof(struct assay_pool2d) */
    int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
    bool ceil;      /* a last window that is not full counts too */
    bool count_pad; /* of an average: the zeros added count too */
};
/* A square one. */
static inline struct assay_pool2d assay_pool2d_make(int64_t kernel)
{
    struct assay_pool2d pool = ASSAY_SIZED(struct assay_pool2d);

    pool.kernel_h = pool.kernel_w = kernel;
    return pool;
}

ASSAY_API int assay_model_max_pool2d(struct assay_model *model, const char *name, int x,
                                     const struct assay_pool2d *pool);
ASSAY_API int assay_model_avg_pool2d(struct assay_model *model, const char *name, int x,
                                     const struct assay_pool2d *pool);
/* To one number a channel. */
ASSAY_API int assay_model_global_avg_pool(struct assay_model *model, const char *name, int x);
/* To height x width, which must divide the size there is. */
ASSAY_API int assay_model_adaptive_avg_pool2d(struct assay_model *model, const char *name, int x,
                                              int64_t height, int64_t width);

/* Norms; `eps` 0 means 1e-5. Running mean and variance are kept but are not parameters. */
ASSAY_API int assay_model_batch_norm(struct assay_model *model, const char *name, int x,
                                     double eps);
/* Over the last dimension. */
ASSAY_API int assay_model_layer_norm(struct assay_model *model, const char *name, int x,
                                     double eps);
/* Over the last dimension, without mean and bias. */
ASSAY_API int assay_model_rms_norm(struct assay_model *model, const char *name, int x, double eps);
/* Over groups of channels. */
ASSAY_API int assay_model_group_norm(struct assay_model *model, const char *name, int x,
                                     int64_t groups, double eps);

/* What bends the line between two layers. */
enum assay_activation {
    ASSAY_ACTIVATION_RELU = 0,
    ASSAY_ACTIVATION_RELU6 = 1,
    ASSAY_ACTIVATION_LEAKY_RELU = 2, /* slope 0.01 */
    ASSAY_ACTIVATION_SIGMOID = 3,
    ASSAY_ACTIVATION_TANH = 4,
    ASSAY_ACTIVATION_HARDSWISH = 5,
    ASSAY_ACTIVATION_HARDSIGMOID = 6,
    ASSAY_ACTIVATION_SILU = 7,
    ASSAY_ACTIVATION_GELU = 8,     /* by the error function */
    ASSAY_ACTIVATION_GELU_TANH = 9 /* its usual approximation */
};
ASSAY_API int assay_model_activation(struct assay_model *model, enum assay_activation activation,
                                     const char *name, int x);
/* Over one axis; a negative one counts from the end. */
ASSAY_API int assay_model_softmax(struct assay_model *model, const char *name, int x, int axis);
/* Does nothing when a model is used, and is counted so. */
ASSAY_API int assay_model_dropout(struct assay_model *model, const char *name, int x, double ratio);

/* An attention layer. */
struct assay_attention {
    size_t size;      /* sizeof(struct assay_attention) */
    int64_t heads;    /* of queries; the width is a multiple of them */
    int64_t kv_heads; /* of keys and values, a divisor of heads; 0 means as many */
    bool causal;      /* a position sees those before it alone; needs as many keys as queries */
    bool no_bias;     /* of the four projections */
};
/* One with as many heads for keys and values. */
static inline struct assay_attention assay_attention_make(int64_t heads)
{
    struct assay_attention attention = ASSAY_SIZED(struct assay_attention);

    attention.heads = heads;
    return attention;
}

/* With projections of its own for queries, keys, values and the result. x is [batch, length,
 * width]; keys and values come from `context`, which is x itself when negative. */
ASSAY_API int assay_model_attention(struct assay_model *model, const char *name, int x, int context,
                                    const struct assay_attention *attention);
/* Of queries, keys and values given, each [batch, length, heads x size of a head]. */
ASSAY_API int assay_model_attend(struct assay_model *model, const char *name, int q, int k, int v,
                                 const struct assay_attention *attention);

/* The rows of a trained table that the integers in `indices` ask for. `table` gets the table for
 * assay_model_linear_tied() and may be NULL. */
ASSAY_API int assay_model_embedding(struct assay_model *model, const char *name, int indices,
                                    int64_t rows, int64_t width, int *table);

/* x is [batch, steps, width]; gives [batch, steps, hidden], twice as wide when both ways. */
ASSAY_API int assay_model_lstm(struct assay_model *model, const char *name, int x, int64_t hidden,
                               bool both_ways);

/* The sum of two tensors, as around a residual block. */
ASSAY_API int assay_model_add(struct assay_model *model, const char *name, int x, int y);
/* Number by number; shapes broadcast. */
ASSAY_API int assay_model_mul(struct assay_model *model, const char *name, int x, int y);
/* A product of matrices; leading dimensions broadcast. */
ASSAY_API int assay_model_matmul(struct assay_model *model, const char *name, int x, int y);
/* `n` tensors one after the other along `axis`. */
ASSAY_API int assay_model_concat(struct assay_model *model, const char *name, const int *tensors,
                                 size_t n, int axis);
/* All dimensions before `axis` become one, and all others one. */
ASSAY_API int assay_model_flatten(struct assay_model *model, const char *name, int x, int axis);
/* 0 keeps a dimension and one -1 takes what is left. */
ASSAY_API int assay_model_reshape(struct assay_model *model, const char *name, int x, int rank,
                                  const int64_t *shape);
ASSAY_API int assay_model_transpose(struct assay_model *model, const char *name, int x, int rank,
                                    const int64_t *order);

/* One layer of a sequence; what its kind does not need is left 0. */
enum assay_layer_kind {
    ASSAY_LAYER_LINEAR = 0,          /* out, no_bias */
    ASSAY_LAYER_CONV2D = 1,          /* out, kernel, stride, pad, groups, no_bias */
    ASSAY_LAYER_MAX_POOL = 2,        /* kernel, stride, pad */
    ASSAY_LAYER_AVG_POOL = 3,        /* the same */
    ASSAY_LAYER_GLOBAL_AVG_POOL = 4, /* nothing */
    ASSAY_LAYER_BATCH_NORM = 5,      /* nothing */
    ASSAY_LAYER_LAYER_NORM = 6,      /* nothing */
    ASSAY_LAYER_RMS_NORM = 7,        /* nothing */
    ASSAY_LAYER_ACTIVATION = 8,      /* activation */
    ASSAY_LAYER_SOFTMAX = 9,         /* nothing: over the last dimension */
    ASSAY_LAYER_FLATTEN = 10,        /* nothing: the first dimension stays */
    ASSAY_LAYER_DROPOUT = 11         /* ratio */
};
struct assay_layer_spec {
    enum assay_layer_kind kind;
    const char *name; /* NULL: its place, "0", "1" ... */
    int64_t out;      /* width or channels that come out */
    int64_t kernel, stride, pad, groups;
    enum assay_activation activation;
    double ratio;
    bool no_bias;
};

/* The layers one after the other, in a scope of `name` when it is not NULL. */
ASSAY_API int assay_model_sequential(struct assay_model *model, const char *name, int x,
                                     const struct assay_layer_spec *layers, size_t n);

/* What an attribute of a node can be. */
enum assay_attr_kind {
    ASSAY_ATTR_INT = 0,   /* i */
    ASSAY_ATTR_FLOAT = 1, /* f */
    ASSAY_ATTR_TEXT = 2,  /* text */
    ASSAY_ATTR_INTS = 3   /* ints and n_ints */
};

/* An attribute of a node; what its kind does not need is left 0. */
struct assay_attr {
    const char *name;
    enum assay_attr_kind kind;
    int64_t i;
    double f;
    const char *text;
    const int64_t *ints;
    size_t n_ints;
};

/* Any operator of ONNX by its name, as opset 17 has it; a model with 8-bit floats is written in
 * opset 19, one with 4-bit or quantized 16-bit numbers in 21. A negative input is one left out.
 * `outputs` gets n_outputs tensors, whose shapes are not known while describing. Returns 0 or a
 * negative code. */
ASSAY_API int assay_model_node(struct assay_model *model, const char *op, const char *name,
                               const int *inputs, size_t n_inputs, const struct assay_attr *attrs,
                               size_t n_attrs, int *outputs, size_t n_outputs);

/* ---- sizes: they hold for the counts that follow; one given later replaces an earlier one ---- */

/* All dimensions of one input, which must have as many. ASSAY_ERR_USAGE changes nothing; so it is
 * with all three. */
ASSAY_API int assay_model_set_shape(struct assay_model *model, const char *input, int rank,
                                    const int64_t *dims, struct assay_error *err);
/* The first dimension of the inputs without a shape given above; 0 means as described. */
ASSAY_API int assay_model_set_batch(struct assay_model *model, int64_t batch,
                                    struct assay_error *err);
/* An open dimension by its name, which an input must have. */
ASSAY_API int assay_model_set_dim(struct assay_model *model, const char *symbol, int64_t value,
                                  struct assay_error *err);

/* ---- counting ---- */

/* What a model is made of and what one run of it costs. 1 MAC is one multiply and one add; flops
 * are 2 x macs + elementwise + transcendental. Sums past 2^64 stay at UINT64_MAX. */
struct assay_model_counts {
    size_t size;              /* set by the library */
    uint64_t parameters;      /* trained numbers, each once: shared and tied ones too */
    uint64_t trainable;       /* those of a floating type */
    uint64_t frozen;          /* of an integer or block type, and running means and variances */
    uint64_t stored;          /* all constants in the file, second copies too */
    uint64_t parameter_bytes; /* of `parameters`, as stored */
    uint64_t stored_bytes;    /* of `stored` */
    uint64_t batch;       /* samples per inference; 1 where no dimension is known to count them */
    uint64_t macs;        /* of convolutions and GEMM; per inference */
    uint64_t elementwise; /* additions, comparisons, biases ... one each */
    uint64_t transcendental;                    /* exp, tanh, square roots ... one each */
    uint64_t flops;                             /* the three together */
    uint64_t macs_per_sample, flops_per_sample; /* divided by `batch` */
    uint64_t bytes_read, bytes_written;         /* every input and output of a layer once */
    uint64_t bytes_moved;                       /* both */
    uint64_t activation_peak_bytes; /* alive at once at the worst moment, without parameters */
    uint64_t activation_sum_bytes;  /* when no memory is used twice */
    uint64_t backward_macs, backward_elementwise, backward_transcendental, backward_flops;
    uint64_t n_layers;         /* nodes that run, those of bodies too */
    uint64_t n_unknown_ops;    /* nodes not counted: their operator is not known */
    uint64_t n_unknown_shapes; /* nodes not counted: a size they depend on is not known */
    double compression; /* bytes of `parameters` as F32 / as stored with the scales they need; NaN
                           when there are none */
    bool complete; /* false: something that runs is not counted, or the file holds weights alone;
                      counts of work and activations are then lower bounds, not exact */
};

/* Counts the model. From here on nothing can be added to it; sizes may be changed and the model
 * counted again, also after a count that failed for its sizes. */
ASSAY_API int assay_model_count(struct assay_model *model, struct assay_model_counts *counts,
                                struct assay_error *err);

/* One node of the model; texts live as long as the model and until it is counted again. */
struct assay_model_layer {
    size_t size; /* set by the library */
    const char *name, *op;
    uint64_t times;      /* runs in one run of the model */
    bool known;          /* false: it could not be counted */
    uint64_t parameters; /* those it is the first to use */
    uint64_t parameter_bytes;
    uint64_t macs, elementwise, transcendental, flops; /* of one execution, as all below */
    uint64_t bytes_read, bytes_written;
    uint64_t backward_macs, backward_flops;
    uint64_t output_bytes;
    char output[64]; /* the shape of what comes out: "1x64x112x112" */
};

/* Layer `i` in the order of execution, after assay_model_count(). ASSAY_ERR_NOTFOUND past the last,
 * ASSAY_ERR_STATE before the first count, ASSAY_ERR_USAGE when `layer` is NULL. */
ASSAY_API int assay_model_layer_at(const struct assay_model *model, size_t i,
                                   struct assay_model_layer *layer);

/* The parameters alone; 0 for a model without any. Negative: the code of a failure. */
ASSAY_API int64_t assay_model_count_parameters(struct assay_model *model);

/* What is usually called the FLOPs of a network: 2 x MACs of one sample, without biases,
 * activations and the like. Negative: the code of a failure. */
ASSAY_API int64_t assay_model_count_flops(struct assay_model *model);

/* ---- writing ---- */

/* Writes the model as an ONNX file, whole or not at all. From 2 GB on the weights go into
 * PATH.data beside it. A model or a recorded run at PATH is not replaced: ASSAY_ERR_STATE. Nothing
 * can be added to the model afterwards. */
ASSAY_API int assay_model_write_onnx(struct assay_model *model, const char *path,
                                     struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
