/* assay/scope.h - marks the layers of a program: the part that runs inside the measured code.
 *
 * A layer is a named stretch of work on one thread. Layers nest, run on any number of threads, and
 * may be marked from signal handlers. Nothing here allocates, locks, formats or calls the kernel on
 * its usual path; a mark costs little more than reading the CPU's time-stamp counter. Marks
 * are recorded while a session (session.h) is open and cost about half a nanosecond while none is.
 * Compile with -DASSAY_DISABLE and every mark vanishes from the program, which then needs no
 * library: timed executions still store their milliseconds, sessions open without recording
 * anything.
 *
 * Usable from C11 and C++17 with gcc and clang. Names ending in an underscore are not for callers.
 */
#ifndef ASSAY_SCOPE_H
#define ASSAY_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef ASSAY_DISABLE
#include <time.h>
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* What a site stands for. */
enum assay_category {
    ASSAY_CATEGORY_LAYER = 0,    /* a layer, the usual case */
    ASSAY_CATEGORY_FUNCTION = 1, /* a function marked by ASSAY_FUNCTION_SCOPE or ASSAY_WRAP */
    ASSAY_CATEGORY_TIMER = 2,    /* a timed execution */
    ASSAY_CATEGORY_PHASE = 3,    /* a phase of an iteration */
    ASSAY_CATEGORY_CHANNEL = 4,  /* a series of samples */
    ASSAY_CATEGORY_KEY = 5,      /* the key of a note */
    ASSAY_CATEGORY_INSTANT = 6,  /* an instant event */
    ASSAY_CATEGORY_ASYNC = 7,    /* spans that may end on another thread */
    ASSAY_CATEGORY_FLOW = 8,     /* an arrow from span to span */
    ASSAY_CATEGORY_LOCK = 9      /* a lock, see lock.h */
};

/* The phases of an iteration that reports know by name. */
enum assay_phase {
    ASSAY_PHASE_FORWARD = 0,
    ASSAY_PHASE_BACKWARD = 1,
    ASSAY_PHASE_OPTIMIZER = 2,
    ASSAY_PHASE_DATA = 3,
    ASSAY_PHASE_COMM = 4,
    ASSAY_PHASE_COUNT = 5
};

/* How a layer ended. */
enum assay_status { ASSAY_STATUS_OK = 0, ASSAY_STATUS_FAILED = 1 };

/* ---- Below this line: the recorder's inside, needed here only so that the hot path can be
 * inlined. ---- */

/* One event: 16 bytes. `word` holds the site in bits 0-31, the kind in bits 32-39 and the tag of
 * its chunk in bits 40-63; it is stored last, so an event is complete exactly when its word carries
 * the tag of the chunk it stands in. */
struct assay_record_ {
    uint64_t time;
    uint64_t word;
};

enum assay_kind_ {
    ASSAY_KIND_BEGIN_ = 1,
    ASSAY_KIND_END_ = 2,
    ASSAY_KIND_FAIL_ = 3,   /* an end whose work failed */
    ASSAY_KIND_SWITCH_ = 4, /* closes the layer the last switch opened, opens `site` (0: none) */
    ASSAY_KIND_ITER_ = 5,
    ASSAY_KIND_POINT_ = 12,     /* an instant event */
    ASSAY_KIND_LOCK_WAIT_ = 13, /* a thread begins to wait for a lock */
    ASSAY_KIND_LOCK_HELD_ = 14, /* it has it */
    ASSAY_KIND_LOCK_FREE_ = 15  /* it gives it back; the others are in trace/record/record.h */
};

/* clang leaves small functions out of line where gcc does not; a call would double the cost of a
 * mark. */
#define ASSAY_HOT_ static inline __attribute__((always_inline))

/* Chunks are aligned to their size; their first word is the tag, shifted. The slots behind the end
 * stay empty: claims that found the chunk full end there. */
#define ASSAY_CHUNK_BYTES_ 65536u
#define ASSAY_CHUNK_END_   65280u

struct assay_lane_ {
    uintptr_t at, end; /* next slot of the chunk being filled, and its ASSAY_CHUNK_END_ */
    uint64_t epoch;    /* the session this lane belongs to; 1 for none */
    void *ring;        /* the recorder's own */
};

/* The session now recording, 0 for none. Alone in its page so that the kernel can wipe it in forked
 * children. */
