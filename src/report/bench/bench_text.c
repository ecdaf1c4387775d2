/* report/bench/bench_text.c - the results of an experiment as a page: the table of settings, what
 * they save, which criteria they meet. */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/bench/bench_report.h"
#include "report/machine/machine_report.h"
#include "report/page/page.h"

/* ---- cells ---- */

static void put_time(struct as_table *t, double ns, enum as_time_unit unit)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, ns, unit);
    as_table_text(t, isfinite(ns) ? AS_STYLE_NONE : AS_STYLE_DIM, text);
}

/* A narrow page has no room for intervals; the files have them. */
static bool is_brief(const struct as_page *page)
{
    return !page->markdown && !page->wide && page->term->width < 92;
}

/* A share as signed percent, with half its interval where there is one. */
static void put_saving(struct as_table *t, const struct as_page *page,
                       const struct as_bench_estimate *e)
{
    double half = (e->high - e->low) / 2;

    if (!isfinite(e->value))
        as_table_text(t, AS_STYLE_DIM, "unknown");
    else if (!is_brief(page) && isfinite(half) && half >= 0.0005)
        as_table_printf(t, AS_STYLE_NONE, "%+.1f%s%.1f %%", e->value * 100,
                        as_page_glyph(page, AS_GLYPH_PLUSMINUS), half * 100);
    else
        as_table_printf(t, AS_STYLE_NONE, "%+.1f %%", e->value * 100);
}

static void put_percent(struct as_table *t, double share, int decimals)
{
    if (isfinite(share))
        as_table_printf(t, AS_STYLE_NONE, "%.*f %%", decimals, share * 100);
    else
        as_table_text(t, AS_STYLE_DIM, "-");
}

static const char *name_of(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    return as_page_name(page, report->result->rows[i].setting->name);
}

static bool is_baseline(const struct as_bench_report *report, size_t i)
{
    return i == report->result->bench->baseline;
}

static enum as_time_unit unit_of(const struct as_bench_result *r)
{
    double least = (double)INFINITY;

    for (size_t i = 0; i < r->bench->n_settings; i++)
        if (r->rows[i].wall.n && r->rows[i].wall.percentile[AS_SUMMARY_P95] < least)
            least = r->rows[i].wall.percentile[AS_SUMMARY_P95];
    return isfinite(least) ? as_time_unit_for(least) : AS_TIME_MS;
}

/* ---- an attention workload ---- */

static void put_coherence(struct as_table *t, const struct as_page *page,
                          const struct as_bench_row *row)
{
    const struct as_bench_estimate *e = &row->coherence_delta;
    double half = (e->high - e->low) / 2;

    if (!isfinite(e->value))
        as_table_text(t, AS_STYLE_DIM, "-");
    else if (!is_brief(page) && isfinite(half))
        as_table_printf(t, AS_STYLE_NONE, "%.4f%s%.4f", e->value,
                        as_page_glyph(page, AS_GLYPH_PLUSMINUS), half);
    else
        as_table_printf(t, AS_STYLE_NONE, "%.4f", e->value);
}

static void put_attention_row(struct as_table *t, struct as_page *page,
                              const struct as_bench_report *report, size_t i,
                              enum as_time_unit unit)
{
    const struct as_bench_row *row = &report->result->rows[i];
    char text[AS_TEXT_HUMAN];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, name_of(page, report, i));
    if (row->setting->failed) {
        as_table_text(t, AS_STYLE_BAD, "failed");
        return;
    }
    if (is_baseline(report, i)) {
        for (int k = 0; k < 4; k++)
            as_table_text(t, AS_STYLE_DIM, k == 0 ? "baseline" : "");
    } else {
        put_coherence(t, page, row);
        put_saving(t, page, &row->kv_cache_reduction);
        put_saving(t, page, &row->peak_mem_reduction);
        put_saving(t, page, &row->energy_reduction);
    }
    put_time(t, row->wall.percentile[AS_SUMMARY_P95], unit);
    put_time(t, row->median_ns.value, unit);
    put_percent(t, row->deciding, 0);
    put_percent(t, row->cuts.value, 1);
    put_percent(t, row->accuracy, 1);
    put_percent(t, row->edges_kept.value, 1);
    as_text_bytes(text, row->mean_mem_bytes.value);
    as_table_text(t, AS_STYLE_NONE, text);
    if (isfinite(row->energy_j.value))
        as_table_printf(t, AS_STYLE_NONE, "%.4g J", row->energy_j.value);
    else
        as_table_text(t, AS_STYLE_DIM, "unknown");
}

/* Whether lambda had anything to decide. */
static void put_cuts(struct as_page *page, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    double least = 1, most = 0;

    for (size_t i = 0; i < r->bench->n_settings; i++) {
        if (is_baseline(report, i) || !isfinite(r->rows[i].cuts.value))
            continue;
        least = fmin(least, r->rows[i].cuts.value);
        most = fmax(most, r->rows[i].cuts.value);
    }
    if (most == 0)
        as_page_line(
            page, AS_STYLE_WARN,
            "No cut was cheap enough: lambda had no effect, and all savings come from eps.");
    else
        as_page_line(page, AS_STYLE_NONE,
                     "Cuts removed edges in %.1f %% of decisions or less (minimum %.1f %%); the "
                     "remaining savings come from eps.",
                     most * 100, least * 100);
}

