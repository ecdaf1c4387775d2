/* experiment/bundle/rvf_verify.c - whether a bundle is whole: frame, hashes, chains, manifest,
 * signature. What is wrong is an answer, kept in the report; an error is only what keeps us from
 * answering. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "experiment/bundle/rvf.h"

const char *assay_bundle_signature_name(enum assay_bundle_signature signature)
{
    static const char *const names[] = {[ASSAY_BUNDLE_SIGNATURE_NONE] = "none",
                                        [ASSAY_BUNDLE_SIGNATURE_UNPROVEN] = "unproven",
                                        [ASSAY_BUNDLE_SIGNATURE_PROVEN] = "proven",
                                        [ASSAY_BUNDLE_SIGNATURE_OTHER] = "other_key",
                                        [ASSAY_BUNDLE_SIGNATURE_BROKEN] = "broken"};
    _Static_assert(AS_COUNT_OF(names) == ASSAY_BUNDLE_SIGNATURE_COUNT, "name every state");

    return (unsigned)signature < ASSAY_BUNDLE_SIGNATURE_COUNT ? names[signature] : NULL;
}

/* Keeps the first thing that is wrong. */
AS_PRINTF(2, 3) static void wrong(struct assay_bundle_report *r, const char *fmt, ...)
{
    va_list args;

    if (r->sentence[0])
        return;
    va_start(args, fmt);
    vsnprintf(r->sentence, sizeof r->sentence, fmt, args);
    va_end(args);
}

/* Which segment stands where. */
static void check_order(const struct as_rvf_file *f, struct assay_bundle_report *r)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct as_rvf_segment *s = &f->segments[i];
        uint8_t due = AS_RVF_WITNESS;

        if (i == f->n - 1)
            due = AS_RVF_MANIFEST;
        else if (i == 0 || i == f->n - 2)
            due = AS_RVF_METADATA;
        if (s->type != due)
            wrong(r, "segment %llu is of type 0x%02x, not 0x%02x as its place asks for",
                  (unsigned long long)s->id, s->type, due);
        if (s->signature && i != f->n - 1)
            wrong(r, "segment %llu is signed, which only the last may be",
                  (unsigned long long)s->id);
    }
    if (f->n < 3)
        wrong(r, "the bundle has no more than %zu segments", f->n);
}

/* What the statistics say against what is there. */
static void check_listed(const struct assay_bundle *b, size_t i, const struct as_rvf_chain *chain,
                         struct assay_bundle_report *r)
{
    const struct as_rvf_segment *s = &b->frame.segments[i];
    const struct as_json_value *listed = as_bundle_witness(b, i);
    const struct as_json_value *head = as_json_get(listed, "head");
    uint8_t want[AS_RVF_HASH_BYTES] = {0}, found[AS_RVF_HASH_BYTES];
    uint64_t entries;

    if (chain->entries > 0)
        memcpy(want, s->payload + (chain->entries - 1) * AS_RVF_ENTRY_BYTES + AS_RVF_ACTION_AT,
               sizeof want);
    if (!as_json_words(as_json_get(listed, "name")) ||
        !as_json_whole(as_json_get(listed, "entries"), &entries) || entries != chain->entries ||
        !as_json_words(head) || !as_unhex(head->text, head->text_size, found, sizeof found) ||
        memcmp(found, want, sizeof want) != 0)
        wrong(r, "the statistics do not match witness segment %llu", (unsigned long long)s->id);
}

static int check_witness(const struct assay_bundle *b, size_t i, struct assay_bundle_report *r,
                         struct assay_error *err)
{
    const struct as_rvf_segment *s = &b->frame.segments[i];
    struct as_rvf_chain chain;
    int rc = as_rvf_chain_check(&chain, s->payload, (size_t)s->payload_bytes, err);

    if (rc < 0)
        return rc;
    if (chain.breaks)
        wrong(r, "the chain in segment %llu breaks at entry %llu", (unsigned long long)s->id,
              (unsigned long long)chain.first_break);
    if (chain.entries > 0) {
        if (r->entries == 0 || chain.first_timestamp < r->first_timestamp_ns)
            r->first_timestamp_ns = chain.first_timestamp;
        if (chain.last_timestamp > r->last_timestamp_ns)
            r->last_timestamp_ns = chain.last_timestamp;
    }
    r->witnesses++;
    r->entries += chain.entries;
    r->breaks += chain.breaks;
    check_listed(b, i, &chain, r);
    return ASSAY_OK;
}

static int check_signature(const struct as_rvf_segment *s, const struct as_rvf_manifest *m,
                           const struct as_rvf_key *key, struct assay_bundle_report *r,
                           struct assay_error *err)
{
    bool fits = false;
    int rc;

