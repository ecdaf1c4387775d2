/* model/build/build_cache.h - the keys and values of earlier tokens, for decoders of the builder.
 * They come in as past_key_values.<layer>.key and go out, longer, as present.<layer>.key. */
#ifndef AS_MODEL_BUILD_BUILD_CACHE_H
#define AS_MODEL_BUILD_BUILD_CACHE_H

#include "model/build/build_ops.h"

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
