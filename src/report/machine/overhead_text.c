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

    as_page_heading(page, "Probes", "one call of each, loop overhead subtracted");
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
                     "%llu events were dropped for lack of capacity; dropping has another cost",
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

    as_page_heading(page, "Runs", "the same work with and without, interleaved");
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

    as_page_heading(page, "Budget",
                    "the shortest layer for which measuring costs no more than the given share");
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

#define COST struct as_probe_cost
#define ROW  struct as_overhead_row
#define PAIR struct as_overhead_pair

static bool cost_known(const void *object)
{
    return ((const COST *)object)->known;
}

static const struct as_json_field cost_fields[] = {
    AS_FIELD_IF(COST, "ns", ns, cost_known),
    AS_FIELD_IF(COST, "ci95_low_ns", low_ns, cost_known),
    AS_FIELD_IF(COST, "ci95_high_ns", high_ns, cost_known),
    AS_FIELD_IF(COST, "least_ns", least_ns, cost_known),
    AS_FIELD_KEY(COST, "trials", n_trials, NULL, NULL),
    AS_FIELD_KEY(COST, "calls_per_trial", n_calls, NULL, NULL),
};
static const struct as_json_shape cost_shape = AS_SHAPE(COST, cost_fields);

/* Rows with their names beside them. */
struct probe {
    const char *probe, *ns_reason;
    const COST *cost;
};
struct profiler {
    const char *profiler;
    const ROW *row;
    const PAIR *pair;
};

static bool is_unknown(const void *object)
{
    return !((const struct probe *)object)->cost->known;
}

static const struct as_json_field probe_fields[] = {
    AS_FIELD(struct probe, probe),
    AS_FIELD_INLINE(struct probe, cost, &cost_shape),
    AS_FIELD_IF(struct probe, "ns_reason", ns_reason, is_unknown),
};
static const struct as_json_shape probe_shape = AS_SHAPE(struct probe, probe_fields);

#define PAIR_NUMBER(name, expression)                                                              \
    static double name(const void *object)                                                         \
    {                                                                                              \
        const PAIR *pair = ((const struct profiler *)object)->pair;                                \
                                                                                                   \
        return pair ? (double)(expression) : AS_UNKNOWN;                                           \
    }
PAIR_NUMBER(baseline_ms, pair->plain_ns / 1e6)
PAIR_NUMBER(profiled_ms, pair->with_ns / 1e6)
PAIR_NUMBER(factor, pair->factor)
PAIR_NUMBER(factor_low, pair->factor_low)
PAIR_NUMBER(factor_high, pair->factor_high)
PAIR_NUMBER(pair_steps, pair->n_steps)
PAIR_NUMBER(pair_pairs, pair->n_pairs)
#undef PAIR_NUMBER

static const struct as_json_field row_fields[] = {
    AS_FIELD_HELP(ROW, cost_share, "fraction", "of the time without it"),
    AS_FIELD_KEY(ROW, "cost_shown", shown, NULL, "the CI of the factor does not contain 1"),
    AS_FIELD_KEY(ROW, "cost_per_step_ns", step_ns, "ns", NULL),
    AS_FIELD_KEY(ROW, "overhead_class", class_name, NULL, "low, moderate or high"),
    AS_FIELD(ROW, hint),
};
static const struct as_json_shape row_shape = AS_SHAPE(ROW, row_fields);

static const struct as_json_field profiler_fields[] = {
    AS_FIELD(struct profiler, profiler),
    AS_FIELD_NUMBER("baseline_ms", baseline_ms, "ms", NULL),
    AS_FIELD_NUMBER("profiled_ms", profiled_ms, "ms", NULL),
    AS_FIELD_NUMBER("factor", factor, NULL, "profiled over baseline"),
    AS_FIELD_NUMBER("ci95_low_factor", factor_low, NULL, NULL),
    AS_FIELD_NUMBER("ci95_high_factor", factor_high, NULL, NULL),
    AS_FIELD_NUMBER("steps", pair_steps, NULL, NULL),
    AS_FIELD_NUMBER("pairs", pair_pairs, NULL, NULL),
    AS_FIELD_INLINE(struct profiler, row, &row_shape),
};
static const struct as_json_shape profiler_shape = AS_SHAPE(struct profiler, profiler_fields);

