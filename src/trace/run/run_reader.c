/* trace/run/run_reader.c - opens a run, whatever state it is in, and tells how much of it is there.
 */
#include "trace/run/run_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/file/file_guard.h"
#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "base/units.h"
#include "base/vec.h"
#include "trace/record/recorder.h"
#include "trace/run/ring_reader.h"

#define AS_SCAN_BYTES ((size_t)64 * 1024)

/* ---- threads, chunks, sites ---- */

/* The place of thread `index` in the table of places, grown to reach it; NULL without memory. */
static uint32_t *reach_thread(struct as_run *run, uint64_t index)
{
    if (index >= run->place_capacity) {
        size_t capacity = run->place_capacity ? run->place_capacity : 64;
        uint32_t *grown;

        while (capacity <= index)
            capacity *= 2;
        grown = as_realloc(run->thread_place, capacity, sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + run->place_capacity, 0, (capacity - run->place_capacity) * sizeof *grown);
        run->thread_place = grown;
        run->place_capacity = capacity;
    }
    return &run->thread_place[index];
}

struct as_run_thread *as_run_thread_for(struct as_run *run, uint64_t index)
{
    uint32_t *place = index < AS_RUN_MAX_THREADS ? reach_thread(run, index) : NULL;

    if (!place)
        return NULL;
    if (*place)
        return &run->thread[*place - 1];
    if (!AS_VEC_RESERVE(run->thread, run->n_threads, run->thread_capacity))
        return NULL;
    run->thread[run->n_threads] = (struct as_run_thread){.index = index, .name = ""};
    *place = (uint32_t)++run->n_threads;
    return &run->thread[*place - 1];
}

int as_run_add_chunk(struct as_run *run, struct as_run_thread *thread,
                     const struct as_run_chunk *chunk, struct assay_error *err)
{
    if (!AS_VEC_RESERVE(thread->chunk, thread->n_chunks, thread->capacity))
        return as_fail_nomem(err);
    thread->chunk[thread->n_chunks++] = *chunk;
    run->health.events += chunk->records;
    if (chunk->memory)
        run->health.ring_events += chunk->records;
    return ASSAY_OK;
}

