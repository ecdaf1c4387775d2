/* report/machine/machine_kind.c - the runs of `assay machine`: the machine itself, its operations,
 * the cost of measuring on it. From what was measured to a run, and from a run to its forms. */
#include "report/machine/machine_report.h"
#include "report/run/show.h"

/* What of the report is neither measured nor found: where the peaks come from. */
static const struct as_json_field origin_fields[] = {
    AS_FIELD(struct as_machine_report, fingerprint),
    AS_FIELD(struct as_machine_report, from_cache),
    AS_FIELD_HELP(struct as_machine_report, now_unix_ns, "ns", "when the run was made"),
    AS_FIELD(struct as_machine_report, cache_path),
};
static const struct as_json_shape origin_shape = AS_SHAPE(struct as_machine_report, origin_fields);

static int get_peaks(struct as_run *run, struct as_peaks *peaks, struct assay_error *err)
{
    int rc = as_run_get(run, "peaks", &as_peaks_shape, peaks, err);

    if (rc == ASSAY_OK && !as_peaks_valid(peaks))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its part \"peaks\" is malformed", run->path);
    return rc;
}

/* ---- the machine ---- */

void as_machine_put(struct as_run_maker *maker, const struct as_machine_report *r)
{
    as_run_maker_put(maker, "topology", &as_topology_shape, r->topology);
    as_run_maker_put(maker, "load", &as_system_load_shape, r->load);
    as_run_maker_put(maker, "headroom", &as_memory_headroom_shape, r->headroom);
    as_run_maker_put(maker, "peaks", &as_peaks_shape, r->peaks);
    as_run_maker_put(maker, "noise", &as_noise_shape, r->noise);
    as_run_maker_put(maker, "origin", &origin_shape, r);
}

struct machine_parts {
    struct as_topology topology;
    struct as_system_load load;
    struct as_memory_headroom headroom;
    struct as_peaks peaks;
    struct as_noise noise;
    struct as_fitness fitness;
    struct as_machine_report report;
};

static int get_machine(struct machine_parts *m, struct as_run *run, const struct as_show *show,
                       struct assay_error *err)
{
    int rc = as_run_get(run, "topology", &as_topology_shape, &m->topology, err);

    if (rc == ASSAY_OK)
        rc = as_run_get(run, "load", &as_system_load_shape, &m->load, err);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "headroom", &as_memory_headroom_shape, &m->headroom, err);
    if (rc == ASSAY_OK)
        rc = get_peaks(run, &m->peaks, err);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "noise", &as_noise_shape, &m->noise, err);
    m->report = (struct as_machine_report){.markdown = false};
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "origin", &origin_shape, &m->report, err);
    if (rc < 0)
        return rc;
    as_fitness_judge(&m->fitness, &(struct as_fitness_facts){.topology = &m->topology,
                                                             .load = &m->load,
                                                             .headroom = &m->headroom,
                                                             .noise = &m->noise,
                                                             .peaks = &m->peaks});
    m->report.topology = &m->topology;
    m->report.load = &m->load;
    m->report.headroom = &m->headroom;
    m->report.peaks = &m->peaks;
    m->report.noise = &m->noise;
    m->report.fitness = &m->fitness;
    m->report.markdown = show->markdown;
    return ASSAY_OK;
}

static int machine_page(struct as_run *run, const struct as_show *show, struct as_out *out,
                        const struct as_term *term, struct assay_error *err)
{
    struct machine_parts m;
    int rc = get_machine(&m, run, show, err);

    return rc < 0 ? rc : as_machine_page(&m.report, out, term, err);
}

static int machine_json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                        struct assay_error *err)
{
    struct machine_parts m;
    int rc = get_machine(&m, run, show, err);

    if (rc == ASSAY_OK)
        as_json_fields_put(w, &as_machine_document_shape, &m.report);
    return rc;
}

static void add_peaks(struct as_metrics *to, const struct as_peaks *p, unsigned at)
{
    static const char *const unit[] = {
#define X(name, key, unit) unit "/s",
        AS_PEAK_TYPES(X)
#undef X
    };

    for (unsigned type = 0; type < AS_PEAK_TYPE_COUNT; type++)
        as_metrics_add(to, unit[type], p->compute[type][at].rate, "peak %s, threads %u",
                       as_peak_type_name(type), p->threads[at]);
    for (unsigned level = 0; level < AS_PEAK_LEVEL_COUNT; level++)
        for (unsigned access = 0; access < AS_PEAK_ACCESS_COUNT; access++)
            as_metrics_add(to, "B/s", p->bandwidth[level][access][at].rate, "%s %s, threads %u",
                           as_peak_level_name(level), as_peak_access_name(access), p->threads[at]);
}