struct assay_gate_ {
    uint64_t epoch;
} __attribute__((aligned(4096)));

struct assay_site {
    const char *name, *file;
    uint32_t line, category, id; /* id: 0 until the first use */
};

extern ASSAY_API __thread struct assay_lane_ assay_lane_ __attribute__((tls_model("initial-exec")));
extern ASSAY_API struct assay_gate_ assay_gate_;

/* Gives a static site its id. Thread-safe, usable in signal handlers. */
ASSAY_API uint32_t assay_site_register_(struct assay_site *site);

/* Records an event whenever the fast path cannot: first use on a thread, full chunk, another clock.
 */
ASSAY_API void assay_record_slow_(uint64_t time, uint32_t site, uint32_t kind);

#if defined(__x86_64__)
ASSAY_HOT_ uint64_t assay_ticks_(void)
{
#if defined(ASSAY_FENCED)
    /* For scopes under 100 ns: the work before is done when time is read. */
    __builtin_ia32_lfence();
#endif
    return __builtin_ia32_rdtsc();
}

/* One instruction, so that a signal handler on this thread cannot take the same slot. */
/* NOLINTNEXTLINE(readability-non-const-parameter): written to by the instruction */
ASSAY_HOT_ uintptr_t assay_claim_(uintptr_t *at, uintptr_t bytes)
{
    __asm__ __volatile__("xaddq %0, %1" : "+r"(bytes), "+m"(*at) : : "memory", "cc");
    return bytes;
}
#elif defined(__aarch64__)
ASSAY_HOT_ uint64_t assay_ticks_(void)
{
    uint64_t ticks;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

ASSAY_HOT_ uintptr_t assay_claim_(uintptr_t *at, uintptr_t bytes)
{
    return __atomic_fetch_add(at, bytes, __ATOMIC_RELAXED);
}
#else
ASSAY_HOT_ uint64_t assay_ticks_(void)
{
    return 0; /* the slow path reads the system's clock */
}

ASSAY_HOT_ uintptr_t assay_claim_(uintptr_t *at, uintptr_t bytes)
{
    return __atomic_fetch_add(at, bytes, __ATOMIC_RELAXED);
}
#endif

/* Budget: half of 1.15 times two time-stamp reads. The slot is claimed before time is read, which
 * is measurably cheaper than after: an event that a signal handler interrupted in between then
 * stands in front of the handler's although it is later, and the reader puts it back in its place.
 */
ASSAY_HOT_ void assay_store_(uint32_t site, uint32_t kind)
{
    uintptr_t slot = assay_claim_(&assay_lane_.at, sizeof(struct assay_record_));

    /* Judged by the slot alone: a handler that came between may have moved the lane to another
     * chunk. */
    if (__builtin_expect((slot & (ASSAY_CHUNK_BYTES_ - 1)) < ASSAY_CHUNK_END_, 1)) {
        struct assay_record_ *r = (struct assay_record_ *)slot;
        const uint64_t *tag = (const uint64_t *)(slot & ~(uintptr_t)(ASSAY_CHUNK_BYTES_ - 1));

        __atomic_store_n(&r->time, assay_ticks_(), __ATOMIC_RELAXED);
        __atomic_store_n(&r->word, *tag | (uint64_t)kind << 32 | site, __ATOMIC_RELEASE);
    } else {
        assay_record_slow_(assay_ticks_(), site, kind);
    }
}

/* True when this thread may take the fast path of the session now open. */
ASSAY_HOT_ bool assay_ready_(uint64_t epoch)
{
    return __builtin_expect(assay_lane_.epoch == epoch, 1);
}

ASSAY_HOT_ void assay_put_(uint32_t site, uint32_t kind)
{
    uint64_t epoch = __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);

    if (__builtin_expect(!epoch, 1)) /* keeps the code of an unobserved program straight; recording
                                        pays nothing for it */
        return;
    if (assay_ready_(epoch))
        assay_store_(site, kind);
    else
        assay_record_slow_(0, site, kind);
}

/* The same for a static site, which is registered at its first mark within a session. */
ASSAY_HOT_ void assay_put_site_(struct assay_site *site, uint32_t kind)
{
    uint64_t epoch = __atomic_load_n(&assay_gate_.epoch, __ATOMIC_RELAXED);
    uint32_t id;

    if (__builtin_expect(!epoch, 1)) /* keeps the code of an unobserved program straight; recording
                                        pays nothing for it */
        return;
    id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (assay_ready_(epoch) && __builtin_expect(id != 0, 1))
        assay_store_(id, kind);
    else
        assay_record_slow_(0, assay_site_register_(site), kind);
}

