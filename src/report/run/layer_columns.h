/* report/run/layer_columns.h - every figure of a layer that a report can show, and where it stands.
 * The table of layers on the screen, their CSV and their JSON are printed from this one list. */
#ifndef AS_REPORT_RUN_LAYER_COLUMNS_H
#define AS_REPORT_RUN_LAYER_COLUMNS_H

#include "analyze/run/layers.h"
#include "base/text/table.h"

enum as_figure_kind {
    AS_FIGURE_TEXT,
    AS_FIGURE_COUNT,
    AS_FIGURE_TIME,     /* nanoseconds */
    AS_FIGURE_INTERVAL, /* two of them */
    AS_FIGURE_SHARE,    /* 0 to 1, or above for a coefficient of variation */
    AS_FIGURE_NUMBER,   /* any other */
    AS_FIGURE_BAR,
    AS_FIGURE_SPARK
};

struct as_figure {
    const char *name;  /* for --columns */
    const char *key;   /* in JSON and CSV, with its unit; NULL: on the screen only */
    const char *title; /* on the screen; a time's unit is added */
    const char *help;
    enum as_figure_kind kind;
    unsigned drop; /* as in struct as_table_column */
};

enum as_figure_id {
    AS_FIGURE_NAME,
    AS_FIGURE_FLAGS,
    AS_FIGURE_OP,
    AS_FIGURE_SHAPE,
    AS_FIGURE_CATEGORY,
    AS_FIGURE_CALLS,
    AS_FIGURE_FAILED,
    AS_FIGURE_TOTAL,
    AS_FIGURE_SELF,
    AS_FIGURE_SHARE_OF_SELF,
    AS_FIGURE_SHARE_BAR,
    AS_FIGURE_CUM,
    AS_FIGURE_MEAN,
    AS_FIGURE_STD,
    AS_FIGURE_STD_SAMPLE,
    AS_FIGURE_MIN,
    AS_FIGURE_MAX,
    AS_FIGURE_MEDIAN,
    AS_FIGURE_P50,
    AS_FIGURE_P90,
    AS_FIGURE_P95,
    AS_FIGURE_P99,
    AS_FIGURE_CV,
    AS_FIGURE_MAD,
    AS_FIGURE_CI,
    AS_FIGURE_CI_LOW,
    AS_FIGURE_CI_HIGH,
    AS_FIGURE_OUTLIERS,
    AS_FIGURE_THREADS,
    AS_FIGURE_FLOPS,
    AS_FIGURE_GFLOPS,
    AS_FIGURE_BYTES,
    AS_FIGURE_GBPS,
    AS_FIGURE_FIRST,
    AS_FIGURE_SPARKLINE,
    AS_FIGURE_FILE,
    AS_FIGURE_COUNT_OF_ALL
};

/* NULL past the last. */
const struct as_figure *as_figure_at(size_t i);
const char *as_figure_name_at(size_t i);
const char *as_figure_help_at(size_t i);

/* The number, NaN when it cannot be had. CUM and texts have none: the one depends on the order, the
 * others are text. */
double as_figure_number(enum as_figure_id id, const struct as_layer *layer);

/* The text of a TEXT figure, NULL when it is not known. `line` holds what has to be composed. */
const char *as_figure_text(enum as_figure_id id, const struct as_layer *layer, char *line,
                           size_t room);

/* False for a percentile that the number of calls does not carry. */
bool as_figure_supported(enum as_figure_id id, const struct as_layer *layer);

#endif
