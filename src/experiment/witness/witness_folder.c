/* experiment/witness/witness_folder.c - the folder of an experiment: every witness and bundle in
 * its witness/, each alone and the bundles against the witnesses they hold; every table in its
 * csv/. */
#include "experiment/witness/witness_check.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json/json_tree.h"
#include "base/units.h"
#include "base/vec.h"
#include "experiment/bundle/rvf.h"
#include "format/mapped_file.h"

#define MAX_ITEMS   16384
#define META_VALUES 100000

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

/* What a folder of an experiment may hold that can be checked. */
static const struct {
    const char *folder, *end;
    enum as_folder_kind kind;
} places[] = {
    {"witness", ".jsonl", AS_FOLDER_WITNESS},
    {"witness", ".rvf", AS_FOLDER_BUNDLE},
    {"csv", ".csv", AS_FOLDER_TABLE},
};
#define N_PLACES (AS_COUNT_OF(places))

static int add_item(struct as_folder_check *check, const char *folder, size_t place,
                    const char *name, struct assay_error *err)
{
    size_t capacity = strlen(folder) + strlen(name) + sizeof "/witness/";
    char *path;

    if (!AS_VEC_RESERVE(check->items, check->n, check->capacity))
        return as_fail_nomem(err);
    if (check->n == MAX_ITEMS)
        return as_fail(err, ASSAY_ERR_LIMIT, "%.150s holds more than %d files", folder, MAX_ITEMS);
    path = as_alloc(capacity);
    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, capacity, "%s/%s/%s", folder, places[place].folder, name);
    check->items[check->n++] = (struct as_folder_item){
        .path = path, .name = strrchr(path, '/') + 1, .kind = places[place].kind};
    return ASSAY_OK;
}

/* Tables last; the others by name. */
static int by_name(const void *a, const void *b)
{
    const struct as_folder_item *x = a, *y = b;
    bool tx = x->kind == AS_FOLDER_TABLE, ty = y->kind == AS_FOLDER_TABLE;

    return tx != ty ? tx - ty : strcmp(x->name, y->name);
}

static int list(struct as_folder_check *check, const char *folder, size_t place,
                struct assay_error *err)
{
    size_t capacity = strlen(folder) + sizeof "/witness";
    char *path = as_alloc(capacity);
    DIR *dir;
    int rc = ASSAY_OK;

    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, capacity, "%s/%s", folder, places[place].folder);
    dir = opendir(path);
    as_free(path);
    if (!dir && errno == ENOENT)
        return ASSAY_OK;
    if (!dir)
        return as_fail_sys(err, ASSAY_ERR_IO, "cannot read %.150s/%s", folder,
                           places[place].folder);
    for (struct dirent *e; rc == ASSAY_OK && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && ends_in(e->d_name, places[place].end))
            rc = add_item(check, folder, place, e->d_name, err);
    closedir(dir);
    return rc;
}

/* ---- a table against the hash beside it ---- */

static int read_beside(const char *path, struct as_mapped_file *file, struct as_arena *arena,
                       const struct as_json_value **meta)
{
    size_t capacity = strlen(path) + sizeof ".meta.json";
    char *beside = as_alloc(capacity);
    int rc;

    if (!beside)
        return ASSAY_ERR_NOMEM;
    (void)snprintf(beside, capacity, "%s.meta.json", path);
    rc = as_mapped_file_open(file, beside, NULL);
    as_free(beside);
    return rc == ASSAY_OK
               ? as_json_tree_read(meta, arena, file->bytes, (size_t)file->size, META_VALUES, NULL)
               : rc;
}

static int hash_file(const char *path, char hex[AS_SHA256_HEX], struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    struct as_mapped_file file = {0};
    int rc = as_mapped_file_open(&file, path, err);

    if (rc < 0)
        return rc;
    rc = as_sha256(file.size ? file.bytes : (const uint8_t *)"", (size_t)file.size, digest, err);
    as_sha256_hex(digest, hex);
    as_mapped_file_close(&file);
    return rc;
}

static int verify_table(struct as_folder_item *item, struct assay_error *err)
{
    struct as_mapped_file file = {0};
    struct as_arena arena = {0};
    const struct as_json_value *meta = NULL;
    const char *told = NULL;
    char hex[AS_SHA256_HEX] = "";
    int rc = read_beside(item->path, &file, &arena, &meta);

    if (rc == ASSAY_OK)
        told = as_json_words(as_json_get(meta, "sha256"));
    if (rc < 0 || !as_json_whole(as_json_get(meta, "rows"), &item->rows))
        item->rows = UINT64_MAX;
    if (rc != ASSAY_ERR_NOMEM)
        rc = hash_file(item->path, hex, err);
    item->whole = rc == ASSAY_OK && told && strcmp(told, hex) == 0;
    if (rc == ASSAY_OK && !item->whole)
        (void)snprintf(item->sentence, sizeof item->sentence, "%s",
                       told ? "it was changed: its hash differs from the one in its .meta.json"
                            : "its .meta.json with the hash is missing");
    as_arena_fini(&arena);
    as_mapped_file_close(&file);
    return rc == ASSAY_ERR_NOMEM ? as_fail_nomem(err) : rc;
}