/* ---- The marks. All are thread-safe. ---- */

#ifndef ASSAY_DISABLE
/* The same as assay_begin() and assay_end() below, as functions of the library: for languages that
 * cannot inline C. */
ASSAY_API void assay_layer_begin(uint32_t layer);
ASSAY_API void assay_layer_end(uint32_t layer);

/* The id of the layer called `name`, made at its first mention; the same name always gives the same
 * id. For names known only at run time; keep the id, since looking it up takes a while. The text is
 * copied. Past 65,535 names the id is 0: such layers are recorded together, as "(unknown)". */
ASSAY_API uint32_t assay_layer(const char *name);

/* The same for any category; `unit` may be NULL and counts for channels only. */
ASSAY_API uint32_t assay_site_named(const char *name, enum assay_category category,
                                    const char *unit);

/* Opens a layer on this thread. */
ASSAY_HOT_ void assay_begin(uint32_t layer)
{
    assay_put_(layer, ASSAY_KIND_BEGIN_);
}

/* Closes it. A layer closed that is not the innermost open one is kept and counted as unbalanced.
 */
ASSAY_HOT_ void assay_end(uint32_t layer)
{
    assay_put_(layer, ASSAY_KIND_END_);
}

/* Closes it as failed; reports count failed calls apart. */
ASSAY_HOT_ void assay_end_failed(uint32_t layer)
{
    assay_put_(layer, ASSAY_KIND_FAIL_);
}

/* Closes the layer opened by the last assay_switch() on this thread and opens `layer` with the same
 * time stamp: half the cost for layers that follow one another. A `layer` of 0 only closes. */
ASSAY_HOT_ void assay_switch(uint32_t layer)
{
    assay_put_(layer, ASSAY_KIND_SWITCH_);
}

/* Iteration `n` begins now on this thread; it lasts until the next mark or assay_iteration_end().
 * The thread's CPU time is kept with it where the system reports it. Costs a system call. */
ASSAY_API void assay_iteration(uint64_t n);
ASSAY_API void assay_iteration_end(void);

/* The sequence length of the iteration now running, for statistics per length. */
ASSAY_API void assay_iteration_length(uint64_t length);

/* A phase of the iteration: whatever is marked inside belongs to it. An unknown phase is ignored.
 */
ASSAY_API void assay_phase_begin(enum assay_phase phase);
ASSAY_API void assay_phase_end(enum assay_phase phase);

/* A series of samples; `unit` as in "bytes" or "watts". Keep the id. */
ASSAY_API uint32_t assay_channel(const char *name, const char *unit);

/* One sample of a channel, stamped with the time of the call. */
ASSAY_API void assay_sample(uint32_t channel, double value);

/* Attaches `key` = `value` to the innermost open layer of this thread, for this call of it only. */
ASSAY_API void assay_note(const char *key, double value);

/* A line of text at this moment on this thread. Text over ASSAY_MESSAGE_MAX bytes is cut and ends
 * in
 * "...". Costs about as much as assay_sample(), and is allowed in signal handlers. */
#define ASSAY_MESSAGE_MAX 256
ASSAY_API void assay_message(const char *text);

/* An instant event called `name`. With a string literal ASSAY_INSTANT is cheaper. */
ASSAY_API void assay_instant(const char *name);

/* A span that may end on another thread than it began on: a request, a transfer, a task in a queue.
 * `id` identifies one of the spans of a name that are open at the same time, a pointer will do.
 * Reports have how many there were, how long they took, and which did not end. A span is not a
 * layer: it is in no self time. */
ASSAY_API void assay_async_begin(const char *name, uint64_t id);
ASSAY_API void assay_async_end(const char *name, uint64_t id);

/* An arrow that joins the layers in which these calls are made, on any threads: one begin, any
 * number of steps, one end. */
ASSAY_API void assay_flow_begin(const char *name, uint64_t id);
ASSAY_API void assay_flow_step(const char *name, uint64_t id);
ASSAY_API void assay_flow_end(const char *name, uint64_t id);

#else
#include <assay/scope_off.h>
#endif

/* A scope that closes by itself. Keep it in a variable only through the macros below. */
struct assay_scope {
    struct assay_site *site;
    uint32_t kind;
};

