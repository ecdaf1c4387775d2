/* preload/heap_malloc.c - malloc and its relatives in the place of glibc's, which do the work.
 * A thread's errno, the alignment and the failures are those of glibc. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap_count_inl.h"
#include "heap_door.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((const void *)__builtin_return_address(0))

/* Where the blocks of before our constructor lie: with a foreign malloc behind us, a block outside
 * is its, and what stands before that may not be readable. */
static uintptr_t early_first = UINTPTR_MAX, early_last;

static bool entered; /* our malloc was called while it was not known who is behind us */

struct as_heap_door as_heap_door;

/* Not counting: marked while nobody knows yet, plain afterwards. */
static __attribute__((noinline)) void *take_plain(size_t size)
{
    struct as_block b = {.size_bytes = size, .log2_before = AS_BLOCK_LOG2, .cell = AS_BLOCK_EARLY};
    char *raw;

    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN)
        return as_heap_door.malloc(size);
    if (as_heap_door.mode == AS_HEAP_MODE_LIBC || size > AS_BLOCK_MAX)
        return __libc_malloc(size);
    entered = true;
    raw = __libc_malloc(size + AS_BLOCK_HEADER);
    if (!raw)
        return NULL;
    raw += AS_BLOCK_HEADER;
    as_block_mark(raw, &b);
    if ((uintptr_t)raw < early_first)
        early_first = (uintptr_t)raw;
    if ((uintptr_t)raw > early_last)
        early_last = (uintptr_t)raw;
    return raw;
}

/* `raw` is what glibc gave, with room for the header. */
AS_HEAP_INLINE void *note(char *raw, size_t size, uint32_t kind, const void *site)
{
    char *p;

    if (AS_HEAP_UNLIKELY(!raw))
        return NULL;
    p = raw + AS_BLOCK_HEADER;
    if (AS_HEAP_UNLIKELY(!as_heap_note_quick(p, size, (uintptr_t)site, kind)))
        return as_heap_note_slow(p, size, (uintptr_t)site, as_heap_how(kind, AS_BLOCK_LOG2));
    return p;
}

AS_HEAP_INLINE void *take(size_t size, uint32_t kind, const void *site)
{
    if (AS_HEAP_UNLIKELY(!as_life.heap || size > AS_BLOCK_MAX))
        return take_plain(size);
    return note(__libc_malloc(size + AS_BLOCK_HEADER), size, kind, site);
}

static void *take_aligned(size_t align, size_t size, uint32_t kind, const void *site)
{
    char *p;

    if (align <= AS_BLOCK_HEADER)
        return take(size, kind, site);
    if (!as_life.heap || (align & (align - 1)) || align > AS_BLOCK_MAX || size > AS_BLOCK_MAX)
        return as_heap_door.mode == AS_HEAP_MODE_FOREIGN ? as_heap_door.memalign(align, size)
                                                         : __libc_memalign(align, size);
    p = __libc_memalign(align, size + align);
    if (!p)
        return NULL;
    return as_heap_note_slow(p + align, size, (uintptr_t)site,
                             as_heap_how(kind, (uint32_t)__builtin_ctzll(align)));
}

static bool is_early(const void *p)
{
    return (uintptr_t)p >= early_first && (uintptr_t)p <= early_last &&
           as_block_mark_of(p) == AS_BLOCK_MARK;
}

/* Blocks without our mark, unusual ones, and all blocks while nothing is counted. */
static __attribute__((noinline)) void put_slow(void *p)
{
    struct as_heap_shm *heap = as_life.heap;
    uint64_t mark;

    if (!p)
        return;
    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN && !is_early(p)) {
        as_heap_door.free(p);
        return;
    }
    mark = as_block_mark_of(p);
    if (mark == AS_BLOCK_MARK) {
        struct as_block b = as_block_of(p);

        if (heap && b.cell < AS_HEAP_CELLS)
            as_heap_drop_slow(heap, p, &b, false);
        else if (heap)
            as_heap_foreign(heap);
        as_block_unmark(p);
        __libc_free(as_block_start(p, &b));
        return;
    }
    if (heap && mark == 0)
        as_heap_foreign(heap);
    /* No size of glibc's has these bits: one of ours, freed before. glibc shall see which. */
    __libc_free(mark ? (char *)p - AS_BLOCK_HEADER : p);
}

