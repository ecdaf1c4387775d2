/* report/bench/bench_grid_text.c - a grid of commands or models as a page: p50 with its interval,
 * the paired ratio to the baseline, and what can be concluded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/units.h"
#include "report/bench/bench_report.h"
#include "report/page/page.h"

#define DRIFT_SHARE 0.05 /* medians that differ less agree with any paired ratio */

enum { BAR_WIDTH = 16, MAX_NAME = 40, COLUMNS = 15 };

static const char *name_of(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    return as_page_name(page, report->result->rows[i].setting->name);
}

static bool is_commands(const struct as_bench_report *report)
{
    return strcmp(report->result->bench->kind, "commands") == 0;
}

/* Long commands have numbers: cut to fit, two of them may look alike. */
static bool is_numbered(const struct as_bench_report *report)
{
    const struct as_bench *bench = report->result->bench;

    for (size_t i = 0; is_commands(report) && i < bench->n_settings; i++)
        if (strlen(bench->settings[i].name) > MAX_NAME)
            return true;
    return false;
}

/* The name in the table. */
static const char *label_of(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    char text[AS_GRID_NAME + 24];

    if (!is_numbered(report))
        return name_of(page, report, i);
    (void)snprintf(text, sizeof text, "%zu. %s", i + 1, report->result->rows[i].setting->name);
    return as_page_name(page, as_arena_text(&page->arena, text, strlen(text)));
}

/* The name in a sentence: a command has words of its own. */
static const char *words_of(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    char text[AS_GRID_NAME + 24];

    if (!is_commands(report))
        return name_of(page, report, i);
    if (is_numbered(report))
        (void)snprintf(text, sizeof text, "command %zu", i + 1);
    else
        (void)snprintf(text, sizeof text, "'%s'", report->result->rows[i].setting->name);
    return as_page_name(page, as_arena_text(&page->arena, text, strlen(text)));
}

static bool is_baseline(const struct as_bench_report *report, size_t i)
{
    return i == report->result->bench->baseline;
}

static bool has_baseline(const struct as_bench_report *report)
{
    const struct as_bench *b = report->result->bench;

    return b->n_settings > 1 && b->baseline < b->n_settings && b->settings[b->baseline].n > 0 &&
           !b->settings[b->baseline].failed;
}

/* ---- ratios ---- */

/* Three significant digits, also of 1: "1.00", "0.872", "12.3". */
static void put_digits(char *out, size_t capacity, double x)
{
    int decimals = x >= 99.95 ? 0 : x >= 9.995 ? 1 : x >= 0.9995 ? 2 : x >= 0.09995 ? 3 : 4;

    (void)snprintf(out, capacity, "%.*f", decimals, x);
}

static void put_range(char out[48], double low, double high)
{
    char from[20], to[20];

    put_digits(from, sizeof from, low);
    put_digits(to, sizeof to, high);
    (void)snprintf(out, 48, "%s - %s", from, to);
}

enum judgment { UNTESTED, NOT_SIGNIFICANT, FASTER, SLOWER };

static enum judgment judge(const struct as_bench_row *row)
{
    const struct as_bench_estimate *e = &row->time_ratio;

    if (!isfinite(e->low) || !isfinite(e->high))
        return UNTESTED;
    if (e->low <= 1 && e->high >= 1)
        return NOT_SIGNIFICANT;
    return e->value < 1 ? FASTER : SLOWER;
}

static void put_ratio(struct as_table *t, const struct as_bench_report *report, size_t i)
{
    const struct as_bench_estimate *e = &report->result->rows[i].time_ratio;
    char value[20], range[48];

    if (is_baseline(report, i)) {
        as_table_text(t, AS_STYLE_DIM, "baseline");
        return;
    }
    if (!isfinite(e->value)) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    put_digits(value, sizeof value, e->value);
    put_range(range, e->low, e->high);
    if (isfinite(e->low))
        as_table_printf(t, AS_STYLE_NONE, "%sx paired (%s)", value, range);
    else
        as_table_printf(t, AS_STYLE_NONE, "%sx paired", value);
}

