/* report/watch/watch_tables_text.c - the lists of a watched program: processes, heap, matrix
 * products. A list that is cut says by how much. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/watch/target_read.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/page/page.h"
#include "report/watch/watch_report.h"

#define BRIEF           3u /* of each, on the page without a choice */
#define USUAL_PROCESSES 15u
#define USUAL_SITES     10u
#define USUAL_MAPPINGS  5u
#define USUAL_STACKS    3u
#define USUAL_LAYERS    10u
#define USUAL_PRODUCTS  12u
#define STACK_FRAMES    8u
#define PLACE_TEXT      2200

static size_t rows_of(const struct as_watch_view *view, size_t usual, size_t n)
{
    size_t most = view->top ? view->top : view->brief && usual > BRIEF ? BRIEF : usual;

    return most < n ? most : n;
}

static void tell_more(struct as_page *page, size_t shown, size_t n, const char *what)
{
    if (shown < n)
        as_page_line(page, AS_STYLE_DIM, "%zu more %s: --top %zu shows all", n - shown, what, n);
}

static void cell_bytes(struct as_table *t, double bytes)
{
    char text[AS_TEXT_HUMAN];

    as_text_bytes(text, bytes);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void cell_fact_bytes(struct as_table *t, struct as_fact fact)
{
    cell_bytes(t, fact.why ? AS_UNKNOWN : (double)fact.value);
}

static void cell_fact_count(struct as_table *t, struct as_fact fact)
{
    if (fact.why)
        as_table_text(t, AS_STYLE_NONE, "-");
    else
        as_cell_count(t, fact.value);
}

static void cell_ns(struct as_table *t, double ns)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, ns, AS_TIME_AUTO);
    as_table_text(t, AS_STYLE_NONE, text);
}

static void cell_si(struct as_table *t, double value)
{
    char text[AS_TEXT_HUMAN];

    as_text_si(text, value, NULL);
    as_table_text(t, AS_STYLE_NONE, text);
}

/* ---- processes ---- */

static double cpu_ns(const struct as_process_row *r)
{
    if (r->cpu_user_ns.why || r->cpu_system_ns.why)
        return AS_UNKNOWN;
    return (double)r->cpu_user_ns.value + (double)r->cpu_system_ns.value;
}

static double lived_ns(const struct as_target *p, const struct as_process_row *r)
{
    double end = isfinite(r->end_seconds) ? r->end_seconds : p->wall_seconds;

    return end >= r->start_seconds ? (end - r->start_seconds) * 1e9 : AS_UNKNOWN;
}

struct ordered {
    const struct as_process_row *row;
};

/* Most CPU time first; those of the same in order of start. */
static int by_cost(const void *a, const void *b)
{
    const struct as_process_row *x = ((const struct ordered *)a)->row;
    const struct as_process_row *y = ((const struct ordered *)b)->row;
    double of_x = isfinite(cpu_ns(x)) ? cpu_ns(x) : 0, of_y = isfinite(cpu_ns(y)) ? cpu_ns(y) : 0;

    if (of_x > of_y || of_x < of_y)
        return of_x < of_y ? 1 : -1;
    return (x > y) - (x < y);
}

static struct ordered *order_by_cost(const struct as_target *p, struct as_page *page)
{
    struct ordered *order = as_arena_alloc(&page->arena, p->n_processes * sizeof *order);

    page->nomem |= !order;
    for (size_t i = 0; order && i < p->n_processes; i++)
        order[i].row = &p->process[i];
    if (order)
        qsort(order, p->n_processes, sizeof *order, by_cost);
    return order;
}

