/* preload/heap_door.h - the functions that stand behind the ones we take the place of.
 * glibc's own are called by their other names; a malloc the program brings is left alone. */
#ifndef AS_PRELOAD_HEAP_DOOR_H
#define AS_PRELOAD_HEAP_DOOR_H

#include <stdbool.h>
#include <stddef.h>

/* Names under which glibc exports them for libraries like this one. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);
extern void *__libc_memalign(size_t align, size_t size);

enum as_heap_mode {
    AS_HEAP_MODE_EARLY,  /* our constructor has not run: blocks are marked, not counted */
    AS_HEAP_MODE_LIBC,   /* glibc's malloc is behind us */
    AS_HEAP_MODE_FOREIGN /* somebody else's is: everything is passed on to it */
};

struct as_heap_door {
    enum as_heap_mode mode;
    size_t (*usable_size)(void *block);
    /* In AS_HEAP_MODE_FOREIGN. */
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void (*free)(void *block);
    void *(*memalign)(size_t align, size_t size);
    int (*posix_memalign)(void **out, size_t align, size_t size);
    void *(*aligned_alloc)(size_t align, size_t size);
};

extern struct as_heap_door as_heap_door;

/* Whether a program's call of malloc comes to us; asked while the mode is still early. */
bool as_heap_is_first(void);

/* Looks who is behind us. False: a malloc that is not glibc's, or not ours to stand before. */
bool as_heap_door_find(void);

/* A block, counted under `site` where counting is on; what operator new is made of. */
void *as_heap_take(size_t size, unsigned kind, const void *site);
void *as_heap_take_aligned(size_t align, size_t size, unsigned kind, const void *site);
/* What free() does. */
void as_heap_put(void *block);

#endif
