/* report/inspect/inspect_report.h - what a model is made of, as text, Markdown, JSON or CSV.
 * Only renders: every figure comes from analyze/model/inspect.h. */
#ifndef AS_REPORT_INSPECT_INSPECT_REPORT_H
#define AS_REPORT_INSPECT_INSPECT_REPORT_H

#include "analyze/model/inspect.h"
#include "base/output.h"
#include "base/text/term.h"
#include "report/page/layer_rows.h"

/* Parts of the page: name, what it shows, on the page unasked. A part with nothing to show is left
 * out unless it was asked for. */
#define AS_INSPECT_SECTIONS(X)                                                                     \
    X(SUMMARY, summary, "what the model is and its total cost", true)                              \
    X(TENSORS, tensors, "inputs and outputs", true)                                                \
    X(LAYERS, layers, "every layer, or groups of them with --group", true)                         \
    X(ATTENTION, attention, "attention blocks, heads, cache", true)                                \
    X(PARAMETERS, parameters, "constants by role and by type", true)                               \
    X(MEMORY, memory, "activations over the run, planned", true)                                   \
    X(TRAINING, training, "memory of a training step", true)                                       \
    X(SCALING, scaling, "how counts and memory grow, with --scale", true)                          \
    X(WEIGHTS, weights, "distribution of the weights", true)                                       \
    X(DEPLOYMENT, deployment, "memory at other weight types", true)                                \
    X(FINDINGS, findings, "what is unknown, assumed or worth doing", true)

enum as_inspect_section {
#define X(name, function, help, usual) AS_INSPECT_##name,
    AS_INSPECT_SECTIONS(X)
#undef X
        AS_INSPECT_SECTION_COUNT
};

const char *as_inspect_section_at(size_t i);

/* Columns of a layer: id, word for --columns, key in JSON and CSV or NULL, title, kind, when it is
 * dropped from a narrow screen (0: never, the highest first), shown unasked. */
#define AS_INSPECT_COLUMNS(X)                                                                      \
    X(NAME, "name", "name", "layer", TEXT, 0, true)                                                \
    X(OP, "op", "op", "op", TEXT, 0, true)                                                         \
    X(INPUTS, "inputs", NULL, "inputs", TEXT, 12, false)                                           \
    X(OUTPUT, "output", NULL, "output", TEXT, 3, true)                                             \
    X(DTYPE, "dtype", "dtype", "type", TEXT, 9, false)                                             \
    X(LAYERS, "layers", "layers", "layers", COUNT, 0, false)                                       \
    X(TIMES, "times", "times", "times", COUNT, 4, false)                                           \
    X(PARAMS, "params", "parameters", "params", SI, 1, true)                                       \
    X(PARAM_BYTES, "param_bytes", "parameter_bytes", "weights", BYTES, 8, true)                    \
    X(MACS, "macs", "macs", "MACs", SI, 0, true)                                                   \
    X(EXECUTED, "executed", "executed_macs", "executed", SI, 9, false)                             \
    X(SHARE, "share", "macs_share", "share", SHARE, 2, true)                                       \
    X(BAR, "bar", NULL, " ", BAR, 11, true)                                                        \
    X(FLOPS, "flops", "flops", "FLOPs", SI, 5, true)                                               \
    X(ELEMENTWISE, "elementwise", "elementwise_ops", "elementwise", SI, 9, true)                   \
    X(TRANSCENDENTAL, "transcendental", "transcendental_ops", "transc.", SI, 10, true)             \
    X(READ, "read", "bytes_read", "read", BYTES, 6, true)                                          \
    X(WRITTEN, "written", "bytes_written", "written", BYTES, 7, true)                              \
    X(INTENSITY, "intensity", "arithmetic_intensity", "FLOP/B", PLAIN, 4, true)                    \
    X(ACTIVATION, "activation", "activation_bytes", "activation", BYTES, 9, false)                 \
    X(SAVED, "saved", "saved_bytes", "saved", BYTES, 9, false)                                     \
    X(BACKWARD_MACS, "backward_macs", "backward_macs", "bwd MACs", SI, 9, false)                   \
    X(BACKWARD_FLOPS, "backward_flops", "backward_flops", "bwd FLOPs", SI, 9, false)               \
    X(BACKWARD_BYTES, "backward_bytes", "backward_bytes", "bwd bytes", BYTES, 9, false)            \
    X(SCOPE, "scope", "scope", "scope", TEXT, 12, false)

