/* report/findings/findings_text.c - the sections on memory over time, leaks and bottlenecks of a
 * run with layers. Only renders. */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/findings/findings_report.h"
#include "report/page/page.h"
#include "report/watch/watch_report.h"

#define USUAL_ROWS  10
#define SPARK_WIDTH 60
#define LEAST_P     1e-6 /* below, only that is told */

static const char *mb_text(char out[AS_TEXT_HUMAN], double mb)
{
    as_text_bytes(out, mb * AS_MIB);
    return out;
}

static size_t rows_of(size_t top, size_t n)
{
    size_t most = top ? top : USUAL_ROWS;

    return most < n ? most : n;
}

/* ---- memory ---- */

static void put_curve(struct as_page *page, const struct as_memory_curve *m)
{
    char text[4 * SPARK_WIDTH + 1], low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN], end[AS_TEXT_HUMAN];
    double least = (double)INFINITY;
    struct as_out spark;
    size_t size;

    if (m->n < 2 || as_out_memory(&spark, NULL) < 0)
        return;
    for (size_t i = 0; i < m->n; i++)
        least = m->mb[i] < least ? m->mb[i] : least;
    as_term_spark(page->term, &spark, m->mb, m->n, SPARK_WIDTH);
    snprintf(text, sizeof text, "%s", as_out_get(&spark, &size));
    as_out_drop(&spark);
    as_text_ns(end, m->seconds[m->n - 1] * 1e9, AS_TIME_AUTO);
    as_page_line(page, AS_STYLE_BAR, "%s", text);
    as_page_line(page, AS_STYLE_DIM, "from %s to %s over %s", mb_text(low, least),
                 mb_text(high, m->peak_mb), end);
}

static void put_layer_memory(struct as_page *page, const struct as_report *report)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .identity = true, .min_width = 12},
        {.title = "samples", .align = AS_ALIGN_RIGHT},
        {.title = "mean", .align = AS_ALIGN_RIGHT},
        {.title = "std", .align = AS_ALIGN_RIGHT},
        {.title = "min", .align = AS_ALIGN_RIGHT},
        {.title = "max", .align = AS_ALIGN_RIGHT},
    };
    char text[AS_TEXT_HUMAN];
    const struct as_layers *layers = report->layers;
    size_t shown = 0, most = rows_of(report->options->top, layers->n_layers);
    struct as_table t;

    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < layers->n_layers && shown < most; i++) {
        const struct as_layer_memory *m = &layers->layer[i].memory;

        if (!m->samples)
            continue;
        shown++;
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, layers->layer[i].info->name));
        as_text_count(text, m->samples);
        as_table_text(&t, AS_STYLE_NONE, text);
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, m->mean_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, m->std_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, m->min_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, m->max_mb));
    }
    if (shown)
        as_page_table(page, &t);
    else
        as_table_fini(&t);
}

static void put_memory(struct as_page *page, const struct as_report *report)
{
    const struct as_memory_curve *m = &report->view->memory;
    char baseline[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN], last[AS_TEXT_HUMAN], n[AS_TEXT_HUMAN];

    as_page_heading(page, "Memory", m->why ? NULL : m->what);
    if (m->why) {
        as_page_line(page, AS_STYLE_DIM, "unknown: %s", m->why);
        return;
    }
    as_text_count(n, m->snapshots);
    as_page_line(page, AS_STYLE_NONE, "baseline %s   peak %s   at the end %s   %s sample%s",
                 mb_text(baseline, m->baseline_mb), mb_text(peak, m->peak_mb),
                 mb_text(last, m->last_mb), n, m->snapshots == 1 ? "" : "s");
    if (m->kernel_peak_mb > m->peak_mb)
        as_page_line(page, AS_STYLE_WARN,
                     "the kernel saw a peak of %s since the process began: between the samples, or "
                     "before them",
                     mb_text(peak, m->kernel_peak_mb));
    put_curve(page, m);
    put_layer_memory(page, report);
    if (report->view->gpu_why)
        as_page_line(page, AS_STYLE_DIM, "GPU memory: not available, %s", report->view->gpu_why);
}

/* ---- leaks ---- */

static const char *p_text(char out[AS_TEXT_HUMAN], double p)
{
    if (!isfinite(p))
        return "unknown";
    if (p < LEAST_P)
        (void)snprintf(out, AS_TEXT_HUMAN, "< %.0e", LEAST_P);
    else
        (void)snprintf(out, AS_TEXT_HUMAN, "= %.2g", p);
    return out;
}

/* Seconds while they are few, then minutes, hours and days. */
static const char *lasting_text(char out[AS_TEXT_HUMAN], double seconds)
{
    if (seconds < 120)
        as_text_ns(out, seconds * 1e9, AS_TIME_S);
    else if (seconds < 7200)
        (void)snprintf(out, AS_TEXT_HUMAN, "%.1f min", seconds / 60);
    else if (seconds < 172800)
        (void)snprintf(out, AS_TEXT_HUMAN, "%.1f h", seconds / 3600);
    else
        (void)snprintf(out, AS_TEXT_HUMAN, "%.4g days", seconds / 86400);
    return out;
}

