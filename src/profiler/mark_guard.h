/* profiler/mark_guard.h - decides whether a mark of a manager may run here: not in a forked child,
 * whose locks may be held by threads that it does not have, and not in a signal handler that
 * interrupted the manager on the same thread. Such marks do nothing. */
#ifndef AS_PROFILER_MARK_GUARD_H
#define AS_PROFILER_MARK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Alone in its page, which the kernel clears in forked children. */
struct as_mark_guard {
    _Alignas(4096) uint64_t generation; /* of this process; 0: in a child that made no manager */
    _Alignas(4096) uint64_t interrupted;
};
extern struct as_mark_guard as_mark_guard;

/* How many calls of a manager this thread is in. */
extern __thread uint32_t as_mark_inside __attribute__((tls_model("initial-exec")));

/* The generation of this process, which a manager keeps from its creation on. */
uint64_t as_mark_guard_prepare(void);

/* Whether an object of that generation belongs to this process. */
static inline bool as_mark_is_here(uint64_t generation)
{
    return __atomic_load_n(&as_mark_guard.generation, __ATOMIC_RELAXED) == generation;
}

/* Marks dropped because a handler interrupted the manager, in the whole process. */
static inline uint64_t as_marks_interrupted(void)
{
    return __atomic_load_n(&as_mark_guard.interrupted, __ATOMIC_RELAXED);
}

/* Any call of a manager but a mark. Handlers that come before the matching leave drop their marks.
 */
static inline void as_mark_block(void)
{
    as_mark_inside++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void as_mark_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    as_mark_inside--;
}

/* Budget: 2 ns. False: the mark must do nothing, and there is nothing to leave. */
static inline bool as_mark_enter(uint64_t generation)
{
    if (__builtin_expect(!as_mark_is_here(generation), 0))
        return false;
    if (__builtin_expect(as_mark_inside != 0, 0)) {
        __atomic_fetch_add(&as_mark_guard.interrupted, 1, __ATOMIC_RELAXED);
        return false;
    }
    as_mark_block();
    return true;
}

#endif
