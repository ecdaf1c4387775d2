/* analyze/model/fitness.c - whether this machine is fit to measure on, and what to do where it is
 * not. A pure function of what was read and measured; each finding carries its evidence. */
#include "analyze/model/fitness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"

/* Adds a finding; its evidence is printed as the last argument says. */
AS_PRINTF(6, 7)
static void add(struct as_fitness *out, double severity, const char *rule, const char *finding,
                const char *action, const char *fmt, ...)
{
    char *evidence;
    va_list args;

    if (out->n == AS_FITNESS_MAX)
        return;
    evidence = out->evidence[out->n];
    va_start(args, fmt);
    (void)vsnprintf(evidence, sizeof *out->evidence, fmt, args);
    va_end(args);
    out->n_warnings += severity >= AS_SEVERITY_WARNING;
    out->n_notes += severity > AS_SEVERITY_OK && severity < AS_SEVERITY_WARNING;
    out->findings[out->n++] = (struct assay_finding){
        .rule = rule,
        .finding = finding,
        .evidence = evidence,
        .action = action,
        .severity = severity,
        .expected_gain = AS_UNKNOWN,
        .confidence =
            severity >= AS_SEVERITY_WARNING ? ASSAY_CONFIDENCE_HIGH : ASSAY_CONFIDENCE_MEDIUM,
    };
}

static void judge_load(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    unsigned cpus = facts->topology->n_threads;
    double load;

    if (!facts->load)
        return;
    if (facts->load->load_1.why) {
        add(out, AS_SEVERITY_NOTE, "load", "other load is unknown",
            "check what else runs before you trust a difference", "%s", facts->load->load_1.why);
        return;
    }
    load = facts->load->load_1.value;
    if (load > AS_FITNESS_LOAD_A_CPU * cpus)
        add(out, AS_SEVERITY_WARNING, "load", "other load on this machine",
            "stop it or wait: measurements now are slower and vary more",
            "load %.2f over the last minute on %u CPU%s", load, cpus, cpus == 1 ? "" : "s");
    else
        add(out, AS_SEVERITY_OK, "load", "little other load", NULL,
            "load %.2f over the last minute on %u CPU%s", load, cpus, cpus == 1 ? "" : "s");
}

static void judge_noise(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_noise *n = facts->noise;
    char floor[AS_TEXT_HUMAN], least[AS_TEXT_HUMAN], switches[64] = "";

    if (!n)
        return;
    as_text_percent(floor, n->median_share);
    as_text_percent(least, n->resolvable_share);
    if (!n->events.switches_involuntary.why && n->events.switches_involuntary.value)
        (void)snprintf(switches, sizeof switches, "; interrupted %llu times",
                       (unsigned long long)n->events.switches_involuntary.value);
    if (n->median_share > AS_FITNESS_NOISE_SHARE)
        add(out, AS_SEVERITY_WARNING, "noise", "equal measurements differ a lot",
            "take more samples, interleave what you compare, and quiet the machine",
            "two equal measurements differ by %s in the median%s", floor, switches);
    else
        add(out, AS_SEVERITY_OK, "noise", "equal runs agree", NULL,
            "two equal measurements differ by %s in the median; minimum detectable difference of "
            "%zu pairs: %s%s",
            floor, n->n_pairs, least, switches);
}

static void judge_steal(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_topology *t = facts->topology;
    const struct as_fact_real *steal = facts->noise ? &facts->noise->shares.steal : NULL;
    const char *name = t->hypervisor[0] ? t->hypervisor : "a hypervisor";
    char share[AS_TEXT_HUMAN];

    if (!t->cpu.virtual_machine)
        return;
    if (steal && !steal->why && steal->value > AS_FITNESS_STEAL_SHARE) {
        as_text_percent(share, steal->value);
        add(out, AS_SEVERITY_WARNING, "steal", "the hypervisor gives CPU time to other machines",
            "use a machine with dedicated CPUs, or repeat at a quieter time",
            "%s of the time was stolen by %s", share, name);
        return;
    }
    add(out, AS_SEVERITY_NOTE, "virtual_machine", "this is a virtual machine",
        "compare only interleaved measurements; neighbors share cache, memory and power",
        "the CPU reports the hypervisor %s%s", name,
        steal && !steal->why ? "; practically no time was stolen during the measurement" : "");
}

