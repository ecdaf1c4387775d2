/* preload/heap_door.c - finds the functions that stand behind ours, and where they lie. */
#include "heap_door.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "attach.h"
#include "heap_early.h"

struct as_heap_door as_heap_door = AS_HEAP_DOOR_EARLY;

static void find(void *function, const char *name)
{
    void *found = as_next_function(name, NULL);

    if (found)
        memcpy(function, &found, sizeof found);
}

/* Where the library lies whose malloc it is; empty: it is the C library, whose own mappings we do
 * not see. Known before: whoever maps may hold locks that the loader waits for. */
static struct {
    uintptr_t start, end;
} allocator;

bool as_heap_is_allocator(const void *address)
{
    return (uintptr_t)address - allocator.start < allocator.end - allocator.start;
}

struct search {
    uintptr_t address, start, end; /* of the library that has the address */
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    uintptr_t start = UINTPTR_MAX, end = 0;
    struct search *s = data;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        start = info->dlpi_addr + p->p_vaddr < start ? info->dlpi_addr + p->p_vaddr : start;
        end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    if (s->address < start || s->address >= end)
        return 0;
    s->start = start;
    s->end = end;
    return 1;
}

static void find_allocator(uintptr_t its_malloc)
{
    struct search own = {.address = its_malloc}, libc = {0};
    const void *of_libc = as_next_function("gnu_get_libc_version", NULL);

    libc.address = (uintptr_t)of_libc;
    (void)dl_iterate_phdr(look, &own);
    (void)dl_iterate_phdr(look, &libc);
    if (own.start != libc.start) {
        allocator.start = own.start;
        allocator.end = own.end;
    }
}

static struct as_heap_door behind = AS_HEAP_DOOR_EARLY;

void as_heap_door_open(void)
{
    as_heap_door = behind;
}

bool as_heap_door_find(void)
{
    struct as_heap_door d = behind;
    void *(*early)(size_t) = d.malloc;
    bool first = as_heap_is_first();
    uintptr_t at;

    find(&d.malloc, "malloc");
    find(&d.calloc, "calloc");
    find(&d.realloc, "realloc");
    find(&d.free, "free");
    find(&d.memalign, "memalign");
    find(&d.posix_memalign, "posix_memalign");
    find(&d.aligned_alloc, "aligned_alloc");
    find(&d.valloc, "valloc");
    find(&d.pvalloc, "pvalloc");
    memcpy(&at, &d.malloc, sizeof at);
    find_allocator(at);
    behind = d;
    return first && d.malloc != early && d.free != as_heap_early_free;
}