/* The least p50, and beyond chance where that was tested. */
static bool is_fastest(const struct as_bench_report *report, size_t at)
{
    const struct as_bench_result *r = report->result;
    bool base = is_baseline(report, at), tested = false;

    if (r->bench->n_settings < 2 || (!base && judge(&r->rows[at]) != FASTER))
        return false;
    for (size_t i = 0; i < r->bench->n_settings; i++) {
        if (i == at || r->rows[i].setting->failed || r->rows[i].wall.n == 0)
            continue;
        tested = true;
        if (!(r->rows[at].item_ns.value < r->rows[i].item_ns.value) ||
            (base && judge(&r->rows[i]) != SLOWER))
            return false;
    }
    return tested;
}

static void put_judgment(struct as_table *t, const struct as_bench_report *report, size_t i)
{
    static const char *const words[] = {"", "no significant difference", "faster", "slower"};
    static const enum as_style styles[] = {AS_STYLE_NONE, AS_STYLE_DIM, AS_STYLE_GOOD,
                                           AS_STYLE_BAD};
    enum judgment verdict = is_baseline(report, i) ? UNTESTED : judge(&report->result->rows[i]);

    if (is_fastest(report, i))
        as_table_text(t, AS_STYLE_GOOD, "fastest");
    else
        as_table_text(t, styles[verdict], words[verdict]);
}

/* ---- the table ---- */

struct grid_table {
    const struct as_bench_report *report;
    struct as_time_column p50;
    double longest_ns; /* of the medians */
    bool by_item, has_energy, has_outputs, has_memory, commands;
};

static void put_interval(struct as_table *t, const struct grid_table *g,
                         const struct as_bench_estimate *e)
{
    char low[AS_TEXT_HUMAN], high[AS_TEXT_HUMAN];

    if (!isfinite(e->low)) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    as_text_scaled(low, e->low, g->p50.scale);
    as_text_scaled(high, e->high, g->p50.scale);
    as_table_printf(t, AS_STYLE_NONE, "%s - %s", low, high);
}

static void put_extras(struct as_table *t, const struct grid_table *g, size_t i)
{
    const struct as_bench_row *row = &g->report->result->rows[i];
    char text[AS_TEXT_HUMAN];

    as_cell_time(t, &g->p50, row->wall.min);
    as_cell_time(t, &g->p50, row->wall.max);
    if (g->commands) {
        as_cell_time(t, &g->p50, row->user_mean_ns);
        as_cell_time(t, &g->p50, row->system_mean_ns);
    } else {
        as_cell_time(t, &g->p50, row->kernel_mean_ns);
    }
    if (g->has_memory) {
        as_text_bytes(text, row->peak_mem_bytes);
        as_table_text(t, isfinite(row->peak_mem_bytes) ? AS_STYLE_NONE : AS_STYLE_DIM, text);
    }
    if (g->has_energy && isfinite(row->energy_j.value))
        as_table_printf(t, AS_STYLE_NONE, "%.4g J", row->energy_j.value);
    else if (g->has_energy)
        as_table_text(t, AS_STYLE_DIM, "-");
    if (g->has_outputs)
        as_table_text(t, AS_STYLE_NONE,
                      is_baseline(g->report, i) ? ""
                      : !row->outputs_known     ? "-"
                      : row->same_outputs       ? "same"
                                                : "differ");
}

static void put_row(struct as_table *t, struct as_page *page, const struct grid_table *g, size_t i)
{
    const struct as_bench_row *row = &g->report->result->rows[i];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, label_of(page, g->report, i));
    if (row->setting->failed) {
        as_table_text(t, AS_STYLE_BAD, "failed");
        return;
    }
    as_cell_time(t, &g->p50, row->median_ns.value);
    put_interval(t, g, &row->median_ns);
    as_table_bar(t, AS_STYLE_NONE, row->median_ns.value / g->longest_ns);
    if (g->by_item) {
        as_table_printf(t, AS_STYLE_NONE, "%.15g", row->setting->items);
        as_cell_time(t, &g->p50, row->item_ns.value);
    }
    put_ratio(t, g->report, i);
    put_judgment(t, g->report, i);
    put_extras(t, g, i);
}

/* Names are cut only when they are long: two that look alike identify nothing. */
static unsigned name_width(const struct as_bench *bench)
{
    size_t most = 8;

    for (size_t i = 0; i < bench->n_settings; i++)
        most = strlen(bench->settings[i].name) > most ? strlen(bench->settings[i].name) : most;
    return most < MAX_NAME ? (unsigned)most : MAX_NAME;
}

