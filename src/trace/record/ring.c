/* trace/record/ring.c - the memory a thread records into: a few chunks of a file mapped shared, so
 * that they outlive a kill. One lane a thread; nothing here allocates from the heap. */
#include "trace/record/ring.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/record/quiet_file.h"
#include "trace/run/file_limit.h"

int as_ring_create(int fd, const uint8_t id[AS_RUN_ID_BYTES], uint32_t n_chunks,
                   struct assay_error *err)
{
    struct as_ring_header header = {
        .version = AS_RING_VERSION, .n_chunks = n_chunks, .pid = (uint64_t)getpid()};
    struct as_file_limit limit;
    bool ok;

    memcpy(header.magic, AS_RING_MAGIC, sizeof header.magic);
    memcpy(header.id, id, AS_RUN_ID_BYTES);
    as_file_limit_enter(&limit);
    ok = as_quiet_write_all(fd, &header, sizeof header, 0);
    as_file_limit_leave(&limit);
    if (!ok)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot write the ring file");
    return ASSAY_OK;
}

bool as_ring_tell_end(int fd, int sys, const uint64_t lost[AS_LOSS_REASON_COUNT])
{
    uint64_t end[1 + AS_LOSS_REASON_COUNT] = {(uint64_t)sys};
    struct as_file_limit limit;
    bool ok;

    memcpy(end + 1, lost, sizeof *lost * AS_LOSS_REASON_COUNT);
    as_file_limit_enter(&limit);
    ok = as_quiet_write_all(fd, end, sizeof end, offsetof(struct as_ring_header, sys));
    as_file_limit_leave(&limit);
    return ok;
}

/* A store into a hole of a full file system would be a SIGBUS in the program we measure: reserve
 * first. */
static bool reserve(int fd, uint64_t offset, size_t bytes)
{
    struct as_file_limit limit;
    bool ok;

    if (fd < 0)
        return false;
    as_file_limit_enter(&limit);
    ok = as_quiet_reserve(fd, offset, bytes);
    if (!ok) /* a part that was reserved would take the last room from the run itself */
        (void)as_quiet_truncate(fd, offset);
    as_file_limit_leave(&limit);
    return ok;
}

struct as_lane *as_lane_map(int fd, uint32_t index, uint32_t n_chunks)
{
    const size_t file_bytes = AS_RING_PAGE + (size_t)n_chunks * AS_CHUNK_BYTES;
    const size_t map_bytes =
        AS_CHUNK_BYTES + AS_RING_PAGE + file_bytes; /* room to align, and our own page */
    const uint64_t offset = as_lane_offset(index, n_chunks);
    uint8_t *base =
        mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct as_lane *lane;
    uintptr_t chunks;
    uint8_t *head;

    if (base == MAP_FAILED)
        return NULL;
    chunks = ((uintptr_t)base + 2 * (size_t)AS_RING_PAGE + AS_CHUNK_BYTES - 1) &
             ~(uintptr_t)(AS_CHUNK_BYTES - 1);
    head = base + (chunks - (uintptr_t)base) - AS_RING_PAGE;
    lane = (struct as_lane *)(void *)(head - AS_RING_PAGE);
    if (reserve(fd, offset, file_bytes) &&
        mmap(head, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
             (off_t)offset) == (void *)head)
        lane->crash_safe = true;
    lane->head = (struct as_lane_header *)(void *)head;
    lane->chunk = (struct as_chunk *)(void *)(head + AS_RING_PAGE);
    lane->map_base = base;
    lane->map_bytes = map_bytes;
    lane->n_chunks = lane->active = n_chunks;
    lane->next_tag = 1;
    return lane;
}

void as_lane_unmap(struct as_lane *lane)
{
    if (lane)
        munmap(lane->map_base, lane->map_bytes);
}

void as_lane_detach(struct as_lane *lane)
{
    void *base = lane->map_base;
    size_t bytes = lane->map_bytes;

    if (mmap(base, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        munmap(base, bytes);
}