static void put_incident(struct as_page *page, const struct assay_leak_incident *i)
{
    char grown[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], step[AS_TEXT_HUMAN], left[AS_TEXT_HUMAN];
    char p[AS_TEXT_HUMAN];

    if (i->layer)
        as_page_line(page, AS_STYLE_BAD, "! %s: memory grew by %s", as_page_name(page, i->layer),
                     mb_text(grown, i->net_growth_mb));
    else
        as_page_line(page, AS_STYLE_BAD, "! memory of the process grew by %s",
                     mb_text(grown, i->net_growth_mb));
    as_page_line(page, AS_STYLE_NONE, "  %s a step, %s a second; Mann-Kendall p %s",
                 mb_text(step, i->mb_per_step), mb_text(rate, i->mb_per_second),
                 p_text(p, i->p_value));
    if (i->first_step != ASSAY_UNKNOWN)
        as_page_line(page, AS_STYLE_DIM, "  steps %llu to %llu", (unsigned long long)i->first_step,
                     (unsigned long long)i->last_step);
    if (isfinite(i->seconds_to_exhaustion))
        as_page_line(page, AS_STYLE_WARN, "  at this rate memory is used up in %s",
                     lasting_text(left, i->seconds_to_exhaustion));
}

static void put_windows(struct as_page *page, const struct as_leak_report *leaks, size_t top)
{
    static const struct as_table_column columns[] = {
        {.title = "from", .align = AS_ALIGN_RIGHT}, {.title = "to", .align = AS_ALIGN_RIGHT},
        {.title = "grew", .align = AS_ALIGN_RIGHT}, {.title = "a step", .align = AS_ALIGN_RIGHT},
        {.title = "layers", .may_shrink = true},
    };
    size_t n = rows_of(top ? top : 5, leaks->n_leaks);
    char text[AS_TEXT_HUMAN], names[256], all[AS_TEXT_HUMAN], count[AS_TEXT_HUMAN];
    struct as_table t;

    as_text_count(count, leaks->summary.leak_count);
    as_page_line(page, AS_STYLE_WARN,
                 "%s window%s of %zu samples grew by more than the threshold, %s in total "
                 "(overlapping windows count again)",
                 count, leaks->summary.leak_count == 1 ? "" : "s",
                 leaks->n_leaks ? leaks->leaks[0].window_size : 0,
                 mb_text(all, leaks->summary.total_memory_leaked_mb));
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        const struct assay_leak *l = &leaks->leaks[i];
        size_t used = 0;

        names[0] = '\0';
        for (size_t k = 0; k < l->n_layers_involved && k < 3 && used < sizeof names; k++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "",
                                     l->layers_involved[k]);
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, l->start_memory_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, l->end_memory_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, l->increase_mb));
        as_table_text(&t, AS_STYLE_NONE, mb_text(text, l->growth_rate_mb_per_step));
        as_table_text(&t, AS_STYLE_NONE, names);
    }
    as_page_table(page, &t);
}

static void put_leaks(struct as_page *page, const struct as_leak_findings *judged, size_t top)
{
    const struct as_leak_report *leaks = &judged->found;
    size_t n = rows_of(top, leaks->n_incidents);
    char outside[AS_TEXT_HUMAN];

    as_page_heading(page, "Leaks", NULL);
    if (judged->why) {
        as_page_line(page, AS_STYLE_DIM, "unknown: %s", judged->why);
        return;
    }
    if (!leaks->n_incidents)
        as_page_line(page, AS_STYLE_GOOD, "no leak detected");
    for (size_t i = 0; i < n; i++)
        put_incident(page, &leaks->incidents[i]);
    if (leaks->n_incidents > n)
        as_page_line(page, AS_STYLE_DIM, "and %zu more", leaks->n_incidents - n);
    if (leaks->outside_heap_mb > 0)
        as_page_line(page, AS_STYLE_DIM,
                     "RSS grew by %s, the heap did not: first use of pages, or fragmentation",
                     mb_text(outside, leaks->outside_heap_mb));
    if (leaks->summary.has_leaks)
        put_windows(page, leaks, top);
    else
        as_page_line(page, AS_STYLE_DIM, "no window of samples grew by more than the threshold");
    if (judged->again)
        as_page_line(page, AS_STYLE_DIM,
                     "windows judged with the given limits, from the %zu RSS samples in the file",
                     judged->again);
}

/* ---- the sections ---- */

static struct as_watch_view watched(const struct as_report *report)
{
    return (struct as_watch_view){
        .target = report->program, .findings = report->findings, .top = report->options->top};
}

int as_section_memory(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_watch_view view = watched(report);

    (void)err;
    if (report->program)
        as_watch_put_memory(&view, page);
    else
        put_memory(page, report);
    return ASSAY_OK;
}

int as_section_leaks(const struct as_report *report, struct as_page *page, struct assay_error *err)
{
    const struct as_watch_view view = watched(report);

    (void)err;
    if (report->program)
        as_watch_put_leaks(&view, page);
    else
        put_leaks(page, &report->view->leaks, report->options->top);
    return ASSAY_OK;
}

int as_section_bottlenecks(const struct as_report *report, struct as_page *page,
                           struct assay_error *err)
{
    const struct as_watch_view view = watched(report);

    (void)err;
    if (report->program)
        as_watch_put_bottlenecks(&view, page);
    if (report->view->bottlenecks_why) {
        as_page_heading(page, "Bottlenecks", NULL);
        as_page_line(page, AS_STYLE_DIM, "unknown: %s", report->view->bottlenecks_why);
    } else if (!report->program || report->layers->n_layers > 0) {
        as_bottleneck_page(page, &report->view->bottlenecks, report->options->top);
    }
    return ASSAY_OK;
}
