/* report/page/cells.h - the columns and cells that several sections share.
 * A time's column is titled with its unit; what cannot be had is "-". */
#ifndef AS_REPORT_PAGE_CELLS_H
#define AS_REPORT_PAGE_CELLS_H

#include "base/text/table.h"
#include "report/page/time_columns.h"

/* A right-aligned column of times; its title is kept in `text`. */
struct as_time_column {
    struct as_time_scale scale;
    char text[40];
};

/* Chooses the unit by the largest time and writes the title "self ms". */
struct as_table_column as_column_time(struct as_time_column *column, const char *title,
                                      double largest_ns, enum as_time_unit unit);

void as_cell_time(struct as_table *t, const struct as_time_column *column, double ns);

/* The same, dim and with a mark when too few samples carry it. */
void as_cell_tail(struct as_table *t, const struct as_time_column *column, double ns,
                  bool supported);
void as_cell_count(struct as_table *t, uint64_t n);
void as_cell_share(struct as_table *t, double share);

/* Values of any unit, all with the decimals that suit them together. */
void as_cell_values(struct as_table *t, const double *value, size_t n);

#endif
