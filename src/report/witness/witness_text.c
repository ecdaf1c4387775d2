/* report/witness/witness_text.c - what was found of a witness, a bundle or a folder of them, as
 * text or JSON. Hashes are told whole, so that two machines can be compared by eye. */
#include "report/witness/witness_text.h"

#include <stdio.h>
#include <string.h>

#include "base/json/json_writer.h"
#include "base/text/table.h"
#include "base/text/text.h"
#include "base/units.h"
#include "report/page/check_rows.h"
#include "report/page/page.h"

static void put_verdict(struct as_page *page, const char *path, bool whole, const char *sentence)
{
    as_page_line(page, whole ? AS_STYLE_GOOD : AS_STYLE_BAD, "%s %s: %s",
                 as_page_glyph(page, whole ? AS_GLYPH_CHECK : AS_GLYPH_CROSS),
                 as_page_name(page, path), whole ? "intact" : "not intact");
    if (sentence[0])
        as_page_line(page, AS_STYLE_BAD, "  %s", sentence);
}

static void put_times(struct as_page *page, uint64_t entries, uint64_t first, uint64_t last)
{
    char from[AS_TEXT_HUMAN], to[AS_TEXT_HUMAN];

    as_text_date(from, first);
    as_text_date(to, last);
    if (entries > 0)
        as_page_line(page, AS_STYLE_DIM, "  from %s to %s", from, to);
}

/* ---- text ---- */

static void put_replay(struct as_page *page, const struct as_replay_report *r)
{
    char entries[AS_TEXT_HUMAN];

    if (!r)
        return;
    as_text_count(entries, r->checked);
    if (r->differing)
        as_page_line(page, AS_STYLE_BAD, "  replay differs: %s", r->sentence);
    else
        as_page_line(page, AS_STYLE_GOOD, "  %s entr%s replayed, all identical", entries,
                     r->checked == 1 ? "y" : "ies");
}

static int witness_page(const char *path, const struct assay_witness_report *r,
                        const struct as_witness_target *to, struct assay_error *err)
{
    char entries[AS_TEXT_HUMAN], kept[AS_TEXT_HUMAN], bits[AS_TEXT_HUMAN];
    struct as_page page;

    as_page_open(&page, to->out, to->term, to->markdown);
    put_verdict(&page, path, r->whole, r->sentence);
    as_text_count(entries, r->entries);
    as_text_count(kept, r->mask_kept);
    as_text_count(bits, r->mask_bits);
    as_page_line(&page, AS_STYLE_DIM, "  witness, %s entr%s in order; %s of %s mask bits kept",
                 entries, r->entries == 1 ? "y" : "ies", kept, bits);
    put_times(&page, r->entries, r->first_timestamp_ns, r->last_timestamp_ns);
    as_page_line(&page, AS_STYLE_DIM, "  head %s", r->head);
    if (to->compared && to->compared->same)
        as_page_line(&page, AS_STYLE_GOOD, "  identical chain: %s", as_page_name(&page, to->other));
    else if (to->compared)
        as_page_line(&page, AS_STYLE_BAD, "  differs from %s: %s", as_page_name(&page, to->other),
                     to->compared->sentence);
    put_replay(&page, to->replay);
    return as_page_close(&page, err);
}

static const char *const signature_words[] = {
    [ASSAY_BUNDLE_SIGNATURE_NONE] = "not signed",
    [ASSAY_BUNDLE_SIGNATURE_UNPROVEN] = ("signed; the signature matches the key in the bundle, "
                                         "whose owner was not checked: give --public-key"),
    [ASSAY_BUNDLE_SIGNATURE_PROVEN] = "signed with the given key",
    [ASSAY_BUNDLE_SIGNATURE_OTHER] = "signed with another key than the given one",
    [ASSAY_BUNDLE_SIGNATURE_BROKEN] = "signed, but the signature is invalid",
};

static int bundle_page(const char *path, const struct assay_bundle_report *r,
                       const struct as_witness_target *to, struct assay_error *err)
{
    char entries[AS_TEXT_HUMAN], bytes[AS_TEXT_HUMAN];
    struct as_page page;

    as_page_open(&page, to->out, to->term, to->markdown);
    put_verdict(&page, path, r->whole, r->sentence);
    as_text_count(entries, r->entries);
    as_text_bytes(bytes, (double)r->bytes);
    as_page_line(&page, AS_STYLE_DIM,
                 "  bundle, %s in %llu segments; %llu witness%s of %s entries, %llu break%s", bytes,
                 (unsigned long long)r->segments, (unsigned long long)r->witnesses,
                 r->witnesses == 1 ? "" : "es", entries, (unsigned long long)r->breaks,
                 r->breaks == 1 ? "" : "s");
    put_times(&page, r->entries, r->first_timestamp_ns, r->last_timestamp_ns);
    if (r->segments > 0)
        as_page_line(&page,
                     r->signature == ASSAY_BUNDLE_SIGNATURE_UNPROVEN ? AS_STYLE_WARN : AS_STYLE_DIM,
                     "  %s", signature_words[r->signature]);
    if (r->public_key[0])
        as_page_line(&page, AS_STYLE_DIM, "  key %s", r->public_key);
    put_replay(&page, to->replay);
    return as_page_close(&page, err);
}

