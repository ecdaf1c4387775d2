/* report/machine/overhead_text.c - what measuring costs by itself, as text, Markdown or JSON. */
#include "report/machine/machine_report.h"

#include <stdio.h>

#include "base/json/json_writer.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/page/page.h"

/* ---- for people ---- */

static void put_ns(struct as_table *t, enum as_style style, double ns)
{
    char text[AS_TEXT_HUMAN];

    as_text_ns(text, ns, AS_TIME_AUTO);
    as_table_text(t, style, text);
}

static void put_probes(struct as_page *page, const struct as_overhead_run *run)
{
    static const struct as_table_column columns[] = {
        {.title = "probe"},
        {.title = "cost", .align = AS_ALIGN_RIGHT},
        {.title = "95 % from", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "to", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "least", .align = AS_ALIGN_RIGHT, .drop = 1},
    };
    struct as_table t;

    as_page_heading(page, "Probes", "one call of each, without the loop around it");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (int i = 0; i < AS_PROBE_COUNT; i++) {
        const struct as_probe_cost *cost = &run->probes[i];
        double no = AS_UNKNOWN;

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, as_probe_text((enum as_probe)i));
        put_ns(&t, AS_STYLE_NONE, cost->known ? cost->ns : no);
        put_ns(&t, AS_STYLE_DIM, cost->known ? cost->low_ns : no);
        put_ns(&t, AS_STYLE_DIM, cost->known ? cost->high_ns : no);
        put_ns(&t, AS_STYLE_DIM, cost->known ? cost->least_ns : no);
    }
    as_page_table(page, &t);
    if (run->session_why[0])
        as_page_line(page, AS_STYLE_WARN, "not recorded: %s", as_page_name(page, run->session_why));
    if (run->lost_events)
        as_page_line(page, AS_STYLE_WARN,
                     "%llu events found no room and were dropped, which costs another time",
                     (unsigned long long)run->lost_events);
}

static void put_row(struct as_table *t, const struct as_overhead_row *row, const char *what)
{
    char text[AS_TEXT_HUMAN];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, what);
    if (!row->pair) {
        as_table_text(t, AS_STYLE_DIM, "-");
        return;
    }
    put_ns(t, AS_STYLE_NONE, row->pair->plain_ns);
    put_ns(t, AS_STYLE_NONE, row->pair->with_ns);
    as_table_printf(t, AS_STYLE_NONE, "%.3f", row->pair->factor);
    as_table_printf(t, AS_STYLE_DIM, "%.3f to %.3f", row->pair->factor_low, row->pair->factor_high);
    as_text_percent(text, row->cost_share);
    as_table_text(t, row->shown ? AS_STYLE_NONE : AS_STYLE_DIM, row->shown ? text : "not shown");
    as_table_printf(t, AS_STYLE_NONE, "%zu", row->pair->n_steps);
    put_ns(t, AS_STYLE_NONE, row->shown ? row->step_ns : AS_UNKNOWN);
    as_table_text(t, AS_STYLE_NONE, row->class_name);
}

static void put_pairs(struct as_page *page, const struct as_overhead *o)
{
    static const struct as_table_column columns[] = {
        {.title = "with"},
        {.title = "bare", .align = AS_ALIGN_RIGHT},
        {.title = "measured", .align = AS_ALIGN_RIGHT, .drop = 3},
        {.title = "factor", .align = AS_ALIGN_RIGHT},
        {.title = "95 %", .align = AS_ALIGN_RIGHT, .drop = 4},
        {.title = "cost", .align = AS_ALIGN_RIGHT, .drop = 1},
        {.title = "steps", .align = AS_ALIGN_RIGHT, .drop = 5},
        {.title = "a step", .align = AS_ALIGN_RIGHT, .drop = 2},
        {.title = "overhead"},
    };
    struct as_table t;

    as_page_heading(page, "Runs", "the same work with and without, in turns");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (int i = 0; i < AS_OVERHEAD_COUNT; i++)
        put_row(&t, &o->rows[i], as_overhead_text((enum as_overhead_kind)i));
    as_page_table(page, &t);
}

static void put_verdict(struct as_page *page, const struct as_overhead *o)
{
    as_page_line(page, AS_STYLE_NONE,
                 "A function measured call by call takes %.2f times as long as called bare: %s "
                 "overhead, %s",
                 o->factor, o->class_name, o->hint);
    as_page_line(page, AS_STYLE_DIM, "low: below 2 times, moderate: below 10, high: from 10 on");
}

static void put_budget(struct as_page *page, const struct as_overhead *o)
{
    static const struct as_table_column columns[] = {
        {.title = "a layer"},
        {.title = "costs", .align = AS_ALIGN_RIGHT},
        {.title = "1 % from", .align = AS_ALIGN_RIGHT},
        {.title = "5 % from", .align = AS_ALIGN_RIGHT},
    };
    struct as_table t;

    as_page_heading(page, "Budget", "the shortest layer for which measuring costs at most so much");
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (int i = 0; i < AS_BUDGET_COUNT; i++) {
        const struct as_overhead_budget *budget = &o->budgets[i];

        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, budget->text);
        put_ns(&t, AS_STYLE_NONE, budget->cost_ns);
        for (int limit = 0; limit < AS_BUDGET_LIMITS; limit++)
            put_ns(&t, AS_STYLE_NONE, budget->shortest_ns[limit]);
    }
    as_page_table(page, &t);
}

