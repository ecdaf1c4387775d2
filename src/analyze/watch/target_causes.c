/* analyze/watch/target_causes.c - what may hold an unmodified program back, each with the figures
 * that speak for it. A rule says nothing unless its figures do; gains are upper bounds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/watch/target_findings.h"
#include "base/text/text.h"
#include "base/units.h"

/* From these on something is said. */
#define WORTH_SAYING    0.05 /* share of the wall time */
#define WAITING         0.3
#define DELAYED         0.1 /* of the time threads wanted to run */
#define MOST            0.5
#define IDLE_PROCESSORS 0.3     /* share of all processors not used by a program that computes */
#define MANY_FAULTS     20000.0 /* a second */
#define MANY_MAJOR      10.0
#define MANY_SWITCHES   200.0
#define MANY_TEMPORARY  100000.0
#define PAGE            4096.0
#define BY_MALLOC       0.5 /* of the bytes that faults brought in */
#define SMALL_SIDE      64
#define SMALL_FLOPS     1e6
#define MUCH_SYSTEM     0.2 /* of the time on processors */
#define FAR_BELOW_ROOF  0.5
/* Where a gain is not known. */
#define SEVERITY_MEDIUM 40
#define SEVERITY_LOW    15
#define SHORTEST        0.05 /* seconds: rates of a shorter program say little */

/* A rule's answer, and its severity where the gain is unknown. */
struct cause {
    const char *rule, *finding, *evidence, *action;
    double gain;
    enum assay_confidence confidence;
    double severity;
};

static void add(struct as_target_findings *f, const struct cause *c)
{
    if (f->n_causes < AS_TARGET_MAX_CAUSES)
        f->cause[f->n_causes++] =
            (struct assay_finding){.rule = c->rule,
                                   .finding = c->finding,
                                   .evidence = c->evidence,
                                   .action = c->action,
                                   .severity = as_severity_of_gain(c->gain, c->severity),
                                   .expected_gain = c->gain,
                                   .confidence = c->confidence};
}

static double rate_of(const struct as_target *p, struct as_fact fact)
{
    return fact.why ? AS_UNKNOWN : (double)fact.value / p->wall_seconds;
}

/* The time of storage that processes waited for, in seconds; NaN when nobody counted. */
static double io_wait_seconds(const struct as_target *p)
{
    double total = 0;
    bool known = false;

    for (size_t i = 0; i < p->n_processes; i++) {
        if (p->process[i].io_wait_ns.why)
            continue;
        known = true;
        total += (double)p->process[i].io_wait_ns.value / 1e9;
    }
    return known ? total : AS_UNKNOWN;
}

/* The time that threads were ready to run and had no CPU, of that in which they wanted one. 0 when
 * nobody counted: context switches do not tell it, for a thread that yields is also preempted. */
static double delayed_share(const struct as_target *p, double used)
{
    double delay = rate_of(p, p->run_delay_ns) / 1e9;

    return delay > 0 && used + delay > 0 ? delay / (used + delay) : 0;
}

static double most_threads(const struct as_target *p)
{
    double most = 1;

    for (size_t i = 0; i < p->n_processes; i++)
        if (!p->process[i].threads_most.why && (double)p->process[i].threads_most.value > most)
            most = (double)p->process[i].threads_most.value;
    return most;
}

/* Whose CPUs they were: with no more threads than CPUs only others can have had them. */
static void tell_delayed(struct as_target_findings *f, const struct as_target *p, double share)
{
    bool crowded = p->n_processes > 1 || most_threads(p) > p->processors;
    double gain = rate_of(p, p->run_delay_ns) / 1e9; /* no more than was waited is won */
    char delay[AS_TEXT_HUMAN], cpu[AS_TEXT_HUMAN];

    as_text_ns(delay, (double)p->run_delay_ns.value, AS_TIME_AUTO);
    as_text_ns(cpu, f->processors_used * p->wall_seconds * 1e9, AS_TIME_AUTO);
    add(f, &(struct cause){
               "waits-for-processor",
               crowded ? "threads waited for a CPU: the program has more of them than CPUs, or "
                         "other programs ran"
                       : "waited for a CPU that other programs used",
               as_findings_say(f,
                               "%s ready to run without a CPU, %s CPU time: %.0f %% of the time "
                               "its threads wanted to run",
                               delay, cpu, 100 * share),
               crowded ? "start fewer threads and processes, or run it on a quieter machine"
                       : "run it on a quieter machine",
               gain < share ? gain : share, ASSAY_CONFIDENCE_HIGH, SEVERITY_MEDIUM});
}

