/* report/run/iterations_text.c - how long iterations took, in all and by sequence length.
 * One has the median and its interval, the other the nearest-rank figures of other tools. */
#include <stdio.h>

#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

static void tell_weakness(const struct as_iterations *it, struct as_page *page)
{
    char number[AS_TEXT_HUMAN], time[AS_TEXT_HUMAN];

    if (!it->times.p90_supported || !it->times.p95_supported || !it->times.p99_supported)
        as_page_line(page, AS_STYLE_DIM, "~ too few iterations: p90 needs 100, p95 200, p99 1,000");
    if (it->first.outlier) {
        as_text_ns(time, (double)it->record[0].wall_time_ns, AS_TIME_AUTO);
        as_page_line(page, AS_STYLE_WARN,
                     "the first took %s, unlike the rest: warm-up; it is included above", time);
    }
    if (it->cut) {
        as_text_count(number, it->cut);
        as_page_line(page, AS_STYLE_DIM, "%s incomplete and not counted", number);
    }
    if (it->truncated)
        as_page_line(page, AS_STYLE_WARN, "the run has more: these are the first");
}

static void put_wall(struct as_table *t, const struct as_time_column *time,
                     const struct as_call_times *w)
{
    char low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, "wall");
    as_cell_time(t, time, w->median_ns);
    as_text_scaled(low, w->ci95_low_ns, time->scale);
    as_text_scaled(high, w->ci95_high_ns, time->scale);
    as_table_printf(t, w->ci95_reached ? AS_STYLE_NONE : AS_STYLE_DIM, "%s[%s, %s]",
                    w->ci95_reached ? "" : "~", low, high);
    as_cell_tail(t, time, w->p90_ns, w->p90_supported);
    as_cell_tail(t, time, w->p95_ns, w->p95_supported);
    as_cell_tail(t, time, w->p99_ns, w->p99_supported);
    as_cell_time(t, time, w->min_ns);
    as_cell_time(t, time, w->max_ns);
    as_cell_time(t, time, w->mean_ns);
    as_cell_share(t, w->cv);
}

static void put_cpu(struct as_table *t, const struct as_time_column *time,
                    const struct assay_latency_stats *k)
{
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, "CPU");
    as_cell_time(t, time, (double)k->p50_ns);
    as_table_text(t, AS_STYLE_NONE, "-");
    as_table_text(t, AS_STYLE_NONE, "-");
    as_cell_tail(t, time, (double)k->p95_ns, k->p95_supported);
    as_cell_tail(t, time, (double)k->p99_ns, k->p99_supported);
    as_cell_time(t, time, (double)k->min_ns);
    as_cell_time(t, time, (double)k->max_ns);
    as_cell_time(t, time, k->mean_ns);
    as_table_text(t, AS_STYLE_NONE, "-");
}

int as_section_iterations(const struct as_report *report, struct as_page *page,
                          struct assay_error *err)
{
    const struct as_iterations *it = &report->layers->iterations;
    struct as_time_column time;
    struct as_table_column columns[] = {
        {.title = ""},
        as_column_time(&time, "median", it->times.max_ns, report->options->unit),
        {.title = "95 % CI", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "p90", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "p95", .align = AS_ALIGN_RIGHT},
        {.title = "p99", .align = AS_ALIGN_RIGHT},
        {.title = "min", .align = AS_ALIGN_RIGHT},
        {.title = "max", .align = AS_ALIGN_RIGHT},
        {.title = "mean", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "CV", .align = AS_ALIGN_RIGHT, .drop = 3},
    };
    char heading[64], number[AS_TEXT_HUMAN];
    struct as_table t;

    (void)err;
    if (it->n == 0)
        return ASSAY_OK;
    as_text_count(number, it->n);
    snprintf(heading, sizeof heading, "%s complete", number);
    as_page_heading(page, "Iterations", heading);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    put_wall(&t, &time, &it->times);
    if (it->kernel.n)
        put_cpu(&t, &time, &it->kernel);
    as_page_table(page, &t);
    tell_weakness(it, page);
    return ASSAY_OK;
}

/* ---- latency ---- */

static void put_stats(struct as_table *t, const struct assay_latency_stats *s, uint64_t length,
                      bool has_length, const char *which)
{
    struct as_time_column us = {.scale = {AS_TIME_US, 1}};

    as_table_row(t);
    if (has_length)
        as_cell_count(t, length);
    else
        as_table_text(t, AS_STYLE_NONE, "all");
    as_table_text(t, AS_STYLE_NONE, which);
    as_cell_count(t, s->n);
    as_cell_time(t, &us, (double)s->p50_ns);
    as_cell_tail(t, &us, (double)s->p95_ns, s->p95_supported);
    as_cell_tail(t, &us, (double)s->p99_ns, s->p99_supported);
    as_cell_time(t, &us, s->mean_ns);
    as_cell_time(t, &us, s->std_ns);
}

int as_section_latency(const struct as_report *report, struct as_page *page,
                       struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "seq_len", .align = AS_ALIGN_RIGHT}, {.title = "time"},
        {.title = "n", .align = AS_ALIGN_RIGHT},       {.title = "p50_us", .align = AS_ALIGN_RIGHT},
        {.title = "p95_us", .align = AS_ALIGN_RIGHT},  {.title = "p99_us", .align = AS_ALIGN_RIGHT},
        {.title = "mean_us", .align = AS_ALIGN_RIGHT}, {.title = "std_us", .align = AS_ALIGN_RIGHT},
    };
    const struct as_iterations *it = &report->layers->iterations;
    struct as_table t;

    (void)err;
    if (it->n == 0)
        return ASSAY_OK;
    as_page_heading(page, "Latency", "nearest-rank percentiles, population deviation");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    put_stats(&t, &it->wall, 0, false, "wall");
    if (it->kernel.n)
        put_stats(&t, &it->kernel, 0, false, "CPU");
    for (size_t i = 0; i < it->n_groups; i++) {
        put_stats(&t, &it->group[i].wall, it->group[i].seq_len, true, "wall");
        if (it->group[i].kernel.n)
            put_stats(&t, &it->group[i].kernel, it->group[i].seq_len, true, "CPU");
    }
    as_page_table(page, &t);
    if (!it->wall.p95_supported || !it->wall.p99_supported)
        as_page_line(page, AS_STYLE_DIM, "~ too few samples: p95 needs 200, p99 1,000");
    return ASSAY_OK;
}
