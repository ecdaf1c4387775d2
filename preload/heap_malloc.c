/* preload/heap_malloc.c - malloc and its relatives in the place of those behind us, which do the
 * work. Blocks, errno and failures are theirs; what is ours is the look at what comes back. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "heap_count_inl.h"
#include "heap_door.h"
#include "heap_early.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((const void *)__builtin_return_address(0))

/* A block that is counted as freed, on its way to somebody's delete, which may call free. */
static __thread const void *passed_on;

/* ---- what comes and goes ---- */

AS_HEAP_INLINE void *note(void *p, size_t size, uint32_t kind, const void *site)
{
    if (AS_HEAP_UNLIKELY(!p) ||
        AS_HEAP_LIKELY(as_heap_note_quick(p, size, (uintptr_t)site, kind)) || !as_life.heap)
        return p;
    return as_heap_note_slow(p, size, (uintptr_t)site, kind);
}

AS_HEAP_INLINE void *take(size_t size, uint32_t kind, const void *site)
{
    return note(as_heap_door.malloc(size), size, kind, site);
}

/* Out of the table before the block goes: another thread may be given its address at once. */
static __attribute__((noinline)) void forget(const void *p)
{
    struct as_heap_shm *heap = as_life.heap;
    struct as_block b;

    if (!heap || !p)
        return;
    if (as_heap_table_take((uintptr_t)p, &b))
        as_heap_drop_slow(heap, p, &b, false);
    else if (!as_heap_is_early(p) && p != passed_on)
        as_heap_foreign(heap);
}

static __attribute__((noinline)) void put_slow(void *p)
{
    int before = errno;

    forget(p);
    errno = before;
    if (!as_heap_is_early(p))
        as_heap_door.free(p);
}

AS_HEAP_INLINE void put(void *p)
{
    if (AS_HEAP_LIKELY(as_heap_drop_quick(p)))
        as_heap_door.free(p);
    else
        put_slow(p);
}

/* The one behind us makes it larger where it is, when it can. */
static void *resize(void *old, size_t size, const void *site)
{
    struct as_heap_shm *heap = as_life.heap;
    struct as_block b, other;
    bool known, replaced;
    void *p;

    if (as_heap_is_early(old))
        return as_heap_early_move(old, size, as_heap_door.malloc);
    known = heap && as_heap_table_take((uintptr_t)old, &b);
    p = as_heap_door.realloc(old, size);
    if (!known)
        return p;
    if (!p && size) {
        (void)as_heap_table_put((uintptr_t)old, &b, &other, &replaced);
        return NULL;
    }
    as_heap_drop_slow(heap, old, &b, true);
    return note(p, size, AS_HEAP_CELL_MALLOC, site);
}

void *as_heap_take(size_t size, unsigned kind, const void *site)
{
    return take(size, kind, site);
}

void *as_heap_take_aligned(size_t align, size_t size, size_t wanted, unsigned kind,
                           const void *site)
{
    return note(as_heap_door.aligned_alloc(align, size), wanted, kind, site);
}

void as_heap_put(void *block)
{
    put(block);
}

void *as_heap_took(void *block, size_t size, unsigned kind, const void *site)
{
    if (!block || !as_life.heap || as_heap_table_has((uintptr_t)block))
        return block;
    return note(block, size, kind, site);
}

void as_heap_puts(const void *block)
{
    if (!as_heap_drop_quick(block))
        forget(block);
    passed_on = block;
}

/* The name of malloc may lead elsewhere, and its address to a table of the program: only a call
 * tells. */
bool as_heap_is_first(void)
{
    size_t before = as_heap_early_count();
    void *volatile p = malloc(1);

    free(p);
    return as_heap_early_count() > before;
}

/* ---- the names that programs call ---- */

EXPORT void *malloc(size_t size)
{
    return take(size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void free(void *block)
{
    put(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return note(as_heap_door.calloc(count, size), count * size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *realloc(void *block, size_t size)
{
    return block ? resize(block, size, CALLER)
                 : note(as_heap_door.realloc(NULL, size), size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!as_life.heap)
        return realloc(block, bytes); /* whoever's that is, as glibc's own does */
    return block ? resize(block, bytes, CALLER)
                 : note(as_heap_door.realloc(NULL, bytes), bytes, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
    int rc = as_heap_door.posix_memalign(out, align, size);

    if (rc == 0)
        (void)note(*out, size, AS_HEAP_CELL_MALLOC, CALLER);
    return rc;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    return note(as_heap_door.aligned_alloc(align, size), size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *memalign(size_t align, size_t size)
{
    return note(as_heap_door.memalign(align, size), size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *valloc(size_t size)
{
    return note(as_heap_door.valloc(size), size, AS_HEAP_CELL_MALLOC, CALLER);
}

/* It has whole pages: that is what it promises. */
EXPORT void *pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return note(as_heap_door.pvalloc(size), (size + page - 1) & ~(page - 1), AS_HEAP_CELL_MALLOC,
                CALLER);
}