static int machine_metrics(struct as_run *run, struct as_metrics *to, struct assay_error *err)
{
    struct as_show show = AS_SHOW_INIT;
    struct machine_parts m;
    int rc = get_machine(&m, run, &show, err);

    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < m.peaks.n_counts; i++)
        add_peaks(to, &m.peaks, i);
    as_metrics_add(to, "Hz", m.peaks.frequency_hz, "frequency");
    as_metrics_add(to, "Hz", m.peaks.vector_hz, "frequency under vectors");
    as_metrics_add(to, "ns", m.peaks.clock_ns, "reading the counter");
    as_metrics_add(to, "ns", m.peaks.gettime_ns, "reading the system's clock");
    as_metrics_add(to, "ns", m.noise.kernel_ns, "noise: the kernel timed");
    as_metrics_add(to, "share", m.noise.cv, "noise: coefficient of variation");
    as_metrics_add(to, "share", m.noise.median_share, "noise: floor");
    as_metrics_add(to, "share", m.noise.p95_share, "noise: of 95 %% of the pairs");
    as_metrics_add(to, "share", m.noise.resolvable_share, "noise: minimum detectable difference");
    return ASSAY_OK;
}

const struct as_run_kind as_kind_machine = {.name = "machine",
                                            .schema_version = 2,
                                            .page = machine_page,
                                            .json = machine_json,
                                            .metrics = machine_metrics,
                                            .document = &as_machine_document_shape};

/* ---- operations ---- */

void as_operations_put(struct as_run_maker *maker, const struct as_topology *topology,
                       const struct as_peaks *peaks, const struct as_operation_run *measured)
{
    as_run_maker_put(maker, "topology", &as_topology_shape, topology);
    as_run_maker_put(maker, "peaks", &as_peaks_shape, peaks);
    as_run_maker_put(maker, "operations", &as_operation_run_shape, measured);
    for (size_t i = 0; i < AS_OPERATION_COUNT; i++)
        as_point_samples_put(maker, i, measured->points[i].samples_ns,
                             measured->points[i].n_samples);
}

struct operation_parts {
    struct as_topology topology;
    struct as_peaks peaks;
    struct as_operation_run measured;
    struct as_operations operations;
    struct as_operations_report report;
};

static int get_operations(struct operation_parts *o, struct as_run *run, const struct as_show *show,
                          struct assay_error *err)
{
    int rc = as_run_get(run, "topology", &as_topology_shape, &o->topology, err);
    bool sound = true;

    if (rc == ASSAY_OK)
        rc = get_peaks(run, &o->peaks, err);
    o->measured = (struct as_operation_run){.size = 0};
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "operations", &as_operation_run_shape, &o->measured, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < AS_OPERATION_COUNT; i++) {
        struct as_operation_point *point = &o->measured.points[i];

        sound = sound && point->operation == (enum as_operation)i;
        if (point->executed_flops == 0) /* of before there was this count */
            point->executed_flops = point->flops;
    }
    if (!sound)
        return as_fail(err, ASSAY_ERR_FORMAT, "%s: its operations are inconsistent", run->path);
    as_operations_judge(&o->operations, &o->measured, &o->peaks);
    o->report = (struct as_operations_report){.operations = &o->operations,
                                              .topology = &o->topology,
                                              .peaks = &o->peaks,
                                              .markdown = show->markdown};
    return ASSAY_OK;
}

static int operations_page(struct as_run *run, const struct as_show *show, struct as_out *out,
                           const struct as_term *term, struct assay_error *err)
{
    struct operation_parts o;
    int rc = get_operations(&o, run, show, err);

    return rc < 0 ? rc : as_operations_page(&o.report, out, term, err);
}

static int operations_json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                           struct assay_error *err)
{
    struct operation_parts o;
    int rc = get_operations(&o, run, show, err);

    if (rc == ASSAY_OK)
        as_json_fields_put(w, &as_operations_document_shape, &o.report);
    return rc;
}