static void put_few(struct as_page *page, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    unsigned long long needs = (unsigned long long)as_quantile_needs(95);

    if (r->bench->n_samples < needs)
        as_page_line(
            page, AS_STYLE_WARN,
            "p95 of %llu samples is little more than the slowest of them: %llu are needed.",
            (unsigned long long)r->bench->n_samples, needs);
}

static void put_attention(struct as_page *page, const struct as_bench_report *report)
{
    static const struct as_table_column columns[] = {
        {.title = "Setting"},
        {.title = "dCoherence", .align = AS_ALIGN_RIGHT},
        {.title = "KV-Cache", .align = AS_ALIGN_RIGHT},
        {.title = "Peak Mem", .align = AS_ALIGN_RIGHT},
        {.title = "Energy/sample", .align = AS_ALIGN_RIGHT},
        {.title = "p95 Latency", .align = AS_ALIGN_RIGHT},
        {.title = "median", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "deciding", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "cuts", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "accuracy", .align = AS_ALIGN_RIGHT},
        {.title = "edges kept", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "mean memory", .align = AS_ALIGN_RIGHT, .drop = 6},
        {.title = "mean energy", .align = AS_ALIGN_RIGHT, .drop = 7},
    };
    struct as_table t;
    enum as_time_unit unit = unit_of(report->result);

    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < report->result->bench->n_settings; i++)
        put_attention_row(&t, page, report, i, unit);
    as_page_heading(page, "Summary", "savings relative to the baseline; below 0 it costs more");
    as_page_table(page, &t);
    put_cuts(page, report);
    put_few(page, report);
}

/* ---- criteria ---- */

static void put_verdict(struct as_table *t, const struct as_page *page, enum as_verdict verdict)
{
    static const enum as_style styles[] = {AS_STYLE_DIM, AS_STYLE_GOOD, AS_STYLE_BAD};
    const char *glyph = verdict == AS_VERDICT_UNKNOWN ? "?"
                        : verdict == AS_VERDICT_MET   ? as_page_glyph(page, AS_GLYPH_CHECK)
                                                      : as_page_glyph(page, AS_GLYPH_CROSS);

    if (page->term->unicode)
        as_table_printf(t, styles[verdict], "%s %s", glyph, as_verdict_name(verdict));
    else
        as_table_text(t, styles[verdict], as_verdict_name(verdict));
}

static void put_criteria_table(struct as_page *page, const struct as_bench_report *report)
{
    struct as_table_column columns[1 + AS_CRITERION_COUNT] = {{.title = "Setting"}};
    struct as_table t;

    for (int c = 0; c < AS_CRITERION_COUNT; c++)
        columns[1 + c].title = as_criterion_name((enum as_criterion)c);
    as_table_init(&t, columns, 1 + AS_CRITERION_COUNT);
    for (size_t i = 0; i < report->result->bench->n_settings; i++) {
        if (is_baseline(report, i))
            continue;
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, name_of(page, report, i));
        for (int c = 0; c < AS_CRITERION_COUNT; c++)
            put_verdict(&t, page, report->result->rows[i].criteria[c]);
    }
    as_page_table(page, &t);
}

static void put_criteria(struct as_page *page, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;

    as_page_heading(page, "Success criteria", NULL);
    put_criteria_table(page, report);
    for (int c = 0; c < AS_CRITERION_COUNT; c++) {
        char rule[120];

        as_criterion_rule((enum as_criterion)c, &r->limits, rule);
        as_page_line(page, AS_STYLE_NONE, "%-9s %s", as_criterion_name((enum as_criterion)c), rule);
    }
    if (report->witness_note)
        as_page_line(page, AS_STYLE_NONE, "The witness: %s.", report->witness_note);
    if (r->n_met == 0)
        as_page_line(page, AS_STYLE_WARN, "No setting meets them: criteria not met.");
    else
        as_page_line(page, AS_STYLE_GOOD, "%zu of %zu settings meet all known criteria.", r->n_met,
                     r->bench->n_settings - 1);
}

/* ---- the page ---- */

int as_bench_page(const struct as_bench_report *report, struct as_out *out,
                  const struct as_term *term, struct assay_error *err)
{
    const struct as_bench_result *r = report->result;
    struct as_page page;
    char isa[AS_ISA_TEXT];

    as_page_open(&page, out, term, report->markdown);
    page.wide = report->wide;
    as_page_title(&page, report->title);
    as_page_line(&page, AS_STYLE_DIM, "%llu sample%s each, interleaved",
                 (unsigned long long)r->bench->n_samples, r->bench->n_samples == 1 ? "" : "s");
    if (report->isa)
        as_page_line(&page, AS_STYLE_DIM, "kernels %s", as_isa_text(isa, report->isa));
    if (r->judged) {
        put_attention(&page, report);
        put_criteria(&page, report);
    } else {
        as_bench_put_grid(&page, report);
    }
    if (report->energy_why && (r->judged || report->energy_source))
        as_page_line(&page, AS_STYLE_DIM, "Energy is unknown: %s.", report->energy_why);
    else if (r->limits.energy_is_assumed)
        as_page_line(&page, AS_STYLE_WARN,
                     "Energy is time multiplied by the given watts (%s): it was not measured.",
                     as_page_name(&page, report->energy_source));
    for (size_t i = 0; i < r->bench->n_settings; i++)
        if (r->rows[i].setting->failed)
            as_page_line(&page, AS_STYLE_BAD, "%s failed: %s", name_of(&page, report, i),
                         as_page_name(&page, r->rows[i].setting->why));
    return as_page_close(&page, err);
}
