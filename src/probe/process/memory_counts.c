/* probe/process/memory_counts.c - what a program holds by its own account, to the byte, over all
 * threads. Atomics alone: every add sees the sum it made, so no peak is missed and none is made up.
 */
#include "probe/process/memory_probe.h"

#include <features.h>
#include <pthread.h>
#include <stdatomic.h>
#ifdef __GLIBC__
#include <sys/single_threaded.h>
#endif

#include "base/alloc.h"

#define KINDS       ASSAY_MEMORY_KIND_COUNT
#define CACHE_LINE  64
#define MOST_BYTES  (UINT64_C(1) << 62) /* more is a mistake; sums below it cannot wrap */
#define BLOCK_MAGIC UINT64_C(0x61737361792d6d65)

/* Written by every add and sub: one cache line. The sum goes up before its kind and down after it,
 * so it is never less than the kinds together. */
static struct {
    _Alignas(CACHE_LINE) _Atomic uint64_t current[KINDS];
    _Atomic uint64_t total;
    _Atomic uint64_t mistakes;
    /* Written only by a new peak. */
    _Alignas(CACHE_LINE) _Atomic uint64_t peak[KINDS];
    _Atomic uint64_t peak_total;
} account;

/* Calls counted by one thread at a time. A lane outlives its thread with its counts and is handed
 * to the next one, so the sum over all lanes is exact at any time. */
struct lane {
    _Alignas(CACHE_LINE) _Atomic uint64_t added[KINDS];
    _Atomic bool taken;
    struct lane *next;
};

static _Atomic(struct lane *) lanes;
static struct lane shared_lane; /* for threads that got no memory for their own */
static _Atomic uint64_t threads_seen;

/* Heights wrap freely: a thread may give back what another one took. */
static __thread struct {
    struct lane *lane;
    uint64_t height, highest;
    uint64_t thread;
    uint32_t depth, broken; /* spans open; those no deeper than `broken` are not exact */
} own __attribute__((tls_model("initial-exec")));

/* ---- lanes ---- */

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void leave_lane(void *user)
{
    struct lane *lane = user;

    own.lane = NULL; /* other destructors may count yet: they take a lane anew */
    atomic_store_explicit(&lane->taken, false, memory_order_release);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, leave_lane) == 0;
}

static struct lane *free_lane(void)
{
    struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);

    for (; lane; lane = lane->next) {
        bool no = false;

        if (atomic_compare_exchange_strong_explicit(&lane->taken, &no, true, memory_order_acquire,
                                                    memory_order_relaxed))
            return lane;
    }
    return NULL;
}

static struct lane *new_lane(void)
{
    struct lane *lane = as_alloc_aligned(CACHE_LINE, sizeof *lane);

