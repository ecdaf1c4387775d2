/* experiment/attention/kv_cache.c - what a cache of keys and values takes, and less what is not
 * kept. */
#include <assay/experiment/attention.h>

#include "base/cursor.h"
#include "base/error.h"

int assay_kv_cache_bytes(const struct assay_kv_cache *cache, uint64_t *bytes,
                         struct assay_error *err)
{
    uint64_t positions, each, kept;

    if (!cache || !bytes)
        return as_fail(err, ASSAY_ERR_USAGE, "a cache and a place for its size are needed");
    if (!as_mul_u64(cache->layers, cache->kv_heads, &positions) ||
        !as_mul_u64(positions, cache->seq_len, &positions) ||
        !as_mul_u64(positions, cache->batch, &positions) ||
        !as_mul_u64(cache->head_dim, cache->dtype_bytes, &each) || !as_mul_u64(each, 2, &each))
        return as_fail(err, ASSAY_ERR_LIMIT, "the cache is larger than 64 bits can count");
    kept = cache->kept_positions == ASSAY_KV_ALL ? positions : cache->kept_positions;
    if (kept > positions)
        return as_fail(err, ASSAY_ERR_USAGE, "%llu positions are kept of %llu",
                       (unsigned long long)kept, (unsigned long long)positions);
    if (!as_mul_u64(kept, each, bytes))
        return as_fail(err, ASSAY_ERR_LIMIT, "the cache is larger than 64 bits can count");
    return ASSAY_OK;
}
