/* profiler/mark_lane.h - the marks of a manager's layers, on their way from the threads that make
 * them to the manager: lanes of the recorder (trace/record/ring.h), one per thread.
 *
 * A mark never takes a lock, allocates from the heap or waits for a reader, except when a lane is
 * full: then it waits up to AS_MARK_WAIT_NS and is dropped and counted, and so are those after it,
 * without waiting, until a reader comes. So it may be made in a signal handler, whatever that
 * interrupted. The reader is whoever holds the manager's lock.
 * What stands in a lane is in profiler/mark_unit.h. */
#ifndef AS_PROFILER_MARK_LANE_H
#define AS_PROFILER_MARK_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <assay/manager.h>

#include "base/error.h"
#include "profiler/layer_usage.h"
#include "profiler/mark_unit.h"
#include "profiler/memory_profile.h"
#include "trace/record/lane_fill.h"
#include "trace/record/site_table.h"

#define AS_MARK_MAX_DEPTH   1024u
#define AS_MARK_MAX_THREADS 4096u /* at once */
#define AS_MARK_CHUNKS      4u    /* a power of two: chunks are counted on for ever */
#define AS_MARK_CACHE       64u
#define AS_MARK_WAIT_NS     2000000000u

/* An open layer as its thread sees it. The samples are there when its profilers were on. */
struct as_mark_frame {
    uint64_t serial;
    uint64_t entered_ticks, start_ticks; /* of the mark, and of the layer */
    uint32_t site, slot;                 /* slot: of the cache */
    bool recorded;                       /* its begin is in the lane */
    bool held_known, held_heap, memory_begun, usage_known;
    bool entered_known; /* the layer around it leaves out what was used since `entered` */
    uint32_t recorder_site;
    uint64_t epoch;                /* of the recording session it was marked in too; 0: none */
    int64_t inner_bytes;           /* left behind by layers inside it */
    uint64_t held_bytes;           /* by the program when it began */
    uint64_t unread_ns;            /* as above */
    struct as_layer_usage usage;   /* when it began */
    struct as_layer_usage inner;   /* by layers inside it, and by us around them */
    struct as_layer_usage entered; /* before we did anything for its begin */
    struct as_memory_span memory;
};

/* What a thread remembers of a layer's name. Judged by the text of the site: a handler may have
 * changed one half of it. */
struct as_mark_cached {
    const char *text; /* the caller's pointer */
    const char *name; /* of the site; not ended */
    uint32_t name_size;
    uint32_t site, n_calls; /* of this thread, as long as it is remembered */
    double mean_ns;
};

/* One lane and whoever uses it. Lives as long as its set; a thread that ended leaves it to the
 * next. */
struct as_mark_thread {
    /* Of the thread that makes the marks. */
    struct assay_lane_ fill;
    struct as_lane *lane;
    uint32_t depth;
    uint32_t owed; /* ends that the lane had no room for */
    bool gave_up;  /* a reader did not come in time; `freed` of the lane was ... */
    uint32_t gave_up_at;
    uint32_t n_marks; /* for the choice of those whose cost is measured */
    uint64_t serial, session;
    uint64_t forgotten; /* spans up to this one ended with their session */
    struct as_memory_moment newest;
    uint64_t judged_mask, judged_ticks; /* blocked signals, and when it was found out ... */
    bool may_be_handler;                /* ... whether one of them has a handler */
    struct as_mark_cached cache[AS_MARK_CACHE];
    struct as_mark_frame *frame; /* [AS_MARK_MAX_DEPTH] */
    _Atomic bool waits; /* for the reader: it filled the whole lane since the oldest record there */
    _Atomic uint64_t too_deep, dropped, pairs_dropped;
    uint32_t index; /* in the list of the set */
    /* Whose it is; under the lock of the set. */
    const void *key;
    uint64_t owner;
    pid_t tid;
    /* Of the reader. */
    uint32_t next_slot;
    uint32_t hole_looks;   /* at a record that is missing */
    uint64_t hole_look_ns; /* the last of them */
    void *reader;          /* its own */
};

/* The lanes of one manager. */
struct as_mark_set {
    uint64_t id;                    /* never used again in this process */
    _Atomic uint64_t session;       /* changes when all open layers are forgotten */
    struct as_site_table names;     /* of layers, and keys of metadata */
    pthread_mutex_t lock;           /* of the list; taken with every signal held back */
    struct as_mark_thread **thread; /* [AS_MARK_MAX_THREADS] */
    _Atomic uint32_t n_threads;
    uint32_t next_number;
    _Atomic uint32_t wake;       /* changes when a lane is half full; the reader may wait on it */
    _Atomic uint64_t homeless;   /* calls on threads beyond the limit */
    _Atomic uint64_t wait_ns;    /* threads waited for the reader */
    struct as_own_faults faults; /* of making lanes */
    uint32_t next_looked;        /* under the lock: the lane whose thread may be gone */
    bool has_hole;               /* of the reader: a lane waits for a record, see AS_MARK_HOLE_NS */
};

#define AS_MARK_HOLE_NS 20000000u /* how long until a reader looks again */

AS_MUST_USE int as_mark_set_new(struct as_mark_set **out, struct assay_error *err);
/* No thread makes marks any more. Accepts NULL. */
void as_mark_set_free(struct as_mark_set *set);

/* Memory that lanes of all managers take: not the program's. */
uint64_t as_mark_mapped_bytes(void);

/* ---- the thread that makes marks ---- */

#define AS_MARK_INDEX_BITS 16

