/* report/bottleneck/bottleneck_text.c - a bottleneck analysis on a page, for people.
 * Only renders; what had to be left out for want of memory is told by as_page_close(). */
#include "report/bottleneck/bottleneck_report.h"

#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "report/page/page.h"

/* From here on a severity is shown as bad, or as a warning. */
#define BAD_SEVERITY     50
#define WARNING_SEVERITY 25

static const enum as_style priority_style[] = {
    [ASSAY_PRIORITY_LOW] = AS_STYLE_WARN,
    [ASSAY_PRIORITY_MEDIUM] = AS_STYLE_WARN,
    [ASSAY_PRIORITY_HIGH] = AS_STYLE_BAD,
};

/* How many of a list are shown; says so when it is not all of them. */
static size_t shown(size_t n, size_t top)
{
    return top && top < n ? top : n;
}

static void tell_rest(struct as_page *page, size_t n, size_t top)
{
    if (shown(n, top) < n)
        as_page_line(page, AS_STYLE_DIM, "%s %zu more", as_page_glyph(page, AS_GLYPH_ELLIPSIS),
                     n - shown(n, top));
}

/* ---- by share ---- */

static void put_ranked(struct as_table *t, struct as_page *page, const struct as_time_column *time,
                       const struct assay_ranked_layer *layer)
{
    enum as_style style = layer->severity >= BAD_SEVERITY       ? AS_STYLE_BAD
                          : layer->severity >= WARNING_SEVERITY ? AS_STYLE_WARN
                                                                : AS_STYLE_NONE;

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, layer->layer));
    as_cell_share(t, layer->share);
    as_table_bar(t, AS_STYLE_NONE, layer->share);
    as_cell_time(t, time, layer->self_seconds * 1e9);
    as_cell_count(t, layer->calls);
    as_cell_count(t, layer->failed);
    if (isfinite(layer->speedup_bound))
        as_table_printf(t, AS_STYLE_NONE, "%.2f%s", layer->speedup_bound,
                        as_page_glyph(page, AS_GLYPH_TIMES));
    else
        as_table_text(t, AS_STYLE_DIM, "none");
    as_cell_share(t, layer->roof_fraction);
    as_table_printf(t, style, "%.0f", layer->severity);
}

static void put_causes(struct as_page *page, const struct assay_ranked_layer *layer)
{
    if (layer->n_causes == 0)
        as_page_line(page, AS_STYLE_DIM, "%s: no cause can be told from what was recorded",
                     as_page_name(page, layer->layer));
    for (size_t i = 0; i < layer->n_causes; i++) {
        const struct assay_cause *cause = &layer->cause[i];

        as_page_line(page, AS_STYLE_NONE, "%s: %s, up to %.0f %% of its time: %s",
                     as_page_name(page, layer->layer), assay_bottleneck_type_name(cause->type),
                     cause->strength * 100, cause->evidence);
    }
}

static void put_ranking(struct as_page *page, const struct assay_bottleneck_result *r, size_t top)
{
    struct as_time_column time;
    struct as_table_column columns[] = {
        {.title = "layer", .may_shrink = true, .min_width = 24},
        {.title = "share", .align = AS_ALIGN_RIGHT},
        {.title = " ", .min_width = 10, .drop = 3, .style = AS_STYLE_BAR},
        as_column_time(&time, "self", r->n_ranked ? r->ranked[0].self_seconds * 1e9 : 0,
                       AS_TIME_AUTO),
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "failed", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "speed-up to", .align = AS_ALIGN_RIGHT},
        {.title = "of roof", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "severity", .align = AS_ALIGN_RIGHT},
    };
    struct as_table t;

    as_page_heading(page, "Bottlenecks", "speed-up: of the whole, were the layer to cost nothing");
    if (r->n_ranked == 0) {
        as_page_line(page, AS_STYLE_DIM, "no time was recorded");
        return;
    }
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown(r->n_ranked, top); i++)
        put_ranked(&t, page, &time, &r->ranked[i]);
    as_page_table(page, &t);
    tell_rest(page, r->n_ranked, top);
    as_page_heading(page, "Causes", "each the part of a layer's time that it may explain");
    for (size_t i = 0; i < shown(r->n_ranked, top); i++)
        put_causes(page, &r->ranked[i]);
}

