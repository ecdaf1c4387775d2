/* report/watch/watch_sections_text.c - the sections of a run of `assay run`: the program, its
 * processes, its heap, its matrix products. */
#include "report/run/report.h"
#include "report/watch/watch_report.h"

typedef void (*put_fn)(const struct as_watch_view *view, struct as_page *page);

/* Of another run the sections are empty, and said to be so when they were asked for. */
static int put(const struct as_report *report, struct as_page *page, enum as_report_section section,
               put_fn print)
{
    const struct as_watch_view view = {
        .target = report->program, .findings = report->findings, .top = report->options->top};

    if (report->program)
        print(&view, page);
    else if (report->options->sections && report->options->sections >> section & 1)
        as_page_line(page, AS_STYLE_DIM, "%s: only runs of 'assay run' have it",
                     as_report_section_at(section));
    return ASSAY_OK;
}

int as_section_program(const struct as_report *report, struct as_page *page,
                       struct assay_error *err)
{
    const struct as_watch_view view = {
        .target = report->program, .findings = report->findings, .top = report->options->top};
    int rc = put(report, page, AS_SECTION_PROGRAM, as_watch_put_summary);

    (void)err;
    if (report->program)
        as_watch_put_cost(&view, page);
    return rc;
}

int as_section_processes(const struct as_report *report, struct as_page *page,
                         struct assay_error *err)
{
    (void)err;
    return put(report, page, AS_SECTION_PROCESSES, as_watch_put_processes);
}

int as_section_heap(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    (void)err;
    return put(report, page, AS_SECTION_HEAP, as_watch_put_heap);
}

int as_section_products(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    (void)err;
    return put(report, page, AS_SECTION_PRODUCTS, as_watch_put_gemm);
}

void as_section_brief(const struct as_report *report, struct as_page *page)
{
    const struct as_watch_view view = {
        .target = report->program, .findings = report->findings, .brief = true};

    as_watch_put_brief(&view, page);
}