    if (!lane)
        return &shared_lane;
    *lane = (struct lane){.taken = true};
    lane->next = atomic_load_explicit(&lanes, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&lanes, &lane->next, lane, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return lane;
}

static __attribute__((noinline)) struct lane *take_lane(void)
{
    (void)pthread_once(&key_once, make_key);
    own.lane = free_lane();
    if (!own.lane)
        own.lane = new_lane();
    /* Without a key the lane stays taken when the thread ends: a little memory, no wrong count. */
    if (has_key && own.lane != &shared_lane)
        (void)pthread_setspecific(key, own.lane);
    return own.lane;
}

static inline void count_call(enum assay_memory_kind kind)
{
    struct lane *lane = own.lane ? own.lane : take_lane();
    _Atomic uint64_t *n = &lane->added[kind];

    if (__builtin_expect(lane == &shared_lane, 0))
        atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    else
        atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* ---- adding and giving back ---- */

/* While no second thread was ever made nobody else can write: a locked bus is not needed. */
static inline bool is_alone(void)
{
#ifdef __GLIBC__
    return __libc_single_threaded;
#else
    return false;
#endif
}

/* Returns what it was before. */
static inline uint64_t plus(_Atomic uint64_t *at, uint64_t n, bool alone)
{
    uint64_t before;

    if (!alone)
        return atomic_fetch_add_explicit(at, n, memory_order_relaxed);
    before = atomic_load_explicit(at, memory_order_relaxed);
    atomic_store_explicit(at, before + n, memory_order_relaxed);
    return before;
}

/* As much of `n` as there is, and how much that was. */
static inline uint64_t take(_Atomic uint64_t *at, uint64_t n, bool alone)
{
    uint64_t before = atomic_load_explicit(at, memory_order_relaxed);
    uint64_t taken = n < before ? n : before;

    if (alone) {
        atomic_store_explicit(at, before - taken, memory_order_relaxed);
        return taken;
    }
    while (!atomic_compare_exchange_weak_explicit(at, &before, before - taken, memory_order_relaxed,
                                                  memory_order_relaxed))
        taken = n < before ? n : before;
    return taken;
}

static inline void lift(_Atomic uint64_t *peak, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);

    while (value > seen && !atomic_compare_exchange_weak_explicit(
                               peak, &seen, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Whether the program counts at all: asked at every layer of a manager. */
static _Atomic bool counting;

static inline void begin_counting(void)
{
    if (__builtin_expect(!atomic_load_explicit(&counting, memory_order_relaxed), 0))
        atomic_store_explicit(&counting, true, memory_order_relaxed);
}

static void mistake(void)
{
    begin_counting();
    atomic_fetch_add_explicit(&account.mistakes, 1, memory_order_relaxed);
}

static bool is_kind(enum assay_memory_kind kind)
{
    return (unsigned)kind < KINDS;
}

/* Budget: 20 ns of CPU time with other threads about, uncontended. */
void assay_memory_add(enum assay_memory_kind kind, uint64_t bytes)
{
    const bool alone = is_alone();
    uint64_t total;

    if (!is_kind(kind) || bytes > MOST_BYTES) {
        mistake();
        return;
    }
    total = plus(&account.total, bytes, alone) + bytes;
    if (total > MOST_BYTES) {
        plus(&account.total, 0 - bytes, alone);
        mistake();
        return;
    }
    lift(&account.peak[kind], plus(&account.current[kind], bytes, alone) + bytes);
    lift(&account.peak_total, total);
    begin_counting();
    count_call(kind);
    own.height += bytes;
    if ((int64_t)(own.height - own.highest) > 0)
        own.highest = own.height;
}

/* Budget: as above. */
void assay_memory_sub(enum assay_memory_kind kind, uint64_t bytes)
{
    const bool alone = is_alone();
    uint64_t taken;

    if (!is_kind(kind)) {
        mistake();
        return;
    }
    taken = take(&account.current[kind], bytes, alone);
    if (taken < bytes)
        mistake();
    plus(&account.total, 0 - taken, alone);
    own.height -= taken;
}

/* ---- memory that counts itself ---- */

/* Stands before a block, which begins at the next cache line. */
struct block {
    uint64_t magic; /* with the address, so that a copy is not taken for a block */
    uint64_t bytes;
    enum assay_memory_kind kind;
};
_Static_assert(sizeof(struct block) <= CACHE_LINE, "the block begins at the next cache line");

static uint64_t magic_of(const struct block *b)
{
    return BLOCK_MAGIC ^ (uint64_t)(uintptr_t)b;
}

void *assay_memory_alloc(enum assay_memory_kind kind, size_t bytes)
{
    struct block *b;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    b = as_alloc_aligned(CACHE_LINE,
                         CACHE_LINE + (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (!b)
        return NULL;
    *b = (struct block){magic_of(b), bytes, kind};
    assay_memory_add(kind, bytes);
    return (char *)b + CACHE_LINE;
}

void assay_memory_free(void *block)
{
    struct block *b = block ? (struct block *)(void *)((char *)block - CACHE_LINE) : NULL;

    if (!b)
        return;
    if (b->magic != magic_of(b)) { /* not ours, or freed already: better kept than torn */
        mistake();
        return;
    }
    if (is_kind(b->kind)) /* the mistake of a kind that is none was counted when it was taken */
        assay_memory_sub(b->kind, b->bytes);
    b->magic = 0;
    as_free(b);
}

/* ---- reading ---- */

const char *assay_memory_kind_name(enum assay_memory_kind kind)
{
    static const char *const name[] = {
#define X(id, text) [ASSAY_MEMORY_##id] = (text),
        ASSAY_MEMORY_KINDS(X)
#undef X
    };

    return is_kind(kind) ? name[kind] : NULL;
}

static uint64_t calls_of(int kind)
{
    const struct lane *lane = atomic_load_explicit(&lanes, memory_order_acquire);
    uint64_t sum = atomic_load_explicit(&shared_lane.added[kind], memory_order_relaxed);

    for (; lane; lane = lane->next)
        sum += atomic_load_explicit(&lane->added[kind], memory_order_relaxed);
    return sum;
}

/* A peak is raised a moment after its count: a reader in between would see less than there is. */
static uint64_t read_peak(const _Atomic uint64_t *peak, uint64_t current)
{
    uint64_t seen = atomic_load_explicit(peak, memory_order_relaxed);

    return seen > current ? seen : current;
}

void assay_memory_read_counts(struct assay_memory_counts *out)
{
    if (!out)
        return;
    out->size = sizeof *out;
    out->mistakes = atomic_load_explicit(&account.mistakes, memory_order_relaxed);
    out->any = out->mistakes > 0;
    for (int k = 0; k < KINDS; k++) {
        out->current_bytes[k] = atomic_load_explicit(&account.current[k], memory_order_relaxed);
        out->peak_bytes[k] = read_peak(&account.peak[k], out->current_bytes[k]);
        out->added[k] = calls_of(k);
        out->any |= out->added[k] > 0;
    }
    out->current_total_bytes = atomic_load_explicit(&account.total, memory_order_relaxed);
    out->peak_total_bytes = read_peak(&account.peak_total, out->current_total_bytes);
}

bool as_memory_counted_total(uint64_t *out)
{
    *out = atomic_load_explicit(&account.total, memory_order_relaxed);
    return atomic_load_explicit(&counting, memory_order_relaxed);
}

/* ---- spans of a thread ---- */

void as_memory_span_begin(struct as_memory_thread_span *span)
{
    if (own.thread == 0)
        own.thread = atomic_fetch_add_explicit(&threads_seen, 1, memory_order_relaxed) + 1;
    *span = (struct as_memory_thread_span){own.height, own.highest, own.thread, ++own.depth};
    if (own.broken >= own.depth)
        own.broken = own.depth - 1; /* the one that was broken at this depth has ended */
    own.highest = own.height;
}

/* What was seen before this span began, and lies in those around it, comes back. */
static void fold(const struct as_memory_thread_span *span)
{
    if ((int64_t)(span->highest - own.highest) > 0)
        own.highest = span->highest;
    own.depth = span->depth - 1;
}

void as_memory_span_end(struct as_memory_thread_span *span, struct as_memory_thread_use *out)
{
    struct as_memory_thread_span s = *span;

    *out = (struct as_memory_thread_use){0};
    span->thread = 0;
    if (s.thread == 0)
        out->why = "the layer was never begun";
    else if (s.thread != own.thread)
        out->why = "the layer ended on another thread than it began";
    else if (own.depth < s.depth)
        out->why = "the layer ended after one around it";
    else if (own.depth > s.depth || s.depth <= own.broken)
        out->why = "a layer within did not end before it";
    if (!out->why) {
        out->peak_bytes = own.highest - s.height;
        out->net_bytes = (int64_t)(own.height - s.height);
    }
    if (s.thread == 0 || s.thread != own.thread || own.depth < s.depth)
        return;
    /* The heights that spans still open hold belong to those around as well, and are not told. */
    if (own.depth > s.depth && own.broken < s.depth - 1)
        own.broken = s.depth - 1;
    fold(&s);
}