void as_watch_put_processes(const struct as_watch_view *view, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "pid", .align = AS_ALIGN_RIGHT},
        {.title = "parent", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "command", .may_shrink = true, .min_width = 20, .max_width = 60},
        {.title = "from", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "lifetime", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "cpu", .align = AS_ALIGN_RIGHT},
        {.title = "run delay", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "peak", .align = AS_ALIGN_RIGHT},
        {.title = "faults", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "threads", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "read", .align = AS_ALIGN_RIGHT, .drop = 6},
        {.title = "written", .align = AS_ALIGN_RIGHT, .drop = 7},
        {.title = "I/O wait", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "heap", .drop = 8},
    };
    const struct as_target *p = view->target;
    size_t shown = rows_of(view, USUAL_PROCESSES, p->n_processes);
    const struct ordered *order;
    struct as_table t;

    if (p->n_processes == 0)
        return;
    order = order_by_cost(p, page);
    if (!order)
        return;
    as_page_heading(page, "Processes", "by CPU time");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        const struct as_process_row *r = order[i].row;

        as_table_row(&t);
        as_table_printf(&t, AS_STYLE_NONE, "%lld", (long long)r->pid);
        as_table_printf(&t, AS_STYLE_NONE, "%lld", (long long)r->parent_pid);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, r->name));
        cell_ns(&t, r->start_seconds * 1e9);
        cell_ns(&t, lived_ns(p, r));
        cell_ns(&t, cpu_ns(r));
        cell_ns(&t, r->run_delay_ns.why ? AS_UNKNOWN : (double)r->run_delay_ns.value);
        cell_fact_bytes(&t, r->peak_rss_bytes);
        cell_fact_count(&t, r->minor_faults);
        cell_fact_count(&t, r->threads_most);
        cell_fact_bytes(&t, r->read_bytes);
        cell_fact_bytes(&t, r->written_bytes);
        cell_ns(&t, r->io_wait_ns.why ? AS_UNKNOWN : (double)r->io_wait_ns.value);
        as_table_text(&t, AS_STYLE_NONE, r->heap_watched ? "watched" : "-");
    }
    as_page_table(page, &t);
    tell_more(page, shown, p->n_processes, "processes");
    if (p->processes_left_out)
        as_page_line(page, AS_STYLE_DIM, "%llu processes beyond the limit were not followed",
                     (unsigned long long)p->processes_left_out);
}

/* ---- heap ---- */

static void put_peak(const struct as_target *p, struct as_page *page)
{
    const struct as_heap_totals *h = &p->heap;
    char n[AS_TEXT_HUMAN], blocks[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN], slack[AS_TEXT_HUMAN];

    as_text_bytes(peak, (double)h->peak_bytes);
    as_text_bytes(slack, (double)h->peak_slack_bytes);
    as_text_bytes(n, (double)h->live_bytes);
    as_text_count(blocks, h->live_blocks);
    if (h->peak_slack_bytes)
        as_page_line(page, AS_STYLE_NONE,
                     "peak %s (up to %s lower); live at the end %s in %s blocks", peak, slack, n,
                     blocks);
    else
        as_page_line(page, AS_STYLE_NONE, "peak %s; live at the end %s in %s blocks", peak, n,
                     blocks);
}

static void put_totals(const struct as_target *p, struct as_page *page)
{
    const struct as_heap_totals *h = &p->heap;
    char n[AS_TEXT_HUMAN], rate[AS_TEXT_HUMAN], bytes[AS_TEXT_HUMAN], freed[AS_TEXT_HUMAN];
    double temporary = 0;

    for (size_t i = 0; i < p->n_places; i++)
        temporary += (double)p->place[i].site.temporary;
    as_text_count(n, h->allocations);
    as_text_si(rate, p->wall_seconds > 0 ? (double)h->allocations / p->wall_seconds : AS_UNKNOWN,
               NULL);
    as_text_bytes(bytes, (double)h->allocated_bytes);
    as_text_count(freed, h->frees);
    as_page_line(page, AS_STYLE_NONE, "%s allocations of %s in total, %s per second; %s freed", n,
                 bytes, rate, freed);
    as_text_si(n, temporary, NULL);
    as_text_percent(rate, h->allocations ? temporary / (double)h->allocations : AS_UNKNOWN);
    as_page_line(page, AS_STYLE_NONE,
                 "%s temporary: freed before their thread allocated again (%s)", n, rate);
    put_peak(p, page);
    if (h->mapped_live_bytes) {
        as_text_bytes(n, (double)h->mapped_live_bytes);
        as_page_line(page, AS_STYLE_NONE,
                     "in addition %s mapped (address space, not all of it resident)", n);
    }
    if (h->unplaced) {
        as_text_count(n, h->unplaced);
        as_page_line(page, AS_STYLE_WARN,
                     "%s allocations are in the sums but in no site: the "
                     "tables were full",
                     n);
    }
    if (p->n_heaps > 1)
        as_page_line(page, AS_STYLE_DIM,
                     "sums of %zu watched programs; the peak is of those running at the same time, "
                     "and sites are reported at their own peak",
                     p->n_heaps);
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : AS_UNKNOWN;
}

