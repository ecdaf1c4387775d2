/* report/session/session_sections_text.c - the sections on memory, leaks and bottlenecks: of a run,
 * and all those of a session whose JSON was read back. */
#include "base/units.h"
#include "report/bottleneck/bottleneck_report.h"
#include "report/run/report.h"
#include "report/session/session_report.h"
#include "report/watch/watch_report.h"

int as_section_memory(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_watch_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_watch_put_memory(&view, page);
    else
        as_session_memory_page(page, report->view, report->options->top);
    return ASSAY_OK;
}

int as_section_leaks(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_watch_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_watch_put_leaks(&view, page);
    else
        as_session_leaks_page(page, report->view, report->options->top);
    return ASSAY_OK;
}

int as_section_bottlenecks(const struct as_report *report, struct as_page *page,
                           struct assay_error *err)
{
    const struct as_watch_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_watch_put_bottlenecks(&view, page);
    if (!report->program || report->layers->n_layers > 0)
        as_bottleneck_page(page, &report->view->bottlenecks, report->options->top);
    return ASSAY_OK;
}

/* ---- of a session's JSON ---- */

static void put_bottlenecks(struct as_page *page, const struct as_saved_profile *view, size_t top)
{
    as_bottleneck_page(page, &view->bottlenecks, top);
}

static void put_summary(struct as_page *page, const struct as_saved_profile *view, size_t top)
{
    (void)top;
    as_session_summary_page(page, view);
}

typedef void (*put_section)(struct as_page *page, const struct as_saved_profile *view, size_t top);
static const struct {
    enum as_report_section section;
    put_section print; /* NULL: the layers, which look at more of the options */
} part[] = {
    {AS_SECTION_SUMMARY, put_summary},
    {AS_SECTION_LAYERS, NULL},
    {AS_SECTION_MEMORY, as_session_memory_page},
    {AS_SECTION_LEAKS, as_session_leaks_page},
    {AS_SECTION_BOTTLENECKS, put_bottlenecks},
    {AS_SECTION_ANOMALIES, as_session_anomalies_page},
    {AS_SECTION_DISTRIBUTED, as_session_distributed_page},
    {AS_SECTION_BACKENDS, as_session_backends_page},
};

/* Without a choice, what few sessions have is shown by those alone. */
static bool is_usual(const struct as_saved_profile *view, enum as_report_section section)
{
    const struct as_view_parts *p = &view->parts;

    return !(section == AS_SECTION_ANOMALIES && p->anomalies.why) &&
           !(section == AS_SECTION_DISTRIBUTED && p->distributed.why) &&
           !(section == AS_SECTION_BACKENDS && p->backends.why);
}

int as_report_session_check(const struct as_report_options *options, struct assay_error *err)
{
    uint32_t can = 0;

    for (size_t i = 0; i < AS_COUNT_OF(part); i++)
        can |= 1u << part[i].section;
    if (options->sections && !(options->sections & can))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a session has nothing of what was asked for: its sections are summary, "
                       "layers, memory, leaks, bottlenecks, anomalies, distributed and backends");
    return as_session_layers_check(options, err);
}

int as_report_session_page(const struct as_saved_profile *view,
                           const struct as_report_options *options, struct as_out *out,
                           const struct as_term *term, struct assay_error *err)
{
    struct as_page page;
    int rc = as_report_session_check(options, err);

    if (rc < 0)
        return rc;
    as_page_open(&page, out, term, options->markdown);
    page.wide = options->wide;
    for (size_t i = 0; i < AS_COUNT_OF(part); i++) {
        if (options->sections ? !(options->sections >> part[i].section & 1)
                              : !is_usual(view, part[i].section))
            continue;
        if (part[i].print)
            part[i].print(&page, view, options->top);
        else
            as_session_layers_page(&page, view, options);
    }
    return as_page_close(&page, err);
}