static void look(struct grid_table *g, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;

    *g = (struct grid_table){
        .report = report, .by_item = r->by_item, .commands = is_commands(report)};
    g->has_energy = report->energy_source != NULL;
    for (size_t i = 0; i < r->bench->n_settings; i++) {
        if (r->rows[i].wall.n)
            g->longest_ns = fmax(g->longest_ns, r->rows[i].median_ns.value);
        g->has_outputs = g->has_outputs || r->rows[i].outputs_known;
        g->has_memory = g->has_memory || isfinite(r->rows[i].peak_mem_bytes);
    }
}

/* What identifies a row and its p50 with both ends of the interval is never dropped. */
static size_t choose_columns(struct grid_table *g, struct as_table_column out[COLUMNS])
{
    const struct as_bench *bench = g->report->result->bench;
    unsigned name = name_width(bench);
    size_t n = 0;

    out[n++] = (struct as_table_column){
        .title = g->commands ? "command" : "setting", .may_shrink = name > 20, .min_width = name};
    out[n++] = as_column_time(&g->p50, "p50", g->longest_ns, AS_TIME_AUTO);
    out[n++] = (struct as_table_column){.title = "95 % CI", .align = AS_ALIGN_RIGHT, .drop = 1};
    out[n++] =
        (struct as_table_column){.title = " ", .min_width = BAR_WIDTH, .drop = g->commands ? 9 : 3};
    if (g->by_item) {
        out[n++] = (struct as_table_column){.title = "items", .align = AS_ALIGN_RIGHT, .drop = 4};
        out[n++] =
            (struct as_table_column){.title = "per item", .align = AS_ALIGN_RIGHT, .drop = 1};
    }
    out[n++] = (struct as_table_column){.title = "vs baseline"};
    out[n++] = (struct as_table_column){.title = "verdict", .drop = 2};
    out[n++] = (struct as_table_column){.title = "min", .align = AS_ALIGN_RIGHT, .drop = 8};
    out[n++] = (struct as_table_column){.title = "max", .align = AS_ALIGN_RIGHT, .drop = 8};
    out[n++] = (struct as_table_column){
        .title = g->commands ? "user" : "CPU", .align = AS_ALIGN_RIGHT, .drop = 7};
    if (g->commands)
        out[n++] = (struct as_table_column){.title = "system", .align = AS_ALIGN_RIGHT, .drop = 7};
    if (g->has_memory)
        out[n++] =
            (struct as_table_column){.title = "peak memory", .align = AS_ALIGN_RIGHT, .drop = 4};
    if (g->has_energy)
        out[n++] = (struct as_table_column){.title = "energy", .align = AS_ALIGN_RIGHT, .drop = 6};
    if (g->has_outputs)
        out[n++] = (struct as_table_column){.title = "outputs", .drop = 5};
    return n;
}

/* ---- what follows ---- */

/* Medians of all samples may differ where samples taken one after the other do not. */
static void put_disagreement(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    const struct as_bench_result *r = report->result;
    const struct as_bench_row *row = &r->rows[i];
    double medians = row->item_ns.value / r->rows[r->bench->baseline].item_ns.value;

    if (!(fabs(medians - 1) > DRIFT_SHARE) ||
        (medians >= row->time_ratio.low && medians <= row->time_ratio.high))
        return;
    if (judge(row) == NOT_SIGNIFICANT)
        as_page_line(
            page, AS_STYLE_DIM,
            "  the medians differ by %.0f %%, but paired samples do not: the machine drifted",
            fabs(medians - 1) * 100);
    else
        as_page_line(page, AS_STYLE_DIM,
                     "  the medians differ %.2fx, paired samples %.2fx: the machine drifted, and "
                     "the pairs are what counts",
                     medians, row->time_ratio.value);
}

static void put_undecided(struct as_page *page, const struct as_bench_report *report, size_t i)
{
    const struct as_bench_row *row = &report->result->rows[i];
    double spread = exp(row->ratio_log_sd) - 1;

    if (isfinite(row->samples_for_10) && row->samples_for_10 > (double)row->time_ratio.n)
        as_page_line(page, AS_STYLE_NONE,
                     "%s: no significant difference; paired ratios spread by %.0f %%, about "
                     "%.0f samples are needed to show 10 %%",
                     words_of(page, report, i), spread * 100, row->samples_for_10);
    else
        as_page_line(page, AS_STYLE_NONE, "%s: no significant difference",
                     words_of(page, report, i));
    put_disagreement(page, report, i);
}

