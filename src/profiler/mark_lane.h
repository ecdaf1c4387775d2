/* profiler/mark_lane.h - the marks of a manager's layers, on their way from the threads that make
 * them to the manager: lanes of the recorder (trace/record/ring.h), one per thread.
 *
 * A mark never takes a lock, allocates from the heap or waits for a reader, except when a lane is
 * full: then it waits up to AS_MARK_WAIT_NS and is dropped and counted, and so are those after it,
 * without waiting, until a reader comes. So it may be made in a signal handler, whatever that
 * interrupted. The reader is whoever holds the manager's lock.
 *
 *   unit   = leading record, then records of data that belong to it, in one chunk
 *   leading: BEGIN, END, FAIL of assay/scope.h, with a time stamp, the layer's site in the low 17
 * bits and the session in those above: a layer that was begun as its session ended is nobody's;
 *            DROP (data: how many of the innermost open layers were left without an end);
 *            RESTART (site: id of the thread that now uses the lane, data: its number)
 *   data:    FIELD (site: enum as_mark_field), PAIR (site: key; a number), WORDS (site: key, 0 for
 *            the reason of a failure; data: bytes of text), TEXT (eight bytes of that text)
 *
 * The leading record is stored last: when it is there, its data is. */
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
#include "profiler/memory_profile.h"
#include "trace/record/lane_fill.h"

#define AS_MARK_MAX_DEPTH   1024u
#define AS_MARK_MAX_THREADS 4096u /* at once */
#define AS_MARK_CHUNKS      4u
#define AS_MARK_CACHE       64u
#define AS_MARK_MAX_PAIRS   32u
#define AS_MARK_MAX_TEXT    255u
#define AS_MARK_WAIT_NS     2000000000u

/* Beyond the kinds that stand in files. */
enum as_mark_kind {
    AS_MARK_DROP = 64,
    AS_MARK_RESTART,
    AS_MARK_FIELD,
    AS_MARK_PAIR,
    AS_MARK_WORDS,
    AS_MARK_TEXT
};

/* What is known of a call beside its times; signed values and pointers as their bits. */
enum as_mark_field {
    AS_MARK_ON,     /* profilers that were on when it ended */
    AS_MARK_BEFORE, /* ticks that profiling took before it began */
    AS_MARK_AFTER,  /* and after it ended: the time of no layer */
    AS_MARK_STEP,
    AS_MARK_PROCESS_BYTES, /* resident, without what the profiler holds */
    AS_MARK_HEAP_BYTES,    /* in use of the heap, likewise */
    AS_MARK_LEFT_BYTES,    /* taken and not given back by the call itself */
    AS_MARK_CPU_NS,        /* used by the call itself: see layer_usage.h */
    AS_MARK_MINOR_FAULTS,
    AS_MARK_MAJOR_FAULTS,
    AS_MARK_SWITCHES,
    AS_MARK_SLEEPS,
    AS_MARK_IO_BLOCKS,
    AS_MARK_UNREAD_NS, /* spent in layers inside it whose usage was not read */
    AS_MARK_MEMORY,    /* from here on: the words of struct as_memory_change */
    AS_MARK_FIELDS = AS_MARK_MEMORY + sizeof(struct as_memory_change) / sizeof(uint64_t)
};
_Static_assert(AS_MARK_FIELDS <= 64, "a bit each");

struct as_mark_fields {
    uint64_t known; /* bits; the others have no value */
    uint64_t value[AS_MARK_FIELDS];
};

static inline void as_mark_set_field(struct as_mark_fields *to, unsigned field, uint64_t value)
{
    to->value[field] = value;
    to->known |= UINT64_C(1) << field;
}

static inline uint64_t as_mark_get(const struct as_mark_fields *from, unsigned field,
                                   uint64_t otherwise)
{
    return from->known >> field & 1 ? from->value[field] : otherwise;
}

static inline bool as_mark_has(const struct as_mark_fields *from, unsigned field)
{
    return from->known >> field & 1;
}

/* An open layer as its thread sees it. The readings are there when its profilers were on. */
struct as_mark_frame {
    uint64_t serial;
    uint64_t entered_ticks, start_ticks; /* of the mark, and of the layer */
    uint32_t site, slot;                 /* slot: of the cache */
    bool recorded;                       /* its begin is in the lane */
    bool held_known, held_heap, memory_begun, usage_known;
    bool entered_known;          /* the layer around it leaves out what was used since `entered` */
    uint64_t epoch;              /* of the recording session it was marked in too; 0: none */
    int64_t inner_bytes;         /* left behind by layers inside it */
    uint64_t held_bytes;         /* by the program when it began */
    uint64_t unread_ns;          /* as above */
    struct as_layer_usage usage; /* when it began */
    struct as_layer_usage inner; /* by layers inside it, and by us around them */
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
    struct as_mark_cached cache[AS_MARK_CACHE];
    struct as_mark_frame *frame; /* [AS_MARK_MAX_DEPTH] */
    _Atomic bool waits; /* for the reader: it filled the whole lane since the oldest record there */
    _Atomic uint64_t too_deep, dropped, pairs_dropped;
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
    pthread_mutex_t lock;           /* of the list; taken with every signal held back */
    struct as_mark_thread **thread; /* [AS_MARK_MAX_THREADS] */
    _Atomic uint32_t n_threads;
    uint32_t next_number;
    _Atomic uint32_t wake;     /* changes when a lane is half full; the reader may wait on it */
    _Atomic uint64_t homeless; /* calls on threads beyond the limit */
    _Atomic uint64_t wait_ns;  /* threads waited for the reader */
    bool has_hole;             /* of the reader: a lane waits for a record, see AS_MARK_HOLE_NS */
};