/* By sequence; of two with the same, the file's comes first, then the earlier one. */
static int by_sequence(const void *a, const void *b)
{
    const struct as_run_chunk *x = a, *y = b;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (!x->memory != !y->memory)
        return x->memory ? 1 : -1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Puts a thread's chunks in order and drops what is there twice. */
static void order_chunks(struct as_run *run, struct as_run_thread *thread)
{
    size_t kept = 0;

    if (thread->n_chunks == 0)
        return;
    qsort(thread->chunk, thread->n_chunks, sizeof *thread->chunk, by_sequence);
    for (size_t i = 0; i < thread->n_chunks; i++) {
        const struct as_run_chunk *c = &thread->chunk[i];

        if (kept > 0 && thread->chunk[kept - 1].sequence == c->sequence) {
            run->health.events -= c->records;
            if (c->memory)
                run->health.ring_events -= c->records;
        } else {
            thread->chunk[kept++] = *c;
        }
    }
    thread->n_chunks = kept;
}

bool as_run_thread_is_ours(const struct as_run_thread *thread)
{
    return thread->tid == 0 && strcmp(thread->name, AS_MEMORY_THREAD) == 0;
}

const struct as_run_site *as_run_site_at(const struct as_run *run, uint32_t id)
{
    static const struct as_run_site unknown = {.name = "(unknown)"};

    return id > 0 && id <= run->n_sites && run->site[id].known ? &run->site[id] : &unknown;
}

const struct as_run_attribute *as_run_site_get(const struct as_run_site *site, const char *key)
{
    for (const struct as_run_attribute *a = site->attributes; a; a = a->next) {
        if (strcmp(a->key, key) == 0)
            return a;
    }
    return NULL;
}

/* ---- reading the file ---- */

/* What is read was in the file when it was measured: failing is no damage, and is not taken for
 * it. */
static bool read_at(struct as_run *run, uint64_t offset, void *out, size_t size)
{
    ssize_t n = as_pread_some(run->fd, out, size, offset);

    if (n == (ssize_t)size)
        return true;
    if (!run->unread)
        run->unread = n < 0 ? errno : -1;
    return false;
}

static int tell_unread(const struct as_run *run, struct assay_error *err)
{
    if (run->unread < 0)
        return as_fail(err, ASSAY_ERR_IO, "%s was cut short while it was read", run->path);
    errno = run->unread;
    return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", run->path);
}

/* Where the next block header begins at or after `from`; the end of the file when there is none. */
static uint64_t find_block(struct as_run *run, uint64_t from, uint8_t *window)
{
    while (run->size_bytes - from >= AS_BLOCK_BYTES) {
        off_t data = lseek(run->fd, (off_t)from, SEEK_DATA); /* holes hold no block */
        uint64_t left;
        size_t size;
        struct as_block_header block;

        if (data < 0 && errno == ENXIO)
            break;
        if (data > (off_t)from)
            from = (uint64_t)data;
        left = run->size_bytes - from;
        if (from > run->size_bytes || left < AS_BLOCK_BYTES)
            break;
        size = left < AS_SCAN_BYTES ? (size_t)left : AS_SCAN_BYTES;
        if (!read_at(run, from, window, size))
            break;
        for (size_t i = 0; i + AS_BLOCK_BYTES <= size; i++) {
            const uint8_t *hit = memchr(window + i, 'A', size - AS_BLOCK_BYTES + 1 - i);

            if (!hit)
                break;
            i = (size_t)(hit - window);
            if (as_block_header_unpack(hit, run->header.salt, &block))
                return from + i;
        }
        from += size - AS_BLOCK_BYTES + 1;
    }
    return run->size_bytes;
}

static void note_damage(struct as_run *run, uint64_t bytes, uint64_t events)
{
    run->health.damaged_blocks++;
    run->health.damaged_bytes += bytes;
    run->health.damaged_events += events;
}

/* The file ends inside this block. Which chunk it was to hold often stands in what there is of it.
 */
static void note_cut(struct as_run *run, uint64_t at, const struct as_block_header *block)
{
    uint64_t left = run->size_bytes - at - AS_BLOCK_BYTES;
    uint8_t start[2 * AS_VARINT_MAX];
    size_t size = left < sizeof start ? (size_t)left : sizeof start;
    struct as_cursor c = as_cursor_over(start, size);

    run->health.cut_bytes = run->size_bytes - at;
    run->health.cut_events = block->records;
    run->cut_known = block->kind == AS_BLOCK_EVENTS &&
                     read_at(run, at + AS_BLOCK_BYTES, start, size) &&
                     as_take_varint(&c, &run->cut_thread) && as_take_varint(&c, &run->cut_sequence);
}

/* Takes the block at `at` and returns where the next begins, or 0 on an error. `*expected` is its
 * number. */
static uint64_t take_block(struct as_run *run, uint64_t at, struct as_buffer *buffer,
                           uint32_t *expected, struct assay_error *err)
{
    uint8_t bytes[AS_BLOCK_BYTES];
    struct as_block_header block;
    uint64_t left = run->size_bytes - at, next;
    uint8_t *payload;
    int rc = 0;

    if (left < AS_BLOCK_BYTES || !read_at(run, at, bytes, sizeof bytes)) {
        run->health.cut_bytes = left;
        return run->size_bytes;
    }
    buffer->size = 0;
    if (!as_block_header_unpack(bytes, run->header.salt, &block)) {
        payload = as_buffer_reserve(buffer, AS_SCAN_BYTES);
        if (!payload) {
            as_fail_nomem(err);
            return 0;
        }
        next = find_block(run, at + 1, payload);
        note_damage(run, next - at, 0);
        return next;
    }
    if (left - AS_BLOCK_BYTES < block.size) {
        note_cut(run, at, &block);
        return run->size_bytes;
    }
    next = at + AS_BLOCK_BYTES + block.size;
    payload = as_buffer_reserve(buffer, block.size ? block.size : 1);
    if (!payload) {
        as_fail_nomem(err);
        return 0;
    }
    /* Blocks are numbered in order: a number that was there before is a copy, and not taken twice.
     */
    if (block.number >= *expected && read_at(run, at + AS_BLOCK_BYTES, payload, block.size) &&
        as_crc32c(0, payload, block.size) == block.crc)
        rc = as_run_take_block(run, &block, payload, at + AS_BLOCK_BYTES, err);
    if (rc < 0)
        return 0;
    if (rc == 0)
        note_damage(run, next - at, block.records);
    if (block.number >= *expected)
        *expected = block.number + 1;
    return next;
}

static int take_blocks(struct as_run *run, struct assay_error *err)
{
    struct as_buffer buffer = {0};
    uint64_t at = AS_RUN_HEADER_BYTES;
    uint32_t expected = 0;

    while (at < run->size_bytes && !run->unread) {
        at = take_block(run, at, &buffer, &expected, err);
        if (at == 0)
            break;
    }
    as_buffer_fini(&buffer);
    run->next_number = expected;
    if (run->unread)
        return tell_unread(run, err);
    return at == 0 ? ASSAY_ERR_NOMEM : ASSAY_OK;
}

/* What a file that is no run most likely is, for the sentence. */
static const char *guess_kind(const uint8_t *data, size_t size)
{
    static const struct {
        const char *magic, *what;
    } known[] = {
        {"<!DOCTYPE", "an HTML page"},
        {"<!doctype", "an HTML page"},
        {"<html", "an HTML page"},
        {"\x7f"
         "ELF",
         "a program"},
        {"PK\x03\x04", "a ZIP archive"},
        {"\x89PNG", "a PNG picture"},
        {"GGUF", "a GGUF model"},
        {"ASSAYRNG", "the ring of a run: name the run itself"},
        {"{", "JSON text"},
        {"[", "JSON text"},
        {"#!", "a script"},
        {"%PDF", "a PDF document"},
        {"\x1f\x8b", "a gzip archive"},
        {"PERFILE2", "a perf recording"},
    };

    for (size_t i = 0; i < AS_COUNT_OF(known); i++) {
        size_t n = strlen(known[i].magic);

        if (size >= n && memcmp(data, known[i].magic, n) == 0)
            return known[i].what;
    }
    return NULL;
}

static int take_header(struct as_run *run, struct assay_error *err)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    size_t size = run->size_bytes < sizeof bytes ? (size_t)run->size_bytes : sizeof bytes;
    const char *what;

    if (!read_at(run, 0, bytes, size))
        return tell_unread(run, err);
    if (size == 0)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is empty, not a run file", run->path);
    switch (as_run_header_unpack(bytes, size, &run->header)) {
    case AS_HEADER_SHORT:
        return as_fail_at(err, run->size_bytes, "%s ends inside its header: nothing was recorded",
                          run->path);
    case AS_HEADER_FOREIGN:
        what = guess_kind(bytes, size);
        if (what)
            return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a run file; it looks like %s",
                           run->path, what);
        return as_fail(err, ASSAY_ERR_FORMAT, "%s is not a run file", run->path);
    case AS_HEADER_DAMAGED:
        return as_fail_at(err, 8, "the header of %s is damaged", run->path);
    case AS_HEADER_GOOD:
        break;
    }
    if (run->header.major != AS_RUN_MAJOR)
        return as_fail(err, ASSAY_ERR_UNSUPPORTED,
                       "%s was written by a later version of assay (format %u; this one reads %u): "
                       "update assay",
                       run->path, run->header.major, AS_RUN_MAJOR);
    return ASSAY_OK;
}