/* Faster than the baseline beyond chance, and the fastest of those. */
static size_t fastest(const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < r->bench->n_settings; i++) {
        const struct as_bench_row *row = &r->rows[i];

        if (is_baseline(report, i) || row->setting->failed || judge(row) != FASTER)
            continue;
        if (best == SIZE_MAX || row->time_ratio.value < r->rows[best].time_ratio.value)
            best = i;
    }
    return best;
}

/* "'a' is 1.45x faster than 'b' (95 % CI 1.32 - 1.60)". */
static void put_faster(struct as_page *page, const struct as_bench_report *report, size_t fast,
                       size_t slow)
{
    const struct as_bench_result *r = report->result;
    bool base_is_fast = is_baseline(report, fast);
    const struct as_bench_estimate *e = &r->rows[base_is_fast ? slow : fast].time_ratio;
    char value[20], range[48];

    put_digits(value, sizeof value, base_is_fast ? e->value : 1 / e->value);
    put_range(range, base_is_fast ? e->low : 1 / e->high, base_is_fast ? e->high : 1 / e->low);
    as_page_line(page, AS_STYLE_GOOD, "%s is %sx faster than %s%s (95 %% CI %s)",
                 words_of(page, report, fast), value, words_of(page, report, slow),
                 r->by_item ? " per item" : "", range);
}

static void put_verdicts(struct as_page *page, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    size_t base = r->bench->baseline, best = fastest(report);

    if (!is_commands(report) && best != SIZE_MAX)
        put_faster(page, report, best, base);
    for (size_t i = 0; i < r->bench->n_settings; i++) {
        enum judgment verdict = judge(&r->rows[i]);

        if (i == base || r->rows[i].setting->failed)
            continue;
        if (verdict == NOT_SIGNIFICANT)
            put_undecided(page, report, i);
        else if (verdict != UNTESTED && is_commands(report))
            put_faster(page, report, verdict == FASTER ? i : base, verdict == FASTER ? base : i);
    }
}

/* What was subtracted, and from what it cannot well be subtracted. */
static void put_shell(struct as_page *page, const struct as_bench_report *report)
{
    const struct as_bench_result *r = report->result;
    const struct as_bench_estimate *shell = &report->shell->median_ns;
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, shell->value, AS_TIME_AUTO);
    as_page_line(page, AS_STYLE_DIM, "%s to start the shell is subtracted (p50 of sh -c :)", text);
    for (size_t i = 0; i < r->bench->n_settings; i++)
        if (r->rows[i].near_shell)
            as_page_line(page, AS_STYLE_WARN,
                         "%s is not clearly slower than starting the shell: -N measures it "
                         "without one",
                         words_of(page, report, i));
}

/* Commands stand in the order of their p50, the fastest first; settings as they were given. */
static size_t next_row(const struct as_bench_report *report, size_t place, bool *taken)
{
    const struct as_bench_result *r = report->result;
    size_t next = SIZE_MAX;

    for (size_t i = 0; i < r->bench->n_settings; i++) {
        bool measured = r->rows[i].wall.n > 0 && !r->rows[i].setting->failed;
        bool better = next == SIZE_MAX ||
                      (measured && !(r->rows[next].median_ns.value <= r->rows[i].median_ns.value));

        if (!taken[i] && better)
            next = i;
    }
    if (!is_commands(report))
        next = place;
    taken[next] = true;
    return next;
}

void as_bench_put_grid(struct as_page *page, const struct as_bench_report *report)
{
    struct as_table_column columns[COLUMNS];
    const struct as_bench_result *r = report->result;
    bool *taken = as_arena_zero(&page->arena, r->bench->n_settings, sizeof *taken);
    struct grid_table g;
    struct as_table t;

    page->nomem |= !taken;
    if (!taken)
        return;
    look(&g, report);
    as_table_init(&t, columns, choose_columns(&g, columns));
    for (size_t i = 0; i < r->bench->n_settings; i++)
        put_row(&t, page, &g, next_row(report, i, taken));
    as_page_table(page, &t);
    if (r->by_item)
        as_page_line(page, AS_STYLE_DIM,
                     "Settings do different work: they are compared by the time per item.");
    if (report->shell)
        put_shell(page, report);
    if (has_baseline(report))
        put_verdicts(page, report);
}
