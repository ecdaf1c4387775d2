/* base/alloc.c - the only door to the heap, so that tests can make any allocation fail.
 * Sizes of arrays are multiplied here, checked; a failure is NULL, never an abort. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#ifdef ASSAY_FAULTS
#include <stdatomic.h>

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

void *as_alloc(size_t size)
{
    return refused() ? NULL : malloc(size ? size : 1);
}

void *as_alloc_zero(size_t count, size_t size)
{
    size_t bytes;

    /* calloc checks too, but a sanitizer takes that for our mistake. */
    if (__builtin_mul_overflow(count, size, &bytes) || refused())
        return NULL;
    return calloc(1, bytes ? bytes : 1);
}

void *as_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || refused())
        return NULL;
    return realloc(old, bytes ? bytes : 1);
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
    free(block);
}
