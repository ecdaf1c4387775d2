/* trace/record/ring.h - the memory a thread records into: a few chunks of a file mapped shared, so
 * that they outlive a kill. One lane a thread; nothing here allocates from the heap.
 *
 *   ring file = header (4096 bytes) lane*
 *   header    = "ASSAYRNG" u32 version u32 n_chunks u8 id[16] u64 pid, then, of a session that was
 *               closed and could not write its run to the end, u64 errno u64 lost[4] (by reason,
 *               run_format.h), then u64 started, rest zero; native byte order. `started`, when not
 *               0: while a process `pid` that began at that clock tick lives it records here,
 *               whether the file is locked or not
 *   lane      = lane header (4096 bytes) chunk * n_chunks
 *   chunk     = 64 KiB: u64 tag, u64 sequence, u64 thread, u64 zero[5], then 4076 records of 16
 * bytes, 256 bytes unused
 *
 * A record counts when its word carries the tag of its chunk (assay/scope.h). A chunk that the run
 * file already holds (same thread and sequence) is passed over by the reader, so moving a chunk
 * needs no commit in two places. */
#ifndef AS_TRACE_RECORD_RING_H
#define AS_TRACE_RECORD_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "trace/record/record.h"
#include "trace/run/run_format.h"

#define AS_RING_MAGIC      "ASSAYRNG"
#define AS_RING_VERSION    1u
#define AS_RING_PAGE       4096u
#define AS_RING_MAX_CHUNKS 64u
#define AS_CHUNK_BYTES     ASSAY_CHUNK_BYTES_
#define AS_CHUNK_FIRST     4u /* records before it are the chunk's header */
#define AS_CHUNK_SLOTS     (AS_CHUNK_BYTES / 16u)
#define AS_CHUNK_CAPACITY  (ASSAY_CHUNK_END_ / 16u - AS_CHUNK_FIRST)
#define AS_CHUNK_GUARD                                                                             \
    (AS_CHUNK_SLOTS - ASSAY_CHUNK_END_ / 16u) /* handlers in handlers that may find it full */

enum as_chunk_state { AS_CHUNK_FREE = 0, AS_CHUNK_ACTIVE = 1, AS_CHUNK_FULL = 2 };

struct as_ring_header {
    char magic[8];
    uint32_t version, n_chunks;
    uint8_t id[AS_RUN_ID_BYTES];
    uint64_t pid;
    uint64_t sys; /* why the run lacks its end; 0: closed otherwise, or not at all */
    uint64_t lost[AS_LOSS_REASON_COUNT];
    uint64_t started; /* of a recorder whose lock the program may close; 0: the lock is enough */
};

/* The first page of a lane. */
struct as_lane_header {
    _Atomic uint64_t lost, lost_from,
        lost_to;     /* since the last LOST event, in the ring itself so a kill keeps them */
    uint64_t thread; /* whose loss it is */
    _Atomic uint32_t state[AS_RING_MAX_CHUNKS]; /* enum as_chunk_state */
};
_Static_assert(sizeof(struct as_lane_header) <= AS_RING_PAGE, "a lane header is one page");

struct as_chunk {
    uint64_t tag, sequence, thread, zero[5];
    struct assay_record_ slot[AS_CHUNK_CAPACITY], guard[AS_CHUNK_GUARD];
};
_Static_assert(sizeof(struct as_chunk) == AS_CHUNK_BYTES, "a chunk fills its 64 KiB");

/* A lane as mapped by the recording process. Lives in a private page in front of the mapping. */
struct as_lane {
    struct as_lane_header *head;
    struct as_chunk *chunk; /* n_chunks of them, aligned to their size */
    void *map_base;         /* the whole mapping, this struct included */
    size_t map_bytes;
    uint64_t epoch;           /* the session it belongs to */
    enum as_clock_kind clock; /* as the session has it: */
    bool wait_when_full, drains_inline;
    uint64_t thread, sequence; /* of the owner: its index in the run, its next chunk */
    uint64_t next_tag;
    uint64_t
        filled; /* chunks begun in this lane, whoever owned it; the next is the rest by n_chunks */
    _Atomic uint64_t drained;  /* of those, moved to the file */
    uint64_t after_drained;    /* under the file's lock: the sequence after the last chunk moved */
    uint32_t n_chunks, active; /* chunk being filled; n_chunks when none */
    _Atomic uint32_t
        hole_waits;          /* drains put off because a record was claimed and not yet stored */
    _Atomic uint32_t freed;  /* counts chunks given back; blocked writers wait on it */
    _Atomic uint32_t owned;  /* a thread records into it */
    _Atomic uint32_t sealed; /* its thread has ended; to be drained and reused */
    bool crash_safe;         /* false: no file space, private memory instead */
    _Atomic uint32_t announcement_bytes; /* of a threads block that is to be written */
    uint8_t announcement[64];
};

/* Creates the ring file on `fd` (empty, writable). `started`: see above. */
AS_MUST_USE int as_ring_create(int fd, const uint8_t id[AS_RUN_ID_BYTES], uint32_t n_chunks,
                               uint64_t started, struct assay_error *err);

/* Says in the ring how the session ended whose run could not be written, and that it did. */
bool as_ring_tell_end(int fd, int sys, const uint64_t lost[AS_LOSS_REASON_COUNT]);

/* Whether another process records into the ring; `*pid` is 0 when it is not known which. */
bool as_ring_is_recorded(int fd, long *pid);

/* When this process began, in ticks of the kernel; 0: unknown. */
uint64_t as_ring_started(void);

/* The lock goes, and this process records on. */
bool as_ring_tell_started(int fd);

/* Maps lane number `index` of the ring file, growing it; falls back to private memory when the file
 * cannot grow. NULL when there is no memory either. */
struct as_lane *as_lane_map(int fd, uint32_t index, uint32_t n_chunks);

void as_lane_unmap(struct as_lane *lane);

/* Puts empty private memory in its place: in a forked child, code that a handler interrupted may
 * still store there. */
void as_lane_detach(struct as_lane *lane);

/* Where lane `index` begins in the ring file. */
static inline uint64_t as_lane_offset(uint32_t index, uint32_t n_chunks)
{
    return AS_RING_PAGE + (uint64_t)index * (AS_RING_PAGE + (uint64_t)n_chunks * AS_CHUNK_BYTES);
}

#endif
