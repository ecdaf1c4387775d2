/* model/infer/infer_context.h - what a shape rule sees of its node, and how it says what comes out.
 * A rule reads inputs and attributes, sets every output it can, and returns 0; what it does not set
 * stays of unknown type. as_conflict() when the inputs can never work. */
#ifndef AS_MODEL_INFER_INFER_CONTEXT_H
#define AS_MODEL_INFER_INFER_CONTEXT_H

#include "model/graph/graph.h"

/* Constants up to this many elements are computed while inferring. */
#define AS_FOLD_MAX 65536

struct as_infer {
    struct as_model *model;
    struct as_graph *graph;
    const struct as_node *node;
    int64_t opset;          /* of the node's domain */
    struct as_arena *arena; /* of the model: what types and constants are made in */
    struct assay_error *err;
    int (*body)(struct as_infer *ctx, struct as_graph *body); /* infers a subgraph whose inputs
                                                                 have been set */
    unsigned unsure;   /* > 0: inside a branch that may not run */
    uint64_t fold_max; /* elements a constant made now may have; shrinks when many were made */
    unsigned again;    /* > 0: inside a body that was inferred before; what it found is known */
    int64_t again_nodes, again_bytes; /* what that has cost so far */
    int64_t copied_elems;             /* of sequences, so far */
};

typedef int (*as_infer_rule)(struct as_infer *ctx);

/* ---- inputs ---- */
/* NULL: left out, or more than there are. */
const struct as_type *as_in_type(const struct as_infer *ctx, size_t i);
/* False: left out, no tensor, or of unknown rank. Dimensions may still be AS_DIM_UNKNOWN. */
bool as_in_dims(const struct as_infer *ctx, size_t i, struct as_dims *out);
unsigned as_in_dtype(const struct as_infer *ctx, size_t i); /* AS_DTYPE_UNKNOWN when not known */
/* The numbers of a constant of at most AS_FOLD_MAX elements, loaded; NULL when it is none. */
const struct as_data *as_in_data(const struct as_infer *ctx, size_t i);
/* A constant of integers (or whole floats) of rank 0 or 1 as numbers, in the arena. False: not a
 * known constant; elements may be AS_DIM_UNKNOWN when the data is partial. */
bool as_in_ints(const struct as_infer *ctx, size_t i, struct as_ints *out);
/* The same, without memory, for the few numbers that axes, shapes and slices are; `out->rank` is
 * how many. False above AS_MAX_RANK of them. A real INT64_MIN comes as the number above it, so that
 * AS_DIM_UNKNOWN is always one that is not known. */
bool as_in_list(const struct as_infer *ctx, size_t i, struct as_dims *out);
/* How many elements a vector has, also when its numbers are not known; or AS_DIM_UNKNOWN. */
int64_t as_in_length(const struct as_infer *ctx, size_t i);
/* One number of a scalar or one-element constant. */
bool as_in_int(const struct as_infer *ctx, size_t i, int64_t *out);
bool as_in_float(const struct as_infer *ctx, size_t i, double *out);

/* ---- outputs: 0 or a negative code, to be returned as it is ---- */
/* An output that the node leaves out is silently skipped. `dims` NULL: unknown rank. */
int as_out_tensor(struct as_infer *ctx, size_t i, unsigned dtype, const struct as_dims *dims);
int as_out_type(struct as_infer *ctx, size_t i, const struct as_type *type);
/* The type of input `in`; unknown when that is left out. */
int as_out_like(struct as_infer *ctx, size_t i, size_t in);
/* Products and softmax may be quantized to another type than their input is of: after the rule, the
 * type is the declared one, as part of the scales that the file keeps with the output. */
void as_out_quantized(const struct as_infer *ctx);
/* A constant: the type is set from dims and the data's dtype. `data` lives in the arena. */
int as_out_data(struct as_infer *ctx, size_t i, struct as_data *data, const struct as_dims *dims);
/* A constant vector of i64. */
int as_out_ints(struct as_infer *ctx, size_t i, const int64_t *at, size_t n);

/* The inputs can never work: ASSAY_ERR_FORMAT. The driver adds the node's name and operator. */
AS_PRINTF(2, 3) int as_conflict(struct as_infer *ctx, const char *fmt, ...);
/* Why an output stays unknown; a finding, returns 0. */
AS_PRINTF(2, 3) int as_unknown(struct as_infer *ctx, const char *fmt, ...);

/* ---- dimensions ---- */
/* Numpy's rule; unknown against 1 is unknown, unknown against n > 1 is n. False: they do not fit.
 */
bool as_dims_broadcast(const struct as_dims *a, const struct as_dims *b, struct as_dims *out);
/* Axis from -rank to rank-1 made positive; false when outside. */
bool as_axis(int64_t axis, int rank, int *out);
/* Product of at[from..to); AS_DIM_UNKNOWN when one is unknown; -1 when it passes 2^62. */
int64_t as_dims_product(const struct as_dims *dims, int from, int to);
/* a+b and a*b where either may be unknown; a result past 2^62 or below 0 gives AS_DIM_UNKNOWN. */
int64_t as_dim_add(int64_t a, int64_t b);
int64_t as_dim_mul(int64_t a, int64_t b);

