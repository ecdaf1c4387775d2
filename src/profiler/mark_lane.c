/* profiler/mark_lane.c - lanes of a manager's threads: making marks, which may happen in a signal
 * handler. No heap, no stdio, every signal held back while a lock is. */
#include "profiler/mark_lane.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "trace/record/recorder.h"
#include "trace/record/site_table.h"

#define MANY_THREADS 64u /* from here on the dead are looked for */
#define NAP_NS       5000000u

__thread struct as_mark_now as_mark_now __attribute__((tls_model("initial-exec")));
__thread uint64_t as_mark_waited_ns __attribute__((tls_model("initial-exec")));

static _Atomic uint64_t sets_made, threads_seen, mapped_bytes;

uint64_t as_mark_mapped_bytes(void)
{
    return atomic_load_explicit(&mapped_bytes, memory_order_relaxed);
}

int as_mark_set_new(struct as_mark_set **out, struct assay_error *err)
{
    struct as_mark_set *set = as_alloc_zero(1, sizeof *set);

    *out = NULL;
    if (set)
        set->thread = as_alloc_zero(AS_MARK_MAX_THREADS, sizeof(struct as_mark_thread *));
    if (!set || !set->thread || pthread_mutex_init(&set->lock, NULL) != 0) {
        if (set)
            as_free(set->thread);
        as_free(set);
        return as_fail_nomem(err);
    }
    set->names = (struct as_site_table){.lock = PTHREAD_MUTEX_INITIALIZER};
    set->id = atomic_fetch_add_explicit(&sets_made, 1, memory_order_relaxed) + 1;
    *out = set;
    return ASSAY_OK;
}

/* ---- memory of a thread ---- */

static size_t frames_bytes(void)
{
    return AS_MARK_MAX_DEPTH * sizeof(struct as_mark_frame);
}

static size_t touched_bytes(void)
{
    return sizeof(struct as_mark_thread) + AS_RING_PAGE + (size_t)AS_MARK_CHUNKS * AS_CHUNK_BYTES;
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static void unmap_thread(struct as_mark_thread *t)
{
    if (t->frame)
        munmap(t->frame, frames_bytes());
    as_lane_unmap(t->lane);
    munmap(t, sizeof *t);
}

/* Pages are touched here, so that no mark faults inside a layer. */
static struct as_mark_thread *map_thread(void)
{
    static const struct assay_lane_ nowhere = AS_FILL_NOWHERE;
    struct as_mark_thread *t = map(sizeof *t);

    if (!t)
        return NULL;
    t->lane = as_lane_map(-1, 0, AS_MARK_CHUNKS);
    t->frame = map(frames_bytes());
    if (!t->lane || !t->frame) {
        unmap_thread(t);
        return NULL;
    }
    t->fill = nowhere;
    as_touch(t->lane->chunk, 0, (size_t)AS_MARK_CHUNKS * AS_CHUNK_BYTES);
    as_touch(t->frame, 0, AS_RING_PAGE);
    atomic_fetch_add_explicit(&mapped_bytes, touched_bytes(), memory_order_relaxed);
    return t;
}

void as_mark_set_free(struct as_mark_set *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->n_threads; i++) {
        unmap_thread(set->thread[i]);
        atomic_fetch_sub_explicit(&mapped_bytes, touched_bytes(), memory_order_relaxed);
    }
    as_site_table_fini(&set->names);
    pthread_mutex_destroy(&set->lock);
    as_free(set->thread);
    as_free(set);
}

/* ---- whose lane ---- */

static bool is_gone(const struct as_mark_thread *t)
{
    return syscall(SYS_tgkill, getpid(), t->tid, 0) != 0 && errno == ESRCH;
}

/* The lane of a thread that stood at the same place in memory is ours, or was a dead one's. Of many
 * threads some are asked whether they are still there, others the next time. */
static struct as_mark_thread *find_place(struct as_mark_set *set, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (set->thread[i]->key == &as_mark_now)
            return set->thread[i];
    }
    for (uint32_t i = 0; n >= MANY_THREADS && i < MANY_THREADS; i++) {
        struct as_mark_thread *t = set->thread[set->next_looked++ % n];

        if (is_gone(t))
            return t;
    }
    return NULL;
}

/* What the last owner left open will never end. */
static void take_over(struct as_mark_set *set, struct as_mark_thread *t)
{
    struct as_mark_slots slots;

    t->depth = t->owed = 0;
    t->forgotten = t->serial;
    t->session = atomic_load_explicit(&set->session, memory_order_relaxed);
    t->newest = (struct as_memory_moment){0};
    memset(t->cache, 0, sizeof t->cache);
    t->key = &as_mark_now;
    t->owner = as_mark_now.self;
    t->tid = (pid_t)syscall(SYS_gettid);
    slots = as_mark_claim(set, t, 1);
    if (slots.at)
        as_mark_put(&slots, set->next_number++, AS_MARK_RESTART, (uint32_t)t->tid);
    else
        t->owner = 0; /* the next mark tries again */
}

/* Its faults are ours, though another thread may have a layer open. */
static struct as_mark_thread *map_counted(struct as_mark_set *set)
{
    struct rusage before, after;
    const bool known = getrusage(RUSAGE_THREAD, &before) == 0;
    struct as_mark_thread *t = map_thread();

