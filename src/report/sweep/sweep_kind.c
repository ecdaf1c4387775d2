/* report/sweep/sweep_kind.c - the run of `assay sweep`: from what was measured to a run, and from a
 * run to its page, JSON and CSV. */
#include <limits.h>
#include <stdio.h>

#include "probe/system/topology.h"
#include "report/run/show.h"
#include "report/sweep/sweep_text.h"

static const struct as_json_field limit_fields[] = {
    AS_FIELD_HELP(struct as_sweep_limits, max_latency_ns, "ns", "0: none"),
    AS_FIELD_HELP(struct as_sweep_limits, max_memory_bytes, "bytes", "0: none"),
};
static const struct as_json_shape limit_shape = AS_SHAPE(struct as_sweep_limits, limit_fields);

void as_sweep_put(struct as_run_maker *maker, const struct as_sweep_run *measured,
                  const struct as_sweep_limits *limits, const struct as_topology *topology,
                  const struct as_peaks *peaks)
{
    as_run_maker_put(maker, "topology", &as_topology_shape, topology);
    if (peaks)
        as_run_maker_put(maker, "peaks", &as_peaks_shape, peaks);
    as_run_maker_put(maker, "limits", &limit_shape, limits);
    as_sweep_run_put(measured, maker);
}

struct sweep_parts {
    struct as_topology topology;
    struct as_peaks peaks;
    struct as_sweep_limits limits;
    struct as_sweep_options options;
    struct as_sweep_run measured;
    struct as_sweep *sweep; /* freed by the caller */
    struct as_sweep_report report;
};

static int get_sweep(struct sweep_parts *s, struct as_run *run, const struct as_show *show,
                     struct assay_error *err)
{
    bool has_peaks = as_run_has(run, "peaks");
    int rc = as_run_get(run, "topology", &as_topology_shape, &s->topology, err);

    s->sweep = NULL;
    s->options = (struct as_sweep_options){.spec = NULL};
    if (rc == ASSAY_OK && has_peaks)
        rc = as_run_get(run, "peaks", &as_peaks_shape, &s->peaks, err);
    if (rc == ASSAY_OK && has_peaks && !as_peaks_valid(&s->peaks))
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s: its part \"peaks\" is malformed", run->path);
    if (rc == ASSAY_OK)
        rc = as_run_get(run, "limits", &limit_shape, &s->limits, err);
    if (rc == ASSAY_OK)
        rc = as_sweep_run_get(&s->measured, &s->options, run, err);
    if (rc == ASSAY_OK)
        rc = as_sweep_new(&s->sweep, &s->measured, has_peaks ? &s->peaks : NULL, &s->limits, err);
    s->report = (struct as_sweep_report){.sweep = s->sweep,
                                         .isa = s->topology.isa,
                                         .model = s->options.spec,
                                         .markdown = show->markdown,
                                         .wide = show->wide};
    return rc;
}

static bool is_met(const struct sweep_parts *s)
{
    return !s->sweep || s->sweep->best != SIZE_MAX ||
           !(s->limits.max_latency_ns > 0 || s->limits.max_memory_bytes > 0);
}

static int finish(struct sweep_parts *s, int rc)
{
    if (rc == ASSAY_OK && !is_met(s))
        rc = AS_SHOW_NOT_MET;
    as_sweep_free(s->sweep);
    return rc;
}

static int page(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err)
{
    struct sweep_parts s = {.sweep = NULL};
    int rc = get_sweep(&s, run, show, err);

    return finish(&s, rc < 0 ? rc : as_sweep_page(&s.report, out, term, err));
}

static int json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err)
{
    struct sweep_parts s = {.sweep = NULL};
    int rc = get_sweep(&s, run, show, err);

    if (rc == ASSAY_OK)
        as_json_fields_put(w, &as_sweep_document_shape, &s.report);
    return finish(&s, rc);
}

static int csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err)
{
    struct sweep_parts s = {.sweep = NULL};
    int rc = get_sweep(&s, run, show, err);

    if (rc == ASSAY_OK)
        rc = as_csv_target_open(to, err);
    if (rc == ASSAY_OK)
        rc = as_csv_target_put(to, "sweep.csv", as_sweep_csv, &s.report, err);
    as_sweep_free(s.sweep);
    return rc < 0 ? rc : 1;
}

static int met(struct as_run *run, const struct as_show *show, struct assay_error *err)
{
    struct sweep_parts s = {.sweep = NULL};

    return finish(&s, get_sweep(&s, run, show, err));
}

static int metrics(struct as_run *run, struct as_metrics *to, struct assay_error *err)
{
    struct as_show show = AS_SHOW_INIT;
    struct as_point_samples samples[AS_SWEEP_POINTS];
    struct sweep_parts s = {.sweep = NULL};
    int rc = get_sweep(&s, run, &show, err);

    if (rc == ASSAY_OK)
        rc = as_point_samples_get(run, samples, s.measured.n_points, err);
    for (size_t i = 0; rc == ASSAY_OK && i < s.sweep->n_rows; i++) {
        const struct as_sweep_row *row = &s.sweep->rows[i];
        struct as_metric *latency;
        char name[240];

        if (row->point->rc < 0)
            continue;
        as_sweep_setting_text(s.sweep, i, name, sizeof name);
        latency =
            as_metrics_add(to, "ns", row->point->figures.summary.median, "%s: latency p50", name);
        latency->sample_ns = samples[i].ns;
        latency->n_samples = samples[i].n;
        as_metrics_add(to, "bytes", (double)row->point->peak_bytes, "%s: peak memory", name);
        as_metrics_add(to, "/s", row->samples_per_second, "%s: samples", name);
    }
    as_sweep_free(s.sweep);
    return rc;
}

const struct as_run_kind as_kind_sweep = {.name = "sweep",
                                          .schema_version = 2,
                                          .page = page,
                                          .json = json,
                                          .csv = csv,
                                          .met = met,
                                          .metrics = metrics,
                                          .document = &as_sweep_document_shape};
