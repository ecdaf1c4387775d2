/* report/run/summary_text.c - the headline: what is wrong first, then what was recorded and what
 * it cost. Also the section on health, which tells the same at length. */
#include <stdio.h>
#include <string.h>

#include "report/page/page.h"
#include "report/run/report.h"
#include "report/run/run_health.h"
#include "report/watch/watch_report.h"
#include "trace/run/run_reader.h"

static const enum as_style level_style[] = {
    [AS_HEALTH_NOTE] = AS_STYLE_GOOD,
    [AS_HEALTH_WARN] = AS_STYLE_WARN,
    [AS_HEALTH_LOSS] = AS_STYLE_BAD,
};

static size_t put_findings(const struct as_report *report, struct as_page *page)
{
    struct as_health_finding finding[AS_MAX_FINDINGS];
    size_t n = as_health_findings(report->layers, finding);

    for (size_t i = 0; i < n; i++)
        as_page_line(page, level_style[finding[i].level], "%s%s",
                     finding[i].level == AS_HEALTH_NOTE ? "" : "! ", finding[i].text);
    return n;
}

/* Open when the recording ended: where the program was when it was killed. */
static void put_open(const struct as_report *report, struct as_page *page)
{
    const struct as_layers *layers = report->layers;
    char names[1024] = "";
    size_t used = 0;

    for (size_t i = 0; i < layers->n_layers && used < sizeof names; i++) {
        if (layers->layer[i].open)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     as_page_name(page, layers->layer[i].info->name));
    }
    if (used)
        as_page_line(page, AS_STYLE_WARN, "  open when it ended: %s", names);
}

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static void put_where(const struct as_report *report, struct as_page *page)
{
    struct as_run *run = report->run;
    const char *clock = as_run_fact_text(run, "clock.kind");
    char date[AS_TEXT_HUMAN], cpus[32] = "";
    uint64_t real_ns = run->time.real_ns;
    double n_cpus;

    /* A run without events has no clock of its own. */
    if (!real_ns && report->view && report->view->start_time > 0 && report->view->start_time < 1e10)
        real_ns = (uint64_t)(report->view->start_time * 1e9);

    if (as_run_fact_number(run, "host.cpus_online", &n_cpus))
        snprintf(cpus, sizeof cpus, ", %.0f CPU%s", n_cpus, n_cpus > 1 ? "s" : "");
    as_text_date(date, real_ns);
    as_page_line(page, AS_STYLE_DIM, "%s on %s (%s%s)%s%s", date,
                 or_dash(as_run_fact_text(run, "host.name")),
                 or_dash(as_run_fact_text(run, "host.cpu_model")), cpus, clock ? ", clock " : "",
                 clock ? clock : "");
}

static void put_totals(const struct as_report *report, struct as_page *page)
{
    const struct as_layers *layers = report->layers;
    char wall[AS_TEXT_HUMAN], calls[AS_TEXT_HUMAN], failed[AS_TEXT_HUMAN + 16] = "";
    char number[AS_TEXT_HUMAN], iterations[AS_TEXT_HUMAN + 16] = "";
    size_t n_threads = 0;

    if (layers->events == 0) {
        as_page_line(page, AS_STYLE_NONE, "nothing was recorded");
        return;
    }
    as_text_ns(wall, (double)layers->wall_ns, AS_TIME_AUTO);
    as_text_count(calls, layers->calls);
    if (layers->failed) {
        as_text_count(number, layers->failed);
        snprintf(failed, sizeof failed, " (%s failed)", number);
    }
    if (layers->iterations.n) {
        as_text_count(number, layers->iterations.n);
        snprintf(iterations, sizeof iterations, "   %s iterations", number);
    }
    for (size_t i = 0; i < layers->n_threads; i++)
        n_threads += !as_run_thread_is_ours(layers->thread[i].info);
    as_page_line(page, AS_STYLE_NONE, "%s wall   %zu thread%s   %zu layer%s   %s calls%s%s", wall,
                 n_threads, n_threads == 1 ? "" : "s", layers->n_layers,
                 layers->n_layers == 1 ? "" : "s", calls, failed, iterations);
}

