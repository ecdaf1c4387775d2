/* preload/gemm_next.c - finds the functions behind ours, once for each place that calls.
 * What was found stands in a table without locks, by function and page of the caller's code. */
#include "gemm_next.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach.h"
#include "gemm_core.h"
#include "life.h"

#define PLACES     1024u
#define PROBES     16u
#define PAGE_SHIFT 12u

/* A page belongs to one library, so all calls from it go to the same function. */
struct place {
    _Atomic uint64_t key; /* 0: free */
    _Atomic(void *) function;
};

static AS_FAR struct place places[PLACES];

_Static_assert(AS_GEMM_CALL_COUNT <= 1u << 8, "a number has eight bits in the key");

static uint64_t key_of(unsigned number, const void *caller)
{
    return (uint64_t)(uintptr_t)caller >> PAGE_SHIFT << 8 | number;
}

static struct place *first_place(uint64_t key, unsigned probe)
{
    return &places[((key * 0x9e3779b97f4a7c15ull >> 50) + probe) % PLACES];
}

static void *look_up(uint64_t key)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct place *p = first_place(key, i);
        uint64_t there = atomic_load_explicit(&p->key, memory_order_acquire);

        if (there == key)
            return atomic_load_explicit(&p->function, memory_order_acquire);
        if (there == 0)
            return NULL;
    }
    return NULL;
}

/* Without a place it is only slower: it is looked for at each call. */
static void keep(uint64_t key, void *function)
{
    for (unsigned i = 0; i < PROBES; i++) {
        struct place *p = first_place(key, i);
        uint64_t there = 0;

        if (atomic_compare_exchange_strong_explicit(&p->key, &there, key, memory_order_acq_rel,
                                                    memory_order_acquire) ||
            there == key) {
            atomic_store_explicit(&p->function, function, memory_order_release);
            return;
        }
    }
}

/* A library that is unloaded would leave its address in our table. */
static void pin(const void *function)
{
    Dl_info info;

    if (dladdr(function, &info) != 0 && info.dli_fname)
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

struct nth_name {
    unsigned left;
    char name[PATH_MAX];
};

static int take_nth_name(struct dl_phdr_info *info, size_t size, void *out)
{
    struct nth_name *nth = out;

    (void)size;
    if (nth->left-- > 0)
        return 0;
    (void)snprintf(nth->name, sizeof nth->name, "%s", info->dlpi_name);
    return 1;
}

static bool is_ours(const void *function)
{
    Dl_info ours, theirs;

    return dladdr(places, &ours) == 0 || dladdr(function, &theirs) == 0 ||
           ours.dli_fbase == theirs.dli_fbase;
}

/* In any library of the process. A caller that ends in our call is not on the stack any more, and
 * the one before it may be of a library that knows nothing of products. */
static void *find_anywhere(const char *name)
{
    struct nth_name nth;

    for (unsigned i = 0;; i++) {
        void *library, *function = NULL;

        nth.left = i;
        if (dl_iterate_phdr(take_nth_name, &nth) == 0)
            return NULL;
        library = nth.name[0] ? dlopen(nth.name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (!library)
            continue;
        function = dlsym(library, name);
        if (function && is_ours(function))
            function = NULL;
        if (function)
            return function; /* its library stays */
        dlclose(library);
    }
}

static void *find_slowly(uint64_t key, const char *name, const void *caller)
{
    int kept = errno;
    void *function = as_next_function(name, caller);

    if (!function)
        function = find_anywhere(name);
    if (function) {
        pin(function);
        as_gemm_core_ask(function);
        keep(key, function);
    }
    (void)dlerror(); /* of our search */
    errno = kept;
    return function;
}

as_gemm_function as_gemm_find(unsigned number, const char *name, const void *caller)
{
    uint64_t key = key_of(number, caller);
    void *found = look_up(key);
    as_gemm_function function = NULL;

    if (!found)
        found = find_slowly(key, name, caller);
    /* ISO C has no cast from an object to a function. */
    memcpy(&function, &found, sizeof function);
    return function;
}

static _Noreturn void end_unresolved(const char *name)
{
    struct iovec text[] = {
        {(void *)(uintptr_t) "symbol lookup error: undefined symbol: ", 39},
        {(void *)(uintptr_t)name, strlen(name)},
        {(void *)(uintptr_t) "\n", 1},
    };

    (void)!writev(STDERR_FILENO, text, 3);
    _exit(127);
}

as_gemm_function as_gemm_next(unsigned number, const char *name, const void *caller)
{
    as_gemm_function function = as_gemm_find(number, name, caller);

    if (!function)
        end_unresolved(name);
    return function;
}
