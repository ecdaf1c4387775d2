/* probe/heap/heap_watch.c - reads the heap counters of a watched process from its share, at any
 * time. The process may be running, ended or killed; the bytes are hostile until checked. */
#include "probe/heap/heap_watch.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/file/file_open.h"
#include "probe/heap/heap_pages.h"

static int check_file(int fd, const char *path, struct assay_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot look at %s", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a file of this user", path);
    if ((uint64_t)st.st_size < AS_SHM_BYTES)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is too short to be a program's counters", path);
    return ASSAY_OK;
}

static bool read_header(const struct as_heap_watch *watch, struct as_shm_header *out)
{
    if (pread(watch->fd, out, sizeof *out, 0) != (ssize_t)sizeof *out)
        return false;
    out->program[sizeof out->program - 1] = '\0';
    return out->magic == AS_SHM_MAGIC;
}

int as_heap_watch_open(struct as_heap_watch **out, const char *path, struct assay_error *err)
{
    struct as_heap_watch *watch = as_alloc_zero(1, sizeof *watch);
    int rc = ASSAY_OK;

    *out = NULL;
    if (!watch)
        return as_fail_nomem(err);
    watch->fd = as_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    watch->maps = as_alloc(AS_SHM_MAPS_BYTES + 1);
    if (!watch->maps)
        rc = as_fail_nomem(err);
    else if (watch->fd < 0)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot open %s", path);
    else
        rc = check_file(watch->fd, path, err);
    if (rc == ASSAY_OK && !read_header(watch, &watch->first))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s does not hold a program's counters", path);
    if (rc < 0) {
        as_heap_watch_close(watch);
        return rc;
    }
    *out = watch;
    return ASSAY_OK;
}

void as_heap_watch_close(struct as_heap_watch *watch)
{
    if (!watch)
        return;
    if (watch->fd >= 0)
        close(watch->fd);
    as_free(watch->maps);
    as_free(watch);
}

void as_heap_watch_header(const struct as_heap_watch *watch, struct as_shm_header *out)
{
    if (!read_header(watch, out))
        *out = watch->first;
}

const char *as_heap_watch_maps(const struct as_heap_watch *watch)
{
    struct as_shm_header header;
    uint32_t size;

    as_heap_watch_header(watch, &header);
    size = header.maps_bytes;
    if (size == 0 || size > AS_SHM_MAPS_BYTES ||
        pread(watch->fd, watch->maps, size, AS_SHM_MAPS_AT) != (ssize_t)size)
        return NULL;
    watch->maps[size] = '\0';
    return watch->maps;
}

/* What is summed over the threads, beside what goes into the result. */
struct sums {
    uint64_t mapped_bytes, unmapped_bytes;
    int64_t most_untold; /* greatest maximum that a thread has not told yet */
};

static void add_thread(struct as_heap_totals *out, struct sums *sums,
                       const struct as_heap_thread *t)
{
    int64_t untold = (int64_t)((uint64_t)t->most_bytes - (uint64_t)t->told_bytes);

    out->allocations += t->allocations;
    out->allocated_bytes += t->allocated_bytes;
    out->frees += t->frees;
    out->freed_bytes += t->freed_bytes;
    out->foreign_frees += t->foreign_frees;
    out->inherited_frees += t->inherited_frees;
    out->unseen_frees += t->unseen_frees;
    out->unplaced += t->unplaced;
    sums->mapped_bytes += t->mapped_bytes;
    sums->unmapped_bytes += t->unmapped_bytes;
    if (untold > sums->most_untold && untold <= AS_HEAP_KEEP_BYTES)
        sums->most_untold = untold;
}

/* What threads other than the one that saw the peak may have kept to themselves then. */
static uint64_t kept_apart(uint32_t threads)
{
    uint64_t bytes = 0;

    for (uint32_t i = 2; i <= threads && i <= AS_HEAP_THREADS; i++)
        bytes += (uint64_t)as_heap_keep_bytes(i);
    return bytes;
}

/* The peak is told as high as it can have been, and how much lower it may have been. */
static void tell_peak(struct as_heap_totals *out, const struct as_heap_shm *heap,
                      const struct sums *sums)
{
    uint64_t apart = kept_apart(heap->max_live_threads), seen, least;
    int64_t told = heap->live_bytes, peak = heap->peak_bytes;

    if (told > -AS_HEAP_KEEP_BYTES && told < INT64_MAX - AS_HEAP_KEEP_BYTES &&
        told + sums->most_untold > peak)
        peak = told + sums->most_untold;
    seen = peak > 0 ? (uint64_t)peak : 0;
    least = as_heap_less(seen, apart);
    if (least < out->live_bytes)
        least = out->live_bytes;
    if (!as_add_u64(seen, apart, &out->peak_bytes) || out->peak_bytes > out->allocated_bytes)
        out->peak_bytes = out->allocated_bytes;
    if (out->peak_bytes < least)
        out->peak_bytes = least;
    out->peak_slack_bytes = out->peak_bytes - least;
    out->peak_mono_ns = heap->peak_mono_ns;
}

/* The file is sparse, and only the program writes to it: what it takes is what was touched. */
uint64_t as_heap_watch_share_bytes(const struct as_heap_watch *watch)
{
    struct stat st;

    return fstat(watch->fd, &st) == 0 && st.st_blocks > 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

uint64_t as_heap_watch_table_bytes(const struct as_heap_watch *watch)
{
    struct as_shm_header header;

    as_heap_watch_header(watch, &header);
    return header.table_bytes;
}

int as_heap_watch_totals(struct as_heap_watch *watch, struct as_heap_totals *out,
                         struct assay_error *err)
{
    struct as_heap_threads threads = {.watch = watch};
    struct as_heap_thread t;
    struct as_heap_sizes sizes;
    struct sums sums = {0};
    int rc = as_heap_read_sizes(watch, &sizes, err);

    memset(out, 0, sizeof *out);
    if (rc < 0)
        return rc;
    threads.sizes = &sizes;
    while ((rc = as_heap_threads_next(&threads, &t, offsetof(struct as_heap_thread, open), err)) >
           0)
        add_thread(out, &sums, &t);
    if (rc < 0)
        return rc;
    out->live_bytes = as_heap_less(out->allocated_bytes, out->freed_bytes);
    out->live_blocks = as_heap_less(out->allocations, out->frees);
    out->mapped_live_bytes = as_heap_less(sums.mapped_bytes, sums.unmapped_bytes);
    out->own_bytes = as_heap_watch_table_bytes(watch);
    out->share_bytes = as_heap_watch_share_bytes(watch);
    out->stacks_lost = sizes.heap.stacks_lost;
    out->iterations = sizes.heap.iterations;
    out->n_ids = sizes.n_cells;
    out->n_sites = (uint32_t)as_heap_less(
        sizes.n_cells, sizes.heap.inherited_cells ? sizes.heap.inherited_cells : 1);
    out->n_stacks = sizes.n_stacks - (sizes.n_stacks > 0);
    out->n_layers = sizes.n_layers - (sizes.n_layers > 0);
    out->n_threads = sizes.n_threads - (sizes.n_threads > 0);
    tell_peak(out, &sizes.heap, &sums);
    return ASSAY_OK;
}
