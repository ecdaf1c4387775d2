/* trace/record/drain.c - moves full chunks from the rings to the run file, on a thread of its own
 * where there is one. A chunk is free again only when the file has it, so a kill at any moment
 * finds it in at least one place. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "trace/record/event_code.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

#define R as_recorder

/* A record claimed but not stored belongs to code that a signal handler interrupted: it gets a
 * second to come back. */
#define AS_HOLE_WAITS   1000u
#define AS_HOLE_WAIT_NS 1000000u

/* While threads record, the mover looks by itself this often; they wake it only when half a ring
 * waits. */
#define AS_POLL_NS 10000000u
/* Looks without anything to move, after which it sleeps until it is woken or due. */
#define AS_IDLE_POLLS 100u

/* Whether a chunk that cannot be written stays where it is, for whoever reads the ring. */
static bool stays_in_ring(const struct as_lane *lane)
{
    return R.file.sys && lane->crash_safe && !R.ring_is_gone;
}

/* Packs a chunk and writes it. False when it stays in the ring, and when that has to wait for a
 * record on its way, which `now` forbids: its thread has ended, or the session does. A full chunk
 * of a living thread is padded to its end. The file's lock is held. */
static bool write_chunk(struct as_lane *lane, const struct as_chunk *chunk, bool now)
{
    struct as_chunk_packed packed = as_chunk_pack(chunk, R.packed);

    if (packed.n_holes + packed.n_tail > 0 && !now && lane->hole_waits < AS_HOLE_WAITS) {
        lane->hole_waits++;
        return false;
    }
    lane->hole_waits = 0;
    as_recorder_put_sites();
    if (packed.n_records &&
        !as_recorder_put(AS_BLOCK_EVENTS, R.packed, packed.size, packed.n_records)) {
        if (stays_in_ring(lane))
            return false;
        atomic_fetch_add(&R.lost[AS_LOSS_WRITE], packed.n_records);
    }
    lane->after_drained = chunk->sequence + 1;
    return true;
}

static bool is_ready(const struct as_lane *lane, uint32_t index, bool all)
{
    uint32_t state = atomic_load_explicit(&lane->head->state[index], memory_order_acquire);

    return state == AS_CHUNK_FULL || (state == AS_CHUNK_ACTIVE && all);
}

/* Moves the next chunk of a lane; false when there is none to move. The lock of the file is held
 * from the look at the chunk to its release, since in a forked child the owner of a lane and
 * whoever closes the session both come here. */
static bool move_next(struct as_lane *lane, bool all)
{
    bool sealed = atomic_load(&lane->sealed), moved = false;
    uint32_t index;

    pthread_mutex_lock(&R.file_lock);
    index = (uint32_t)(lane->drained % lane->n_chunks);
    if (!stays_in_ring(lane) && is_ready(lane, index, all) &&
        write_chunk(lane, &lane->chunk[index], all || sealed)) {
        atomic_store_explicit(&lane->head->state[index], AS_CHUNK_FREE, memory_order_release);
        lane->drained++;
        moved = true;
    }
    pthread_mutex_unlock(&R.file_lock);
    if (moved) {
        atomic_fetch_add(&lane->freed, 1);
        if (R.wait_when_full)
            as_futex_wake(&lane->freed);
    }
    return moved;
}

static void put_announcement(struct as_lane *lane)
{
    uint32_t size = atomic_load_explicit(&lane->announcement_bytes, memory_order_acquire);

    if (size) {
        as_recorder_put(AS_BLOCK_THREADS, lane->announcement, size, 0);
        atomic_store_explicit(&lane->announcement_bytes, 0, memory_order_release);
    }
}

static void announce(struct as_lane *lane)
{
    if (!atomic_load_explicit(&lane->announcement_bytes, memory_order_relaxed))
        return;
    pthread_mutex_lock(&R.file_lock);
    put_announcement(lane);
    pthread_mutex_unlock(&R.file_lock);
}

static void make_spare(void)
{
    if (atomic_load(&R.spare) || !atomic_load(&R.live))
        return;
    pthread_mutex_lock(&R.file_lock); /* nobody forks while it is half mapped */
    atomic_store(&R.spare, as_lane_make());
    pthread_mutex_unlock(&R.file_lock);
}

/* What threads wait for: that the file has the names they are about to use, and memory to record
 * into. */
static void satisfy(void)
{
    uint32_t ticket, n;

    if (!as_guest_is_needed(&ticket))
        return;
    pthread_mutex_lock(&R.file_lock);
    as_recorder_put_sites();
    n = atomic_load(&R.n_lanes);
    for (uint32_t i = 0; i < n; i++)
        put_announcement(R.lane[i]);
    pthread_mutex_unlock(&R.file_lock);
    if (atomic_exchange(&R.wants_spare, false))
        make_spare();
    as_guest_satisfy(ticket);
    if (atomic_load(&R.keeps_spare))
        make_spare();
}

