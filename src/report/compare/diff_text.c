/* report/compare/diff_text.c - what changed between two runs: the verdict first, then the layers.
 * Only renders: every figure comes from analyze/run/run_diff.h. */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "report/compare/compare_report.h"
#include "report/page/page.h"

#define TOP 20

static const enum as_style verdict_style[] = {
    [AS_DIFF_SAME] = AS_STYLE_DIM,    [AS_DIFF_FASTER] = AS_STYLE_GOOD,
    [AS_DIFF_SLOWER] = AS_STYLE_BAD,  [AS_DIFF_FEWER] = AS_STYLE_WARN,
    [AS_DIFF_MORE] = AS_STYLE_WARN,   [AS_DIFF_ONLY_A] = AS_STYLE_WARN,
    [AS_DIFF_ONLY_B] = AS_STYLE_WARN, [AS_DIFF_UNTESTED] = AS_STYLE_DIM,
};
_Static_assert(AS_COUNT_OF(verdict_style) == AS_DIFF_VERDICT_COUNT, "a style for every verdict");

#define CHANGE_TEXT 64

/* "12.3 % slower" of a saving of -12.3 %; the words are for less and for more. */
static void format_change(char out[CHANGE_TEXT], double saved_percent, const char *less,
                          const char *more)
{
    if (!isfinite(saved_percent))
        (void)snprintf(out, CHANGE_TEXT, "no percentage: there is none in A");
    else if (saved_percent == 0)
        (void)snprintf(out, CHANGE_TEXT, "the same");
    else
        (void)snprintf(out, CHANGE_TEXT, "%.*f %% %s", fabs(saved_percent) < 0.1 ? 3 : 1,
                       fabs(saved_percent), saved_percent > 0 ? less : more);
}

static void format_p(char out[CHANGE_TEXT], double p)
{
    if (!isfinite(p))
        (void)snprintf(out, CHANGE_TEXT, "-");
    else if (p < 0.0001)
        (void)snprintf(out, CHANGE_TEXT, "<0.0001");
    else
        (void)snprintf(out, CHANGE_TEXT, "%.4f", p);
}

/* ---- the whole ---- */

static void put_verdict(struct as_page *page, const struct as_diff *d)
{
    enum as_style style = verdict_style[d->verdict];

    if (isnan(d->slower_percent) && d->n_rows && !d->n_common)
        as_page_line(page, AS_STYLE_WARN,
                     "A and B have no layer in common: only total time and memory are compared");
    else if (isnan(d->slower_percent))
        as_page_line(page, AS_STYLE_WARN,
                     "nothing to test: A and B share neither layers nor iterations");
    else if (d->verdict == AS_DIFF_SAME && d->whole.basis != AS_DIFF_NONE &&
             d->whole.q < d->options.level)
        as_page_line(page, AS_STYLE_NONE,
                     "no difference that matters: p50 shifts %.2f %%, below --threshold (%.3g %%)",
                     fabs(d->whole.relative) * 100, d->options.threshold * 100);
    else if (d->verdict == AS_DIFF_SAME)
        as_page_line(page, AS_STYLE_NONE, "no significant difference");
    else if (d->whole.basis == AS_DIFF_ITERATIONS)
        as_page_line(page, style, "B is %s: p50 of iterations shifts %.1f %% %s",
                     as_diff_verdict_name(d->verdict), fabs(d->slower_percent),
                     d->slower_percent > 0 ? "up" : "down");
    else
        as_page_line(page, style, "B is %s within this pair of runs: its layers take %.1f %% %s",
                     as_diff_verdict_name(d->verdict), fabs(d->slower_percent),
                     d->slower_percent > 0 ? "more" : "less");
}

/* Profiles: every time is of one inference. */
static bool is_of_inferences(const struct as_diff *d)
{
    return d->side[0]->n_iterations == 1 && d->whole.basis == AS_DIFF_ITERATIONS &&
           d->whole.n[0] > 1;
}

static void put_totals(struct as_page *page, const struct as_diff *d)
{
    char before[AS_TEXT_HUMAN], after[AS_TEXT_HUMAN], change[CHANGE_TEXT];
    const char *arrow = as_page_glyph(page, AS_GLYPH_ARROW);

    as_text_ns(before, d->total_ns[0], AS_TIME_AUTO);
    as_text_ns(after, d->total_ns[1], AS_TIME_AUTO);
    format_change(change, d->speedup_percent, "faster", "slower");
    as_page_pair(page, AS_STYLE_DIM, is_of_inferences(d) ? "mean" : "total time",
                 "%s %s %s, %s (stalls included, not tested)", before, arrow, after, change);
    if (!isfinite(d->memory_bytes[0]) || !isfinite(d->memory_bytes[1])) {
        as_page_pair(page, AS_STYLE_DIM, "memory", "not recorded in %s",
                     isfinite(d->memory_bytes[0])   ? "B"
                     : isfinite(d->memory_bytes[1]) ? "A"
                                                    : "either run");
        return;
    }
    as_text_bytes(before, d->memory_bytes[0]);
    as_text_bytes(after, d->memory_bytes[1]);
    format_change(change, d->reduction_percent, "less", "more");
    as_page_pair(page, AS_STYLE_NONE, "memory", "%s %s %s, %s", before, arrow, after, change);
}

