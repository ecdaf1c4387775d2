/* probe/heap/heap_pages.h - the tables of a heap's share, read and compared with their bounds.
 * Read by system calls, not mapped: a file cut short meanwhile is an error, not a signal. */
#ifndef AS_PROBE_HEAP_HEAP_PAGES_H
#define AS_PROBE_HEAP_HEAP_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/heap/heap_watch.h"
#include "trace/shm/heap_shm.h"
#include "trace/shm/target_shm.h"

struct as_heap_watch {
    int fd;
    char *maps;                 /* room for the text */
    struct as_shm_header first; /* as it was when the file was opened */
};

/* The beginning of the heap's part, its counts within their tables. */
struct as_heap_sizes {
    struct as_heap_shm heap;
    uint32_t n_cells, n_stacks, n_nodes, n_layers, n_threads; /* entries, number 0 among them */
    uint64_t capacity_pages;
};

/* `size` bytes at `offset` of the heap's part. */
AS_MUST_USE int as_heap_read(const struct as_heap_watch *watch, uint64_t offset, void *out,
                             size_t size, struct assay_error *err);

AS_MUST_USE int as_heap_read_sizes(const struct as_heap_watch *watch, struct as_heap_sizes *out,
                                   struct assay_error *err);

/* The blocks of the threads one after the other; those whose place is out of bounds are passed
 * over. {.watch, .sizes} to begin with. */
struct as_heap_threads {
    const struct as_heap_watch *watch;
    const struct as_heap_sizes *sizes;
    uint32_t next;
    uint64_t pages_left; /* of counters: no more than there are; set by the first call */
};

/* Fills the first `size` bytes of the next block. 1: there is one, 0: that was the last. */
AS_MUST_USE int as_heap_threads_next(struct as_heap_threads *threads, struct as_heap_thread *out,
                                     size_t size, struct assay_error *err);

/* Adds the thread's counters to `sum`, [n_cells]. */
AS_MUST_USE int as_heap_threads_add(struct as_heap_threads *threads,
                                    const struct as_heap_thread *thread,
                                    struct as_heap_counter *sum, struct assay_error *err);

/* The names of the layers, [n_layers], in `arena`; NULL where there is none. */
AS_MUST_USE int as_heap_layer_names(const struct as_heap_watch *watch,
                                    const struct as_heap_sizes *sizes, struct as_arena *arena,
                                    const char ***out, struct assay_error *err);

/* `more` less `less`; 0 when a count is seen in between. */
static inline uint64_t as_heap_less(uint64_t more, uint64_t less)
{
    return more > less ? more - less : 0;
}

/* ---- shm_reader.c ---- */

/* Checks that it is a whole share of this version. The caller closes `fd`, -1 when it failed. */
AS_MUST_USE int as_shm_open(const char *path, int *fd, struct as_shm_header *header,
                            struct assay_error *err);

/* Exactly `size` bytes from `offset` on. `path` is for the message. */
AS_MUST_USE int as_shm_read(int fd, const char *path, uint64_t offset, void *out, size_t size,
                            struct assay_error *err);

#endif