/* ---- infer_types.c ---- */

/* Above this many elements a sequence keeps one common type only. */
#define AS_SEQUENCE_MAX 1024

/* True while one inference may copy `n` more elements: each copy is whole, so that many of them
 * would be quadratic. */
bool as_type_may_copy(const struct as_infer *ctx, int64_t n);

/* The type that holds for both. False: no memory. */
AS_MUST_USE bool as_type_merge(struct as_arena *arena, const struct as_type *a,
                               const struct as_type *b, struct as_type *out);

/* What all elements of a sequence have in common; unknown when nothing is. */
AS_MUST_USE bool as_type_common(struct as_arena *arena, const struct as_type *sequence,
                                struct as_type *out);

/* A sequence or optional of `n` elements copied into the arena. Those that cannot be held, and
 * copies past what one inference may make, leave a common type or none. False: no memory. */
AS_MUST_USE bool as_type_list(struct as_infer *ctx, enum as_value_kind kind,
                              const struct as_type *elems, size_t n, struct as_type *out);
/* A sequence of an unknown number of elements that are all like `elem`. */
AS_MUST_USE bool as_type_many(struct as_arena *arena, const struct as_type *elem,
                              struct as_type *out);

/* The same tensor with one more axis of length `dim` at `axis`, or with that axis taken away; of
 * unknown rank when it cannot be. */
AS_MUST_USE bool as_type_with_axis(struct as_arena *arena, const struct as_type *type, int axis,
                                   int64_t dim, struct as_type *out);
AS_MUST_USE bool as_type_without_axis(struct as_arena *arena, const struct as_type *type, int axis,
                                      struct as_type *out);

/* ---- infer_matmul.c ---- */

/* What numpy.matmul gives for a and b: vectors, matrices, broadcast batches. */
AS_MUST_USE int as_infer_product(struct as_infer *ctx, const struct as_dims *a,
                                 const struct as_dims *b, struct as_dims *out);

/* The same of two inputs, as output 0. */
AS_MUST_USE int as_infer_matmul(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* Two matrices, either transposed. */
AS_MUST_USE int as_infer_gemm(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* Inputs `a` and `b` by numpy's broadcasting, as output 0. */
AS_MUST_USE int as_infer_broadcast(struct as_infer *ctx, size_t a, size_t b, unsigned dtype);

/* A recurrent layer: X is input 0, the recurrence weights input 2 with the hidden size on
 * `hidden_axis`; Y, Y_h and, of an LSTM, Y_c come out. */
AS_MUST_USE int as_infer_recurrent(struct as_infer *ctx, int hidden_axis, size_t n_states);

/* ---- infer_window.c ---- */

enum as_pad_way { AS_PAD_GIVEN, AS_PAD_SAME, AS_PAD_VALID };

struct as_window {
    int n; /* spatial axes */
    enum as_pad_way pad;
    bool ceil;
    int64_t kernel[AS_MAX_RANK], stride[AS_MAX_RANK], dilation[AS_MAX_RANK];
    int64_t before[AS_MAX_RANK], after[AS_MAX_RANK];
};

/* Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for `n` axes; a kernel that
 * is not given is AS_DIM_UNKNOWN. */
AS_MUST_USE int as_window_read(struct as_infer *ctx, int n, struct as_window *w);

/* Takes the kernel of axis `i` from a weight; a conflict when kernel_shape says another. */
AS_MUST_USE int as_window_kernel(struct as_infer *ctx, struct as_window *w, int i, int64_t size);

/* How many places the window has along axis `i` of length `in`. */
AS_MUST_USE int as_window_places(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                                 int64_t *out);

/* How long axis `i` becomes when the window spreads what it covers, as in ConvTranspose. */
AS_MUST_USE int as_window_spread(struct as_infer *ctx, const struct as_window *w, int i, int64_t in,
                                 int64_t extra, int64_t *out);

/* A convolution of input `x` with weights `w` [M, C/group, k...]; sets output 0. */
struct as_conv_rule {
    size_t x, w;
    unsigned dtype;
    bool channels_last; /* of x and the output; of the weights by as_filter_turn() */
};

/* Dimensions of weights in the order of attribute filter_layout, which TensorFlow Lite's have, as
 * [M, C/group, k...]: "OHWI", "1HWO" of one channel a group, "DHWIO". False: they cannot be. */
AS_MUST_USE bool as_filter_turn(const struct as_node *node, const int64_t *dims, int rank,
                                int64_t *out);
AS_MUST_USE int as_infer_conv(struct as_infer *ctx, const struct as_conv_rule *conv);

/* A transposed one, weights [C, M/group, k...]; `pads` NULL: those of the attribute. */
AS_MUST_USE int as_infer_conv_transpose(struct as_infer *ctx, const struct as_ints *pads);

/* A pool of input 0 by kernel_shape; sets output 0. */
AS_MUST_USE int as_infer_pool(struct as_infer *ctx, bool channels_last);
/* All spatial axes to 1. */
AS_MUST_USE int as_infer_global_pool(struct as_infer *ctx, bool channels_last);

#endif
