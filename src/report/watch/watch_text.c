/* report/watch/watch_text.c - what `assay run` saw of a program, on a page: what ran, how its
 * memory went, whether it grows, what holds it back, and what watching cost. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/watch/watch_report.h"

#define SPARK_MOST   60u
#define BRIEF_CAUSES 2u

/* "-" for a fact that is not known. */
static const char *fact_count(char out[AS_TEXT_HUMAN], struct as_fact fact)
{
    if (fact.why)
        (void)snprintf(out, AS_TEXT_HUMAN, "-");
    else
        as_text_count(out, fact.value);
    return out;
}

static const char *fact_bytes(char out[AS_TEXT_HUMAN], struct as_fact fact)
{
    as_text_bytes(out, fact.why ? AS_UNKNOWN : (double)fact.value);
    return out;
}

static const char *fact_ns(char out[AS_TEXT_HUMAN], struct as_fact fact)
{
    as_text_ns(out, fact.why ? AS_UNKNOWN : (double)fact.value, AS_TIME_AUTO);
    return out;
}

const char *as_watch_bullet(struct as_page *page)
{
    char bullet[16];
    const char *copy;

    if (page->markdown)
        return "";
    (void)snprintf(bullet, sizeof bullet, "%s ", as_page_glyph(page, AS_GLYPH_BULLET));
    copy = as_arena_text(&page->arena, bullet, strlen(bullet));
    return copy ? copy : "* ";
}

/* ---- what ran ---- */

/* "./a.out --rows 1000", quoted where a blank stands in an argument, cut at the room. */
static void command_text(const struct as_target *p, char *out, size_t capacity)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < p->n_args && used < capacity; i++) {
        bool quote = p->argv[i][0] == '\0' || strchr(p->argv[i], ' ');

        used += (size_t)snprintf(out + used, capacity - used, "%s%s%s%s", i ? " " : "",
                                 quote ? "'" : "", p->argv[i], quote ? "'" : "");
    }
    if (p->args_left_out && used < capacity)
        (void)snprintf(out + used, capacity - used, " (and %llu more)",
                       (unsigned long long)p->args_left_out);
}

static void put_end(const struct as_target *p, struct as_page *page)
{
    char wall[AS_TEXT_HUMAN];
    const char *name = p->signal > 0 && p->signal < NSIG ? sigabbrev_np(p->signal) : NULL;

    as_text_ns(wall, p->wall_seconds * 1e9, AS_TIME_AUTO);
    if (p->signal > 0)
        as_page_line(page, AS_STYLE_BAD, "ended by signal %d%s%s%s after %s", p->signal,
                     name ? " SIG" : "", name ? name : "", p->dumped ? ", with a core file," : "",
                     wall);
    else if (p->exit_status < 0)
        as_page_line(page, AS_STYLE_WARN, "end not seen: the recording ended before");
    else
        as_page_line(page, p->exit_status ? AS_STYLE_WARN : AS_STYLE_NONE,
                     "exit status %d after %s", p->exit_status, wall);
}

static void put_peaks(struct as_page *page, const struct as_target *p)
{
    char a[AS_TEXT_HUMAN], b[AS_TEXT_HUMAN], c[AS_TEXT_HUMAN];

    if (p->peak_rss_bytes.why)
        as_page_pair(page, AS_STYLE_DIM, "peak memory", "unknown: %s",
                     as_page_name(page, p->peak_rss_bytes.why));
    else if (p->tree_peak_rss_bytes.why)
        as_page_pair(page, AS_STYLE_NONE, "peak memory", "%s of the largest process%s%s",
                     fact_bytes(a, p->peak_rss_bytes), p->peak_from ? ", " : "",
                     p->peak_from ? as_page_name(page, p->peak_from) : "");
    else
        as_page_pair(page, AS_STYLE_NONE, "peak memory",
                     "%s of the largest process, %s of all, sampled%s%s",
                     fact_bytes(a, p->peak_rss_bytes), fact_bytes(b, p->tree_peak_rss_bytes),
                     p->tree_peak_pss_bytes.why ? "" : "; shared pages once: ",
                     p->tree_peak_pss_bytes.why ? "" : fact_bytes(c, p->tree_peak_pss_bytes));
}

