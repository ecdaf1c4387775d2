/* profiler/fork_guard.c - the page that tells a process from its forked children. */
#include "profiler/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include "trace/record/guest.h"

struct as_fork_guard as_fork_guard;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* For kernels without MADV_WIPEONFORK. The child has one thread, which holds no lock of ours. */
static void in_child(void)
{
    __atomic_store_n(&as_fork_guard.generation, 0, __ATOMIC_RELAXED);
    pthread_mutex_init(&lock, NULL);
    atomic_store(&as_own_threads, 0);
}

uint64_t as_fork_guard_prepare(void)
{
    static uint64_t last; /* survives a fork, so that a child's objects differ from its parent's */
    static bool registered;
    uint64_t generation;

    pthread_mutex_lock(&lock);
    if (!registered) {
        (void)!madvise(&as_fork_guard, sizeof as_fork_guard, MADV_WIPEONFORK);
        registered = pthread_atfork(NULL, NULL, in_child) == 0;
    }
    generation = __atomic_load_n(&as_fork_guard.generation, __ATOMIC_RELAXED);
    if (!generation) {
        generation = ++last;
        __atomic_store_n(&as_fork_guard.generation, generation, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    return generation;
}
