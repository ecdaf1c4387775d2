/* experiment/bench/bench_csv_write.c - writes the CSV files of a benchmark by their tables.
 * What could not be read back is refused before anything appears. */
#include "base/error.h"
#include "experiment/bench/bench_csv_schema.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/output.h"
#include "base/text/csv.h"
#include "base/text/utf8.h"

static int refuse(const struct as_csv_column *c, size_t row, const char *why,
                  struct assay_error *err)
{
    return as_fail(err, ASSAY_ERR_USAGE, "row %zu, %s: %s", row + 1, c->name, why);
}

static int put_text(struct as_csv_writer *w, const struct as_csv_column *c, const char *text,
                    size_t row, struct assay_error *err)
{
    size_t size = text ? strlen(text) : 0;

    if (!text || !as_utf8_valid(text, size))
        return refuse(c, row, text ? "the text is not UTF-8" : "there is no text", err);
    as_csv_text_n(w, text, size);
    return ASSAY_OK;
}

static int put_real(struct as_csv_writer *w, const struct as_csv_column *c, double value,
                    size_t row, struct assay_error *err)
{
    if (isnan(value)) {
        as_csv_empty(w);
        return ASSAY_OK;
    }
    if (!isfinite(value) || value < c->least || value > c->most)
        return refuse(c, row, isfinite(value) ? "the number is out of range" : "it is infinite",
                      err);
    if (c->kind == AS_CSV_WHOLE)
        as_csv_u64(w, (uint64_t)value);
    else
        as_csv_f64(w, value);
    return ASSAY_OK;
}

static int put_field(struct as_csv_writer *w, const struct as_csv_column *c, const char *at,
                     size_t row, struct assay_error *err)
{
    const char *field = at + c->offset;
    const char *text;
    uint64_t u64;
    double real;

    switch (c->kind) {
    case AS_CSV_TEXT:
        memcpy(&text, field, sizeof text);
        return put_text(w, c, text, row, err);
    case AS_CSV_U64:
        memcpy(&u64, field, sizeof u64);
        if (c->may_be_empty && u64 == ASSAY_UNKNOWN)
            as_csv_empty(w);
        else
            as_csv_u64(w, u64);
        break;
    case AS_CSV_US:
        memcpy(&u64, field, sizeof u64);
        if (c->may_be_empty && !at[c->flag_offset])
            as_csv_empty(w);
        else
            as_csv_u64(w, u64 / 1000);
        break;
    case AS_CSV_REAL:
    case AS_CSV_WHOLE:
        memcpy(&real, field, sizeof real);
        return put_real(w, c, real, row, err);
    }
    return ASSAY_OK;
}

static void put_header(struct as_out *out, const struct as_csv_schema *schema)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        as_out_text(out, i ? "," : "");
        as_out_text(out, schema->columns[i].name);
    }
    as_out_char(out, '\n');
}

static int put_rows(struct as_out *out, const struct as_csv_schema *schema, const char *rows,
                    size_t n, struct assay_error *err)
{
    struct as_csv_writer w = {.out = out, .safe = true};

    put_header(out, schema);
    for (size_t row = 0; row < n && as_out_ok(out); row++) {
        for (size_t i = 0; i < schema->n_columns; i++) {
            int rc = put_field(&w, &schema->columns[i], rows, row, err);

            if (rc < 0)
                return rc;
        }
        as_csv_row_end(&w);
        rows += schema->row_bytes;
    }
    return ASSAY_OK;
}

static int check_stamp(const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    const char *hash = stamp->config_hash;

    if (hash && !as_unhex(hash, strlen(hash), digest, sizeof digest))
        return as_fail(err, ASSAY_ERR_USAGE, "a configuration's hash is 64 digits of hex");
    return ASSAY_OK;
}

static int write_csv(const char *path, enum assay_csv_schema which, const void *rows, size_t n,
                     const struct assay_csv_stamp *given, struct assay_error *err)
{
    const struct as_csv_schema *schema = &as_csv_schemas[which];
    struct assay_csv_stamp stamp;
    struct as_out out;
    int rc;

    if (!path || !path[0] || (n > 0 && !rows))
        return as_fail(err, ASSAY_ERR_USAGE, "a path and rows to write are needed");
    rc = as_sized_take(&stamp, sizeof stamp, given, "the stamp of a file", err);
    if (rc == ASSAY_OK)
        rc = check_stamp(&stamp, err);
    if (rc == ASSAY_OK)
        rc = as_folder_make_above(path, 0777, err);
    if (rc == ASSAY_OK)
        rc = as_out_file(&out, path, err);
    if (rc != ASSAY_OK)
        return rc;
    rc = put_rows(&out, schema, rows, n, err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, err);
    as_out_drop(&out);
    if (rc == ASSAY_OK && given)
        rc = as_bench_csv_stamp(path, schema, n, &stamp, err);
    return rc;
}

int assay_csv_write_results(const char *path, const struct assay_result_row *rows, size_t n,
                            const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_RESULTS, rows, n, stamp, err);
}

int assay_csv_write_results9(const char *path, const struct assay_result_row *rows, size_t n,
                             const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_RESULTS9, rows, n, stamp, err);
}

int assay_csv_write_latency(const char *path, const struct assay_latency_record *records, size_t n,
                            const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_LATENCY, records, n, stamp, err);
}

int assay_csv_write_memory(const char *path, const struct assay_memory_snapshot *snapshots,
                           size_t n, const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_MEMORY, snapshots, n, stamp, err);
}

int assay_csv_write_samples(const char *path, const struct assay_sample_row *rows, size_t n,
                            const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_SAMPLES, rows, n, stamp, err);
}

int assay_csv_write_power(const char *path, const struct assay_power_sample *samples, size_t n,
                          const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    return write_csv(path, ASSAY_CSV_POWER, samples, n, stamp, err);
}