int as_overhead_page(const struct as_overhead_report *report, struct as_out *out,
                     const struct as_term *term, struct assay_error *err)
{
    const struct as_overhead *o = report->overhead;
    struct as_page page;

    as_page_open(&page, out, term, report->markdown);
    as_page_title(&page, "Overhead of measuring");
    as_machine_named_line(&page, report->topology);
    put_probes(&page, o->run);
    put_pairs(&page, o);
    put_verdict(&page, o);
    put_budget(&page, o);
    as_page_heading(&page, "Best practice", NULL);
    for (int i = 0; i < AS_OVERHEAD_ADVICE; i++)
        as_page_line(&page, AS_STYLE_NONE, "- %s", o->advice[i]);
    return as_page_close(&page, err);
}

/* ---- for programs ---- */

static void put_json_probe(struct as_json_writer *w, const struct as_overhead_run *run, int i)
{
    const struct as_probe_cost *cost = &run->probes[i];
    double no = AS_UNKNOWN;

    as_json_object(w);
    as_json_kv_text(w, "probe", as_probe_key((enum as_probe)i));
    as_json_kv_f64(w, "ns", cost->known ? cost->ns : no);
    as_json_kv_f64(w, "ci95_low_ns", cost->known ? cost->low_ns : no);
    as_json_kv_f64(w, "ci95_high_ns", cost->known ? cost->high_ns : no);
    as_json_kv_f64(w, "least_ns", cost->known ? cost->least_ns : no);
    as_json_kv_u64(w, "trials", cost->n_trials);
    as_json_kv_u64(w, "calls_per_trial", cost->n_calls);
    if (!cost->known)
        as_json_kv_text(w, "ns_reason", run->session_why);
    as_json_object_end(w);
}

static void put_json_row(struct as_json_writer *w, const struct as_overhead *o, int i)
{
    const struct as_overhead_row *row = &o->rows[i];
    double no = AS_UNKNOWN;

    as_json_object(w);
    as_json_kv_text(w, "profiler", as_overhead_key((enum as_overhead_kind)i));
    as_json_kv_f64(w, "baseline_ms", row->pair ? row->pair->plain_ns * 1e-6 : no);
    as_json_kv_f64(w, "profiled_ms", row->pair ? row->pair->with_ns * 1e-6 : no);
    as_json_kv_f64(w, "factor", row->pair ? row->pair->factor : no);
    as_json_kv_f64(w, "ci95_low_factor", row->pair ? row->pair->factor_low : no);
    as_json_kv_f64(w, "ci95_high_factor", row->pair ? row->pair->factor_high : no);
    as_json_kv_f64(w, "cost_share", row->cost_share);
    as_json_kv_bool(w, "cost_shown", row->shown);
    as_json_kv_u64(w, "steps", row->pair ? row->pair->n_steps : 0);
    as_json_kv_f64(w, "cost_per_step_ns", row->step_ns);
    as_json_kv_u64(w, "pairs", row->pair ? row->pair->n_pairs : 0);
    as_json_kv_text(w, "overhead_class", row->class_name);
    as_json_kv_text(w, "hint", row->hint);
    as_json_object_end(w);
}

static void put_json_budget(struct as_json_writer *w, const struct as_overhead_budget *budget)
{
    as_json_object(w);
    as_json_kv_text(w, "layer", budget->key);
    as_json_kv_f64(w, "cost_ns", budget->cost_ns);
    as_json_kv_f64(w, "shortest_1_percent_ns", budget->shortest_ns[0]);
    as_json_kv_f64(w, "shortest_5_percent_ns", budget->shortest_ns[1]);
    as_json_object_end(w);
}

void as_overhead_json(const struct as_overhead_report *report, struct as_json_writer *w)
{
    const struct as_overhead *o = report->overhead;
    const char *cpu = report->topology->cpu.model;

    as_json_kv_text(w, "cpu", cpu[0] ? cpu : NULL);
    as_isa_json(w, &report->topology->isa);
    as_json_kv_text(w, "clock", o->run->clock);
    as_json_kv_f64(w, "factor", o->factor);
    as_json_kv_text(w, "overhead_class", o->class_name);
    as_json_kv_text(w, "hint", o->hint);
    as_json_kv_array(w, "probes");
    for (int i = 0; i < AS_PROBE_COUNT; i++)
        put_json_probe(w, o->run, i);
    as_json_array_end(w);
    as_json_kv_u64(w, "lost_events", o->run->lost_events);
    as_json_kv_array(w, "profilers");
    for (int i = 0; i < AS_OVERHEAD_COUNT; i++)
        put_json_row(w, o, i);
    as_json_array_end(w);
    as_json_kv_array(w, "budget");
    for (int i = 0; i < AS_BUDGET_COUNT; i++)
        put_json_budget(w, &o->budgets[i]);
    as_json_array_end(w);
    as_json_kv_array(w, "best_practices");
    for (int i = 0; i < AS_OVERHEAD_ADVICE; i++)
        as_json_text(w, o->advice[i]);
    as_json_array_end(w);
}
