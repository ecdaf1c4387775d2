/* cmd/cmd_machine.c - `assay machine`: peaks, bandwidths, topology, and fitness to measure.
 * Peaks are kept in the user's cache; everything else is of this moment. */
#include "base/clock.h"
#include "cmd/cmd.h"
#include "cmd/common/cached_peaks.h"
#include "cmd/common/console.h"
#include "cmd/common/interrupt.h"
#include "cmd/common/measure_options.h"
#include "cmd/common/options.h"
#include "cmd/common/show_options.h"
#include "cmd/machine/machine_study.h"
#include "measure/overhead/operation_run.h"
#include "report/machine/machine_report.h"
#include "report/run/interrupted.h"

#define NOISE_NS       UINT64_C(1000000000)
#define NOISE_QUICK_NS UINT64_C(200000000)

static const struct as_opt machine_opts[] = {
    {.name = "fresh", .kind = AS_OPT_FLAG, .help = "measure the peaks again and ignore the cache"},
    {.name = "threads",
     .letter = 't',
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "measure 1, 2, 4 ... and N threads; otherwise up to all usable CPUs. With "
             "--operations: run them on N [default: 1]",
     .min = 1,
     .max = AS_PEAK_MAX_THREADS},
    {.name = "quick",
     .kind = AS_OPT_FLAG,
     .help = "take a quarter of the time, with a smaller working set; such peaks are not cached"},
    {.name = "operations",
     .kind = AS_OPT_FLAG,
     .help = "instead, time single operations and show what bounds each of them here"},
    {.name = "size",
     .kind = AS_OPT_NUMBER,
     .argument = "N",
     .help = "size N of the operations [default: 256]",
     .min = 1,
     .max = AS_OPERATION_MAX_SIZE},
    {.name = "overhead",
     .kind = AS_OPT_FLAG,
     .help = "instead, show what measuring itself costs here, probe by probe"},
    AS_OPT_MAX_ISA,
    AS_OPTS_FORMAT(as_format_at),
    AS_OPTS_EXPORT,
    {.name = NULL},
};

/* Everything that one run of the command finds out. */
struct machine {
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    struct as_peaks_cached cached;
    struct as_noise noise;
};

static int read_topology(struct as_topology *topology, const struct as_cmd_line *line,
                         struct assay_error *err)
{
    uint64_t threads = as_opt_number(line, "threads", 0);
    int rc = as_topology_read(topology, NULL, err);

    if (rc == ASSAY_OK && threads > topology->n_usable)
        rc = as_fail(err, ASSAY_ERR_USAGE, "--threads %llu: this process may use %u CPU%s",
                     (unsigned long long)threads, topology->n_usable,
                     topology->n_usable == 1 ? "" : "s");
    return rc;
}

static int look(struct machine *m, const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_peaks_wanted wanted = {
        .topology = &m->topology,
        .fresh = as_opt_given(line, "fresh"),
        .quick = as_opt_given(line, "quick"),
        .max_threads = (unsigned)as_opt_number(line, "threads", 0),
    };
    int rc;

    as_system_load_read(&m->load, "");
    as_memory_headroom_read(&m->headroom, "", &m->topology.container);
    as_interrupt_watch();
    as_stop_watched(as_interrupt_flag());
    rc = as_peaks_get(&m->cached, &wanted, line, err);
    if (rc == ASSAY_OK && m->cached.interrupted && m->cached.n_measured == 0)
        rc = as_fail(err, ASSAY_ERR_STATE, "interrupted before the first peak was measured");
    if (rc == ASSAY_OK)
        rc = as_noise_measure(&m->noise,
                              as_interrupted() ? 0
                              : wanted.quick   ? NOISE_QUICK_NS
                                               : NOISE_NS,
                              0, err);
    return rc;
}

