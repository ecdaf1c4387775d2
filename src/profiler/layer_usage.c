/* profiler/layer_usage.c - what a thread used of the machine while a layer ran: CPU, faults,
 * context switches. */
#include "profiler/layer_usage.h"

#include <sys/resource.h>

#include "base/clock.h"

bool as_layer_usage_read(struct as_layer_usage *out)
{
    struct rusage r;

    /* getrusage() reports times only as of the last tick of the scheduler. */
    if (!as_clock_thread_cpu_ns(&out->cpu_ns) || getrusage(RUSAGE_THREAD, &r) != 0)
        return false;
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
    to->cpu_ns += until->cpu_ns - from->cpu_ns;
    to->minor_faults += until->minor_faults - from->minor_faults;
    to->major_faults += until->major_faults - from->major_faults;
    to->switches += until->switches - from->switches;
    to->sleeps += until->sleeps - from->sleeps;
    to->io_blocks += until->io_blocks - from->io_blocks;
}

static uint64_t own(uint64_t from, uint64_t until, uint64_t inner)
{
    const uint64_t all = until - from;

    return all > inner ? all - inner : 0;
}

struct as_layer_usage as_layer_usage_own(const struct as_layer_usage *from,
                                         const struct as_layer_usage *until,
                                         const struct as_layer_usage *inner)
{
    return (struct as_layer_usage){
        .cpu_ns = own(from->cpu_ns, until->cpu_ns, inner->cpu_ns),
        .minor_faults = own(from->minor_faults, until->minor_faults, inner->minor_faults),
        .major_faults = own(from->major_faults, until->major_faults, inner->major_faults),
        .switches = own(from->switches, until->switches, inner->switches),
        .sleeps = own(from->sleeps, until->sleeps, inner->sleeps),
        .io_blocks = own(from->io_blocks, until->io_blocks, inner->io_blocks),
    };
}
