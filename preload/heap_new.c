/* preload/heap_new.c - C++ operator new and delete in the place of the standard library's.
 * When memory is short the library's own is called, for its handlers and its exception. */
#include "heap_new.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "attach.h"
#include "heap_door.h"
#include "trace/shm/heap_shm.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((const void *)__builtin_return_address(0))

typedef void *(*new_function)(size_t size);
typedef void *(*new_nothrow)(size_t size, const void *nothrow);
typedef void *(*new_aligned)(size_t size, size_t align);
typedef void *(*new_aligned_nothrow)(size_t size, size_t align, const void *nothrow);
typedef void (*delete_function)(void *block);
typedef void (*delete_aligned)(void *block, size_t align);

/* The one behind ours; the name is the compiler's for it. */
struct behind {
    const char *name;
    void *_Atomic found;
};

enum { NEW, NEW_ARRAY };

static struct behind plain[] = {{"_Znwm", NULL}, {"_Znam", NULL}};
static struct behind nothrows[] = {{"_ZnwmRKSt9nothrow_t", NULL}, {"_ZnamRKSt9nothrow_t", NULL}};
static struct behind aligned[] = {{"_ZnwmSt11align_val_t", NULL}, {"_ZnamSt11align_val_t", NULL}};
static struct behind aligned_nothrows[] = {{"_ZnwmSt11align_val_tRKSt9nothrow_t", NULL},
                                           {"_ZnamSt11align_val_tRKSt9nothrow_t", NULL}};
static struct behind deletes[] = {{"_ZdlPv", NULL}, {"_ZdaPv", NULL}};
static struct behind aligned_deletes[] = {{"_ZdlPvSt11align_val_t", NULL},
                                          {"_ZdaPvSt11align_val_t", NULL}};
static bool theirs; /* somebody replaced the operators: theirs do the work, and are counted */

static void *find(struct behind *b, const void *caller)
{
    void *found = atomic_load_explicit(&b->found, memory_order_acquire);

    if (!found) {
        found = as_next_function(b->name, caller);
        atomic_store_explicit(&b->found, found, memory_order_release);
    }
    return found;
}

static bool is_standard(void *function)
{
    const char *base;
    Dl_info info;

    if (!function || !dladdr(function, &info) || !info.dli_fname)
        return true; /* none before the program opens a library that brings it */
    base = strrchr(info.dli_fname, '/');
    base = base ? base + 1 : info.dli_fname;
    return strncmp(base, "libstdc++", 9) == 0 || strncmp(base, "libc++", 6) == 0;
}

void as_heap_new_prepare(bool countable)
{
    void *behind = as_next_function(plain[NEW].name, NULL);

    theirs = behind && (!countable || !is_standard(behind));
}

static void *take(struct behind *b, size_t size, const void *caller)
{
    void *p = theirs ? NULL : as_heap_take(size ? size : 1, AS_HEAP_CELL_NEW, caller), *found;
    new_function next;

    if (p)
        return p;
    found = find(b, caller);
    memcpy(&next, &found, sizeof next);
    return next ? as_heap_took(next(size), size, AS_HEAP_CELL_NEW, caller) : NULL;
}

static void *take_nothrow(struct behind *b, size_t size, const void *nothrow, const void *caller)
{
    void *p = theirs ? NULL : as_heap_take(size ? size : 1, AS_HEAP_CELL_NEW, caller), *found;
    new_nothrow next;

    if (p)
        return p;
    found = find(b, caller);
    memcpy(&next, &found, sizeof next);
    return next ? as_heap_took(next(size, nothrow), size, AS_HEAP_CELL_NEW, caller) : NULL;
}

/* As the library's own does: whole multiples of the alignment. */
static void *take_rounded(size_t size, size_t align, const void *caller)
{
    size_t wanted = size ? size : 1, rounded;

    if (align & (align - 1) || __builtin_add_overflow(wanted, align - 1, &rounded))
        return NULL;
    return as_heap_take_aligned(align, rounded & ~(align - 1), wanted, AS_HEAP_CELL_NEW, caller);
}

static void *take_aligned(struct behind *b, size_t size, size_t align, const void *caller)
{
    void *p = theirs ? NULL : take_rounded(size, align, caller), *found;
    new_aligned next;

    if (p)
        return p;
    found = find(b, caller);
    memcpy(&next, &found, sizeof next);
    return next ? as_heap_took(next(size, align), size, AS_HEAP_CELL_NEW, caller) : NULL;
}

static void *take_aligned_nothrow(struct behind *b, size_t size, size_t align, const void *nothrow,
                                  const void *caller)
{
    void *p = theirs ? NULL : take_rounded(size, align, caller), *found;
    new_aligned_nothrow next;

    if (p)
        return p;
    found = find(b, caller);
    memcpy(&next, &found, sizeof next);
    return next ? as_heap_took(next(size, align, nothrow), size, AS_HEAP_CELL_NEW, caller) : NULL;
}