    if (!s->signature || !m->has_key) {
        if (key)
            wrong(r, "the bundle is not signed, so its origin cannot be proved");
        return ASSAY_OK;
    }
    as_hex(m->public_key, sizeof m->public_key, r->public_key);
    rc = as_rvf_signature_fits(m->public_key, s->start,
                               AS_RVF_HEADER_BYTES + (size_t)s->payload_bytes, s->signature, &fits,
                               err);
    if (rc < 0)
        return rc;
    if (!fits) {
        r->signature = ASSAY_BUNDLE_SIGNATURE_BROKEN;
        wrong(r, "the signature is invalid");
    } else if (!key) {
        r->signature = ASSAY_BUNDLE_SIGNATURE_UNPROVEN;
    } else if (memcmp(key->public_key, m->public_key, sizeof m->public_key) == 0) {
        r->signature = ASSAY_BUNDLE_SIGNATURE_PROVEN;
    } else {
        r->signature = ASSAY_BUNDLE_SIGNATURE_OTHER;
        wrong(r, "the bundle is signed with another key than the given one");
    }
    return ASSAY_OK;
}

static int check_last(const struct as_rvf_file *f, const struct as_rvf_key *key,
                      struct assay_bundle_report *r, struct assay_error *err)
{
    const struct as_rvf_segment *last = &f->segments[f->n - 1];
    struct as_rvf_manifest manifest;
    int rc;

    if (last->type != AS_RVF_MANIFEST)
        return ASSAY_OK; /* reported already */
    rc = as_rvf_manifest_check(&manifest, f, r->sentence[0] == '\0', err);
    if (rc < 0)
        return rc;
    if (manifest.wrong[0])
        wrong(r, "%s", manifest.wrong);
    return check_signature(last, &manifest, key, r, err);
}

int as_bundle_check(const struct assay_bundle *bundle, const struct as_rvf_key *key,
                    struct assay_bundle_report *report, struct assay_error *err)
{
    const struct as_rvf_file *f = &bundle->frame;
    int rc = ASSAY_OK;

    *report =
        (struct assay_bundle_report){.size = sizeof(struct assay_bundle_report), .segments = f->n};
    check_order(f, report);
    for (size_t i = 0; rc == ASSAY_OK && i < f->n; i++) {
        const struct as_rvf_segment *s = &f->segments[i];
        bool fits;

        report->bytes += s->bytes;
        rc = as_rvf_content_fits(s, &fits, err);
        if (rc == ASSAY_OK && !fits)
            wrong(report, "the payload of segment %llu does not match its hash",
                  (unsigned long long)s->id);
        if (rc == ASSAY_OK && s->type == AS_RVF_WITNESS)
            rc = check_witness(bundle, i, report, err);
    }
    if (rc == ASSAY_OK)
        rc = check_last(f, key, report, err);
    report->whole = rc == ASSAY_OK && report->sentence[0] == '\0';
    return rc;
}

int as_bundle_check_bytes(const uint8_t *bytes, uint64_t size, const struct as_rvf_key *key,
                          struct assay_bundle_report *report, struct assay_error *err)
{
    struct assay_bundle b = {0};
    struct assay_error why = {0};
    int rc = as_bundle_init(&b, bytes, size, &why);

    *report =
        (struct assay_bundle_report){.size = sizeof(struct assay_bundle_report), .bytes = size};
    if (rc == ASSAY_OK) {
        rc = as_bundle_check(&b, key, report, err);
    } else if (rc == ASSAY_ERR_NOMEM) {
        rc = as_fail_nomem(err);
    } else {
        wrong(report, "%s", why.msg);
        rc = ASSAY_OK;
    }
    as_bundle_fini(&b);
    return rc;
}

int assay_bundle_verify(const char *path, const char *public_key_path,
                        struct assay_bundle_report *report, struct assay_error *err)
{
    struct as_mapped_file file = {0};
    struct as_rvf_key key = {0};
    int rc;

    if (!path || !report)
        return as_fail(err, ASSAY_ERR_USAGE, "a bundle to verify needs a path and a report");
    *report = (struct assay_bundle_report){.size = sizeof(struct assay_bundle_report)};
    rc = as_rvf_map(&file, path, err);
    if (rc == ASSAY_OK && public_key_path)
        rc = as_rvf_key_open(&key, public_key_path, false, err);
    if (rc == ASSAY_OK)
        rc = as_bundle_check_bytes(file.bytes, file.size, public_key_path ? &key : NULL, report,
                                   err);
    as_rvf_key_close(&key);
    as_mapped_file_close(&file);
    return rc;
}