bool as_drain_lane(struct as_lane *lane, bool all)
{
    bool moved = false;

    announce(lane);

    /* Once around at most: a thread that fills chunks as fast as they are moved must not starve the
     * others. */
    for (uint32_t i = 0; i < lane->n_chunks; i++) {
        if (!is_ready(lane, (uint32_t)(lane->drained % lane->n_chunks), all) ||
            !move_next(lane, all))
            break;
        moved = true;
    }
    /* Last, so that a thread looking for a lane finds this one only when it is empty. */
    if (atomic_load(&lane->sealed) &&
        atomic_load(&lane->head->state[lane->drained % lane->n_chunks]) == AS_CHUNK_FREE) {
        as_lane_tell_loss(lane, lane->head->thread, lane->after_drained);
        atomic_store(&lane->sealed, 0);
    }
    return moved;
}

static void drain_work(void *lane)
{
    (void)as_drain_lane(lane, false);
}

void as_drain_inline(struct as_lane *lane)
{
    as_guest_call(drain_work, lane);
}

bool as_drain_lanes(bool all)
{
    uint32_t n = atomic_load(&R.n_lanes);
    bool moved = false;

    for (uint32_t i = 0; i < n; i++) {
        moved |= as_drain_lane(R.lane[i], all);
        if (!R.drains_inline)
            satisfy(); /* a thread that waits does not wait for all of them */
    }
    return moved;
}

/* 1, 10 and 100 ms after the start, then every second: enough to place a run that is killed early,
 * too. */
static uint64_t next_anchor_ns(unsigned n)
{
    static const uint64_t early[] = {1000000, 9000000, 90000000};

    return n < AS_COUNT_OF(early) ? early[n] : 1000000000;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool some_lane_waits(void)
{
    uint32_t n = atomic_load(&R.n_lanes);

    for (uint32_t i = 0; i < n; i++) {
        if (R.lane[i]->hole_waits)
            return true;
    }
    return false;
}

/* Whether the first thread has ended, and how many are left: field 3 and 20 of /proc/self/stat. */
static bool first_thread_ended(unsigned long *n_threads)
{
    char text[512];
    const char *at;

    if (!as_guest_read_proc(AS_GUEST_STAT, text, sizeof text))
        return false;
    at = strrchr(text, ')'); /* a name may hold anything, even this */
    if (!at || strncmp(at, ") Z", 3) != 0)
        return false;
    for (int field = 2; at && field < 20; field++)
        at = strchr(at + 1, ' ');
    *n_threads = at ? strtoul(at, NULL, 10) : 0;
    return true;
}

/* A program ends when its last thread does, and ours must not be the one that keeps it: once the
 * first thread has ended we look again and again whether we are alone, and end too. The C library
 * then calls exit(). */
static bool is_alone(bool *watch)
{
    unsigned long n_threads = 0;

    *watch = first_thread_ended(&n_threads);
    /* We, and the first, which waits for its process. */
    return *watch && n_threads == 1 + atomic_load(&as_own_threads);
}

void as_mover_retire(void)
{
    as_guest_retire();
    R.drains_inline = true;
}

struct pace {
    uint64_t due;
    unsigned n_anchors, idle;
    bool begun, watch, over;
};

/* Nanoseconds until there is something to do again, 0: at once. */
static uint64_t move(struct pace *p)
{
    uint64_t now = as_clock_mono_ns(), sample_ns, sleep_ns;

    if (!p->begun)
        p->due = now + next_anchor_ns(0);
    p->begun = true;
    if (now >= p->due) {
        as_recorder_anchor();
        p->due = now + next_anchor_ns(++p->n_anchors);
        p->watch = true;
    }
    sample_ns = as_memory_samples_take(now);
    p->watch |= atomic_exchange(&R.thread_ended, false);
    if (as_drain_lanes(false)) {
        p->idle = 0;
        return 0;
    }
    if (p->watch && is_alone(&p->watch)) {
        p->over = !as_guest_is_alone(); /* the other one of ours ends the program */
        p->watch = false;
    }
    sleep_ns = p->due > now ? p->due - now : 1;
    if (some_lane_waits())
        sleep_ns = least(sleep_ns, AS_HOLE_WAIT_NS);
    else if (p->watch || (p->idle < AS_IDLE_POLLS && ++p->idle))
        sleep_ns = least(sleep_ns, AS_POLL_NS);
    return least(sleep_ns, sample_ns);
}

void as_mover_main(void)
{
    struct pace pace = {.idle = AS_IDLE_POLLS};

    while (!pace.over) {
        uint32_t seen = as_guest_wake_count();
        uint64_t sleep_ns = 1000000000;

        as_guest_serve();
        if (as_guest_is_stopping())
            break;
        satisfy();
        if (atomic_load(&R.live))
            sleep_ns = move(&pace);
        if (sleep_ns && !pace.over)
            as_guest_sleep(seen, sleep_ns);
    }
}
