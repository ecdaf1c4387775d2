/* preload/heap_count.h - counts blocks by site, layer and thread in the share.
 * Nothing here locks or allocates; what finds no place is counted in the totals. */
#ifndef AS_PRELOAD_HEAP_COUNT_H
#define AS_PRELOAD_HEAP_COUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "heap_arena.h"
#include "heap_table.h"
#include "life.h"

#define AS_HEAP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define AS_HEAP_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The calling thread's block; NULL: it has none yet, or none any more. */
extern __thread struct as_heap_thread *as_heap_self;

/* Makes the key that tells when a thread ends; once. */
bool as_heap_threads_prepare(void);

/* A block for the calling thread; NULL: there is no room, or the thread is at its end. */
struct as_heap_thread *as_heap_thread_start(struct as_heap_shm *heap);

/* In a forked child: the thread's block was its parent's. */
void as_heap_threads_forked(void);

/* Memory of the share about to be written first; false: there is none. */
bool as_heap_touch(const void *at, size_t bytes);

/* In a new share: nothing of the index of cells is there. */
void as_heap_cells_begin(void);

/* Whether there is a place for sampled stacks, and for layers; asked for when the first comes. */
bool as_heap_have_stacks(struct as_heap_shm *heap);
bool as_heap_have_layers(struct as_heap_shm *heap);

/* The cell of a site; `key` is layer << 2 | kind. 0: the table is full. */
uint32_t as_heap_cell_find(struct as_heap_shm *heap, uint64_t site, uint32_t key);

/* A page of counters around that cell for the thread; false: no room. */
bool as_heap_counters_add(struct as_heap_shm *heap, struct as_heap_thread *self, uint32_t cell);

/* Tells the others what the thread kept to itself of the live total. */
void as_heap_flush(struct as_heap_shm *heap, struct as_heap_thread *self);

/* The total is now this, and was that at most since it was last reported. */
void as_heap_peak(struct as_heap_shm *heap, int64_t total, int64_t most);

/* Counts a new block in whatever way it takes, and puts it into the table. Returns `p`. It is
 * jumped to, so that no frame of ours stands between it and the program's. */
void *as_heap_note_slow(void *p, uint64_t size_bytes, uint64_t site, uint32_t kind);

/* A block was taken out of the table: it is freed, or, when `moved`, became another one. */
void as_heap_drop_slow(struct as_heap_shm *heap, const void *p, const struct as_block *b,
                       bool moved);

/* A block that is not in the table is freed. */
void as_heap_foreign(struct as_heap_shm *heap);

/* Anonymous mappings: the cell of the calling thread's layer and that site, and what is counted in
 * it: bytes that came or went, and whether a whole mapping did. */
uint32_t as_heap_mapping_cell(struct as_heap_shm *heap, uint64_t site);
void as_heap_mapped(struct as_heap_shm *heap, uint32_t cell, uint64_t bytes, bool whole);
void as_heap_unmapped(struct as_heap_shm *heap, uint32_t cell, uint64_t bytes, bool whole);

static inline void *as_heap_at(const struct as_heap_shm *heap, uint64_t offset)
{
    return (char *)(uintptr_t)heap + offset;
}

static inline struct as_heap_thread *as_heap_thread_at(const struct as_heap_shm *heap,
                                                       uint32_t number)
{
    const _Atomic uint32_t *page = as_heap_at(heap, AS_HEAP_THREADS_AT);
    uint32_t at = atomic_load_explicit(&page[number], memory_order_acquire);

    return at ? as_heap_page(at) : NULL;
}

/* The counters of a cell; NULL: the thread has none there yet. */
static inline struct as_heap_counter *as_heap_counter_at(const struct as_heap_thread *self,
                                                         uint32_t cell)
{
    uint32_t page =
        atomic_load_explicit(&self->page[cell / AS_HEAP_PAGE_COUNTERS], memory_order_relaxed);

    return AS_HEAP_LIKELY(page)
               ? (struct as_heap_counter *)as_heap_page(page) + cell % AS_HEAP_PAGE_COUNTERS
               : NULL;
}

/* One writer: no read-modify-write needed, only that readers see whole numbers. */
static inline void as_heap_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline uint64_t as_heap_cache_tag(uint64_t site, uint32_t key)
{
    return site | (uint64_t)key << 48;
}

static inline uint32_t as_heap_cache_slot(uint64_t tag)
{
    return (uint32_t)(tag ^ tag >> 8 ^ tag >> 48) % AS_HEAP_CACHE;
}

static inline int64_t as_heap_thread_live(const struct as_heap_thread *t)
{
    return (int64_t)(atomic_load_explicit(&t->allocated_bytes, memory_order_relaxed) -
                     atomic_load_explicit(&t->freed_bytes, memory_order_relaxed));
}

#endif
