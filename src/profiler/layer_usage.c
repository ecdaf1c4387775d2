/* profiler/layer_usage.c - what a thread used of the machine while a layer ran: processor, faults,
 * switches. What layers inside it used, and what profiling them used, is left out. */
#include "profiler/layer_profile.h"

#include <math.h>
#include <sys/resource.h>

#include "base/clock.h"

#define SECTOR_BYTES 512.0 /* what the kernel counts blocks of storage in */

bool as_layer_usage_read(struct as_layer_usage *out)
{
    struct rusage r;
    uint64_t cpu_ns;

    /* getrusage tells times only as of the last tick of the scheduler. */
    if (!as_clock_thread_cpu_ns(&cpu_ns) || getrusage(RUSAGE_THREAD, &r) != 0)
        return false;
    out->cpu_seconds = (double)cpu_ns * 1e-9;
    out->minor_faults = (uint64_t)r.ru_minflt;
    out->major_faults = (uint64_t)r.ru_majflt;
    out->switches = (uint64_t)r.ru_nivcsw;
    out->sleeps = (uint64_t)r.ru_nvcsw;
    out->io_blocks = (uint64_t)r.ru_inblock + (uint64_t)r.ru_oublock;
    return true;
}

void as_layer_usage_add(struct as_layer_usage *to, const struct as_layer_usage *from,
                        const struct as_layer_usage *until)
{
    to->cpu_seconds += until->cpu_seconds - from->cpu_seconds;
    to->minor_faults += until->minor_faults - from->minor_faults;
    to->major_faults += until->major_faults - from->major_faults;
    to->switches += until->switches - from->switches;
    to->sleeps += until->sleeps - from->sleeps;
    to->io_blocks += until->io_blocks - from->io_blocks;
}

/* Counts only rise, so what is inside is never more than the whole. */
static double own(uint64_t from, uint64_t until, uint64_t inner)
{
    return (double)(until - from - inner);
}

void as_layer_usage_tell(struct assay_layer_metrics *out, const struct as_layer_usage *from,
                         const struct as_layer_usage *until, const struct as_layer_usage *inner)
{
    out->cpu_seconds = fmax(until->cpu_seconds - from->cpu_seconds - inner->cpu_seconds, 0);
    out->minor_faults = own(from->minor_faults, until->minor_faults, inner->minor_faults);
    out->major_faults = own(from->major_faults, until->major_faults, inner->major_faults);
    out->switches = own(from->switches, until->switches, inner->switches);
    out->sleeps = own(from->sleeps, until->sleeps, inner->sleeps);
    out->io_bytes = own(from->io_blocks, until->io_blocks, inner->io_blocks) * SECTOR_BYTES;
}
