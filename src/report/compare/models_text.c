/* report/compare/models_text.c - what changed between two models, as text, Markdown or JSON.
 * Only renders: every figure comes from analyze/model/model_diff.h. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/compare/compare_report.h"
#include "report/page/page.h"

#define TOP        20
#define PARTS_TEXT 80

/* "shapes, attributes". */
static void format_parts(char out[PARTS_TEXT], unsigned parts)
{
    size_t used = 0;

    out[0] = 0;
    for (unsigned i = 0; i < AS_MODEL_PART_COUNT; i++)
        if (parts >> i & 1)
            used += (size_t)snprintf(out + used, PARTS_TEXT - used, "%s%s", used ? ", " : "",
                                     as_model_part_name(i));
}

static void put_what(struct as_table *t, struct as_page *page, const struct as_model_row *row)
{
    const char *a = row->what[0], *b = row->what[1];

    if (a && b && strcmp(a, b) != 0)
        as_table_printf(t, AS_STYLE_NONE, "%s %s %s", as_page_name(page, a),
                        as_page_glyph(page, AS_GLYPH_ARROW), as_page_name(page, b));
    else
        as_table_text(t, AS_STYLE_NONE, as_page_name(page, b ? b : a));
}

static void put_rows(struct as_page *page, const char *heading, const char *title, const char *what,
                     const struct as_model_rows *rows, size_t top)
{
    const struct as_table_column columns[] = {
        {.title = title, .identity = true, .min_width = 12},
        {.title = what, .may_shrink = true},
        {.title = "in B"},
        {.title = "what changed"},
    };
    size_t n = top < rows->n ? top : rows->n;
    char parts[PARTS_TEXT];
    struct as_table t;

    as_page_heading(page, heading, NULL);
    as_page_line(page, AS_STYLE_NONE, "%zu in A, %zu in B: %zu added, %zu removed, %zu changed",
                 rows->n_all[0], rows->n_all[1], rows->n_of[AS_MODEL_ADDED],
                 rows->n_of[AS_MODEL_REMOVED], rows->n_of[AS_MODEL_CHANGED]);
    if (rows->n_of[AS_MODEL_UNREAD])
        as_page_line(page, AS_STYLE_WARN, "not compared because values are unavailable: %zu",
                     rows->n_of[AS_MODEL_UNREAD]);
    if (rows->n == 0)
        return;
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        const struct as_model_row *row = &rows->row[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, row->name));
        put_what(&t, page, row);
        as_table_text(&t, AS_STYLE_NONE, as_model_change_name(row->change));
        format_parts(parts, row->parts);
        as_table_text(&t, AS_STYLE_NONE, parts);
    }
    as_page_table(page, &t);
    if (rows->n > n)
        as_page_line(page, AS_STYLE_DIM, "%s %zu more", as_page_glyph(page, AS_GLYPH_ELLIPSIS),
                     rows->n - n);
}

int as_models_page(const struct as_models_report *r, struct as_out *out, const struct as_term *term,
                   struct assay_error *err)
{
    const struct as_model_diff *d = r->diff;
    size_t top = r->top ? r->top : TOP;
    struct as_page page;

    as_page_open(&page, out, term, r->markdown);
    page.wide = r->wide;
    for (int k = 0; k < 2; k++)
        as_page_cut_line(&page, AS_STYLE_HEADING, "%c  %s", 'A' + k,
                         as_page_name(&page, r->name[k]));
    if (d->layers.n + d->weights.n == 0)
        as_page_line(&page, AS_STYLE_NONE, "no difference in layers or weights");
    for (int k = 0; k < 2; k++)
        if (!d->side[k]->complete)
            as_page_line(&page, AS_STYLE_WARN,
                         "%c has layers without counts: its sums are lower bounds", 'A' + k);
    as_page_heading(&page, "In all", NULL);
    as_metrics_table(&page, d->sums, 0, false);
    put_rows(&page, "Layers", "layer", "operator", &d->layers, top);
    put_rows(&page, "Weights", "tensor", "type", &d->weights, top);
    return as_page_close(&page, err);
}

static void put_rows_json(struct as_json_writer *w, const char *key, const char *name,
                          const struct as_model_rows *rows, size_t top)
{
    as_json_kv_object(w, key);
    as_json_kv_u64(w, "n_before", rows->n_all[0]);
    as_json_kv_u64(w, "n_after", rows->n_all[1]);
    as_json_kv_u64(w, "added", rows->n_of[AS_MODEL_ADDED]);
    as_json_kv_u64(w, "removed", rows->n_of[AS_MODEL_REMOVED]);
    as_json_kv_u64(w, "changed", rows->n_of[AS_MODEL_CHANGED]);
    as_json_kv_u64(w, "not_compared", rows->n_of[AS_MODEL_UNREAD]);
    as_json_kv_array(w, "rows");
    for (size_t i = 0; i < rows->n && (!top || i < top); i++) {
        const struct as_model_row *row = &rows->row[i];

        as_json_object(w);
        as_json_kv_text(w, name, row->name);
        as_json_kv_text(w, "change", as_model_change_name(row->change));
        as_json_kv_text(w, "before", row->what[0]);
        as_json_kv_text(w, "after", row->what[1]);
        as_json_kv_array(w, "parts");
        for (unsigned part = 0; part < AS_MODEL_PART_COUNT; part++)
            if (row->parts >> part & 1)
                as_json_text(w, as_model_part_name(part));
        as_json_array_end(w);
        as_json_object_end(w);
    }
    as_json_array_end(w);
    as_json_object_end(w);
}

int as_models_json(const struct as_models_report *r, struct as_out *out, struct assay_error *err)
{
    const struct as_model_diff *d = r->diff;
    struct as_json_writer w;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.diff_model");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "before", r->name[0]);
    as_json_kv_text(&w, "after", r->name[1]);
    as_json_kv_bool(&w, "before_complete", d->side[0]->complete);
    as_json_kv_bool(&w, "after_complete", d->side[1]->complete);
    as_json_kv_bool(&w, "same", d->layers.n + d->weights.n == 0);
    as_metrics_rows_json(&w, "totals", d->sums, 0, false);
    put_rows_json(&w, "layers", "layer", &d->layers, r->top);
    put_rows_json(&w, "weights", "tensor", &d->weights, r->top);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}
