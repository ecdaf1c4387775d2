/* report/run/layer_columns.h - every figure of a layer that a report can show, and where it stands.
 * The table of layers on the screen, their CSV and their JSON are printed from this one list. */
#ifndef AS_REPORT_RUN_LAYER_COLUMNS_H
#define AS_REPORT_RUN_LAYER_COLUMNS_H

#include "analyze/run/layers.h"
#include "report/page/layer_rows.h"
#include "report/run/report.h"
#include "report/run/show.h"

struct as_layer_metric {
    const char *name;  /* for --columns */
    const char *key;   /* in JSON and CSV, with its unit; NULL: on the screen only */
    const char *title; /* on the screen; a time's unit is added */
    const char *help;
    enum as_shown kind;
    unsigned drop; /* as in struct as_table_column */
};

enum as_layer_metric_id {
    AS_LAYER_METRIC_NAME,
    AS_LAYER_METRIC_FLAGS,
    AS_LAYER_METRIC_OP,
    AS_LAYER_METRIC_SHAPE,
    AS_LAYER_METRIC_CATEGORY,
    AS_LAYER_METRIC_CALLS,
    AS_LAYER_METRIC_FAILED,
    AS_LAYER_METRIC_TOTAL,
    AS_LAYER_METRIC_SELF,
    AS_LAYER_METRIC_SHARE_OF_SELF,
    AS_LAYER_METRIC_SHARE_BAR,
    AS_LAYER_METRIC_CUM,
    AS_LAYER_METRIC_MEAN,
    AS_LAYER_METRIC_STD,
    AS_LAYER_METRIC_STD_SAMPLE,
    AS_LAYER_METRIC_MIN,
    AS_LAYER_METRIC_MAX,
    AS_LAYER_METRIC_MEDIAN,
    AS_LAYER_METRIC_P50,
    AS_LAYER_METRIC_P90,
    AS_LAYER_METRIC_P95,
    AS_LAYER_METRIC_P99,
    AS_LAYER_METRIC_CV,
    AS_LAYER_METRIC_MAD,
    AS_LAYER_METRIC_CI,
    AS_LAYER_METRIC_CI_LOW,
    AS_LAYER_METRIC_CI_HIGH,
    AS_LAYER_METRIC_OUTLIERS,
    AS_LAYER_METRIC_THREADS,
    AS_LAYER_METRIC_FLOPS,
    AS_LAYER_METRIC_GFLOPS,
    AS_LAYER_METRIC_BYTES,
    AS_LAYER_METRIC_GBPS,
    AS_LAYER_METRIC_FIRST,
    AS_LAYER_METRIC_SPARKLINE,
    AS_LAYER_METRIC_FILE,
    AS_LAYER_METRIC_COUNT_OF_ALL
};

/* NULL past the last. */
const struct as_layer_metric *as_layer_metric_at(size_t i);
const char *as_layer_metric_name_at(size_t i);
const char *as_layer_metric_help_at(size_t i);

/* The number, NaN when it cannot be had. CUM and texts have none: the one depends on the order, the
 * others are text. */
double as_layer_metric_number(enum as_layer_metric_id id, const struct as_layer *layer);

/* The text of a TEXT figure, NULL when it is not known. `line` holds what has to be composed. */
const char *as_layer_metric_text(enum as_layer_metric_id id, const struct as_layer *layer,
                                 char *line, size_t capacity);

/* False for a percentile that the number of calls does not carry. */
bool as_layer_metric_supported(enum as_layer_metric_id id, const struct as_layer *layer);

/* The words of --sort; NULL past the last. */
const char *as_layer_sort_at(size_t i);

/* What the user wants to see, but for the sections: their words differ from kind to kind. */
struct as_report_options as_report_options_of(const struct as_show *show);

/* ---- layer_table.c ---- */

struct as_layer_table {
    const uint32_t *order; /* of the layers, all of them */
    size_t n_rows;         /* how many of them are shown */
    const unsigned *column;
    size_t n_columns;
    bool only_known; /* leave out columns in which no layer has anything to show */
};

/* What had to be marked, for the words below the table. */
struct as_layer_marks {
    bool unsupported, inexact, near_cost, failed, unbalanced;
    double error; /* the largest bound of those inexact */
};

/* Prints it; `marks` may be NULL. */
AS_MUST_USE int as_layer_table_print(const struct as_report *report, struct as_page *page,
                                     const struct as_layer_table *what,
                                     struct as_layer_marks *marks, struct assay_error *err);

/* All layers in that order, in the page's memory; NULL when it ran out. */
uint32_t *as_layer_order_new(const struct as_report *report, struct as_page *page,
                             enum as_layer_sort sort, struct assay_error *err);

#endif
