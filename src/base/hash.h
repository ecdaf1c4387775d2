/* base/hash.h - SHA-256 through libcrypto.
 * Kept out of the recorder's library, which needs libc alone. */
#ifndef AS_BASE_HASH_H
#define AS_BASE_HASH_H

#include <stddef.h>

#include "base/error.h"

#define AS_SHA256_BYTES 32
#define AS_SHA256_HEX   65 /* with the closing NUL */

/* The digest of `size` bytes. */
AS_MUST_USE int as_sha256(const void *data, size_t size, unsigned char out[AS_SHA256_BYTES],
                          struct assay_error *err);

/* Lower-case hex of a digest. */
void as_sha256_hex(const unsigned char digest[AS_SHA256_BYTES], char out[AS_SHA256_HEX]);

#endif
