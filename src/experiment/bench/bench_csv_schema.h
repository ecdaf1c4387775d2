/* experiment/bench/bench_csv_schema.h - the columns of the CSV files of a benchmark, as tables.
 * Writing, reading and the file beside them go by these alone. */
#ifndef AS_EXPERIMENT_BENCH_BENCH_CSV_SCHEMA_H
#define AS_EXPERIMENT_BENCH_BENCH_CSV_SCHEMA_H

#include <assay/experiment/bench_csv.h>

#include "base/error.h"

#define AS_BENCH_CSV_COLUMNS 9                  /* at most */
#define AS_BENCH_CSV_WHOLE   9007199254740992.0 /* up to here a double holds every whole number */

enum as_csv_kind {
    AS_CSV_TEXT,
    AS_CSV_U64,   /* ASSAY_CSV_UNKNOWN is an empty field where it may be */
    AS_CSV_US,    /* nanoseconds in memory, whole microseconds in the file */
    AS_CSV_REAL,  /* NaN is an empty field */
    AS_CSV_WHOLE, /* a double that is whole in the file; NaN is an empty field */
};

struct as_csv_column {
    const char *name, *unit; /* unit "": none */
    enum as_csv_kind kind;
    bool may_be_empty;
    size_t offset;      /* in the row */
    size_t flag_offset; /* AS_CSV_US that may be empty: the bool that says whether it is known */
    double least, most; /* of the real ones */
    bool zero_is_unknown;
};

struct as_csv_schema {
    const char *name;
    size_t row_bytes;
    size_t n_columns;
    size_t n_optional; /* of the last columns: not in files of programs that do not know them */
    struct as_csv_column columns[AS_BENCH_CSV_COLUMNS];
};

extern const struct as_csv_schema as_csv_schemas[ASSAY_CSV_SCHEMA_COUNT];

/* Reads `size` bytes. `allowed` has a bit for each schema; `name` is what messages call the file.
 */
AS_MUST_USE int as_bench_csv_parse(const void *data, size_t size, const char *name,
                                   unsigned allowed, struct assay_csv_rows **out,
                                   struct assay_error *err);

/* Writes `<path>.meta.json`: what is known of the file that was just written. */
AS_MUST_USE int as_bench_csv_stamp(const char *path, const struct as_csv_schema *schema,
                                   size_t n_rows, const struct assay_csv_stamp *stamp,
                                   struct assay_error *err);

#endif
