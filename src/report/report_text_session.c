/* report/report_text_session.c - the sections on memory, leaks and bottlenecks: of a run, and of a
 * session whose JSON was read back. */
#include "report/bottleneck_page.h"
#include "report/program_report.h"
#include "report/report.h"
#include "report/session_report.h"

int as_section_memory(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_program_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_program_put_memory(&view, page);
    else
        as_session_memory_page(page, report->view, report->options->top);
    return ASSAY_OK;
}

int as_section_leaks(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_program_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_program_put_leaks(&view, page);
    else
        as_session_leaks_page(page, report->view, report->options->top);
    return ASSAY_OK;
}

int as_section_bottlenecks(const struct as_report *report, struct as_page *page,
                           struct assay_error *err)
{
    const struct as_program_view view = {report->program, report->findings, report->options->top};

    (void)err;
    if (report->program)
        as_program_put_bottlenecks(&view, page);
    if (!report->program || report->layers->n_layers > 0)
        as_bottleneck_page(page, &report->view->bottlenecks, report->options->top);
    return ASSAY_OK;
}

static void put_bottlenecks(struct as_page *page, const struct as_session_view *view, size_t top)
{
    as_bottleneck_page(page, &view->bottlenecks, top);
}

static void put_summary(struct as_page *page, const struct as_session_view *view, size_t top)
{
    (void)top;
    as_session_summary_page(page, view);
}

int as_report_session_page(const struct as_session_view *view,
                           const struct as_report_options *options, struct as_out *out,
                           const struct as_term *term, struct assay_error *err)
{
    static const struct {
        enum as_report_section section;
        void (*print)(struct as_page *page, const struct as_session_view *view, size_t top);
    } part[] = {
        {AS_SECTION_SUMMARY, put_summary},           {AS_SECTION_LAYERS, as_session_layers_page},
        {AS_SECTION_MEMORY, as_session_memory_page}, {AS_SECTION_LEAKS, as_session_leaks_page},
        {AS_SECTION_BOTTLENECKS, put_bottlenecks},
    };
    struct as_page page;
    uint32_t can = 0;

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        can |= 1u << part[i].section;
    if (options->sections && !(options->sections & can))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "a session has nothing of what was asked for: its sections are summary, "
                       "layers, memory, leaks and bottlenecks");
    as_page_open(&page, out, term, options->markdown);
    page.wide = options->wide;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (!options->sections || options->sections >> part[i].section & 1)
            part[i].print(&page, view, options->top);
    }
    return as_page_close(&page, err);
}
