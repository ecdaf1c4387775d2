/* probe/process/process_memory.c - what this process holds and what the system did to it. */
#include "probe/process/process_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "probe/process/memory_probe.h"
#include "probe/system/root_file.h"

static struct as_fact kib_field(const char *text, const char *key, const char *why)
{
    uint64_t bytes;

    return as_text_field_kib(text, key, &bytes) ? as_fact_of(bytes) : as_fact_none(why);
}

void as_process_memory_read(struct as_process_memory *out, const char *root)
{
    static const char why[] = "/proc/self/status does not report it";
    char text[4096];

    (void)as_root_read(root, "/proc/self/status", text, sizeof text); /* "" when it cannot */
    out->rss = kib_field(text, "VmRSS", why);
    out->rss_peak = kib_field(text, "VmHWM", why);
    out->swapped = kib_field(text, "VmSwap", why);
}

bool as_process_memory_reset_peak(const char *root)
{
    char path[PATH_MAX];
    bool done;
    int fd;

    if (snprintf(path, sizeof path, "%s/proc/self/clear_refs", root) >= (int)sizeof path)
        return false;
    fd = as_open(path, O_WRONLY);
    if (fd < 0)
        return false;
    done = write(fd, "5", 1) == 1;
    (void)close(fd);
    if (done && !root[0])
        as_memory_forget_peak();
    return done;
}

static struct as_fact count_of(long n)
{
    return n >= 0 ? as_fact_of((uint64_t)n) : as_fact_none("the system's counter overflowed");
}

void as_process_events_read(struct as_process_events *out, bool thread_only)
{
    struct rusage u;

    if (getrusage(thread_only ? RUSAGE_THREAD : RUSAGE_SELF, &u) != 0) {
        const struct as_fact none = as_fact_none("the system does not count for processes");

        *out = (struct as_process_events){none, none, none, none};
        return;
    }
    out->minor_faults = count_of(u.ru_minflt);
    out->major_faults = count_of(u.ru_majflt);
    out->switches_voluntary = count_of(u.ru_nvcsw);
    out->switches_involuntary = count_of(u.ru_nivcsw);
}

static struct as_fact between(struct as_fact from, struct as_fact to)
{
    if (from.why || to.why)
        return from.why ? from : to;
    if (to.value < from.value)
        return as_fact_none("the count went backwards");
    return as_fact_of(to.value - from.value);
}

struct as_process_events as_process_events_between(const struct as_process_events *from,
                                                   const struct as_process_events *to)
{
    return (struct as_process_events){
        .minor_faults = between(from->minor_faults, to->minor_faults),
        .major_faults = between(from->major_faults, to->major_faults),
        .switches_voluntary = between(from->switches_voluntary, to->switches_voluntary),
        .switches_involuntary = between(from->switches_involuntary, to->switches_involuntary),
    };
}

static void lower(struct as_fact *left, double most)
{
    most = most < 0 ? 0 : most;
    if (left->why || most < (double)left->value)
        *left = as_fact_of((uint64_t)most);
}

/* What `ulimit -v` leaves of addresses: no more memory than these can be had. */
static void heed_address_limit(struct as_fact *left, const char *root)
{
    struct rlimit limit;
    struct as_fact size;
    char text[4096];

    (void)as_root_read(root, "/proc/self/status", text, sizeof text);
    size = kib_field(text, "VmSize", "/proc/self/status does not report it");
    if (!size.why && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        lower(left, (double)limit.rlim_cur - (double)size.value);
}

void as_memory_headroom_read(struct as_memory_headroom *out, const char *root,
                             const struct as_container *container)
{
    static const char why[] = "/proc/meminfo does not report it";
    struct as_fact swap_free;
    char text[4096];

    (void)as_root_read(root, "/proc/meminfo", text, sizeof text);
    out->available = kib_field(text, "MemAvailable", why);
    out->swap_total = kib_field(text, "SwapTotal", why);
    swap_free = kib_field(text, "SwapFree", why);
    out->swap_used = between(swap_free, out->swap_total);
    out->left = out->available;
    if (container && container->memory_bytes.set && !container->memory_used.why)
        lower(&out->left, container->memory_bytes.value - (double)container->memory_used.value);
    heed_address_limit(&out->left, root);
}
