/* experiment/bundle/rvf_chain.h - the payload of a witness segment: entries of 73 bytes, each with
 * the hash of the one before. Described in assay/bundle.h. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_CHAIN_H
#define AS_EXPERIMENT_BUNDLE_RVF_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "experiment/bundle/rvf_segment.h"

#define AS_RVF_ENTRY_BYTES 73
#define AS_RVF_ACTION_AT   32
#define AS_RVF_TIME_AT     64
#define AS_RVF_TYPE_AT     72
#define AS_RVF_COMPUTATION 2

/* Appends an entry; `action` is 32 bytes. */
AS_MUST_USE int as_rvf_chain_add(struct as_buffer *chain, const uint8_t *action,
                                 uint64_t timestamp_ns, struct assay_error *err);

struct as_rvf_chain {
    uint64_t entries, breaks;
    uint64_t first_timestamp, last_timestamp; /* least and greatest */
    uint64_t first_break;                     /* the entry, from 0 */
};

/* Looks at every link. A break is an answer; bytes past the last whole entry are one too. */
AS_MUST_USE int as_rvf_chain_check(struct as_rvf_chain *out, const uint8_t *payload, size_t size,
                                   struct assay_error *err);

/* The timestamp of the entry that begins there. */
uint64_t as_rvf_entry_time(const uint8_t *entry);

#endif
