/* report/witness/bundle_text.c - what stands in a bundle: its metadata and its segments, as text or
 * JSON. Looking inside proves nothing: whether it is whole is for `assay bundle verify`. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json/json_tree.h"
#include "base/text/table.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/page/page.h"
#include "report/witness/witness_text.h"

#define MAX_VALUES 1000000

/* The JSON of a metadata segment; NULL when it is none that can be read. */
static int read_meta(const struct assay_bundle_segment *s, struct as_arena *arena,
                     const struct as_json_value **out, struct assay_error *err)
{
    int rc;

    *out = NULL;
    if (strcmp(s->type_name, "metadata") != 0)
        return ASSAY_OK;
    rc = as_json_tree_read(out, arena, s->payload, (size_t)s->payload_bytes, MAX_VALUES, NULL);
    return rc == ASSAY_ERR_NOMEM ? as_fail_nomem(err) : ASSAY_OK;
}

static void put_segment(struct as_table *table, struct as_page *page,
                        const struct assay_bundle_segment *s)
{
    char bytes[AS_TEXT_HUMAN], entries[AS_TEXT_HUMAN] = "";

    as_text_bytes(bytes, (double)s->payload_bytes);
    if (s->entries > 0)
        as_text_count(entries, s->entries);
    as_table_row(table);
    as_table_printf(table, AS_STYLE_NONE, "%llu", (unsigned long long)s->id);
    as_table_text(table, AS_STYLE_NONE, s->type_name);
    as_table_text(table, AS_STYLE_NONE, s->name ? as_page_name(page, s->name) : "");
    as_table_text(table, AS_STYLE_NONE, bytes);
    as_table_text(table, AS_STYLE_NONE, entries);
    as_table_text(table, AS_STYLE_NONE, s->is_signed ? "yes" : "");
    as_table_text(table, s->content_fits ? AS_STYLE_GOOD : AS_STYLE_BAD,
                  s->content_fits ? "fits" : "does not fit");
}

static int put_segments(struct as_page *page, const struct assay_bundle *bundle,
                        struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "id", .align = AS_ALIGN_RIGHT},
        {.title = "type"},
        {.title = "name", .may_shrink = true},
        {.title = "payload", .align = AS_ALIGN_RIGHT},
        {.title = "entries", .align = AS_ALIGN_RIGHT},
        {.title = "signed"},
        {.title = "hash"},
    };
    struct as_table table;
    int rc = ASSAY_OK;

    as_table_init(&table, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; rc == ASSAY_OK && i < assay_bundle_count(bundle); i++) {
        struct assay_bundle_segment s;

        rc = assay_bundle_segment_at(bundle, i, &s, err);
        if (rc == ASSAY_OK)
            put_segment(&table, page, &s);
    }
    if (rc == ASSAY_OK)
        as_page_table(page, &table);
    as_table_fini(&table);
    return rc;
}

/* What the bundle is of, a line for each thing that is known. */
static void put_facts(struct as_page *page, const struct as_json_value *meta)
{
    static const char *const keys[] = {"config_hash", "model_commit", "weights_hash",
                                       "host",        "fingerprint",  "made_by"};

    for (size_t i = 0; i < AS_COUNT_OF(keys); i++) {
        const char *words = as_json_words(as_json_get(meta, keys[i]));

        as_page_cut_line(page, AS_STYLE_NONE, "%-13s %s", keys[i],
                         words ? as_page_name(page, words) : "unknown");
    }
}

static int inside_page(const char *path, const struct assay_bundle *bundle,
                       const struct as_witness_target *to, struct assay_error *err)
{
    const struct as_json_value *meta = NULL;
    struct assay_bundle_segment first;
    struct as_arena arena = {0};
    struct as_page page;
    int rc, closed;

    as_page_open(&page, to->out, to->term, false);
    as_page_line(&page, AS_STYLE_HEADING, "%s: a bundle of %zu segments", as_page_name(&page, path),
                 assay_bundle_count(bundle));
    rc = assay_bundle_segment_at(bundle, 0, &first, err);
    if (rc == ASSAY_OK)
        rc = read_meta(&first, &arena, &meta, err);
    if (rc == ASSAY_OK) {
        put_facts(&page, meta);
        as_out_char(to->out, '\n');
        rc = put_segments(&page, bundle, err);
    }
    as_arena_fini(&arena);
    closed = as_page_close(&page, rc < 0 ? NULL : err);
    return rc < 0 ? rc : closed;
}

static int json_segment(struct as_json_writer *w, const struct assay_bundle_segment *s,
                        struct assay_error *err)
{
    const struct as_json_value *meta;
    struct as_arena arena = {0};
    int rc = read_meta(s, &arena, &meta, err);

    as_json_object(w);
    AS_JSON_FIELDS(w, s, id, type, type_name, name, flags, offset, bytes, payload_bytes,
                   timestamp_ns, entries);
    as_json_kv_bool(w, "signed", s->is_signed);
    as_json_kv_bool(w, "content_fits", s->content_fits);
    if (meta) {
        as_json_key(w, "metadata");
        as_json_tree_write(w, meta);
    }
    as_json_object_end(w);
    as_arena_fini(&arena);
    return rc;
}

static int inside_json(const char *path, const struct assay_bundle *bundle,
                       const struct as_witness_target *to, struct assay_error *err)
{
    struct as_json_writer w;
    int rc = ASSAY_OK;

    as_json_writer_init(&w, to->out, 2);
    as_json_object(&w);
    as_json_kv_text(&w, "schema", "assay.bundle");
    as_json_kv_u64(&w, "schema_version", 1);
    as_json_kv_text(&w, "path", path);
    as_json_kv_array(&w, "segments");
    for (size_t i = 0; rc == ASSAY_OK && i < assay_bundle_count(bundle); i++) {
        struct assay_bundle_segment s;

        rc = assay_bundle_segment_at(bundle, i, &s, err);
        if (rc == ASSAY_OK)
            rc = json_segment(&w, &s, err);
    }
    if (rc < 0)
        return rc;
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_out_char(to->out, '\n');
    return as_json_writer_finish(&w, err);
}

int as_report_inside(const char *path, const struct assay_bundle *bundle,
                     const struct as_witness_target *to, struct assay_error *err)
{
    return to->term ? inside_page(path, bundle, to, err) : inside_json(path, bundle, to, err);
}
