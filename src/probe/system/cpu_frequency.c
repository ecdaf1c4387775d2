/* probe/system/cpu_frequency.c - who decides how fast the processor runs, as sysfs tells it.
 * Virtual machines mostly tell nothing: the speed itself is then measured, elsewhere. */
#include "probe/system/topology.h"

#include <stdio.h>
#include <string.h>

#include "probe/system/root_file.h"

#define CPU_FOLDER "/sys/devices/system/cpu"

static const char no_cpufreq[] = "the kernel has no frequency control here, as in most virtual "
                                 "machines";

static struct as_fact read_khz(const char *root, const char *file)
{
    char path[160];
    struct as_fact khz;

    (void)snprintf(path, sizeof path, CPU_FOLDER "/cpu0/cpufreq/%s", file);
    khz = as_root_u64(root, path, no_cpufreq);
    if (!khz.why && khz.value > UINT64_MAX / 1000)
        return as_fact_none("the kernel's value is not a frequency");
    khz.value *= 1000;
    return khz;
}

static void read_governors(struct as_cpu_frequency *out, const char *root, unsigned n_cpus)
{
    char path[160], other[sizeof out->governor];

    if (!as_root_read(root, CPU_FOLDER "/cpu0/cpufreq/scaling_governor", out->governor,
                      sizeof out->governor)) {
        out->governor_why = no_cpufreq;
        return;
    }
    for (unsigned i = 1; i < n_cpus && !out->governors_differ; i++) {
        (void)snprintf(path, sizeof path, CPU_FOLDER "/cpu%u/cpufreq/scaling_governor", i);
        out->governors_differ =
            as_root_read(root, path, other, sizeof other) && strcmp(other, out->governor) != 0;
    }
}

static void read_turbo(struct as_cpu_frequency *out, const char *root)
{
    struct as_fact off = as_root_u64(root, CPU_FOLDER "/intel_pstate/no_turbo", "");
    struct as_fact on = as_root_u64(root, CPU_FOLDER "/cpufreq/boost", "");

    if (!off.why)
        out->turbo = off.value ? AS_TURBO_OFF : AS_TURBO_ON;
    else if (!on.why)
        out->turbo = on.value ? AS_TURBO_ON : AS_TURBO_OFF;
    else
        out->turbo_why = no_cpufreq;
}

void as_cpu_frequency_read(struct as_cpu_frequency *out, const char *root, unsigned n_cpus)
{
    *out = (struct as_cpu_frequency){0};
    read_governors(out, root, n_cpus);
    read_turbo(out, root);
    out->min_hz = read_khz(root, "scaling_min_freq");
    out->max_hz = read_khz(root, "scaling_max_freq");
    out->current_hz = read_khz(root, "scaling_cur_freq");
}