static void put_figures(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;
    char a[AS_TEXT_HUMAN], b[AS_TEXT_HUMAN], of[AS_TEXT_HUMAN] = "-", cpus[32] = "";
    double used = view->findings->processors_used;

    page->pair_width = 18;
    as_page_pair(page, AS_STYLE_NONE, "CPU time", "%s user, %s system", fact_ns(a, p->cpu_user_ns),
                 fact_ns(b, p->cpu_system_ns));
    if (isfinite(used))
        as_text_fixed(of, used, 2);
    if (isfinite(p->processors))
        (void)snprintf(cpus, sizeof cpus, " of %.0f CPU%s", p->processors,
                       p->processors > 1 ? "s" : "");
    as_page_pair(page, AS_STYLE_NONE, "CPU utilization", "%s%s", of, cpus);
    put_peaks(page, p);
    if (view->brief) { /* the others are in what is said of bottlenecks */
        as_page_pair(page, AS_STYLE_NONE, "disk I/O", "%s read, %s written",
                     fact_bytes(a, p->read_bytes), fact_bytes(b, p->written_bytes));
        page->pair_width = 0;
        return;
    }
    as_page_pair(page, AS_STYLE_NONE, "page faults", "%s minor, %s major",
                 fact_count(a, p->minor_faults), fact_count(b, p->major_faults));
    as_page_pair(page, AS_STYLE_NONE, "context switches", "%s voluntary, %s involuntary",
                 fact_count(a, p->switches_voluntary), fact_count(b, p->switches_involuntary));
    as_page_pair(page, AS_STYLE_NONE, "run delay", "%s%s", fact_ns(a, p->run_delay_ns),
                 p->run_delay_ns.why ? "" : " ready to run without a CPU");
    as_page_pair(page, AS_STYLE_NONE, "disk I/O", "%s read, %s written",
                 fact_bytes(a, p->read_bytes), fact_bytes(b, p->written_bytes));
    page->pair_width = 0;
}

void as_watch_put_summary(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;
    const struct as_target_findings *f = view->findings;
    char command[1500];

    command_text(p, command, sizeof command);
    as_page_heading(page, "Program", NULL);
    as_page_cut_line(page, AS_STYLE_NONE, "%s", as_page_name(page, command));
    put_end(p, page);
    put_figures(view, page);
    if (f->verdict >= AS_GROWTH_RETURNED && !view->brief)
        as_page_line(page, AS_STYLE_WARN, "%s: %s", f->headline,
                     as_page_name(page, f->verdict_text));
    if (p->passed_over)
        as_page_line(page, AS_STYLE_WARN,
                     "%llu entries of this run are invalid or too many, and were skipped",
                     (unsigned long long)p->passed_over);
}

/* ---- memory ---- */

static size_t greatest(const double *value, size_t n)
{
    size_t at = 0;

    for (size_t i = 1; i < n; i++)
        if (value[i] > value[at])
            at = i;
    return at;
}

/* One value a column: the greatest of its samples, so that no peak is lost. */
static size_t columns_of(const struct as_target_series *s, double *value, size_t most)
{
    size_t n = s->n < most ? s->n : most;

    for (size_t c = 0; c < n; c++) {
        value[c] = AS_UNKNOWN;
        for (size_t i = s->n * c / n; i < s->n * (c + 1) / n; i++)
            value[c] = fmax(value[c], s->value[i]);
    }
    return n;
}

static void put_spark(const struct as_target_series *s, struct as_page *page)
{
    unsigned width = page->term->width < SPARK_MOST + 2 ? page->term->width - 2 : SPARK_MOST;
    double value[SPARK_MOST];
    size_t n, peak;

    if (page->markdown || s->n < 3 || width < 4 || width > SPARK_MOST)
        return;
    n = columns_of(s, value, width);
    if (!(value[greatest(value, n)] > 0)) /* nothing to draw */
        return;
    as_out_text(page->out, "  ");
    as_term_spark(page->term, page->out, value, n, (unsigned)n);
    as_out_char(page->out, '\n');
    peak = greatest(value, n);
    as_out_printf(page->out, "  %*s^\n", (int)peak, "");
}

static void put_series(const char *what, const struct as_target_series *s, struct as_page *page)
{
    char first[AS_TEXT_HUMAN], last[AS_TEXT_HUMAN], most[AS_TEXT_HUMAN], when[AS_TEXT_HUMAN];
    size_t peak;

    if (s->n == 0)
        return;
    peak = greatest(s->value, s->n);
    as_text_bytes(first, s->value[0]);
    as_text_bytes(last, s->value[s->n - 1]);
    as_text_bytes(most, s->value[peak]);
    as_text_ns(when, s->seconds[peak] * 1e9, AS_TIME_AUTO);
    as_page_line(page, AS_STYLE_NONE, "%s: %s at first, peak %s after %s, %s at last", what, first,
                 most, when, last);
    put_spark(s, page);
}

void as_watch_put_memory(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;

    as_page_heading(page, "Memory", "of all processes together");
    if (p->rss.n == 0)
        as_page_line(page, AS_STYLE_NONE, "The program ended before its memory was read.");
    put_series("resident", &p->rss, page);
    put_series("anonymous", &p->anon, page);
    put_series("heap", &p->heap_live, page);
}