static const char *const kind_words[] = {
    [AS_FOLDER_WITNESS] = "witness",
    [AS_FOLDER_BUNDLE] = "bundle",
    [AS_FOLDER_TABLE] = "table",
    [AS_FOLDER_FILE] = "file",
};

static uint64_t entries_of(const struct as_folder_item *item)
{
    if (item->missing || item->kind == AS_FOLDER_TABLE || item->kind == AS_FOLDER_FILE)
        return item->rows;
    return item->kind == AS_FOLDER_BUNDLE ? item->bundle.entries : item->witness.entries;
}

/* A file that nothing speaks against is intact only when something was held against it. */
static bool was_checked(const struct as_folder_item *item)
{
    return item->kind != AS_FOLDER_FILE || item->listed || item->recomputed;
}

static const char *intact_word(const struct as_folder_item *item)
{
    if (item->missing)
        return "missing";
    if (!item->whole)
        return "no";
    return was_checked(item) ? "yes" : "unchecked";
}

static void put_proof(struct as_page *page, const struct as_folder_check *check)
{
    bool proven = check->signature == ASSAY_BUNDLE_SIGNATURE_PROVEN;

    as_page_line(page, proven ? AS_STYLE_DIM : AS_STYLE_WARN, "  %s",
                 signature_words[check->signature]);
    as_page_line(page, AS_STYLE_DIM, "  %zu of %zu files %s", check->n_listed, check->n,
                 proven ? "proven by the signature" : "listed in a bundle");
}

static int folder_page(const char *path, const struct as_folder_check *check,
                       const struct as_witness_target *to, struct assay_error *err)
{
    static const struct as_table_column columns[] = {
        {.title = "file", .may_shrink = true},
        {.title = "kind"},
        {.title = "entries", .align = AS_ALIGN_RIGHT},
        {.title = "listed"},
        {.title = "intact"},
    };
    struct as_table table;
    struct as_page page;

    as_page_open(&page, to->out, to->term, to->markdown);
    put_verdict(&page, path, check->whole, check->sentence);
    put_proof(&page, check);
    as_table_init(&table, columns, AS_COUNT_OF(columns));
    for (size_t i = 0; i < check->n; i++) {
        const struct as_folder_item *item = &check->items[i];
        char entries[AS_TEXT_HUMAN];

        if (entries_of(item) == UINT64_MAX)
            (void)snprintf(entries, sizeof entries, "-");
        else
            as_text_count(entries, entries_of(item));
        as_table_row(&table);
        as_table_text(&table, AS_STYLE_NONE, as_page_name(&page, item->name));
        as_table_text(&table, AS_STYLE_NONE, kind_words[item->kind]);
        as_table_text(&table, AS_STYLE_NONE, entries);
        as_table_text(&table, AS_STYLE_NONE, item->listed ? "yes" : "no");
        as_table_text(&table,
                      !item->whole        ? AS_STYLE_BAD
                      : was_checked(item) ? AS_STYLE_GOOD
                                          : AS_STYLE_DIM,
                      intact_word(item));
    }
    as_page_table(&page, &table);
    as_table_fini(&table);
    for (size_t i = 0; i < check->n; i++)
        if (!check->items[i].whole)
            as_page_line(&page, AS_STYLE_BAD, "%s: %s", as_page_name(&page, check->items[i].name),
                         check->items[i].sentence);
    put_replay(&page, to->replay);
    return as_page_close(&page, err);
}

/* ---- CSV ---- */

static enum as_check_result result_of(bool good)
{
    return good ? AS_CHECK_OK : AS_CHECK_FAILED;
}

static void csv_begin(const struct as_check_rows *rows, bool whole, const char *sentence)
{
    as_check_rows_begin(rows);
    as_check_row(rows, "whole", result_of(whole), sentence);
}

static void csv_replay(const struct as_check_rows *rows, const struct as_replay_report *r)
{
    if (r)
        as_check_row(rows, "replay", result_of(r->differing == 0), r->sentence);
}

