/* preload/heap_slow.c - counting where the quick way does not do: first times, layers, samples,
 * threads without a block of their own. What it calls keeps errno. */
#include "heap_count.h"
#include "heap_layers.h"
#include "heap_samples.h"

/* Whether blocks of that cell came from the process that this one was forked from. */
static bool is_inherited(const struct as_heap_shm *heap, uint32_t cell)
{
    return cell > 0 && cell < heap->inherited_cells;
}

/* The counters of a cell, made when they are not there; NULL: no room, or they would lie beside
 * those of inherited cells, which have none. */
static struct as_heap_counter *counter_of(struct as_heap_shm *heap, struct as_heap_thread *t,
                                          uint32_t cell)
{
    if (cell < heap->inherited_cells)
        return NULL;
    if (!as_heap_counter_at(t, cell) && !as_heap_counters_add(heap, t, cell))
        return NULL;
    return as_heap_counter_at(t, cell);
}

/* Into the table. A block that was there had been freed without our knowledge, and now is counted
 * so: it is not a leak. From then on each block is looked for in all places, the slow way. */
static bool put(struct as_heap_shm *heap, const void *p, const struct as_block *b)
{
    struct as_block old;
    bool replaced, is_put = as_heap_table_put((uintptr_t)p, b, &old, &replaced);

    if (AS_HEAP_UNLIKELY(replaced)) {
        __atomic_store_n(&as_life.quick, NULL, __ATOMIC_RELEASE);
        atomic_fetch_add(&as_heap_thread_at(heap, 0)->unseen_frees, 1);
        as_heap_drop_slow(heap, p, &old, true);
    }
    return is_put;
}

/* In the first block, which all threads without one share: added to by many. */
static void note_shared(struct as_heap_shm *heap, void *p, uint64_t site, uint32_t kind,
                        struct as_block *b)
{
    struct as_heap_thread *all = as_heap_thread_at(heap, 0);
    struct as_heap_counter *c;
    int64_t before, size = (int64_t)b->size_bytes;

    b->cell = as_heap_cell_find(heap, site, kind);
    if (!put(heap, p, b)) {
        atomic_fetch_add(&all->unplaced, 1);
        return;
    }
    c = counter_of(heap, all, b->cell);
    if (c) {
        atomic_fetch_add(&c->allocations, 1);
        atomic_fetch_add(&c->allocated_bytes, b->size_bytes);
    }
    atomic_fetch_add(&all->allocations, 1);
    atomic_fetch_add(&all->allocated_bytes, b->size_bytes);
    atomic_fetch_add(&all->unplaced, !c || !b->cell);
    before = atomic_fetch_add(&heap->live_bytes, size);
    as_heap_peak(heap, before + size, before + size);
}

static void drop_shared(struct as_heap_shm *heap, const struct as_block *b)
{
    struct as_heap_thread *all = as_heap_thread_at(heap, 0);
    struct as_heap_counter *c = counter_of(heap, all, b->cell);

    if (c) {
        atomic_fetch_add(&c->frees, 1);
        atomic_fetch_add(&c->freed_bytes, b->size_bytes);
    }
    atomic_fetch_add(&all->frees, 1);
    atomic_fetch_add(&all->freed_bytes, b->size_bytes);
    atomic_fetch_sub(&heap->live_bytes, (int64_t)b->size_bytes);
}

/* Of counters that are there. */
static uint32_t number_of(const struct as_heap_thread *self, uint32_t cell)
{
    uint32_t page =
        atomic_load_explicit(&self->page[cell / AS_HEAP_PAGE_COUNTERS], memory_order_relaxed);

    return page * AS_HEAP_PAGE_COUNTERS + cell % AS_HEAP_PAGE_COUNTERS;
}

/* Found by the thread itself next time; the cache forgets what was there. */
static struct as_heap_counter *find(struct as_heap_shm *heap, struct as_heap_thread *self,
                                    uint64_t site, uint32_t key, uint32_t *cell)
{
    uint64_t tag = as_heap_cache_tag(site, key);
    struct as_heap_cached *cached = &self->cache[as_heap_cache_slot(tag)];
    struct as_heap_counter *c;

    if (cached->tag == tag) {
        *cell = cached->cell;
        return as_heap_counter_number(cached->counter_at);
    }
    *cell = as_heap_cell_find(heap, site, key);
    c = counter_of(heap, self, *cell);
    if (c && *cell)
        *cached = (struct as_heap_cached){tag, number_of(self, *cell), *cell};
    return c;
}

/* The number of its stack is kept beside the table. */
static inline __attribute__((always_inline)) void sample(struct as_heap_shm *heap,
                                                         struct as_heap_thread *self, const void *p,
                                                         uint32_t layer, struct as_block *b)
{
    uint32_t detail;

    if (!as_heap_have_stacks(heap)) {
        self->sample_at = UINT64_MAX;
        return;
    }
    if (!as_heap_table_reserve(&detail))
        return;
    b->stack = as_heap_sample(heap, self, layer, b->size_bytes);
    as_heap_table_set_stack((uintptr_t)p, detail, b);
}

static inline __attribute__((always_inline)) void note_own(struct as_heap_shm *heap,
                                                           struct as_heap_thread *self, void *p,
                                                           uint64_t site, uint32_t kind,
                                                           struct as_block *b)
{
    uint32_t layer = as_heap_layer_now(heap, self);
    struct as_heap_counter *c = find(heap, self, site, layer << 2 | kind, &b->cell);
    int64_t live;

