/* model/build/build_attention.h - attention for the builder, written in plain operators that any
 * engine runs: dense products, a softmax, and masks that nodes make, so that nothing is stored for
 * them.
 */
#ifndef AS_MODEL_BUILD_BUILD_ATTENTION_H
#define AS_MODEL_BUILD_BUILD_ATTENTION_H

#include "model/build/build_cache.h"
#include "model/build/build_layers.h"

/* Cosines and sines of the rotary embedding, [length, head_dim / 2] each. */
struct as_build_rope {
    uint32_t cos, sin;
};

struct as_build_attention {
    int64_t heads;
    int64_t kv_heads;                 /* 0: as many as heads; else a divisor of them */
    uint32_t mask;                    /* added to the scores [.., queries, keys]; AS_NONE: none */
    const struct as_build_rope *rope; /* NULL: none */
    struct as_build_cache *cache;     /* of earlier keys and values; NULL: none */
    int64_t layer;                    /* in the cache */
};

/* The numbers 0 .. length - 1, where `length` is a single i64 and `known` its value or
 * AS_DIM_UNKNOWN. */
uint32_t as_build_positions(struct as_builder *b, const char *name, uint32_t length, int64_t known);

/* Minus infinity above the diagonal, 0 elsewhere: [length, length]. */
uint32_t as_build_causal_mask(struct as_builder *b, const char *name, uint32_t length,
                              int64_t known);

/* [rows, columns] of minus infinity from the diagonal `first` on, 0 below it; `dims` is what is
 * known of them. For masks with a scope of their own. */
uint32_t as_build_mask_above(struct as_builder *b, uint32_t rows, uint32_t columns, uint32_t first,
                             const struct as_dims *dims);

/* The table of a rotary embedding for these positions. */
struct as_build_rope as_build_rope_table(struct as_builder *b, const char *name, uint32_t positions,
                                         int64_t head_dim, double base);

/* q is [batch, queries, heads x d], k and v are [batch, keys, kv_heads x d]; gives [batch, queries,
 * heads x d]. Nodes are named in the scope. */
uint32_t as_build_attend(struct as_builder *b, uint32_t q, uint32_t k, uint32_t v,
                         const struct as_build_attention *how);

/* The names of the four products of an attention layer. */
struct as_build_projections {
    const char *q, *k, *v, *out;
    bool bias;
};

/* The whole layer on x, with keys and values from `context` (x itself: self-attention). */
uint32_t as_build_attention_layer(struct as_builder *b, const char *name, uint32_t x,
                                  uint32_t context, const struct as_build_attention *how,
                                  const struct as_build_projections *names);

#endif
