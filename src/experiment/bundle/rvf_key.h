/* experiment/bundle/rvf_key.h - Ed25519 keys from PEM files, through libcrypto.
 * Nobody is ever asked for a passphrase: a key that has one is refused. */
#ifndef AS_EXPERIMENT_BUNDLE_RVF_KEY_H
#define AS_EXPERIMENT_BUNDLE_RVF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "experiment/bundle/rvf_segment.h"

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

#endif
