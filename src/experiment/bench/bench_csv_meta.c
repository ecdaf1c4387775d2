/* experiment/bench/bench_csv_meta.c - the file beside a CSV file: what its columns are, what it was
 * made with, and the hash that ties the two together. */
#include "experiment/bench/bench_csv_schema.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json/json_writer.h"
#include "format/mapped_file.h"

static const char *const kind_name[] = {
    [AS_CSV_TEXT] = "text", [AS_CSV_U64] = "integer",   [AS_CSV_US] = "integer",
    [AS_CSV_REAL] = "real", [AS_CSV_WHOLE] = "integer",
};

/* Of a table without a schema the names of the columns say all there is. */
static void put_columns(struct as_json_writer *w, const struct as_csv_schema *schema)
{
    if (schema->n_columns == 0) {
        as_json_kv_null(w, "columns");
        return;
    }
    as_json_kv_array(w, "columns");
    for (size_t i = 0; i < schema->n_columns; i++) {
        const struct as_csv_column *c = &schema->columns[i];

        as_json_object(w);
        as_json_kv_text(w, "name", c->name);
        as_json_kv_text(w, "type", kind_name[c->kind]);
        as_json_kv_text(w, "unit", c->unit[0] ? c->unit : NULL);
        as_json_kv_bool(w, "may_be_unknown", c->may_be_empty && c->kind != AS_CSV_TEXT);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static int put_fingerprint(struct as_json_writer *w, const struct assay_fingerprint *fingerprint,
                           struct assay_error *err)
{
    char hash[ASSAY_HASH_HEX], deciding[ASSAY_HASH_HEX];
    char *facts = NULL;
    size_t size = 0;
    int rc;

    as_json_key(w, "fingerprint");
    if (!fingerprint) {
        as_json_null(w);
        return ASSAY_OK;
    }
    rc = assay_fingerprint_hash(fingerprint, ASSAY_FINGERPRINT_ALL, hash, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_hash(fingerprint, ASSAY_FINGERPRINT_DECIDING, deciding, err);
    if (rc == ASSAY_OK)
        rc = assay_fingerprint_json(fingerprint, ASSAY_FINGERPRINT_ALL, &facts, &size, err);
    if (rc < 0)
        return rc;
    as_json_object(w);
    as_json_kv_text(w, "hash", hash);
    as_json_kv_text(w, "deciding_hash", deciding);
    as_json_key(w, "facts");
    as_json_raw(w, facts, size);
    as_json_object_end(w);
    assay_fingerprint_text_free(facts);
    return ASSAY_OK;
}

/* Of the file as it stands there now. */
static int put_digest(struct as_json_writer *w, const char *path, struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    char hex[AS_SHA256_HEX];
    struct as_mapped_file file;
    int rc = as_mapped_file_open(&file, path, err);

    if (rc < 0)
        return rc;
    rc = as_sha256(file.bytes, (size_t)file.size, digest, err);
    if (rc == ASSAY_OK) {
        as_sha256_hex(digest, hex);
        as_json_kv_u64(w, "bytes", file.size);
        as_json_kv_text(w, "sha256", hex);
    }
    as_mapped_file_close(&file);
    return rc;
}

static int put_meta(struct as_out *out, const char *path, const struct as_csv_schema *schema,
                    size_t n_rows, const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    const char *slash = strrchr(path, '/');
    struct as_json_writer w;
    int rc;

    as_json_writer_init(&w, out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.bench_csv");
    as_json_kv_u64(&w, "version", 1);
    as_json_kv_text(&w, "file", slash ? slash + 1 : path);
    as_json_kv_text(&w, "kind", schema->name);
    as_json_kv_u64(&w, "rows", n_rows);
    rc = put_digest(&w, path, err);
    put_columns(&w, schema);
    as_json_kv_text(&w, "unknown", "an empty field");
    as_json_kv_text(&w, "config_hash", stamp->config_hash);
    if (rc == ASSAY_OK)
        rc = put_fingerprint(&w, stamp->fingerprint, err);
    if (rc < 0)
        return rc;
    as_json_object_end(&w);
    as_out_char(out, '\n');
    return as_json_writer_finish(&w, err);
}

int as_bench_csv_stamp(const char *path, const struct as_csv_schema *schema, size_t n_rows,
                       const struct assay_csv_stamp *stamp, struct assay_error *err)
{
    char beside[PATH_MAX];
    struct as_out out;
    int rc;

    if (snprintf(beside, sizeof beside, "%s.meta.json", path) >= (int)sizeof beside)
        return as_fail(err, ASSAY_ERR_LIMIT, "path too long: %.80s", path);
    rc = as_out_file(&out, beside, err);
    if (rc < 0)
        return rc;
    rc = put_meta(&out, path, schema, n_rows, stamp, err);
    if (rc == ASSAY_OK)
        rc = as_out_close(&out, err);
    as_out_drop(&out);
    return rc;
}