static int open_file(struct as_run *run, const char *path, struct assay_error *err)
{
    struct stat st;

    run->path = as_strdup(path);
    if (!run->path)
        return as_fail_nomem(err);
    /* A FIFO must not make us wait. */
    run->fd = as_open(path, O_RDONLY | O_NONBLOCK);
    as_guard_input(run->fd);
    if (run->fd < 0 || fstat(run->fd, &st) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot open %s", path);
    if (S_ISDIR(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "%s is a directory, not a run file", path);
    if (!S_ISREG(st.st_mode))
        return as_fail(err, ASSAY_ERR_IO, "%s is not a regular file", path);
    return ASSAY_OK;
}

/* How much there is to read. Asked after the ring was read: what the recorder moved from there
 * meanwhile is counted. */
static int measure_file(struct as_run *run, struct assay_error *err)
{
    struct stat st;

    if (fstat(run->fd, &st) != 0)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", run->path);
    run->size_bytes = (uint64_t)st.st_size;
    return ASSAY_OK;
}

static int by_index(const void *a, const void *b)
{
    const struct as_run_thread *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

/* Reads the run whose descriptor is open; of a file, the ring beside it too. */
static int read_run(struct as_run *run, bool in_memory, struct assay_error *err)
{
    struct as_ring_catch ring = {0};
    int rc = ASSAY_OK;

    if (!in_memory) /* before the file: see struct as_ring_catch */
        rc = as_ring_catch(&ring, run->path, err);
    if (rc == ASSAY_OK)
        rc = measure_file(run, err);
    if (rc == ASSAY_OK)
        rc = take_header(run, err);
    if (rc == ASSAY_OK)
        rc = take_blocks(run, err);
    if (rc == ASSAY_OK)
        rc = as_ring_merge(&ring, run, err);
    if (rc < 0)
        goto out;
    run->ring_arena = ring.arena; /* the chunks taken from the ring stand there */
    ring = (struct as_ring_catch){0};
    for (size_t i = 0; i < run->n_threads; i++)
        order_chunks(run, &run->thread[i]);
    if (run->n_threads)
        qsort(run->thread, run->n_threads, sizeof *run->thread, by_index);
    as_free(run->thread_place); /* the threads have moved */
    run->thread_place = NULL;
    run->place_capacity = 0;
    as_timebase_init(&run->time, run->anchor, run->n_anchors,
                     as_run_fact_is(run, "clock.kind", "monotonic"));
out:
    as_ring_catch_fini(&ring);
    return rc;
}

int as_run_open(struct as_run **out, const char *path, struct assay_error *err)
{
    struct as_run *run = as_alloc_zero(1, sizeof *run);
    int rc;

    *out = NULL;
    if (!run)
        return as_fail_nomem(err);
    run->fd = -1;
    rc = open_file(run, path, err);
    if (rc == ASSAY_OK)
        rc = read_run(run, false, err);
    if (rc < 0)
        as_run_close(run);
    else
        *out = run;
    return rc;
}

int as_run_open_fd(struct as_run **out, int fd, const char *name, struct assay_error *err)
{
    struct as_run *run = as_alloc_zero(1, sizeof *run);
    int rc;

    *out = NULL;
    if (!run) {
        close(fd);
        return as_fail_nomem(err);
    }
    run->fd = fd;
    run->path = as_strdup(name);
    rc = run->path ? read_run(run, true, err) : as_fail_nomem(err);
    if (rc < 0)
        as_run_close(run);
    else
        *out = run;
    return rc;
}

void as_run_close(struct as_run *run)
{
    if (!run)
        return;
    if (run->fd >= 0)
        close(run->fd);
    for (size_t i = 0; i < run->n_threads; i++)
        as_free(run->thread[i].chunk);
    as_free(run->thread);
    as_free(run->thread_place);
    as_free(run->site);
    as_free(run->anchor);
    as_free(run->data);
    as_free(run->meta);
    as_free(run->path);
    as_arena_fini(&run->arena);
    as_arena_fini(&run->ring_arena);
    as_free(run);
}
