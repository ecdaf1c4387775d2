/* trace/record/drain.c - moves full chunks from the rings to the run file, on a thread of its own
 * where there is one. A chunk is free again only when the file has it, so a kill at any moment
 * finds it in at least one place. */
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

void as_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

void as_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void as_mover_wake(void)
{
    atomic_fetch_add(&R.wake, 1);
    if (atomic_load(&R.sleeping))
        as_futex_wake(&R.wake);
}

/* Packs a chunk and writes it. False when that has to wait for a record on its way, which `now`
 * forbids: its thread has ended, or the session does. A full chunk of a living thread is padded to
 * its end. The file's lock is held. */
static bool write_chunk(struct as_lane *lane, const struct as_chunk *chunk, bool now)
{
    struct as_chunk_packed packed = as_chunk_pack(chunk, R.packed);

    if (packed.n_holes + packed.n_tail > 0 && !now && lane->hole_waits < AS_HOLE_WAITS) {
        lane->hole_waits++;
        return false;
    }
    lane->hole_waits = 0;
    if (packed.n_records &&
        !as_run_writer_add(&R.file, AS_BLOCK_EVENTS, R.packed, packed.size, packed.n_records))
        atomic_fetch_add(&R.lost[AS_LOSS_WRITE], packed.n_records);
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
    if (is_ready(lane, index, all) && write_chunk(lane, &lane->chunk[index], all || sealed)) {
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

bool as_drain_lane(struct as_lane *lane, bool all)
{
    bool moved = false;

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
        atomic_load(&lane->head->state[lane->drained % lane->n_chunks]) == AS_CHUNK_FREE)
        atomic_store(&lane->sealed, 0);
    return moved;
}

bool as_drain_lanes(bool all)
{
    uint32_t n = atomic_load(&R.n_lanes);
    bool moved = false;

    for (uint32_t i = 0; i < n; i++)
        moved |= as_drain_lane(R.lane[i], all);
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
    char text[512] = {0};
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const char *at;
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    at = n > 0 ? strrchr(text, ')') : NULL; /* a name may hold anything, even this */
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
    return *watch && n_threads == 2; /* we, and the first, which waits for its process */
}

static void *mover_main(void *unused)
{
    uint64_t due = as_clock_mono_ns() + next_anchor_ns(0);
    unsigned n_anchors = 0, idle = AS_IDLE_POLLS;
    uint64_t sample_ns;
    bool watch = false;

    (void)unused;
    pthread_setname_np(pthread_self(), "assay-trace");
    while (!atomic_load(&R.stop)) {
        uint32_t seen = atomic_load(&R.wake);
        uint64_t now = as_clock_mono_ns();

        if (now >= due) {
            as_recorder_anchor();
            due = now + next_anchor_ns(++n_anchors);
            watch = true;
        }
        sample_ns = as_memory_samples_take(now);
        watch |= atomic_exchange(&R.thread_ended, false);
        if (as_drain_lanes(false)) {
            idle = 0;
            continue;
        }
        if (watch && is_alone(&watch))
            break;
        atomic_store(&R.sleeping, 1);
        if (atomic_load(&R.wake) == seen && !atomic_load(&R.stop)) {
            uint64_t sleep_ns = due > now ? due - now : 1;

            if (some_lane_waits())
                sleep_ns = least(sleep_ns, AS_HOLE_WAIT_NS);
            else if (watch || (idle < AS_IDLE_POLLS && ++idle))
                sleep_ns = least(sleep_ns, AS_POLL_NS);
            as_futex_wait(&R.wake, seen, least(sleep_ns, sample_ns));
        }
        atomic_store(&R.sleeping, 0);
    }
    return NULL;
}

bool as_mover_start(void)
{
    sigset_t saved;

    atomic_store(&R.stop, false);
    as_signals_block(&saved); /* inherited: the program's signals are never delivered here */
    R.mover_runs = pthread_create(&R.mover, NULL, mover_main, NULL) == 0;
    as_signals_restore(&saved);
    return R.mover_runs;
}

void as_mover_stop(void)
{
    if (!R.mover_runs)
        return;
    atomic_store(&R.stop, true);
    atomic_fetch_add(&R.wake, 1);
    as_futex_wake(&R.wake);
    if (!pthread_equal(R.mover, pthread_self())) /* it was the last thread, and ends the program */
        pthread_join(R.mover, NULL);
    R.mover_runs = false;
}
