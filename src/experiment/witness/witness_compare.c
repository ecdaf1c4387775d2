/* experiment/witness/witness_compare.c - whether two runs computed the same, by their witnesses.
 * Chains are compared by their hashes; where they part, the entries themselves are looked at. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "experiment/witness/witness_entry.h"

/* What the one file is read into, and the other compared with. */
struct chain {
    struct as_buffer heads; /* ASSAY_WITNESS_HEX bytes an entry */
    uint64_t agree;         /* entries that are the same, from the first on */
    bool parted;
};

static int keep_head(void *user, const struct assay_witness_entry *entry)
{
    struct chain *c = user;

    return as_buffer_add(&c->heads, entry->entry_hash, ASSAY_WITNESS_HEX) ? ASSAY_OK
                                                                          : ASSAY_ERR_NOMEM;
}

static int compare_head(void *user, const struct assay_witness_entry *entry)
{
    struct chain *c = user;

    if (!c->parted && entry->index < c->heads.size / ASSAY_WITNESS_HEX &&
        memcmp(c->heads.data + entry->index * ASSAY_WITNESS_HEX, entry->entry_hash,
               ASSAY_WITNESS_HEX) == 0)
        c->agree++;
    else
        c->parted = true;
    return ASSAY_OK;
}

/* Stops at one entry and keeps it. */
struct wanted {
    uint64_t index;
    struct assay_witness_entry entry;
};

static int keep_entry(void *user, const struct assay_witness_entry *entry)
{
    struct wanted *w = user;

    if (entry->index != w->index)
        return 0;
    w->entry = *entry;
    w->entry.mask = NULL; /* borrowed; its hash is enough */
    return 1;
}

static size_t size_of(enum as_witness_kind kind)
{
    static const size_t sizes[] = {[AS_WITNESS_HEX] = ASSAY_WITNESS_HEX,
                                   [AS_WITNESS_U64] = sizeof(uint64_t),
                                   [AS_WITNESS_U32] = sizeof(uint32_t),
                                   [AS_WITNESS_F32] = sizeof(float),
                                   [AS_WITNESS_MASK] = 0};

    return sizes[kind];
}

/* Names the keys that differ at entry `out->first_difference`. */
static int name_keys(const char *path, const char *other, struct assay_witness_comparison *out,
                     struct assay_error *err)
{
    struct wanted a = {.index = out->first_difference}, b = a;
    struct assay_witness_report report;
    size_t used;
    int rc = assay_witness_verify(path, keep_entry, &a, &report, err);

    if (rc >= 0)
        rc = assay_witness_verify(other, keep_entry, &b, &report, err);
    if (rc < 0)
        return rc;
    used = (size_t)snprintf(out->sentence, sizeof out->sentence, "entry %llu differs in",
                            (unsigned long long)out->first_difference);
    for (size_t i = 0; i < AS_N_WITNESS_FIELDS; i++) {
        const struct as_witness_field *f = &as_witness_fields[i];

        if (!f->unbound && used < sizeof out->sentence &&
            memcmp((const char *)&a.entry + f->at, (const char *)&b.entry + f->at,
                   size_of(f->kind)) != 0)
            used +=
                (size_t)snprintf(out->sentence + used, sizeof out->sentence - used, " %s", f->name);
    }
    return ASSAY_OK;
}

static int tell(const char *path, const char *other, struct assay_witness_comparison *out,
                struct assay_error *err)
{
    uint64_t n = out->entries[0], m = out->entries[1];

    if (out->first_difference < n && out->first_difference < m)
        return name_keys(path, other, out, err);
    if (n != m)
        (void)snprintf(out->sentence, sizeof out->sentence,
                       "one has %llu entries, the other %llu; the first %llu are the same",
                       (unsigned long long)n, (unsigned long long)m,
                       (unsigned long long)out->first_difference);
    else
        out->same = true;
    return ASSAY_OK;
}

int assay_witness_compare(const char *path, const char *other, struct assay_witness_comparison *out,
                          struct assay_error *err)
{
    struct assay_witness_report one, two = {0};
    struct chain c = {0};
    int rc;

    if (!path || !other || !out)
        return as_fail(err, ASSAY_ERR_USAGE, "two witnesses and room for the answer are needed");
    *out = (struct assay_witness_comparison){.size = sizeof(struct assay_witness_comparison)};
    rc = assay_witness_verify(path, keep_head, &c, &one, err);
    if (rc == ASSAY_OK)
        rc = assay_witness_verify(other, compare_head, &c, &two, err);
    if (rc == ASSAY_ERR_NOMEM)
        (void)as_fail_nomem(err);
    if (rc == ASSAY_OK) {
        out->entries[0] = one.entries;
        out->entries[1] = two.entries;
        out->first_difference = c.agree;
        if (one.whole && two.whole)
            rc = tell(path, other, out, err);
        else
            (void)snprintf(out->sentence, sizeof out->sentence, "%s is not intact: %.180s",
                           one.whole ? "the second" : "the first",
                           one.whole ? two.sentence : one.sentence);
    }
    as_buffer_fini(&c.heads);
    return rc;
}
