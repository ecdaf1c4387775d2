/* experiment/bundle/rvf_manifest.c - the last segment of a bundle: the hashes of all before it.
 * Described in assay/experiment/bundle.h. */
#include "experiment/bundle/rvf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json/json_tree.h"

#define HEX_BYTES (2 * AS_RVF_HASH_BYTES + 1)

int as_rvf_segment_hash(const struct as_rvf_segment *s, uint8_t out[AS_RVF_HASH_BYTES],
                        struct assay_error *err)
{
    return as_shake256(s->start, (size_t)s->bytes, out, AS_RVF_HASH_BYTES, err);
}

/* The hash of the header that such a segment has, its content hash taken as zeros. */
static int header_hash(const struct as_rvf_segment *s, uint8_t out[AS_RVF_HASH_BYTES],
                       struct assay_error *err)
{
    uint8_t header[AS_RVF_HEADER_BYTES];

    as_rvf_header_put(header, s);
    return as_shake256(header, sizeof header, out, AS_RVF_HASH_BYTES, err);
}

static void kv_hex(struct as_json_writer *w, const char *key, const uint8_t *bytes, size_t size)
{
    char hex[HEX_BYTES];

    as_hex(bytes, size, hex);
    as_json_kv_text(w, key, hex);
}

/* The whole text with that header_hash; its length does not depend on it. */
static int put(struct as_out *out, const struct as_rvf_file *file, const uint8_t *hashes,
               const uint8_t *own, const uint8_t *public_key, struct assay_error *err)
{
    struct as_json_writer w;

    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_text(&w, "kind", "assay.manifest");
    as_json_kv_u64(&w, "version", 1);
    as_json_kv_array(&w, "segments");
    for (size_t i = 0; i < file->n; i++) {
        const struct as_rvf_segment *s = &file->segments[i];

        as_json_object(&w);
        AS_JSON_FIELDS(&w, s, id, type, offset, bytes);
        kv_hex(&w, "content_hash", s->content_hash, sizeof s->content_hash);
        kv_hex(&w, "segment_hash", hashes + i * AS_RVF_HASH_BYTES, AS_RVF_HASH_BYTES);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    kv_hex(&w, "header_hash", own, AS_RVF_HASH_BYTES);
    if (public_key)
        kv_hex(&w, "public_key", public_key, AS_RVF_KEY_BYTES);
    else
        as_json_kv_null(&w, "public_key");
    as_json_object_end(&w);
    return as_json_writer_finish(&w, err);
}

int as_rvf_manifest_put(struct as_out *out, struct as_rvf_segment *manifest,
                        const struct as_rvf_file *file, const uint8_t *hashes,
                        const uint8_t *public_key, struct assay_error *err)
{
    uint8_t own[AS_RVF_HASH_BYTES] = {0};
    int rc = put(out, file, hashes, own, public_key, err);

    if (rc < 0)
        return rc;
    manifest->payload_bytes = out->used;
    rc = header_hash(manifest, own, err);
    if (rc < 0)
        return rc;
    out->used = 0;
    rc = put(out, file, hashes, own, public_key, err);
    return rc == ASSAY_OK && !as_out_ok(out) ? as_fail_nomem(err) : rc;
}

/* ---- checking ---- */

AS_PRINTF(2, 3) static void wrong(struct as_rvf_manifest *out, const char *fmt, ...)
{
    va_list args;

    if (out->wrong[0])
        return;
    va_start(args, fmt);
    vsnprintf(out->wrong, sizeof out->wrong, fmt, args);
    va_end(args);
}

static bool same_number(const struct as_json_value *object, const char *key, uint64_t value)
{
    uint64_t found;

    return as_json_whole(as_json_get(object, key), &found) && found == value;
}

static bool same_bytes(const struct as_json_value *object, const char *key, const uint8_t *bytes,
                       size_t size)
{
    const struct as_json_value *value = as_json_get(object, key);
    uint8_t found[AS_RVF_HASH_BYTES];

    return as_json_words(value) && as_unhex(value->text, value->text_size, found, size) &&
           memcmp(found, bytes, size) == 0;
}

static int check_one(struct as_rvf_manifest *out, const struct as_rvf_segment *s,
                     const struct as_json_value *listed, struct assay_error *err)
{
    uint8_t hash[AS_RVF_HASH_BYTES];
    int rc = as_rvf_segment_hash(s, hash, err);

    if (rc < 0)
        return rc;
    if (!same_number(listed, "id", s->id) || !same_number(listed, "type", s->type) ||
        !same_number(listed, "offset", s->offset) || !same_number(listed, "bytes", s->bytes))
        wrong(out, "segment %llu is not the one the manifest lists", (unsigned long long)s->id);
    else if (!same_bytes(listed, "content_hash", s->content_hash, sizeof s->content_hash) ||
             !same_bytes(listed, "segment_hash", hash, sizeof hash))
        wrong(out, "segment %llu does not match its hash in the manifest",
              (unsigned long long)s->id);
    return ASSAY_OK;
}

static int check_segments(struct as_rvf_manifest *out, const struct as_rvf_file *file,
                          const struct as_json_value *list, struct assay_error *err)
{
    const struct as_json_value *listed;
    int rc = ASSAY_OK;

    if (!list || list->type != AS_TYPE_ARRAY || list->n != file->n - 1) {
        wrong(out, "the manifest does not list as many segments as there are");
        return ASSAY_OK;
    }
    listed = list->first;
    for (size_t i = 0; rc == ASSAY_OK && !out->wrong[0] && i + 1 < file->n;
         i++, listed = listed->next)
        rc = check_one(out, &file->segments[i], listed, err);
    return rc;
}

static int check_tree(struct as_rvf_manifest *out, const struct as_rvf_file *file,
                      const struct as_json_value *root, bool hashes, struct assay_error *err)
{
    const struct as_rvf_segment *manifest = &file->segments[file->n - 1];
    const struct as_json_value *key = as_json_get(root, "public_key");
    const char *kind = as_json_words(as_json_get(root, "kind"));
    uint8_t own[AS_RVF_HASH_BYTES];
    int rc = ASSAY_OK;

    if (!kind || strcmp(kind, "assay.manifest") != 0 || !same_number(root, "version", 1)) {
        wrong(out, "the manifest is of an unknown kind or version");
        return ASSAY_OK;
    }
    if (hashes)
        rc = check_segments(out, file, as_json_get(root, "segments"), err);
    if (rc == ASSAY_OK)
        rc = header_hash(manifest, own, err);
    if (rc < 0)
        return rc;
    if (!same_bytes(root, "header_hash", own, sizeof own))
        wrong(out, "the manifest's own header does not match its hash");
    if (as_json_words(key))
        out->has_key = as_unhex(key->text, key->text_size, out->public_key, sizeof out->public_key);
    if ((manifest->signature != NULL) != out->has_key)
        wrong(out, "the manifest has a signature without a key, or a key without a signature");
    return ASSAY_OK;
}

int as_rvf_manifest_check(struct as_rvf_manifest *out, const struct as_rvf_file *file, bool hashes,
                          struct assay_error *err)
{
    const struct as_rvf_segment *manifest = &file->segments[file->n - 1];
    const struct as_json_value *root = NULL;
    struct as_arena arena = {0};
    struct assay_error why = {0};
    int rc;

    *out = (struct as_rvf_manifest){0};
    rc = as_json_tree_read(&root, &arena, manifest->payload, (size_t)manifest->payload_bytes,
                           16 + 8 * file->n, &why);
    if (rc == ASSAY_ERR_NOMEM)
        rc = as_fail_nomem(err);
    else if (rc < 0)
        wrong(out, "the manifest cannot be read: %.150s", why.msg);
    if (rc == ASSAY_OK)
        rc = check_tree(out, file, root, hashes, err);
    as_arena_fini(&arena);
    return rc == ASSAY_ERR_NOMEM ? rc : ASSAY_OK;
}
