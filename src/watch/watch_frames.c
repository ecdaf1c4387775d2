/* watch/watch_frames.c - the frames of a heap's sites and stacks, each address once. */
#include "watch/watch_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define MAX_ADDRESSES 262144u
#define MAX_FRAMES    1048576u
#define FIRST_SORT    16384u

struct list {
    uint64_t *at;
    size_t n, capacity;
    size_t sort_at; /* how many are too many to go on without a look for what came up before */
};

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void sort_once(struct list *list)
{
    size_t kept = 0;

    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_number);
    for (size_t i = 0; i < list->n; i++)
        if (i == 0 || list->at[i] != list->at[kept - 1])
            list->at[kept++] = list->at[i];
    list->n = kept;
}

/* Stacks share most of their frames: what came up before is thrown out in between. */
static bool add(struct list *list, uint64_t address)
{
    if (list->n >= list->sort_at) {
        sort_once(list);
        list->sort_at = 2 * list->n + FIRST_SORT;
    }
    if (!AS_VEC_RESERVE(list->at, list->n, list->capacity))
        return false;
    list->at[list->n++] = address;
    return true;
}

static bool list_addresses(struct list *list, const struct as_heap_site *site, size_t n_sites,
                           const struct as_heap_stack *stack, size_t n_stacks)
{
    for (size_t i = 0; i < n_sites; i++)
        if (!add(list, site[i].address))
            return false;
    for (size_t i = 0; i < n_stacks; i++)
        for (uint32_t k = 0; k < stack[i].n_frames; k++)
            if (!add(list, stack[i].frame[k]))
                return false;
    sort_once(list);
    return true;
}

/* The list of frames as it grows. */
struct naming {
    struct as_watch_frame *at;
    size_t n, capacity;
};

static bool add_frame(struct naming *list, struct as_watch_frame f)
{
    if (!AS_VEC_RESERVE(list->at, list->n, list->capacity))
        return false;
    list->at[list->n++] = f;
    return true;
}

static bool add_address(struct naming *list, struct as_symbols *symbols, uint64_t address)
{
    struct as_symbol s = {.offset = address};
    struct as_watch_frame f;

    if (symbols)
        as_symbols_find(symbols, address, &s);
    for (size_t i = 0; i + 1 < s.n_frames; i++) {
        f = (struct as_watch_frame){.function = s.frame[i].function,
                                    .module = s.module,
                                    .file = s.frame[i].file,
                                    .line = s.frame[i].line,
                                    .inlined = true};
        if (!add_frame(list, f))
            return false;
    }
    f = (struct as_watch_frame){.function = s.function, .module = s.module, .offset = s.offset};
    if (s.n_frames) {
        f.file = s.frame[s.n_frames - 1].file;
        f.line = s.frame[s.n_frames - 1].line;
        if (!f.function)
            f.function = s.frame[s.n_frames - 1].function;
    }
    return add_frame(list, f);
}

static int name_all(struct as_watch_frames *out, const struct list *list,
                    struct as_symbols *symbols, struct as_arena *arena, struct assay_error *err)
{
    uint64_t *address = as_arena_zero(arena, list->n + 1, sizeof *address);
    uint32_t *number = as_arena_zero(arena, list->n + 1, sizeof *number);
    struct as_watch_frame *kept = NULL;
    struct naming frames = {0};
    bool ok = address && number;

    for (size_t i = 0; ok && i < list->n && frames.n < MAX_FRAMES; i++) {
        address[i] = list->at[i];
        number[i] = (uint32_t)frames.n;
        out->n_addresses++;
        ok = add_address(&frames, symbols, list->at[i]);
    }
    if (ok)
        kept = as_arena_zero(arena, frames.n + 1, sizeof *kept);
    if (kept && frames.at)
        memcpy(kept, frames.at, frames.n * sizeof *kept);
    as_free(frames.at);
    out->n = frames.n;
    out->address = address;
    out->number = number;
    out->frame = kept;
    return kept ? ASSAY_OK : as_fail_nomem(err);
}

int as_watch_frames_find(struct as_watch_frames *out, struct as_symbols *symbols,
                         const struct as_heap_site *site, size_t n_sites,
                         const struct as_heap_stack *stack, size_t n_stacks, struct as_arena *arena,
                         struct assay_error *err)
{
    struct list list = {0};
    int rc = list_addresses(&list, site, n_sites, stack, n_stacks) ? ASSAY_OK : as_fail_nomem(err);

    *out = (struct as_watch_frames){0};
    if (list.n > MAX_ADDRESSES) {
        out->left_out = list.n - MAX_ADDRESSES;
        list.n = MAX_ADDRESSES;
    }
    if (rc == ASSAY_OK && symbols)
        rc = as_symbols_find_lines(symbols, list.at, list.n, err);
    if (rc == ASSAY_OK)
        rc = name_all(out, &list, symbols, arena, err);
    as_free(list.at);
    return rc;
}

uint32_t as_watch_frames_number(const struct as_watch_frames *frames, uint64_t address)
{
    size_t low = 0, high = frames->n_addresses;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (frames->address[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < frames->n_addresses && frames->address[low] == address ? frames->number[low]
                                                                        : AS_WATCH_NO_FRAME;
}
