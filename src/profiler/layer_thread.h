/* profiler/layer_thread.h - what one thread knows of its layers: the open ones, the figures of
 * each, and its newest calls. For the files of the layer profiler alone. */
#ifndef AS_PROFILER_LAYER_THREAD_H
#define AS_PROFILER_LAYER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/hash_map.h"
#include "profiler/layer_profile.h"
#include "stats/describe/histogram.h"
#include "stats/describe/moments.h"

#define AS_LAYER_BITS    AS_HISTOGRAM_DEFAULT_BITS
#define AS_LAYER_BUCKETS AS_HISTOGRAM_BUCKETS(AS_LAYER_BITS)
#define AS_LAYER_CACHE   64u

/* Sum and sum of squares are exact: no division when a call ends, no rounding however many. */
__extension__ typedef unsigned __int128 as_layer_wide;
struct as_layer_times {
    uint64_t n, sum, min, max; /* ns; min is UINT64_MAX while n is 0 */
    as_layer_wide squares;
};

#define AS_LAYER_HEAD 24u

/* One layer on one thread; what a call touches stands in its first two cache lines. */
struct as_layer_cell {
    char head[AS_LAYER_HEAD]; /* of the name, with its NUL when it fits */
    struct as_layer_name *name;
    uint64_t self_ns;
    uint64_t *sample; /* the times: all of them in order, or the newest in a ring */
    uint32_t n_samples, capacity, at;
    bool newest_only;            /* no room for all: percentiles are of what is there */
    bool own_lost;               /* no room for `own` */
    uint64_t *bucket;            /* counts by size, from AS_LAYER_EXACT calls on */
    struct as_layer_times times; /* of calls that did not fail */
    uint64_t failed, failed_ns;
    uint64_t *own; /* beside `sample`: without layers inside; NULL: no call had any so far */
} __attribute__((aligned(64)));

struct as_layer_frame {
    struct as_layer_cell *cell;
    uint64_t serial, start_ticks, inner_ns;
    uint64_t excused_ns; /* within it, of nobody */
    uint64_t before_ns;  /* before it, of nobody */
    struct as_layer_note note;
} __attribute__((aligned(64)));

/* What was told beside the time of a call: one block, texts behind the pairs. */
struct as_layer_extra {
    const char *reason;
    size_t n;
    struct assay_metadata pair[];
};

struct as_layer_record {
    uint64_t end_ticks, duration_ns, self_ns;
    struct as_layer_name *name;
    struct as_layer_extra *extra;
    uint32_t thread;
    uint16_t depth;
    bool failed;
};

/* The newest calls of a thread. */
struct as_layer_ring {
    struct as_layer_record *record;
    size_t capacity, at; /* at: the next one written, the oldest once the ring is full */
    size_t n;
    bool fixed; /* cannot grow any more */
    uint64_t dropped;
};

/* Fields without a word are under `busy`; the owner's are written by it alone, and read by others
 * only where they are atomic. */
struct as_layer_thread {
    /* Set by whoever looks at the figures: the owner for the length of a few stores, a reader for
     * as long as it copies. */
    _Atomic bool busy;
    _Atomic uint32_t depth;       /* the owner's */
    uint32_t frame_capacity;      /* the owner's, changed under busy */
    uint32_t number;              /* the owner's */
    _Atomic uint64_t session;     /* the owner's: the one its open layers belong to */
    uint64_t serial;              /* the owner's: the last span begun */
    uint64_t forgotten;           /* the owner's: spans up to this one are no more */
    struct as_layer_frame *frame; /* the owner's, changed under busy */
    uint64_t calls;               /* that ended, kept or not */
    uint64_t all_ns, all_self_ns; /* of all calls, failed ones too */
    struct as_layer_ring ring;
    struct {
        const char *text; /* the caller's pointer: compared with the cell's name before it counts */
        struct as_layer_cell *cell;
    } cache[AS_LAYER_CACHE]; /* the owner's */
    struct as_layer_cell **cell;
    size_t n_cells, cell_capacity;
    struct as_hash_map by_name; /* numbers of cells; the owner's */
    uint64_t unnamed, too_deep, metadata_dropped, abandoned;
    /* Whose it is; changed only under the profile's lock. */
    const void *key;
    uint64_t owner;
    pid_t tid;
};

