/* report/run/timeline_text.c - the section that lists single calls in the order they ended.
 * A taste only: the CSV has them all. */
#include "analyze/run/timeline.h"
#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

#define USUAL_CALLS 20

static const enum as_style state_style[] = {
    [AS_SPAN_OK] = AS_STYLE_NONE,       [AS_SPAN_FAILED] = AS_STYLE_BAD,
    [AS_SPAN_UNCLOSED] = AS_STYLE_WARN, [AS_SPAN_CUT] = AS_STYLE_WARN,
    [AS_SPAN_OPEN] = AS_STYLE_WARN,
};

/* The first `capacity` calls; returns how many or a negative code. */
static int take_calls(const struct as_report *report, struct as_timeline_entry *out,
                      size_t capacity, struct assay_error *err)
{
    struct as_timeline *timeline = as_timeline_new(report->run);
    size_t n = 0;
    int rc = timeline ? 1 : as_fail_nomem(err);

    while (rc > 0 && n < capacity) {
        rc = as_timeline_next(timeline, &out[n], err);
        if (rc > 0 && as_report_has_thread(report, out[n].span.thread))
            n++;
    }
    as_timeline_free(timeline);
    return rc < 0 ? rc : (int)n;
}

static double longest_of(const struct as_timeline_entry *entry, size_t n)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t ns = entry[i].span.end_ns - entry[i].span.start_ns;

        longest = ns > longest ? ns : longest;
    }
    return (double)longest;
}

/* Needs n >= 1. */
static void put_calls(const struct as_report *report, struct as_page *page,
                      const struct as_timeline_entry *entry, size_t n)
{
    const struct as_timeline_entry *last = &entry[n - 1];
    enum as_time_unit unit = report->options->unit;
    struct as_time_column at, took, sum;
    struct as_table_column columns[] = {
        as_column_time(&at, "began", (double)last->span.end_ns, unit),
        as_column_time(&took, "took", longest_of(entry, n), unit),
        as_column_time(&sum, "sum", (double)last->cumulative_ns, unit),
        {.title = "thread", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "depth", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "layer", .identity = true, .min_width = 16},
        {.title = "status"},
        {.title = "notes", .may_shrink = true, .drop = 1},
    };
    struct as_table t;
    char notes[256];

    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        const struct as_span *span = &entry[i].span;

        as_table_row(&t);
        as_cell_time(&t, &at, (double)span->start_ns);
        as_cell_time(&t, &took, (double)(span->end_ns - span->start_ns));
        as_cell_time(&t, &sum, (double)entry[i].cumulative_ns);
        as_cell_count(&t, span->thread->index);
        as_cell_count(&t, span->depth);
        as_table_text(&t, AS_STYLE_NONE,
                      as_page_name(page, as_run_site_at(report->run, span->site)->name));
        as_table_text(&t, state_style[span->state], as_span_state_name(span->state));
        as_span_notes_text(report->run, span, notes, sizeof notes);
        as_table_text(&t, AS_STYLE_DIM, as_page_name(page, notes));
    }
    as_page_table(page, &t);
}

int as_section_timeline(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    size_t capacity = as_report_rows(report, USUAL_CALLS, (size_t)report->layers->events + 1);
    struct as_timeline_entry *entry = as_arena_zero(&page->arena, capacity, sizeof *entry);
    int n;

    if (!entry)
        return as_fail_nomem(err);
    n = take_calls(report, entry, capacity, err);
    if (n < 0)
        return n;
    as_page_heading(page, "Timeline", "calls in the order they ended");
    if (n == 0) {
        as_page_line(page, AS_STYLE_NONE, "No call was recorded.");
        return ASSAY_OK;
    }
    put_calls(report, page, entry, (size_t)n);
    if ((size_t)n == capacity)
        as_page_line(page, AS_STYLE_DIM,
                     "The first %d: --top N shows more, --export-csv DIR writes them all", n);
    return ASSAY_OK;
}
