/* report/machine/machine_json.c - the machine for programs: the tables of the document
 * assay.machine. Base units in the keys; a value that cannot be had is null, with a reason beside
 * it. */
#include "report/machine/machine_report.h"

#define REPORT   struct as_machine_report
#define TOPOLOGY struct as_topology

static const char not_told[] = "the system does not report it";

/* ---- processor, topology ---- */

static void put_isa(struct as_json_writer *w, const void *object)
{
    const TOPOLOGY *t = object;

    as_json_object(w);
    for (int i = 0; i < AS_CPU_ISA_COUNT; i++)
        as_json_kv_bool(w, as_cpu_isa_name((enum as_cpu_isa)i),
                        as_cpu_has(&t->cpu, (enum as_cpu_isa)i));
    as_json_object_end(w);
}

static const char *hypervisor(const void *object)
{
    const TOPOLOGY *t = object;

    return t->hypervisor[0] ? t->hypervisor : NULL;
}

static const struct as_json_field cpu_fields[] = {
    AS_FIELD_OR(TOPOLOGY, "model", cpu.model, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "vendor", cpu.vendor, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "family", cpu.family, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "model_number", cpu.model_number, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "stepping", cpu.stepping, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "microcode", cpu.microcode, not_told, NULL),
    {.key = "isa", .kind = AS_FIELD_OWN, .write = put_isa, .help = "supported instruction sets"},
    AS_FIELD_MEMBERS(TOPOLOGY, isa, &as_isa_document_shape),
    AS_FIELD_KEY(TOPOLOGY, "virtual_machine", cpu.virtual_machine, NULL, NULL),
    AS_FIELD_WORDS("hypervisor", hypervisor, NULL),
};
static const struct as_json_shape cpu_shape = AS_SHAPE(TOPOLOGY, cpu_fields);

static const char *const cache_kinds[] = {"unified", "data", "instruction"};

static const struct as_json_field cache_fields[] = {
    AS_FIELD(struct as_cache, level),
    AS_FIELD_NAMED(struct as_cache, kind, cache_kinds),
    AS_FIELD_HELP(struct as_cache, size_bytes, "bytes", "of one"),
    AS_FIELD_HELP(struct as_cache, line_bytes, "bytes", NULL),
    AS_FIELD_KEY(struct as_cache, "count", n, NULL, NULL),
    AS_FIELD_KEY(struct as_cache, "shared_by_threads", shared_by, NULL, NULL),
};
static const struct as_json_shape cache_shape = AS_SHAPE(struct as_cache, cache_fields);

static const struct as_json_field topology_fields[] = {
    AS_FIELD_KEY(TOPOLOGY, "sockets", n_sockets, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "cores", n_cores, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "threads", n_threads, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "threads_per_core", smt, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "numa_nodes", n_numa, NULL, NULL),
    AS_FIELD_HELP(TOPOLOGY, memory_bytes, "bytes", NULL),
    AS_FIELD_ARRAY(TOPOLOGY, caches, n_caches, &cache_shape),
    AS_FIELD_KEY(TOPOLOGY, "caches_reason", caches_why, NULL, "why there are none"),
};
static const struct as_json_shape topology_shape = AS_SHAPE(TOPOLOGY, topology_fields);

/* ---- what may be used ---- */

static void put_processors(struct as_json_writer *w, const void *object)
{
    const TOPOLOGY *t = object;
    int cpu;

    as_json_array(w);
    for (unsigned i = 0; i < t->n_usable && (cpu = as_topology_cpu_at(t, i)) >= 0; i++)
        as_json_i64(w, cpu);
    as_json_array_end(w);
}

