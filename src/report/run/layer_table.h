/* report/run/layer_table.h - a table of layers with any columns in any order, one unit to a
 * column. Marks figures that the number of calls does not carry. */
#ifndef AS_REPORT_RUN_LAYER_TABLE_H
#define AS_REPORT_RUN_LAYER_TABLE_H

#include "report/run/report.h"

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
