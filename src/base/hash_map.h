/* base/hash_map.h - keys to numbers: names of tensors and layers, or any other bytes.
 * The hash is keyed per process, so that no file can choose keys that all meet in one slot. */
#ifndef AS_BASE_HASH_MAP_H
#define AS_BASE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct as_hash_slot {
    const void *key; /* NULL: free */
    uint32_t size, hash;
    uint64_t number;
};

/* {0} is an empty map. Keys are borrowed: their bytes stay unchanged as long as the map. */
struct as_hash_map {
    struct as_hash_slot *slots;
    size_t n, capacity; /* capacity: 0 or a power of two */
};

/* The number of a key, to read or change; NULL when it is not there. Valid until the next put. */
uint64_t *as_hash_map_find(const struct as_hash_map *map, const void *key, size_t size);

/* 1: now there; 0: it was there before and is unchanged; negative: no memory. */
int as_hash_map_put(struct as_hash_map *map, const void *key, size_t size, uint64_t number);

/* Bytes that the next new key would allocate beside the present table; 0: it has capacity left. */
size_t as_hash_map_growth(const struct as_hash_map *map);

/* Bytes of the table. */
size_t as_hash_map_bytes(const struct as_hash_map *map);

void as_hash_map_fini(struct as_hash_map *map);

#endif