static const struct as_json_field processor_fields[] = {
    AS_FIELD_KEY(TOPOLOGY, "processors", n_usable, NULL, NULL),
    {.key = "processor_numbers",
     .kind = AS_FIELD_LIST,
     .item = AS_FIELD_INT,
     .write = put_processors},
    AS_FIELD_KEY(TOPOLOGY, "cgroup_version", container.version, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "cpu_quota_processors", container.cpu_quota, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "throttled_periods", container.throttled, NULL, NULL),
    AS_FIELD_KEY(TOPOLOGY, "memory_limit_bytes", container.memory_bytes, "bytes", NULL),
};
static const struct as_json_shape processor_shape = AS_SHAPE(TOPOLOGY, processor_fields);

#define HEADROOM struct as_memory_headroom
static const struct as_json_field memory_fields[] = {
    AS_FIELD_KEY(HEADROOM, "memory_left_bytes", left, "bytes", "what limits leave"),
    AS_FIELD_KEY(HEADROOM, "memory_available_bytes", available, "bytes", "without swapping"),
    AS_FIELD_KEY(HEADROOM, "swap_total_bytes", swap_total, "bytes", NULL),
    AS_FIELD_KEY(HEADROOM, "swap_used_bytes", swap_used, "bytes", NULL),
};
static const struct as_json_shape memory_shape = AS_SHAPE(HEADROOM, memory_fields);

static const struct as_json_field usable_fields[] = {
    AS_FIELD_INLINE(REPORT, topology, &processor_shape),
    AS_FIELD_INLINE(REPORT, headroom, &memory_shape),
};
static const struct as_json_shape usable_shape = AS_SHAPE(REPORT, usable_fields);

/* ---- frequency, system ---- */

/* The governor and whether the clock may rise, each with its own reason where it is not known. */
static const char *governor(const void *object)
{
    const struct as_cpu_frequency *f = object;

    return f->governor_why ? NULL : f->governor;
}

static bool turbo_known(const void *object)
{
    return ((const struct as_cpu_frequency *)object)->turbo != AS_TURBO_UNKNOWN;
}

static bool turbo_on(const void *object)
{
    return ((const struct as_cpu_frequency *)object)->turbo == AS_TURBO_ON;
}

#define FREQUENCY struct as_cpu_frequency
static const struct as_json_field frequency_fields[] = {
    AS_FIELD_WORDS("governor", governor, NULL),
    AS_FIELD_KEY(FREQUENCY, "governor_reason", governor_why, NULL, NULL),
    AS_FIELD(FREQUENCY, governors_differ),
    {.key = "turbo", .kind = AS_FIELD_BOOL, .truth = turbo_on, .known = turbo_known},
    AS_FIELD_KEY(FREQUENCY, "turbo_reason", turbo_why, NULL, NULL),
    AS_FIELD_HELP(FREQUENCY, min_hz, "Hz", NULL),
    AS_FIELD_HELP(FREQUENCY, max_hz, "Hz", NULL),
    AS_FIELD_HELP(FREQUENCY, current_hz, "Hz", NULL),
};
static const struct as_json_shape frequency_shape = AS_SHAPE(FREQUENCY, frequency_fields);

static const struct as_json_field clock_fields[] = {
    AS_FIELD_OBJECT(TOPOLOGY, frequency, &frequency_shape),
};
static const struct as_json_shape clock_shape = AS_SHAPE(TOPOLOGY, clock_fields);

static const struct as_json_field kernel_fields[] = {
    AS_FIELD_OR(TOPOLOGY, "kernel", kernel, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "clock_source", clock_source, not_told, NULL),
    AS_FIELD_OR(TOPOLOGY, "huge_pages", huge_pages, not_told, NULL),
    AS_FIELD_KEY(TOPOLOGY, "perf_event_paranoid", paranoid, NULL, NULL),
};
static const struct as_json_shape kernel_shape = AS_SHAPE(TOPOLOGY, kernel_fields);