static void put_iterations(struct as_page *page, const struct as_diff *d)
{
    const struct as_diff_test *t = &d->whole;
    char text[5][AS_TEXT_HUMAN], p[CHANGE_TEXT], factor[24] = "";

    if (t->basis == AS_DIFF_NONE)
        return;
    as_text_ns(text[0], t->median_ns[0], AS_TIME_AUTO);
    as_text_ns(text[1], t->median_ns[1], AS_TIME_AUTO);
    as_text_ns(text[2], t->shift_ns, AS_TIME_AUTO);
    as_text_ns(text[3], t->shift_low_ns, AS_TIME_AUTO);
    as_text_ns(text[4], t->shift_high_ns, AS_TIME_AUTO);
    format_p(p, t->p);
    if (isfinite(t->factor))
        (void)snprintf(factor, sizeof factor, " (%.3gx)", t->factor);
    as_page_pair(page, AS_STYLE_NONE, "p50",
                 "%s %s %s per iteration%s, shift %s (95 %% CI %s to %s), p %s", text[0],
                 as_page_glyph(page, AS_GLYPH_ARROW), text[1], factor, text[2], text[3], text[4],
                 p);
}

static void put_warnings(struct as_page *page, const struct as_diff_report *report)
{
    const struct as_diff *d = report->diff;

    for (int k = 0; k < 2; k++) {
        if (report->broken[k])
            as_page_line(page, AS_STYLE_WARN, "%c %s: only its intact part is compared", 'A' + k,
                         report->broken[k]);
        if (report->unsteady[k])
            as_page_line(page, AS_STYLE_WARN,
                         "%c was unsteady: %s; differences may come from the machine", 'A' + k,
                         report->unsteady[k]);
    }
    if (is_of_inferences(d) && d->n_common > 0)
        as_page_line(
            page, AS_STYLE_DIM,
            "one process each: layers of equal runs differ from process to process too, so "
            "verdicts on layers hold for these two alone");
    if (d->n_calls_tested)
        as_page_line(
            page, AS_STYLE_WARN,
            "%zu layers are tested by their calls: calls of one run resemble each other, so "
            "the verdict holds for this pair of runs only",
            d->n_calls_tested);
    if (d->n_whole)
        as_page_line(page, AS_STYLE_WARN,
                     "%zu layers are compared by total time: a run holds no self time per call",
                     d->n_whole);
    if (d->n_tested < d->n_rows)
        as_page_line(page, AS_STYLE_DIM,
                     "%zu layers have fewer than 9 calls or iterations in a run and are not tested",
                     d->n_rows - d->n_tested);
}

/* ---- layers ---- */

static void put_calls(struct as_table *t, struct as_page *page, const struct as_diff_row *row)
{
    char before[AS_TEXT_HUMAN], after[AS_TEXT_HUMAN];

    as_text_count(before, row->calls[0]);
    as_text_count(after, row->calls[1]);
    if (row->calls[0] == row->calls[1])
        as_table_text(t, AS_STYLE_NONE, before);
    else
        as_table_printf(t, AS_STYLE_NONE, "%s %s %s", before, as_page_glyph(page, AS_GLYPH_ARROW),
                        after);
}

/* "+3.9 % (+1.5 to +6.0)" of the median of A; of totals without a test. */
static void put_shift(struct as_table *t, const struct as_diff_row *row)
{
    const struct as_diff_test *test = &row->test;

    if (test->basis != AS_DIFF_NONE && test->median_ns[0] > 0)
        as_table_printf(t, AS_STYLE_NONE, "%+.1f %% (%+.1f to %+.1f)", 100 * test->relative,
                        100 * test->shift_low_ns / test->median_ns[0],
                        100 * test->shift_high_ns / test->median_ns[0]);
    else if (isfinite(row->change))
        as_table_printf(t, AS_STYLE_NONE, "%+.1f %% of total", 100 * row->change);
    else
        as_table_text(t, AS_STYLE_NONE, "-");
}

/* Why a verdict does not follow from what its row shows. */
enum note { NOTE_NONE, NOTE_THRESHOLD, NOTE_ADJUSTED, NOTE_STALLS, NOTE_COUNT };
static const char *const note_mark[] = {"", " (t)", " (p)", " (s)"};
static const char *const note_text[] = {
    "",
    "(t) significant, but below --threshold",
    "(p) the 95 % CI excludes 0, but p adjusted for the number of layers is 0.05 or more",
    "(s) the total moved the other way: stalls",
};
_Static_assert(AS_COUNT_OF(note_mark) == NOTE_COUNT && AS_COUNT_OF(note_text) == NOTE_COUNT,
               "every note has a mark and a text");

