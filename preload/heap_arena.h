/* preload/heap_arena.h - pages of the share behind its tables, mapped when they are needed.
 * Address space that nobody uses would count against the program's limits, and be locked with it.
 */
#ifndef AS_PRELOAD_HEAP_ARENA_H
#define AS_PRELOAD_HEAP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/shm/heap_shm.h"
#include "trace/shm/target_shm.h"

#define AS_ARENA_CHUNK_PAGES    1024u
#define AS_ARENA_CHUNK_COUNTERS (AS_ARENA_CHUNK_PAGES * AS_HEAP_PAGE_COUNTERS)
#define AS_ARENA_CHUNKS         (AS_SHM_HEAP_BYTES / AS_HEAP_PAGE / AS_ARENA_CHUNK_PAGES)

/* Where each chunk of the heap's part is; NULL: not mapped yet. Those that the tables are in are
 * side by side from the beginning on. */
extern char *_Atomic as_heap_chunk[AS_ARENA_CHUNKS];

void as_heap_arena_start(struct as_heap_shm *heap);

/* In a forked child: chunks behind the tables are its parent's, and go. */
void as_heap_arena_forked(void);

/* Pages, zero; 0: none left. */
uint32_t as_heap_pages(struct as_heap_shm *heap, uint32_t n);

/* A page that was handed out. */
static inline void *as_heap_page(uint32_t page)
{
    char *chunk =
        atomic_load_explicit(&as_heap_chunk[page / AS_ARENA_CHUNK_PAGES], memory_order_acquire);

    return chunk + (size_t)(page % AS_ARENA_CHUNK_PAGES) * AS_HEAP_PAGE;
}

/* A counter by its number from the beginning of the heap's part, as in the threads' caches. */
static inline struct as_heap_counter *as_heap_counter_number(uint32_t number)
{
    char *chunk = atomic_load_explicit(&as_heap_chunk[number / AS_ARENA_CHUNK_COUNTERS],
                                       memory_order_acquire);

    return (struct as_heap_counter *)(void *)chunk + number % AS_ARENA_CHUNK_COUNTERS;
}

#endif
