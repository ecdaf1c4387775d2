/* experiment/witness/witness_check.c - the chain of a witness, checked line after line. */
#include "experiment/witness/witness_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int as_witness_check_init(struct as_witness_check *check, assay_witness_seen seen, void *user,
                          struct assay_error *err)
{
    *check = (struct as_witness_check){.seen = seen, .user = user};
    check->report.size = sizeof check->report;
    memcpy(check->report.head, as_witness_genesis, sizeof check->report.head);
    as_sha256_begin(&check->file);
    return as_out_memory(&check->again, err);
}

void as_witness_check_fini(struct as_witness_check *check)
{
    unsigned char digest[AS_SHA256_BYTES];

    (void)!as_sha256_end(&check->file, digest, NULL);
    as_out_drop(&check->again);
    as_witness_line_fini(&check->line);
}

/* Remembers what is wrong with the line in hand. */
AS_PRINTF(2, 3) static int bad(struct as_witness_check *check, const char *fmt, ...)
{
    struct assay_witness_report *r = &check->report;
    va_list args;
    int n = snprintf(r->sentence, sizeof r->sentence,
                     "line %llu: ", (unsigned long long)check->n_lines);

    r->first_bad_line = check->n_lines;
    va_start(args, fmt);
    vsnprintf(r->sentence + n, sizeof r->sentence - (size_t)n, fmt, args);
    va_end(args);
    return ASSAY_OK;
}

void as_witness_check_too_long(struct as_witness_check *check)
{
    check->n_lines++;
    (void)bad(check, "it is longer than %zu MiB", ASSAY_WITNESS_MAX_LINE >> 20);
}

/* The hashes that follow from the entry itself. */
static int check_hashes(struct as_witness_check *check, struct assay_error *err)
{
    const struct assay_witness_entry *e = &check->line.entry;
    char hex[ASSAY_WITNESS_HEX];
    int rc = ASSAY_OK;

    if (check->line.how != ASSAY_WITNESS_MASK_HASH) {
        uint64_t kept = 0;
        bool within = as_witness_count(e, &kept);

        if (!within)
            return bad(check, "keep_mask has bits set past its end");
        if (kept != e->mask_kept)
            return bad(check, "mask_kept is %llu, but keep_mask has %llu bits set",
                       (unsigned long long)e->mask_kept, (unsigned long long)kept);
        rc = as_witness_mask_hash(e, hex, err);
        if (rc == ASSAY_OK && strcmp(hex, e->mask_hash) != 0)
            return bad(check, "mask_hash is not the hash of keep_mask");
    }
    if (rc == ASSAY_OK)
        rc = as_witness_entry_hash(e, hex, err);
    if (rc == ASSAY_OK && strcmp(hex, e->entry_hash) != 0)
        return bad(check, "entry_hash does not follow from the entry: a field was changed");
    return rc;
}

/* The entry against its predecessors. */
static int check_place(struct as_witness_check *check)
{
    const struct assay_witness_entry *e = &check->line.entry;
    uint64_t due = check->report.entries;

    if (e->index < due)
        return bad(check, "entry %llu is out of order or repeated; expected entry %llu",
                   (unsigned long long)e->index, (unsigned long long)due);
    if (e->index > due)
        return bad(check, "found entry %llu, expected entry %llu: it is missing or moved",
                   (unsigned long long)e->index, (unsigned long long)due);
    if (strcmp(e->prev_hash, check->report.head) != 0)
        return bad(check, "prev_hash is not the hash of the entry before: the chain is broken");
    return ASSAY_OK;
}

/* The line must be, byte by byte, what the writer makes of it. */
static int check_form(struct as_witness_check *check, const char *text, size_t size,
                      struct assay_error *err)
{
    const struct as_witness_line *line = &check->line;
    const char *again;
    size_t n, i = 0;
    int rc;

    check->again.used = 0;
    if (line->is_seal)
        rc = as_witness_put_seal(&line->seal, &check->again, err);
    else
        rc = as_witness_put(&line->entry, line->how, &check->again, err);
    if (rc == ASSAY_ERR_LIMIT)
        return bad(check, "its mask makes the line longer than allowed");
    if (rc < 0)
        return rc;
    again = check->again.buf;
    n = check->again.used;
    if (n == size && memcmp(again, text, n) == 0)
        return ASSAY_OK;
    while (i < n && i < size && again[i] == text[i])
        i++;
    return bad(check, "byte %zu of it is unexpected, although it is JSON", i);
}