#ifndef ASSAY_DISABLE
ASSAY_HOT_ struct assay_scope assay_scope_open_(struct assay_site *site)
{
    struct assay_scope scope = {site, ASSAY_KIND_END_};

    assay_put_site_(site, ASSAY_KIND_BEGIN_);
    return scope;
}

ASSAY_HOT_ void assay_scope_close_(struct assay_scope *scope)
{
    assay_put_site_(scope->site, scope->kind);
}
#endif

/* The scope will end as failed. */
static inline void assay_scope_fail(struct assay_scope *scope)
{
    scope->kind = ASSAY_KIND_FAIL_;
}

/* A stretch of code timed for the program itself as well as for the session. */
struct assay_timed {
    uint32_t site;
    uint64_t start_ns;
};

#ifndef ASSAY_DISABLE
/* Begins a timed execution called `label`. */
ASSAY_API struct assay_timed assay_timed_begin(const char *label);

/* Ends it and returns the milliseconds since it began, session or not; NaN for NULL. */
ASSAY_API double assay_timed_end(const struct assay_timed *timed);
#else
/* In strict C11 <time.h> has no monotonic clock; the calendar's is used then. */
static inline uint64_t assay_timed_now_(void)
{
    struct timespec t;

#ifdef CLOCK_MONOTONIC
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
#else
    (void)timespec_get(&t, TIME_UTC);
#endif
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static inline struct assay_timed assay_timed_begin(const char *label)
{
    struct assay_timed timed = {0, 0};

    (void)label;
    timed.start_ns = assay_timed_now_();
    return timed;
}
static inline double assay_timed_end(const struct assay_timed *timed)
{
    return timed ? (double)(assay_timed_now_() - timed->start_ns) / 1e6 : __builtin_nan("");
}
#endif

/* The block of ASSAY_TIMED. */
struct assay_timed_block_ {
    struct assay_timed timed;
    double *ms;
    bool more;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): written to when the block is left */
static inline struct assay_timed_block_ assay_timed_block_open_(const char *label, double *ms)
{
    struct assay_timed_block_ block = {{0, 0}, ms, true};

    block.timed = assay_timed_begin(label);
    return block;
}

static inline void assay_timed_block_close_(const struct assay_timed_block_ *block)
{
    double ms = assay_timed_end(&block->timed);

    if (block->ms)
        *block->ms = ms;
}

#ifdef __cplusplus
}
#endif

#define ASSAY_JOIN2_(a, b) a##b
#define ASSAY_JOIN_(a, b)  ASSAY_JOIN2_(a, b)

/* Times the block or statement after it and stores the milliseconds in the double that `ms` points
 * to:
 *
 *     double ms;
 *     ASSAY_TIMED("load", &ms)
 *         work();
 *
 * The time is stored and the timer closed whichever way the block is left: at its end, by return,
 * goto or an exception. The macro is a loop that runs once, so `break` and `continue` in the block
 * both end the block, not a loop around it. */
#define ASSAY_TIMED(label, ms) ASSAY_TIMED_(ASSAY_JOIN_(assay_timed_block_, __COUNTER__), label, ms)
#define ASSAY_TIMED_(var, label, ms)                                                               \
    for (struct assay_timed_block_ var __attribute__((cleanup(assay_timed_block_close_))) =        \
             assay_timed_block_open_((label), (ms));                                               \
         (var).more; (var).more = false)

#ifdef ASSAY_DISABLE

#define ASSAY_BEGIN(name)            ((void)0)
#define ASSAY_END(name)              ((void)0)
#define ASSAY_END_FAILED(name)       ((void)0)
#define ASSAY_SWITCH(name)           ((void)0)
#define ASSAY_SWITCH_END()           ((void)0)
#define ASSAY_SCOPE_NAMED(var, name) struct assay_scope var __attribute__((unused)) = {0, 0}
#define ASSAY_SCOPE(name)            ((void)0)
#define ASSAY_FUNCTION_SCOPE()       ((void)0)
#define ASSAY_PHASE_SCOPE(phase)     ((void)0)
#define ASSAY_INSTANT(name)          ((void)0)
#define ASSAY_CALL(name, ...)        (__VA_ARGS__)
#define ASSAY_WRAP(type, wrapper, function, parameters, arguments)                                 \
    static inline type wrapper parameters                                                          \
    {                                                                                              \
        return function arguments;                                                                 \
    }

