/* trace/record/lane.c - gives each thread its ring and records what the inline path cannot.
 * Runs inside the measured program: no heap, no stdio, every signal held back while a lock is. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/record/event_code.h"
#include "trace/record/lane_fill.h"
#include "trace/record/layer_now.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

#define R as_recorder

#define AS_COST_PAIRS  64
#define AS_COST_ROUNDS 9

__thread struct assay_lane_ assay_lane_ __attribute__((tls_model("initial-exec"))) =
    AS_FILL_NOWHERE;
struct assay_gate_ assay_gate_;

static pthread_key_t lane_key;
static _Atomic int lane_key_ready;

/* A lane of an earlier session. It stays mapped until the next one follows it or the thread ends:
 * code that a handler interrupted in the middle of a mark may still store into it. */
static __thread struct as_lane *left_behind;

/* What assay_lane_.ring points to once the thread has said good-bye. */
static char ended;

static void count_loss(enum as_loss_reason reason, uint64_t n)
{
    atomic_fetch_add_explicit(&R.lost[reason], n, memory_order_relaxed);
}

static uint64_t gate_epoch(void)
{
    return __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);
}

static void thread_ends(void *unused)
{
    struct as_held saved;

    (void)unused;
    as_signals_block(&saved);
    pthread_mutex_lock(&R.lock);
    atomic_store(&R.thread_ended, true);
    if (syscall(SYS_gettid) == getpid())
        as_guest_keep();
    as_lane_release(true);
    pthread_mutex_unlock(&R.lock);
    as_signals_restore(&saved);
}

/* The end of the program's first thread must be seen: see as_guest_keep(). */
void as_lane_watch_first(void)
{
    if (syscall(SYS_gettid) != getpid())
        as_guest_keep();
    else if (!pthread_getspecific(lane_key))
        pthread_setspecific(lane_key, &lane_key);
}

bool as_lane_prepare(void)
{
    if (!atomic_load(&lane_key_ready)) {
        if (pthread_key_create(&lane_key, thread_ends) != 0)
            return false;
        atomic_store(&lane_key_ready, 1);
    }
    return true;
}

void as_lane_forget(void)
{
    assay_lane_.epoch = 1;
    assay_lane_.at = assay_lane_.end = ASSAY_CHUNK_END_;
    assay_lane_.ring = NULL;
}

void as_lane_release(bool thread_ends_now)
{
    struct as_lane *lane = assay_lane_.ring == &ended ? NULL : assay_lane_.ring;

    as_lane_forget();
    if (thread_ends_now) {
        assay_lane_.ring = &ended;
        as_lane_unmap(left_behind);
        left_behind = NULL;
    }
    if (!lane)
        return;
    if (lane->epoch != R.epoch ||
        R.state != AS_RECORDER_OPEN) { /* of a session that is over: ours alone */
        as_lane_unmap(thread_ends_now ? lane : left_behind);
        left_behind = thread_ends_now ? NULL : lane;
        return;
    }
    as_fill_seal(lane);
    atomic_store(&lane->sealed, 1);
    atomic_store(&lane->owned, 0);
    if (R.drains_inline)
        as_drain_inline(lane);
    else
        as_guest_wake();
}

/* Keeps it ready to be written; see put_announcement() in drain.c. */
static void announce_thread(struct as_lane *lane)
{
    uint8_t *to = lane->announcement;
    char name[17] = {0};

    prctl(PR_GET_NAME, name);
    to = as_put_varint(to, lane->thread);
    to = as_put_varint(to, (uint64_t)syscall(SYS_gettid));
    to = as_put_varint(to, as_clock_ticks(R.clock));
    to = as_put_text(to, name, strlen(name));
    atomic_store_explicit(&lane->announcement_bytes, (uint32_t)(to - lane->announcement),
                          memory_order_release);
}

struct as_lane *as_lane_make(void)
{
    int fd = as_guest_borrow_ring();
    struct as_lane *lane = as_lane_map(fd, R.next_index, R.n_chunks);

    if (lane && lane->crash_safe)
        R.next_index++;
    if (lane)
        lane->epoch = R.epoch;
    return lane;
}

