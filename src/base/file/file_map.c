/* base/file/file_map.c - the bytes of a file in memory, read-only.
 * One region of anonymous memory as large as the file, filled by pread; over whole pages of the
 * ranges that are not read the file itself is mapped. */
#include "base/file/file_map.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_read.h"
#include "base/units.h"

#define MAX_RANGES 4096

/* ---- what a signal handler must be able to find ---- */

enum { FREE, BEING_FILLED, HELD };

struct as_file_place {
    atomic_int state;
    uintptr_t begin, end;
    char path[256];
};

static struct as_file_place places[64];
static atomic_bool guarded;

void as_file_map_guarded(void)
{
    atomic_store(&guarded, true);
}

static struct as_file_place *remember(const void *begin, uint64_t size, const char *path)
{
    for (size_t i = 0; i < AS_COUNT_OF(places); i++) {
        struct as_file_place *p = &places[i];
        int none = FREE;

        if (!atomic_compare_exchange_strong(&p->state, &none, BEING_FILLED))
            continue;
        p->begin = (uintptr_t)begin;
        p->end = p->begin + (uintptr_t)size;
        (void)snprintf(p->path, sizeof p->path, "%s", path);
        atomic_store(&p->state, HELD);
        return p;
    }
    return NULL;
}

const char *as_file_map_find(const void *address)
{
    uintptr_t at = (uintptr_t)address;

    for (size_t i = 0; i < AS_COUNT_OF(places); i++)
        if (atomic_load(&places[i].state) == HELD && at >= places[i].begin && at < places[i].end)
            return places[i].path;
    return NULL;
}

/* ---- ranges ---- */

bool as_file_spans_add(struct as_file_spans *spans, uint64_t at, uint64_t size)
{
    if (size < AS_FILE_RANGE_LEAST)
        return true;
    if (spans->n == spans->capacity) {
        size_t capacity = spans->capacity ? spans->capacity * 2 : 64;
        struct as_file_span *grown = as_realloc(spans->item, capacity, sizeof *grown);

        if (!grown)
            return false;
        spans->item = grown;
        spans->capacity = capacity;
    }
    spans->item[spans->n++] = (struct as_file_span){at, size};
    return true;
}

void as_file_spans_fini(struct as_file_spans *spans)
{
    as_free(spans->item);
    *spans = (struct as_file_spans){0};
}

