/* model/cost/cost_rules.h - what the rules that count share: the table's rows and saturating
 * arithmetic. A rule adds to ctx->forward and ctx->backward; a dimension it misses it says with
 * ctx->unknown.
 */
#ifndef AS_MODEL_COST_COST_RULES_H
#define AS_MODEL_COST_COST_RULES_H

#include "model/cost/cost.h"

enum as_cost_flag {
    AS_COST_FLAT = 1,     /* no gradient passes through: comparisons, rounding, indices */
    AS_COST_BILINEAR = 2, /* an input is kept for the gradient of the others only */
    AS_COST_LOOKUP = 4,   /* of input 0 only what comes out is read */
    AS_COST_FREE = 8,     /* reads and writes nothing worth counting: Shape, If */
    AS_COST_CHOOSES = 32, /* of its inputs the first alone is kept: the condition of Where */
    AS_COST_FILL = 16,    /* of its inputs nothing is read: ConstantOfShape */
};

/* One operator. The four rates are of one element, for the rules that count by elements. */
struct as_cost_entry {
    struct as_op_cost cost;
    uint8_t elementwise, transcendental, back_elementwise, back_transcendental;
    uint8_t flags; /* enum as_cost_flag */
};

/* NULL when the operator has none. */
const struct as_cost_entry *as_cost_entry_at(enum as_op op);

