/* report/profile/profile_outputs_text.c - outputs that were kept, for a person: what was written,
 * what differs from what was expected, where NaN and infinity begin. */
#include <math.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/profile/profile_report.h"

enum { USUAL_ROWS = 20, NUMBER = 32 };

/* A layer has a row of its own only where something is to be seen. */
static bool is_shown(const struct as_output_row *row)
{
    return !row->is_layer || (row->expected && !row->agrees);
}

static const char *number(char out[NUMBER], double x)
{
    if (!isfinite(x))
        return "-";
    (void)snprintf(out, NUMBER, "%.3g", x);
    return out;
}

static const char *cosine(char out[NUMBER], double x)
{
    if (!isfinite(x))
        return "-";
    (void)snprintf(out, NUMBER, "%.6f", x);
    return out;
}

static void put_files(const struct as_outputs *o, struct as_page *page)
{
    size_t n_layers = 0, n_outputs = 0;

    if (!o->folder)
        return;
    for (size_t i = 0; i < o->n_rows; i++) {
        bool written = o->rows[i].npy || o->rows[i].pb;

        n_layers += written && o->rows[i].is_layer;
        n_outputs += written && !o->rows[i].is_layer;
    }
    as_page_pair(
        page, AS_STYLE_NONE, "written", "%llu file%s in %s: %zu output%s, %zu tensor%s of layers",
        (unsigned long long)o->n_files, o->n_files == 1 ? "" : "s", as_page_name(page, o->folder),
        n_outputs, n_outputs == 1 ? "" : "s", n_layers, n_layers == 1 ? "" : "s");
}

static void put_verdict(const struct as_outputs *o, struct as_page *page)
{
    size_t n = 0;

    if (!o->expect)
        return;
    for (size_t i = 0; i < o->n_rows; i++)
        n += o->rows[i].expected && !o->rows[i].is_layer;
    if (o->n_differ)
        as_page_pair(page, AS_STYLE_WARN, "compared",
                     "%llu of %zu output%s differ%s from %s (rtol %g, atol %g)",
                     (unsigned long long)o->n_differ, n, n == 1 ? "" : "s",
                     o->n_differ == 1 ? "s" : "", as_page_name(page, o->expect), o->rtol, o->atol);
    else
        as_page_pair(page, AS_STYLE_NONE, "compared", "%s with %s (rtol %g, atol %g)",
                     n == 1 ? "the output agrees" : "all outputs agree",
                     as_page_name(page, o->expect), o->rtol, o->atol);
}

static void put_first(const struct as_outputs *o, struct as_page *page)
{
    if (!o->bisected)
        return;
    if (o->differs_node) {
        as_page_pair(page, AS_STYLE_WARN, "bisect", "first difference in '%s', output of node '%s'",
                     as_page_name(page, o->differs_tensor), as_page_name(page, o->differs_node));
        if (o->n_unknown_inputs)
            as_page_pair(page, AS_STYLE_NONE, NULL,
                         "%llu of its inputs were not compared: the cause may lie before it",
                         (unsigned long long)o->n_unknown_inputs);
        else
            as_page_pair(page, AS_STYLE_NONE, NULL, "its inputs agree");
    } else {
        as_page_pair(page, o->n_differ ? AS_STYLE_WARN : AS_STYLE_NONE, "bisect", "%s",
                     o->n_differ
                         ? "no difference without fusion: every layer that was compared agrees, so "
                           "fused layers make it"
                         : "no difference: every layer that was compared agrees");
    }
}

/* Masks are infinite by intention: infinity alone is a warning only in an output. */
static void put_origin(const struct as_output_origin *from, bool is_nan, bool warns,
                       struct as_page *page)
{
    const char *kind = is_nan ? "NaN" : "infinity";

