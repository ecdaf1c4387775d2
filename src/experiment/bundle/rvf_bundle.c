/* experiment/bundle/rvf_bundle.c - an open bundle: its file, its segments and the names of its
 * witnesses. Nothing in it is trusted before as_bundle_check() found it whole. */
#include "experiment/bundle/rvf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/output.h"
#include "base/units.h"

/* The list of witnesses in the statistics, which stand before the manifest. A bundle without them
 * can still be looked at. */
static int find_witnesses(struct assay_bundle *bundle, struct assay_error *err)
{
    const struct as_rvf_file *f = &bundle->frame;
    const struct as_json_value *root = NULL, *list;
    const struct as_rvf_segment *s;
    int rc;

    if (f->n < 2 || f->segments[f->n - 2].type != AS_RVF_METADATA)
        return ASSAY_OK;
    s = &f->segments[f->n - 2];
    /* A value costs memory and takes two bytes of the file at least. */
    rc = as_json_tree_read(&root, &bundle->arena, s->payload, (size_t)s->payload_bytes, 4000000,
                           NULL);
    if (rc == ASSAY_ERR_NOMEM)
        return as_fail_nomem(err);
    list = rc == ASSAY_OK ? as_json_get(root, "witnesses") : NULL;
    if (list && list->type == AS_TYPE_ARRAY)
        bundle->witnesses = list;
    return ASSAY_OK;
}

int as_bundle_init(struct assay_bundle *bundle, const uint8_t *bytes, uint64_t size,
                   struct assay_error *err)
{
    int rc = as_rvf_file_read(&bundle->frame, bytes, size, err);

    return rc < 0 ? rc : find_witnesses(bundle, err);
}

void as_bundle_fini(struct assay_bundle *bundle)
{
    as_rvf_file_fini(&bundle->frame);
    as_arena_fini(&bundle->arena);
    bundle->witnesses = NULL;
}

int assay_bundle_open(struct assay_bundle **out, const char *path, struct assay_error *err)
{
    struct assay_bundle *b;
    struct assay_error why = {0};
    int rc;

    if (!out || !path)
        return as_fail(err, ASSAY_ERR_USAGE, "a bundle to open needs a path");
    *out = NULL;
    b = as_alloc_zero(1, sizeof *b);
    if (!b)
        return as_fail_nomem(err);
    b->path = as_strdup(path);
    rc = b->path ? as_rvf_map(&b->file, b->path, err) : as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        rc = as_bundle_init(b, b->file.bytes, b->file.size, &why);
        if (rc < 0)
            (void)as_fail(err, rc, "%.90s is not a readable bundle: %.110s", path, why.msg);
    }
    if (rc < 0)
        assay_bundle_close(b);
    else
        *out = b;
    return rc;
}

void assay_bundle_close(struct assay_bundle *bundle)
{
    if (!bundle)
        return;
    as_bundle_fini(bundle);
    as_mapped_file_close(&bundle->file);
    as_free(bundle->path);
    as_free(bundle);
}

size_t assay_bundle_count(const struct assay_bundle *bundle)
{
    return bundle ? bundle->frame.n : 0;
}

const struct as_json_value *as_bundle_witness(const struct assay_bundle *bundle, size_t i)
{
    const struct as_json_value *w = bundle->witnesses ? bundle->witnesses->first : NULL;

    if (bundle->frame.segments[i].type != AS_RVF_WITNESS)
        return NULL;
    for (size_t k = 0; w && k < i; k++)
        if (bundle->frame.segments[k].type == AS_RVF_WITNESS)
            w = w->next;
    return w;
}

static const char *type_name(uint8_t type)
{
    static const struct {
        uint8_t type;
        const char *name;
    } names[] = {
        {AS_RVF_MANIFEST, "manifest"}, {AS_RVF_METADATA, "metadata"}, {AS_RVF_WITNESS, "witness"}};

    for (size_t i = 0; i < AS_COUNT_OF(names); i++)
        if (names[i].type == type)
            return names[i].name;
    return "other";
}

