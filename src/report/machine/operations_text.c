/* report/machine/operations_text.c - what bounds each kind of operation on this machine, as text,
 * Markdown or JSON. */
#include "report/machine/machine_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json/json_writer.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/page/page.h"

#define UNQUIET 0.1

/* ---- for people ---- */

static const struct as_table_column columns[] = {
    {.title = "operation"},
    {.title = "input", .drop = 8},
    {.title = "latency", .align = AS_ALIGN_RIGHT},
    {.title = "+-", .align = AS_ALIGN_RIGHT, .drop = 7},
    {.title = "FLOPs", .align = AS_ALIGN_RIGHT, .drop = 5},
    {.title = "bytes", .align = AS_ALIGN_RIGHT, .drop = 6},
    {.title = "GFLOP/s", .align = AS_ALIGN_RIGHT},
    {.title = "GB/s", .align = AS_ALIGN_RIGHT, .drop = 3},
    {.title = "FLOP/B", .align = AS_ALIGN_RIGHT, .drop = 2},
    {.title = "ridge", .align = AS_ALIGN_RIGHT, .drop = 4},
    {.title = "of roof", .align = AS_ALIGN_RIGHT},
    {.title = "class"},
    {.title = "focus"},
    {.title = "kernel", .drop = 9, .min_width = 15, .may_shrink = true},
};

static void put_number(struct as_table *t, double value)
{
    char text[AS_TEXT_FLOAT];

    as_text_fixed(text, value, value < 10 ? 2 : value < 1000 ? 1 : 0);
    as_table_text(t, AS_STYLE_NONE, text[0] ? text : "-");
}

/* Of the interval of the median, as a share of it. */
static double half_width(const struct as_operation_row *row)
{
    const struct as_interval *interval = &row->point->figures.median.interval;

    return (interval->high - interval->low) / 2 / row->latency_ns;
}

static void put_row(struct as_table *t, const struct as_operation_row *row)
{
    char text[AS_TEXT_HUMAN];

    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, as_operation_text(row->point->operation));
    as_table_text(t, AS_STYLE_DIM, row->point->shape);
    as_text_ns(text, row->latency_ns, AS_TIME_AUTO);
    as_table_text(t, AS_STYLE_NONE, text);
    as_text_percent(text, half_width(row));
    as_table_text(t, AS_STYLE_DIM, text);
    as_text_si(text, (double)row->point->flops, NULL);
    as_table_text(t, AS_STYLE_NONE, text);
    as_text_bytes(text, (double)row->point->bytes);
    as_table_text(t, AS_STYLE_NONE, text);
    put_number(t, row->gflops_per_second);
    put_number(t, row->roof.bandwidth * 1e-9);
    put_number(t, row->roof.intensity);
    put_number(t, row->ridge);
    as_text_percent(text, row->roof.roof_fraction);
    as_table_text(t, row->roof.inconsistent ? AS_STYLE_WARN : AS_STYLE_NONE, text);
    as_table_text(t, AS_STYLE_NONE, row->class_name);
    as_table_text(t, AS_STYLE_NONE, row->focus);
    as_table_text(t, AS_STYLE_DIM, row->point->kernel);
}

static const char *name_of(const struct as_operations *o, size_t row)
{
    return row == SIZE_MAX ? "-" : as_operation_text(o->rows[row].point->operation);
}

static void put_extreme(struct as_page *page, const struct as_operations *o, const char *what,
                        size_t by_rate, size_t by_roof)
{
    char share[AS_TEXT_HUMAN];
    double rate = by_rate == SIZE_MAX ? AS_UNKNOWN : o->rows[by_rate].gflops_per_second;

    as_text_percent(share, by_roof == SIZE_MAX ? AS_UNKNOWN : o->rows[by_roof].roof.roof_fraction);
    as_page_line(page, AS_STYLE_NONE, "%-16s %s (%.2f GFLOP/s); of its roof %s (%s)", what,
                 name_of(o, by_rate), rate, name_of(o, by_roof), share);
}

/* Each focus once, with what it means. */
static void put_focuses(struct as_page *page, const struct as_operations *o)
{
    as_page_heading(page, "What to work on", NULL);
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++) {
        bool told = false;

        for (size_t before = 0; before < r; before++)
            told = told || strcmp(o->rows[before].focus, o->rows[r].focus) == 0;
        if (!told)
            as_page_line(page, AS_STYLE_NONE, "%-16s %s", o->rows[r].focus, o->rows[r].advice);
    }
}

static void put_findings(struct as_page *page, const struct as_operations *o)
{
    char call[AS_TEXT_HUMAN];
    double width = 0;

    as_text_ns(call, o->run->call.figures.summary.median, AS_TIME_AUTO);
    as_page_heading(page, "Findings", NULL);
    put_extreme(page, o, "most efficient", o->most_gflops, o->most_roof);
    put_extreme(page, o, "least efficient", o->least_gflops, o->least_roof);
    as_page_line(page, AS_STYLE_NONE,
                 "%-16s %zu memory-bound, %zu compute-bound, %zu overhead-bound", "classes",
                 o->n_of[AS_BOUND_MEMORY], o->n_of[AS_BOUND_COMPUTE], o->n_of[AS_BOUND_OVERHEAD]);
    as_page_line(page, AS_STYLE_NONE, "%-16s %s", "priority", o->priority_text);
    if (o->n_of[AS_BOUND_OVERHEAD] > 0)
        as_page_line(page, AS_STYLE_DIM,
                     "overhead-bound: arithmetic and bytes explain less than %.0f %% of the time; "
                     "a run that does nothing takes %s",
                     AS_ROOF_OVERHEAD_SHARE * 100, call);
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        width = fmax(width, half_width(&o->rows[r]));
    if (width > UNQUIET) {
        as_text_percent(call, width);
        as_page_line(page, AS_STYLE_WARN,
                     "medians are known to %s at worst: the machine was not quiet", call);
    }
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        if (o->rows[r].roof.inconsistent)
            as_page_line(page, AS_STYLE_WARN,
                         "%s passes its roof: the peaks were measured too low (--fresh), or the "
                         "bytes did not all move",
                         as_operation_text(o->rows[r].point->operation));
}

