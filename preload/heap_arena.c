/* preload/heap_arena.c - pages of the share behind its tables, mapped when they are needed.
 * No descriptor stays open for that: a mapping of the file is what the next one is made from. */
#include "heap_arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "life.h"
#include "own_memory.h"
#include "shm_file.h"

#define CHUNK_BYTES ((size_t)AS_ARENA_CHUNK_PAGES * AS_HEAP_PAGE)
#define FIRST       ((AS_SHM_FIRST_BYTES - AS_SHM_HEAP_AT) / CHUNK_BYTES)
#define SEAM_BYTES  65536u /* a page at least: of the chunk before, mapped once more */

_Static_assert((AS_SHM_FIRST_BYTES - AS_SHM_HEAP_AT) % CHUNK_BYTES == 0, "whole chunks at first");
_Static_assert(AS_HEAP_ARENA_AT < AS_SHM_FIRST_BYTES - AS_SHM_HEAP_AT, "they hold the tables");

char *_Atomic as_heap_chunk[AS_ARENA_CHUNKS];

void as_heap_arena_start(struct as_heap_shm *heap)
{
    for (size_t i = 0; i < FIRST; i++)
        atomic_store(&as_heap_chunk[i], (char *)heap + i * CHUNK_BYTES);
}

void as_heap_arena_forked(void)
{
    for (size_t i = FIRST; i < AS_ARENA_CHUNKS; i++) {
        char *chunk = atomic_exchange(&as_heap_chunk[i], NULL);

        if (chunk)
            (void)syscall(SYS_munmap, chunk - SEAM_BYTES, CHUNK_BYTES + SEAM_BYTES);
    }
}

/* Of a shared mapping, 0 bytes moved elsewhere leave it as it is, and what comes about there is the
 * file from that place on. */
static char *map_behind(char *chunk)
{
    long at;

    if (!as_own_memory_may_map(CHUNK_BYTES + SEAM_BYTES))
        return NULL;
    at = syscall(SYS_mremap, chunk + CHUNK_BYTES - SEAM_BYTES, 0, CHUNK_BYTES + SEAM_BYTES,
                 MREMAP_MAYMOVE);
    if (at == -1)
        return NULL;
    (void)syscall(SYS_madvise, at, CHUNK_BYTES + SEAM_BYTES, MADV_DONTDUMP);
    return (char *)at + SEAM_BYTES;
}

static bool have_chunk(uint32_t number)
{
    for (uint32_t i = FIRST; i <= number; i++) {
        char *none = NULL, *made;

        if (atomic_load(&as_heap_chunk[i]))
            continue;
        made = map_behind(atomic_load(&as_heap_chunk[i - 1]));
        if (!made)
            return false;
        if (atomic_compare_exchange_strong(&as_heap_chunk[i], &none, made))
            as_own_memory_mapped(CHUNK_BYTES + SEAM_BYTES);
        else
            (void)syscall(SYS_munmap, made - SEAM_BYTES, CHUNK_BYTES + SEAM_BYTES);
    }
    return true;
}

/* The first of `n` pages from `used` on that lie in one chunk. */
static uint64_t in_one_chunk(uint64_t used, uint32_t n)
{
    uint64_t left = AS_ARENA_CHUNK_PAGES - used % AS_ARENA_CHUNK_PAGES;

    return left < n ? used + left : used;
}

uint32_t as_heap_pages(struct as_heap_shm *heap, uint32_t n)
{
    uint64_t used = atomic_load_explicit(&heap->arena_pages, memory_order_relaxed), first;
    int before = errno;
    bool there;

    do {
        first = in_one_chunk(used, n);
        if (first + n > heap->capacity_pages)
            return 0;
        there = have_chunk((uint32_t)(first / AS_ARENA_CHUNK_PAGES));
        errno = before;
        if (!there)
            return 0;
    } while (!atomic_compare_exchange_weak(&heap->arena_pages, &used, first + n));
    if (!as_shm_file_touch(as_heap_page((uint32_t)first), (size_t)n * AS_HEAP_PAGE))
        return 0;
    if (as_life.shm)
        atomic_fetch_add(&as_life.shm->own_bytes, (uint64_t)n * AS_HEAP_PAGE);
    return (uint32_t)first;
}
