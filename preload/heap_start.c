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
    if (!as_heap_touch(as_heap_at(heap, AS_HEAP_CELL_INDEX_AT), (size_t)AS_HEAP_CELL_SLOTS * 4) ||
        !as_heap_touch(pages, sizeof *pages) ||
        !as_heap_touch(as_heap_at(heap, AS_HEAP_LAYER_INDEX_AT), (size_t)AS_HEAP_LAYER_SLOTS * 4))
        return false;
    if (heap->sample_bytes &&
        !as_heap_touch(as_heap_at(heap, AS_HEAP_STACK_INDEX_AT), (size_t)AS_HEAP_STACK_SLOTS * 4))
        return false;
    if (as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes,
                         AS_HEAP_CELL_SLOTS * 4 + AS_HEAP_LAYER_SLOTS * 4 + 3 * AS_HEAP_PAGE +
                             (heap->sample_bytes ? AS_HEAP_STACK_SLOTS * 4 : 0));
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