static int operations_metrics(struct as_run *run, struct as_metrics *to, struct assay_error *err)
{
    struct as_show show = AS_SHOW_INIT;
    struct as_point_samples samples[AS_OPERATION_COUNT];
    struct operation_parts o;
    int rc = get_operations(&o, run, &show, err);

    if (rc == ASSAY_OK)
        rc = as_point_samples_get(run, samples, AS_OPERATION_COUNT, err);
    for (unsigned i = 0; rc == ASSAY_OK && i < AS_OPERATION_COUNT; i++) {
        const struct as_operation_row *row = &o.operations.rows[i];
        struct as_metric *latency = as_metrics_add(to, "ns", row->latency_ns, "%s: latency p50",
                                                   as_operation_key(row->point->operation));

        latency->sample_ns = samples[i].ns;
        latency->n_samples = samples[i].n;
        if (row->gflops_per_second > 0)
            as_metrics_add(to, "FLOP/s", row->gflops_per_second * 1e9, "%s: rate",
                           as_operation_key(row->point->operation));
    }
    if (rc == ASSAY_OK)
        as_metrics_add(to, "ns", o.measured.call.figures.summary.median, "the call alone");
    return rc;
}

const struct as_run_kind as_kind_operations = {.name = "operations",
                                               .schema_version = 2,
                                               .page = operations_page,
                                               .json = operations_json,
                                               .metrics = operations_metrics,
                                               .document = &as_operations_document_shape};

/* ---- overhead ---- */

void as_overhead_put(struct as_run_maker *maker, const struct as_topology *topology,
                     const struct as_overhead_run *measured)
{
    as_run_maker_put(maker, "topology", &as_topology_shape, topology);
    as_run_maker_put(maker, "overhead", &as_overhead_run_shape, measured);
}

struct overhead_parts {
    struct as_topology topology;
    struct as_overhead_run measured;
    struct as_overhead overhead;
    struct as_overhead_report report;
};

static int get_overhead(struct overhead_parts *o, struct as_run *run, const struct as_show *show,
                        struct assay_error *err)
{
    int rc = as_run_get(run, "topology", &as_topology_shape, &o->topology, err);

    if (rc == ASSAY_OK)
        rc = as_run_get(run, "overhead", &as_overhead_run_shape, &o->measured, err);
    if (rc < 0)
        return rc;
    as_overhead_judge(&o->overhead, &o->measured);
    o->report = (struct as_overhead_report){
        .overhead = &o->overhead, .topology = &o->topology, .markdown = show->markdown};
    return ASSAY_OK;
}

static int overhead_page(struct as_run *run, const struct as_show *show, struct as_out *out,
                         const struct as_term *term, struct assay_error *err)
{
    struct overhead_parts o;
    int rc = get_overhead(&o, run, show, err);

    return rc < 0 ? rc : as_overhead_page(&o.report, out, term, err);
}

static int overhead_json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                         struct assay_error *err)
{
    struct overhead_parts o;
    int rc = get_overhead(&o, run, show, err);

    if (rc == ASSAY_OK)
        as_json_fields_put(w, &as_overhead_document_shape, &o.report);
    return rc;
}

static int overhead_metrics(struct as_run *run, struct as_metrics *to, struct assay_error *err)
{
    struct as_show show = AS_SHOW_INIT;
    struct overhead_parts o;
    int rc = get_overhead(&o, run, &show, err);

    for (unsigned i = 0; rc == ASSAY_OK && i < AS_PROBE_COUNT; i++)
        if (o.measured.probes[i].known)
            as_metrics_add(to, "ns", o.measured.probes[i].ns, "%s", as_probe_key(i));
    for (unsigned i = 0; rc == ASSAY_OK && i < AS_OVERHEAD_COUNT; i++)
        if (o.measured.pairs[i].known)
            as_metrics_add(to, "ratio", o.measured.pairs[i].factor, "%s: factor",
                           as_overhead_key(i));
    return rc;
}

const struct as_run_kind as_kind_overhead = {.name = "overhead",
                                             .schema_version = 2,
                                             .page = overhead_page,
                                             .json = overhead_json,
                                             .metrics = overhead_metrics,
                                             .document = &as_overhead_document_shape};