#define LOAD struct as_system_load
static const struct as_json_field load_fields[] = {
    AS_FIELD_KEY(LOAD, "load_1_minute", load_1, NULL, "tasks running or waiting"),
    AS_FIELD_KEY(LOAD, "load_5_minutes", load_5, NULL, NULL),
    AS_FIELD_KEY(LOAD, "load_15_minutes", load_15, NULL, NULL),
    AS_FIELD_KEY(LOAD, "runnable_tasks", runnable, NULL, NULL),
    AS_FIELD(LOAD, tasks),
};
static const struct as_json_shape load_shape = AS_SHAPE(LOAD, load_fields);

static const struct as_json_field system_fields[] = {
    AS_FIELD_INLINE(REPORT, topology, &kernel_shape),
    AS_FIELD_INLINE(REPORT, load, &load_shape),
};
static const struct as_json_shape system_shape = AS_SHAPE(REPORT, system_fields);

/* ---- peaks ---- */

/* One metric of one number of threads, as a row of its own. */
struct peak_row {
    const char *type, *level, *access;
    uint32_t threads;
    struct as_fact_real rate; /* a rate or a ridge point */
    double spread;
    const char *isa;
};
struct level_row {
    const char *level;
    struct as_fact size_bytes, walked_bytes;
};

#define SPREAD                                                                                     \
    AS_FIELD_KEY(struct peak_row, "spread_share", spread, "fraction",                              \
                 "median of the trials below the best"),                                           \
        AS_FIELD(struct peak_row, isa)

static const struct as_json_field compute_fields[] = {
    AS_FIELD(struct peak_row, type),
    AS_FIELD(struct peak_row, threads),
    AS_FIELD_KEY(struct peak_row, "operations_per_second", rate, NULL, "2 for a multiply-add"),
    SPREAD,
};
static const struct as_json_shape compute_shape = AS_SHAPE(struct peak_row, compute_fields);

static const struct as_json_field bandwidth_fields[] = {
    AS_FIELD(struct peak_row, level),
    AS_FIELD(struct peak_row, access),
    AS_FIELD(struct peak_row, threads),
    AS_FIELD_KEY(struct peak_row, "bytes_per_second", rate, "bytes/s", NULL),
    SPREAD,
};
static const struct as_json_shape bandwidth_shape = AS_SHAPE(struct peak_row, bandwidth_fields);

static const struct as_json_field ridge_fields[] = {
    AS_FIELD(struct peak_row, type),
    AS_FIELD(struct peak_row, level),
    AS_FIELD(struct peak_row, threads),
    AS_FIELD_KEY(struct peak_row, "operations_per_byte", rate, NULL, "above it, compute-bound"),
};
static const struct as_json_shape ridge_shape = AS_SHAPE(struct peak_row, ridge_fields);

static const struct as_json_field level_fields[] = {
    AS_FIELD(struct level_row, level),
    AS_FIELD(struct level_row, size_bytes),
    AS_FIELD_HELP(struct level_row, walked_bytes, "bytes", "in the measurement"),
};
static const struct as_json_shape level_shape = AS_SHAPE(struct level_row, level_fields);

static struct peak_row row_of(const struct as_peaks *p, const struct as_peak *peak, unsigned i)
{
    return (struct peak_row){.threads = p->threads[i],
                             .rate = {.value = peak->rate, .why = peak->why},
                             .spread = peak->spread,
                             .isa = peak->isa};
}

static void put_compute(struct as_json_writer *w, const void *object)
{
    const struct as_peaks *p = object;

    as_json_array(w);
    for (int type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            struct peak_row row = row_of(p, &p->compute[type][i], i);

            row.type = as_peak_type_name((enum as_peak_type)type);
            as_json_fields_write(w, &compute_shape, &row);
        }
    as_json_array_end(w);
}

static void put_levels(struct as_json_writer *w, const void *object)
{
    const struct as_peaks *p = object;

    as_json_array(w);
    for (int level = 0; level < AS_PEAK_LEVEL_COUNT; level++) {
        const struct as_peak_place *place = &p->place[level];

        as_json_fields_write(
            w, &level_shape,
            &(struct level_row){
                .level = as_peak_level_name((enum as_peak_level)level),
                .size_bytes = {place->size_bytes, place->size_bytes ? NULL : not_told},
                .walked_bytes = {place->set_bytes, place->set_bytes ? NULL : "not measured"}});
    }
    as_json_array_end(w);
}