void as_lane_make_work(void *lane)
{
    *(struct as_lane **)lane = as_lane_make();
}

/* One that stands ready, or is made ready in time; else memory that does not outlive a kill. */
static struct as_lane *new_lane(void)
{
    struct as_lane *lane = NULL;

    if (!as_guest_has_thread()) {
        as_guest_call(as_lane_make_work, &lane);
        return lane;
    }
    atomic_store(&R.keeps_spare, true);
    lane = atomic_exchange(&R.spare, NULL);
    if (!lane) {
        atomic_store(&R.wants_spare, true);
        as_guest_need();
        lane = atomic_exchange(&R.spare, NULL);
    }
    if (!lane)
        lane = as_lane_map(-1, 0, R.n_chunks);
    if (lane)
        lane->epoch = R.epoch;
    return lane;
}

/* A lane that an ended thread left, drained, or a new one. The lock is held. */
static struct as_lane *find_lane(void)
{
    uint32_t n = atomic_load(&R.n_lanes);
    struct as_lane *lane;

    for (uint32_t i = 0; i < n; i++) {
        if (!atomic_load(&R.lane[i]->owned) && !atomic_load(&R.lane[i]->sealed))
            return R.lane[i];
    }
    if (n == AS_MAX_LANES || atomic_load(&R.failed))
        return NULL;
    lane = new_lane();
    if (!lane)
        return NULL;
    R.lane[n] = lane;
    atomic_store(&R.n_lanes, n + 1);
    return lane;
}

static struct as_lane *take_lane(void)
{
    struct as_lane *lane = NULL;

    pthread_mutex_lock(&R.lock);
    as_lane_release(false); /* of an earlier session */
    if (R.state == AS_RECORDER_CHILD && !as_recorder_open_child())
        goto out;
    if (R.state != AS_RECORDER_OPEN)
        goto out;
    lane = find_lane();
    if (!lane)
        goto out;
    atomic_store(&lane->owned, 1);
    lane->thread = R.n_threads++;
    lane->sequence = 0;
    lane->clock = R.clock;
    lane->wait_when_full = R.wait_when_full;
    lane->drains_inline = R.drains_inline;
    lane->head->thread = lane->thread;
    announce_thread(lane);
    if (as_guest_has_thread())
        as_guest_need();
    else
        as_drain_inline(lane);
    pthread_setspecific(lane_key, lane);
    assay_lane_.ring = lane;
out:
    pthread_mutex_unlock(&R.lock);
    return lane;
}

/* The lane of this thread for the session now open, or NULL with the loss counted. */
static struct as_lane *own_lane(uint64_t epoch, size_t n_events)
{
    struct as_lane *lane = assay_lane_.ring;

    if (assay_lane_.ring == &ended) {
        count_loss(AS_LOSS_THREAD_EXIT, n_events);
        return NULL;
    }
    if (!lane || lane->epoch != epoch)
        lane = take_lane();
    if (!lane)
        count_loss(AS_LOSS_NO_LANE, n_events);
    return lane;
}

static void store(const struct as_lane *lane, uint64_t time, uint32_t kind, uint32_t site)
{
    as_fill_store(&assay_lane_, lane, time, kind, site);
}

/* Whether the session of that lane still goes on; a mark in flight while it ends is nobody's. */
static bool is_live(const struct as_lane *lane)
{
    return atomic_load_explicit(&R.live, memory_order_acquire) == lane->epoch;
}

static void remember_loss(struct as_lane *lane, uint64_t time, size_t n)
{
    struct as_lane_header *head = lane->head;

    if (!is_live(lane))
        return;
    if (atomic_load_explicit(&head->lost, memory_order_relaxed) == 0)
        atomic_store_explicit(&head->lost_from, time, memory_order_relaxed);
    atomic_store_explicit(&head->lost_to, time, memory_order_relaxed);
    atomic_fetch_add_explicit(&head->lost, n, memory_order_release);
    count_loss(AS_LOSS_RING_FULL, n);
}

/* Says in place what could not be recorded before this chunk, and how long the thread waited for
 * it. */
