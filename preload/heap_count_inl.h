/* preload/heap_count_inl.h - what happens within each malloc and free: a dozen additions.
 * Budget: 25 ns of CPU time for a pair of both over glibc's own. What is rare goes the slow way. */
#ifndef AS_PRELOAD_HEAP_COUNT_INL_H
#define AS_PRELOAD_HEAP_COUNT_INL_H

#include "heap_count.h"

#define AS_HEAP_INLINE static inline __attribute__((always_inline))

/* Counts the block of `size` bytes at `p` and puts it into the table. False: that needs the slow
 * way, and nothing was done. */
AS_HEAP_INLINE bool as_heap_note_quick(void *p, uint64_t size, uint64_t site, uint32_t kind)
{
    struct as_heap_shm *heap = as_life.quick;
    struct as_heap_thread *self = as_heap_self;
    const struct as_heap_cached *cached;
    struct as_heap_counter *counter;
    uint64_t tag = as_heap_cache_tag(site, kind), allocated;
    int64_t live;

    if (AS_HEAP_UNLIKELY(!heap || !self))
        return false;
    cached = &self->cache[as_heap_cache_slot(tag)];
    allocated = atomic_load_explicit(&self->allocated_bytes, memory_order_relaxed) + size;
    if (AS_HEAP_UNLIKELY(cached->tag != tag || allocated >= self->sample_at))
        return false;
    if (AS_HEAP_UNLIKELY(!as_heap_table_fits((uintptr_t)p, size) ||
                         !as_heap_table_put_quick((uintptr_t)p, cached->cell, size)))
        return false;
    counter = as_heap_counter_number(cached->counter_at);
    as_heap_add(&counter->allocations, 1);
    as_heap_add(&counter->allocated_bytes, size);
    as_heap_add(&self->allocations, 1);
    atomic_store_explicit(&self->allocated_bytes, allocated, memory_order_relaxed);
    self->last_block = (uintptr_t)p;
    live = as_heap_thread_live(self);
    if (live > atomic_load_explicit(&self->most_bytes, memory_order_relaxed)) {
        atomic_store_explicit(&self->most_bytes, live, memory_order_relaxed);
        if (AS_HEAP_UNLIKELY(live > self->tell_above_bytes))
            as_heap_flush(heap, self);
    }
    return true;
}

/* The block at `p` is about to be freed: it is counted, and out of the table when the caller frees
 * it, because another thread may be given its address at once. False: it is not of the usual kind,
 * nothing was done. */
AS_HEAP_INLINE bool as_heap_drop_quick(const void *p)
{
    struct as_heap_shm *heap = as_life.quick;
    struct as_heap_thread *self = as_heap_self;
    struct as_heap_counter *counter;
    struct as_heap_table_slot *slot;
    uint64_t size, cell;

    if (AS_HEAP_UNLIKELY(!heap || !p || !self))
        return false;
    slot = as_heap_table_find_quick((uintptr_t)p);
    if (AS_HEAP_UNLIKELY(!slot))
        return false;
    size = atomic_load_explicit(&slot->value, memory_order_relaxed);
    if (AS_HEAP_UNLIKELY(size >> AS_TABLE_SIZE_BITS))
        return false;
    cell = atomic_load_explicit(&slot->key, memory_order_relaxed) % AS_HEAP_CELLS;
    counter = as_heap_counter_at(self, (uint32_t)cell);
    if (AS_HEAP_UNLIKELY(!counter))
        return false;
    atomic_store_explicit(&slot->key, 0, memory_order_release);
    as_heap_add(&counter->frees, 1);
    as_heap_add(&counter->freed_bytes, size);
    if (self->last_block == (uintptr_t)p) {
        as_heap_add(&counter->temporary, 1);
        self->last_block = 0;
    }
    as_heap_add(&self->frees, 1);
    as_heap_add(&self->freed_bytes, size);
    if (AS_HEAP_UNLIKELY(as_heap_thread_live(self) < self->tell_below_bytes))
        as_heap_flush(heap, self);
    return true;
}

#endif