/* The forms of delete that also say a size, or that nothing is thrown, do what the simplest does.
 */
static void put(struct behind *b, void *block, const void *caller)
{
    void *found = theirs ? find(b, caller) : NULL;
    delete_function next;

    memcpy(&next, &found, sizeof next);
    if (!next) {
        as_heap_put(block);
        return;
    }
    as_heap_puts(block);
    next(block);
    as_heap_puts(NULL);
}

static void put_aligned(struct behind *b, void *block, size_t align, const void *caller)
{
    void *found = theirs ? find(b, caller) : NULL;
    delete_aligned next;

    memcpy(&next, &found, sizeof next);
    if (!next) {
        as_heap_put(block);
        return;
    }
    as_heap_puts(block);
    next(block, align);
    as_heap_puts(NULL);
}

/* The names are the compiler's for operator new and delete in all their forms. */
EXPORT void *_Znwm(size_t size);
EXPORT void *_Znam(size_t size);
EXPORT void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow);
EXPORT void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow);
EXPORT void *_ZnwmSt11align_val_t(size_t size, size_t align);
EXPORT void *_ZnamSt11align_val_t(size_t size, size_t align);
EXPORT void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const void *nothrow);
EXPORT void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const void *nothrow);
EXPORT void _ZdlPv(void *block);
EXPORT void _ZdaPv(void *block);
EXPORT void _ZdlPvm(void *block, size_t size);
EXPORT void _ZdaPvm(void *block, size_t size);
EXPORT void _ZdlPvRKSt9nothrow_t(void *block, const void *nothrow);
EXPORT void _ZdaPvRKSt9nothrow_t(void *block, const void *nothrow);
EXPORT void _ZdlPvSt11align_val_t(void *block, size_t align);
EXPORT void _ZdaPvSt11align_val_t(void *block, size_t align);
EXPORT void _ZdlPvmSt11align_val_t(void *block, size_t size, size_t align);
EXPORT void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t align);
EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *nothrow);
EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *nothrow);

void *_Znwm(size_t size)
{
    return take(&plain[NEW], size, CALLER);
}

void *_Znam(size_t size)
{
    return take(&plain[NEW_ARRAY], size, CALLER);
}

void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return take_nothrow(&nothrows[NEW], size, nothrow, CALLER);
}

void *_ZnamRKSt9nothrow_t(size_t size, const void *nothrow)
{
    return take_nothrow(&nothrows[NEW_ARRAY], size, nothrow, CALLER);
}

void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
    return take_aligned(&aligned[NEW], size, align, CALLER);
}

void *_ZnamSt11align_val_t(size_t size, size_t align)
{
    return take_aligned(&aligned[NEW_ARRAY], size, align, CALLER);
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const void *nothrow)
{
    return take_aligned_nothrow(&aligned_nothrows[NEW], size, align, nothrow, CALLER);
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const void *nothrow)
{
    return take_aligned_nothrow(&aligned_nothrows[NEW_ARRAY], size, align, nothrow, CALLER);
}

void _ZdlPv(void *block)
{
    put(&deletes[NEW], block, CALLER);
}

void _ZdaPv(void *block)
{
    put(&deletes[NEW_ARRAY], block, CALLER);
}

void _ZdlPvm(void *block, size_t size)
{
    (void)size;
    put(&deletes[NEW], block, CALLER);
}

void _ZdaPvm(void *block, size_t size)
{
    (void)size;
    put(&deletes[NEW_ARRAY], block, CALLER);
}

void _ZdlPvRKSt9nothrow_t(void *block, const void *nothrow)
{
    (void)nothrow;
    put(&deletes[NEW], block, CALLER);
}

void _ZdaPvRKSt9nothrow_t(void *block, const void *nothrow)
{
    (void)nothrow;
    put(&deletes[NEW_ARRAY], block, CALLER);
}

void _ZdlPvSt11align_val_t(void *block, size_t align)
{
    put_aligned(&aligned_deletes[NEW], block, align, CALLER);
}

void _ZdaPvSt11align_val_t(void *block, size_t align)
{
    put_aligned(&aligned_deletes[NEW_ARRAY], block, align, CALLER);
}

void _ZdlPvmSt11align_val_t(void *block, size_t size, size_t align)
{
    (void)size;
    put_aligned(&aligned_deletes[NEW], block, align, CALLER);
}

void _ZdaPvmSt11align_val_t(void *block, size_t size, size_t align)
{
    (void)size;
    put_aligned(&aligned_deletes[NEW_ARRAY], block, align, CALLER);
}

void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *nothrow)
{
    (void)nothrow;
    put_aligned(&aligned_deletes[NEW], block, align, CALLER);
}

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *block, size_t align, const void *nothrow)
{
    (void)nothrow;
    put_aligned(&aligned_deletes[NEW_ARRAY], block, align, CALLER);
}
