/* base/text/csv_target.h - where tables of CSV go: a file each in a folder, or one of them to an
 * output that is open. */
#ifndef AS_BASE_TEXT_CSV_TARGET_H
#define AS_BASE_TEXT_CSV_TARGET_H

#include "base/text/csv.h"

/* With a folder every table is a file in it; without one the main table goes to `out`. */
struct as_csv_target {
    const char *folder;
    struct as_out *out;
    bool safe; /* as of as_csv_writer */
};

typedef int (*as_csv_write)(struct as_csv_writer *w, const void *of, struct assay_error *err);

/* Makes the folder, if there is one. */
AS_MUST_USE int as_csv_target_open(const struct as_csv_target *to, struct assay_error *err);

/* Writes one table: as the file `name` in the folder, or to `out`. */
AS_MUST_USE int as_csv_target_put(const struct as_csv_target *to, const char *name,
                                  as_csv_write write, const void *of, struct assay_error *err);

#endif