    b->call = self->call_tag;
    if (!put(heap, p, b)) {
        as_heap_add(&self->unplaced, 1);
        return;
    }
    if (c) {
        as_heap_add(&c->allocations, 1);
        as_heap_add(&c->allocated_bytes, b->size_bytes);
    }
    if (!c || !b->cell)
        as_heap_add(&self->unplaced, 1);
    as_heap_add(&self->allocations, 1);
    as_heap_add(&self->allocated_bytes, b->size_bytes);
    self->last_block = (uintptr_t)p;
    if (atomic_load_explicit(&self->allocated_bytes, memory_order_relaxed) >= self->sample_at)
        sample(heap, self, p, layer, b);
    if (layer)
        as_heap_layer_grew(self);
    live = as_heap_thread_live(self);
    if (live > atomic_load_explicit(&self->most_bytes, memory_order_relaxed))
        atomic_store_explicit(&self->most_bytes, live, memory_order_relaxed);
    if (live > self->tell_above_bytes)
        as_heap_flush(heap, self);
}

static void drop_own(struct as_heap_shm *heap, struct as_heap_thread *self, const void *p,
                     const struct as_block *b, bool moved)
{
    uint32_t layer = as_heap_layer_now(heap, self);
    struct as_heap_counter *c = counter_of(heap, self, b->cell);
    bool last = self->last_block == (uintptr_t)p;

    if (c) {
        as_heap_add(&c->frees, 1);
        as_heap_add(&c->freed_bytes, b->size_bytes);
        if (last && !moved)
            as_heap_add(&c->temporary, 1);
        if (layer && b->call == self->call_tag)
            as_heap_add(&c->same_layer, 1);
    }
    if (last)
        self->last_block = 0;
    as_heap_add(&self->frees, 1);
    as_heap_add(&self->freed_bytes, b->size_bytes);
    if (as_heap_thread_live(self) < self->tell_below_bytes)
        as_heap_flush(heap, self);
}

void *as_heap_note_slow(void *p, uint64_t size_bytes, uint64_t site, uint32_t kind)
{
    struct as_block b = {.size_bytes = size_bytes};
    struct as_heap_shm *heap = as_life.heap;
    struct as_heap_thread *self = as_heap_self;

    if (AS_HEAP_UNLIKELY(!self))
        self = as_heap_thread_start(heap);
    if (AS_HEAP_LIKELY(self))
        note_own(heap, self, p, site, kind, &b);
    else
        note_shared(heap, p, site, kind, &b);
    return p;
}

void as_heap_drop_slow(struct as_heap_shm *heap, const void *p, const struct as_block *b,
                       bool moved)
{
    struct as_heap_thread *self = as_heap_self;

    if (AS_HEAP_UNLIKELY(is_inherited(heap, b->cell))) {
        atomic_fetch_add(&as_heap_thread_at(heap, 0)->inherited_frees, 1);
        return;
    }
    if (AS_HEAP_UNLIKELY(b->stack))
        as_heap_sample_freed(heap, b);
    if (AS_HEAP_UNLIKELY(!self))
        self = as_heap_thread_start(heap);
    if (AS_HEAP_LIKELY(self))
        drop_own(heap, self, p, b, moved);
    else
        drop_shared(heap, b);
}

void as_heap_foreign(struct as_heap_shm *heap)
{
    struct as_heap_thread *all = as_heap_thread_at(heap, 0);

    atomic_fetch_add(&all->foreign_frees, 1);
}

uint32_t as_heap_mapping_cell(struct as_heap_shm *heap, uint64_t site)
{
    struct as_heap_thread *self = as_heap_self ? as_heap_self : as_heap_thread_start(heap);
    uint32_t layer = self ? as_heap_layer_now(heap, self) : 0;

    return as_heap_cell_find(heap, site, layer << 2 | AS_HEAP_CELL_MAPPING);
}

/* Rare enough for additions that any thread may make in any block. */
static struct as_heap_thread *any_block(struct as_heap_shm *heap)
{
    return as_heap_self ? as_heap_self : as_heap_thread_at(heap, 0);
}

void as_heap_mapped(struct as_heap_shm *heap, uint32_t cell, uint64_t bytes, bool whole)
{
    struct as_heap_thread *t = any_block(heap);
    struct as_heap_counter *c = counter_of(heap, t, cell);

    if (c) {
        atomic_fetch_add(&c->allocations, whole);
        atomic_fetch_add(&c->allocated_bytes, bytes);
    }
    atomic_fetch_add(&t->mapped_bytes, bytes);
    atomic_fetch_add(&t->unplaced, !c || !cell);
}

void as_heap_unmapped(struct as_heap_shm *heap, uint32_t cell, uint64_t bytes, bool whole)
{
    struct as_heap_thread *t = any_block(heap);
    struct as_heap_counter *c;

    if (is_inherited(heap, cell))
        return;
    c = counter_of(heap, t, cell);
    if (c) {
        atomic_fetch_add(&c->frees, whole);
        atomic_fetch_add(&c->freed_bytes, bytes);
    }
    atomic_fetch_add(&t->unmapped_bytes, bytes);
}
