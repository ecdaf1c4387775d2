/* experiment/bench/bench_csv_read.c - reads the CSV files of a benchmark by their tables.
 * Nothing is guessed: a field is what its column allows, or the file is refused with line and
 * column. */
#include "experiment/bench/bench_csv_schema.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text/csv.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "base/vec.h"
#include "format/mapped_file.h"
#include "probe/process/memory_probe.h"

#define MAX_FILE_BYTES ((uint64_t)1 << 30)

struct assay_csv_rows {
    enum assay_csv_schema schema;
    void *rows;
    size_t n, capacity;
    struct as_arena texts;
};

/* One file while it is read. */
struct reading {
    const char *name;
    const struct as_csv_schema *schema;
    size_t n_columns; /* that the file has */
    struct as_csv_reader csv;
    struct assay_csv_rows *out;
    struct assay_error *err;
};

static int wrong(const struct reading *r, const struct as_csv_column *c, const char *what)
{
    return as_fail(r->err, ASSAY_ERR_FORMAT, "%.100s, line %" PRIu64 ", column %s: %s", r->name,
                   r->csv.line, c->name, what);
}

/* ---- the header ---- */

static bool header_is(const struct as_csv_reader *csv, const struct as_csv_schema *schema)
{
    if (csv->n_fields != schema->n_columns &&
        csv->n_fields != schema->n_columns - schema->n_optional)
        return false;
    for (size_t i = 0; i < csv->n_fields; i++) {
        const struct as_csv_field *f = &csv->fields[i];
        const char *name = schema->columns[i].name;

        if (f->size != strlen(name) || memcmp(f->text, name, f->size) != 0)
            return false;
    }
    return true;
}

/* What kind of file was asked for, in a word. */
static const char *wanted_name(unsigned allowed)
{
    for (int i = 0; i < ASSAY_CSV_SCHEMA_COUNT; i++)
        if (allowed == 1u << i)
            return as_csv_schemas[i].name;
    return allowed >> ASSAY_CSV_LATENCY ? "benchmark" : as_csv_schemas[ASSAY_CSV_RESULTS].name;
}

static int read_header(struct reading *r, unsigned allowed)
{
    int n = as_csv_next(&r->csv, r->err);

    if (n < 0)
        return n;
    for (int i = 0; n > 0 && i < ASSAY_CSV_SCHEMA_COUNT; i++) {
        if (!(allowed >> i & 1) || !header_is(&r->csv, &as_csv_schemas[i]))
            continue;
        r->schema = &as_csv_schemas[i];
        r->n_columns = r->csv.n_fields;
        r->out->schema = (enum assay_csv_schema)i;
        return ASSAY_OK;
    }
    return as_fail(r->err, ASSAY_ERR_FORMAT, "%.100s, line 1: the header is not that of a %s file",
                   r->name, wanted_name(allowed));
}

/* ---- one field ---- */

static int take_text(struct reading *r, const struct as_csv_column *c, const struct as_csv_field *f,
                     char *at)
{
    const char *copy;

    if (memchr(f->text, '\0', f->size) || !as_utf8_valid(f->text, f->size))
        return wrong(r, c, "the text is not UTF-8 or holds a zero byte");
    copy = as_arena_text(&r->out->texts, f->text, f->size);
    if (!copy)
        return as_fail_nomem(r->err);
    memcpy(at + c->offset, &copy, sizeof copy);
    return ASSAY_OK;
}

static int take_u64(const struct reading *r, const struct as_csv_column *c,
                    const struct as_csv_field *f, char *at)
{
    uint64_t value = ASSAY_CSV_UNKNOWN;

    if (f->size > 0 && !as_parse_u64(f->text, f->size, &value))
        return wrong(r, c, "a whole number is needed");
    if (f->size > 0 && c->may_be_empty && value == ASSAY_CSV_UNKNOWN)
        return wrong(r, c, "the number is too large");
    memcpy(at + c->offset, &value, sizeof value);
    return ASSAY_OK;
}