AS_HEAP_INLINE void put(void *p)
{
    if (AS_HEAP_LIKELY(as_heap_drop_quick(p)))
        __libc_free((char *)p - AS_BLOCK_HEADER);
    else
        put_slow(p);
}

/* The name of malloc may lead elsewhere, and its address to a table of the program: only a call
 * tells. */
bool as_heap_is_first(void)
{
    void *volatile p;

    entered = false;
    p = malloc(1);
    free(p);
    return entered;
}

void *as_heap_take(size_t size, unsigned kind, const void *site)
{
    return take(size, kind, site);
}

void *as_heap_take_aligned(size_t align, size_t size, unsigned kind, const void *site)
{
    return take_aligned(align, size, kind, site);
}

void as_heap_put(void *block)
{
    put(block);
}

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
    size_t bytes;

    if (AS_HEAP_UNLIKELY(!as_life.heap || __builtin_mul_overflow(count, size, &bytes) ||
                         bytes > AS_BLOCK_MAX)) {
        if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN)
            return as_heap_door.calloc(count, size);
        return __libc_calloc(count, size);
    }
    return note(__libc_calloc(1, bytes + AS_BLOCK_HEADER), bytes, AS_HEAP_CELL_MALLOC, CALLER);
}

/* An aligned block, or one of another time: glibc cannot move it with its header. */
static void *move_block(void *old, size_t size, const void *site)
{
    struct as_block b = as_block_of(old);
    void *p = take(size, AS_HEAP_CELL_MALLOC, site);

    if (!p)
        return NULL;
    memcpy(p, old, size < b.size_bytes ? size : (size_t)b.size_bytes);
    put(old);
    return p;
}

static void *resize(void *old, size_t size, const void *site)
{
    struct as_heap_shm *heap = as_life.heap;
    struct as_block b;
    uint64_t *word = old, before;
    char *p;

    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN && !is_early(old))
        return as_heap_door.realloc(old, size);
    if (as_block_mark_of(old) != AS_BLOCK_MARK)
        return __libc_realloc(old, size);
    if (size == 0) {
        put(old);
        return NULL;
    }
    b = as_block_of(old);
    if (!heap || b.log2_before != AS_BLOCK_LOG2 || b.cell >= AS_HEAP_CELLS || size > AS_BLOCK_MAX)
        return move_block(old, size, site);
    before = word[-1];
    as_block_unmark(old);
    p = __libc_realloc((char *)old - AS_BLOCK_HEADER, size + AS_BLOCK_HEADER);
    if (!p) {
        word[-1] = before;
        return NULL;
    }
    as_heap_drop_slow(heap, old, &b, true);
    return note(p, size, AS_HEAP_CELL_MALLOC, site);
}

EXPORT void *realloc(void *block, size_t size)
{
    return block ? resize(block, size, CALLER) : take(size, AS_HEAP_CELL_MALLOC, CALLER);
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
    return block ? resize(block, bytes, CALLER) : take(bytes, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
    int before = errno;
    void *p;

    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN)
        return as_heap_door.posix_memalign(out, align, size);
    if (align % sizeof(void *) || align == 0 || (align & (align - 1)))
        return EINVAL;
    p = take_aligned(align, size, AS_HEAP_CELL_MALLOC, CALLER);
    errno = before;
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN)
        return as_heap_door.aligned_alloc(align, size);
    return take_aligned(align, size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *memalign(size_t align, size_t size)
{
    return take_aligned(align, size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *valloc(size_t size)
{
    return take_aligned((size_t)sysconf(_SC_PAGESIZE), size, AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT void *pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole;

    if (__builtin_add_overflow(size, page - 1, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    return take_aligned(page, whole & ~(page - 1), AS_HEAP_CELL_MALLOC, CALLER);
}

EXPORT size_t malloc_usable_size(void *block)
{
    struct as_block b;

    if (!block)
        return 0;
    if (as_heap_door.mode == AS_HEAP_MODE_FOREIGN && !is_early(block))
        return as_heap_door.usable_size(block);
    if (as_block_mark_of(block) != AS_BLOCK_MARK)
        return as_heap_door.usable_size ? as_heap_door.usable_size(block) : 0;
    b = as_block_of(block);
    if (!as_heap_door.usable_size)
        return (size_t)b.size_bytes;
    return as_heap_door.usable_size(as_block_start(block, &b)) -
           (size_t)(UINT64_C(1) << b.log2_before);
}
