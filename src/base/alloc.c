/* base/alloc.c - the only door to the heap, so that tests can make any allocation fail. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef ASSAY_FAULTS

/* Test state, written before the work under test begins. */
static _Atomic uint64_t asked;
static uint64_t fail_nth;
static int fail_on;

void as_alloc_fail_at(uint64_t nth, int persistent)
{
    atomic_store(&asked, 0);
    fail_nth = nth;
    fail_on = persistent;
}

uint64_t as_alloc_count(void)
{
    return atomic_load(&asked);
}

static int refused(void)
{
    uint64_t n = atomic_fetch_add(&asked, 1) + 1;

    return fail_nth && (n == fail_nth || (fail_on && n > fail_nth));
}
#else
void as_alloc_fail_at(uint64_t nth, int persistent)
{
    (void)nth;
    (void)persistent;
}

uint64_t as_alloc_count(void)
{
    return 0;
}

static inline int refused(void)
{
    return 0;
}
#endif

static _Atomic uint64_t live_bytes; /* of the blocks given out, as the heap counts them */

static size_t size_of(void *block)
{
#ifdef __GLIBC__
    return block ? malloc_usable_size(block) : 0;
#else
    (void)block;
    return 0;
#endif
}

static void *counted(void *block)
{
    atomic_fetch_add_explicit(&live_bytes, size_of(block), memory_order_relaxed);
    return block;
}

uint64_t as_alloc_live_bytes(void)
{
    return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

void *as_alloc(size_t size)
{
    return refused() ? NULL : counted(malloc(size ? size : 1));
}

void *as_alloc_zero(size_t count, size_t size)
{
    size_t bytes;

    /* calloc checks too, but a sanitizer takes that for our mistake. */
    if (__builtin_mul_overflow(count, size, &bytes) || refused())
        return NULL;
    return counted(calloc(1, bytes ? bytes : 1));
}

void *as_alloc_aligned(size_t align, size_t size)
{
    return refused() ? NULL : counted(aligned_alloc(align, size ? size : align));
}

/* Begins at a huge page when it is as large as one: what is taken too much goes back at once. */
void *as_alloc_pages(size_t size)
{
    const size_t huge = (size_t)2 << 20, page = 4096;
    size_t whole = (size + page) / page * page, more = whole >= huge ? huge : 0, skip;
    char *block =
        refused() || size > SIZE_MAX / 2
            ? MAP_FAILED
            : mmap(NULL, whole + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (block == MAP_FAILED)
        return NULL;
    if (more) {
        skip = (huge - (uintptr_t)block % huge) % huge;
        if (skip)
            (void)munmap(block, skip);
        if (skip < more)
            (void)munmap(block + skip + whole, more - skip);
        block += skip;
        (void)madvise(block, whole, MADV_HUGEPAGE); /* a wish */
    }
    return block;
}

void as_free_pages(void *block, size_t size)
{
    if (block)
        (void)munmap(block, (size + 4096) / 4096 * 4096);
}

void *as_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;

    size_t before;
    void *block;

    if (__builtin_mul_overflow(count, size, &bytes) || refused())
        return NULL;
    before = size_of(old);
    block = realloc(old, bytes ? bytes : 1);
    if (block)
        atomic_fetch_sub_explicit(&live_bytes, before, memory_order_relaxed);
    return counted(block);
}

void as_touch(void *block, size_t from, size_t to)
{
    const size_t page = 4096;
    volatile char *at = block;

    if (from >= to)
        return;
    at[to - 1] = 0;
    for (; from < to; from += page)
        at[from] = 0;
}

char *as_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = as_alloc(size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void as_free(void *block)
{
    atomic_fetch_sub_explicit(&live_bytes, size_of(block), memory_order_relaxed);
    free(block);
}

void as_alloc_tidy(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
