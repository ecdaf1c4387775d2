/* report/findings/classic_text.c - the documented report of a run: 80 columns of plain
 * text. Only renders; what is not known is said in words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/text.h"
#include "report/findings/findings_report.h"

#define WIDTH 80
#define USUAL 5
#define MOST  100 /* lists are shorter: their numbers have two digits */

static void rule(struct as_out *out, char c)
{
    char line[WIDTH + 1];

    memset(line, c, WIDTH);
    line[WIDTH] = '\n';
    as_out_put(out, line, sizeof line);
}

static void heading(struct as_out *out, const char *text)
{
    as_out_char(out, '\n');
    as_out_text(out, text);
    as_out_char(out, '\n');
    rule(out, '-');
}

/* Text from outside, on one line, cut to what 80 columns leave. */
static const char *plain(char *to, size_t capacity, const char *text, size_t columns)
{
    size_t used = 0;

    for (; *text && used + 1 < capacity && used < columns; text++)
        to[used++] = (char)(*text >= ' ' && *text < 127 ? *text : '?');
    if (*text && used > 3)
        memcpy(to + used - 3, "...", 3);
    to[used] = '\0';
    return to;
}

/* A number in at most 14 columns: one from a file may be any. */
static const char *figure(char out[AS_TEXT_FLOAT], double value, unsigned decimals)
{
    size_t size = as_text_fixed(out, value, decimals);

    if (size == 0)
        (void)snprintf(out, AS_TEXT_FLOAT, "-");
    else if (size > 14)
        (void)snprintf(out, AS_TEXT_FLOAT, "%.4g", value);
    return out;
}

static void put_mb(struct as_out *out, const char *what, double mb)
{
    char number[AS_TEXT_FLOAT];

    if (isfinite(mb))
        as_out_printf(out, "  %-24s %s MB\n", what, figure(number, mb, 2));
    else
        as_out_printf(out, "  %-24s unknown\n", what);
}

static void put_layers(struct as_out *out, const struct as_report *report)
{
    const struct as_layers *layers = report->layers;
    char number[AS_TEXT_FLOAT];

    heading(out, "LAYER PROFILING");
    if (report->view->program_verdict && !layers->n_layers) {
        as_out_text(out, "  No layers were marked\n");
        return;
    }
    as_out_printf(out, "  %-24s %zu\n", "Total layers", layers->n_layers);
    as_out_printf(out, "  %-24s %s ms\n", "Total time",
                  figure(number, (double)as_layers_total_ns(layers) / 1e6, 3));
    as_out_printf(out, "  %-24s %llu\n", "Total calls", (unsigned long long)layers->calls);
    if (layers->failed)
        as_out_printf(out, "  %-24s %llu\n", "Failed calls", (unsigned long long)layers->failed);
    if (layers->n_layers)
        as_out_printf(out, "\n  Slowest layers, mean of a call:\n");
}

/* The documented order is by mean time; those without one are left out. */
static int put_slowest(struct as_out *out, const struct as_layers *layers, size_t top,
                       struct assay_error *err)
{
    uint32_t *order = as_alloc_zero(layers->n_layers + 1, sizeof *order);
    char name[WIDTH + 1], number[AS_TEXT_FLOAT];

    if (!order)
        return as_fail_nomem(err);
    as_layers_order(layers, AS_SORT_MEAN, order);
    for (size_t n = 0; n < top && n < layers->n_layers; n++) {
        const struct as_layer *layer = &layers->layer[order[n]];

        if (isfinite(layer->times.mean_ns))
            as_out_printf(out, "  %2zu. %-52s %14s ms\n", n + 1,
                          plain(name, sizeof name, layer->info->name, 52),
                          figure(number, layer->times.mean_ns / 1e6, 3));
    }
    as_free(order);
    return ASSAY_OK;
}

static void put_memory(struct as_out *out, const struct as_run_findings *view)
{
    char why[WIDTH + 1];

    heading(out, "MEMORY PROFILING");
    if (view->memory.why) {
        as_out_printf(out, "  Not known: %s\n", plain(why, sizeof why, view->memory.why, 66));
        return;
    }
    put_mb(out, "Peak memory", view->memory.peak_mb);
    if (view->memory.kernel_peak_mb > view->memory.peak_mb)
        put_mb(out, "Peak RSS (kernel)", view->memory.kernel_peak_mb);
    put_mb(out, "Baseline memory", view->memory.baseline_mb);
}