int as_operations_page(const struct as_operations_report *report, struct as_out *out,
                       const struct as_term *term, struct assay_error *err)
{
    const struct as_operations *o = report->operations;
    struct as_page page;
    struct as_table t;

    as_page_open(&page, out, term, report->markdown);
    as_page_title(&page, "Operations");
    as_machine_named_line(&page, report->topology);
    as_page_line(
        &page, AS_STYLE_DIM, "size %lld, f32, %u thread%s; medians of %u interleaved rounds",
        (long long)o->run->size, o->run->threads, o->run->threads == 1 ? "" : "s", o->run->rounds);
    as_table_init(&t, columns, AS_COUNT_OF(columns));
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        put_row(&t, &o->rows[r]);
    as_page_table(&page, &t);
    as_page_line(&page, AS_STYLE_DIM,
                 "ridge: FLOP/B from which computing bounds, at the level that holds the bytes");
    put_findings(&page, o);
    put_focuses(&page, o);
    return as_page_close(&page, err);
}

/* ---- for programs ---- */

static void put_json_row(struct as_json_writer *w, const struct as_operation_row *row)
{
    const struct as_operation_point *point = row->point;

    as_json_object(w);
    as_json_kv_text(w, "operation", as_operation_key(point->operation));
    as_json_kv_text(w, "shape", point->shape);
    as_json_kv_f64(w, "latency_ms", row->latency_ns * 1e-6);
    as_json_kv_f64(w, "ci95_low_ns", point->figures.median.interval.low);
    as_json_kv_f64(w, "ci95_high_ns", point->figures.median.interval.high);
    as_json_kv_f64(w, "least_round_ns", point->least_round_ns);
    as_json_kv_f64(w, "most_round_ns", point->most_round_ns);
    as_json_kv_u64(w, "runs", point->n_samples);
    AS_JSON_FIELDS(w, point, macs, flops, bytes, held_bytes);
    as_json_kv_f64(w, "gflops_per_second", row->gflops_per_second);
    as_json_kv_f64(w, "bytes_per_second", row->roof.bandwidth);
    as_json_kv_f64(w, "intensity", row->roof.intensity);
    as_json_kv_text(w, "level", as_peak_level_name(row->roof.level));
    as_json_kv_f64(w, "ridge", row->ridge);
    as_json_kv_f64(w, "attainable_gflops_per_second", row->roof.attainable * 1e-9);
    as_json_kv_f64(w, "call_share", row->call_share);
    as_json_kv_f64(w, "roof_fraction", row->roof.roof_fraction);
    as_json_kv_bool(w, "inconsistent", row->roof.inconsistent);
    as_json_kv_text(w, "efficiency_class", row->class_name);
    as_json_kv_text(w, "optimization_focus", row->focus);
    as_json_kv_text(w, "advice", row->advice);
    as_json_kv_text(w, "kernel", point->kernel);
    as_json_kv_u64(w, "steps", point->n_steps);
    as_json_object_end(w);
}

static void put_key(struct as_json_writer *w, const char *key, const struct as_operations *o,
                    size_t row)
{
    as_json_kv_text(w, key,
                    row == SIZE_MAX ? NULL : as_operation_key(o->rows[row].point->operation));
}

void as_operations_json(const struct as_operations_report *report, struct as_json_writer *w)
{
    const struct as_operations *o = report->operations;
    const char *cpu = report->topology->cpu.model;

    as_json_kv_text(w, "cpu", cpu[0] ? cpu : NULL);
    as_isa_json(w, &report->topology->isa);
    as_json_kv_u64(w, "threads", o->run->threads);
    as_json_kv_u64(w, "size", (uint64_t)o->run->size);
    as_json_kv_u64(w, "rounds", o->run->rounds);
    as_json_kv_f64(w, "peak_gflops_per_second",
                   as_peak_flops(report->peaks, AS_PEAK_F32, o->run->threads) * 1e-9);
    as_json_kv_f64(w, "empty_call_ms", o->run->call.figures.summary.median * 1e-6);
    as_json_kv_array(w, "operations");
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        put_json_row(w, &o->rows[r]);
    as_json_array_end(w);
    put_key(w, "most_efficient", o, o->most_gflops);
    put_key(w, "least_efficient", o, o->least_gflops);
    put_key(w, "most_efficient_by_roof", o, o->most_roof);
    put_key(w, "least_efficient_by_roof", o, o->least_roof);
    as_json_kv_u64(w, "memory_bound", o->n_of[AS_BOUND_MEMORY]);
    as_json_kv_u64(w, "compute_bound", o->n_of[AS_BOUND_COMPUTE]);
    as_json_kv_u64(w, "overhead_bound", o->n_of[AS_BOUND_OVERHEAD]);
    as_json_kv_text(w, "priority", as_bound_name(o->priority));
    as_json_kv_text(w, "advice", o->priority_text);
}