static void judge_governor(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_cpu_frequency *f = &facts->topology->frequency;

    if (f->governor_why)
        add(out, AS_SEVERITY_NOTE, "governor", "the frequency governor is unknown",
            "check the host, or compare only interleaved measurements", "%s", f->governor_why);
    else if (f->governors_differ)
        add(out, AS_SEVERITY_WARNING, "governor", "CPUs have different frequency governors",
            "as root: cpupower frequency-set -g performance", "the first CPU has %s", f->governor);
    else if (strcmp(f->governor, "performance") != 0)
        add(out, AS_SEVERITY_WARNING, "governor", "the CPU frequency follows the load",
            "as root: cpupower frequency-set -g performance", "the governor is %s", f->governor);
    else
        add(out, AS_SEVERITY_OK, "governor", "the CPU frequency does not follow the load", NULL,
            "the governor is performance");
}

static void judge_turbo(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_cpu_frequency *f = &facts->topology->frequency;

    if (f->turbo == AS_TURBO_ON)
        add(out, AS_SEVERITY_NOTE, "turbo", "turbo is on",
            "for comparisons, as root: echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo, or "
            "0 into cpufreq/boost",
            "the CPU frequency depends on temperature and on the other cores");
    else if (f->turbo == AS_TURBO_OFF)
        add(out, AS_SEVERITY_OK, "turbo", "turbo is off", NULL, "turbo is off");
    else if (!f->governor_why) /* otherwise it was said already */
        add(out, AS_SEVERITY_NOTE, "turbo", "whether turbo is on is unknown",
            "expect drift with temperature and with the load of other cores", "%s",
            f->turbo_why ? f->turbo_why : "the system does not report it");
}

static void judge_limits(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_topology *t = facts->topology;
    const struct as_limit *quota = &t->container.cpu_quota;

    if (quota->set && quota->value < (double)t->n_usable)
        add(out, AS_SEVERITY_WARNING, "cpu_quota", "the container is throttled by a CPU quota",
            "raise the quota, or use no more threads than it has CPUs",
            "a quota of %.2f CPUs, %u visible", quota->value, t->n_usable);
    if (quota->set && !t->container.throttled.why && t->container.throttled.value)
        add(out, AS_SEVERITY_WARNING, "throttled", "the container was throttled before",
            "raise the quota: throttling slows measurements",
            "%llu periods since the container began",
            (unsigned long long)t->container.throttled.value);
    if (t->n_usable < t->n_threads)
        add(out, AS_SEVERITY_NOTE, "affinity", "this process may not use all CPUs",
            "start it without taskset or a CPU set to measure the whole machine", "%u of %u",
            t->n_usable, t->n_threads);
    if (t->n_usable == 1)
        add(out, AS_SEVERITY_NOTE, "one_processor", "there is only one CPU",
            "everything else that runs, this program included, takes time from the measurement",
            "%u usable", t->n_usable);
}

static void judge_shape(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_topology *t = facts->topology;

    if (!t->smt.why && t->smt.value > 1)
        add(out, AS_SEVERITY_NOTE, "smt", "hardware threads share cores (SMT)",
            "use as many threads as cores, bound to one hardware thread each",
            "%u threads on %u cores", t->n_threads, t->n_cores);
    if (t->n_numa > 1)
        add(out, AS_SEVERITY_NOTE, "numa", "memory is split into NUMA nodes",
            "bind threads and memory to one node (numactl), or measure that on purpose",
            "%u NUMA nodes", t->n_numa);
    if (as_cpu_has(&t->cpu, AS_CPU_AMX_TILE))
        add(out, AS_SEVERITY_NOTE, "amx", "AMX is available but not used",
            "nothing to do: peaks and kernels are capped at AVX-512 because AMX faults on some "
            "hosts",
            "the CPU has amx_tile");
}

