/* model/build/build_cache.c - the keys and values of earlier tokens, for decoders of the builder.
 * Nothing of it is stored in the model: how long the past is, every run may say anew. */
#include "model/build/build_attention.h"

#include <stdio.h>

static const char *const parts[] = {"key", "value"};

bool as_build_cache_begin(struct as_builder *b, struct as_build_cache *cache, int64_t layers,
                          const struct as_dims *dims)
{
    static const char *const symbols[] = {"batch", "", "past", ""};
    struct as_arena *arena = &b->model->arena;
    char name[64];

    *cache = (struct as_build_cache){.past = dims->at[2], .layers = layers, .length = AS_NONE};
    if (!as_build_ok(b))
        return false;
    cache->in = as_arena_zero(arena, 2 * (size_t)layers, sizeof *cache->in);
    cache->out = as_arena_zero(arena, 2 * (size_t)layers, sizeof *cache->out);
    if (!cache->in || !cache->out) {
        as_build_fail(b, ASSAY_ERR_NOMEM, "out of memory");
        return false;
    }
    for (int64_t i = 0; i < 2 * layers; i++) {
        (void)snprintf(name, sizeof name, "past_key_values.%lld.%s", (long long)(i / 2),
                       parts[i % 2]);
        cache->in[i] = as_build_input(b, name, b->dtype, dims, symbols);
        cache->out[i] = AS_NONE;
    }
    cache->length = as_build_length(b, "past_length", cache->in[0], 2);
    return as_build_ok(b);
}

uint32_t as_build_cache_join(struct as_builder *b, struct as_build_cache *cache, int64_t layer,
                             bool is_key, uint32_t x)
{
    int64_t at = 2 * layer + !is_key;

    if (!as_build_ok(b))
        return AS_NONE;
    cache->out[at] = as_build_concat(b, is_key ? "k_cache" : "v_cache",
                                     (const uint32_t[]){cache->in[at], x}, 2, 2);
    return cache->out[at];
}

void as_build_cache_end(struct as_builder *b, const struct as_build_cache *cache)
{
    char name[64];

    for (int64_t i = 0; i < 2 * cache->layers && as_build_ok(b); i++) {
        (void)snprintf(name, sizeof name, "present.%lld.%s", (long long)(i / 2), parts[i % 2]);
        as_build_output(b, cache->out[i], name);
    }
}

static int64_t sum(int64_t a, int64_t b)
{
    return a == AS_DIM_UNKNOWN || b == AS_DIM_UNKNOWN ? AS_DIM_UNKNOWN : a + b;
}

uint32_t as_build_cache_positions(struct as_builder *b, const char *name,
                                  const struct as_build_cache *cache, uint32_t length,
                                  int64_t known)
{
    struct as_dims dims = {1, {known}};
    uint32_t end, positions;

    as_build_scope(b, "%s", name);
    end = as_build_binary(b, "Add", "Add", cache->length, length);
    {
        struct as_build_node node = {
            .op = "Range", .name = "Range", AS_BUILD_IN(cache->length, end, as_build_int(b, 1))};

        positions = as_build_one(b, &node, &dims);
    }
    as_build_scope_end(b);
    return positions;
}

uint32_t as_build_cache_mask(struct as_builder *b, const char *name,
                             const struct as_build_cache *cache, uint32_t length, int64_t known)
{
    struct as_dims dims = {2, {known, sum(known, cache->past)}};
    uint32_t all, first, mask;

    as_build_scope(b, "%s", name);
    all = as_build_binary(b, "Add", "Add", cache->length, length);
    first = as_build_binary(b, "Add", "Add_first", cache->length, as_build_int(b, 1));
    mask = as_build_mask_above(b, length, all, first, &dims);
    as_build_scope_end(b);
    return mask;
}
