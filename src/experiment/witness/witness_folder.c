/* experiment/witness/witness_folder.c - the folder of an experiment: every file in it, each
 * witness, bundle and table alone, the bundles against the witnesses they hold and the files they
 * list.
 *
 * A file is listed when an intact bundle has its SHA-256 or holds its witness; with a public key, a
 * bundle is intact only when it is signed with that key, so what it lists is proven. As soon as a
 * bundle lists files, or a key is given, a file that is not listed makes the folder not intact. */
#include "experiment/witness/witness_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file/file_open.h"
#include "base/hash.h"
#include "base/json/json_tree.h"
#include "base/units.h"
#include "base/vec.h"
#include "experiment/bundle/rvf.h"
#include "format/mapped_file.h"

#define MAX_ITEMS   16384
#define MAX_DEPTH   16
#define META_VALUES 1000000

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

/* What has a check of its own; `folder` is the only one it is looked for in. */
static const struct {
    const char *folder, *end;
    enum as_folder_kind kind;
} places[] = {
    {"witness/", ".jsonl", AS_FOLDER_WITNESS},
    {"witness/", ".rvf", AS_FOLDER_BUNDLE},
    {"", ".rvf", AS_FOLDER_BUNDLE},
    {"csv/", ".csv", AS_FOLDER_TABLE},
};

static enum as_folder_kind kind_of(const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    size_t n = (size_t)(last - name);

    for (size_t i = 0; last[0] != '.' && i < AS_COUNT_OF(places); i++)
        if (n == strlen(places[i].folder) && strncmp(name, places[i].folder, n) == 0 &&
            ends_in(last, places[i].end))
            return places[i].kind;
    return AS_FOLDER_FILE;
}

static struct as_folder_item *add_item(struct as_folder_check *check, const char *name,
                                       struct assay_error *err)
{
    size_t folder = strlen(check->folder), size = folder + strlen(name) + 2;
    struct as_folder_item *item;
    char *path;

    if (check->n == MAX_ITEMS) {
        (void)as_fail(err, ASSAY_ERR_LIMIT, "%.150s holds more than %d files", check->folder,
                      MAX_ITEMS);
        return NULL;
    }
    path = AS_VEC_RESERVE(check->items, check->n, check->capacity) ? as_alloc(size) : NULL;
    if (!path) {
        (void)as_fail_nomem(err);
        return NULL;
    }
    (void)snprintf(path, size, "%s/%s", check->folder, name);
    item = &check->items[check->n++];
    *item = (struct as_folder_item){.path = path,
                                    .name = path + folder + 1,
                                    .kind = kind_of(name),
                                    .whole = true,
                                    .rows = UINT64_MAX};
    return item;
}

struct as_folder_item *as_folder_find(struct as_folder_check *check, const char *name)
{
    for (size_t i = 0; name && i < check->n; i++)
        if (strcmp(check->items[i].name, name) == 0)
            return &check->items[i];
    return NULL;
}

void as_folder_blame(struct as_folder_item *item, const char *fmt, ...)
{
    va_list args;

    item->whole = false;
    if (item->sentence[0])
        return;
    va_start(args, fmt);
    (void)vsnprintf(item->sentence, sizeof item->sentence, fmt, args);
    va_end(args);
}

int as_folder_miss(struct as_folder_check *check, const char *name, const char *why,
                   struct assay_error *err)
{
    struct as_folder_item *item = as_folder_find(check, name);

    if (!item)
        item = add_item(check, name, err);
    if (!item)
        return ASSAY_ERR_NOMEM;
    item->missing = true;
    as_folder_blame(item, "it is missing: %s", why);
    return ASSAY_OK;
}

/* By kind, then by name. */
static int by_name(const void *a, const void *b)
{
    const struct as_folder_item *x = a, *y = b;
    int tx = x->kind == AS_FOLDER_BUNDLE ? 0 : (int)x->kind;
    int ty = y->kind == AS_FOLDER_BUNDLE ? 0 : (int)y->kind;

    return tx != ty ? tx - ty : strcmp(x->name, y->name);
}

/* ---- what is there ---- */

static int list(struct as_folder_check *check, const char *within, unsigned depth,
                struct assay_error *err);

