/* base/text/csv_name.h - a text from outside as a field of a CSV file.
 * Such files are looked at on terminals too: what one would obey is shown instead. */
#ifndef AS_BASE_TEXT_CSV_NAME_H
#define AS_BASE_TEXT_CSV_NAME_H

#include "base/text/csv.h"

/* NULL is an empty field. */
void as_csv_name(struct as_csv_writer *w, const char *text);

#endif