#define AS_MARK_HOLE_NS 20000000u /* how long until a reader looks again */

AS_MUST_USE int as_mark_set_new(struct as_mark_set **out, struct assay_error *err);
/* No thread makes marks any more. Accepts NULL. */
void as_mark_set_free(struct as_mark_set *set);

/* Memory that lanes of all managers take: not the program's. */
uint64_t as_mark_mapped_bytes(void);

/* ---- the thread that makes marks ---- */

/* The set this thread used last. */
struct as_mark_now {
    uint64_t set;
    struct as_mark_thread *thread;
    uint64_t self; /* this thread, in the order of their first mark in the process */
};
extern __thread struct as_mark_now as_mark_now __attribute__((tls_model("initial-exec")));
/* Nanoseconds this thread has waited for readers. */
extern __thread uint64_t as_mark_waited_ns __attribute__((tls_model("initial-exec")));

struct as_mark_thread *as_mark_thread_find_slow(struct as_mark_set *set);

/* The calling thread's lane; NULL: no memory, or too many threads. */
static inline struct as_mark_thread *as_mark_thread_find(struct as_mark_set *set)
{
    /* In this order: a handler may mark layers of another manager between the two. */
    struct as_mark_thread *t = __atomic_load_n(&as_mark_now.thread, __ATOMIC_RELAXED);

    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&as_mark_now.set, __ATOMIC_RELAXED) == set->id, 1))
        return t;
    return as_mark_thread_find_slow(set);
}

uint32_t as_mark_site_slow(struct as_mark_cached *cached, const char *name);

/* The site of a layer's name, and the slot of the cache that remembers it. 0: there are too many
 * names. Literals keep their place: where the pointer was seen before, comparing the text settles
 * it. */
static inline uint32_t as_mark_site(struct as_mark_thread *t, const char *name, uint32_t *slot)
{
    const uintptr_t at = (uintptr_t)name;
    struct as_mark_cached *cached;
    uint32_t i = 0;

    *slot = (uint32_t)((at ^ at >> 6) % AS_MARK_CACHE);
    cached = &t->cache[*slot];
    if (__builtin_expect(cached->text != name, 0))
        return as_mark_site_slow(cached, name);
    while (i < cached->name_size && cached->name[i] == name[i])
        i++;
    if (__builtin_expect(i == cached->name_size && name[i] == '\0', 1))
        return cached->site;
    return as_mark_site_slow(cached, name);
}

/* Records of a lane, next to each other, and the tag that makes them count. A chunk that its reader
 * gave up has another tag by then: what comes too late is lost and spoils nothing. */
struct as_mark_slots {
    struct assay_record_ *at; /* the next to store; NULL: the lane is full */
    uint64_t tag;
};

/* Makes room for `n` records behind `slot`, where there was none. False: the lane is full. */
bool as_mark_make_room(struct as_mark_set *set, struct as_mark_thread *t, uintptr_t slot, size_t n);

static inline struct as_mark_slots as_mark_slots_at(uintptr_t slot)
{
    const uint64_t *tag = (const uint64_t *)(slot & ~(uintptr_t)(ASSAY_CHUNK_BYTES_ - 1));

    return (struct as_mark_slots){(struct assay_record_ *)slot,
                                  __atomic_load_n(tag, __ATOMIC_RELAXED)};
}

/* `n` records, every one of which must be stored. They are claimed by one instruction, after any
 * system call: a signal that was held back meanwhile is delivered before, not between. */
static inline struct as_mark_slots as_mark_claim(struct as_mark_set *set, struct as_mark_thread *t,
                                                 size_t n)
{
    const uintptr_t bytes = n * sizeof(struct assay_record_);
    uintptr_t slot;

    do {
        slot = assay_claim_(&t->fill.at, bytes);
        if (__builtin_expect((slot & (ASSAY_CHUNK_BYTES_ - 1)) + bytes <= ASSAY_CHUNK_END_, 1))
            return as_mark_slots_at(slot);
    } while (as_mark_make_room(set, t, slot, n));
    return (struct as_mark_slots){NULL, 0};
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

/* ---- the reader ---- */

/* A call that ended, or begins, as the lane has it. Texts are borrowed until the visitor returns.
 */
struct as_mark_unit {
    uint32_t kind; /* AS_RECORD_BEGIN, _END, _FAIL, AS_MARK_DROP, AS_MARK_RESTART */
    uint32_t site; /* of a layer: as_mark_layer() */
    uint64_t time; /* or the leading record's data */
    struct as_mark_fields fields;
    struct assay_metadata *pair;
    size_t n_pairs;
    const char *reason; /* NULL: none */
};
typedef void (*as_mark_visit)(void *user, struct as_mark_thread *t,
                              const struct as_mark_unit *unit);

/* Memory for the texts of a unit; one reader at a time. */
struct as_mark_scratch;
struct as_mark_scratch *as_mark_scratch_new(void);
void as_mark_scratch_free(struct as_mark_scratch *scratch);

/* Hands out what every lane has, in the order of each thread. Returns how many units there were. */
size_t as_mark_take(struct as_mark_set *set, struct as_mark_scratch *scratch, as_mark_visit visit,
                    void *user);

#endif
