/* report/session/session_parts_text.c - pages about a session: values that stand out, nodes that
 * work together, backends compared. Only renders. */
#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/session/session_report.h"

#define USUAL_ROWS 5

static size_t rows_of(size_t top, size_t n)
{
    size_t most = top ? top : USUAL_ROWS;

    return most < n ? most : n;
}

static bool is_missing(struct as_page *page, const char *title, const char *why)
{
    as_page_heading(page, title, NULL);
    if (why)
        as_page_line(page, AS_STYLE_DIM, "not known: %s", why);
    return why != NULL;
}

static void tell_rest(struct as_page *page, size_t shown, size_t n)
{
    if (n > shown)
        as_page_line(page, AS_STYLE_DIM, "and %zu more", n - shown);
}

static void put_time(struct as_table *t, double seconds)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, seconds * 1e9, AS_TIME_AUTO);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void put_number(struct as_table *t, double value)
{
    if (isfinite(value))
        as_table_printf(t, AS_STYLE_NONE, "%.4g", value);
    else
        as_table_text(t, AS_STYLE_NONE, "-");
}

/* ---- anomalies ---- */

static void put_value(struct as_table *t, const struct as_view_anomaly *a, double value)
{
    if (strcmp(a->metric, "execution_time") == 0)
        put_time(t, value);
    else
        put_number(t, value);
}

void as_session_anomalies_page(struct as_page *page, const struct as_saved_profile *view,
                               size_t top)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .may_shrink = true, .min_width = 12},
        {.title = "metric", .may_shrink = true, .min_width = 8},
        {.title = "value", .align = AS_ALIGN_RIGHT},
        {.title = "median before", .align = AS_ALIGN_RIGHT},
        {.title = "z", .align = AS_ALIGN_RIGHT},
        {.title = "by"},
    };
    const struct as_view_anomalies *a = &view->parts.anomalies;
    size_t n = rows_of(top, a->n);
    struct as_table t;

    if (is_missing(page, "Anomalies", a->why))
        return;
    if (a->count == 0) {
        as_page_line(page, AS_STYLE_GOOD, "none of %llu values stands out from those before it",
                     (unsigned long long)a->values);
        return;
    }
    as_page_line(page, AS_STYLE_WARN, "%llu of %llu values stand%s out from those before",
                 (unsigned long long)a->count, (unsigned long long)a->values,
                 a->count == 1 ? "s" : "");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, a->list[i].layer));
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, a->list[i].metric));
        put_value(&t, &a->list[i], a->list[i].value);
        put_value(&t, &a->list[i], a->list[i].median);
        put_number(&t, a->list[i].z);
        as_table_text(&t, AS_STYLE_DIM, as_page_name(page, a->list[i].test));
    }
    as_page_table(page, &t);
    tell_rest(page, n, a->n);
}

/* ---- nodes ---- */

static void put_nodes(struct as_page *page, const struct as_view_distributed *d, size_t top)
{
    static const struct as_table_column columns[] = {
        {.title = "node", .may_shrink = true, .min_width = 8},
        {.title = "time", .align = AS_ALIGN_RIGHT},
        {.title = "over the mean", .align = AS_ALIGN_RIGHT},
        {.title = "communication", .align = AS_ALIGN_RIGHT},
        {.title = "synchronization", .align = AS_ALIGN_RIGHT},
        {.title = "barrier wait", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    size_t n = rows_of(top, d->n_nodes);
    char text[AS_TEXT_HUMAN];
    struct as_table t;

    if (n == 0)
        return;
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        const struct as_view_node *node = &d->node[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, node->id));
        put_time(&t, node->seconds);
        as_text_percent(text, node->over_mean);
        as_table_text(&t, AS_STYLE_NONE, text);
        put_time(&t, node->communication_ms * 1e-3);
        put_time(&t, node->synchronization_ms * 1e-3);
        put_time(&t, node->barrier_wait_ms * 1e-3);
    }
    as_page_table(page, &t);
    tell_rest(page, n, d->n_nodes);
}

void as_session_distributed_page(struct as_page *page, const struct as_saved_profile *view,
                                 size_t top)
{
    const struct as_view_distributed *d = &view->parts.distributed;
    size_t n = rows_of(top, d->n_findings);

    if (is_missing(page, "Distributed", d->why))
        return;
    if (d->n_findings == 0)
        as_page_line(page, AS_STYLE_GOOD, "%llu node%s: nothing stands out",
                     (unsigned long long)d->nodes, d->nodes == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        const struct as_view_finding *f = &d->finding[i];
        enum as_style style = strcmp(f->severity, "high") == 0 ? AS_STYLE_BAD : AS_STYLE_WARN;

        as_page_line(page, style, "[%s] %s: %s. %s.", as_page_name(page, f->severity),
                     as_page_name(page, f->type), as_page_name(page, f->details),
                     as_page_name(page, f->recommendation));
    }
    tell_rest(page, n, d->n_findings);
    put_nodes(page, d, top);
}

/* ---- backends ---- */

void as_session_backends_page(struct as_page *page, const struct as_saved_profile *view, size_t top)
{
    static const struct as_table_column columns[] = {
        {.title = "backend", .may_shrink = true, .min_width = 8},
        {.title = "total", .align = AS_ALIGN_RIGHT},
        {.title = "layers won", .align = AS_ALIGN_RIGHT},
        {.title = "peak memory", .align = AS_ALIGN_RIGHT},
        {.title = "energy J", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    const struct as_view_backends *b = &view->parts.backends;
    size_t n = rows_of(top, b->n);
    char text[AS_TEXT_HUMAN];
    struct as_table t;

    if (is_missing(page, "Backends", b->why))
        return;
    if (*b->recommendation)
        as_page_line(page, AS_STYLE_NONE, "%s", as_page_name(page, b->recommendation));
    if (*b->unequal)
        as_page_line(page, AS_STYLE_WARN, "their work was not the same: %s",
                     as_page_name(page, b->unequal));
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, b->list[i].name));
        put_time(&t, b->list[i].total_time);
        put_number(&t, b->list[i].layer_wins);
        as_text_bytes(text, b->list[i].peak_memory_mb * AS_MIB);
        as_table_text(&t, AS_STYLE_NONE, text);
        put_number(&t, b->list[i].energy_j);
    }
    as_page_table(page, &t);
    tell_rest(page, n, b->n);
}