static void put_bandwidth(struct as_json_writer *w, const void *object)
{
    const struct as_peaks *p = object;

    as_json_array(w);
    for (int at = 0; at < AS_PEAK_LEVEL_COUNT * AS_PEAK_ACCESS_COUNT; at++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            int level = at / AS_PEAK_ACCESS_COUNT, access = at % AS_PEAK_ACCESS_COUNT;
            struct peak_row row = row_of(p, &p->bandwidth[level][access][i], i);

            row.level = as_peak_level_name((enum as_peak_level)level);
            row.access = as_peak_access_name((enum as_peak_access)access);
            as_json_fields_write(w, &bandwidth_shape, &row);
        }
    as_json_array_end(w);
}

static void put_ridges(struct as_json_writer *w, const void *object)
{
    const struct as_peaks *p = object;

    as_json_array(w);
    for (int at = 0; at < AS_PEAK_TYPE_COUNT * AS_PEAK_LEVEL_COUNT; at++)
        for (unsigned i = 0; i < p->n_counts; i++) {
            enum as_peak_type type = (enum as_peak_type)(at / AS_PEAK_LEVEL_COUNT);
            enum as_peak_level level = (enum as_peak_level)(at % AS_PEAK_LEVEL_COUNT);
            double ridge = as_peak_ridge(p, type, level, p->threads[i]);

            as_json_fields_write(
                w, &ridge_shape,
                &(struct peak_row){.type = as_peak_type_name(type),
                                   .level = as_peak_level_name(level),
                                   .threads = p->threads[i],
                                   .rate = {ridge, ridge - ridge == 0
                                                       ? NULL
                                                       : "one of the two peaks is missing"}});
        }
    as_json_array_end(w);
}

static double measured_s(const void *object)
{
    return (double)((const struct as_peaks *)object)->measured_unix_ns / 1e9;
}

static double took_s(const void *object)
{
    return (double)((const struct as_peaks *)object)->took_ns / 1e9;
}

static double fma_per_cycle(const void *object)
{
    return as_peak_fma_a_cycle(object);
}

#define LIST_OF(name, function, described)                                                         \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_LIST, .item = AS_FIELD_OBJECT, .write = (function),        \
        .shape = (described)                                                                       \
    }
#define PEAKS    struct as_peaks
#define NO_CHAIN "no chain of additions is known for this CPU"
static const struct as_json_field peak_fields[] = {
    AS_FIELD_HELP(PEAKS, quick, NULL, "few trials"),
    AS_FIELD_NUMBER("measured_unix_s", measured_s, "s", NULL),
    AS_FIELD_NUMBER("took_s", took_s, "s", NULL),
    AS_FIELD_OR(PEAKS, "frequency_hz", frequency_hz, NO_CHAIN, "Hz"),
    AS_FIELD_OR(PEAKS, "frequency_under_vectors_hz", vector_hz, NO_CHAIN, "Hz"),
    {.key = "f32_vector_multiply_adds_per_cycle",
     .kind = AS_FIELD_F64,
     .number = fma_per_cycle,
     .reason = NO_CHAIN},
    AS_FIELD_KEY(PEAKS, "clock_read_ns", clock_ns, "ns", NULL),
    AS_FIELD_KEY(PEAKS, "clock_gettime_ns", gettime_ns, "ns", NULL),
    LIST_OF("compute", put_compute, &compute_shape),
    LIST_OF("levels", put_levels, &level_shape),
    LIST_OF("bandwidth", put_bandwidth, &bandwidth_shape),
    LIST_OF("ridge_points", put_ridges, &ridge_shape),
};
static const struct as_json_shape peak_shape = AS_SHAPE(PEAKS, peak_fields);