static void judge_memory(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_memory_headroom *headroom = facts->headroom;
    const uint64_t least = UINT64_C(1) << 30;
    char left[AS_TEXT_HUMAN], swap[AS_TEXT_HUMAN];

    if (!headroom)
        return;
    if (!headroom->swap_used.why && headroom->swap_used.value > UINT64_C(64) << 20) {
        as_text_bytes(swap, (double)headroom->swap_used.value);
        add(out, AS_SEVERITY_WARNING, "swap", "memory was swapped out",
            "free memory first: a page that comes back from disk takes milliseconds",
            "%s of swap in use", swap);
    }
    if (headroom->left.why)
        return;
    as_text_bytes(left, (double)headroom->left.value);
    if (headroom->left.value < least)
        add(out, AS_SEVERITY_WARNING, "memory", "memory is short",
            "free some, or raise the container's limit", "%s left for this process", left);
    else
        add(out, AS_SEVERITY_OK, "memory", "memory is available", NULL, "%s left for this process",
            left);
}

static void judge_tools(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_topology *t = facts->topology;

    if (strcmp(t->clock_source, "tsc") == 0 || strcmp(t->clock_source, "arch_sys_counter") == 0)
        add(out, AS_SEVERITY_OK, "clock", "the clock is cheap and steady", NULL,
            "the kernel's clock source is %s", t->clock_source);
    else
        add(out, AS_SEVERITY_WARNING, "clock", "the clock is slow to read",
            "boot with clocksource=tsc where the CPU allows it", "the kernel's clock source is %s",
            t->clock_source[0] ? t->clock_source : "unknown");
    if (!t->paranoid.why && t->paranoid.value > 2)
        add(out, AS_SEVERITY_NOTE, "perf_events", "hardware counters are closed",
            "as root: sysctl kernel.perf_event_paranoid=1", "perf_event_paranoid is %llu",
            (unsigned long long)t->paranoid.value);
}

static void judge_peaks(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    const struct as_peaks *p = facts->peaks;
    uint64_t l3, walked;
    double one, all;
    unsigned n;

    if (!p || p->n_counts == 0)
        return;
    n = p->threads[p->n_counts - 1];
    one = as_peak_flops(p, AS_PEAK_F32, 1);
    all = as_peak_flops(p, AS_PEAK_F32, n);
    if (n > 1 && all < AS_FITNESS_SCALING * n * one)
        add(out, AS_SEVERITY_WARNING, "scaling", "threads do not scale",
            "they share cores, a quota or a power limit, or something else ran: see above",
            "%u threads compute %.2f times as fast as one", n, all / one);
    l3 = p->place[AS_PEAK_L3].size_bytes;
    walked = p->place[AS_PEAK_DRAM].set_bytes;
    if (walked && l3 && walked < l3 + l3 / 4)
        add(out, AS_SEVERITY_NOTE, "dram_set", "the working set is not much larger than L3",
            "take the bandwidth of DRAM as an upper bound, or measure again with --fresh",
            "%.0f MiB walked, L3 has %.0f MiB", (double)walked / AS_MIB, (double)l3 / AS_MIB);
}

void as_fitness_judge(struct as_fitness *out, const struct as_fitness_facts *facts)
{
    static void (*const judges[])(struct as_fitness *, const struct as_fitness_facts *) = {
        judge_load,   judge_noise,  judge_steal, judge_governor, judge_turbo,
        judge_limits, judge_memory, judge_tools, judge_peaks,    judge_shape,
    };

    *out = (struct as_fitness){0};
    for (size_t i = 0; i < AS_COUNT_OF(judges); i++)
        judges[i](out, facts);
    as_findings_rank(out->findings, out->n);
}