static void tell_gap(const struct as_lane *lane, uint64_t waited_from, uint64_t waited_to)
{
    struct as_lane_header *head = lane->head;
    uint64_t lost = atomic_load_explicit(&head->lost, memory_order_relaxed);

    if (lost) {
        store(lane, atomic_load(&head->lost_from), AS_RECORD_LOST_FROM, (uint32_t)lost);
        store(lane, atomic_load(&head->lost_to), AS_RECORD_LOST_TO, (uint32_t)(lost >> 32));
        atomic_fetch_sub_explicit(&head->lost, lost, memory_order_release);
    }
    if (waited_to) {
        store(lane, waited_from, AS_RECORD_WAIT_FROM, 0);
        store(lane, waited_to, AS_RECORD_WAIT_TO, 0);
    }
}

void as_lane_tell_loss(struct as_lane *lane, uint64_t thread, uint64_t sequence)
{
    struct as_lane_header *head = lane->head;
    uint64_t lost = atomic_load_explicit(&head->lost, memory_order_acquire);
    struct as_event event[2] = {{atomic_load_explicit(&head->lost_from, memory_order_relaxed),
                                 (uint32_t)lost, AS_RECORD_LOST_FROM},
                                {atomic_load_explicit(&head->lost_to, memory_order_relaxed),
                                 (uint32_t)(lost >> 32), AS_RECORD_LOST_TO}};
    uint8_t bytes[3 * AS_VARINT_MAX + 8 + 2 * AS_EVENT_MAX_BYTES], *to = bytes;
    struct as_event_coder coder = {.time = event[0].time};

    if (!lost)
        return;
    to = as_put_varint(to, thread);
    to = as_put_varint(to, sequence);
    to = as_put_varint(to, 0);
    to = as_put_u64le(to, event[0].time);
    to = as_event_encode(&coder, &event[0], to);
    to = as_event_encode(&coder, &event[1], to);
    if (as_recorder_write(AS_BLOCK_EVENTS, bytes, (size_t)(to - bytes), 2))
        atomic_fetch_sub_explicit(&head->lost, lost, memory_order_release);
}

/* Waits until the mover gave the chunk back, or the session ended. */
static bool wait_for(struct as_lane *lane, uint32_t index)
{
    for (;;) {
        uint32_t freed = atomic_load(&lane->freed);

        if (as_fill_is_free(lane, index))
            return true;
        if (!is_live(lane) || atomic_load(&R.failed))
            return false;
        as_guest_wake();
        as_futex_wait(&lane->freed, freed, 100000000);
    }
}

/* Seals the chunk being filled and begins the next; false when there is none to have. */
static bool next_chunk(struct as_lane *lane)
{
    const uint32_t index = as_fill_next(lane);
    uint64_t waited_from = 0, waited_to = 0;

    if (lane->active < lane->n_chunks) {
        as_fill_pad(&assay_lane_, lane);
        as_layer_now_before_seal();
        as_fill_seal(lane);
        if (lane->drains_inline)
            as_drain_inline(lane);
        else if (as_fill_is_half_full(lane))
            as_guest_wake(); /* the ring is safe as it is */
    }
    if (!as_fill_is_free(lane, index)) {
        if (!lane->wait_when_full || lane->drains_inline)
            return false;
        waited_from = as_clock_ticks(lane->clock);
        if (!wait_for(lane, index))
            return false;
        waited_to = as_clock_ticks(lane->clock);
    }
    as_fill_begin(&assay_lane_, lane, index);
    tell_gap(lane, waited_from, waited_to);
    /* Only the counter can be read inline; with another clock every event comes by the slow path.
     */
    assay_lane_.epoch = lane->clock == AS_CLOCK_MONOTONIC ? 1 : lane->epoch;
    return true;
}

/* Whether a handler marked something after `time` was read and before signals were held back: the
 * slow path is long, and many may have come. What was just told of a gap is no handler's. */