static int verify_item(struct as_folder_item *item, const char *public_key, struct assay_error *err)
{
    int rc;

    if (item->kind == AS_FOLDER_TABLE)
        return verify_table(item, err);
    if (item->kind == AS_FOLDER_BUNDLE) {
        rc = assay_bundle_verify(item->path, public_key, &item->bundle, err);
        item->whole = item->bundle.whole;
        memcpy(item->sentence, item->bundle.sentence, sizeof item->sentence);
    } else {
        rc = assay_witness_verify(item->path, NULL, NULL, &item->witness, err);
        item->whole = item->witness.whole;
        memcpy(item->sentence, item->witness.sentence, sizeof item->sentence);
    }
    return rc;
}

/* ---- a bundle against its witnesses ---- */

struct match {
    const struct assay_bundle_segment *segment;
    uint64_t at; /* entries that agree */
};

static int same_entry(void *user, const struct assay_witness_entry *entry)
{
    struct match *m = user;
    const uint8_t *theirs = m->segment->payload + m->at * AS_RVF_ENTRY_BYTES;
    uint8_t action[AS_RVF_HASH_BYTES];

    if (m->at >= m->segment->entries ||
        !as_unhex(entry->entry_hash, strlen(entry->entry_hash), action, sizeof action) ||
        memcmp(action, theirs + AS_RVF_ACTION_AT, sizeof action) != 0 ||
        as_rvf_entry_time(theirs) != entry->timestamp_ns)
        return 1;
    m->at++;
    return 0;
}

static struct as_folder_item *find(struct as_folder_check *check, const char *name)
{
    for (size_t i = 0; name && i < check->n; i++)
        if (check->items[i].kind == AS_FOLDER_WITNESS && strcmp(check->items[i].name, name) == 0)
            return &check->items[i];
    return NULL;
}

static void blame(struct as_folder_item *item, const char *words, const char *other)
{
    item->whole = false;
    if (!item->sentence[0])
        (void)snprintf(item->sentence, sizeof item->sentence, "%s %.150s", words, other);
}

static int match_segment(struct as_folder_check *check, struct as_folder_item *bundle,
                         const struct assay_bundle_segment *segment, struct assay_error *err)
{
    struct as_folder_item *witness = find(check, segment->name);
    struct match m = {.segment = segment};
    struct assay_witness_report report;
    int rc;

    if (!witness) {
        blame(bundle, "the folder lacks a witness of the bundle:",
              segment->name ? segment->name : "(without a name)");
        return ASSAY_OK;
    }
    witness->in_bundle = true;
    rc = assay_witness_verify(witness->path, same_entry, &m, &report, err);
    if (rc < 0)
        return rc;
    if (rc > 0 || m.at != segment->entries)
        blame(bundle, "the bundle does not match the content of", witness->name);
    return ASSAY_OK;
}

static int match_bundle(struct as_folder_check *check, struct as_folder_item *item,
                        struct assay_error *err)
{
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_open(&bundle, item->path, err);

    for (size_t i = 0; rc == ASSAY_OK && i < assay_bundle_count(bundle); i++) {
        struct assay_bundle_segment segment;

        rc = assay_bundle_segment_at(bundle, i, &segment, err);
        if (rc == ASSAY_OK && segment.type == AS_RVF_WITNESS)
            rc = match_segment(check, item, &segment, err);
    }
    assay_bundle_close(bundle);
    return rc;
}

int as_folder_check(struct as_folder_check *check, const char *folder, const char *public_key,
                    struct assay_error *err)
{
    bool any_bundle = false;
    int rc = ASSAY_OK;

    *check = (struct as_folder_check){0};
    for (size_t i = 0; rc == ASSAY_OK && i < N_PLACES; i++)
        rc = list(check, folder, i, err);
    if (rc == ASSAY_OK && check->n == 0)
        rc = as_fail(err, ASSAY_ERR_NOTFOUND,
                     "%.150s has no witness/ and no csv/ with files in them", folder);
    if (rc == ASSAY_OK)
        qsort(check->items, check->n, sizeof *check->items, by_name);
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++)
        rc = verify_item(&check->items[i], public_key, err);
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++) {
        bool is_bundle = check->items[i].kind == AS_FOLDER_BUNDLE;

        any_bundle |= is_bundle;
        if (is_bundle && check->items[i].whole)
            rc = match_bundle(check, &check->items[i], err);
    }
    check->whole = rc == ASSAY_OK;
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++) {
        struct as_folder_item *item = &check->items[i];

        if (any_bundle && item->kind == AS_FOLDER_WITNESS && item->whole && !item->in_bundle)
            blame(item, "no intact bundle of the folder holds", item->name);
        check->whole &= item->whole;
    }
    return rc;
}

void as_folder_check_fini(struct as_folder_check *check)
{
    for (size_t i = 0; i < check->n; i++)
        as_free(check->items[i].path);
    as_free(check->items);
    *check = (struct as_folder_check){0};
}
