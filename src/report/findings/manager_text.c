/* report/findings/manager_text.c - the sections of what only a manager finds: values that stand
 * out, nodes that work together, backends compared. Only renders. */
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/findings/findings_report.h"

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
        as_page_line(page, AS_STYLE_DIM, "unknown: %s", why);
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

static void put_value(struct as_table *t, const struct assay_anomaly *a, double value)
{
    if (strcmp(a->metric, "execution_time") == 0)
        put_time(t, value);
    else
        put_number(t, value);
}

/* The farthest from those before it first; without spread before it, any value is infinitely far.
 */
static struct as_order_key how_far(const void *row, const void *user)
{
    const struct assay_anomaly *a = *(const struct assay_anomaly *const *)row, *first = user;

    return (struct as_order_key){isnan(a->z) ? (double)INFINITY : fabs(a->z), a->layer,
                                 (size_t)(a - first)};
}

static void put_anomalies(struct as_page *page, const struct as_anomaly_report *a,
                          const struct assay_anomaly **order, size_t n)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .identity = true, .min_width = 12},
        {.title = "metric", .may_shrink = true, .min_width = 8},
        {.title = "value", .align = AS_ALIGN_RIGHT},
        {.title = "median before", .align = AS_ALIGN_RIGHT},
        {.title = "z", .align = AS_ALIGN_RIGHT},
        {.title = "by"},
    };
    struct as_table t;

    for (size_t i = 0; i < a->n; i++)
        order[i] = &a->list[i];
    as_order_sort(order, a->n, sizeof(const struct assay_anomaly *), how_far, a->list);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, order[i]->layer));
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, order[i]->metric));
        put_value(&t, order[i], order[i]->value);
        put_value(&t, order[i], order[i]->median);
        put_number(&t, order[i]->z);
        as_table_text(&t, AS_STYLE_DIM, assay_anomaly_test_name(order[i]->tests));
    }
    as_page_table(page, &t);
    tell_rest(page, n, a->n);
}

int as_section_anomalies(const struct as_report *report, struct as_page *page,
                         struct assay_error *err)
{
    const struct as_manager_run *run = report->view->manager;
    const struct as_anomaly_report *a = &run->anomalies;
    const struct assay_anomaly **order =
        as_arena_zero(&page->arena, a->n + 1, sizeof(const struct assay_anomaly *));
    const uint64_t count = a->summary.n_anomalies;

    if (!order)
        return as_fail_nomem(err);
    if (is_missing(page, "Anomalies", run->reason[AS_PART_ANOMALIES]))
        return ASSAY_OK;
    if (count == 0) {
        as_page_line(page, AS_STYLE_GOOD, "no anomaly in %llu values",
                     (unsigned long long)a->summary.n_values);
        return ASSAY_OK;
    }
    as_page_line(page, AS_STYLE_WARN, "%llu anomal%s in %llu values", (unsigned long long)count,
                 count == 1 ? "y" : "ies", (unsigned long long)a->summary.n_values);
    put_anomalies(page, a, order, rows_of(report->options->top, a->n));
    return ASSAY_OK;
}

/* ---- nodes ---- */

static void put_nodes(struct as_page *page, const struct assay_load_balance *d, size_t top)
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
        const struct assay_node_load *node = &d->nodes[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, node->id));
        put_time(&t, node->seconds);
        as_text_percent(text, node->over_mean);
        as_table_text(&t, AS_STYLE_NONE, text);
        put_time(&t, node->communication_ms / 1e3);
        put_time(&t, node->synchronization_ms / 1e3);
        put_time(&t, node->barrier_wait_ms / 1e3);
    }
    as_page_table(page, &t);
    tell_rest(page, n, d->n_nodes);
}

int as_section_distributed(const struct as_report *report, struct as_page *page,
                           struct assay_error *err)
{
    const struct as_manager_run *run = report->view->manager;
    const struct assay_distributed_result *d = &run->distributed;
    const size_t top = report->options->top, n = rows_of(top, d->n_findings);

    (void)err;
    if (is_missing(page, "Distributed", run->reason[AS_PART_DISTRIBUTED]))
        return ASSAY_OK;
    if (d->n_findings == 0)
        as_page_line(page, AS_STYLE_GOOD, "%zu rank%s: no findings", d->total_nodes,
                     d->total_nodes == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        const struct assay_finding *f = &d->findings[i];

        as_page_line(page, f->confidence == ASSAY_CONFIDENCE_HIGH ? AS_STYLE_BAD : AS_STYLE_WARN,
                     "%s, severity %.0f: %s. %s.", as_page_name(page, f->rule), f->severity,
                     as_page_name(page, f->finding), as_page_name(page, f->action));
    }
    tell_rest(page, n, d->n_findings);
    put_nodes(page, &d->load, top);
    return ASSAY_OK;
}

/* ---- backends ---- */

int as_section_backends(const struct as_report *report, struct as_page *page,
                        struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "backend", .may_shrink = true, .min_width = 8},
        {.title = "total", .align = AS_ALIGN_RIGHT},
        {.title = "layers won", .align = AS_ALIGN_RIGHT},
        {.title = "peak memory", .align = AS_ALIGN_RIGHT},
        {.title = "energy J", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    const struct as_manager_run *run = report->view->manager;
    const struct assay_comparison *b = &run->backends;
    const char *why = run->reason[AS_PART_BACKENDS];
    size_t n = rows_of(report->options->top, b->n_backends);
    char text[AS_TEXT_HUMAN];
    struct as_table t;

    (void)err;
    if (is_missing(page, "Backends", why ? why : b->error))
        return ASSAY_OK;
    if (b->summary.recommendation)
        as_page_line(page, AS_STYLE_NONE, "%s", as_page_name(page, b->summary.recommendation));
    if (b->summary.why_unequal)
        as_page_line(page, AS_STYLE_WARN, "their work was not the same: %s",
                     as_page_name(page, b->summary.why_unequal));
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, b->backends[i].backend));
        put_time(&t, b->backends[i].total_seconds);
        put_number(&t, (double)b->backends[i].layer_wins);
        as_text_bytes(text, b->backends[i].peak_memory_mb * AS_MIB);
        as_table_text(&t, AS_STYLE_NONE, text);
        put_number(&t, b->backends[i].energy_j);
    }
    as_page_table(page, &t);
    tell_rest(page, n, b->n_backends);
    return ASSAY_OK;
}