static void put(struct as_run_maker *maker, const struct machine *m)
{
    const struct as_interrupted_fact early = {.done = m->cached.n_measured, .unit = "measurement"};

    if (m->cached.interrupted)
        as_interrupted_put(maker, &early);
    as_machine_put(maker, &(struct as_machine_report){
                              .topology = &m->topology,
                              .load = &m->load,
                              .headroom = &m->headroom,
                              .peaks = &m->cached.peaks,
                              .noise = &m->noise,
                              .fingerprint = m->cached.fingerprint,
                              .from_cache = m->cached.from_cache,
                              .now_unix_ns = as_clock_read_anchor(AS_CLOCK_MONOTONIC).real_ns,
                              .cache_path = m->cached.path[0] ? m->cached.path : NULL,
                          });
}

static int look_and_show(struct machine *m, const struct as_show *show,
                         const struct as_cmd_line *line, struct assay_error *err)
{
    struct as_run_maker maker;
    int rc = look(m, line, err);

    if (rc == ASSAY_OK)
        rc = as_run_maker_open(&maker, as_show_run_path(line), "machine", err);
    if (rc < 0)
        return rc;
    put(&maker, m);
    return as_show_finish(&maker, show, line, err);
}

static int check_studies(const struct as_cmd_line *line, struct assay_error *err)
{
    bool operations = as_opt_given(line, "operations"), overhead = as_opt_given(line, "overhead");

    if (operations && overhead)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--operations and --overhead are two studies: ask for one at a time");
    if (as_opt_given(line, "size") && !operations)
        return as_fail(err, ASSAY_ERR_USAGE, "--size is that of the operations: add --operations");
    if (overhead && (as_opt_given(line, "threads") || as_opt_given(line, "fresh")))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--overhead runs on one thread and needs no peaks: leave out --%s",
                       as_opt_given(line, "threads") ? "threads" : "fresh");
    return ASSAY_OK;
}

static int run_machine(const struct as_cmd_line *line, struct assay_error *err)
{
    struct machine m = {0};
    struct as_show show;
    int rc = check_studies(line, err);

    if (rc == ASSAY_OK)
        rc = as_show_read(&show, line, err);
    if (rc == ASSAY_OK)
        rc = as_max_isa_read(line, err);
    if (rc == ASSAY_OK)
        rc = read_topology(&m.topology, line, err);
    if (rc < 0)
        return rc;
    if (as_opt_given(line, "operations"))
        return as_study_operations(&show, line, &m.topology, err);
    if (as_opt_given(line, "overhead"))
        return as_study_overhead(&show, line, &m.topology, err);
    return as_interrupt_result(look_and_show(&m, &show, line, err), err);
}

static const struct as_example machine_examples[] = {
    {"assay machine", "peak compute, memory bandwidth, fitness to measure"},
    {"assay machine --fresh", "measure the peaks again"},
    {"assay machine --overhead", "what measuring itself costs here"},
    {NULL, NULL},
};

const struct as_cmd as_cmd_machine = {
    .name = "machine",
    .summary = "show the measured peaks of this machine and whether it is fit to measure",
    .usage = "assay machine [options]",
    .details = "Measures peak compute in f32, f64, bf16 and i8 and memory bandwidth (read, write, "
               "triad) of L1, L2, L3 and DRAM, each from one thread up to all CPUs, and derives "
               "the ridge points of the roofline. Peaks are the best of many short trials.\n\nThey "
               "take some seconds and are kept in $XDG_CACHE_HOME/assay/machine.json, or beneath "
               "~/.cache, per CPU model, kernel and set of usable CPUs, in one file per "
               "instruction set that --max-isa names; --fresh measures them again. The noise "
               "floor, the load and the findings are of this moment, every time.\n\nEach finding "
               "names what disturbs measuring here, what shows it, and what to do.\n\n--operations "
               "times an elementwise sum, a GEMM, a reduction, convolutions, attention, norms, a "
               "lookup and more, interleaved, and classifies each as memory-bound, compute-bound "
               "or neither by the measured ridge point. --overhead measures what clocks, marks and "
               "passes of a profile cost, and how long a layer must be for that to be little.",
    .examples = machine_examples,
    .opts = machine_opts,
    .run = run_machine,
};
