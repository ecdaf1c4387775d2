/* preload/heap_table.h - the blocks that are live, by address, beside the heap and not in it.
 * No locks: a slot is claimed by one exchange, and only who frees a block empties its slot.
 *
 *   key    address 48 bits | cell 16; 0: the slot is free
 *   value  size 37 bits | call of the layer 26 | 0, or number in the table of details 32 | 1
 *
 * A bucket is a cache line of four slots, and a page of the table holds the blocks of a few pages
 * of the heap: neighbors there are neighbors here. A block may be in any of AS_TABLE_PROBES
 * buckets; who finds one full sets its bit in `passed`, so that nobody looks further without need.
 */
#ifndef AS_PRELOAD_HEAP_TABLE_H
#define AS_PRELOAD_HEAP_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_TABLE_BUCKET      4u
#define AS_TABLE_PROBES      16u
#define AS_TABLE_LINE_BITS   7u  /* of the heap: what a bucket is for */
#define AS_TABLE_PAGE_BITS   12u /* of the heap: what a region is for */
#define AS_TABLE_REGION_BITS 5u  /* buckets of a region */
#define AS_TABLE_USED_BITS   6u  /* buckets of a page of the table */
#define AS_TABLE_CELL_BITS   16u
#define AS_TABLE_SIZE_BITS   37u
#define AS_TABLE_CALL_MAX    ((1u << 26) - 1)
#define AS_TABLE_MORE        (UINT64_C(1) << 63)
#define AS_TABLE_REGION_MASK ((1u << AS_TABLE_REGION_BITS) - 1)
#define AS_TABLE_INLINE      static inline __attribute__((always_inline))
#define AS_TABLE_FOURS(step) step(0) step(1) step(2) step(3)

struct as_heap_table_slot {
    _Atomic uint64_t key, value;
};

struct as_heap_table {
    struct as_heap_table_slot *slot;
    _Atomic uint64_t *passed; /* a bit for each bucket */
    _Atomic bool *used;       /* for each page of slots: it was written to */
    uint32_t shift;           /* of a hash, to the number of a region */
    size_t bytes;             /* of all three */
    const struct as_heap_table *older;
};

struct as_block {
    uint64_t size_bytes;
    uint32_t cell, stack, call;
};

/* Blocks go into the newest; NULL until the first is made. */
extern const struct as_heap_table *_Atomic as_heap_table_newest;

/* Makes the first table; true when there is one. Forked children have theirs from their parent,
 * when they need it, and call the other first. */
bool as_heap_table_start(bool children_need_it);
void as_heap_table_forked(void);

/* Puts a block in. False: no memory for it, or an address that does not fit. When a block of that
 * address was there, which was freed without our knowledge, *replaced is set and it is in `old`. */
bool as_heap_table_put(uintptr_t at, const struct as_block *b, struct as_block *old,
                       bool *replaced);

/* Makes the next put of blocks with stacks possible: a number for the details of one; false: no
 * memory. The other gives the stack, and the rest of `b`, to a block that is in the table. */
bool as_heap_table_reserve(uint32_t *detail);
void as_heap_table_set_stack(uintptr_t at, uint32_t detail, const struct as_block *b);

/* Takes a block out. False: it is not there. */
bool as_heap_table_take(uintptr_t at, struct as_block *b);

bool as_heap_table_has(uintptr_t at);

/* Whether a block was freed without our knowledge: others will have been, so that each new one is
 * looked for in all places; as_heap_table_put_quick() does not. */
bool as_heap_table_is_thorough(void);

/* Memory of the tables that was written to. */
uint64_t as_heap_table_used_bytes(void);

/* Memory of our own beside the tables, accounted for as theirs; NULL: there is none. The other
 * tells that so many bytes more of it were written to. */
void *as_heap_table_map(size_t bytes);
void as_heap_table_count(uint64_t bytes);

/* Gives its memory back: it is not used any more. */
void as_heap_table_let_go(void);

AS_TABLE_INLINE uint64_t as_heap_table_hash(uintptr_t at)
{
    return (at >> AS_TABLE_PAGE_BITS) * UINT64_C(0x9e3779b97f4a7c15);
}

AS_TABLE_INLINE size_t as_heap_table_bucket(const struct as_heap_table *t, uintptr_t at,
                                            uint64_t hash)
{
    uint64_t line = (at >> AS_TABLE_LINE_BITS ^ hash >> 20) & AS_TABLE_REGION_MASK;

    return (size_t)(hash >> t->shift << AS_TABLE_REGION_BITS | line);
}

AS_TABLE_INLINE uint64_t as_heap_table_key(uintptr_t at, uint32_t cell)
{
    return (uint64_t)at << AS_TABLE_CELL_BITS | cell;
}

AS_TABLE_INLINE bool as_heap_table_is_at(uint64_t key, uintptr_t at)
{
    return key >> AS_TABLE_CELL_BITS == at;
}

/* Whether the block needs neither more bits for its address nor more for its size. */
AS_TABLE_INLINE bool as_heap_table_fits(uintptr_t at, uint64_t size_bytes)
{
    return ((uint64_t)at >> (64 - AS_TABLE_CELL_BITS) | size_bytes >> AS_TABLE_SIZE_BITS) == 0;
}

AS_TABLE_INLINE bool as_heap_table_is_used(const struct as_heap_table *t, size_t bucket)
{
    return atomic_load_explicit(&t->used[bucket >> AS_TABLE_USED_BITS], memory_order_relaxed);
}

/* Puts the block into the first bucket it may be in. False: it is full, or on a new page, or holds
 * that address; or another thread was quicker. Nothing was done then. */
AS_TABLE_INLINE bool as_heap_table_put_quick(uintptr_t at, uint32_t cell, uint64_t size_bytes)
{
    const struct as_heap_table *t =
        atomic_load_explicit(&as_heap_table_newest, memory_order_acquire);
    size_t bucket = as_heap_table_bucket(t, at, as_heap_table_hash(at));
    struct as_heap_table_slot *s = t->slot + bucket * AS_TABLE_BUCKET, *empty = NULL;
    uint64_t none = 0;

    if (!as_heap_table_is_used(t, bucket))
        return false;
#define LOOK(i)                                                                                    \
    {                                                                                              \
        uint64_t key = atomic_load_explicit(&s[i].key, memory_order_relaxed);                      \
                                                                                                   \
        if (as_heap_table_is_at(key, at))                                                          \
            return false;                                                                          \
        empty = key ? empty : &s[i];                                                               \
    }
    AS_TABLE_FOURS(LOOK)
#undef LOOK
    if (!empty ||
        !atomic_compare_exchange_strong_explicit(&empty->key, &none, as_heap_table_key(at, cell),
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_store_explicit(&empty->value, size_bytes, memory_order_relaxed);
    return true;
}

/* The slot of a block that is where it most likely is; NULL: it is elsewhere, or nowhere. */
AS_TABLE_INLINE struct as_heap_table_slot *as_heap_table_find_quick(uintptr_t at)
{
    const struct as_heap_table *t =
        atomic_load_explicit(&as_heap_table_newest, memory_order_acquire);
    size_t bucket = as_heap_table_bucket(t, at, as_heap_table_hash(at));
    struct as_heap_table_slot *s = t->slot + bucket * AS_TABLE_BUCKET;

    if (!as_heap_table_is_used(t, bucket))
        return NULL;
#define LOOK(i)                                                                                    \
    if (as_heap_table_is_at(atomic_load_explicit(&s[i].key, memory_order_relaxed), at))            \
        return &s[i];
    AS_TABLE_FOURS(LOOK)
#undef LOOK
    return NULL;
}

#endif
