/* report/compare/metrics_text.c - what changed between two runs without layers, metric by metric.
 * Only renders: every figure comes from analyze/run/metric_diff.h. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/compare/compare_report.h"
#include "report/page/page.h"

static void format_value(char out[AS_TEXT_HUMAN], const char *unit, double value)
{
    if (strcmp(unit, "ns") == 0)
        as_text_ns(out, value, AS_TIME_AUTO);
    else if (strcmp(unit, "bytes") == 0)
        as_text_bytes(out, value);
    else if (strcmp(unit, "share") == 0)
        as_text_share(out, value);
    else if (strcmp(unit, "count") == 0 || strcmp(unit, "ratio") == 0)
        as_text_si(out, value, NULL);
    else
        as_text_si(out, value, unit);
}

static void put_tested(struct as_table *t, const struct as_metric_row *row)
{
    enum as_style style = row->verdict == AS_DIFF_FASTER   ? AS_STYLE_GOOD
                          : row->verdict == AS_DIFF_SLOWER ? AS_STYLE_BAD
                                                           : AS_STYLE_DIM;

    if (!isfinite(row->test.q))
        as_table_text(t, AS_STYLE_NONE, "-");
    else if (row->test.q < 0.0001)
        as_table_text(t, AS_STYLE_NONE, "<0.0001");
    else
        as_table_printf(t, AS_STYLE_NONE, "%.4f", row->test.q);
    as_table_text(t, style, as_diff_verdict_name(row->verdict));
}

static size_t rows_of(const struct as_metric_diff *d, size_t top)
{
    return top && top < d->n_rows ? top : d->n_rows;
}

void as_metrics_table(struct as_page *page, const struct as_metric_diff *d, size_t top, bool redact)
{
    static const struct as_table_column columns[] = {
        {.title = "metric", .identity = true, .min_width = 18},
        {.title = "A", .align = AS_ALIGN_RIGHT},
        {.title = "B", .align = AS_ALIGN_RIGHT},
        {.title = "change", .align = AS_ALIGN_RIGHT},
        {.title = "p", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "verdict"},
    };
    bool judged = false;
    struct as_table t;

    for (size_t i = 0; i < d->n_rows; i++)
        judged = judged || d->row[i].verdict != AS_DIFF_UNTESTED;
    as_table_init(&t, columns, AS_COUNT_OF(columns) - (judged ? 0 : 2));
    for (size_t i = 0; i < rows_of(d, top); i++) {
        const struct as_metric_row *row = &d->row[i];
        char text[AS_TEXT_HUMAN];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, redact ? row->public_name : row->name));
        for (int k = 0; k < 2; k++) {
            format_value(text, row->unit, row->value[k]);
            as_table_text(&t, AS_STYLE_NONE, text);
        }
        if (isfinite(row->change))
            as_table_printf(&t, AS_STYLE_NONE, "%+.1f %%", 100 * row->change);
        else
            as_table_text(&t, AS_STYLE_NONE, "-");
        if (judged)
            put_tested(&t, row);
    }
    as_page_table(page, &t);
    if (d->n_rows > rows_of(d, top))
        as_page_line(page, AS_STYLE_DIM, "%s %zu more", as_page_glyph(page, AS_GLYPH_ELLIPSIS),
                     d->n_rows - rows_of(d, top));
}

static void put_verdict(struct as_page *page, const struct as_metric_diff *d)
{
    size_t n_slower = 0, n_faster = 0;

    for (size_t i = 0; i < d->n_rows; i++) {
        n_slower += d->row[i].verdict == AS_DIFF_SLOWER;
        n_faster += d->row[i].verdict == AS_DIFF_FASTER;
    }
    if (d->n_tested == 0)
        as_page_line(page, AS_STYLE_WARN, "nothing to test: no samples of a time are in both runs");
    else if (n_slower + n_faster == 0)
        as_page_line(page, AS_STYLE_NONE, "no significant difference in %zu times tested",
                     d->n_tested);
    else
        as_page_line(
            page, n_slower ? AS_STYLE_BAD : AS_STYLE_GOOD,
            "of %zu times tested B is slower in %zu and faster in %zu, within this pair of "
            "runs",
            d->n_tested, n_slower, n_faster);
}

int as_metrics_page(const struct as_metrics_report *r, struct as_out *out,
                    const struct as_term *term, struct assay_error *err)
{
    struct as_page page;

    as_page_open(&page, out, term, r->markdown);
    page.wide = r->wide;
    for (int k = 0; k < 2; k++)
        as_page_cut_line(&page, AS_STYLE_HEADING, "%c  %s", 'A' + k,
                         as_page_name(&page, r->name[k]));
    put_verdict(&page, r->diff);
    for (int k = 0; k < 2; k++)
        if (r->broken[k])
            as_page_line(&page, AS_STYLE_WARN, "%c %s: only its intact part is compared", 'A' + k,
                         r->broken[k]);
    as_page_heading(&page, "Metrics", r->diff->n_tested ? "p adjusted (Benjamini-Hochberg)" : NULL);
    as_metrics_table(&page, r->diff, r->top, r->redact || r->markdown);
    return as_page_close(&page, err);
}

void as_metrics_rows_json(struct as_json_writer *w, const char *key, const struct as_metric_diff *d,
                          size_t top, bool redact)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < rows_of(d, top); i++) {
        const struct as_metric_row *row = &d->row[i];

        as_json_object(w);
        as_json_kv_text(w, "metric", redact ? row->public_name : row->name);
        as_json_kv_text(w, "unit", row->unit);
        as_json_kv_f64(w, "before", row->value[0]);
        as_json_kv_f64(w, "after", row->value[1]);
        as_json_kv_f64(w, "change_percent", 100 * row->change);
        as_json_kv_text(w, "verdict",
                        row->verdict == AS_DIFF_UNTESTED ? NULL
                                                         : as_diff_verdict_name(row->verdict));
        if (row->test.basis != AS_DIFF_NONE)
            as_diff_test_json(w, &row->test);
        else
            as_json_kv_null(w, "test");
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

int as_metrics_json(const struct as_metrics_report *r, struct as_out *out, struct assay_error *err)
{
    const struct as_metric_diff *d = r->diff;
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.diff_metrics");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "kind", r->kind);
    as_json_kv_text(&w, "before", r->name[0]);
    as_json_kv_text(&w, "after", r->name[1]);
    as_json_kv_text(&w, "before_broken", r->broken[0]);
    as_json_kv_text(&w, "after_broken", r->broken[1]);
    AS_JSON_FIELDS(&w, d, slower_percent, n_tested);
    as_json_kv_u64(&w, "n_metrics", d->n_rows);
    as_json_kv_f64(&w, "threshold_percent", 100 * d->options.threshold);
    as_json_kv_f64(&w, "significance_level", d->options.level);
    as_metrics_rows_json(&w, "metrics", d, r->top, r->redact);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}
