/* tests/fuzz/fuzz_bench_csv.c - any bytes as a CSV file of a benchmark.
 * What is read, written and read again is the same; what is refused says why. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/bench/bench_csv_schema.h"

#define ALL ((1u << ASSAY_CSV_SCHEMA_COUNT) - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int write_again(const char *path, const struct assay_csv_rows *rows)
{
    size_t n = assay_csv_rows_count(rows);

    switch (assay_csv_rows_schema(rows)) {
    case ASSAY_CSV_RESULTS:
        return assay_csv_write_results(path, assay_csv_rows_results(rows), n, NULL, NULL);
    case ASSAY_CSV_RESULTS9:
        return assay_csv_write_results9(path, assay_csv_rows_results(rows), n, NULL, NULL);
    case ASSAY_CSV_LATENCY:
        return assay_csv_write_latency(path, assay_csv_rows_latency(rows), n, NULL, NULL);
    case ASSAY_CSV_MEMORY:
        return assay_csv_write_memory(path, assay_csv_rows_memory(rows), n, NULL, NULL);
    case ASSAY_CSV_SAMPLES:
        return assay_csv_write_samples(path, assay_csv_rows_samples(rows), n, NULL, NULL);
    case ASSAY_CSV_POWER:
        return assay_csv_write_power(path, assay_csv_rows_power(rows), n, NULL, NULL);
    case ASSAY_CSV_SCHEMA_COUNT:
        break;
    }
    return -1;
}

/* The texts behind the pointers, then the numbers, which never hold a NaN of another kind. */
static void compare(const struct assay_csv_rows *a, const struct assay_csv_rows *b, bool same_text)
{
    const struct as_csv_schema *schema = &as_csv_schemas[assay_csv_rows_schema(a)];
    const struct assay_result_row *x = assay_csv_rows_results(a), *y = assay_csv_rows_results(b);

    if (assay_csv_rows_schema(a) != assay_csv_rows_schema(b) ||
        assay_csv_rows_count(a) != assay_csv_rows_count(b))
        abort();
    for (size_t i = 0; x && i < assay_csv_rows_count(a); i++) {
        if ((same_text && strcmp(x[i].setting, y[i].setting) != 0) ||
            memcmp(&x[i].lambda, &y[i].lambda, schema->row_bytes - sizeof x->setting) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct assay_csv_rows *rows, *again, *third;
    struct assay_error err = {0};
    char path[64];

    if (as_bench_csv_parse(data, size, "fuzz", ALL, &rows, &err) < 0) {
        if (rows || err.msg[0] == '\0')
            abort();
        return 0;
    }
    (void)snprintf(path, sizeof path, "/tmp/assay-fuzz-csv-%u.csv", (unsigned)getpid());
    if (write_again(path, rows) < 0 || assay_csv_read_any(path, &again, &err) < 0)
        abort();
    compare(rows, again, false); /* control characters are escaped, once */
    if (write_again(path, again) < 0 || assay_csv_read_any(path, &third, &err) < 0)
        abort();
    compare(again, third, true);
    unlink(path);
    assay_csv_rows_free(third);
    assay_csv_rows_free(again);
    assay_csv_rows_free(rows);
    return 0;
}