/* The set this thread used last and the index of its lane there, in one word: a handler may mark
 * layers of another manager at any moment. */
struct as_mark_now {
    uint64_t set_and_index;
    uint64_t self; /* this thread, in the order of their first mark in the process */
};
extern __thread struct as_mark_now as_mark_now __attribute__((tls_model("initial-exec")));
/* Nanoseconds this thread has waited for readers. */
extern __thread uint64_t as_mark_waited_ns __attribute__((tls_model("initial-exec")));

struct as_mark_thread *as_mark_thread_find_slow(struct as_mark_set *set);

/* The calling thread's lane; NULL: no memory, or too many threads. */
static inline struct as_mark_thread *as_mark_thread_find(struct as_mark_set *set)
{
    const uint64_t now = __atomic_load_n(&as_mark_now.set_and_index, __ATOMIC_RELAXED);

    if (__builtin_expect(now >> AS_MARK_INDEX_BITS == set->id, 1))
        return set->thread[now & ((1u << AS_MARK_INDEX_BITS) - 1)];
    return as_mark_thread_find_slow(set);
}

uint32_t as_mark_site_slow(struct as_mark_set *set, struct as_mark_cached *cached,
                           const char *name);

/* Whether the name is in the cache: as_mark_site() then takes no lock and no memory. */
bool as_mark_site_is_known(const struct as_mark_thread *t, const char *name);

/* The site of a layer's name, and the slot of the cache that remembers it. 0: there are too many
 * names. Literals keep their place: where the pointer was seen before, comparing the text settles
 * it. */
static inline uint32_t as_mark_site(struct as_mark_set *set, struct as_mark_thread *t,
                                    const char *name, uint32_t *slot)
{
    const uintptr_t at = (uintptr_t)name;
    struct as_mark_cached *cached;
    uint32_t i = 0;

    *slot = (uint32_t)((at ^ at >> 6) % AS_MARK_CACHE);
    cached = &t->cache[*slot];
    if (__builtin_expect(cached->text != name, 0))
        return as_mark_site_slow(set, cached, name);
    while (i < cached->name_size && cached->name[i] == name[i])
        i++;
    if (__builtin_expect(i == cached->name_size && name[i] == '\0', 1))
        return cached->site;
    return as_mark_site_slow(set, cached, name);
}

/* Records of a lane, next to each other, and the tag that makes them count. A chunk that its reader
 * gave up has another tag by then: what comes too late is lost and spoils nothing. */
struct as_mark_slots {
    struct assay_record_ *at; /* the next to store; NULL: the lane is full */
    uint64_t tag;
};

/* Begins the next chunk where there is no room for `n` records. False: the lane is full. */
bool as_mark_make_room(struct as_mark_set *set, struct as_mark_thread *t, size_t n);

#if defined(__x86_64__)
/* One instruction, so that a signal handler on this thread cannot take the same records. */
/* NOLINTNEXTLINE(readability-non-const-parameter): written to by the instruction */
static inline bool as_mark_swap(uintptr_t *at, uintptr_t from, uintptr_t to)
{
    bool done;

    __asm__ __volatile__("cmpxchgq %3, %1"
                         : "=@ccz"(done), "+m"(*at), "+a"(from)
                         : "r"(to)
                         : "memory");
    return done;
}
#else
static inline bool as_mark_swap(uintptr_t *at, uintptr_t from, uintptr_t to)
{
    return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#endif

/* `n` records, every one of which must be stored. They are claimed by one instruction, never beyond
 * the end of their chunk, and after any system call: a signal that was held back meanwhile is
 * delivered before, not between. */
static inline struct as_mark_slots as_mark_claim(struct as_mark_set *set, struct as_mark_thread *t,
                                                 size_t n)
{
    const uintptr_t bytes = n * sizeof(struct assay_record_);

    do {
        const uintptr_t at = __atomic_load_n(&t->fill.at, __ATOMIC_RELAXED);

        if (__builtin_expect((at & (ASSAY_CHUNK_BYTES_ - 1)) + bytes > ASSAY_CHUNK_END_, 0)) {
            if (!as_mark_make_room(set, t, n))
                return (struct as_mark_slots){NULL, 0};
        } else if (__builtin_expect(as_mark_swap(&t->fill.at, at, at + bytes), 1)) {
            const uint64_t *tag = (const uint64_t *)(at & ~(uintptr_t)(ASSAY_CHUNK_BYTES_ - 1));

            return (struct as_mark_slots){(struct assay_record_ *)at,
                                          __atomic_load_n(tag, __ATOMIC_RELAXED)};
        }
    } while (true);
}

#define AS_MARK_SITE_BITS 17
_Static_assert(AS_RUN_MAX_SITES < 1u << AS_MARK_SITE_BITS, "every site fits");

/* What stands in a leading record for a layer. */
static inline uint32_t as_mark_layer(uint64_t session, uint32_t site)
{
    return (uint32_t)session << AS_MARK_SITE_BITS | site;
}

static inline void as_mark_store(struct assay_record_ *r, uint64_t tag, uint64_t data,
                                 uint32_t kind, uint32_t site)
{
    __atomic_store_n(&r->time, data, __ATOMIC_RELAXED);
    __atomic_store_n(&r->word, as_record_word(tag, kind, site), __ATOMIC_RELEASE);
}

/* Stores the next. */
static inline void as_mark_put(struct as_mark_slots *slots, uint64_t data, uint32_t kind,
                               uint32_t site)
{
    as_mark_store(slots->at++, slots->tag, data, kind, site);
}

#endif