static int list_entry(struct as_folder_check *check, int fd, const char *within, const char *name,
                      unsigned depth, struct assay_error *err)
{
    size_t size = strlen(within) + strlen(name) + 2;
    struct as_folder_item *item;
    struct stat st;
    char *inner;
    int rc = ASSAY_OK;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ASSAY_OK
                               : as_fail_sys(err, ASSAY_ERR_IO, "cannot look at %.80s/%s%.80s",
                                             check->folder, within, name);
    inner = as_alloc(size);
    if (!inner)
        return as_fail_nomem(err);
    (void)snprintf(inner, size, "%s%s%s", within, name, S_ISDIR(st.st_mode) ? "/" : "");
    if (S_ISDIR(st.st_mode)) {
        rc = list(check, inner, depth + 1, err);
    } else {
        item = add_item(check, inner, err);
        rc = item ? ASSAY_OK : ASSAY_ERR_NOMEM;
        if (item && !S_ISREG(st.st_mode)) {
            item->kind = AS_FOLDER_FILE;
            as_folder_blame(item, "it is not a regular file");
        }
    }
    as_free(inner);
    return rc;
}

/* `within` is "" or a folder beneath, with its slash. Links are not followed. */
static int list(struct as_folder_check *check, const char *within, unsigned depth,
                struct assay_error *err)
{
    size_t size = strlen(check->folder) + strlen(within) + 2;
    char *path = as_alloc(size);
    DIR *dir = NULL;
    int rc = ASSAY_OK, fd = -1;

    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, size, "%s/%s", check->folder, within);
    if (within[0])
        path[size - 2] = '\0'; /* a slash at the end would follow a link */
    if (depth > MAX_DEPTH)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "%.150s has more than %d levels of folders",
                     check->folder, MAX_DEPTH);
    else
        fd = as_open(path, O_RDONLY | O_DIRECTORY | (within[0] ? O_NOFOLLOW : 0));
    if (fd >= 0)
        dir = fdopendir(fd);
    if (rc == ASSAY_OK && !dir)
        rc = as_fail_sys(err, ASSAY_ERR_IO, "cannot read %.200s", path);
    if (fd >= 0 && !dir)
        (void)close(fd);
    for (const struct dirent *e;
         dir && rc == ASSAY_OK && (e = as_next_entry(dir, path, &rc, err)) != NULL;)
        rc = list_entry(check, fd, within, e->d_name, depth, err);
    if (dir)
        (void)closedir(dir);
    as_free(path);
    return rc;
}