static int by_place(const void *a, const void *b)
{
    const struct as_file_span *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* Whole pages of the file, sorted, without overlaps. */
static void tidy(struct as_file_spans *spans, uint64_t size, uint64_t page)
{
    uint64_t before = 0; /* the end of the last one */
    size_t n = 0;

    if (spans->n)
        qsort(spans->item, spans->n, sizeof *spans->item, by_place);
    for (size_t i = 0; i < spans->n; i++) {
        struct as_file_span s = spans->item[i];
        uint64_t begin = s.at > before ? s.at : before, end;

        if (s.at > size)
            break;
        end = s.size > size - s.at ? size : s.at + s.size;
        begin = (begin + page - 1) / page * page;
        if (end < size)
            end = end / page * page;
        if (end <= begin)
            continue;
        if (n && spans->item[n - 1].at + spans->item[n - 1].size == begin)
            spans->item[n - 1].size += end - begin;
        else
            spans->item[n++] = (struct as_file_span){begin, end - begin};
        before = end;
    }
    spans->n = n;
}

/* Every range costs the system two areas of memory, of which a process has some 65,000: of very
 * many the small ones are given up. */
static void thin_out(struct as_file_spans *spans)
{
    for (uint64_t least = 2 * AS_FILE_RANGE_LEAST; spans->n > MAX_RANGES; least *= 2) {
        size_t n = 0;

        for (size_t i = 0; i < spans->n; i++)
            if (spans->item[i].size >= least)
                spans->item[n++] = spans->item[i];
        spans->n = n;
    }
}

/* What is left to be read is bounded: behind that bound all is mapped. */
static void bound_rest(struct as_file_spans *spans, uint64_t size, uint64_t page)
{
    uint64_t rest = 0, at = 0;
    size_t i = 0;

    for (; i <= spans->n; i++) {
        uint64_t next = i < spans->n ? spans->item[i].at : size;

        if (next - at > AS_FILE_REST_MAX - rest) {
            uint64_t from = (at + AS_FILE_REST_MAX - rest + page - 1) / page * page;

            spans->n = i;
            if (from < size)
                (void)as_file_spans_add(spans, from, size - from); /* else it is read */
            return;
        }
        rest += next - at;
        if (i < spans->n)
            at = spans->item[i].at + spans->item[i].size;
    }
}

/* ---- opening ---- */

bool as_file_map_wants_ranges(uint64_t size)
{
    return size >= AS_FILE_RANGE_LEAST && (atomic_load(&guarded) || size > AS_FILE_READ_MAX);
}

static int read_between(struct as_file_map *map, int fd, uint64_t at, uint64_t end,
                        const char *path, struct assay_error *err)
{
    size_t size = (size_t)(end - at);
    int rc;

    if (size == 0)
        return ASSAY_OK;
    map->read_bytes += size;
    if (mprotect(map->bytes + at, size, PROT_READ | PROT_WRITE) != 0)
        return as_fail_sys(err, ASSAY_ERR_NOMEM, "%s does not fit into memory", path);
    rc = as_pread_all(fd, map->bytes + at, size, at, path, err);
    (void)mprotect(map->bytes + at, size, PROT_READ);
    return rc;
}

static int fill(struct as_file_map *map, int fd, const char *path, struct assay_error *err)
{
    uint64_t at = 0;
    int rc = ASSAY_OK;

    for (size_t i = 0; rc == ASSAY_OK && i < map->mapped.n; i++) {
        const struct as_file_span *s = &map->mapped.item[i];

        rc = read_between(map, fd, at, s->at, path, err);
        at = s->at + s->size;
        if (rc == ASSAY_OK && mmap(map->bytes + s->at, (size_t)s->size, PROT_READ,
                                   MAP_PRIVATE | MAP_FIXED, fd, (off_t)s->at) == MAP_FAILED)
            rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot map %s", path);
        /* Only parts are looked at: reading ahead would fetch what is beside them. */
        if (rc == ASSAY_OK)
            (void)madvise(map->bytes + s->at, (size_t)s->size, MADV_RANDOM);
    }
    return rc == ASSAY_OK ? read_between(map, fd, at, map->size, path, err) : rc;
}

int as_file_map_open(struct as_file_map *map, int fd, uint64_t size, struct as_file_spans *large,
                     const char *path, struct assay_error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    void *bytes;
    int rc;

    *map = (struct as_file_map){.size = size, .mapped = *large};
    *large = (struct as_file_spans){0};
    if (size == 0) {
        as_file_spans_fini(&map->mapped);
        return ASSAY_OK;
    }
    if (size > SIZE_MAX / 2) {
        as_file_map_close(map);
        return as_fail(err, ASSAY_ERR_LIMIT, "%s is too large for this machine", path);
    }
    tidy(&map->mapped, size, page);
    thin_out(&map->mapped);
    if (as_file_map_wants_ranges(size))
        bound_rest(&map->mapped, size, page);
    else
        map->mapped.n = 0;
    bytes = mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        map->size = 0;
        as_file_map_close(map);
        return as_fail_sys(err, ASSAY_ERR_NOMEM, "%s does not fit into memory", path);
    }
    map->bytes = bytes;
    if (map->mapped.n)
        map->place = remember(bytes, size, path);
    rc = fill(map, fd, path, err);
    if (rc < 0)
        as_file_map_close(map);
    return rc;
}

void as_file_map_close(struct as_file_map *map)
{
    if (map->place)
        atomic_store(&map->place->state, FREE);
    if (map->bytes)
        (void)munmap(map->bytes, (size_t)map->size);
    as_file_spans_fini(&map->mapped);
    *map = (struct as_file_map){0};
}

/* The system maps neighbors along with a page that is touched, up to this far in front of it. */
#define AROUND_BYTES ((uint64_t)64 << 10)

void as_file_map_let_go(const struct as_file_map *map, uint64_t from, uint64_t size)
{
    uint64_t begin = from / AROUND_BYTES * AROUND_BYTES, end = from + size;
    size_t low = 0, high = map->mapped.n;

    while (low < high) { /* the first range that ends behind `begin` */
        size_t middle = low + (high - low) / 2;

        if (map->mapped.item[middle].at + map->mapped.item[middle].size <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < map->mapped.n && map->mapped.item[low].at < end; low++) {
        const struct as_file_span *s = &map->mapped.item[low];
        uint64_t first = s->at > begin ? s->at : begin;
        uint64_t last = s->at + s->size < end ? s->at + s->size : end;

        /* Nothing was written into these pages, so nothing is lost; others may still need parts of
         * them, which then come back from the file. */
        if (last > first)
            (void)madvise(map->bytes + first, (size_t)(last - first), MADV_DONTNEED);
    }
}
