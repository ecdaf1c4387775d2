/* base/text/csv_fields.h - structs as rows of CSV, by the table of their fields that JSON is
 * written from too. */
#ifndef AS_BASE_TEXT_CSV_FIELDS_H
#define AS_BASE_TEXT_CSV_FIELDS_H

#include "base/json/json_fields.h"
#include "base/text/csv.h"

/* The keys, and the values of one struct. Objects inside have no column, of lists it is their
 * length; what is not known is empty. */
void as_csv_fields_keys(struct as_csv_writer *w, const struct as_json_shape *shape);
void as_csv_fields_values(struct as_csv_writer *w, const struct as_json_shape *shape,
                          const void *object);

/* The same, and the end of the row. */
void as_csv_fields_header(struct as_csv_writer *w, const struct as_json_shape *shape);
void as_csv_fields_row(struct as_csv_writer *w, const struct as_json_shape *shape,
                       const void *object);

#endif