static void tell_waits(struct as_target_findings *f, const struct as_target *p)
{
    double idle = 1 - f->processors_used;
    char wall[AS_TEXT_HUMAN], cpu[AS_TEXT_HUMAN], some[AS_TEXT_HUMAN] = "-";

    as_text_ns(wall, p->wall_seconds * 1e9, AS_TIME_AUTO);
    as_text_ns(cpu, f->processors_used * p->wall_seconds * 1e9, AS_TIME_AUTO);
    if (!p->switches_voluntary.why)
        as_text_count(some, p->switches_voluntary.value);
    add(f, &(struct cause){
               "program-waits",
               idle > MOST ? "the program waits most of the time"
                           : "the program waits part of the time",
               as_findings_say(f,
                               "%s wall time, %s CPU time: for at least %.0f %% of the time none "
                               "of its threads ran; %s voluntary context switches",
                               wall, cpu, 100 * idle, some),
               "find what it waits for: disk, network, locks, sleeps, a child; do it earlier or in "
               "parallel",
               idle, ASSAY_CONFIDENCE_MEDIUM, SEVERITY_MEDIUM});
}

static void find_idle(struct as_target_findings *f, const struct as_target *p)
{
    double used = f->processors_used, all = p->processors, share;
    double delayed = delayed_share(p, used), waited = rate_of(p, p->run_delay_ns) / 1e9;

    if (!(used >= 0))
        return;
    if (delayed > DELAYED && waited > WORTH_SAYING)
        tell_delayed(f, p, delayed);
    if (delayed > DELAYED && waited > WAITING)
        return;
    if (used < 1 - WAITING) {
        tell_waits(f, p);
        return;
    }
    share = all > 1 ? 1 - used / all : 0;
    /* A program of one thread uses one, as it was made. */
    if (share > IDLE_PROCESSORS && (most_threads(p) > 1 || p->n_processes > 1))
        add(f,
            &(struct cause){"processors-idle", "not all CPUs are used",
                            as_findings_say(f, "%.2f of %.0f CPUs were busy on average", used, all),
                            "run independent parts in threads, or let the library use more threads "
                            "(OMP_NUM_THREADS, MKL_NUM_THREADS)",
                            share, ASSAY_CONFIDENCE_LOW, SEVERITY_MEDIUM});
}

static void find_io(struct as_target_findings *f, const struct as_target *p)
{
    double seconds = io_wait_seconds(p), share = seconds / p->wall_seconds;
    char wait[AS_TEXT_HUMAN], read[AS_TEXT_HUMAN], written[AS_TEXT_HUMAN];

    if (!(share > WORTH_SAYING))
        return;
    as_text_ns(wait, seconds * 1e9, AS_TIME_AUTO);
    as_text_bytes(read, p->read_bytes.why ? AS_UNKNOWN : (double)p->read_bytes.value);
    as_text_bytes(written, p->written_bytes.why ? AS_UNKNOWN : (double)p->written_bytes.value);
    add(f, &(struct cause){
               "storage-wait", "processes wait for disk I/O",
               as_findings_say(f, "%s waiting for disk I/O in all processes; %s read, %s written",
                               wait, read, written),
               "read ahead or in larger pieces, cache what is read repeatedly, write in the "
               "background",
               share < 1 ? share : AS_UNKNOWN, ASSAY_CONFIDENCE_HIGH, SEVERITY_MEDIUM});
}

/* Without those that our own table of live blocks brought in. */
static double faults_of(const struct as_target *p)
{
    double ours = p->heap_known ? (double)(p->heap.own_bytes + p->heap.share_bytes) / PAGE : 0;
    double all = (double)p->minor_faults.value;

    return all > ours ? all - ours : 0;
}

/* Settings of malloc are of no use to a program that takes its memory elsewhere. */
static const char *fault_advice(const struct as_target *p)
{
    double faulted = PAGE * faults_of(p);

    if (p->heap_known && (double)p->heap.allocated_bytes < BY_MALLOC * faulted)
        return "little of it comes from malloc: map memory once and reuse it, prefault it "
               "(MAP_POPULATE, MADV_POPULATE_WRITE), or use huge pages (MADV_HUGEPAGE)";
    return "keep large buffers instead of freeing them; let malloc keep them (M_MMAP_THRESHOLD and "
           "M_TRIM_THRESHOLD of mallopt, or MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ in "
           "the environment of glibc); use huge pages";
}