static int check_seal(struct as_witness_check *check, struct assay_error *err)
{
    const struct as_witness_seal *seal = &check->line.seal;
    struct assay_witness_report *r = &check->report;
    unsigned char digest[AS_SHA256_BYTES];
    char hex[ASSAY_WITNESS_HEX];
    int rc = as_sha256_end(&check->file, digest, err);

    if (rc < 0)
        return rc;
    as_sha256_hex(digest, hex);
    if (seal->entries != r->entries)
        return bad(check, "the seal counts %llu entries, but %llu precede it",
                   (unsigned long long)seal->entries, (unsigned long long)r->entries);
    if (strcmp(seal->head, r->head) != 0)
        return bad(check, "the head hash in the seal is not that of the chain");
    if (strcmp(seal->file_hash, hex) != 0)
        return bad(check, "the seal does not match: something not covered by the entries was "
                          "changed, such as a timestamp, or the seal itself");
    memcpy(r->file_hash, hex, sizeof hex);
    r->sealed = true;
    return ASSAY_OK;
}

/* Counts an entry that is in order and shows it. */
static int accept_entry(struct as_witness_check *check)
{
    const struct assay_witness_entry *e = &check->line.entry;
    struct assay_witness_report *r = &check->report;

    if (r->entries == 0) {
        r->first_timestamp_ns = e->timestamp_ns;
        memcpy(r->config_hash, e->config_hash, sizeof r->config_hash);
    } else if (strcmp(r->config_hash, e->config_hash) != 0) {
        r->config_hash[0] = '\0';
    }
    r->last_timestamp_ns = e->timestamp_ns;
    r->entries++;
    r->mask_bits += e->mask_bits;
    r->mask_kept += e->mask_kept;
    memcpy(r->head, e->entry_hash, sizeof r->head);
    return check->seen ? check->seen(check->user, e) : ASSAY_OK;
}

static int check_entry(struct as_witness_check *check, const char *text, size_t size,
                       struct assay_error *err)
{
    const struct assay_witness_report *r = &check->report;
    int rc = check_hashes(check, err);

    if (rc == ASSAY_OK && !r->first_bad_line)
        rc = check_place(check);
    if (rc == ASSAY_OK && !r->first_bad_line)
        rc = check_form(check, text, size, err);
    if (rc < 0 || r->first_bad_line)
        return rc;
    as_sha256_add(&check->file, text, size);
    check->good_bytes += size;
    return accept_entry(check);
}

int as_witness_check_line(struct as_witness_check *check, const char *text, size_t size,
                          struct assay_error *err)
{
    struct assay_witness_report *r = &check->report;
    struct assay_error why = {0};
    int rc;

    if (r->first_bad_line)
        return ASSAY_OK;
    check->n_lines++;
    r->bytes += size;
    if (r->sealed)
        return bad(check, "there is data after the seal");
    if (size == 0 || text[size - 1] != '\n')
        return bad(check, "it is truncated: the file ends inside it");
    rc = as_witness_line_read(&check->line, text, size - 1, &why);
    if (rc == ASSAY_ERR_NOMEM)
        return as_fail_nomem(err);
    if (rc < 0)
        return bad(check, "%s", why.msg);
    if (!check->line.is_seal)
        return check_entry(check, text, size, err);
    rc = check_form(check, text, size, err);
    return rc < 0 || r->first_bad_line ? rc : check_seal(check, err);
}

void as_witness_check_end(struct as_witness_check *check)
{
    struct assay_witness_report *r = &check->report;

    r->whole = r->sealed && !r->first_bad_line;
    if (r->first_bad_line)
        r->sealed = false;
    else if (!r->sealed)
        (void)snprintf(r->sentence, sizeof r->sentence,
                       "unfinished: the file ends after line %llu without a seal",
                       (unsigned long long)check->n_lines);
}

int as_witness_check_bytes(const void *bytes, size_t size, assay_witness_seen seen, void *user,
                           struct assay_witness_report *report, struct assay_error *err)
{
    const char *at = bytes;
    struct as_witness_check check;
    int rc = as_witness_check_init(&check, seen, user, err);

    for (size_t left = size; rc == ASSAY_OK && left > 0 && !check.report.first_bad_line;) {
        const char *end = memchr(at, '\n', left);
        size_t n = end ? (size_t)(end - at) + 1 : left;

        if (n > ASSAY_WITNESS_MAX_LINE)
            as_witness_check_too_long(&check);
        else
            rc = as_witness_check_line(&check, at, n, err);
        at += n;
        left -= n;
    }
    as_witness_check_end(&check);
    *report = check.report;
    as_witness_check_fini(&check);
    return rc;
}
