/* base/arena.h - memory for one unit of work, given back all at once.
 * Nothing in it is freed alone, so pointers into it may be shared freely until as_arena_fini(). */
#ifndef AS_BASE_ARENA_H
#define AS_BASE_ARENA_H

#include <stddef.h>

struct as_arena_block;

/* {0} is an empty arena without a limit. */
struct as_arena {
    struct as_arena_block *blocks;
    size_t used_bytes; /* handed out */
    size_t max_bytes;  /* 0: no limit */
};

/* `size` bytes aligned for any type, or NULL when memory or the limit is used up. */
void *as_arena_alloc(struct as_arena *arena, size_t size);

/* The same, zeroed, for `count` things of `size` bytes; the product is checked. */
void *as_arena_zero(struct as_arena *arena, size_t count, size_t size);

/* A NUL-terminated copy of the first `size` bytes of `text`, or NULL. */
char *as_arena_text(struct as_arena *arena, const char *text, size_t size);

/* Frees everything; the arena is empty and usable again. */
void as_arena_fini(struct as_arena *arena);

#endif