/* What a fault costs is not measured; all of them together cost no more than the kernel's time. */
static void find_faults(struct as_target_findings *f, const struct as_target *p)
{
    double minor = rate_of(p, p->minor_faults), major = rate_of(p, p->major_faults);
    double used = f->processors_used, system = rate_of(p, p->cpu_system_ns) / 1e9;
    char faults[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

    if (minor > MANY_FAULTS && system / used > MUCH_SYSTEM && system > WORTH_SAYING) {
        as_text_count(faults, p->minor_faults.value);
        as_text_si(rate, minor, NULL);
        as_text_percent(share, system / used);
        add(f,
            &(struct cause){"page-faults", "memory is requested from the system again and again",
                            as_findings_say(f,
                                            "%s page faults, %s per second; the kernel has %s of "
                                            "the CPU time, an upper bound for the cost of faults",
                                            faults, rate, share),
                            fault_advice(p), system < 1 ? system : AS_UNKNOWN,
                            ASSAY_CONFIDENCE_MEDIUM, SEVERITY_MEDIUM});
    }
    if (major > MANY_MAJOR) {
        as_text_count(faults, p->major_faults.value);
        as_text_si(rate, major, NULL);
        add(f,
            &(struct cause){"major-faults", "pages are read from disk while the program runs",
                            as_findings_say(f, "%s major page faults, %s per second", faults, rate),
                            "a mapped file is read page by page: read it ahead (madvise, "
                            "posix_fadvise); or memory is short and the system swaps",
                            AS_UNKNOWN, ASSAY_CONFIDENCE_MEDIUM, SEVERITY_MEDIUM});
    }
}

static void find_switches(struct as_target_findings *f, const struct as_target *p)
{
    double rate = rate_of(p, p->switches_involuntary);
    double processors = f->processors_used > 1 ? f->processors_used : 1;
    char count[AS_TEXT_HUMAN];

    if (!(rate / processors > MANY_SWITCHES))
        return;
    for (size_t i = 0; i < f->n_causes; i++)
        if (strcmp(f->cause[i].rule, "waits-for-processor") == 0)
            return; /* which tells the same */
    as_text_count(count, p->switches_involuntary.value);
    add(f,
        &(struct cause){
            "involuntary-switches", "threads are preempted",
            as_findings_say(f, "%s involuntary context switches, %.0f per second on each busy CPU",
                            count, rate / processors),
            "run no more threads than CPUs and no other load; pin threads", AS_UNKNOWN,
            ASSAY_CONFIDENCE_LOW, SEVERITY_LOW});
}

static bool is_small(const struct as_gemm_calls *c)
{
    if (c->flops < SMALL_FLOPS)
        return true;
    return c->m && (c->m < SMALL_SIDE || c->n < SMALL_SIDE || c->k < SMALL_SIDE);
}

/* What OpenBLAS calls the processors it has kernels for, and the vectors those use: the cores of
 * x86 of its list; a core that is not here says nothing. */
static const struct core {
    const char *name;
    int level; /* of `vectors` */
} cores[] = {
    {"SkylakeX", 3},   {"Cooperlake", 3},  {"Sapphirerapids", 3}, {"Haswell", 2},
    {"Zen", 2},        {"Excavator", 2},   {"Sandybridge", 1},    {"Bulldozer", 1},
    {"Piledriver", 1}, {"Steamroller", 1}, {"Nehalem", 0},        {"Core2", 0},
    {"Penryn", 0},     {"Dunnington", 0},  {"Prescott", 0},       {"Katmai", 0},
    {"Coppermine", 0}, {"Northwood", 0},   {"Banias", 0},         {"Atom", 0},
    {"Barcelona", 0},  {"Opteron", 0},     {"Opteron_SSE3", 0},   {"Bobcat", 0},
    {"Athlon", 0},     {"Nano", 0},
};
static const struct {
    const char *name, *text, *core; /* of OpenBLAS, that uses all of them */
} vectors[] = {
    {"sse", "SSE", "Nehalem"},
    {"avx", "AVX", "Sandybridge"},
    {"avx2", "AVX2", "Haswell"},
    {"avx512", "AVX-512", "SkylakeX"},
};

static int level_of_core(const char *name)
{
    for (size_t i = 0; name && i < AS_COUNT_OF(cores); i++)
        if (strcasecmp(cores[i].name, name) == 0)
            return cores[i].level;
    return -1;
}

static int level_of_cpu(const char *name)
{
    for (size_t i = 0; name && i < AS_COUNT_OF(vectors); i++)
        if (strcmp(vectors[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* By the library's own word, where there is one. */
static const char *product_advice(struct as_target_findings *f, const struct as_target *p)
{
    int core = level_of_core(p->gemm_core), cpu = level_of_cpu(p->cpu_vectors);

    if (core >= 0 && core < cpu)
        return as_findings_say(f,
                               "OpenBLAS reports kernels for %s (%s), and the CPU has %s: use a "
                               "newer OpenBLAS, or set OPENBLAS_CORETYPE=%s",
                               p->gemm_core, vectors[core].text, vectors[cpu].text,
                               vectors[cpu].core);
    if (p->gemm_core)
        return as_findings_say(f,
                               "OpenBLAS reports kernels for %s: give it all CPUs, keep operands "
                               "in one layout",
                               p->gemm_core);
    return "give the library all CPUs, keep operands in one layout; whether its kernels are those "
           "for this CPU is unknown";
}

static void find_products(struct as_target_findings *f, const struct as_target *p)
{
    double below_ns = 0, lost_ns = 0, share;
    const struct as_gemm_calls *worst = NULL;
    char text[AS_TEXT_HUMAN], roof[AS_TEXT_HUMAN];

    for (size_t i = 0; i < p->n_gemm; i++) {
        double fraction = as_gemm_roof_share(p, &p->gemm[i]);

        if (!(fraction < FAR_BELOW_ROOF))
            continue;
        below_ns += (double)p->gemm[i].time_ns;
        lost_ns += (double)p->gemm[i].time_ns * (1 - fraction);
        if (!worst)
            worst = &p->gemm[i]; /* they stand by time */
    }
    share = below_ns / (p->wall_seconds * 1e9);
    if (!worst || !(share > WORTH_SAYING))
        return;
    as_text_percent(text, share);
    as_text_percent(roof, as_gemm_roof_share(p, worst));
    share = lost_ns / (p->wall_seconds * 1e9);
    add(f,
        &(struct cause){
            "gemm-below-roofline", "GEMM calls run far below the roofline",
            as_findings_say(f,
                            "GEMM calls below 50 %% of roofline take %s of the time; the one with "
                            "most time, %s %s %s, reaches %s",
                            text, worst->function ? worst->function : "?",
                            worst->dtype ? worst->dtype : "", worst->shape, roof),
            is_small(worst)
                ? "batch small GEMM calls, keep them in one layout; very thin ones are memory-bound"
                : product_advice(f, p),
            share < 1 ? share : AS_UNKNOWN, ASSAY_CONFIDENCE_MEDIUM, SEVERITY_MEDIUM});
}

static void find_churn(struct as_target_findings *f, const struct as_target *p)
{
    double temporary = 0, rate = (double)p->heap.allocations / p->wall_seconds;
    const struct as_target_site *most = NULL;
    char count[AS_TEXT_HUMAN], all[AS_TEXT_HUMAN], where[300] = "?";

    if (!p->heap_known)
        return;
    for (size_t i = 0; i < p->n_places; i++) {
        temporary += (double)p->place[i].site.temporary;
        if (!most || p->place[i].site.temporary > most->site.temporary)
            most = &p->place[i];
    }
    temporary /= p->wall_seconds;
    if (!(temporary > MANY_TEMPORARY)) /* many that stay are no churn */
        return;
    if (most)
        as_target_site_text(most, where, sizeof where);
    as_text_si(count, temporary, NULL);
    as_text_si(all, rate, NULL);
    add(f, &(struct cause){
               "heap-churn", "many allocations are freed at once",
               as_findings_say(f, "%s allocations per second, %s of them freed at once; most at %s",
                               all, count, where),
               "keep the buffer between calls, or use one on the stack or in an arena", AS_UNKNOWN,
               ASSAY_CONFIDENCE_MEDIUM, SEVERITY_LOW});
}

void as_target_find_causes(struct as_target_findings *f, const struct as_target *target)
{
    if (!(target->wall_seconds >= SHORTEST))
        return;
    find_idle(f, target);
    find_io(f, target);
    find_faults(f, target);
    find_switches(f, target);
    find_products(f, target);
    find_churn(f, target);
    as_findings_rank(f->cause, f->n_causes);
}