static int take_us(const struct reading *r, const struct as_csv_column *c,
                   const struct as_csv_field *f, char *at)
{
    uint64_t us = 0, ns = 0;
    bool known = f->size > 0;

    if (known && !as_parse_u64(f->text, f->size, &us))
        return wrong(r, c, "whole microseconds are needed");
    if (!as_mul_u64(us, 1000, &ns))
        return wrong(r, c, "the time is too long");
    memcpy(at + c->offset, &ns, sizeof ns);
    if (c->may_be_empty)
        memcpy(at + c->flag_offset, &known, sizeof known);
    return ASSAY_OK;
}

static int take_real(const struct reading *r, const struct as_csv_column *c,
                     const struct as_csv_field *f, char *at)
{
    double value = AS_UNKNOWN;
    uint64_t whole;

    if (f->size > 0 && c->kind == AS_CSV_WHOLE) {
        if (!as_parse_u64(f->text, f->size, &whole))
            return wrong(r, c, "a whole number is needed");
        if (whole > (uint64_t)c->most)
            return wrong(r, c, "the number is too large");
        value = (double)whole;
    } else if (f->size > 0) {
        if (!as_parse_f64(f->text, f->size, &value) || !isfinite(value))
            return wrong(r, c, "a finite number is needed, or nothing when it is not known");
        if (value < c->least || value > c->most)
            return wrong(r, c,
                         value < c->least ? "the number is too small to be one of these"
                                          : "the number is too large to be one of these");
    }
    memcpy(at + c->offset, &value, sizeof value);
    return ASSAY_OK;
}

static int take_field(struct reading *r, const struct as_csv_column *c,
                      const struct as_csv_field *f, char *at)
{
    if (f->size == 0 && !c->may_be_empty)
        return wrong(r, c, "the field is empty");
    switch (c->kind) {
    case AS_CSV_TEXT:
        return take_text(r, c, f, at);
    case AS_CSV_U64:
        return take_u64(r, c, f, at);
    case AS_CSV_US:
        return take_us(r, c, f, at);
    case AS_CSV_REAL:
    case AS_CSV_WHOLE:
        return take_real(r, c, f, at);
    }
    return ASSAY_OK;
}

/* ---- rows ---- */

/* What the file does not hold is unknown. */
static void clear_row(enum assay_csv_schema schema, void *row)
{
    if (schema == ASSAY_CSV_MEMORY) {
        struct assay_memory_snapshot *snapshot = row;

        as_memory_snapshot_clear(snapshot);
        snapshot->why = "a memory file holds a few columns only";
    } else if (schema == ASSAY_CSV_RESULTS) {
        struct assay_result_row *result = row;

        result->lambda = result->tau = AS_UNKNOWN;
    }
}

static int take_row(struct reading *r)
{
    struct assay_csv_rows *out = r->out;
    const struct as_csv_schema *schema = r->schema;
    char *at;

    if (r->csv.n_fields != r->n_columns)
        return as_fail(r->err, ASSAY_ERR_FORMAT,
                       "%.100s, line %" PRIu64 ": %zu fields where the header has %zu", r->name,
                       r->csv.line, r->csv.n_fields, r->n_columns);
    if (!as_vec_reserve(&out->rows, out->n, &out->capacity, schema->row_bytes))
        return as_fail_nomem(r->err);
    at = (char *)out->rows + out->n * schema->row_bytes;
    memset(at, 0, schema->row_bytes);
    clear_row(out->schema, at);
    for (size_t i = 0; i < r->n_columns; i++) {
        int rc = take_field(r, &schema->columns[i], &r->csv.fields[i], at);

        if (rc < 0)
            return rc;
    }
    out->n++;
    return ASSAY_OK;
}

