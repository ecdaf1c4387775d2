/* preload/heap_early.h - blocks for the loader while nobody knows yet which malloc is behind ours.
 * They are few, lie outside the heap, and are never used twice. */
#ifndef AS_PRELOAD_HEAP_EARLY_H
#define AS_PRELOAD_HEAP_EARLY_H

#include <stdbool.h>
#include <stddef.h>

#include "heap_door.h"

/* The door as it is before it opens. */
#define AS_HEAP_DOOR_EARLY                                                                         \
    {                                                                                              \
        .malloc = as_heap_early_malloc, .calloc = as_heap_early_calloc,                            \
        .realloc = as_heap_early_realloc, .free = as_heap_early_free,                              \
        .memalign = as_heap_early_memalign, .posix_memalign = as_heap_early_posix_memalign,        \
        .aligned_alloc = as_heap_early_memalign, .valloc = as_heap_early_valloc,                   \
        .pvalloc = as_heap_early_valloc                                                            \
    }

void *as_heap_early_malloc(size_t size);
void *as_heap_early_calloc(size_t count, size_t size);
void *as_heap_early_realloc(void *block, size_t size);
void as_heap_early_free(void *block);
void *as_heap_early_memalign(size_t align, size_t size);
int as_heap_early_posix_memalign(void **out, size_t align, size_t size);
void *as_heap_early_valloc(size_t size);

/* Whether the block is one of those. */
bool as_heap_is_early(const void *block);

/* An early block becomes one of malloc's; its own memory stays. */
void *as_heap_early_move(const void *block, size_t size, void *(*malloc_next)(size_t size));

/* How many were asked for. */
size_t as_heap_early_count(void);

#endif