static bool was_overtaken(const struct as_lane *lane, uint64_t time)
{
    const struct as_chunk *chunk = &lane->chunk[lane->active];
    const struct assay_record_ *r = (const struct assay_record_ *)assay_lane_.at;

    while (r-- > chunk->slot) {
        uint64_t word = __atomic_load_n(&r->word, __ATOMIC_RELAXED);
        uint32_t kind = as_word_kind(word);

        if ((word & AS_TAG_MASK) != chunk->tag || !as_kind_is_timed(kind))
            continue; /* claimed by code that we interrupted ourselves, or data of a mark before */
        return (kind < AS_RECORD_LOST_FROM || kind > AS_RECORD_WAIT_TO) &&
               __atomic_load_n(&r->time, __ATOMIC_RELAXED) > time;
    }
    return false;
}

void as_lane_put(struct assay_record_ *record, size_t n, bool restamp)
{
    uint64_t epoch = gate_epoch();
    struct as_lane *lane;

    if (!epoch)
        return;
    lane = own_lane(epoch, n);
    if (!lane)
        return;
    while (lane->active == lane->n_chunks ||
           assay_lane_.end - assay_lane_.at < n * sizeof *record ||
           assay_lane_.at > assay_lane_.end) {
        if (!next_chunk(lane)) {
            assay_lane_.at =
                assay_lane_.end; /* every claim moves it on, and it must not leave the guard */
            remember_loss(lane, as_clock_ticks(lane->clock), n);
            return;
        }
    }
    if (restamp ||
        (as_kind_is_timed(as_word_kind(record[0].word)) && was_overtaken(lane, record[0].time)))
        record[0].time = as_clock_ticks(lane->clock);
    for (size_t i = 0; i < n; i++)
        store(lane, record[i].time, as_word_kind(record[i].word), as_word_site(record[i].word));
}

void assay_record_slow_(uint64_t time, uint32_t site, uint32_t kind)
{
    struct assay_record_ record = {time, as_record_word(0, kind, site)};
    int kept = errno;
    struct as_held saved;

    as_signals_block(&saved);
    /* What this path takes must not count as time of the scope it opens. */
    as_lane_put(&record, 1, time == 0 || kind == AS_RECORD_BEGIN);
    as_signals_restore(&saved);
    errno = kept;
}

uint32_t assay_site_register_(struct assay_site *site)
{
    struct as_site_spec spec;
    int kept = errno;
    uint32_t id;

    if (!site)
        return 0;
    spec = (struct as_site_spec){
        .name = site->name, .file = site->file, .line = site->line, .category = site->category};
    id = as_site_intern(&spec);
    __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
    errno = kept;
    return id;
}

void as_lane_measure_cost(struct as_lane *lane)
{
    struct as_chunk *chunk = &lane->chunk[0];
    uint64_t best_pair = UINT64_MAX, best_floor = UINT64_MAX;
    struct assay_lane_ kept = assay_lane_;

    if (R.clock == AS_CLOCK_MONOTONIC)
        return;
    chunk->tag = (uint64_t)0xffffff
                 << AS_TAG_SHIFT; /* a tag no event of this chunk will have for long */
    for (int round = 0; round < AS_COST_ROUNDS; round++) {
        uint64_t start, end;

        assay_lane_.at = (uintptr_t)chunk->slot;
        assay_lane_.end = (uintptr_t)chunk->guard;
        start = as_clock_ticks(R.clock);
        for (int i = 0; i < AS_COST_PAIRS; i++) {
            assay_store_(1, AS_RECORD_BEGIN);
            assay_store_(1, AS_RECORD_END);
        }
        end = as_clock_ticks(R.clock);
        if (end - start < best_pair)
            best_pair = end - start;
        for (size_t i = 0; i < AS_COST_PAIRS; i++) {
            uint64_t inside = chunk->slot[2 * i + 1].time - chunk->slot[2 * i].time;

            best_floor = inside < best_floor ? inside : best_floor;
        }
    }
    memset(chunk->slot, 0, sizeof *chunk->slot * 2 * AS_COST_PAIRS);
    chunk->tag = 0;
    assay_lane_ = kept;
    R.pair_ticks = (best_pair + AS_COST_PAIRS / 2) / AS_COST_PAIRS;
    R.floor_ticks = best_floor;
}