int as_bench_csv_parse(const void *data, size_t size, const char *name, unsigned allowed,
                       struct assay_csv_rows **out, struct assay_error *err)
{
    struct reading r = {.name = name, .err = err};
    int rc;

    *out = NULL;
    r.out = as_alloc_zero(1, sizeof *r.out);
    if (!r.out)
        return as_fail_nomem(err);
    as_csv_reader_init(&r.csv, size ? data : "", size);
    r.csv.max_fields = (size_t)4 * AS_BENCH_CSV_COLUMNS;
    r.csv.undo_guard = true;
    rc = read_header(&r, allowed);
    while (rc == ASSAY_OK && (rc = as_csv_next(&r.csv, err)) > 0)
        rc = take_row(&r);
    as_csv_reader_fini(&r.csv);
    if (rc == ASSAY_OK)
        *out = r.out;
    else
        assay_csv_rows_free(r.out);
    return rc;
}

static int read_csv(const char *path, unsigned allowed, struct assay_csv_rows **out,
                    struct assay_error *err)
{
    struct as_mapped_file file;
    int rc;

    if (out)
        *out = NULL;
    if (!path || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "a path and room for its rows are needed");
    rc = as_mapped_file_open(&file, path, err);
    if (rc < 0)
        return rc;
    if (file.size > MAX_FILE_BYTES)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "%.100s has more than 1 GiB", path);
    else
        rc = as_bench_csv_parse(file.bytes, (size_t)file.size, path, allowed, out, err);
    as_mapped_file_close(&file);
    return rc;
}

int assay_read_results_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, 1u << ASSAY_CSV_RESULTS | 1u << ASSAY_CSV_RESULTS9, out, err);
}

int assay_read_latency_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, 1u << ASSAY_CSV_LATENCY, out, err);
}

int assay_read_memory_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, 1u << ASSAY_CSV_MEMORY, out, err);
}

int assay_read_samples_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, 1u << ASSAY_CSV_SAMPLES, out, err);
}

int assay_read_power_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, 1u << ASSAY_CSV_POWER, out, err);
}

int assay_read_bench_csv(const char *path, struct assay_csv_rows **out, struct assay_error *err)
{
    return read_csv(path, (1u << ASSAY_CSV_SCHEMA_COUNT) - 1, out, err);
}

/* ---- what was read ---- */

void assay_csv_rows_free(struct assay_csv_rows *rows)
{
    if (!rows)
        return;
    as_arena_fini(&rows->texts);
    as_free(rows->rows);
    as_free(rows);
}

size_t assay_csv_rows_count(const struct assay_csv_rows *rows)
{
    return rows ? rows->n : 0;
}

enum assay_csv_schema assay_csv_rows_schema(const struct assay_csv_rows *rows)
{
    return rows ? rows->schema : ASSAY_CSV_SCHEMA_COUNT;
}

static const void *rows_of(const struct assay_csv_rows *rows, enum assay_csv_schema schema)
{
    return rows && rows->schema == schema ? rows->rows : NULL;
}

const struct assay_result_row *assay_csv_results(const struct assay_csv_rows *rows)
{
    const void *seven = rows_of(rows, ASSAY_CSV_RESULTS);

    return seven ? seven : rows_of(rows, ASSAY_CSV_RESULTS9);
}

const struct assay_latency_record *assay_csv_latency(const struct assay_csv_rows *rows)
{
    return rows_of(rows, ASSAY_CSV_LATENCY);
}

const struct assay_memory_snapshot *assay_csv_memory(const struct assay_csv_rows *rows)
{
    return rows_of(rows, ASSAY_CSV_MEMORY);
}

const struct assay_sample_row *assay_csv_samples(const struct assay_csv_rows *rows)
{
    return rows_of(rows, ASSAY_CSV_SAMPLES);
}

const struct assay_power_sample *assay_csv_power(const struct assay_csv_rows *rows)
{
    return rows_of(rows, ASSAY_CSV_POWER);
}
