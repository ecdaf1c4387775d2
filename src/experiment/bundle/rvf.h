/* experiment/bundle/rvf.h - the frame of an RVF file: headers, footers, padding.
 * Described in assay/experiment/bundle.h; hashes are looked at elsewhere. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_H
#define AS_EXPERIMENT_BUNDLE_RVF_H

#include <assay/experiment/bundle.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json/json_tree.h"
#include "base/output.h"
#include "format/mapped_file.h"

#define AS_RVF_MAGIC           UINT32_C(0x52564653)
#define AS_RVF_HEADER_BYTES    64
#define AS_RVF_ALIGN           64
#define AS_RVF_CONTENT_BYTES   16
#define AS_RVF_CONTENT_AT      0x28
#define AS_RVF_HASH_BYTES      32
#define AS_RVF_SIGNATURE_BYTES 64
#define AS_RVF_FOOTER_BYTES    72
#define AS_RVF_MAX_SEGMENTS    4096
#define AS_RVF_MAX_PAYLOAD     UINT64_C(0xffffffff)
#define AS_RVF_SIGNED          4u /* the one flag that is understood */

enum as_rvf_type { AS_RVF_MANIFEST = 0x05, AS_RVF_METADATA = 0x07, AS_RVF_WITNESS = 0x0a };

struct as_rvf_segment {
    uint8_t type;
    uint16_t flags;
    uint64_t id, timestamp_ns;
    uint64_t offset, bytes; /* in the file, all included */
    uint64_t payload_bytes;
    uint8_t content_hash[AS_RVF_CONTENT_BYTES];
    const uint8_t *start, *payload; /* borrowed */
    const uint8_t *signature;       /* NULL: not signed */
};

struct as_rvf_file {
    struct as_rvf_segment *segments;
    size_t n, capacity;
};

/* The header of a segment of that payload, without its content hash. */
void as_rvf_header_put(uint8_t out[AS_RVF_HEADER_BYTES], const struct as_rvf_segment *segment);

/* Zeros behind payload and footer. */
static inline uint32_t as_rvf_padding(uint64_t payload_bytes, bool is_signed)
{
    uint64_t used = payload_bytes + (is_signed ? AS_RVF_FOOTER_BYTES : 0);

    return (uint32_t)((AS_RVF_ALIGN - used % AS_RVF_ALIGN) % AS_RVF_ALIGN);
}

/* Appends a whole segment; `signature` is used with the flag alone. `s` gets its content hash. */
AS_MUST_USE int as_rvf_segment_put(struct as_buffer *out, struct as_rvf_segment *s,
                                   const void *payload, const uint8_t *signature,
                                   struct assay_error *err);

/* All segments of `size` bytes, which are borrowed. ASSAY_ERR_FORMAT with the byte to blame for
 * anything out of order. End with as_rvf_file_fini(), also after a failure. */
AS_MUST_USE int as_rvf_file_read(struct as_rvf_file *file, const uint8_t *bytes, uint64_t size,
                                 struct assay_error *err);
void as_rvf_file_fini(struct as_rvf_file *file);

/* Whether the payload fits its hash. */
AS_MUST_USE int as_rvf_content_fits(const struct as_rvf_segment *s, bool *fits,
                                    struct assay_error *err);

/* Maps a file that is no model, which is what the messages of mapped_file.h speak of. */
AS_MUST_USE int as_rvf_map(struct as_mapped_file *file, const char *path, struct assay_error *err);

/* ---- rvf_chain.c ---- */

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

/* ---- rvf_key.c ---- */

#define AS_RVF_KEY_BYTES 32

struct as_rvf_key {
    void *key; /* libcrypto's; NULL: none */
    uint8_t public_key[AS_RVF_KEY_BYTES];
};

/* A private key can sign; a public one only tells who. */
AS_MUST_USE int as_rvf_key_open(struct as_rvf_key *key, const char *path, bool is_private,
                                struct assay_error *err);
void as_rvf_key_close(struct as_rvf_key *key);

AS_MUST_USE int as_rvf_key_sign(const struct as_rvf_key *key, const void *data, size_t size,
                                uint8_t out[AS_RVF_SIGNATURE_BYTES], struct assay_error *err);

/* Whether `signature` is that of `data` by the owner of `public_key`. */
AS_MUST_USE int as_rvf_signature_fits(const uint8_t public_key[AS_RVF_KEY_BYTES], const void *data,
                                      size_t size, const uint8_t *signature, bool *fits,
                                      struct assay_error *err);

/* ---- rvf_manifest.c ---- */

/* The hash of all bytes of a segment. */
AS_MUST_USE int as_rvf_segment_hash(const struct as_rvf_segment *s, uint8_t out[AS_RVF_HASH_BYTES],
                                    struct assay_error *err);

/* The payload for the segments in `file` with `hashes`, AS_RVF_HASH_BYTES each. `manifest` has its
 * id, flags and time and gets its length. `public_key` may be NULL. */
AS_MUST_USE int as_rvf_manifest_put(struct as_out *out, struct as_rvf_segment *manifest,
                                    const struct as_rvf_file *file, const uint8_t *hashes,
                                    const uint8_t *public_key, struct assay_error *err);

struct as_rvf_manifest {
    bool has_key;
    uint8_t public_key[AS_RVF_KEY_BYTES];
    char wrong[200]; /* what does not fit first; "" when all does */
};

/* Holds the last segment of `file` against all before it. What does not fit is an answer. Without
 * `hashes` those of the other segments are left out: for files known to be damaged, whose signer is
 * of interest all the same. */
AS_MUST_USE int as_rvf_manifest_check(struct as_rvf_manifest *out, const struct as_rvf_file *file,
                                      bool hashes, struct assay_error *err);

/* ---- rvf_bundle.c ---- */

struct assay_bundle {
    struct as_mapped_file file;
    char *path;
    struct as_rvf_file frame;
    struct as_arena arena;
    const struct as_json_value *witnesses; /* of the statistics; NULL: none could be read */
};

/* `bytes` are borrowed. Empty it with as_bundle_fini(), also after a failure. */
AS_MUST_USE int as_bundle_init(struct assay_bundle *bundle, const uint8_t *bytes, uint64_t size,
                               struct assay_error *err);
void as_bundle_fini(struct assay_bundle *bundle);

/* What the statistics tell of the witness in segment `i`; NULL: nothing. */
const struct as_json_value *as_bundle_witness(const struct assay_bundle *bundle, size_t i);

/* Every hash, every chain and the signature. `key` may be NULL. */
AS_MUST_USE int as_bundle_check(const struct assay_bundle *bundle, const struct as_rvf_key *key,
                                struct assay_bundle_report *report, struct assay_error *err);

/* All of it for bytes in memory: a frame out of order is an answer too. */
AS_MUST_USE int as_bundle_check_bytes(const uint8_t *bytes, uint64_t size,
                                      const struct as_rvf_key *key,
                                      struct assay_bundle_report *report, struct assay_error *err);

#endif