static void csv_signature(const struct as_check_rows *rows, enum assay_bundle_signature signature)
{
    static const enum as_check_result results[] = {
        [ASSAY_BUNDLE_SIGNATURE_NONE] = AS_CHECK_UNCHECKED,
        [ASSAY_BUNDLE_SIGNATURE_UNPROVEN] = AS_CHECK_WARNING,
        [ASSAY_BUNDLE_SIGNATURE_PROVEN] = AS_CHECK_OK,
        [ASSAY_BUNDLE_SIGNATURE_OTHER] = AS_CHECK_FAILED,
        [ASSAY_BUNDLE_SIGNATURE_BROKEN] = AS_CHECK_FAILED,
    };

    as_check_row(rows, "signature", results[signature], signature_words[signature]);
}

static int witness_csv(const char *path, const struct assay_witness_report *r,
                       const struct as_witness_target *to)
{
    const struct as_check_rows rows = {to->csv, path, kind_words[AS_FOLDER_WITNESS]};

    csv_begin(&rows, r->whole, r->sentence);
    if (to->compared)
        as_check_row(&rows, "same_as", result_of(to->compared->same), to->compared->sentence);
    csv_replay(&rows, to->replay);
    return ASSAY_OK;
}

static int bundle_csv(const char *path, const struct assay_bundle_report *r,
                      const struct as_witness_target *to)
{
    const struct as_check_rows rows = {to->csv, path, kind_words[AS_FOLDER_BUNDLE]};

    csv_begin(&rows, r->whole, r->sentence);
    if (r->segments > 0)
        csv_signature(&rows, r->signature);
    csv_replay(&rows, to->replay);
    return ASSAY_OK;
}

static int folder_csv(const char *path, const struct as_folder_check *check,
                      const struct as_witness_target *to)
{
    struct as_check_rows rows = {to->csv, path, "folder"};

    csv_begin(&rows, check->whole, check->sentence);
    csv_signature(&rows, check->signature);
    csv_replay(&rows, to->replay);
    for (size_t i = 0; i < check->n; i++) {
        const struct as_folder_item *item = &check->items[i];

        rows.path = item->name;
        rows.kind = kind_words[item->kind];
        as_check_row(&rows, item->missing ? "missing" : "whole",
                     was_checked(item) || !item->whole ? result_of(item->whole)
                                                       : AS_CHECK_UNCHECKED,
                     item->sentence);
    }
    return ASSAY_OK;
}

/* ---- JSON ---- */

static void json_start(struct as_json_writer *w, struct as_out *out, const char *schema,
                       const char *path)
{
    as_json_writer_init(w, out, 2);
    as_json_object(w);
    as_json_kv_text(w, "schema", schema);
    as_json_kv_u64(w, "schema_version", 1);
    as_json_kv_text(w, "path", path);
}

/* Null when nothing was asked to be computed again. */
static void kv_replay(struct as_json_writer *w, const struct as_replay_report *r)
{
    if (!r) {
        as_json_kv_null(w, "replay");
        return;
    }
    as_json_kv_object(w, "replay");
    as_json_kv_bool(w, "same", r->differing == 0);
    as_json_kv_u64(w, "entries", r->checked);
    as_json_kv_u64(w, "witnesses_differing", r->differing);
    as_json_kv_text(w, "sentence", r->sentence[0] ? r->sentence : NULL);
    as_json_object_end(w);
}

static int json_end(struct as_json_writer *w, struct assay_error *err)
{
    as_json_object_end(w);
    as_out_char(w->out, '\n');
    return as_json_writer_finish(w, err);
}

/* An empty text is written as null. */
static void kv_known(struct as_json_writer *w, const char *key, const char *text)
{
    as_json_kv_text(w, key, text[0] ? text : NULL);
}

static void kv_times(struct as_json_writer *w, uint64_t entries, uint64_t first, uint64_t last)
{
    if (entries > 0) {
        as_json_kv_u64(w, "first_timestamp_ns", first);
        as_json_kv_u64(w, "last_timestamp_ns", last);
    } else {
        as_json_kv_null(w, "first_timestamp_ns");
        as_json_kv_null(w, "last_timestamp_ns");
    }
}

static void witness_members(struct as_json_writer *w, const struct assay_witness_report *r)
{
    as_json_kv_bool(w, "sealed", r->sealed);
    as_json_kv_u64(w, "entries", r->entries);
    if (r->first_bad_line)
        as_json_kv_u64(w, "first_bad_line", r->first_bad_line);
    else
        as_json_kv_null(w, "first_bad_line");
    kv_times(w, r->entries, r->first_timestamp_ns, r->last_timestamp_ns);
    as_json_kv_text(w, "head", r->head);
    kv_known(w, "config_hash", r->config_hash);
    kv_known(w, "file_hash", r->file_hash);
    as_json_kv_u64(w, "mask_bits", r->mask_bits);
    as_json_kv_u64(w, "mask_kept", r->mask_kept);
}