static const char *source_text(const void *object)
{
    return ((const REPORT *)object)->from_cache ? "cache" : "measured";
}

static double age_s(const void *object)
{
    const REPORT *r = object;

    return r->now_unix_ns > r->peaks->measured_unix_ns
               ? (double)(r->now_unix_ns - r->peaks->measured_unix_ns) / 1e9
               : 0;
}

static const struct as_json_field peaks_fields[] = {
    AS_FIELD_WORDS("source", source_text, "\"cache\" or \"measured\""),
    AS_FIELD(REPORT, fingerprint),
    AS_FIELD(REPORT, cache_path),
    AS_FIELD_NUMBER("age_s", age_s, "s", NULL),
    AS_FIELD_INLINE(REPORT, peaks, &peak_shape),
};
static const struct as_json_shape peaks_shape = AS_SHAPE(REPORT, peaks_fields);

/* ---- noise ---- */

#define NOISE struct as_noise
static const struct as_json_field noise_fields[] = {
    AS_FIELD_KEY(NOISE, "pairs", n_pairs, NULL, NULL),
    AS_FIELD_HELP(NOISE, kernel_ns, "ns", NULL),
    AS_FIELD(NOISE, cv),
    AS_FIELD_KEY(NOISE, "floor_median_share", median_share, "fraction", "the noise floor"),
    AS_FIELD_OR(NOISE, "floor_p95_share", p95_share, "too few pairs", "fraction"),
    AS_FIELD_HELP(NOISE, shift_share, "fraction", "0 but for chance"),
    AS_FIELD_KEY(NOISE, "difference_low_share", interval.low, "fraction", NULL),
    AS_FIELD_KEY(NOISE, "difference_high_share", interval.high, "fraction", NULL),
    AS_FIELD_KEY(NOISE, "difference_coverage", interval.coverage, "fraction", NULL),
    AS_FIELD_KEY(NOISE, "rank_test_p", p, NULL, NULL),
    AS_FIELD_HELP(NOISE, resolvable_share, "fraction", "minimum detectable difference"),
    AS_FIELD_KEY(NOISE, "switches_involuntary", events.switches_involuntary, NULL, NULL),
    AS_FIELD_KEY(NOISE, "switches_voluntary", events.switches_voluntary, NULL, NULL),
    AS_FIELD_KEY(NOISE, "minor_faults", events.minor_faults, NULL, NULL),
    AS_FIELD_KEY(NOISE, "major_faults", events.major_faults, NULL, NULL),
    AS_FIELD_KEY(NOISE, "busy_share", shares.busy, "fraction", NULL),
    AS_FIELD_KEY(NOISE, "steal_share", shares.steal, "fraction", NULL),
};
static const struct as_json_shape noise_shape = AS_SHAPE(NOISE, noise_fields);

/* ---- the document ---- */

static const struct as_json_field finding_fields[] = {
    AS_FIELD_ARRAY(struct as_fitness, findings, n, &as_finding_shape),
};
static const struct as_json_shape findings_shape = AS_SHAPE(struct as_fitness, finding_fields);

static const struct as_json_field document_fields[] = {
    AS_FIELD_BEHIND(REPORT, "cpu", topology, &cpu_shape),
    AS_FIELD_BEHIND(REPORT, "topology", topology, &topology_shape),
    AS_FIELD_PART("usable", &usable_shape),
    AS_FIELD_INLINE(REPORT, topology, &clock_shape),
    AS_FIELD_PART("system", &system_shape),
    AS_FIELD_PART("peaks", &peaks_shape),
    {.key = "noise",
     .kind = AS_FIELD_REF,
     .offset = offsetof(REPORT, noise),
     .shape = &noise_shape,
     .reason = "not measured"},
    AS_FIELD_INLINE(REPORT, fitness, &findings_shape),
};
const struct as_json_shape as_machine_document_shape = AS_SHAPE(REPORT, document_fields);