/* ---- leaks ---- */

void as_watch_put_leaks(const struct as_watch_view *view, struct as_page *page)
{
    static const enum as_style style[] = {
        [AS_GROWTH_UNKNOWN] = AS_STYLE_DIM,  [AS_GROWTH_NONE] = AS_STYLE_GOOD,
        [AS_GROWTH_STOPPED] = AS_STYLE_GOOD, [AS_GROWTH_RETURNED] = AS_STYLE_WARN,
        [AS_GROWTH_FOUND] = AS_STYLE_BAD,
    };
    const struct as_target_findings *f = view->findings;
    bool known = f->verdict == AS_GROWTH_FOUND || f->verdict == AS_GROWTH_RETURNED;
    size_t most = view->top ? view->top : !view->brief ? 5 : known ? 2 : 0;

    as_page_heading(page, "Leaks", "memory, descriptors and threads that are kept");
    /* What the growth is stands below, each series by itself. */
    as_page_line(page, style[f->verdict], "%s", f->headline);
    for (size_t i = 0; i < f->n_growths; i++)
        if (!view->brief || f->growth[i].verdict == AS_GROWTH_FOUND)
            as_page_line(page, AS_STYLE_NONE, "%s%s", as_watch_bullet(page), f->growth[i].text);
    for (size_t i = 0; i < f->n_growing && i < most; i++)
        as_page_line(page, AS_STYLE_NONE, "%s%s", as_watch_bullet(page),
                     as_page_name(page, f->growing[i].text));
    if (f->mapping_text)
        as_page_line(page, AS_STYLE_NONE, "%s%s", as_watch_bullet(page),
                     as_page_name(page, f->mapping_text));
    if (f->n_growing > most && most)
        as_page_line(page, AS_STYLE_DIM, "%zu more sites grow", f->n_growing - most);
    if (view->brief)
        return;
    if (f->live_text)
        as_page_line(page, AS_STYLE_NONE, "%s", f->live_text);
    else if (!view->target->heap_known && view->target->heap_why)
        as_page_line(page, AS_STYLE_DIM, "the heap was not watched: %s",
                     as_page_name(page, view->target->heap_why));
}

/* ---- bottlenecks ---- */

void as_watch_put_bottlenecks(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target_findings *f = view->findings;
    size_t most = f->verdict == AS_GROWTH_FOUND ? 1 : BRIEF_CAUSES; /* a leak takes room, too */
    size_t shown = view->brief && f->n_causes > most ? most : f->n_causes;

    as_page_heading(page, "Bottlenecks", "what limits the program");
    if (f->n_causes == 0)
        as_page_line(page, AS_STYLE_NONE, "no bottleneck found");
    as_page_findings(page, NULL, f->cause, shown);
    if (shown < f->n_causes)
        as_page_line(page, AS_STYLE_DIM, "%zu more: --section bottlenecks", f->n_causes - shown);
}

/* ---- the cost of watching ---- */

void as_watch_put_cost(const struct as_watch_view *view, struct as_page *page)
{
    const struct as_target *p = view->target;
    char share[AS_TEXT_HUMAN] = "-", own[AS_TEXT_HUMAN], every[AS_TEXT_HUMAN];

    if (!p->own_cpu_ns.why && p->wall_seconds > 0)
        as_text_percent(share, (double)p->own_cpu_ns.value / (p->wall_seconds * 1e9));
    as_text_ns(every, p->interval_seconds * 1e9, AS_TIME_AUTO);
    as_page_heading(page, "Cost of profiling", NULL);
    as_page_line(page, AS_STYLE_DIM,
                 "watching from outside: %s of one CPU, %llu sample%s, one every %s", share,
                 (unsigned long long)p->readings, p->readings == 1 ? "" : "s", every);
    if (!p->heap_known || view->brief)
        return;
    as_text_bytes(own, (double)p->heap.own_bytes + (double)p->heap.share_bytes);
    as_page_line(page, AS_STYLE_DIM,
                 "inside the program: %s of counters and a table of live blocks, beside the heap; "
                 "RSS is shown without it",
                 own);
}

/* ---- all of it in short ---- */

void as_watch_put_brief(const struct as_watch_view *view, struct as_page *page)
{
    as_watch_put_summary(view, page);
    as_watch_put_bottlenecks(view, page);
    as_watch_put_leaks(view, page);
    as_watch_put_heap(view, page);
    as_watch_put_gemm(view, page);
    if (view->target->n_processes > 1)
        as_watch_put_processes(view, page);
    as_watch_put_cost(view, page);
}