static enum note note_on(const struct as_diff *d, const struct as_diff_row *row)
{
    const struct as_diff_test *t = &row->test;

    if (row->verdict == AS_DIFF_SAME && t->q < 0.05 && fabs(t->relative) < d->options.threshold)
        return NOTE_THRESHOLD;
    if (row->verdict == AS_DIFF_SAME && t->basis != AS_DIFF_NONE && !(t->q < 0.05) &&
        (t->shift_low_ns > 0 || t->shift_high_ns < 0))
        return NOTE_ADJUSTED;
    if ((row->verdict == AS_DIFF_SLOWER && row->change_ns < 0) ||
        (row->verdict == AS_DIFF_FASTER && row->change_ns > 0))
        return NOTE_STALLS;
    return NOTE_NONE;
}

/* The p50 that was tested. Times of a whole run do not belong beside them. */
static double shown_time(const struct as_diff *d, const struct as_diff_row *row, int side)
{
    if (row->test.basis != AS_DIFF_NONE)
        return row->test.median_ns[side];
    return d->n_tested == 0 || d->side[side]->n_iterations == 1 ? row->time_ns[side] : AS_UNKNOWN;
}

static enum note put_row(struct as_table *t, struct as_page *page, const struct as_diff *d,
                         const struct as_time_column *time, const struct as_diff_row *row)
{
    const enum note note = note_on(d, row);
    char text[CHANGE_TEXT];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, row->name));
    as_cell_time(t, time, shown_time(d, row, 0));
    as_cell_time(t, time, shown_time(d, row, 1));
    put_shift(t, row);
    as_cell_share(t, row->change_share);
    put_calls(t, page, row);
    format_p(text, row->test.q);
    as_table_text(t, AS_STYLE_NONE, text);
    as_table_printf(t, verdict_style[row->verdict], "%s%s",
                    row->verdict == AS_DIFF_SAME ? "not significant"
                                                 : as_diff_verdict_name(row->verdict),
                    note_mark[note]);
    return note;
}

static double longest(const struct as_diff *d)
{
    double most = 0;

    for (size_t i = 0; i < d->n_rows; i++)
        for (int k = 0; k < 2; k++)
            most = fmax(most, shown_time(d, &d->row[i], k)); /* ignores NaN */
    return most;
}

static void put_layers(struct as_page *page, const struct as_diff_report *report)
{
    const struct as_diff *d = report->diff;
    size_t top = report->top ? report->top : TOP;
    struct as_time_column time;
    struct as_table_column columns[] = {
        {.title = "layer", .identity = true, .min_width = 12},
        as_column_time(&time, d->n_tested ? "p50 A" : "time A", longest(d), AS_TIME_AUTO),
        {.title = d->n_tested ? "p50 B" : "time B", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "shift (95 % CI)", .align = AS_ALIGN_RIGHT},
        {.title = "of change", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "calls", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "p", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "verdict"},
    };
    bool noted[NOTE_COUNT] = {false};
    struct as_table t;

    if (d->n_rows == 0)
        return;
    columns[1].drop = 2; /* on a narrow screen the shift is what counts */
    as_page_heading(page, "Layers",
                    d->per_iteration ? "self time per iteration; p adjusted (Benjamini-Hochberg)"
                                     : "self time; p adjusted (Benjamini-Hochberg)");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < d->n_rows && i < top; i++)
        noted[put_row(&t, page, d, &time, &d->row[i])] = true;
    as_page_table(page, &t);
    for (int note = NOTE_NONE + 1; note < NOTE_COUNT; note++)
        if (noted[note])
            as_page_line(page, AS_STYLE_DIM, "%s", note_text[note]);
    if (d->n_rows > top)
        as_page_line(page, AS_STYLE_DIM, "%s %zu more", as_page_glyph(page, AS_GLYPH_ELLIPSIS),
                     d->n_rows - top);
}

int as_diff_page(const struct as_diff_report *report, struct as_out *out,
                 const struct as_term *term, struct assay_error *err)
{
    const struct as_diff *d = report->diff;
    struct as_page page;

    as_page_open(&page, out, term, report->markdown);
    page.wide = report->wide;
    as_page_cut_line(&page, AS_STYLE_HEADING, "A  %s", as_page_name(&page, d->side[0]->name));
    as_page_cut_line(&page, AS_STYLE_HEADING, "B  %s", as_page_name(&page, d->side[1]->name));
    put_verdict(&page, d);
    put_iterations(&page, d);
    put_totals(&page, d);
    put_warnings(&page, report);
    put_layers(&page, report);
    if (report->program)
        as_program_diff_put(report->program, report->top, &page);
    return as_page_close(&page, err);
}