static const struct as_json_field budget_fields[] = {
    AS_FIELD_KEY(struct as_overhead_budget, "layer", key, NULL, NULL),
    AS_FIELD_HELP(struct as_overhead_budget, cost_ns, "ns", "that a layer pays once"),
    AS_FIELD_KEY(struct as_overhead_budget, "shortest_1_percent_ns", shortest_ns[0], "ns", NULL),
    AS_FIELD_KEY(struct as_overhead_budget, "shortest_5_percent_ns", shortest_ns[1], "ns", NULL),
};
static const struct as_json_shape budget_shape = AS_SHAPE(struct as_overhead_budget, budget_fields);

static void write_probes(struct as_json_writer *w, const void *object)
{
    const struct as_overhead_run *run = ((const struct as_overhead *)object)->run;

    as_json_array(w);
    for (int i = 0; i < AS_PROBE_COUNT; i++)
        as_json_fields_write(
            w, &probe_shape,
            &(struct probe){as_probe_key((enum as_probe)i), run->session_why, &run->probes[i]});
    as_json_array_end(w);
}

static void write_profilers(struct as_json_writer *w, const void *object)
{
    const struct as_overhead *o = object;

    as_json_array(w);
    for (int i = 0; i < AS_OVERHEAD_COUNT; i++)
        as_json_fields_write(w, &profiler_shape,
                             &(struct profiler){as_overhead_key((enum as_overhead_kind)i),
                                                &o->rows[i], o->rows[i].pair});
    as_json_array_end(w);
}

static void write_practices(struct as_json_writer *w, const void *object)
{
    const struct as_overhead *o = object;

    as_json_array(w);
    for (int i = 0; i < AS_OVERHEAD_ADVICE; i++)
        as_json_text(w, o->advice[i]);
    as_json_array_end(w);
}

static const char *cpu_text(const void *object)
{
    const char *cpu = ((const struct as_topology *)object)->cpu.model;

    return cpu[0] ? cpu : NULL;
}

static const struct as_json_field machine_fields[] = {
    AS_FIELD_WORDS("cpu", cpu_text, NULL),
    AS_FIELD_MEMBERS(struct as_topology, isa, &as_isa_document_shape),
};
static const struct as_json_shape machine_shape = AS_SHAPE(struct as_topology, machine_fields);

static const struct as_json_field run_fields[] = {
    AS_FIELD(struct as_overhead_run, clock),
    AS_FIELD(struct as_overhead_run, lost_events),
};
static const struct as_json_shape run_shape = AS_SHAPE(struct as_overhead_run, run_fields);

/* A list whose items are described by `shape`, written by a function. */
#define LIST_OF(name, function, described)                                                         \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_LIST, .item = AS_FIELD_OBJECT, .write = (function),        \
        .shape = (described)                                                                       \
    }
static const struct as_json_field overhead_fields[] = {
    AS_FIELD_INLINE(struct as_overhead, run, &run_shape),
    AS_FIELD_HELP(struct as_overhead, factor, NULL, "a function measured call by call, over bare"),
    AS_FIELD_KEY(struct as_overhead, "overhead_class", class_name, NULL, NULL),
    AS_FIELD(struct as_overhead, hint),
    LIST_OF("probes", write_probes, &probe_shape),
    LIST_OF("profilers", write_profilers, &profiler_shape),
    {.key = "budget",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_OBJECT,
     .offset = offsetof(struct as_overhead, budgets),
     .size = sizeof(struct as_overhead_budget),
     .max = AS_BUDGET_COUNT,
     .shape = &budget_shape},
    {.key = "best_practices",
     .kind = AS_FIELD_LIST,
     .item = AS_FIELD_TEXT,
     .write = write_practices},
};
static const struct as_json_shape overhead_shape = AS_SHAPE(struct as_overhead, overhead_fields);

static const struct as_json_field document_fields[] = {
    AS_FIELD_INLINE(struct as_overhead_report, topology, &machine_shape),
    AS_FIELD_INLINE(struct as_overhead_report, overhead, &overhead_shape),
};
const struct as_json_shape as_overhead_document_shape =
    AS_SHAPE(struct as_overhead_report, document_fields);