static void bundle_members(struct as_json_writer *w, const struct assay_bundle_report *r)
{
    as_json_kv_u64(w, "size_bytes", r->bytes);
    AS_JSON_FIELDS(w, r, segments, witnesses, entries, breaks);
    kv_times(w, r->entries, r->first_timestamp_ns, r->last_timestamp_ns);
    as_json_kv_text(w, "signature", assay_bundle_signature_name(r->signature));
    kv_known(w, "public_key", r->public_key);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

static int folder_json(const char *path, const struct as_folder_check *check,
                       const struct as_witness_target *to, struct assay_error *err)
{
    struct as_json_writer w;

    json_start(&w, to->out, "assay.verify_folder", path);
    as_json_kv_bool(&w, "whole", check->whole);
    kv_known(&w, "sentence", check->sentence);
    as_json_kv_text(&w, "signature", assay_bundle_signature_name(check->signature));
    as_json_kv_u64(&w, "files_listed", check->n_listed);
    as_json_kv_array(&w, "files");
    for (size_t i = 0; i < check->n; i++) {
        const struct as_folder_item *item = &check->items[i];

        as_json_object(&w);
        as_json_kv_text(&w, "name", last_part(item->name));
        as_json_kv_text(&w, "path", item->name);
        as_json_kv_text(&w, "kind", kind_words[item->kind]);
        as_json_kv_bool(&w, "whole", item->whole);
        kv_known(&w, "sentence", item->sentence);
        as_json_kv_bool(&w, "listed", item->listed);
        as_json_kv_bool(&w, "proven",
                        item->listed && check->signature == ASSAY_BUNDLE_SIGNATURE_PROVEN);
        as_json_kv_bool(&w, "recomputed", item->recomputed);
        as_json_kv_bool(&w, "missing", item->missing);
        if (item->missing || item->kind == AS_FOLDER_FILE) {
            as_json_object_end(&w);
            continue;
        }
        if (item->kind == AS_FOLDER_BUNDLE)
            bundle_members(&w, &item->bundle);
        else if (item->kind == AS_FOLDER_WITNESS)
            witness_members(&w, &item->witness);
        else if (item->rows == UINT64_MAX)
            as_json_kv_null(&w, "rows");
        else
            as_json_kv_u64(&w, "rows", item->rows);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    kv_replay(&w, to->replay);
    return json_end(&w, err);
}

int as_report_witness(const char *path, const struct assay_witness_report *report,
                      const struct as_witness_target *to, struct assay_error *err)
{
    struct as_json_writer w;

    if (to->csv)
        return witness_csv(path, report, to);
    if (to->term)
        return witness_page(path, report, to, err);
    json_start(&w, to->out, "assay.verify_witness", path);
    as_json_kv_bool(&w, "whole", report->whole);
    kv_known(&w, "sentence", report->sentence);
    as_json_kv_u64(&w, "size_bytes", report->bytes);
    witness_members(&w, report);
    if (to->compared) {
        as_json_kv_object(&w, "same_as");
        as_json_kv_text(&w, "path", to->other);
        as_json_kv_bool(&w, "same", to->compared->same);
        as_json_kv_u64(&w, "entries", to->compared->entries[1]);
        if (to->compared->same)
            as_json_kv_null(&w, "first_difference");
        else
            as_json_kv_u64(&w, "first_difference", to->compared->first_difference);
        kv_known(&w, "sentence", to->compared->sentence);
        as_json_object_end(&w);
    }
    kv_replay(&w, to->replay);
    return json_end(&w, err);
}

int as_report_bundle(const char *path, const struct assay_bundle_report *report,
                     const struct as_witness_target *to, struct assay_error *err)
{
    struct as_json_writer w;

    if (to->csv)
        return bundle_csv(path, report, to);
    if (to->term)
        return bundle_page(path, report, to, err);
    json_start(&w, to->out, "assay.verify_bundle", path);
    as_json_kv_bool(&w, "whole", report->whole);
    kv_known(&w, "sentence", report->sentence);
    bundle_members(&w, report);
    kv_replay(&w, to->replay);
    return json_end(&w, err);
}

int as_report_folder(const char *path, const struct as_folder_check *check,
                     const struct as_witness_target *to, struct assay_error *err)
{
    if (to->csv)
        return folder_csv(path, check, to);
    return to->term ? folder_page(path, check, to, err) : folder_json(path, check, to, err);
}
