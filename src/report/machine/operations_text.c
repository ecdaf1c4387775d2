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

#define UNQUIET    0.1
#define PAIR_WIDTH 19 /* "least efficient", "parallelization" */

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
    {.title = "roofline", .align = AS_ALIGN_RIGHT},
    {.title = "class"},
    {.title = "focus", .drop = 1}, /* explained below, by its class */
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
    put_number(t, row->roof.bandwidth / 1e9);
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
    as_page_pair(page, AS_STYLE_NONE, what, "%s (%.2f GFLOP/s); %s (%s of roofline)",
                 name_of(o, by_rate), rate, name_of(o, by_roof), share);
}

/* Each focus once, with what it means. */
static void put_focuses(struct as_page *page, const struct as_operations *o)
{
    as_page_heading(page, "Where to optimize", NULL);
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++) {
        bool told = false;

        for (size_t before = 0; before < r; before++)
            told = told || strcmp(o->rows[before].focus, o->rows[r].focus) == 0;
        if (!told)
            as_page_pair(page, AS_STYLE_NONE, o->rows[r].focus, "%s", o->rows[r].advice);
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
    as_page_pair(page, AS_STYLE_NONE, "classes",
                 "%zu memory-bound, %zu compute-bound, %zu overhead-bound",
                 o->n_of[AS_BOUND_MEMORY], o->n_of[AS_BOUND_COMPUTE], o->n_of[AS_BOUND_OVERHEAD]);
    as_page_pair(page, AS_STYLE_NONE, "priority", "%s", o->priority_text);
    if (o->n_of[AS_BOUND_OVERHEAD] > 0)
        as_page_line(
            page, AS_STYLE_DIM,
            "overhead-bound: arithmetic and bytes explain less than %.0f %% of the time; an "
            "empty call takes %s",
            AS_ROOF_OVERHEAD_SHARE * 100, call);
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        width = fmax(width, half_width(&o->rows[r]));
    if (width > UNQUIET) {
        as_text_percent(call, width);
        as_page_line(page, AS_STYLE_WARN,
                     "medians are known to within %s: the machine was not quiet", call);
    }
    for (size_t r = 0; r < AS_OPERATION_COUNT; r++)
        if (o->rows[r].roof.inconsistent)
            as_page_line(page, AS_STYLE_WARN,
                         "%s exceeds its roofline: the peaks were measured too low (--fresh), or "
                         "not all bytes moved",
                         as_operation_text(o->rows[r].point->operation));
}

int as_operations_page(const struct as_operations_report *report, struct as_out *out,
                       const struct as_term *term, struct assay_error *err)
{
    const struct as_operations *o = report->operations;
    struct as_page page;
    struct as_table t;

    as_page_open(&page, out, term, report->markdown);
    page.pair_width = PAIR_WIDTH;
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
                 "ridge: FLOP/B above it, compute-bound, at the level that holds the bytes");
    put_findings(&page, o);
    put_focuses(&page, o);
    return as_page_close(&page, err);
}

/* ---- for programs ---- */

#define POINT  struct as_operation_point
#define ROW    struct as_operation_row
#define REPORT struct as_operations_report

static const char *operation_text(const void *object)
{
    return as_operation_key(((const POINT *)object)->operation);
}

static const struct as_json_field point_fields[] = {
    AS_FIELD_WORDS("operation", operation_text, NULL),
    AS_FIELD(POINT, shape),
    AS_FIELD_KEY(POINT, "ci95_low_ns", figures.median.interval.low, "ns", NULL),
    AS_FIELD_KEY(POINT, "ci95_high_ns", figures.median.interval.high, "ns", NULL),
    AS_FIELD_HELP(POINT, least_round_ns, "ns", NULL),
    AS_FIELD_HELP(POINT, most_round_ns, "ns", NULL),
    AS_FIELD_KEY(POINT, "runs", n_samples, NULL, NULL),
    AS_FIELD(POINT, macs),
    AS_FIELD(POINT, flops),
    AS_FIELD(POINT, executed_flops),
    AS_FIELD_HELP(POINT, bytes, "bytes", "moved"),
    AS_FIELD_HELP(POINT, held_bytes, "bytes", NULL),
    AS_FIELD(POINT, kernel),
    AS_FIELD_KEY(POINT, "steps", n_steps, NULL, NULL),
};
static const struct as_json_shape point_shape = AS_SHAPE(POINT, point_fields);

static double latency_ms(const void *object)
{
    return ((const ROW *)object)->latency_ns / 1e6;
}

static double attainable(const void *object)
{
    return ((const ROW *)object)->roof.attainable / 1e9;
}

static const char *level_text(const void *object)
{
    return as_peak_level_name(((const ROW *)object)->roof.level);
}

