/* model/build/build_attention.h - attention for the builder, written in plain operators that any
 * engine runs: dense products, a softmax, and masks that nodes make, so that nothing is stored for
 * them.
 */
#ifndef AS_MODEL_BUILD_BUILD_ATTENTION_H
#define AS_MODEL_BUILD_BUILD_ATTENTION_H

#include "model/build/build_layers.h"
#include "model/build/build_ops.h"

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

/* ---- build_cache.c ---- */

struct as_build_cache {
    int64_t past;       /* tokens in it, or AS_DIM_UNKNOWN: left open */
    int64_t layers;     /* as many as it has */
    uint32_t length;    /* `past` as a single i64 */
    uint32_t *in, *out; /* key and value of each layer, one pair after the other */
};

/* Adds the inputs: each [batch, heads, past, head_dim], where AS_DIM_UNKNOWN is left open. Memory
 * is the model's. False after a failure. */
bool as_build_cache_begin(struct as_builder *b, struct as_build_cache *cache, int64_t layers,
                          const struct as_dims *dims);

/* The past of a layer and then `x`, which becomes an output at the end. */
uint32_t as_build_cache_join(struct as_builder *b, struct as_build_cache *cache, int64_t layer,
                             bool is_key, uint32_t x);

/* Gives the joined ones out. */
void as_build_cache_end(struct as_builder *b, const struct as_build_cache *cache);

/* The numbers past .. past + length - 1; `known` is the length or AS_DIM_UNKNOWN. */
uint32_t as_build_cache_positions(struct as_builder *b, const char *name,
                                  const struct as_build_cache *cache, uint32_t length,
                                  int64_t known);

/* [length, past + length]: minus infinity for every token after the row's own, 0 elsewhere. */
uint32_t as_build_cache_mask(struct as_builder *b, const char *name,
                             const struct as_build_cache *cache, uint32_t length, int64_t known);

#endif
