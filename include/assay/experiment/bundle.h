/* assay/experiment/bundle.h - several witnesses, what they are of, and their statistics in one file
 * (.rvf) that may be signed.
 *
 *     const char *witnesses[] = {"a.jsonl", "b.jsonl"};
 *     struct assay_bundle_options o = ASSAY_SIZED(struct assay_bundle_options);
 *     struct assay_bundle_report report;
 *     o.output = "all.rvf";
 *     o.witnesses = witnesses;
 *     o.n_witnesses = 2;
 *     o.key_path = "key.pem";
 *     if (assay_bundle_pack(&o, &err) < 0 ||
 *         assay_bundle_verify("all.rvf", "public.pem", &report, &err) < 0)
 *         fprintf(stderr, "%s\n", err.msg);
 *
 * The file is a row of RVF segments without anything before, between or after them. All numbers are
 * little-endian. A segment is a header of 64 bytes, the payload, with the flag "signed" a footer,
 * and zeros up to the next multiple of 64:
 *
 *     0x00 u32 magic 0x52564653    0x04 u8 version 1       0x05 u8 type         0x06 u16 flags
 *     0x08 u64 id                  0x10 u64 payload bytes  0x18 u64 timestamp, ns since 1970
 *     0x20 u8 checksum: 2          0x21 u8 compression: 0  0x22 u16 0           0x24 u32 0
 *     0x28 16 bytes of SHAKE-256 of the payload            0x38 u32 uncompressed bytes
 *     0x3c u32 zeros after payload and footer
 *     footer: u16 algorithm (0: Ed25519), u16 64, the 64 bytes of the signature, u32 72
 *
 * Ids count from 1. In this order stand:
 *
 *   metadata (0x07)  JSON: kind "assay.bundle", version, made_by, config_hash, model_commit,
 *                    weights_hash, host, fingerprint (null when unknown), meta (as it was given)
 *   witness (0x0a)   one for each witness file: an entry of 73 bytes for each of its entries:
 *                    prev_hash[32] (zeros in the first, then 32 bytes of SHAKE-256 of the 73 bytes
 *                    before), action_hash[32] (the entry_hash of the JSON line as bytes),
 *                    u64 timestamp, u8 type 2 (a computation)
 *   metadata (0x07)  JSON: kind "assay.bundle_statistics", version, entries, witnesses (name,
 *                    entries, head, file_hash, config_hash, mask_bits, mask_kept, times, in the
 *                    order of the witness segments), statistics (as they were given)
 *   manifest (0x05)  JSON: kind "assay.manifest", version, segments (id, type, offset, bytes,
 *                    content_hash, segment_hash of each above), header_hash, public_key
 *
 * The folder of an experiment is proven by meta's member "files": path, bytes and sha256 of each
 * file. A bundle of an experiment without witnesses has no witness segments.
 *
 * A segment_hash is 32 bytes of SHAKE-256 of all bytes of a segment, from its header to its last
 * zero. header_hash is that of the manifest's own 64 header bytes with the 16 bytes of its content
 * hash taken as zeros. So every byte of the file is covered by some hash, and a changed one is
 * found. The signature is of the manifest's header and payload together, so it covers the file.
 * public_key holds the 32 bytes of the signer's key, or null: it shows that the signature fits, but
 * whose key it is only the reader can know, who therefore names a key to verify with. */
#ifndef ASSAY_EXPERIMENT_BUNDLE_H
#define ASSAY_EXPERIMENT_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_bundle_options {
    size_t size;                  /* sizeof(struct assay_bundle_options) */
    const char *output;           /* appears whole or not at all; one that is there is replaced */
    const char *const *witnesses; /* paths; each must be whole, and no two of the same name */
    size_t n_witnesses;           /* 0: only with metadata */
    const char *meta; /* a JSON object, or NULL; its config_hash, model_commit and so on are used */
    size_t meta_bytes;
    const char *stats; /* one JSON value, or NULL */
    size_t stats_bytes;
    const char *key_path;  /* an Ed25519 private key as PEM without a passphrase; NULL: unsigned */
    uint64_t timestamp_ns; /* of all segments; 0: now */
};

ASSAY_API int assay_bundle_pack(const struct assay_bundle_options *options,
                                struct assay_error *err);

/* ---- verifying ---- */

enum assay_bundle_signature {
    ASSAY_BUNDLE_SIGNATURE_NONE,
    ASSAY_BUNDLE_SIGNATURE_UNPROVEN, /* fits the key in the bundle, but no key was given to compare
                                        with */
    ASSAY_BUNDLE_SIGNATURE_PROVEN,   /* by the key that was given */
    ASSAY_BUNDLE_SIGNATURE_OTHER, /* fits the key in the bundle, which is not the one that was given
                                   */
    ASSAY_BUNDLE_SIGNATURE_BROKEN, /* does not fit */
    ASSAY_BUNDLE_SIGNATURE_COUNT
};

/* "none", "unproven" and so on; NULL for a number that is not one of them. */
ASSAY_API const char *assay_bundle_signature_name(enum assay_bundle_signature signature);

struct assay_bundle_report {
    size_t size; /* set by the library */
    bool whole;  /* every hash fits, every chain holds, and the key that was given proves it */
    enum assay_bundle_signature signature;
    uint64_t bytes, segments, witnesses;
    uint64_t entries; /* in all witness segments */
    uint64_t breaks;  /* places where a chain of them does not hold */
    uint64_t first_timestamp_ns,
        last_timestamp_ns; /* the least and greatest of them; 0 without any */
    char public_key[65];   /* of the signer, hex; "" without one */
    char sentence[240];    /* what is wrong first; "" when whole */
};

/* 0 when the answer is in `report`, whichever it is; negative when the file or the key could not be
 * read. `public_key_path` (PEM) may be NULL; with one, a bundle without a signature is not whole.
 */
ASSAY_API int assay_bundle_verify(const char *path, const char *public_key_path,
                                  struct assay_bundle_report *report, struct assay_error *err);

/* ---- looking inside ---- */

struct assay_bundle;

/* Reads the frame of every segment, which must be in order; hashes are assay_bundle_verify()'s. */
ASSAY_API int assay_bundle_open(struct assay_bundle **out, const char *path,
                                struct assay_error *err);
/* Accepts NULL. */
ASSAY_API void assay_bundle_close(struct assay_bundle *bundle);

struct assay_bundle_segment {
    size_t size;                /* set by the library */
    uint64_t id, offset, bytes; /* bytes: header, footer and zeros included */
    uint8_t type;
    uint16_t flags;
    uint64_t timestamp_ns;
    uint64_t payload_bytes;
    const uint8_t *payload; /* borrowed from the bundle */
    const char *type_name;  /* "witness"; "other" for a type that is not of ours */
    const char *name;       /* of a witness, as the statistics have it; NULL: unknown */
    uint64_t entries;       /* of a witness */
    bool is_signed;
    bool content_fits; /* the payload fits its hash */
};

/* How many there are; 0 for NULL. */
ASSAY_API size_t assay_bundle_count(const struct assay_bundle *bundle);
ASSAY_API int assay_bundle_segment_at(const struct assay_bundle *bundle, size_t i,
                                      struct assay_bundle_segment *out, struct assay_error *err);

/* Writes the payload of each segment into `folder`, which is made when missing, as
 * segment-1-metadata.json and so on, and returns how many. Files that are there already are an
 * error before anything is written, unless `force`. The bundle must be whole. */
ASSAY_API int assay_bundle_extract(const struct assay_bundle *bundle, const char *folder,
                                   bool force, struct assay_error *err);

#ifdef __cplusplus
}
#endif
#endif
