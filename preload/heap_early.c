/* preload/heap_early.c - blocks for the loader while nobody knows yet which malloc is behind ours.
 * They are few, lie outside the heap, and are never used twice. */
#include "heap_early.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "life.h"

#define ARENA_BYTES (256u << 10)
#define ALIGN       16u

static _Alignas(4096) AS_FAR char arena[ARENA_BYTES];
static size_t used = ALIGN, n_blocks;

bool as_heap_is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)arena < sizeof arena;
}

size_t as_heap_early_count(void)
{
    return n_blocks;
}

/* The size stands before each. */
void *as_heap_early_memalign(size_t align, size_t size)
{
    size_t at;

    align = align < ALIGN ? ALIGN : align;
    n_blocks++;
    if (align > sizeof arena || size > sizeof arena || used > sizeof arena - ALIGN) {
        errno = ENOMEM;
        return NULL;
    }
    at = (used + sizeof size + align - 1) & ~(align - 1);
    if (at > sizeof arena || size > sizeof arena - at) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(arena + at - sizeof size, &size, sizeof size);
    used = at + size;
    return arena + at;
}

void *as_heap_early_malloc(size_t size)
{
    return as_heap_early_memalign(ALIGN, size);
}

void *as_heap_early_calloc(size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return as_heap_early_malloc(bytes);
}

void as_heap_early_free(void *block)
{
    (void)block;
}

int as_heap_early_posix_memalign(void **out, size_t align, size_t size)
{
    void *p = as_heap_early_memalign(align, size);

    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}

void *as_heap_early_valloc(size_t size)
{
    return as_heap_early_memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

void *as_heap_early_move(const void *block, size_t size, void *(*malloc_next)(size_t size))
{
    void *to = malloc_next(size);
    size_t before;

    memcpy(&before, (const char *)block - sizeof before, sizeof before);
    if (to)
        memcpy(to, block, size < before ? size : before);
    return to;
}

void *as_heap_early_realloc(void *block, size_t size)
{
    return block ? as_heap_early_move(block, size, as_heap_early_malloc)
                 : as_heap_early_malloc(size);
}
