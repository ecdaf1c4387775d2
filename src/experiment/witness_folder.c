/* experiment/witness_folder.c - the folder of an experiment: every witness and bundle in its
 * witness/, each alone and the bundles against the witnesses they hold. */
#include "experiment/witness_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "experiment/rvf_chain.h"

#define MAX_ITEMS 4096

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static int add_item(struct as_folder_check *check, const char *folder, const char *name,
                    struct assay_error *err)
{
    size_t room = strlen(folder) + strlen(name) + sizeof "/witness/";
    struct as_folder_item *grown = as_grow(check->items, check->n, &check->room, 16, sizeof *grown);
    char *path;

    if (!grown)
        return as_fail_nomem(err);
    check->items = grown;
    if (check->n == MAX_ITEMS)
        return as_fail(err, ASSAY_ERR_LIMIT, "%.150s/witness holds more than %d files", folder,
                       MAX_ITEMS);
    path = as_alloc(room);
    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, room, "%s/witness/%s", folder, name);
    grown[check->n++] = (struct as_folder_item){
        .path = path, .name = strrchr(path, '/') + 1, .is_bundle = ends_in(name, ".rvf")};
    return ASSAY_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct as_folder_item *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int list(struct as_folder_check *check, const char *folder, struct assay_error *err)
{
    size_t room = strlen(folder) + sizeof "/witness";
    char *path = as_alloc(room);
    DIR *dir;
    int rc = ASSAY_OK;

    if (!path)
        return as_fail_nomem(err);
    (void)snprintf(path, room, "%s/witness", folder);
    dir = opendir(path);
    as_free(path);
    if (!dir)
        return as_fail_sys(err, errno == ENOENT ? ASSAY_ERR_NOTFOUND : ASSAY_ERR_IO,
                           "%.150s has no folder witness", folder);
    for (struct dirent *e; rc == ASSAY_OK && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && (ends_in(e->d_name, ".jsonl") || ends_in(e->d_name, ".rvf")))
            rc = add_item(check, folder, e->d_name, err);
    closedir(dir);
    if (rc == ASSAY_OK && check->n == 0)
        rc = as_fail(err, ASSAY_ERR_NOTFOUND, "%.150s/witness holds no witness and no bundle",
                     folder);
    if (rc == ASSAY_OK)
        qsort(check->items, check->n, sizeof *check->items, by_name);
    return rc;
}

static int verify_item(struct as_folder_item *item, const char *public_key, struct assay_error *err)
{
    int rc;

    if (item->is_bundle) {
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
        as_rvf_entry_time(theirs) != entry->timestamp)
        return 1;
    m->at++;
    return 0;
}

static struct as_folder_item *find(struct as_folder_check *check, const char *name)
{
    for (size_t i = 0; name && i < check->n; i++)
        if (!check->items[i].is_bundle && strcmp(check->items[i].name, name) == 0)
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
        blame(bundle, "the folder lacks a witness the bundle holds:",
              segment->name ? segment->name : "(without a name)");
        return ASSAY_OK;
    }
    witness->in_bundle = true;
    rc = assay_witness_verify(witness->path, same_entry, &m, &report, err);
    if (rc < 0)
        return rc;
    if (rc > 0 || m.at != segment->entries)
        blame(bundle, "the bundle does not hold what stands in", witness->name);
    return ASSAY_OK;
}

static int match_bundle(struct as_folder_check *check, struct as_folder_item *item,
                        struct assay_error *err)
{
    struct assay_bundle *bundle = NULL;
    int rc = assay_bundle_open(&bundle, item->path, err);

    for (size_t i = 0; rc == ASSAY_OK && i < assay_bundle_count(bundle); i++) {
        struct assay_bundle_segment segment;

        rc = assay_bundle_segment(bundle, i, &segment, err);
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
    int rc;

    *check = (struct as_folder_check){0};
    rc = list(check, folder, err);
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++)
        rc = verify_item(&check->items[i], public_key, err);
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++) {
        any_bundle |= check->items[i].is_bundle;
        if (check->items[i].is_bundle && check->items[i].whole)
            rc = match_bundle(check, &check->items[i], err);
    }
    check->whole = rc == ASSAY_OK;
    for (size_t i = 0; rc == ASSAY_OK && i < check->n; i++) {
        struct as_folder_item *item = &check->items[i];

        if (any_bundle && !item->is_bundle && item->whole && !item->in_bundle)
            blame(item, "no whole bundle of the folder holds", item->name);
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
