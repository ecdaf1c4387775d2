/* watch/watch_limits.c - the limits of memory that a program started now inherits from us, and the
 * vectors that it may use.
 * What a program changes of its own limits later is not seen. */
#include "watch/watch_run.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/text/text.h"
#include "base/units.h"
#include "probe/system/cpu_info.h"
#include "probe/system/topology.h"
#include "trace/shm/target_shm.h"

/* NaN: none. */
static double limit_of(int what)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return AS_UNKNOWN;
    return (double)limit.rlim_cur;
}

void as_watch_limits_read(struct as_watch_limits *out, const char *root)
{
    struct as_container group;

    as_container_read(&group, root);
    out->address_bytes = fmin(limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA));
    out->group_cpus = group.cpu_quota.set ? fmax(group.cpu_quota.value, 1) : (double)INFINITY;
    out->group_bytes =
        group.memory_bytes.set && !group.memory_bytes.why ? group.memory_bytes.value : AS_UNKNOWN;
}

bool as_watch_limits_forbid(char *why, size_t capacity)
{
    double address = limit_of(RLIMIT_AS), file = limit_of(RLIMIT_FSIZE);
    char text[AS_TEXT_HUMAN];

    if (address / AS_SHM_LIMIT_PART < AS_SHM_FIRST_BYTES) {
        as_text_bytes(text, address);
        (void)snprintf(why, capacity,
                       "its address space is limited to %s (ulimit -v): too little for the "
                       "library's counters beside the program",
                       text);
        return true;
    }
    if (file < (double)AS_SHM_BYTES) {
        as_text_bytes(text, file);
        (void)snprintf(why, capacity,
                       "its files are limited to %s (ulimit -f): too little for that of the "
                       "library's counters",
                       text);
        return true;
    }
    return false;
}

const char *as_watch_cpu_vectors(const char *root)
{
    struct as_cpu_info cpu;

    as_cpu_info_read(&cpu, root);
    if (!cpu.flags_known)
        return NULL;
    if (as_cpu_has(&cpu, AS_CPU_AVX512F))
        return "avx512";
    if (as_cpu_has(&cpu, AS_CPU_AVX2))
        return "avx2";
    return as_cpu_has(&cpu, AS_CPU_AVX) ? "avx" : "sse";
}