/* The part of a number that is this caller's. A part of nothing is known. */
static void cell_part_bytes(struct as_table *t, double bytes, double part, bool estimate)
{
    char text[AS_TEXT_HUMAN];

    as_text_bytes(text, bytes * part);
    as_table_printf(t, AS_STYLE_NONE, "%s%s", estimate && bytes > 0 ? "~" : "", text);
}

static void cell_part_count(struct as_table *t, uint64_t count, double part, bool estimate)
{
    char text[AS_TEXT_HUMAN];
    double of_it = (double)count * part;

    as_text_count(text, estimate && of_it < 0x1p63 ? (uint64_t)llround(of_it) : count);
    as_table_printf(t, AS_STYLE_NONE, "%s%s", estimate && count ? "~" : "", text);
}

static void put_site(struct as_table *t, struct as_page *page, const struct as_target *p,
                     const struct as_target_row *row)
{
    const struct as_target_site *place = row->place;
    const struct as_heap_site *s = &place->site;
    const struct as_target_caller *c = row->caller;
    bool estimate = c && c->estimate;
    double part = c ? c->share : 1, live_part = c ? c->live_share : 1;
    double peak_part = c ? c->peak_share : 1;
    double peak = place->peak_known ? (double)s->peak_live_bytes : AS_UNKNOWN;
    char where[PLACE_TEXT];

    as_target_row_owner(p, row, where, sizeof where);
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, where));
    as_table_text(t, AS_STYLE_NONE, as_heap_kind_name(s->kind));
    cell_part_bytes(t, peak, peak_part, estimate);
    as_cell_share(t, p->heap.peak_bytes && !place->apart
                         ? peak * peak_part / (double)p->heap.peak_bytes
                         : AS_UNKNOWN);
    cell_part_bytes(t, (double)s->live_bytes, live_part, estimate);
    cell_part_bytes(t, (double)s->allocated_bytes, part, estimate);
    cell_part_count(t, s->allocations, part, estimate);
    /* Which of them is freed at once no sample tells; what grows is what stays. */
    as_cell_share(t, estimate ? AS_UNKNOWN : share_of(s->temporary, s->allocations));
    cell_part_bytes(t,
                    place->growing && live_part > 0 ? place->growth_bytes_per_second : AS_UNKNOWN,
                    live_part, estimate);
    as_table_text(t, AS_STYLE_NONE, as_page_name(page, s->layer));
}

static void put_sites(const struct as_watch_view *view, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "allocated at", .may_shrink = true, .min_width = 36},
        {.title = "kind", .drop = 6},
        {.title = "at peak", .align = AS_ALIGN_RIGHT},
        {.title = "share", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "at end", .align = AS_ALIGN_RIGHT},
        {.title = "allocated", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "calls", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "temporary", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "growth/s", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "layer", .identity = true, .max_width = 24, .drop = 5},
    };
    const struct as_target *p = view->target;
    size_t shown = rows_of(view, USUAL_SITES, p->n_rows);
    bool estimates = false;
    struct as_table t;

    if (p->n_rows == 0)
        return;
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        put_site(&t, page, p, &p->row[i]);
        estimates |= p->row[i].caller && p->row[i].caller->estimate;
    }
    as_page_table(page, &t);
    if (estimates)
        as_page_line(page, AS_STYLE_DIM,
                     "~ estimated: the counts of an allocation function, divided among its callers "
                     "by sampled stacks");
    tell_more(page, shown, p->n_rows, "sites");
}

static void put_mappings(const struct as_watch_view *view, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "mapped at", .may_shrink = true, .min_width = 36},
        {.title = "at end", .align = AS_ALIGN_RIGHT},
        {.title = "mapped in all", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "calls", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "growth/s", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    const struct as_target *p = view->target;
    size_t n = p->n_places - p->n_heap_places, shown = rows_of(view, USUAL_MAPPINGS, n);
    char where[PLACE_TEXT];
    struct as_table t;

    if (n == 0)
        return;
    as_page_heading(page, "Mappings", "address space, not all of it resident");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        const struct as_target_site *place = &p->place[p->n_heap_places + i];

        as_target_site_owner(p, place, where, sizeof where);
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, where));
        cell_bytes(&t, (double)place->site.live_bytes);
        cell_bytes(&t, (double)place->site.allocated_bytes);
        as_cell_count(&t, place->site.allocations);
        cell_bytes(&t, place->growing ? place->growth_bytes_per_second : AS_UNKNOWN);
    }
    as_page_table(page, &t);
    tell_more(page, shown, n, "mappings");
}

