/* report/run/trace_kind.c - runs of scopes in a program, and of programs that `assay run` watched:
 * from the run to its page, JSON and CSV. */
#include <string.h>
#include <sys/utsname.h>

#include "base/units.h"
#include "report/findings/findings_report.h"
#include "report/run/layer_columns.h"
#include "report/run/report.h"
#include "report/run/show.h"

/* All that is found out about a run. */
struct trace {
    struct as_report_options options;
    struct as_layers *layers;
    struct as_run_findings *view;
    struct as_target *program;
    struct as_target_findings *findings;
    struct as_peaks own;          /* of the run */
    const struct as_peaks *peaks; /* NULL: not known */
    struct as_report report;
};

/* All but those of a manager. */
static const char *section_at(size_t i)
{
    return i < AS_SECTION_ANOMALIES
               ? as_report_section_at(i)
               : as_report_section_at(i - AS_SECTION_ANOMALIES + AS_SECTION_COUNT);
}

/* Peaks are a machine's: a run of another one has none here. */
static bool is_of_here(struct as_run *run)
{
    const char *host = as_run_fact_text(run, "host.name");
    struct utsname here;

    return host && uname(&here) == 0 && strcmp(here.nodename, host) == 0;
}

/* Those that the run holds, which were this machine's when it was measured. */
static int find_peaks(struct trace *t, struct as_run *run, const struct as_show *show,
                      struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (as_run_has(run, "peaks")) {
        rc = as_run_get(run, "peaks", &as_peaks_shape, &t->own, err);
        if (rc == ASSAY_OK && as_peaks_valid(&t->own))
            t->peaks = &t->own;
    } else if (show->peaks && strcmp(as_run_kind(run), "trace") == 0 && is_of_here(run)) {
        t->peaks = show->peaks;
    }
    return rc;
}

static int make_view(struct trace *t, struct as_run *run, const struct as_show *show,
                     struct assay_error *err)
{
    struct assay_bottleneck_analyzer_options bottlenecks = {
        .size = sizeof(struct assay_bottleneck_analyzer_options)};
    struct assay_leak_detector_options leaks = {.size = sizeof(struct assay_leak_detector_options)};
    struct as_findings_options how = {&bottlenecks, &leaks, t->peaks};

    bottlenecks.threshold_percentile = show->percentile;
    leaks.threshold_mb = show->leak_threshold_mb;
    leaks.window_size = show->leak_window;
    return as_run_findings_new(&t->view, run, t->layers, &how, err);
}

static int take_program(struct trace *t, struct as_run *run, struct assay_error *err)
{
    int rc;

    if (!as_target_in_run(run))
        return ASSAY_OK;
    rc = as_target_analyze(&t->program, run, err);
    if (rc == ASSAY_ERR_NOTFOUND)
        return ASSAY_OK; /* damaged: its layers and series are shown all the same */
    if (rc < 0)
        return rc;
    t->program->peaks = t->peaks;
    return as_target_findings_new(&t->findings, t->program, err);
}

static void close_trace(struct trace *t)
{
    as_target_findings_free(t->findings);
    as_target_free(t->program);
    as_run_findings_free(t->view);
    as_layers_free(t->layers);
}

static int analyze(struct trace *t, struct as_run *run, const struct as_show *show,
                   struct assay_error *err)
{
    struct as_layers_options how = AS_LAYERS_OPTIONS_INIT;
    int rc;

    *t = (struct trace){.view = NULL};
    t->options = as_report_options_of(show);
    t->options.sections = as_show_sections(show, section_at);
    how.thread = show->thread;
    rc = as_layers_analyze(&t->layers, run, &how, err);
    if (rc == ASSAY_ERR_NOTFOUND)
        rc = ASSAY_ERR_USAGE; /* the thread asked for */
    if (rc == ASSAY_OK)
        rc = find_peaks(t, run, show, err);
    if (rc == ASSAY_OK)
        rc = take_program(t, run, err);
    if (rc == ASSAY_OK && (show->classic || show->fail_on_leak || t->program ||
                           (t->options.sections & AS_SECTIONS_OF_VIEW)))
        rc = make_view(t, run, show, err);
    if (t->view && t->findings)
        t->view->program_verdict = t->findings->headline;
    t->report = (struct as_report){.run = run,
                                   .layers = t->layers,
                                   .options = &t->options,
                                   .view = t->view,
                                   .program = t->program,
                                   .findings = t->findings};
    if (rc < 0)
        close_trace(t);
    return rc;
}

static int verdict(const struct trace *t, const struct as_show *show, int rc)
{
    bool grows = t->findings ? t->findings->verdict == AS_GROWTH_FOUND
                             : t->view && t->view->leaks.found.summary.growing;

    return rc == ASSAY_OK && show->fail_on_leak && grows ? AS_SHOW_NOT_MET : rc;
}

static int page(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err)
{
    struct trace t;
    int rc = analyze(&t, run, show, err);

    if (rc < 0)
        return rc;
    if (show->classic)
        rc = as_classic_text(out, &t.report, err);
    else
        rc = as_report_page(&t.report, out, term, err);
    rc = verdict(&t, show, rc);
    close_trace(&t);
    return rc;
}

static int json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err)
{
    struct trace t;
    int rc = analyze(&t, run, show, err);

    if (rc < 0)
        return rc;
    rc = verdict(&t, show, as_report_json(&t.report, w, err));
    close_trace(&t);
    return rc;
}

static int csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err)
{
    struct trace t;
    int rc = analyze(&t, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_report_csv(&t.report, to, err);
    close_trace(&t);
    return rc;
}

const struct as_run_kind as_kind_trace = {
    .name = "trace",
    .schema_version = 2,
    .has_calls = true,
    .section_at = section_at,
    .sort_at = as_layer_sort_at,
    .column_at = as_layer_metric_name_at,
    .page = page,
    .json = json,
    .csv = csv,
};

/* What `assay run` saw, with layers where the program marked some. */
const struct as_run_kind as_kind_watch = {
    .name = "watch",
    .schema_version = 2,
    .has_calls = true,
    .section_at = as_report_section_at,
    .sort_at = as_layer_sort_at,
    .column_at = as_layer_metric_name_at,
    .page = page,
    .json = json,
    .csv = csv,
};