static const struct as_json_field row_fields[] = {
    AS_FIELD_INLINE(ROW, point, &point_shape),
    AS_FIELD_NUMBER("latency_ms", latency_ms, "ms", "the median"),
    AS_FIELD_HELP(ROW, gflops_per_second, "GFLOP/s", NULL),
    AS_FIELD_KEY(ROW, "bytes_per_second", roof.bandwidth, "bytes/s", NULL),
    AS_FIELD_KEY(ROW, "intensity", roof.intensity, "FLOP/byte", NULL),
    AS_FIELD_WORDS("level", level_text, "memory level that holds its bytes"),
    AS_FIELD_HELP(ROW, ridge, "FLOP/byte", "above it, compute-bound"),
    AS_FIELD_NUMBER("attainable_gflops_per_second", attainable, "GFLOP/s", NULL),
    AS_FIELD_HELP(ROW, call_share, "fraction", "of an empty call"),
    AS_FIELD_KEY(ROW, "roof_fraction", roof.roof_fraction, "fraction", NULL),
    AS_FIELD_KEY(ROW, "inconsistent", roof.inconsistent, NULL, "exceeds what is possible"),
    AS_FIELD_KEY(ROW, "efficiency_class", class_name, NULL, NULL),
    AS_FIELD_KEY(ROW, "optimization_focus", focus, NULL, NULL),
    AS_FIELD(ROW, advice),
};
static const struct as_json_shape row_shape = AS_SHAPE(ROW, row_fields);

static const char *named(const void *report, size_t row)
{
    const struct as_operations *o = ((const REPORT *)report)->operations;

    return row == SIZE_MAX ? NULL : as_operation_key(o->rows[row].point->operation);
}

#define ROW_NAME(member)                                                                           \
    static const char *member##_text(const void *object)                                           \
    {                                                                                              \
        return named(object, ((const REPORT *)object)->operations->member);                        \
    }
ROW_NAME(most_gflops)
ROW_NAME(least_gflops)
ROW_NAME(most_roof)
ROW_NAME(least_roof)
#undef ROW_NAME

static const char *cpu_text(const void *object)
{
    const char *cpu = ((const REPORT *)object)->topology->cpu.model;

    return cpu[0] ? cpu : NULL;
}

static double peak_gflops(const void *object)
{
    const REPORT *r = object;

    return as_peak_flops(r->peaks, AS_PEAK_F32, r->operations->run->threads) / 1e9;
}

static double empty_call_ms(const void *object)
{
    return ((const REPORT *)object)->operations->run->call.figures.summary.median / 1e6;
}

static const char *priority_name(const void *object)
{
    return as_bound_name(((const struct as_operations *)object)->priority);
}

static const struct as_json_field isa_fields[] = {
    AS_FIELD_MEMBERS(struct as_topology, isa, &as_isa_document_shape),
};
static const struct as_json_shape isa_shape = AS_SHAPE(struct as_topology, isa_fields);

static const struct as_json_field run_fields[] = {
    AS_FIELD(struct as_operation_run, threads),
    AS_FIELD(struct as_operation_run, size),
    AS_FIELD(struct as_operation_run, rounds),
};
static const struct as_json_shape run_shape = AS_SHAPE(struct as_operation_run, run_fields);

static const struct as_json_field study_fields[] = {
    AS_FIELD_INLINE(struct as_operations, run, &run_shape),
    {.key = "operations",
     .kind = AS_FIELD_ARRAY,
     .item = AS_FIELD_OBJECT,
     .offset = offsetof(struct as_operations, rows),
     .size = sizeof(ROW),
     .max = AS_OPERATION_COUNT,
     .shape = &row_shape},
    AS_FIELD_KEY(struct as_operations, "memory_bound", n_of[AS_BOUND_MEMORY], NULL, "how many"),
    AS_FIELD_KEY(struct as_operations, "compute_bound", n_of[AS_BOUND_COMPUTE], NULL, "how many"),
    AS_FIELD_KEY(struct as_operations, "overhead_bound", n_of[AS_BOUND_OVERHEAD], NULL, "how many"),
    AS_FIELD_WORDS("priority", priority_name, "what to look at first"),
    AS_FIELD_KEY(struct as_operations, "advice", priority_text, NULL, NULL),
};
static const struct as_json_shape study_shape = AS_SHAPE(struct as_operations, study_fields);

static const struct as_json_field document_fields[] = {
    AS_FIELD_WORDS("cpu", cpu_text, NULL),
    AS_FIELD_INLINE(REPORT, topology, &isa_shape),
    AS_FIELD_NUMBER("peak_gflops_per_second", peak_gflops, "GFLOP/s", "f32, of the threads used"),
    AS_FIELD_NUMBER("empty_call_ms", empty_call_ms, "ms", "an empty call"),
    AS_FIELD_INLINE(REPORT, operations, &study_shape),
    AS_FIELD_WORDS("most_efficient", most_gflops_text, "by GFLOP/s"),
    AS_FIELD_WORDS("least_efficient", least_gflops_text, "by GFLOP/s"),
    AS_FIELD_WORDS("most_efficient_by_roof", most_roof_text, "by fraction of the roofline"),
    AS_FIELD_WORDS("least_efficient_by_roof", least_roof_text, "by fraction of the roofline"),
};
const struct as_json_shape as_operations_document_shape = AS_SHAPE(REPORT, document_fields);
