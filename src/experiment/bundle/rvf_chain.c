/* experiment/bundle/rvf_chain.c - the payload of a witness segment: entries of 73 bytes, each with
 * the hash of the one before. Described in assay/experiment/bundle.h. */
#include "experiment/bundle/rvf.h"

#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"

/* What the entry after `entry` begins with; NULL: the first of a chain. */
static int link_after(const uint8_t *entry, uint8_t out[AS_RVF_HASH_BYTES], struct assay_error *err)
{
    memset(out, 0, AS_RVF_HASH_BYTES);
    return entry ? as_shake256(entry, AS_RVF_ENTRY_BYTES, out, AS_RVF_HASH_BYTES, err) : ASSAY_OK;
}

int as_rvf_chain_add(struct as_buffer *chain, const uint8_t *action, uint64_t timestamp_ns,
                     struct assay_error *err)
{
    uint8_t entry[AS_RVF_ENTRY_BYTES];
    const uint8_t *last = chain->size ? chain->data + chain->size - AS_RVF_ENTRY_BYTES : NULL;
    int rc = link_after(last, entry, err);

    if (rc < 0)
        return rc;
    memcpy(entry + AS_RVF_ACTION_AT, action, AS_RVF_HASH_BYTES);
    for (unsigned i = 0; i < 8; i++)
        entry[AS_RVF_TIME_AT + i] = (uint8_t)(timestamp_ns >> (8 * i));
    entry[AS_RVF_TYPE_AT] = AS_RVF_COMPUTATION;
    return as_buffer_add(chain, entry, sizeof entry) ? ASSAY_OK : as_fail_nomem(err);
}

uint64_t as_rvf_entry_time(const uint8_t *entry)
{
    struct as_cursor c = as_cursor_over(entry + AS_RVF_TIME_AT, 8);
    uint64_t time = 0;

    (void)as_take_u64le(&c, &time);
    return time;
}

static void note_break(struct as_rvf_chain *out, uint64_t entry)
{
    if (out->breaks++ == 0)
        out->first_break = entry;
}

int as_rvf_chain_check(struct as_rvf_chain *out, const uint8_t *payload, size_t size,
                       struct assay_error *err)
{
    const uint8_t *last = NULL;
    int rc = ASSAY_OK;

    *out = (struct as_rvf_chain){.entries = size / AS_RVF_ENTRY_BYTES};
    for (uint64_t i = 0; rc == ASSAY_OK && i < out->entries; i++) {
        const uint8_t *entry = payload + i * AS_RVF_ENTRY_BYTES;
        uint64_t time = as_rvf_entry_time(entry);
        uint8_t due[AS_RVF_HASH_BYTES];

        rc = link_after(last, due, err);
        if (rc == ASSAY_OK &&
            (memcmp(due, entry, sizeof due) != 0 || entry[AS_RVF_TYPE_AT] != AS_RVF_COMPUTATION))
            note_break(out, i);
        if (i == 0 || time < out->first_timestamp)
            out->first_timestamp = time;
        if (i == 0 || time > out->last_timestamp)
            out->last_timestamp = time;
        last = entry;
    }
    if (size % AS_RVF_ENTRY_BYTES != 0)
        note_break(out, out->entries);
    return rc;
}