    if (known && getrusage(RUSAGE_THREAD, &after) == 0) {
        atomic_fetch_add_explicit(&set->faults.minor,
                                  (uint64_t)(after.ru_minflt - before.ru_minflt),
                                  memory_order_relaxed);
        atomic_fetch_add_explicit(&set->faults.major,
                                  (uint64_t)(after.ru_majflt - before.ru_majflt),
                                  memory_order_relaxed);
    }
    return t;
}

static struct as_mark_thread *find_locked(struct as_mark_set *set)
{
    const uint32_t n = atomic_load_explicit(&set->n_threads, memory_order_relaxed);
    struct as_mark_thread *t = find_place(set, n);

    if (!t && n < AS_MARK_MAX_THREADS) {
        t = map_counted(set);
        if (t) {
            t->index = n;
            set->thread[n] = t;
            atomic_store_explicit(&set->n_threads, n + 1, memory_order_release);
        }
    }
    if (t && t->owner != as_mark_now.self)
        take_over(set, t);
    return t && t->owner ? t : NULL;
}

struct as_mark_thread *as_mark_thread_find_slow(struct as_mark_set *set)
{
    const int kept = errno;
    struct as_mark_thread *t;
    struct as_held saved;

    as_signals_block(&saved);
    if (!as_mark_now.self)
        as_mark_now.self = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed) + 1;
    pthread_mutex_lock(&set->lock);
    t = find_locked(set);
    pthread_mutex_unlock(&set->lock);
    __atomic_store_n(&as_mark_now.set_and_index, t ? set->id << AS_MARK_INDEX_BITS | t->index : 0,
                     __ATOMIC_RELAXED);
    as_signals_restore(&saved);
    errno = kept;
    return t;
}

/* ---- names ---- */

bool as_mark_site_is_known(const struct as_mark_thread *t, const char *name)
{
    const uintptr_t at = (uintptr_t)name;

    return t->cache[(at ^ at >> 6) % AS_MARK_CACHE].text == name;
}

uint32_t as_mark_site_slow(struct as_mark_set *set, struct as_mark_cached *cached, const char *name)
{
    const struct as_site_spec spec = {.name = name, .category = ASSAY_CATEGORY_LAYER};
    const int kept = errno;
    const uint32_t site = as_site_table_intern(&set->names, &spec);
    uint32_t size = 0;
    const char *text = as_site_table_name(&set->names, site, &size);
    struct as_held saved;

    if (text && size < AS_SITE_TEXT_MAX) { /* a name that was cut is looked up every time */
        as_signals_block(&saved);          /* a handler finds the whole entry, or another */
        *cached =
            (struct as_mark_cached){.text = name, .name = text, .name_size = size, .site = site};
        as_signals_restore(&saved);
    }
    errno = kept;
    return site;
}

/* ---- records ---- */

static void wake_reader(struct as_mark_set *set)
{
    atomic_fetch_add_explicit(&set->wake, 1, memory_order_release);
    as_futex_wake(&set->wake);
}

/* The program is never stopped: a reader that does not come costs the mark. */
static bool wait_for(struct as_mark_set *set, struct as_mark_thread *t, uint32_t index)
{
    struct as_lane *lane = t->lane;
    const uint64_t from = as_clock_mono_ns();
    uint64_t waited = 0;
    bool is_free = false;

    if (t->gave_up && atomic_load(&lane->freed) == t->gave_up_at)
        return false;

    atomic_store_explicit(&t->waits, true, memory_order_relaxed);
    while (!is_free && waited < AS_MARK_WAIT_NS) {
        const uint32_t freed = atomic_load(&lane->freed);

        is_free = as_fill_is_free(lane, index);
        if (!is_free) {
            wake_reader(set);
            as_futex_wait(&lane->freed, freed, NAP_NS);
        }
        waited = as_clock_mono_ns() - from;
    }
    atomic_store_explicit(&t->waits, false, memory_order_relaxed);
    as_mark_waited_ns += waited;
    atomic_fetch_add_explicit(&set->wait_ns, waited, memory_order_relaxed);
    t->gave_up = !is_free;
    t->gave_up_at = atomic_load(&lane->freed);
    return is_free;
}

static bool next_chunk(struct as_mark_set *set, struct as_mark_thread *t)
{
    struct as_lane *lane = t->lane;
    const uint32_t index = as_fill_next(lane);

    if (lane->active < lane->n_chunks) {
        as_fill_pad(&t->fill, lane);
        as_fill_seal(lane);
        if (as_fill_is_half_full(lane))
            wake_reader(set);
    }
    if (!as_fill_is_free(lane, index) && !wait_for(set, t, index))
        return false;
    as_fill_begin(&t->fill, lane, index);
    return true;
}

bool as_mark_make_room(struct as_mark_set *set, struct as_mark_thread *t, size_t n)
{
    const uintptr_t bytes = n * sizeof(struct assay_record_);
    const int kept = errno;
    bool room = true;
    struct as_held saved;

    as_signals_block(&saved);
    /* A handler may have done it. */
    if (t->lane->active == t->lane->n_chunks || t->fill.end - t->fill.at < bytes)
        room = next_chunk(set, t);
    as_signals_restore(&saved);
    errno = kept;
    return room;
}