static void tell_sites(const struct as_target *p, struct as_page *page)
{
    if (p->places_left_out)
        as_page_line(page, AS_STYLE_DIM, "the %llu sites that allocated least were not kept",
                     (unsigned long long)p->places_left_out);
    if (p->n_places && !p->symbols_known)
        as_page_line(page, AS_STYLE_DIM, "no symbol names: the program left no map of its memory");
}

/* Allocation functions that only pass the call on are left out, when somebody calls them. */
static uint32_t callers_from(const struct as_heap_trace *trace)
{
    uint32_t i = 0;

    while (i < trace->n_frames && trace->frame[i]->wrapper)
        i++;
    return i < trace->n_frames ? i : 0;
}

/* A function that calls itself at the same line is one line of the page. */
static void put_frames(struct as_page *page, const struct as_heap_trace *trace, uint32_t from)
{
    const char *indent = page->markdown ? "" : "    ";
    char where[PLACE_TEXT], times[40];
    uint32_t k = from, next;

    for (uint32_t lines = 0; k < trace->n_frames && lines < STACK_FRAMES; lines++, k = next) {
        for (next = k + 1; next < trace->n_frames && trace->frame[next] == trace->frame[k]; next++)
            ;
        as_heap_frame_text(trace->frame[k], where, sizeof where);
        times[0] = '\0';
        if (next - k > 1)
            (void)snprintf(times, sizeof times, "  %u times", next - k);
        as_page_cut_line(page, AS_STYLE_DIM, "%s%s%s", indent, as_page_name(page, where), times);
    }
    if (k < trace->n_frames)
        as_page_line(page, AS_STYLE_DIM, "%sand %u more", indent, trace->n_frames - k);
}

static void put_stacks(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;
    size_t shown = rows_of(view, USUAL_STACKS, p->n_traces);
    char bytes[AS_TEXT_HUMAN], live[AS_TEXT_HUMAN], peak[AS_TEXT_HUMAN];

    if (p->lines_why)
        as_page_line(page, AS_STYLE_DIM, "lines are missing: %s", as_page_name(page, p->lines_why));
    if (shown == 0)
        return;
    as_page_heading(page, "Heap stacks", "largest by allocated bytes, estimated from samples");
    for (size_t i = 0; i < shown; i++) {
        const struct as_heap_trace *trace = &p->trace[i];

        as_text_bytes(bytes, trace->stack.allocated_bytes);
        as_text_bytes(live, trace->stack.live_bytes);
        as_text_bytes(peak, trace->stack.peak_live_bytes);
        as_page_line(page, AS_STYLE_NONE,
                     "%s%s allocated, %s live at the peak, %s at the end, by %llu sample%s%s",
                     as_watch_bullet(page), bytes, peak, live,
                     (unsigned long long)trace->stack.samples, trace->stack.samples == 1 ? "" : "s",
                     trace->stack.samples < AS_TRACE_FEW_SAMPLES ? ": a rough estimate" : "");
        put_frames(page, trace, callers_from(trace));
    }
    tell_more(page, shown, p->n_traces, "stacks");
    if (p->heap.stacks_lost)
        as_page_line(page, AS_STYLE_WARN,
                     "%llu samples have no stack: the tables were full or not there yet",
                     (unsigned long long)p->heap.stacks_lost);
}

static void put_layers(const struct as_watch_view *view, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "layer", .identity = true, .min_width = 16},
        {.title = "calls", .align = AS_ALIGN_RIGHT},
        {.title = "maximum within a call", .align = AS_ALIGN_RIGHT},
        {.title = "kept", .align = AS_ALIGN_RIGHT},
    };
    const struct as_target *p = view->target;
    size_t shown = rows_of(view, USUAL_LAYERS, p->n_layers);
    char bytes[AS_TEXT_HUMAN];
    struct as_table t;

    if (p->n_layers == 0)
        return;
    as_page_heading(page, "Heap by layer", NULL);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        const struct as_heap_layer *l = &p->layer[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, l->name));
        as_cell_count(&t, l->calls);
        cell_bytes(&t, (double)l->peak_within_bytes);
        as_text_bytes(bytes, fabs((double)l->net_bytes));
        as_table_printf(&t, AS_STYLE_NONE, "%s%s", l->net_bytes < 0 ? "-" : "", bytes);
    }
    as_page_table(page, &t);
    tell_more(page, shown, p->n_layers, "layers");
}

