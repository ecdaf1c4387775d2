/* probe/heap/heap_pages.c - the tables of a heap's share, read and compared with their bounds. */
#include "probe/heap/heap_pages.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"

int as_heap_read(const struct as_heap_watch *watch, uint64_t offset, void *out, size_t size,
                 struct assay_error *err)
{
    char *to = out;

    if (offset > AS_SHM_HEAP_BYTES || size > AS_SHM_HEAP_BYTES - offset)
        return as_fail(err, ASSAY_ERR_FORMAT, "the heap counters point outside of their file");
    while (size > 0) {
        ssize_t n = pread(watch->fd, to, size, (off_t)(AS_SHM_HEAP_AT + offset));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return as_fail_sys(err, ASSAY_ERR_IO, "cannot read the heap counters");
        if (n == 0)
            return as_fail(err, ASSAY_ERR_FORMAT, "the file of the heap counters is truncated");
        to += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return ASSAY_OK;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

static int check_counted(const struct as_heap_shm *heap, struct assay_error *err)
{
    if (heap->version == 0)
        return as_fail(err, ASSAY_ERR_STATE, "the program's allocations were not watched");
    if (heap->version != AS_HEAP_VERSION)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "the heap counters have version %u, this program reads %u", heap->version,
                       AS_HEAP_VERSION);
    if (heap->declined == AS_HEAP_OWN_MALLOC)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "the program has its own malloc, which is not watched");
    if (heap->declined)
        return as_fail(err, ASSAY_ERR_STATE, "there was no space for the heap counters");
    return ASSAY_OK;
}

int as_heap_read_sizes(const struct as_heap_watch *watch, struct as_heap_sizes *out,
                       struct assay_error *err)
{
    const uint64_t most_pages = AS_SHM_HEAP_BYTES / AS_HEAP_PAGE;
    int rc = as_heap_read(watch, 0, &out->heap, sizeof out->heap, err);

    if (rc < 0)
        return rc;
    rc = check_counted(&out->heap, err);
    if (rc < 0)
        return rc;
    out->n_cells = at_most(out->heap.n_cells, AS_HEAP_CELLS);
    out->n_stacks = at_most(out->heap.n_stacks, AS_HEAP_STACKS);
    out->n_nodes = at_most(out->heap.n_nodes, AS_HEAP_NODES);
    out->n_layers = at_most(out->heap.n_layers, AS_HEAP_LAYERS);
    out->n_threads = at_most(out->heap.n_threads, AS_HEAP_THREADS);
    out->capacity_pages =
        out->heap.capacity_pages < most_pages ? out->heap.capacity_pages : most_pages;
    return ASSAY_OK;
}

/* Whether `n` pages at `page` are such as are handed out. */
static bool is_page(const struct as_heap_sizes *sizes, uint32_t page, uint32_t n)
{
    return page >= AS_HEAP_ARENA_AT / AS_HEAP_PAGE && page <= sizes->capacity_pages &&
           n <= sizes->capacity_pages - page;
}

int as_heap_threads_next(struct as_heap_threads *threads, struct as_heap_thread *out, size_t size,
                         struct assay_error *err)
{
    int rc;

    if (threads->next == 0)
        threads->pages_left = threads->sizes->capacity_pages;
    while (threads->next < threads->sizes->n_threads) {
        uint64_t at = AS_HEAP_THREADS_AT + (uint64_t)threads->next++ * sizeof(uint32_t);
        uint32_t page;

        rc = as_heap_read(threads->watch, at, &page, sizeof page, err);
        if (rc < 0)
            return rc;
        if (!is_page(threads->sizes, page, AS_HEAP_THREAD_PAGES))
            continue;
        rc = as_heap_read(threads->watch, (uint64_t)page * AS_HEAP_PAGE, out, size, err);
        return rc < 0 ? rc : 1;
    }
    return 0;
}

static void add_counter(struct as_heap_counter *sum, const struct as_heap_counter *c)
{
    sum->allocations += c->allocations;
    sum->allocated_bytes += c->allocated_bytes;
    sum->frees += c->frees;
    sum->freed_bytes += c->freed_bytes;
    sum->temporary += c->temporary;
    sum->same_layer += c->same_layer;
}

int as_heap_threads_add(struct as_heap_threads *threads, const struct as_heap_thread *thread,
                        struct as_heap_counter *sum, struct assay_error *err)
{
    struct as_heap_counter page[AS_HEAP_PAGE_COUNTERS];
    uint32_t n_cells = threads->sizes->n_cells;

    for (uint32_t first = 0; first < n_cells; first += AS_HEAP_PAGE_COUNTERS) {
        uint32_t at = thread->page[first / AS_HEAP_PAGE_COUNTERS];
        int rc;

        if (!is_page(threads->sizes, at, 1) || threads->pages_left == 0)
            continue;
        threads->pages_left--;
        rc = as_heap_read(threads->watch, (uint64_t)at * AS_HEAP_PAGE, page, sizeof page, err);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < AS_HEAP_PAGE_COUNTERS && first + i < n_cells; i++)
            add_counter(&sum[first + i], &page[i]);
    }
    return ASSAY_OK;
}

int as_heap_layer_names(const struct as_heap_watch *watch, const struct as_heap_sizes *sizes,
                        struct as_arena *arena, const char ***out, struct assay_error *err)
{
    struct as_heap_layer_entry entry;
    const char **name = as_arena_zero(arena, (size_t)sizes->n_layers + 1, sizeof *name);

    if (!name)
        return as_fail_nomem(err);
    for (uint32_t i = 1; i < sizes->n_layers; i++) {
        int rc = as_heap_read(watch, AS_HEAP_LAYERS_AT + (uint64_t)i * sizeof entry, &entry,
                              sizeof entry, err);

        if (rc < 0)
            return rc;
        if (entry.name_size == 0 || entry.name_size > sizeof entry.name)
            continue;
        name[i] = as_arena_text(arena, entry.name, entry.name_size);
        if (!name[i])
            return as_fail_nomem(err);
    }
    *out = name;
    return ASSAY_OK;
}