int assay_bundle_segment_at(const struct assay_bundle *bundle, size_t i,
                            struct assay_bundle_segment *out, struct assay_error *err)
{
    const struct as_rvf_segment *s;

    if (!bundle || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "a bundle and room for a segment are needed");
    if (i >= bundle->frame.n)
        return as_fail(err, ASSAY_ERR_NOTFOUND, "the bundle has %zu segments", bundle->frame.n);
    s = &bundle->frame.segments[i];
    *out = (struct assay_bundle_segment){
        .size = sizeof(struct assay_bundle_segment),
        .id = s->id,
        .offset = s->offset,
        .bytes = s->bytes,
        .type = s->type,
        .flags = s->flags,
        .timestamp_ns = s->timestamp_ns,
        .payload_bytes = s->payload_bytes,
        .payload = s->payload,
        .type_name = type_name(s->type),
        .name = as_json_words(as_json_get(as_bundle_witness(bundle, i), "name")),
        .entries = s->type == AS_RVF_WITNESS ? s->payload_bytes / AS_RVF_ENTRY_BYTES : 0,
        .is_signed = s->signature != NULL,
    };
    return as_rvf_content_fits(s, &out->content_fits, err);
}

/* ---- extracting ---- */

/* The path for segment `i`; false when it is too long. */
static bool path_of(const struct assay_bundle *bundle, size_t i, const char *folder, char *out,
                    size_t capacity)
{
    const struct as_rvf_segment *s = &bundle->frame.segments[i];
    bool json = s->type == AS_RVF_METADATA || s->type == AS_RVF_MANIFEST;
    int n = snprintf(out, capacity, "%s/segment-%llu-%s.%s", folder, (unsigned long long)s->id,
                     type_name(s->type), json ? "json" : "bin");

    return n > 0 && (size_t)n < capacity;
}

static int write_payload(const char *path, const struct as_rvf_segment *s, bool force,
                         struct assay_error *err)
{
    struct as_out out;
    int rc = as_out_file(&out, path, err);

    if (rc < 0)
        return rc;
    if (out.file)
        out.file->only_new = !force;
    as_out_put(&out, s->payload, (size_t)s->payload_bytes);
    return as_out_close(&out, err);
}

static int check_free(const struct assay_bundle *bundle, const char *folder,
                      struct assay_error *err)
{
    char path[4096];
    struct stat st;

    for (size_t i = 0; i < bundle->frame.n; i++) {
        if (!path_of(bundle, i, folder, path, sizeof path))
            return as_fail(err, ASSAY_ERR_LIMIT, "the name of the folder is too long");
        if (lstat(path, &st) == 0)
            return as_fail(err, ASSAY_ERR_STATE, "%s already exists", path);
    }
    return ASSAY_OK;
}

int assay_bundle_extract(const struct assay_bundle *bundle, const char *folder, bool force,
                         struct assay_error *err)
{
    struct assay_bundle_report report;
    char path[4096];
    int rc;

    if (!bundle || !folder || !folder[0])
        return as_fail(err, ASSAY_ERR_USAGE, "a bundle and a folder are needed");
    rc = as_bundle_check(bundle, NULL, &report, err);
    if (rc == ASSAY_OK && !report.whole)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "the bundle is not intact: %.200s", report.sentence);
    if (rc == ASSAY_OK)
        rc = as_folder_make(folder, 0777, err);
    if (rc == ASSAY_OK && !force)
        rc = check_free(bundle, folder, err);
    for (size_t i = 0; rc == ASSAY_OK && i < bundle->frame.n; i++) {
        if (!path_of(bundle, i, folder, path, sizeof path))
            rc = as_fail(err, ASSAY_ERR_LIMIT, "the name of the folder is too long");
        else
            rc = write_payload(path, &bundle->frame.segments[i], force, err);
    }
    return rc < 0 ? rc : (int)bundle->frame.n;
}
