/* base/hash_map.c - keys to numbers: names of tensors and layers, or any other bytes. */
#include "base/hash_map.h"

#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/error.h"

#define FIRST_CAPACITY 16

static inline uint64_t turn(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static inline void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = turn(v[1], 13) ^ v[0];
    v[0] = turn(v[0], 32);
    v[2] += v[3];
    v[3] = turn(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = turn(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = turn(v[1], 17) ^ v[2];
    v[2] = turn(v[2], 32);
}

/* SipHash with one round a word and three at the end, keyed by the sixteen random bytes the kernel
 * hands every process. */
static uint32_t hash_of(const void *bytes, size_t size)
{
    const unsigned char *at_byte = bytes;
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t seed[2] = {0x9ae16a3b2f90404fU, 0xc949c7defebe6f08U}, word;
    uint64_t v[4];
    size_t at = 0;

    if (random)
        memcpy(seed, random, sizeof seed);
    v[0] = seed[0] ^ 0x736f6d6570736575U;
    v[1] = seed[1] ^ 0x646f72616e646f6dU;
    v[2] = seed[0] ^ 0x6c7967656e657261U;
    v[3] = seed[1] ^ 0x7465646279746573U;
    for (; size - at >= 8; at += 8) {
        memcpy(&word, at_byte + at, 8);
        v[3] ^= word;
        mix(v);
        v[0] ^= word;
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; at + i < size; i++)
        word |= (uint64_t)at_byte[at + i] << (8 * i);
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    mix(v);
    mix(v);
    mix(v);
    return (uint32_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

/* The slot of the key, or the free one where it would go. There always is a free one. */
static struct as_hash_slot *slot_of(const struct as_hash_map *map, const void *key, size_t size,
                                    uint32_t hash)
{
    size_t i = hash & (map->capacity - 1);

    while (map->slots[i].key && (map->slots[i].hash != hash || map->slots[i].size != size ||
                                 memcmp(map->slots[i].key, key, size) != 0))
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

uint64_t *as_hash_map_find(const struct as_hash_map *map, const void *key, size_t size)
{
    struct as_hash_slot *slot;

    if (map->capacity == 0)
        return NULL;
    slot = slot_of(map, key, size, hash_of(key, size));
    return slot->key ? &slot->number : NULL;
}

static bool is_full(const struct as_hash_map *map)
{
    return map->n >= map->capacity / 4 * 3;
}

static bool grow(struct as_hash_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    struct as_hash_map larger = {.capacity = capacity, .n = map->n};

    larger.slots = capacity > map->capacity ? as_alloc_zero(capacity, sizeof *larger.slots) : NULL;
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct as_hash_slot *old = &map->slots[i];

        if (old->key)
            *slot_of(&larger, old->key, old->size, old->hash) = *old;
    }
    as_free(map->slots);
    *map = larger;
    return true;
}

int as_hash_map_put(struct as_hash_map *map, const void *key, size_t size, uint64_t number)
{
    uint32_t hash = hash_of(key, size);
    struct as_hash_slot *slot;

    if (size > UINT32_MAX)
        return ASSAY_ERR_NOMEM;
    if (map->capacity) {
        slot = slot_of(map, key, size, hash);
        if (slot->key)
            return 0;
    }
    if (is_full(map) && !grow(map))
        return ASSAY_ERR_NOMEM;
    *slot_of(map, key, size, hash) = (struct as_hash_slot){key, (uint32_t)size, hash, number};
    map->n++;
    return 1;
}

size_t as_hash_map_growth(const struct as_hash_map *map)
{
    return is_full(map) ? (map->capacity ? 2 * map->capacity : FIRST_CAPACITY) * sizeof *map->slots
                        : 0;
}

size_t as_hash_map_bytes(const struct as_hash_map *map)
{
    return map->capacity * sizeof *map->slots;
}

void as_hash_map_fini(struct as_hash_map *map)
{
    as_free(map->slots);
    *map = (struct as_hash_map){0};
}
