/* profiler/fork_guard.h - tells a process from its forked children, in one load: a manager belongs
 * to the process that made it, and its marks do nothing elsewhere. */
#ifndef AS_PROFILER_FORK_GUARD_H
#define AS_PROFILER_FORK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Alone in its page, which the kernel clears in forked children. */
struct as_fork_guard {
    _Alignas(4096) uint64_t generation; /* of this process; 0: in a child that made no manager */
    char rest[4096 - sizeof(uint64_t)];
};
extern struct as_fork_guard as_fork_guard;

/* The generation of this process, which an object keeps from its creation on. */
uint64_t as_fork_guard_prepare(void);

/* Whether an object of that generation belongs to this process. */
static inline bool as_fork_guard_is_here(uint64_t generation)
{
    return __atomic_load_n(&as_fork_guard.generation, __ATOMIC_RELAXED) == generation;
}

#endif