/* A folder of another kind is not walked: it may be large. */
static bool looks_like_one(const char *folder)
{
    static const char *const names[] = {
        "witness", "csv", "run.assay", "journal.jsonl", AS_FOLDER_BUNDLE_NAME, "results.json"};
    int fd = as_open(folder, O_RDONLY | O_DIRECTORY);
    bool found = false;

    for (size_t i = 0; fd >= 0 && !found && i < AS_COUNT_OF(names); i++)
        found = faccessat(fd, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (fd >= 0)
        (void)close(fd);
    return found;
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

    if (item->kind == AS_FOLDER_FILE)
        return ASSAY_OK;
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

/* The witness of that name, which a bundle has without its folder. */
static struct as_folder_item *find_witness(struct as_folder_check *check, const char *name)
{
    for (size_t i = 0; name && i < check->n; i++)
        if (check->items[i].kind == AS_FOLDER_WITNESS &&
            strcmp(strrchr(check->items[i].name, '/') + 1, name) == 0)
            return &check->items[i];
    return NULL;
}

/* Segment `i` of the bundle against the witness it was made from. */
static int match_segment(struct as_folder_check *check, struct as_folder_item *item,
                         const struct assay_bundle *bundle, size_t i, struct assay_error *err)
{
    const char *hash = as_json_words(as_json_get(as_bundle_witness(bundle, i), "file_hash"));
    struct assay_bundle_segment segment;
    struct match m = {.segment = &segment};
    struct assay_witness_report report;
    struct as_folder_item *witness;
    int rc = assay_bundle_segment_at(bundle, i, &segment, err);

    if (rc < 0 || segment.type != AS_RVF_WITNESS)
        return rc;
    witness = find_witness(check, segment.name);
    if (!witness) {
        as_folder_blame(item, "the folder lacks a witness of the bundle: %.150s",
                        segment.name ? segment.name : "(without a name)");
        return ASSAY_OK;
    }
    rc = assay_witness_verify(witness->path, same_entry, &m, &report, err);
    if (rc < 0)
        return rc;
    if (rc > 0 || m.at != segment.entries || !hash || strcmp(hash, report.file_hash) != 0)
        as_folder_blame(item, "the bundle does not match the content of %.150s",
                        strrchr(witness->name, '/') + 1);
    else
        witness->in_bundle = true;
    return ASSAY_OK;
}

/* ---- a bundle against the files it lists ---- */

static int match_file(struct as_folder_check *check, const struct as_json_value *listed,
                      struct assay_error *err)
{
    const char *name = as_json_words(as_json_get(listed, "path"));
    const char *told = as_json_words(as_json_get(listed, "sha256"));
    /* Only names that were found are opened, so a name cannot lead out of the folder. */
    struct as_folder_item *item = as_folder_find(check, name);
    char hex[AS_SHA256_HEX];
    int rc;

    if (!name || !told)
        return as_folder_miss(check, "(a file without a name)", "the bundle lists it", err);
    if (!item)
        return as_folder_miss(check, name, "the bundle lists it", err);
    if (item->missing || (!item->whole && item->kind == AS_FOLDER_FILE))
        return ASSAY_OK;
    rc = hash_file(item->path, hex, err);
    if (rc < 0)
        return rc;
    if (strcmp(hex, told) == 0)
        item->hash_fits = true;
    else
        as_folder_blame(item, "it was changed: its hash differs from the one in the bundle");
    return ASSAY_OK;
}

static int match_files(struct as_folder_check *check, const struct assay_bundle *bundle,
                       struct assay_error *err)
{
    const struct as_rvf_segment *first = &bundle->frame.segments[0];
    const struct as_json_value *meta = NULL, *files = NULL;
    struct as_arena arena = {0};
    int rc = as_json_tree_read(&meta, &arena, first->payload, (size_t)first->payload_bytes,
                               META_VALUES, err);

    if (rc == ASSAY_OK)
        files = as_json_get(as_json_get(meta, "meta"), "files");
    if (files && files->type == AS_TYPE_ARRAY && files->n > MAX_ITEMS)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "a bundle lists more than %d files", MAX_ITEMS);
    if (rc == ASSAY_OK && files && files->type == AS_TYPE_ARRAY) {
        check->lists = true;
        for (const struct as_json_value *v = files->first; rc == ASSAY_OK && v; v = v->next)
            rc = match_file(check, v, err);
    }
    as_arena_fini(&arena);
    return rc;
}

static int match_bundle(struct as_folder_check *check, size_t at, struct assay_error *err)
{
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_open(&bundle, check->items[at].path, err);

    for (size_t i = 0; rc == ASSAY_OK && i < assay_bundle_count(bundle); i++)
        rc = match_segment(check, &check->items[at], bundle, i, err);
    if (rc == ASSAY_OK)
        rc = match_files(check, bundle, err);
    assay_bundle_close(bundle);
    return rc;
}

/* ---- the answer ---- */

/* The best signature of the bundles; a broken one is reported beside its bundle. */
static void take_signature(struct as_folder_check *check, const struct as_folder_item *item)
{
    static const int rank[ASSAY_BUNDLE_SIGNATURE_COUNT] = {
        [ASSAY_BUNDLE_SIGNATURE_BROKEN] = 1,
        [ASSAY_BUNDLE_SIGNATURE_OTHER] = 2,
        [ASSAY_BUNDLE_SIGNATURE_UNPROVEN] = 3,
        [ASSAY_BUNDLE_SIGNATURE_PROVEN] = 4,
    };

    if (rank[item->bundle.signature] > rank[check->signature])
        check->signature = item->bundle.signature;
}

/* The bundle itself is as good as listed. */
static bool is_listed(const struct as_folder_item *item)
{
    return item->whole && (item->hash_fits || item->in_bundle || item->kind == AS_FOLDER_BUNDLE);
}

void as_folder_conclude(struct as_folder_check *check)
{
    bool any_bundle = false, strict = check->wants_key || check->lists;

    check->whole = true;
    check->n_listed = 0;
    for (size_t i = 0; i < check->n; i++)
        any_bundle |= check->items[i].kind == AS_FOLDER_BUNDLE && !check->items[i].missing;
    for (size_t i = 0; i < check->n; i++) {
        struct as_folder_item *item = &check->items[i];

        item->listed = is_listed(item);
        if (item->whole && !item->listed && any_bundle && item->kind == AS_FOLDER_WITNESS)
            as_folder_blame(item, "no intact bundle of the folder holds %.150s", item->name);
        if (item->whole && !item->listed && strict)
            as_folder_blame(item, check->lists ? "no bundle of the folder lists it"
                                               : "no signed bundle of the folder proves it");
        check->n_listed += item->listed;
        check->whole &= item->whole;
    }
    check->sentence[0] = '\0';
    if (check->wants_key && check->signature != ASSAY_BUNDLE_SIGNATURE_PROVEN) {
        check->whole = false;
        (void)snprintf(check->sentence, sizeof check->sentence,
                       "no bundle of the folder is signed with the given key");
    }
}

static bool can_be_checked(struct as_folder_check *check)
{
    for (size_t i = 0; i < check->n; i++)
        if (check->items[i].kind != AS_FOLDER_FILE)
            return true;
    return as_folder_find(check, "run.assay") || as_folder_find(check, "results.json") ||
           as_folder_find(check, "journal.jsonl");
}

/* A key that cannot be read is an error before any answer. */
static int check_key(const char *public_key, struct assay_error *err)
{
    struct as_rvf_key key = {0};
    int rc = public_key ? as_rvf_key_open(&key, public_key, false, err) : ASSAY_OK;

    as_rvf_key_close(&key);
    return rc;
}

static int list_all(struct as_folder_check *check, struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (looks_like_one(check->folder))
        rc = list(check, "", 0, err);
    if (rc < 0)
        return rc;
    if (!can_be_checked(check)) {
        if (!check->wants_key)
            return as_fail(err, ASSAY_ERR_NOTFOUND,
                           "%.150s has no results, no witness/ and no csv/ with files in them",
                           check->folder);
        return ASSAY_OK;
    }
    qsort(check->items, check->n, sizeof *check->items, by_name);
    return ASSAY_OK;
}

int as_folder_check(struct as_folder_check *check, const char *folder, const char *public_key,
                    struct assay_error *err)
{
    size_t n;
    int rc = check_key(public_key, err);

    *check = (struct as_folder_check){.folder = folder, .wants_key = public_key != NULL};
    if (rc == ASSAY_OK)
        rc = list_all(check, err);
    n = check->n; /* those that are missing come behind */
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++)
        if (check->items[i].whole)
            rc = verify_item(&check->items[i], public_key, err);
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++) {
        if (check->items[i].kind != AS_FOLDER_BUNDLE)
            continue;
        take_signature(check, &check->items[i]);
        if (check->items[i].whole)
            rc = match_bundle(check, i, err);
    }
    if (rc == ASSAY_OK)
        as_folder_conclude(check);
    return rc;
}

void as_folder_check_fini(struct as_folder_check *check)
{
    for (size_t i = 0; i < check->n; i++)
        as_free(check->items[i].path);
    as_free(check->items);
    *check = (struct as_folder_check){0};
}

/* ---- the list ---- */

static int put_file(struct as_json_writer *w, const char *folder, const char *name,
                    struct assay_error *err)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = as_alloc(size), hex[AS_SHA256_HEX];
    struct stat st;
    int rc = ASSAY_OK;

    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, size, "%s/%s", folder, name);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        rc = hash_file(path, hex, err);
        if (rc == ASSAY_OK) {
            as_json_object(w);
            as_json_kv_text(w, "path", name);
            as_json_kv_u64(w, "bytes", (uint64_t)st.st_size);
            as_json_kv_text(w, "sha256", hex);
            as_json_object_end(w);
        }
    }
    as_free(path);
    return rc;
}

int as_folder_list_put(struct as_json_writer *w, const char *folder, const char *const *names,
                       size_t n, struct assay_error *err)
{
    int rc = ASSAY_OK;

    as_json_kv_array(w, "files");
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++)
        rc = put_file(w, folder, names[i], err);
    as_json_array_end(w);
    return rc;
}
