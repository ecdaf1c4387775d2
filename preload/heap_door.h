/* preload/heap_door.h - the functions that stand behind the ones we take the place of.
 * Whatever malloc the program would call without us is called, with the arguments as they were. */
#ifndef AS_PRELOAD_HEAP_DOOR_H
#define AS_PRELOAD_HEAP_DOOR_H

#include <stdbool.h>
#include <stddef.h>

/* Until they are found, small functions of our own: the search itself may allocate. */
struct as_heap_door {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
    void *(*memalign)(size_t align, size_t size);
    int (*posix_memalign)(void **out, size_t align, size_t size);
    void *(*aligned_alloc)(size_t align, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
};

extern struct as_heap_door as_heap_door;

/* Whether a program's call of malloc comes to us; asked before the door opens. */
bool as_heap_is_first(void);

/* Finds the functions behind ours. False: calls do not come to us, or there are none behind. */
bool as_heap_door_find(void);

/* From then on they are called. After all searches: one that fails allocates its sentence, which
 * must not be in the program's heap. */
void as_heap_door_open(void);

/* Whether that address is of the library that brings malloc: what it maps is the heap itself. */
bool as_heap_is_allocator(const void *address);

/* A block, counted under `site` where counting is on; what operator new is made of. The aligned one
 * has `size` bytes of which `wanted` are counted. */
void *as_heap_take(size_t size, unsigned kind, const void *site);
void *as_heap_take_aligned(size_t align, size_t size, size_t wanted, unsigned kind,
                           const void *site);
/* What free() does. */
void as_heap_put(void *block);

/* A block that somebody else's operator new made: counted, unless it was when that called malloc.
 * Returns `block`. The other comes before it goes to their delete, and with NULL after that. */
void *as_heap_took(void *block, size_t size, unsigned kind, const void *site);
void as_heap_puts(const void *block);

#endif
