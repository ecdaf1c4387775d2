/* report/findings/bottleneck_text.c - a bottleneck analysis on a page, for people.
 * Only renders; what had to be left out for want of memory is told by as_page_close(). */
#include "report/findings/findings_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/finding.h"
#include "base/units.h"
#include "report/page/page.h"

/* From here on a severity is shown as bad, or as a warning. */
#define BAD_SEVERITY     50
#define WARNING_SEVERITY 25

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

static bool has_finding(const struct assay_bottleneck_result *r, const char *layer)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].target && strcmp(r->findings[i].target, layer) == 0)
            return true;
    return false;
}

/* Of layers without a recommendation, whose evidence would say it. */
static void put_causes(struct as_page *page, const struct assay_bottleneck_result *r,
                       const struct assay_ranked_layer *layer)
{
    if (has_finding(r, layer->layer))
        return;
    if (layer->n_causes == 0)
        as_page_line(page, AS_STYLE_DIM, "%s: cause unknown from what was recorded",
                     as_page_name(page, layer->layer));
    for (size_t i = 0; i < layer->n_causes; i++)
        as_page_line(page, AS_STYLE_NONE, "%s: %s, up to %.0f %% of its time: %s",
                     as_page_name(page, layer->layer),
                     assay_bottleneck_type_name(layer->cause[i].type),
                     layer->cause[i].strength * 100, layer->cause[i].evidence);
}

static void put_ranking(struct as_page *page, const struct assay_bottleneck_result *r, size_t top)
{
    struct as_time_column time;
    struct as_table_column columns[] = {
        {.title = "layer", .identity = true, .min_width = 24},
        {.title = "share", .align = AS_ALIGN_RIGHT},
        {.title = " ", .min_width = 10, .drop = 3, .style = AS_STYLE_BAR},
        as_column_time(&time, "self", r->n_ranked ? r->ranked[0].self_seconds * 1e9 : 0,
                       AS_TIME_AUTO),
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "failed", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "speedup to", .align = AS_ALIGN_RIGHT},
        {.title = "roofline", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "severity", .align = AS_ALIGN_RIGHT},
    };
    struct as_table t;

    as_page_heading(page, "Bottlenecks", "speedup: of the whole, if the layer cost nothing");
    if (r->n_ranked == 0) {
        as_page_line(page, AS_STYLE_DIM, "no time was recorded");
        return;
    }
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown(r->n_ranked, top); i++)
        put_ranked(&t, page, &time, &r->ranked[i]);
    as_page_table(page, &t);
    tell_rest(page, r->n_ranked, top);
    for (size_t i = 0; i < shown(r->n_ranked, top); i++)
        put_causes(page, r, &r->ranked[i]);
}

static void put_findings(struct as_page *page, const struct assay_bottleneck_result *r, size_t top)
{
    as_page_findings(page, "What to do next", r->findings, shown(r->n_findings, top));
    tell_rest(page, r->n_findings, top);
}

void as_bottleneck_page(struct as_page *page, const struct assay_bottleneck_result *result,
                        size_t top)
{
    put_ranking(page, result, top);
    put_findings(page, result, top);
    if (result->n_failed)
        as_page_line(page, AS_STYLE_WARN, "failed calls, not in any time: %llu",
                     (unsigned long long)result->n_failed);
    if (result->dropped_calls)
        as_page_line(page, AS_STYLE_WARN, "calls of further layers, not recorded: %llu",
                     (unsigned long long)result->dropped_calls);
}
