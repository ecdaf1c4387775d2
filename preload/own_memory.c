/* preload/own_memory.c - how much of the program's resident memory is ours, now and at its peak. */
#include "own_memory.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap_table.h"

static _Atomic uint64_t mapped_bytes = AS_SHM_FIRST_BYTES;

bool as_own_memory_may_map(uint64_t bytes)
{
    struct rlimit limit;

    return syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
           atomic_load(&mapped_bytes) + bytes <= limit.rlim_cur / AS_SHM_LIMIT_PART;
}

void as_own_memory_mapped(uint64_t bytes)
{
    atomic_fetch_add(&mapped_bytes, bytes);
}

void as_own_memory_note(struct as_shm_header *shm)
{
    uint64_t table = as_heap_table_used_bytes(), peak;
    struct rusage usage;
    int before = errno;

    atomic_store_explicit(&shm->table_bytes, table, memory_order_relaxed);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        peak = (uint64_t)usage.ru_maxrss * 1024;
        if (peak > atomic_exchange(&shm->peak_seen_bytes, peak))
            atomic_store_explicit(&shm->peak_table_bytes, table, memory_order_relaxed);
    }
    errno = before;
}