/* A sentence over as many lines as it takes, broken at blanks. */
static void put_words(struct as_out *out, const char *text)
{
    size_t used = 0;

    as_out_char(out, '\n');
    while (*text) {
        char word[WIDTH + 1];
        size_t size = strcspn(text, " ");

        if (used && used + 1 + size > WIDTH - 2) {
            as_out_char(out, '\n');
            used = 0;
        }
        as_out_text(out, used ? " " : "  ");
        (void)snprintf(word, sizeof word, "%.*s", (int)(size < WIDTH - 2 ? size : WIDTH - 2), text);
        as_out_text(out, word);
        used += size + 1;
        text += size;
        text += *text == ' ';
    }
    as_out_char(out, '\n');
}

static void put_leaks(struct as_out *out, const struct as_run_findings *view)
{
    const struct assay_leak_summary *s = &view->leaks.found.summary;
    char number[AS_TEXT_FLOAT];

    if (view->program_verdict)
        put_words(out, view->program_verdict);
    if (view->leaks.why)
        return;
    if (s->has_leaks)
        as_out_printf(out, "\n  WARNING: %zu potential leak%s, %s MB in total\n", s->leak_count,
                      s->leak_count == 1 ? "" : "s", figure(number, s->total_memory_leaked_mb, 2));
    if (s->growing)
        as_out_printf(out, "  WARNING: memory grows steadily (%zu trend%s)\n", s->n_incidents,
                      s->n_incidents == 1 ? "" : "s");
}

static void put_bottlenecks(struct as_out *out, const struct as_report *report, size_t top)
{
    const struct assay_bottleneck_result *b = &report->view->bottlenecks;
    char name[WIDTH + 1], percent[AS_TEXT_FLOAT];

    heading(out, "BOTTLENECKS");
    if (report->view->program_verdict && !report->layers->n_layers) {
        as_out_text(out, "  Not applicable to layers: none were marked\n");
        return;
    }
    as_out_printf(out, "  %-24s %zu\n", "Total bottlenecks", b->summary.total_bottlenecks);
    as_out_printf(out, "  %-24s %zu\n", "Critical bottlenecks", b->summary.critical_bottlenecks);
    if (b->n_bottlenecks)
        as_out_printf(out, "\n  Top bottlenecks:\n");
    for (size_t i = 0; i < b->n_bottlenecks && i < top; i++) {
        as_out_printf(out, "  %2zu. %-48s %10s %% overhead\n", i + 1,
                      plain(name, sizeof name, b->bottlenecks[i].layer, 48),
                      figure(percent, b->bottlenecks[i].overhead_percentage, 1));
    }
}

static void put_recommendations(struct as_out *out, const struct as_run_findings *view, size_t top)
{
    const struct assay_bottleneck_result *b = &view->bottlenecks;
    static const char *const tag[] = {"[LOW]", "[MEDIUM]", "[HIGH]"};
    char name[WIDTH + 1], text[WIDTH + 1];

    if (!b->n_recommendations)
        return;
    heading(out, "RECOMMENDATIONS");
    for (size_t i = 0; i < b->n_recommendations && i < top; i++) {
        const struct assay_recommendation *r = &b->recommendations[i];

        as_out_printf(out, "  %2zu. %-8s %s\n", i + 1, tag[r->priority],
                      plain(name, sizeof name, r->layer, 60));
        as_out_printf(out, "      %s\n", plain(text, sizeof text, r->recommendation, 72));
    }
}

int as_classic_text(struct as_out *out, const struct as_report *report, struct assay_error *err)
{
    const struct as_run_findings *view = report->view;
    const size_t top = report->options->top;
    const size_t rows = !top ? USUAL : top < MOST ? top : MOST - 1;
    char number[AS_TEXT_FLOAT], why[WIDTH + 1];
    int rc;

    rule(out, '=');
    as_out_printf(out, "%*s\n", (WIDTH + 16) / 2, "PROFILING REPORT");
    rule(out, '=');
    if (isfinite(view->duration_seconds))
        as_out_printf(out, "\nSession duration: %s seconds\n",
                      figure(number, view->duration_seconds, 3));
    else
        as_out_text(out, "\nSession duration: unknown\n");
    put_layers(out, report);
    rc = put_slowest(out, report->layers, rows, err);
    put_memory(out, view);
    put_leaks(out, view);
    put_bottlenecks(out, report, rows);
    put_recommendations(out, view, rows);
    heading(out, "GPU UTILIZATION");
    as_out_printf(out, "  Not available: %s\n",
                  plain(why, sizeof why, view->gpu_why ? view->gpu_why : "", 62));
    as_out_char(out, '\n');
    rule(out, '=');
    return rc;
}
