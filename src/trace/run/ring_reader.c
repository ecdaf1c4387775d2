/* trace/run/ring_reader.c - takes the events a killed or still running program has in its ring. */
#include "trace/run/ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_guard.h"
#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/file/new_file.h"
#include "trace/record/event_code.h"
#include "trace/record/quiet_file.h"
#include "trace/record/recorder.h"
#include "trace/run/run_path.h"

/* One packed chunk, or one account of a loss. */
struct as_ring_piece {
    struct as_ring_piece *next;
    uint64_t thread, sequence;
    const uint8_t *data; /* NULL: a loss */
    uint32_t size, records;
    uint64_t lost, lost_from, lost_to;
};

struct ring_file {
    int fd;
    uint64_t size;
    uint32_t n_chunks;
    int sys;                 /* errno of the first read that failed */
    uint8_t *first, *second; /* a chunk, read twice: the program may be writing */
    uint8_t *packed;
};

/* A ring is shortened by nobody but its recorder, when it ends; what cannot be read for another
 * reason is kept in `sys`. */
static bool read_at(struct ring_file *f, uint64_t offset, void *out, size_t size)
{
    ssize_t n;

    if (offset > f->size || size > f->size - offset)
        return false;
    n = as_pread_some(f->fd, out, size, offset);
    if (n < 0 && !f->sys)
        f->sys = errno;
    return n == (ssize_t)size;
}

static struct as_ring_piece *add_piece(struct as_ring_catch *ring)
{
    struct as_ring_piece *piece = as_arena_zero(&ring->arena, 1, sizeof *piece);

    if (piece) {
        piece->next = ring->pieces;
        ring->pieces = piece;
    }
    return piece;
}

/* Two readings of a record that differ caught it half written: it is not complete. */
static void keep_agreed(struct as_chunk *chunk, const struct as_chunk *again)
{
    for (uint32_t i = 0; i < AS_CHUNK_CAPACITY; i++) {
        if (chunk->slot[i].time != again->slot[i].time ||
            chunk->slot[i].word != again->slot[i].word)
            chunk->slot[i].word = 0;
    }
}

static int take_chunk(struct as_ring_catch *ring, struct ring_file *f, uint64_t offset,
                      struct assay_error *err)
{
    struct as_chunk *chunk = (struct as_chunk *)(void *)f->first;
    const struct as_chunk *again;
    struct as_chunk_packed packed;
    struct as_ring_piece *piece;
    uint8_t *copy;

    if (!read_at(f, offset, chunk, sizeof *chunk) || chunk->thread >= AS_RUN_MAX_THREADS ||
        chunk->tag == 0)
        return ASSAY_OK;
    /* Read twice, whether the ring is locked or not: a forked child records without a lock. */
    again = (const struct as_chunk *)(const void *)f->second;
    if (!read_at(f, offset, f->second, sizeof *chunk) || again->sequence != chunk->sequence ||
        again->thread != chunk->thread)
        return ASSAY_OK; /* moved to the file and taken anew between the two */
    keep_agreed(chunk, again);
    packed = as_chunk_pack(chunk, f->packed);
    if (packed.n_records == 0)
        return ASSAY_OK;
    piece = add_piece(ring);
    copy = as_arena_alloc(&ring->arena, packed.size);
    if (!piece || !copy)
        return as_fail_nomem(err);
    memcpy(copy, f->packed, packed.size);
    piece->thread = chunk->thread;
    piece->sequence = chunk->sequence;
    piece->data = copy;
    piece->size = (uint32_t)packed.size;
    piece->records = packed.n_records;
    return ASSAY_OK;
}

static int take_lane(struct as_ring_catch *ring, struct ring_file *f, uint64_t offset,
                     struct assay_error *err)
{
    struct as_lane_header head;
    int rc = ASSAY_OK;

    if (!read_at(f, offset, &head, sizeof head))
        return ASSAY_OK;
    if (head.lost && head.thread < AS_RUN_MAX_THREADS) {
        struct as_ring_piece *piece = add_piece(ring);

        if (!piece)
            return as_fail_nomem(err);
        piece->thread = head.thread;
        piece->lost = head.lost;
        piece->lost_from = head.lost_from;
        piece->lost_to = head.lost_to;
    }
    for (uint32_t i = 0; i < f->n_chunks && rc == ASSAY_OK; i++) {
        uint32_t state = head.state[i];

        if (state == AS_CHUNK_ACTIVE || state == AS_CHUNK_FULL)
            rc = take_chunk(ring, f, offset + AS_RING_PAGE + (uint64_t)i * AS_CHUNK_BYTES, err);
    }
    return rc;
}

