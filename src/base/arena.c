/* base/arena.c - memory for one unit of work, given back all at once. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

#define AS_ARENA_BLOCK_BYTES ((size_t)64 * 1024)

struct as_arena_block {
    struct as_arena_block *next;
    size_t size, used;
    alignas(max_align_t) unsigned char bytes[];
};

static struct as_arena_block *add_block(struct as_arena *arena, size_t size)
{
    size_t capacity = size > AS_ARENA_BLOCK_BYTES ? size : AS_ARENA_BLOCK_BYTES;
    struct as_arena_block *block;

    if (capacity > SIZE_MAX - sizeof *block)
        return NULL;
    block = as_alloc(sizeof *block + capacity);
    if (!block)
        return NULL;
    block->size = capacity;
    block->used = 0;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *as_arena_alloc(struct as_arena *arena, size_t size)
{
    const size_t grain = alignof(max_align_t);
    struct as_arena_block *block = arena->blocks;
    void *out;

    if (size > SIZE_MAX - grain)
        return NULL;
    size = (size + grain - 1) / grain * grain;
    if (arena->max_bytes &&
        (arena->used_bytes > arena->max_bytes || size > arena->max_bytes - arena->used_bytes))
        return NULL;
    if (!block || block->size - block->used < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    out = block->bytes + block->used;
    block->used += size;
    arena->used_bytes += size;
    return out;
}

void *as_arena_zero(struct as_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    void *out;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    out = as_arena_alloc(arena, bytes);
    return out ? memset(out, 0, bytes) : NULL;
}

char *as_arena_text(struct as_arena *arena, const char *text, size_t size)
{
    char *out = size < SIZE_MAX ? as_arena_alloc(arena, size + 1) : NULL;

    if (!out)
        return NULL;
    memcpy(out, text, size);
    out[size] = '\0';
    return out;
}

void as_arena_fini(struct as_arena *arena)
{
    struct as_arena_block *block = arena->blocks;

    while (block) {
        struct as_arena_block *next = block->next;

        as_free(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->used_bytes = 0;
}
