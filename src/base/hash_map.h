/* base/hash_map.h - names to numbers, for the tensors and functions of a file.
 * The hash is keyed per process, so that no file can choose names that all meet in one place. */
#ifndef AS_BASE_HASH_MAP_H
#define AS_BASE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct as_name_slot {
    const char *name; /* NULL: free */
    uint32_t size, hash;
    uint64_t number;
};

/* {0} is an empty map. Names are borrowed and need no NUL at their end. */
struct as_name_map {
    struct as_name_slot *slots;
    size_t n, capacity; /* room: 0 or a power of two */
};

/* The number of a name, to read or change; NULL when it is not there. Valid until the next put. */
uint64_t *as_name_map_find(const struct as_name_map *map, const char *name, size_t size);

/* 1: now there; 0: it was there before and is unchanged; negative: no memory. */
int as_name_map_put(struct as_name_map *map, const char *name, size_t size, uint64_t number);

/* Bytes the next new name would take beside the table there is; 0: it has room. */
size_t as_name_map_growth(const struct as_name_map *map);

/* Bytes of the table. */
size_t as_name_map_bytes(const struct as_name_map *map);

void as_name_map_fini(struct as_name_map *map);

#endif
