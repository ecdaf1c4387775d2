/* preload/heap_map.c - anonymous mappings the program makes for itself: arenas, counted apart.
 * Rare calls, so a table behind a lock does; who does not get it soon is not counted. */
#include "heap_map.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"
#include "heap_count.h"
#include "heap_door.h"

#define EXPORT       __attribute__((visibility("default")))
#define CALLER       ((uintptr_t)__builtin_return_address(0))
#define MAX_MAPPINGS 16384u
#define MAX_TRIES    100000u /* a signal may have come to a thread that holds the lock */

typedef void *(*mmap_function)(void *at, size_t size, int prot, int flags, int fd, off_t offset);
typedef int (*munmap_function)(void *at, size_t size);
typedef void *(*mremap_function)(void *at, size_t old_size, size_t size, int flags, ...);

static struct {
    mmap_function mmap;
    munmap_function munmap;
    mremap_function mremap;
} next;

struct mapping {
    uintptr_t start, end;
    uint32_t cell;
    bool part; /* of one that was cut in two: its end is not counted as one */
};

/* By address, without overlap. */
static AS_FAR struct mapping mapping[MAX_MAPPINGS];
static uint32_t n_mappings;
static _Atomic bool locked;

void as_heap_map_prepare(void)
{
    void *found = as_next_function("mmap", NULL);

    memcpy(&next.mmap, &found, sizeof found);
    found = as_next_function("munmap", NULL);
    memcpy(&next.munmap, &found, sizeof found);
    found = as_next_function("mremap", NULL);
    memcpy(&next.mremap, &found, sizeof found);
}

void as_heap_map_forked(void)
{
    atomic_store(&locked, false);
}

static bool lock(void)
{
    for (uint32_t i = 0; i < MAX_TRIES; i++) {
        if (!atomic_exchange_explicit(&locked, true, memory_order_acquire))
            return true;
        if (i % 64 == 63)
            (void)syscall(SYS_sched_yield);
    }
    return false;
}

static void unlock(void)
{
    atomic_store_explicit(&locked, false, memory_order_release);
}

/* The first mapping that ends behind `at`. */
static uint32_t first_behind(uintptr_t at)
{
    uint32_t low = 0, high = n_mappings;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (mapping[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve(uint32_t i)
{
    if (n_mappings == MAX_MAPPINGS)
        return false;
    memmove(&mapping[i + 1], &mapping[i], (n_mappings - i) * sizeof *mapping);
    n_mappings++;
    return true;
}

static void take_out(uint32_t i)
{
    n_mappings--;
    memmove(&mapping[i], &mapping[i + 1], (n_mappings - i) * sizeof *mapping);
}

/* Nothing of ours lies between `start` and `end` any more. */
static void forget(struct as_heap_shm *heap, uintptr_t start, uintptr_t end)
{
    uint32_t i = first_behind(start);

    while (i < n_mappings && mapping[i].start < end) {
        struct mapping *m = &mapping[i];
        uintptr_t from = m->start > start ? m->start : start, to = m->end < end ? m->end : end;
        bool whole = from == m->start && to == m->end;

        as_heap_unmapped(heap, m->cell, to - from, whole && !m->part);
        if (whole) {
            take_out(i);
        } else if (from == m->start) {
            m->start = to;
            i++;
        } else if (to == m->end) {
            m->end = from;
            i++;
        } else {
            if (reserve(i + 1))
                mapping[i + 1] = (struct mapping){to, m->end, m->cell, true};
            m->end = from;
            return;
        }
    }
}

static void remember(struct as_heap_shm *heap, uintptr_t start, size_t size, uintptr_t site)
{
    uint32_t i = first_behind(start);

    if (!reserve(i))
        return;
    mapping[i] = (struct mapping){start, start + size, as_heap_mapping_cell(heap, site), false};
    as_heap_mapped(heap, mapping[i].cell, size, true);
}

static uintptr_t whole_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) & ~(page - 1);
}

/* `old_size` bytes at `old` are gone and `size` at `now` have come; 0: none of that sort. */
static void change(void *old, size_t old_size, void *now, size_t size, uintptr_t site)
{
    struct as_heap_shm *heap = as_life.heap;
    int before = errno;

    if (!heap || !lock())
        return;
    if (old_size)
        forget(heap, (uintptr_t)old, (uintptr_t)old + whole_pages(old_size));
    if (size)
        remember(heap, (uintptr_t)now, whole_pages(size), site);
    unlock();
    errno = before;
}

/* Whether the mapping there is one of those counted. */
static bool is_counted(const void *at)
{
    bool found = false;
    uint32_t i;

    if (!as_life.heap || !lock())
        return false;
    i = first_behind((uintptr_t)at);
    found = i < n_mappings && mapping[i].start <= (uintptr_t)at;
    unlock();
    return found;
}

static void *map(void *at, size_t size, int prot, int flags, int fd, off_t offset, uintptr_t site)
{
    void *p;

    if (next.mmap)
        p = next.mmap(at, size, prot, flags, fd, offset);
    else
        p = (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
    if (p == MAP_FAILED || !as_life.heap || as_heap_is_allocator((const void *)site))
        return p;
    /* What cannot be written to is only a reservation. */
    if (flags & MAP_ANONYMOUS && prot & PROT_WRITE)
        change(p, flags & MAP_FIXED ? size : 0, p, size, site);
    else if (flags & MAP_FIXED)
        change(p, size, NULL, 0, site);
    return p;
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    return map(at, size, prot, flags, fd, offset, CALLER);
}

EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
    return map(at, size, prot, flags, fd, offset, CALLER);
}

/* Counted before it is done: another thread may be given the same place at once. */
EXPORT int munmap(void *at, size_t size)
{
    if (as_life.heap && size && ((uintptr_t)at & 4095u) == 0)
        change(at, size, NULL, 0, 0);
    return next.munmap ? next.munmap(at, size) : (int)syscall(SYS_munmap, at, size);
}

EXPORT void *mremap(void *at, size_t old_size, size_t size, int flags, ...)
{
    bool counted = is_counted(at);
    void *to = NULL, *p;
    va_list list;

    va_start(list, flags);
    if (flags & MREMAP_FIXED)
        to = va_arg(list, void *);
    va_end(list);
    if (next.mremap)
        p = next.mremap(at, old_size, size, flags, to);
    else
        p = (void *)syscall(SYS_mremap, at, old_size, size, flags, to);
    if (p != MAP_FAILED && counted)
        change(at, old_size, p, size, CALLER);
    return p;
}
