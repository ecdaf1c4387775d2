/* report/run/events_text.c - the sections on messages and instant events, on spans across threads
 * and flows, and on locks. None appears when the program marked none. */
#include <stdio.h>

#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

#define USUAL_MESSAGES 10

static const struct as_run_events *events_of(const struct as_report *report)
{
    return &report->layers->events_beside;
}

static void put_messages(const struct as_report *report, struct as_page *page)
{
    const struct as_run_events *e = events_of(report);
    size_t n = as_report_rows(report, USUAL_MESSAGES, e->n_messages);
    struct as_time_column at;
    struct as_table_column columns[] = {
        as_column_time(&at, "at", (double)report->layers->last_ns, report->options->unit),
        {.title = "thread", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "message", .may_shrink = true},
    };
    char count[AS_TEXT_HUMAN], note[AS_TEXT_HUMAN + 32];
    struct as_table t;

    as_text_count(count, e->messages);
    (void)snprintf(note, sizeof note, n < e->messages ? "the last %zu of %s" : "%zu", n, count);
    as_page_heading(page, "Messages", note);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = e->n_messages - n; i < e->n_messages; i++) {
        as_table_row(&t);
        as_cell_time(&t, &at, (double)e->message[i].ns);
        as_table_printf(&t, AS_STYLE_NONE, "%llu", (unsigned long long)e->message[i].thread);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, e->message[i].text));
    }
    as_page_table(page, &t);
}

static void put_instants(const struct as_report *report, struct as_page *page)
{
    const struct as_run_events *e = events_of(report);
    struct as_time_column first, last;
    struct as_table_column columns[] = {
        {.title = "event", .may_shrink = true},
        {.title = "count", .align = AS_ALIGN_RIGHT},
        as_column_time(&first, "first at", (double)report->layers->last_ns, report->options->unit),
        as_column_time(&last, "last at", (double)report->layers->last_ns, report->options->unit),
    };
    struct as_table t;

    as_page_heading(page, "Instant events", NULL);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < e->n_instants; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, e->instant[i].info->name));
        as_cell_count(&t, e->instant[i].count);
        as_cell_time(&t, &first, (double)e->instant[i].first_ns);
        as_cell_time(&t, &last, (double)e->instant[i].last_ns);
    }
    as_page_table(page, &t);
}

int as_section_messages(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    (void)err;
    if (events_of(report)->n_messages)
        put_messages(report, page);
    if (events_of(report)->n_instants)
        put_instants(report, page);
    return ASSAY_OK;
}

static double longest(const struct as_link *link, size_t n)
{
    double ns = 0;

    for (size_t i = 0; i < n; i++)
        ns = link[i].max_ns > ns ? link[i].max_ns : ns;
    return ns;
}

static void put_links(const struct as_report *report, struct as_page *page,
                      const struct as_link *link, size_t n, bool flows)
{
    double largest = longest(link, n);
    struct as_time_column p50, p95, max;
    struct as_table_column columns[] = {
        {.title = flows ? "flow" : "span", .may_shrink = true},
        {.title = "ended", .align = AS_ALIGN_RIGHT},
        as_column_time(&p50, "p50", largest, report->options->unit),
        as_column_time(&p95, "p95", largest, report->options->unit),
        as_column_time(&max, "max", largest, report->options->unit),
        {.title = "other thread", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "open", .align = AS_ALIGN_RIGHT},
        {.title = "unbalanced", .align = AS_ALIGN_RIGHT},
        {.title = "steps", .align = AS_ALIGN_RIGHT, .drop = 2},
    };
    struct as_table t;

    as_page_heading(page, flows ? "Flows" : "Async spans", "begin to end");
    as_table_init(&t, columns, AS_COUNT_OF(columns) - !flows);
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, link[i].info->name));
        as_cell_count(&t, link[i].n);
        as_cell_time(&t, &p50, link[i].p50_ns);
        as_cell_tail(&t, &p95, link[i].p95_ns, link[i].p95_supported);
        as_cell_time(&t, &max, link[i].max_ns);
        as_cell_count(&t, link[i].crossed);
        as_cell_count(&t, link[i].open);
        as_cell_count(&t, link[i].stray + link[i].begun_again);
        if (flows)
            as_cell_count(&t, link[i].steps);
    }
    as_page_table(page, &t);
}

int as_section_async(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_run_events *e = events_of(report);
    char count[AS_TEXT_HUMAN];

    (void)err;
    if (e->n_async)
        put_links(report, page, e->async, e->n_async, false);
    if (e->n_flows)
        put_links(report, page, e->flow, e->n_flows, true);
    if (e->unfollowed) {
        as_text_count(count, e->unfollowed);
        as_page_line(page, AS_STYLE_WARN, "! too many: the last %s marks are not followed", count);
    }
    return ASSAY_OK;
}

int as_section_locks(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_run_events *e = events_of(report);
    uint64_t waited = 0, held = 0;
    struct as_time_column wait, max_wait, hold, max_hold;
    struct as_table t;

    (void)err;
    if (e->n_locks == 0)
        return ASSAY_OK;
    for (size_t i = 0; i < e->n_locks; i++) {
        waited = e->lock[i].wait_ns > waited ? e->lock[i].wait_ns : waited;
        held = e->lock[i].held_ns > held ? e->lock[i].held_ns : held;
    }
    {
        struct as_table_column columns[] = {
            {.title = "lock", .may_shrink = true},
            {.title = "taken", .align = AS_ALIGN_RIGHT},
            {.title = "contended", .align = AS_ALIGN_RIGHT},
            {.title = "share", .align = AS_ALIGN_RIGHT, .drop = 1},
            as_column_time(&wait, "wait", (double)waited, report->options->unit),
            as_column_time(&max_wait, "max wait", (double)waited, report->options->unit),
            as_column_time(&hold, "held", (double)held, report->options->unit),
            as_column_time(&max_hold, "max held", (double)held, report->options->unit),
            {.title = "threads", .align = AS_ALIGN_RIGHT, .drop = 2},
            {.title = "open", .align = AS_ALIGN_RIGHT, .drop = 3},
        };

        as_page_heading(page, "Locks", "waits and holds are sums over all threads");
        as_table_init(&t, columns, AS_COUNT_OF(columns));
        for (size_t i = 0; i < e->n_locks; i++) {
            const struct as_lock *l = &e->lock[i];

            as_table_row(&t);
            as_table_text(&t, AS_STYLE_NONE, as_page_name(page, l->info->name));
            as_cell_count(&t, l->acquisitions);
            as_cell_count(&t, l->contended);
            as_cell_share(&t, l->acquisitions ? (double)l->contended / (double)l->acquisitions
                                              : AS_UNKNOWN);
            as_cell_time(&t, &wait, (double)l->wait_ns);
            as_cell_time(&t, &max_wait, (double)l->max_wait_ns);
            as_cell_time(&t, &hold, (double)l->held_ns);
            as_cell_time(&t, &max_hold, (double)l->max_held_ns);
            as_cell_count(&t, l->n_threads);
            as_cell_count(&t, l->open + l->given_up);
        }
        as_page_table(page, &t);
    }
    if (e->stray_locks)
        as_page_line(page, AS_STYLE_WARN, "! %llu locks were given back without having been taken",
                     (unsigned long long)e->stray_locks);
    return ASSAY_OK;
}
