/* report/run/threads_text.c - the section on threads: what each did, and which layers it ran.
 * Threads are named by their index, as --thread takes it. */

#include "base/units.h"
#include "report/page/page.h"
#include "report/run/report.h"

#define USUAL_ROWS 20

static void put_threads(const struct as_report *report, struct as_page *page)
{
    const struct as_layers *layers = report->layers;
    struct as_time_column busy, waited;
    struct as_table_column columns[] = {
        {.title = "thread", .align = AS_ALIGN_RIGHT},
        {.title = "tid", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "name", .may_shrink = true},
        {.title = "events", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        as_column_time(&busy, "busy", (double)layers->wall_ns, report->options->unit),
        as_column_time(&waited, "waited", (double)layers->waited_ns, report->options->unit),
        {.title = "lost", .align = AS_ALIGN_RIGHT},
    };
    struct as_table t;

    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < layers->n_threads; i++) {
        const struct as_thread_summary *s = &layers->thread[i];
        char lost[AS_TEXT_HUMAN];

        as_table_row(&t);
        as_table_printf(&t, AS_STYLE_NONE, "%llu", (unsigned long long)s->info->index);
        as_table_printf(&t, AS_STYLE_NONE, "%llu", (unsigned long long)s->info->tid);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, s->info->name));
        as_cell_count(&t, s->counts.events);
        as_cell_count(&t, s->calls);
        as_cell_time(&t, &busy, (double)s->busy_ns);
        as_cell_time(&t, &waited, (double)s->waited_ns);
        as_text_count(lost, s->lost);
        as_table_printf(&t, s->lost || s->lost_unknown ? AS_STYLE_BAD : AS_STYLE_NONE, "%s%s", lost,
                        s->lost_unknown ? "+" : "");
    }
    as_page_table(page, &t);
}

static double largest_inclusive(const struct as_layers *layers)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        uint64_t ns = layers->thread_layer[i].inclusive_ns;

        largest = ns > largest ? ns : largest;
    }
    return (double)largest;
}

static double largest_call(const struct as_layers *layers)
{
    double largest = 0;

    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        double ns = layers->thread_layer[i].max_ns;

        largest = ns > largest ? ns : largest;
    }
    return largest;
}

/* The first `usual` layers of each thread: they stand by self time. */
static void put_thread_layers(const struct as_report *report, struct as_page *page)
{
    const struct as_layers *layers = report->layers;
    double largest = largest_inclusive(layers), call = largest_call(layers);
    size_t most = as_report_rows(report, USUAL_ROWS, SIZE_MAX), row = 0;
    struct as_time_column self, total, mean, max;
    struct as_table_column columns[] = {
        {.title = "thread", .align = AS_ALIGN_RIGHT},
        {.title = "layer", .identity = true, .min_width = 12},
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "failed", .align = AS_ALIGN_RIGHT, .drop = 2},
        as_column_time(&self, "self", largest, report->options->unit),
        as_column_time(&total, "total", largest, report->options->unit),
        as_column_time(&mean, "mean", call, report->options->unit),
        as_column_time(&max, "max", call, report->options->unit),
    };
    struct as_table t;

    columns[AS_COUNT_OF(columns) - 1].drop = 3;
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < layers->n_thread_layers; i++) {
        const struct as_thread_layer *l = &layers->thread_layer[i];

        row = i > 0 && layers->thread_layer[i - 1].thread == l->thread ? row + 1 : 0;
        if (row >= most)
            continue;
        as_table_row(&t);
        as_table_printf(&t, AS_STYLE_NONE, "%llu",
                        (unsigned long long)layers->thread[l->thread].info->index);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, layers->layer[l->layer].info->name));
        as_cell_count(&t, l->calls);
        as_cell_count(&t, l->failed);
        as_cell_time(&t, &self, (double)l->self_ns);
        as_cell_time(&t, &total, (double)l->inclusive_ns);
        as_cell_time(&t, &mean, l->mean_ns);
        as_cell_time(&t, &max, l->calls ? l->max_ns : AS_UNKNOWN);
    }
    as_page_table(page, &t);
}

int as_section_threads(const struct as_report *report, struct as_page *page,
                       struct assay_error *err)
{
    (void)err;
    as_page_heading(page, "Threads", NULL);
    put_threads(report, page);
    if (report->layers->n_thread_layers == 0)
        return ASSAY_OK;
    as_page_heading(page, "Layers by thread", NULL);
    put_thread_layers(report, page);
    return ASSAY_OK;
}