static void put_advice(struct as_page *page, const struct assay_bottleneck_result *r, size_t top)
{
    if (r->n_advice == 0)
        return;
    as_page_heading(page, "Advice", "gain: the most that could go, of the whole time");
    for (size_t i = 0; i < shown(r->n_advice, top); i++) {
        const struct assay_bottleneck_advice *a = &r->advice[i];

        as_page_line(page, AS_STYLE_NONE, "%s: gain up to %.1f %%, confidence %.0f %%: %s (%s)",
                     as_page_name(page, a->layer), a->expected_gain * 100, a->confidence * 100,
                     a->recommendation, a->rule);
    }
    tell_rest(page, r->n_advice, top);
}

/* ---- by the percentile ---- */

static void put_types(struct as_table *t, const struct assay_bottleneck *b)
{
    char text[80] = "";
    size_t used = 0;

    for (size_t i = 0; i < b->n_types && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : "",
                                 assay_bottleneck_type_name(b->type[i]));
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_documented(struct as_page *page, const struct assay_bottleneck_result *r,
                           size_t top)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .may_shrink = true, .min_width = 16},
        {.title = "types", .may_shrink = true, .min_width = 10},
        {.title = "mean ms", .align = AS_ALIGN_RIGHT},
        {.title = "overhead %", .align = AS_ALIGN_RIGHT},
        {.title = "severity score", .align = AS_ALIGN_RIGHT},
    };
    struct as_table t;

    as_page_heading(page, "Above the threshold", "mean time of a call against all times");
    if (r->n_bottlenecks == 0) {
        as_page_line(page, AS_STYLE_DIM, "no layer is");
        return;
    }
    as_page_line(page, AS_STYLE_NONE,
                 "%zu of %zu layers above %.4g ms%s, %zu of them critical, %.4g ms over it in all",
                 r->n_bottlenecks, r->n_layers, r->threshold * 1e3,
                 r->threshold_exact ? "" : " (from a sample of the calls)",
                 r->summary.critical_bottlenecks, r->summary.total_overhead_ms);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown(r->n_bottlenecks, top); i++) {
        const struct assay_bottleneck *b = &r->bottlenecks[i];
        char over[AS_TEXT_FLOAT];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, b->layer));
        put_types(&t, b);
        as_table_printf(&t, AS_STYLE_NONE, "%.3f", b->mean_execution_time * 1e3);
        as_table_text(&t, AS_STYLE_NONE,
                      as_text_fixed(over, b->overhead_percentage, 1) ? over : "-");
        as_table_printf(&t, AS_STYLE_NONE, "%.4g", b->severity_score);
    }
    as_page_table(page, &t);
    tell_rest(page, r->n_bottlenecks, top);
}

static void put_recommendations(struct as_page *page, const struct assay_bottleneck_result *r,
                                size_t top)
{
    if (r->n_recommendations == 0)
        return;
    as_page_heading(page, "Recommendations", NULL);
    for (size_t i = 0; i < shown(r->n_recommendations, top); i++) {
        const struct assay_recommendation *rec = &r->recommendations[i];

        as_page_line(page, priority_style[rec->priority], "[%s] %s (%s), %s: %s",
                     assay_priority_name(rec->priority), as_page_name(page, rec->layer),
                     rec->category, rec->details, rec->recommendation);
    }
    tell_rest(page, r->n_recommendations, top);
}

void as_bottleneck_page(struct as_page *page, const struct assay_bottleneck_result *result,
                        size_t top)
{
    put_ranking(page, result, top);
    put_advice(page, result, top);
    put_documented(page, result, top);
    put_recommendations(page, result, top);
    if (result->n_failed)
        as_page_line(page, AS_STYLE_WARN, "calls that failed and are in no time: %llu",
                     (unsigned long long)result->n_failed);
    if (result->dropped_calls)
        as_page_line(page, AS_STYLE_WARN, "calls of further layers, not kept: %llu",
                     (unsigned long long)result->dropped_calls);
}