/* Sums and products that stay at UINT64_MAX once they are past it. */
static inline uint64_t as_sat_mul(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t as_sat_add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* a - b, but never below 0. */
static inline uint64_t as_sat_sub(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline void as_count(uint64_t *to, uint64_t n)
{
    *to = as_sat_add(*to, n);
}

/* Adds n x each to `to`. */
static inline void as_count_each(uint64_t *to, uint64_t n, uint64_t each)
{
    *to = as_sat_add(*to, as_sat_mul(n, each));
}

/* The base-2 logarithm rounded up; 0 for 0 and 1. */
static inline unsigned as_log2_up(uint64_t n)
{
    unsigned bits = 0;

    while (bits < 63 && (uint64_t)1 << bits < n)
        bits++;
    return bits;
}

/* Elements of an input or output; 0 when it is left out, 0 and ctx->unknown when not known. */
uint64_t as_cost_in(struct as_cost_ctx *ctx, size_t i);
uint64_t as_cost_out(struct as_cost_ctx *ctx, size_t i);
/* The input is given. */
bool as_cost_has(const struct as_cost_ctx *ctx, size_t i);
/* The input is a trained parameter or made from one, so its gradient is computed. */
bool as_cost_grad(const struct as_cost_ctx *ctx, size_t i);
/* All dimensions; false and ctx->unknown when one is not known or the value is left out. */
bool as_cost_in_dims(struct as_cost_ctx *ctx, size_t i, struct as_dims *out);
bool as_cost_out_dims(struct as_cost_ctx *ctx, size_t i, struct as_dims *out);
/* Product of at[from..to), saturating; all known. */
uint64_t as_cost_volume(const struct as_dims *dims, int from, int to);
/* The number of a constant of one element. */
bool as_cost_number(const struct as_cost_ctx *ctx, size_t i, double *out);
bool as_cost_attr_is(const struct as_cost_ctx *ctx, const char *name, const char *word);

/* `macs` of a product of inputs a and b; the gradient of each costs as much again. */
void as_cost_product(struct as_cost_ctx *ctx, uint64_t macs, size_t a, size_t b);
/* Input i, when given, is added to n elements. */
void as_cost_bias(struct as_cost_ctx *ctx, size_t i, uint64_t n);
#define AS_COST_NO_WEIGHT SIZE_MAX /* the window is that of kernel_shape */

/* Of `counted` taps of the window that slides over input 0, those that lie in the padding; 0 where
 * that is not known. `spreads`: as ConvTranspose does, whose taps lie in the output. `weight`: the
 * input that has the kernel. */
uint64_t as_cost_in_padding(struct as_cost_ctx *ctx, bool spreads, size_t weight, uint64_t counted);
/* What happens to n elements by the activation of that name ("Relu", "tanh"; others count one
 * comparison; an empty one nothing). */
void as_cost_activation(struct as_cost_ctx *ctx, const char *name, size_t size, uint64_t n);
/* The same from the attribute that TensorFlow Lite fuses into other operators. */
void as_cost_fused(struct as_cost_ctx *ctx, uint64_t n);
/* Softmax of `n` elements in `rows` rows. */
void as_cost_softmax_of(struct as_cost_ctx *ctx, uint64_t n, uint64_t rows);
/* Normalization of n elements in rows; with the mean subtracted or not, scaled and shifted or not.
 */
void as_cost_norm_of(struct as_cost_ctx *ctx, uint64_t n, uint64_t rows, bool centered, bool scaled,
                     bool shifted);
/* The index of the axis attribute made positive, `fallback` when absent; -1 and unknown outside. */
int as_cost_axis(struct as_cost_ctx *ctx, const char *name, int64_t fallback, int rank);
/* A node that is an attention by itself; false: it is none, or a dimension is not known. */
bool as_attention_of_node(const struct as_graph *graph, const struct as_node *node,
                          struct as_attention *out);
/* MACs that a causal mask leaves. */
uint64_t as_attention_causal_macs(const struct as_attention *attention);
/* Reads "ij,jk->ik" of an Einsum: the product of all sizes and that of the output's. False: a size
 * is not known or the text is wrong. */
bool as_cost_einsum_sizes(struct as_cost_ctx *ctx, uint64_t *all, uint64_t *out);

/* name of the function after as_cost_; what it is for */
#define AS_COST_RULES(X)                                                                           \
    X(nothing) /* moves, views: no operation */                                                    \
    X(cast)    /* nothing, unless to or from quantized numbers */                                  \
    X(data)    /* what it does depends on the data: not counted */                                 \
    X(map)     /* rates x elements of output 0 */                                                  \
    X(map_in)  /* rates x elements of input 0 */                                                   \
    X(nary)    /* operands broadcast against each other */                                         \
    X(mean)    /* of several operands */                                                           \
    X(gelu)                                                                                        \
    X(bias_gelu)                                                                                   \
    X(bias_split_gelu)                                                                             \
    X(reduce)                                                                                      \
    X(arg_max)                                                                                     \
    X(top_k)                                                                                       \
    X(sort)                                                                                        \
    X(scatter)                                                                                     \
    X(dropout)                                                                                     \
    X(quantize)                                                                                    \
    X(dequantize)                                                                                  \
    X(qlinear_unary)                                                                               \
    X(qlinear_binary)                                                                              \
    X(qlinear_pool)                                                                                \
    X(qlinear_mean)                                                                                \
    X(qlinear_softmax)                                                                             \
    X(qlinear_concat)                                                                              \
    X(conv)                                                                                        \
    X(conv_transpose)                                                                              \
    X(fused_conv)                                                                                  \
    X(conv_integer)                                                                                \
    X(qlinear_conv)                                                                                \
    X(deform_conv)                                                                                 \
    X(matmul)                                                                                      \
    X(fused_matmul)                                                                                \
    X(gemm)                                                                                        \
    X(qgemm)                                                                                       \
    X(einsum)                                                                                      \
    X(matmul_integer)                                                                              \
    X(matmul_integer_float)                                                                        \
    X(dynamic_matmul)                                                                              \
    X(qlinear_matmul)                                                                              \
    X(matmul_bits)                                                                                 \
    X(moe)                                                                                         \
    X(lstm)                                                                                        \
    X(gru)                                                                                         \
    X(rnn)                                                                                         \
    X(det)                                                                                         \
    X(inverse)                                                                                     \
    X(softmax)                                                                                     \
    X(hardmax)                                                                                     \
    X(bias_softmax)                                                                                \
    X(batch_norm)                                                                                  \
    X(layer_norm)                                                                                  \
    X(rms_norm)                                                                                    \
    X(skip_norm)                                                                                   \
    X(skip_rms_norm)                                                                               \
    X(embed_norm)                                                                                  \
    X(instance_norm)                                                                               \
    X(group_norm)                                                                                  \
    X(mean_variance)                                                                               \
    X(lp_norm)                                                                                     \
    X(lrn)                                                                                         \
    X(pool)                                                                                        \
    X(global_pool)                                                                                 \
    X(nll_loss)                                                                                    \
    X(cross_entropy)                                                                               \
    X(resize)                                                                                      \
    X(grid_sample)                                                                                 \
    X(affine_grid)                                                                                 \
    X(roi_align)                                                                                   \
    X(dft)                                                                                         \
    X(stft)                                                                                        \
    X(attention)                                                                                   \
    X(linear_model)                                                                                \
    X(svm)                                                                                         \
    X(optimizer)                                                                                   \
    X(tfl_conv_transpose)                                                                          \
    X(tfl_lstm)                                                                                    \
    X(tfl_rnn)                                                                                     \
    X(tfl_svdf)                                                                                    \
    X(tfl_rfft)                                                                                    \
    X(tfl_lrn)

#define X(name) void as_cost_##name(struct as_cost_ctx *ctx);
AS_COST_RULES(X)
#undef X

#endif