#else

#define ASSAY_SITE_(var, label, kind)                                                              \
    static struct assay_site var = {(label), __FILE__, __LINE__, (kind), 0}

#define ASSAY_MARK_AS_(label, category, kind)                                                      \
    do {                                                                                           \
        ASSAY_SITE_(assay_here_, label, category);                                                 \
        assay_put_site_(&assay_here_, (kind));                                                     \
    } while (0)
#define ASSAY_MARK_(label, kind) ASSAY_MARK_AS_(label, ASSAY_CATEGORY_LAYER, kind)

/* An instant event named by a string literal. Costs half as much as a scope. */
#define ASSAY_INSTANT(name)      ASSAY_MARK_AS_(name, ASSAY_CATEGORY_INSTANT, ASSAY_KIND_POINT_)

/* Opens and closes a layer named by a string literal. */
#define ASSAY_BEGIN(name)        ASSAY_MARK_(name, ASSAY_KIND_BEGIN_)
#define ASSAY_END(name)          ASSAY_MARK_(name, ASSAY_KIND_END_)
#define ASSAY_END_FAILED(name)   ASSAY_MARK_(name, ASSAY_KIND_FAIL_)

/* Closes the layer of the last ASSAY_SWITCH on this thread and opens the next with one time stamp.
 */
#define ASSAY_SWITCH(name)       ASSAY_MARK_(name, ASSAY_KIND_SWITCH_)
#define ASSAY_SWITCH_END()       assay_switch(0)

#define ASSAY_SCOPE_KIND_(var, label, kind)                                                        \
    ASSAY_SITE_(ASSAY_JOIN_(var, _site_), label, kind);                                            \
    struct assay_scope var __attribute__((cleanup(assay_scope_close_), unused)) =                  \
        assay_scope_open_(&ASSAY_JOIN_(var, _site_))

/* A layer that lasts until the end of the enclosing block, whichever way it is left. The second
 * form names the variable, for assay_scope_fail(&var). */
#define ASSAY_SCOPE(name)                                                                          \
    ASSAY_SCOPE_KIND_(ASSAY_JOIN_(assay_scope_, __COUNTER__), name, ASSAY_CATEGORY_LAYER)
#define ASSAY_SCOPE_NAMED(var, name) ASSAY_SCOPE_KIND_(var, name, ASSAY_CATEGORY_LAYER)

/* The same for the rest of a function, under the function's name. Stands first in its body. */
#define ASSAY_FUNCTION_SCOPE()                                                                     \
    static struct assay_site assay_function_site_ = {__func__, __FILE__, __LINE__,                 \
                                                     ASSAY_CATEGORY_FUNCTION, 0};                  \
    struct assay_scope assay_function_ __attribute__((cleanup(assay_scope_close_), unused)) =      \
        assay_scope_open_(&assay_function_site_)

/* Evaluates an expression inside a layer and gives its value:
 *
 *     int y = ASSAY_CALL("conv1", conv(x, n));
 */
#define ASSAY_CALL(name, ...)                                                                      \
    __extension__({                                                                                \
        ASSAY_SCOPE(name);                                                                         \
        __VA_ARGS__;                                                                               \
    })

/* Defines `wrapper`, which calls `function` inside a layer of that function's name:
 *
 *     ASSAY_WRAP(int, timed_conv, conv, (const float *x, int n), (x, n)) */
#define ASSAY_WRAP(type, wrapper, function, parameters, arguments)                                 \
    static inline type wrapper parameters                                                          \
    {                                                                                              \
        ASSAY_SCOPE_KIND_(assay_wrap_, #function, ASSAY_CATEGORY_FUNCTION);                        \
        return function arguments;                                                                 \
    }

static inline void assay_phase_close_(const enum assay_phase *phase)
{
    assay_phase_end(*phase);
}

static inline enum assay_phase assay_phase_open_(enum assay_phase phase)
{
    assay_phase_begin(phase);
    return phase;
}

/* A phase that lasts until the end of the enclosing block. */
#define ASSAY_PHASE_SCOPE(phase)                                                                   \
    enum assay_phase ASSAY_JOIN_(assay_phase_, __COUNTER__)                                        \
        __attribute__((cleanup(assay_phase_close_), unused)) = assay_phase_open_(phase)

#endif

#ifdef __cplusplus
#include <assay/scope_cpp.h>
#endif

#endif
