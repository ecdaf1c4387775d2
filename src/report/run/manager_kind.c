/* report/run/manager_kind.c - runs of a manager (assay/manager.h): from the run to its page, JSON
 * and CSV. */
#include "base/alloc.h"
#include "base/units.h"
#include "report/findings/findings_report.h"
#include "report/run/layer_columns.h"
#include "report/run/show.h"

struct manager {
    struct as_manager_run found;
    struct as_report_options options;
    struct as_layers *layers;
    struct as_run_findings *view;
    struct as_report report;
};

/* Those of all sections that it has. */
static const enum as_report_section section[] = {
    AS_SECTION_SUMMARY,     AS_SECTION_LAYERS,   AS_SECTION_SLOWEST,     AS_SECTION_VARIABLE,
    AS_SECTION_MEMORY,      AS_SECTION_LEAKS,    AS_SECTION_BOTTLENECKS, AS_SECTION_ANOMALIES,
    AS_SECTION_DISTRIBUTED, AS_SECTION_BACKENDS,
};

static const char *section_at(size_t i)
{
    return i < AS_COUNT_OF(section)    ? as_report_section_at(section[i])
           : i == AS_COUNT_OF(section) ? "all"
                                       : NULL;
}

static void read_options(struct as_report_options *o, const struct as_show *show)
{
    const uint32_t chosen = as_show_sections(show, section_at);

    *o = as_report_options_of(show);
    for (size_t i = 0; i < AS_COUNT_OF(section); i++)
        o->sections |= (chosen >> i & 1) << section[i];
}

static int check(const struct as_show *show, struct assay_error *err)
{
    if (show->percentile > 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--percentile needs a recorded run: a manager finds bottlenecks itself");
    if (show->thread >= 0)
        return as_fail(err, ASSAY_ERR_USAGE,
                       "--thread needs a recorded run: layers of a manager are of all threads");
    return ASSAY_OK;
}

static void close_manager(struct manager *m)
{
    as_run_findings_free(m->view);
    as_layers_free(m->layers);
}

static int analyze(struct manager *m, struct as_run *run, const struct as_show *show,
                   struct assay_error *err)
{
    struct assay_leak_detector_options leaks = {.size = sizeof(struct assay_leak_detector_options)};
    const bool limits = show->leak_threshold_mb > 0 || show->leak_window > 0;
    int rc = check(show, err);

    m->layers = NULL;
    m->view = NULL;
    read_options(&m->options, show);
    leaks.threshold_mb = show->leak_threshold_mb;
    leaks.window_size = show->leak_window;
    if (rc == ASSAY_OK)
        rc = as_manager_run_get(run, &m->found, err);
    if (rc == ASSAY_OK)
        rc = as_manager_run_layers(&m->layers, run, &m->found, err);
    if (rc == ASSAY_OK)
        rc = as_run_findings_manager(&m->view, &m->found, limits ? &leaks : NULL, err);
    m->report = (struct as_report){
        .run = run, .layers = m->layers, .options = &m->options, .view = m->view};
    if (rc < 0)
        close_manager(m);
    return rc;
}

static int verdict(const struct manager *m, const struct as_show *show, int rc)
{
    bool grows = m->view->leaks.found.summary.growing;

    return rc == ASSAY_OK && show->fail_on_leak && grows ? AS_SHOW_NOT_MET : rc;
}

static int page(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err)
{
    struct manager m;
    int rc = analyze(&m, run, show, err);

    if (rc < 0)
        return rc;
    rc = show->classic ? as_classic_text(out, &m.report, err)
                       : as_report_page(&m.report, out, term, err);
    rc = verdict(&m, show, rc);
    close_manager(&m);
    return rc;
}

/* Layers in the order asked for, as places in the manager's own list; NULL: they stay in that. */
static int order_of(const struct manager *m, const struct as_show *show, uint32_t **order,
                    struct assay_error *err)
{
    *order = NULL;
    if (!show->sort && !show->top)
        return ASSAY_OK;
    *order = as_alloc_zero(m->layers->n_layers + 1, sizeof **order);
    if (!*order)
        return as_fail_nomem(err);
    as_layers_order(m->layers, m->options.sort, *order);
    for (size_t i = 0; i < m->layers->n_layers; i++)
        (*order)[i] = m->layers->layer[(*order)[i]].site - 1;
    return ASSAY_OK;
}

static int json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err)
{
    struct manager m;
    uint32_t *order;
    int rc = analyze(&m, run, show, err);

    if (rc < 0)
        return rc;
    m.found.leaks.summary = m.view->leaks.found.summary;
    m.found.leaks.leaks = m.view->leaks.found.leaks;
    m.found.leaks.n_leaks = m.view->leaks.found.n_leaks;
    rc = order_of(&m, show, &order, err);
    if (rc == ASSAY_OK)
        as_manager_json(w, &m.found, m.options.sections, order, show->top);
    rc = verdict(&m, show, rc);
    as_free(order);
    close_manager(&m);
    return rc;
}

static int csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err)
{
    struct manager m;
    int rc = analyze(&m, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_report_csv(&m.report, to, err);
    close_manager(&m);
    return rc;
}

const struct as_run_kind as_kind_manager = {
    .name = AS_KIND_MANAGER,
    .schema_version = 2,
    .has_calls = true,
    .section_at = section_at,
    .sort_at = as_layer_sort_at,
    .column_at = as_layer_metric_name_at,
    .page = page,
    .json = json,
    .csv = csv,
};