enum as_inspect_column {
#define X(id, word, key, title, kind, drop, usual) AS_COLUMN_##id,
    AS_INSPECT_COLUMNS(X)
#undef X
        AS_COLUMN_COUNT
};

const char *as_inspect_column_at(size_t i);
const char *as_inspect_column_key(enum as_inspect_column column); /* NULL: not in JSON or CSV */
enum as_shown as_inspect_column_kind(enum as_inspect_column column);

/* What a line shows in a column of numbers; NaN: not known. Counts are for the whole run: those of
 * one execution times the executions. */
double as_line_number(const struct as_inspection *in, const struct as_inspect_group *line,
                      enum as_inspect_column column);
/* The same, exactly; false when it is not known or no whole number. */
bool as_line_count(const struct as_inspect_group *line, enum as_inspect_column column,
                   uint64_t *out);

/* One row as a line. */
struct as_inspect_group as_row_line(const struct as_cost_row *row);

/* Orders of the layers; the first is the graph's. */
#define AS_INSPECT_SORTS(X)                                                                        \
    X("graph", NAME)                                                                               \
    X("params", PARAMS)                                                                            \
    X("macs", MACS)                                                                                \
    X("flops", FLOPS)                                                                              \
    X("bytes", READ)                                                                               \
    X("intensity", INTENSITY)                                                                      \
    X("activation", ACTIVATION)                                                                    \
    X("name", NAME)                                                                                \
    X("op", OP)

const char *as_inspect_sort_at(size_t i);

struct as_inspect_report {
    struct as_inspection *in;
    uint32_t sections; /* bit by section; 0: the usual ones */
    size_t top;        /* rows; 0: what suits */
    unsigned sort;     /* place among AS_INSPECT_SORTS */
    bool sort_given;   /* otherwise pages show the largest layers first */
    enum as_inspect_grouping grouping;
    unsigned depth;
    unsigned column[AS_COLUMN_COUNT * 2];
    size_t n_columns;
    bool wide, markdown, exact, constants; /* constants: also rows that cost nothing at run time */
};

/* The groups asked for, in the order asked for, with room for one more behind them. */
AS_MUST_USE int as_inspect_ordered_groups(const struct as_inspect_report *report,
                                          struct as_inspect_group **groups, size_t *n,
                                          struct assay_error *err);

/* The rows to show, in order, in the inspection's memory; NULL: no memory. */
uint32_t *as_inspect_order(const struct as_inspect_report *report, size_t *n);

AS_MUST_USE int as_inspect_page(const struct as_inspect_report *report, struct as_out *out,
                                const struct as_term *term, struct assay_error *err);

/* Schema "assay.inspect". */
AS_MUST_USE int as_inspect_json(const struct as_inspect_report *report, struct as_out *out,
                                struct assay_error *err);

/* The layers (or groups) as one table: an as_csv_write of a struct as_inspect_report. */
struct as_csv_writer;
AS_MUST_USE int as_inspect_csv(struct as_csv_writer *w, const void *of, struct assay_error *err);

#define X(name, function, help, usual)                                                             \
    AS_MUST_USE int as_inspect_##function(const struct as_inspect_report *report,                  \
                                          struct as_page *page, struct assay_error *err);
AS_INSPECT_SECTIONS(X)
#undef X

/* "ONNX". */
const char *as_inspect_format_name(enum as_model_format format);

/* The word of a finding in JSON, as in "unknown_op". */
const char *as_inspect_finding_name(enum as_finding_kind kind);

#endif