    if (!from->node)
        return;
    as_page_pair(page, warns ? AS_STYLE_WARN : AS_STYLE_NONE, is_nan ? "first NaN" : "first inf",
                 "%llu element%s of '%s', output of node '%s'", (unsigned long long)from->n,
                 from->n == 1 ? "" : "s", as_page_name(page, from->tensor),
                 as_page_name(page, from->node));
    if (from->source)
        as_page_pair(page, AS_STYLE_NONE, NULL, "its input '%s' holds %s already",
                     as_page_name(page, from->source), kind);
}

static void put_not_finite(const struct as_outputs *o, struct as_page *page)
{
    uint64_t n_nan = 0, n_inf = 0;

    for (size_t i = 0; i < o->n_rows; i++) {
        n_nan += o->rows[i].is_layer ? 0 : o->rows[i].n_nan;
        n_inf += o->rows[i].is_layer ? 0 : o->rows[i].n_inf;
    }
    if (n_nan + n_inf == 0)
        as_page_pair(page, AS_STYLE_NONE, "NaN", "no output holds NaN or infinity");
    put_origin(&o->nan, true, true, page);
    put_origin(&o->inf, false, n_inf > 0, page);
    if (o->no_layers)
        as_page_pair(page, AS_STYLE_WARN, "layers", "not looked at: %s",
                     as_page_name(page, o->no_layers));
}

static void put_row(const struct as_output_row *row, bool compared, struct as_page *page,
                    struct as_table *t)
{
    char text[NUMBER];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, row->name));
    as_table_text(t, AS_STYLE_NONE, row->dtype);
    as_table_text(t, AS_STYLE_NONE, row->shape);
    as_cell_count(t, row->n_nan);
    as_cell_count(t, row->n_inf);
    if (!compared)
        return;
    if (!row->expected) {
        for (int i = 0; i < 6; i++)
            as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    as_table_text(t, row->agrees ? AS_STYLE_NONE : AS_STYLE_WARN,
                  row->agrees ? "agrees" : "differs");
    as_cell_count(t, row->n_beyond);
    as_table_text(t, AS_STYLE_NONE, number(text, row->max_abs));
    as_table_text(t, AS_STYLE_NONE, number(text, row->max_rel));
    as_table_text(t, AS_STYLE_NONE, cosine(text, row->cosine));
    as_cell_share(t, row->top1);
}

static void put_rows(const struct as_profile_report *report, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "output", .may_shrink = true, .min_width = 12},
        {.title = "type"},
        {.title = "shape"},
        {.title = "NaN", .align = AS_ALIGN_RIGHT},
        {.title = "inf", .align = AS_ALIGN_RIGHT},
        {.title = "verdict"},
        {.title = "beyond", .align = AS_ALIGN_RIGHT},
        {.title = "max abs", .align = AS_ALIGN_RIGHT},
        {.title = "max rel", .align = AS_ALIGN_RIGHT},
        {.title = "cosine", .align = AS_ALIGN_RIGHT},
        {.title = "top-1", .align = AS_ALIGN_RIGHT},
    };
    const struct as_outputs *o = report->profile->data->outputs;
    size_t most = report->top ? report->top : USUAL_ROWS, n = 0;
    struct as_table t;

    as_table_init(&t, columns, o->expect ? AS_COUNT_OF(columns) : 5);
    for (size_t i = 0; i < o->n_rows; i++)
        if (is_shown(&o->rows[i]) && n++ < most)
            put_row(&o->rows[i], o->expect != NULL, page, &t);
    as_page_table(page, &t);
    if (n > most)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --top %zu", n - most, n);
    for (size_t i = 0; i < o->n_rows; i++)
        if (o->rows[i].note && !o->rows[i].is_layer)
            as_page_line(page, AS_STYLE_WARN, "! %s: %s", as_page_name(page, o->rows[i].name),
                         as_page_name(page, o->rows[i].note));
}

void as_profile_put_outputs(const struct as_profile_report *report, struct as_page *page)
{
    const struct as_outputs *o = report->profile->data->outputs;

    if (!o)
        return;
    as_page_heading(page, "Outputs", NULL);
    put_files(o, page);
    put_verdict(o, page);
    put_first(o, page);
    put_not_finite(o, page);
    put_rows(report, page);
}