/* What was counted is then not what used the memory. */
static void tell_unwatched(const struct as_target *p, struct as_page *page)
{
    const struct as_process_row *r = as_target_largest_unwatched(p);
    char bytes[AS_TEXT_HUMAN];

    if (!r)
        return;
    as_text_bytes(bytes, (double)r->peak_rss_bytes.value);
    as_page_line(page, AS_STYLE_WARN,
                 "the largest process is not in it: %.80s (pid %lld, peak %s); --follow watches "
                 "children",
                 as_page_name(page, r->name), (long long)r->pid, bytes);
}

void as_watch_put_heap(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;

    as_page_heading(page, "Heap",
                    p->heap_known ? "sites by live bytes at the peak or at the end" : NULL);
    if (!p->heap_known) {
        as_page_line(page, AS_STYLE_NONE, "Not watched%s%s.", p->heap_why ? ": " : "",
                     p->heap_why ? as_page_name(page, p->heap_why) : "");
        return;
    }
    if (p->heap_why)
        as_page_line(page, AS_STYLE_WARN, "watched in part: %s", as_page_name(page, p->heap_why));
    tell_unwatched(p, page);
    if (view->brief) {
        put_peak(p, page);
        put_sites(view, page);
        tell_sites(p, page);
        return;
    }
    put_totals(p, page);
    put_sites(view, page);
    put_mappings(view, page);
    tell_sites(p, page);
    put_stacks(view, page);
    put_layers(view, page);
}

/* ---- matrix products ---- */

static bool has_drivers(const struct as_target *p)
{
    for (size_t i = 0; i < p->n_gemm; i++)
        if (as_gemm_is_driver(&p->gemm[i]))
            return true;
    return false;
}

void as_watch_put_gemm(const struct as_watch_view *view, struct as_page *page)
{
    static const struct as_table_column columns[] = {
        {.title = "function", .identity = true, .min_width = 10},
        {.title = "type", .drop = 2},
        {.title = "shape"}, /* a cut one would tell another size */
        {.title = "calls", .align = AS_ALIGN_RIGHT, .drop = 1}, /* no time is a call's without */
        {.title = "time", .align = AS_ALIGN_RIGHT},
        {.title = "of wall", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "FLOP/s", .align = AS_ALIGN_RIGHT},
        {.title = "roofline", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "min", .align = AS_ALIGN_RIGHT, .drop = 6},
        {.title = "max", .align = AS_ALIGN_RIGHT, .drop = 5},
    };
    const struct as_target *p = view->target;
    size_t shown = rows_of(view, USUAL_PRODUCTS, p->n_gemm);
    char share[AS_TEXT_HUMAN];
    struct as_table t;

    if (p->n_gemm == 0 && !p->gemm_why)
        return;
    as_page_heading(page, has_drivers(p) ? "GEMM and LAPACK calls" : "GEMM calls",
                    p->n_gemm ? "by total time of the calls" : NULL);
    if (p->gemm_why)
        as_page_line(page, AS_STYLE_DIM, "%s", as_page_name(page, p->gemm_why));
    if (p->n_gemm == 0)
        return;
    as_text_percent(share, p->gemm_time_share);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < shown; i++) {
        const struct as_gemm_calls *c = &p->gemm[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->function));
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->dtype));
        as_table_text(&t, AS_STYLE_NONE, as_page_name(page, c->shape));
        as_cell_count(&t, c->calls);
        cell_ns(&t, (double)c->time_ns);
        as_cell_share(&t, p->wall_seconds > 0 ? (double)c->time_ns / (p->wall_seconds * 1e9)
                                              : AS_UNKNOWN);
        cell_si(&t, as_gemm_rate(c));
        as_cell_share(&t, as_gemm_roof_share(p, c));
        cell_ns(&t, (double)c->min_ns);
        cell_ns(&t, (double)c->max_ns);
    }
    as_page_table(page, &t);
    tell_more(page, shown, p->n_gemm, "shapes");
    as_page_line(page, AS_STYLE_NONE, "%s of the wall time is in them, summed over all threads%s",
                 share, p->peaks ? "" : "; 'assay machine' measures the peak");
    if (p->gemm_unplaced)
        as_page_line(page, AS_STYLE_WARN,
                     "%llu calls were seen but not counted: the table was full",
                     (unsigned long long)p->gemm_unplaced);
}
