/* trace/record/ring.c - the memory a thread records into: a few chunks of a file mapped shared, so
 * that they outlive a kill. One lane a thread; nothing here allocates from the heap. */
#include "trace/record/ring.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/record/quiet_file.h"
#include "trace/run/file_limit.h"

/* ---- who records ---- */

/* Field 22 of such a file. */
static uint64_t started_of(const char *path)
{
    char text[1024], *at;
    int fd = as_quiet_open(AT_FDCWD, path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : as_quiet_read(fd, text, sizeof text - 1, 0);

    as_quiet_close(&fd);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')'); /* a name may hold anything, even this */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t as_ring_started(void)
{
    return started_of("/proc/self/stat");
}

/* A process has one recorder at a time: a ring of our own number was left behind. */
static bool is_running(const struct as_ring_header *header)
{
    char path[64];

    if (header->started == 0 || header->pid > INT32_MAX || header->pid == (uint64_t)getpid())
        return false;
    (void)snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)header->pid);
    return started_of(path) == header->started;
}

/* The lock names the process only where it is of the kind that older versions took. */
bool as_ring_is_recorded(int fd, long *pid)
{
    struct as_ring_header header = {0};
    bool locked = as_quiet_is_locked(fd, pid);
    bool known = as_quiet_read(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                 memcmp(header.magic, AS_RING_MAGIC, sizeof header.magic) == 0;

    if (!locked && !(known && is_running(&header)))
        return false;
    if (*pid == 0 && known && header.pid <= INT32_MAX)
        *pid = (long)header.pid;
    return true;
}

/* ---- the file ---- */

int as_ring_create(int fd, const uint8_t id[AS_RUN_ID_BYTES], uint32_t n_chunks, uint64_t started,
                   struct assay_error *err)
{
    struct as_ring_header header = {.version = AS_RING_VERSION,
                                    .n_chunks = n_chunks,
                                    .pid = (uint64_t)getpid(),
                                    .started = started};
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

/* Over what is there already, so that no limit matters. */
bool as_ring_tell_started(int fd)
{
    uint64_t started = as_ring_started();

    return as_quiet_write_all(fd, &started, sizeof started,
                              offsetof(struct as_ring_header, started));
}

bool as_ring_tell_end(int fd, int sys, const uint64_t lost[AS_LOSS_REASON_COUNT])
{
    uint64_t end[1 + AS_LOSS_REASON_COUNT + 1] = {(uint64_t)sys}; /* `started` is 0 */
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
