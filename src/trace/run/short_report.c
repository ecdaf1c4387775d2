/* trace/run/short_report.c - a run as one small table of layers, for programs that report as they
 * end. */
#include "trace/run/short_report.h"

#include <assay/scope.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text/table.h"
#include "base/text/text.h"
#include "base/units.h"
#include "trace/run/run_reader.h"
#include "trace/run/span_walk.h"

/* One site. The rules are those of analyze/run/layers.h: only calls with an end count, a recursive
 * call is in the total time once, phases are not layers. */
struct row {
    uint32_t site, on_stack;
    uint64_t calls, failed, incomplete, sum_ns, total_ns, self_ns, first_ns;
};

struct totals {
    const struct as_run *run;
    struct row *row; /* by site; 0 stands for ids the run does not name */
    uint64_t calls, failed, self_ns, lost, first_ns, last_ns;
    size_t n_threads, n_layers;
    bool lost_unknown;
};

static struct row *row_of(const struct totals *t, uint32_t site)
{
    return &t->row[site <= t->run->n_sites ? site : 0];
}

static bool is_layer(const struct totals *t, uint32_t site)
{
    return as_run_site_at(t->run, site)->category != ASSAY_CATEGORY_PHASE;
}

static void on_begin(void *user, uint32_t site, uint32_t depth, uint64_t ns)
{
    struct row *r = row_of(user, site);

    (void)depth;
    if (!r->calls && !r->incomplete && !r->on_stack)
        r->first_ns = ns;
    r->first_ns = ns < r->first_ns ? ns : r->first_ns;
    r->on_stack++;
}

static void on_end(void *user, const struct as_span *span)
{
    struct row *r = row_of(user, span->site);
    uint64_t ns = span->end_ns - span->start_ns;

    r->on_stack--;
    if (span->state != AS_SPAN_OK && span->state != AS_SPAN_FAILED) {
        r->incomplete++;
        return;
    }
    r->calls++;
    r->failed += span->state == AS_SPAN_FAILED;
    r->sum_ns += ns;
    r->self_ns += ns > span->child_ns ? ns - span->child_ns : 0;
    if (r->on_stack == 0)
        r->total_ns += ns;
}

static void on_loss(void *user, uint64_t from_ns, uint64_t to_ns, uint64_t n_events)
{
    struct totals *t = user;

    (void)from_ns, (void)to_ns;
    t->lost += n_events;
    t->lost_unknown |= n_events == 0;
}

static int walk(struct totals *t, struct as_run *run, struct assay_error *err)
{
    const struct as_span_visitor visitor = {
        .user = t, .begin = on_begin, .end = on_end, .loss = on_loss};
    struct as_walk_counts counts;
    int rc = ASSAY_OK;

    t->first_ns = UINT64_MAX;
    for (size_t i = 0; i < run->n_threads && rc == ASSAY_OK; i++) {
        rc = as_span_walk(run, &run->thread[i], &visitor, &counts, err);
        t->n_threads += !as_run_thread_is_ours(&run->thread[i]);
        if (rc < 0 || counts.events == 0)
            continue;
        t->first_ns = counts.first_ns < t->first_ns ? counts.first_ns : t->first_ns;
        t->last_ns = counts.last_ns > t->last_ns ? counts.last_ns : t->last_ns;
    }
    if (t->first_ns == UINT64_MAX)
        t->first_ns = t->last_ns;
    if (run->health.closed || run->health.write_sys) /* those without a place are known too */
        t->lost = as_run_health_lost(&run->health);
    return rc;
}

static int by_self(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

/* Layers in front, largest self time first; sums of them. */
static void order_rows(struct totals *t)
{
    for (uint32_t site = 0; site <= t->run->n_sites; site++) {
        struct row r = t->row[site];

        r.site = site;
        if (!is_layer(t, site) || r.calls + r.incomplete == 0)
            continue;
        t->row[t->n_layers++] = r;
        t->calls += r.calls;
        t->failed += r.failed;
        t->self_ns += r.self_ns;
    }
    qsort(t->row, t->n_layers, sizeof *t->row, by_self);
}

static void put_ms(struct as_table *table, uint64_t ns)
{
    char text[AS_TEXT_FLOAT];

    as_text_decimal(text, ns, 6);
    as_table_text(table, AS_STYLE_NONE, text);
}

static void put_row(struct as_table *table, const struct totals *t, const struct row *r)
{
    char text[AS_TEXT_HUMAN];

    as_table_row(table);
    as_table_text(table, AS_STYLE_NONE, as_run_site_at(t->run, r->site)->name);
    as_table_printf(table, AS_STYLE_NONE, "%llu", (unsigned long long)r->calls);
    put_ms(table, r->total_ns);
    put_ms(table, r->self_ns);
    as_text_percent(text, t->self_ns ? (double)r->self_ns / (double)t->self_ns : AS_UNKNOWN);
    as_table_text(table, AS_STYLE_NONE, text);
    as_text_fixed(text, r->calls ? (double)r->sum_ns / (double)r->calls / 1e6 : AS_UNKNOWN, 6);
    as_table_text(table, AS_STYLE_NONE, text[0] ? text : "-");
}

static void put_title(const struct totals *t, struct as_out *out)
{
    char wall[AS_TEXT_HUMAN];

    as_text_ns(wall, (double)(t->last_ns - t->first_ns), AS_TIME_AUTO);
    as_out_printf(out, "assay: %s wall, %zu thread%s, %zu layer%s, %llu call%s", wall, t->n_threads,
                  t->n_threads == 1 ? "" : "s", t->n_layers, t->n_layers == 1 ? "" : "s",
                  (unsigned long long)t->calls, t->calls == 1 ? "" : "s");
    if (t->failed)
        as_out_printf(out, " (%llu failed)", (unsigned long long)t->failed);
    as_out_char(out, '\n');
    if (t->lost || t->lost_unknown)
        as_out_printf(out, "! %s%llu events were lost\n", t->lost_unknown ? "at least " : "",
                      (unsigned long long)t->lost);
}

static int put_table(const struct totals *t, struct as_out *out, struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .max_width = 60},
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "total ms", .align = AS_ALIGN_RIGHT},
        {.title = "self ms", .align = AS_ALIGN_RIGHT},
        {.title = "share", .align = AS_ALIGN_RIGHT},
        {.title = "mean ms", .align = AS_ALIGN_RIGHT},
    };
    const struct as_term term = {.width = AS_TERM_WIDTH_MAX};
    struct as_table table;
    int rc;

    as_table_init(&table, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < t->n_layers; i++)
        put_row(&table, t, &t->row[i]);
    rc = as_table_print(&table, out, &term, err);
    as_table_fini(&table);
    return rc < 0 ? rc : ASSAY_OK;
}

int as_short_report(const char *path, struct as_out *out, struct assay_error *err)
{
    struct totals t = {0};
    struct as_run *run = NULL;
    int rc = as_run_open(&run, path, err);

    if (rc < 0)
        return rc;
    t.run = run;
    t.row = as_alloc_zero((size_t)run->n_sites + 1, sizeof *t.row);
    rc = t.row ? walk(&t, run, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        order_rows(&t);
        put_title(&t, out);
        if (t.n_layers)
            rc = put_table(&t, out, err);
    }
    as_free(t.row);
    as_run_close(run);
    return rc;
}
