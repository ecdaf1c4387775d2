/* experiment/bundle/rvf_manifest.h - the last segment of a bundle: the hashes of all before it.
 * Described in assay/bundle.h. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_MANIFEST_H
#define AS_EXPERIMENT_BUNDLE_RVF_MANIFEST_H

#include "base/output.h"
#include "experiment/bundle/rvf_key.h"
#include "experiment/bundle/rvf_segment.h"

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

#endif
