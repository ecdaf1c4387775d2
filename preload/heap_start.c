/* preload/heap_start.c - the heap part of the share, made ready and handed on to children.
 * Called by attach.c alone, when nothing else of the program runs. */
#include "heap_start.h"

#include "attach.h"
#include "heap_count.h"
#include "heap_door.h"
#include "heap_layers.h"
#include "heap_map.h"
#include "heap_new.h"
#include "own_memory.h"

static bool countable;

void as_heap_prepare(void)
{
    countable = as_heap_door_find();
    as_heap_new_prepare(countable);
    as_heap_map_prepare();
    as_heap_door_open();
}

/* Tables that many programs never need. */
enum { NOT_ASKED, THERE, MISSING };

static _Atomic int stack_index, layer_index;

static bool have(_Atomic int *state, const void *at, uint32_t bytes)
{
    int before = NOT_ASKED, is = atomic_load_explicit(state, memory_order_acquire);

    if (is != NOT_ASKED)
        return is == THERE;
    is = as_heap_touch(at, bytes) ? THERE : MISSING;
    if (!atomic_compare_exchange_strong(state, &before, is))
        return before == THERE;
    if (is == THERE && as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes, bytes);
    return is == THERE;
}

bool as_heap_have_stacks(struct as_heap_shm *heap)
{
    return have(&stack_index, as_heap_at(heap, AS_HEAP_STACK_INDEX_AT), AS_HEAP_STACK_SLOTS * 4);
}

bool as_heap_have_layers(struct as_heap_shm *heap)
{
    return have(&layer_index, as_heap_at(heap, AS_HEAP_LAYER_INDEX_AT), AS_HEAP_LAYER_SLOTS * 4);
}

/* The first block is the one that all share; number 0 of each table means none. */
static bool lay_out(struct as_heap_shm *heap, uint32_t inherited)
{
    _Atomic uint32_t *pages = as_heap_at(heap, AS_HEAP_THREADS_AT);
    uint32_t page;

    heap->capacity_pages = AS_SHM_HEAP_BYTES / AS_HEAP_PAGE;
    heap->sample_bytes = as_watching(AS_WATCH_STACKS) ? AS_HEAP_SAMPLE_BYTES : 0;
    heap->inherited_cells = inherited;
    atomic_store(&heap->n_cells, inherited ? inherited : 1);
    atomic_store(&heap->n_stacks, 1);
    atomic_store(&heap->n_nodes, 1);
    atomic_store(&heap->n_layers, 1);
    atomic_store(&heap->n_threads, 1);
    atomic_store(&heap->arena_pages, AS_HEAP_ARENA_AT / AS_HEAP_PAGE);
    as_heap_cells_begin();
    atomic_store(&stack_index, NOT_ASKED);
    atomic_store(&layer_index, NOT_ASKED);
    if (!as_heap_touch(pages, sizeof *pages))
        return false;
    if (as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes, (uint64_t)3 * AS_HEAP_PAGE);
    page = as_heap_pages(heap, AS_HEAP_THREAD_PAGES);
    atomic_store(&pages[0], page);
    return page != 0;
}

static void start(struct as_shm_header *shm, uint32_t inherited)
{
    struct as_heap_shm *heap = (void *)((char *)shm + AS_SHM_HEAP_AT);
    static bool prepared;

    if (!as_heap_touch(heap, sizeof *heap))
        return;
    as_heap_arena_start(heap);
    heap->version = AS_HEAP_VERSION;
    prepared = prepared || (countable && as_heap_threads_prepare() &&
                            as_heap_table_start(as_life.watches & 1u << AS_WATCH_FOLLOW));
    if (!countable)
        heap->declined = AS_HEAP_OWN_MALLOC;
    else if (!lay_out(heap, inherited) || !prepared)
        heap->declined = AS_HEAP_NO_CAPACITY;
    if (heap->declined)
        return;
    as_own_memory_note(shm);
    atomic_store(&heap->layers_bound, atomic_load(&as_heap_source) != NULL);
    as_life.heap = heap;
    as_life.quick = as_heap_layers_ever() || as_heap_table_is_thorough() ? NULL : heap;
}

void as_heap_start(struct as_shm_header *shm)
{
    start(shm, 0);
}

/* Whole pages of counters: the child has none of its parent's, and so knows its parent's blocks. */
uint32_t as_heap_inherited(const struct as_shm_header *shm)
{
    const struct as_heap_shm *heap = (const void *)((const char *)shm + AS_SHM_HEAP_AT);
    uint32_t n = atomic_load(&heap->n_cells);

    if (n == 0 || n >= AS_HEAP_CELLS)
        return n ? AS_HEAP_CELLS : 0;
    return (n + AS_HEAP_PAGE_COUNTERS - 1) / AS_HEAP_PAGE_COUNTERS * AS_HEAP_PAGE_COUNTERS;
}

void as_heap_follow(struct as_shm_header *shm, uint32_t inherited)
{
    as_heap_map_forked();
    as_heap_threads_forked();
    as_heap_table_forked();
    start(shm, inherited);
}