static int take_ring(struct as_ring_catch *ring, struct ring_file *f, struct assay_error *err)
{
    struct as_ring_header header;
    int rc = ASSAY_OK;

    if (!read_at(f, 0, &header, sizeof header) || memcmp(header.magic, AS_RING_MAGIC, 8) != 0 ||
        header.version != AS_RING_VERSION || header.n_chunks == 0 ||
        header.n_chunks > AS_RING_MAX_CHUNKS)
        return ASSAY_OK;
    memcpy(ring->id, header.id, sizeof ring->id);
    ring->found = true;
    if (header.sys > 0 && header.sys <= INT_MAX)
        ring->sys = (int)header.sys;
    memcpy(ring->lost, header.lost, sizeof ring->lost);
    ring->live = as_ring_is_recorded(f->fd, &ring->live_pid);
    f->n_chunks = header.n_chunks;
    for (uint32_t i = 0; i < AS_MAX_LANES && rc == ASSAY_OK; i++) {
        uint64_t offset = as_lane_offset(i, f->n_chunks);

        if (offset >= f->size)
            break;
        rc = take_lane(ring, f, offset, err);
    }
    return rc;
}

int as_ring_catch(struct as_ring_catch *ring, const char *path, struct assay_error *err)
{
    struct ring_file f = {.fd = -1};
    char ring_path[PATH_MAX];
    struct stat st;
    int rc = ASSAY_OK;

    *ring = (struct as_ring_catch){0};
    if (!as_run_path_ring(ring_path, sizeof ring_path, path))
        return ASSAY_OK;
    f.fd = as_open(ring_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    as_guard_input(f.fd);
    if (f.fd < 0 || fstat(f.fd, &st) != 0 || !S_ISREG(st.st_mode))
        goto out;
    f.size = (uint64_t)st.st_size;
    f.first = as_alloc(AS_CHUNK_BYTES);
    f.second = as_alloc(AS_CHUNK_BYTES);
    f.packed = as_alloc(AS_CHUNK_PACKED_BYTES);
    if (!f.first || !f.second || !f.packed)
        rc = as_fail_nomem(err);
    else
        rc = take_ring(ring, &f, err);
    if (rc == ASSAY_OK && f.sys) {
        errno = f.sys;
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot read %s", ring_path);
    }
out:
    if (f.fd >= 0)
        close(f.fd);
    as_free(f.first);
    as_free(f.second);
    as_free(f.packed);
    if (rc < 0)
        as_ring_catch_fini(ring);
    return rc;
}

int as_ring_merge(struct as_ring_catch *ring, struct as_run *run, struct assay_error *err)
{
    if (!ring->found || memcmp(ring->id, run->header.id, sizeof ring->id) != 0)
        return ASSAY_OK;
    run->health.ring_found = true;
    run->health.live = ring->live && !run->health.closed;
    run->health.live_pid = ring->live_pid;
    if (run->health.closed)
        return ASSAY_OK;
    run->health.write_sys = ring->sys;
    if (!run->cut_known && run->health.cut_events == 0)
        run->health.cut_bytes =
            0; /* killed while writing what no event relied on yet, or what the ring still has */
    for (const struct as_ring_piece *p = ring->pieces; p; p = p->next) {
        struct as_run_thread *thread = as_run_thread_for(run, p->thread);
        struct as_run_chunk chunk = {
            .sequence = p->sequence, .size = p->size, .records = p->records};
        int rc;

        if (!thread)
            return as_fail_nomem(err);
        if (!p->data) {
            thread->pending_lost = p->lost;
            thread->pending_from = p->lost_from;
            thread->pending_to = p->lost_to;
            run->health.lost[AS_LOSS_RING_FULL] += p->lost;
            continue; /* replaced below when the session gave an account */
        }
        chunk.memory = p->data;
        if (run->cut_known && run->cut_thread == p->thread && run->cut_sequence == p->sequence)
            run->health.cut_bytes = run->health.cut_events =
                0; /* killed while moving it: nothing is missing */
        rc = as_run_add_chunk(run, thread, &chunk, err);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; ring->sys && i < AS_LOSS_REASON_COUNT; i++)
        run->health.lost[i] = ring->lost[i];
    return ASSAY_OK;
}

void as_ring_catch_fini(struct as_ring_catch *ring)
{
    as_arena_fini(&ring->arena);
    ring->pieces = NULL;
}