static void put_cost(const struct as_report *report, struct as_page *page)
{
    const struct as_layers *layers = report->layers;
    char each[AS_TEXT_HUMAN], share[AS_TEXT_HUMAN];

    if (!layers->cost_known) {
        as_page_line(page, AS_STYLE_DIM, "recording cost unknown: the run holds no calibration");
        return;
    }
    as_text_fixed(each, layers->cost_pair_ns, layers->cost_pair_ns < 10 ? 1 : 0);
    as_text_share(share, layers->cost_share);
    if (layers->n_near_cost)
        as_page_line(
            page, AS_STYLE_DIM,
            "recording cost about %s ns a scope, %s of the time; %zu layer%s under %dx that", each,
            share, layers->n_near_cost, layers->n_near_cost == 1 ? "" : "s", AS_COST_FACTOR);
    else
        as_page_line(page, AS_STYLE_DIM, "recording cost about %s ns a scope, %s of the time", each,
                     share);
}

int as_section_summary(const struct as_report *report, struct as_page *page,
                       struct assay_error *err)
{
    const char *label = as_run_fact_text(report->run, "label");
    const char *command = as_run_fact_list(report->run, "command");

    (void)err;
    if (page->markdown)
        as_page_title(page, as_report_name(report));
    put_findings(report, page);
    put_open(report, page);
    if (!page->markdown)
        as_page_title(page, as_report_name(report));
    if (command && label && *label)
        as_page_cut_line(page, AS_STYLE_DIM, "%s", command);
    put_where(report, page);
    if (report->program && report->options->sections &&
        !(report->options->sections >> AS_SECTION_PROGRAM & 1))
        as_watch_put_summary(&(struct as_watch_view){.target = report->program,
                                                     .findings = report->findings,
                                                     .top = report->options->top},
                             page);
    if (report->program && report->layers->n_layers == 0)
        return ASSAY_OK; /* its own section tells */
    put_totals(report, page);
    if (report->layers->events)
        put_cost(report, page);
    return ASSAY_OK;
}

/* ---- health ---- */

static void put_count(struct as_table *t, const char *what, uint64_t n)
{
    char text[AS_TEXT_HUMAN];

    as_text_count(text, n);
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, what);
    as_table_text(t, AS_STYLE_NONE, text);
}

int as_section_health(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "what", .align = AS_ALIGN_LEFT},
        {.title = "count", .align = AS_ALIGN_RIGHT},
    };
    const struct as_layers *l = report->layers;
    const struct as_run_health *h = &report->run->health;
    struct as_table t;

    (void)err;
    as_page_heading(page, "Health", as_health_status(l));
    if (put_findings(report, page) == 0)
        as_page_line(page, AS_STYLE_GOOD, "Nothing is missing.");
    as_table_init(&t, columns, 2);
    put_count(&t, "events read", l->events);
    put_count(&t, "  of them from the ring", h->ring_events);
    put_count(&t, "events lost (known part)", l->lost_events);
    put_count(&t, "blocks damaged", h->damaged_blocks);
    put_count(&t, "bytes passed over", h->damaged_bytes);
    put_count(&t, "bytes of an unfinished block", h->cut_bytes);
    put_count(&t, "calls without an end", l->unclosed);
    put_count(&t, "calls truncated by a loss", l->cut);
    put_count(&t, "calls open at the end", l->open);
    put_count(&t, "ends without a begin", l->stray_ends);
    put_count(&t, "  the same after a loss", l->stray_after_loss);
    put_count(&t, "events put back in order", l->displaced);
    put_count(&t, "events with the clock backwards", l->backwards);
    put_count(&t, "calls too deep to follow", l->too_deep);
    as_page_table(page, &t);
    return ASSAY_OK;
}