struct as_layer_profile {
    uint64_t id; /* never used again in this process */
    struct as_layer_clock clock;
    _Atomic uint64_t session; /* changes when all open layers are forgotten */
    struct as_layer_limits limits;
    _Atomic size_t history_bytes;
    _Atomic uint64_t homeless; /* calls on threads beyond the limit */
    /* Taken in this order: this one, a thread's busy, that of the names. */
    pthread_mutex_t lock; /* threads and what was open */
    pthread_mutex_t names_lock;
    struct as_arena arena; /* of the names */
    struct as_hash_map by_name;
    struct as_layer_name **name;
    size_t n_names, name_capacity;
    struct as_layer_name *other; /* where layers go that have no room */
    struct as_layer_thread **thread;
    size_t n_threads, thread_capacity;
    uint32_t next_number;
    struct as_layer_name *open[AS_LAYER_MAX_OPEN];
    size_t n_open;
    uint64_t open_dropped;
};

/* The profile this thread used last. Ids are never given twice, so a profile that is gone cannot be
 * mistaken for another. */
struct as_layer_now_in {
    uint64_t profile;
    struct as_layer_thread *thread;
    uint64_t self; /* this thread, in the order of their first layer in the process */
};
extern __thread struct as_layer_now_in as_layer_now_in __attribute__((tls_model("initial-exec")));

void as_layer_thread_wait(struct as_layer_thread *t);

/* Nobody but a reader can be in our way, and that is rare: no call of the system's. */
static inline void as_layer_thread_lock(struct as_layer_thread *t)
{
    if (__builtin_expect(atomic_exchange_explicit(&t->busy, true, memory_order_acquire), 0))
        as_layer_thread_wait(t);
}

static inline void as_layer_thread_unlock(struct as_layer_thread *t)
{
    atomic_store_explicit(&t->busy, false, memory_order_release);
}

/* The first look of this thread at a profile, or at another one than before. */
struct as_layer_thread *as_layer_thread_find_slow(struct as_layer_profile *p);

/* The calling thread's; NULL: no memory, or too many threads. */
static inline struct as_layer_thread *as_layer_thread_find(struct as_layer_profile *p)
{
    if (__builtin_expect(as_layer_now_in.profile == p->id, 1))
        return as_layer_now_in.thread;
    return as_layer_thread_find_slow(p);
}

void as_layer_thread_free(struct as_layer_thread *t);
void as_layer_thread_reset(struct as_layer_profile *p, struct as_layer_thread *t);

/* The cell of a name, made at its first mention; by the owner, who is not busy. NULL: no memory. */
struct as_layer_cell *as_layer_cell_find(struct as_layer_profile *p, struct as_layer_thread *t,
                                         const char *text);

/* Keeps the time of a call when there is more to do than to store it. */
void as_layer_cell_keep(struct as_layer_profile *p, struct as_layer_cell *cell, uint64_t ns,
                        uint64_t own_ns);

static inline void as_layer_cell_add(struct as_layer_profile *p, struct as_layer_cell *cell,
                                     uint64_t ns, uint64_t own_ns)
{
    struct as_layer_times *t = &cell->times;

    t->n++;
    t->sum += ns;
    t->min = ns < t->min ? ns : t->min;
    t->max = ns > t->max ? ns : t->max;
    t->squares += (as_layer_wide)ns * ns;
    if (__builtin_expect(cell->n_samples < cell->capacity && own_ns == ns && !cell->own, 1))
        cell->sample[cell->n_samples++] = ns;
    else
        as_layer_cell_keep(p, cell, ns, own_ns);
}

/* As others count moments. */
struct as_moments as_layer_times_moments(const struct as_layer_times *times);

/* The i-th oldest of the times kept. */
static inline uint64_t as_layer_cell_at(const struct as_layer_cell *cell, size_t i)
{
    return cell->sample[cell->n_samples < cell->capacity ? i : (cell->at + i) % cell->capacity];
}

/* Room in the history, or not. */
bool as_layer_history_take(struct as_layer_profile *p, size_t bytes);
void as_layer_history_give(struct as_layer_profile *p, size_t bytes);

/* Keeps a call; `record->extra` becomes the ring's. */
void as_layer_ring_push(struct as_layer_profile *p, struct as_layer_ring *ring,
                        const struct as_layer_record *record);
void as_layer_ring_fini(struct as_layer_profile *p, struct as_layer_ring *ring);

/* Copies what was told of a call; NULL when nothing was, or no memory. `dropped` counts pairs. */
struct as_layer_extra *as_layer_extra_new(const struct as_layer_end *how, uint64_t *dropped);

#endif
