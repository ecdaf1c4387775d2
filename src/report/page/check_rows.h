/* report/page/check_rows.h - what was checked, as one CSV table: of a run, a witness, a bundle or a
 * folder. */
#ifndef AS_REPORT_PAGE_CHECK_ROWS_H
#define AS_REPORT_PAGE_CHECK_ROWS_H

#include "base/text/csv.h"

enum as_check_result { AS_CHECK_OK, AS_CHECK_WARNING, AS_CHECK_FAILED, AS_CHECK_UNCHECKED };

/* The rows of one file; `kind` is what it is. */
struct as_check_rows {
    struct as_csv_writer *w;
    const char *path, *kind;
};

/* The heading: path, kind, check, result, sentence. */
void as_check_rows_begin(const struct as_check_rows *rows);

/* One check; `sentence` may be NULL or empty. */
void as_check_row(const struct as_check_rows *rows, const char *check, enum as_check_result result,
                  const char *sentence);

#endif
