/* base/hash.h - SHA-256 and SHAKE-256 through libcrypto, at once or piece by piece.
 * Kept out of the recorder's library, which needs libc alone. */
#ifndef AS_BASE_HASH_H
#define AS_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define AS_SHA256_BYTES 32
#define AS_SHA256_HEX   65 /* with the closing NUL */

/* The digest of `size` bytes. */
AS_MUST_USE int as_sha256(const void *data, size_t size, unsigned char out[AS_SHA256_BYTES],
                          struct assay_error *err);

/* SHAKE-256 with as many bytes as `out` has. */
AS_MUST_USE int as_shake256(const void *data, size_t size, unsigned char *out, size_t out_bytes,
                            struct assay_error *err);

/* SHA-256 of what comes in pieces: init, add..., end. A failure is kept until end tells it. */
struct as_sha256_stream {
    void *ctx; /* libcrypto's; NULL: none, or it failed */
};
void as_sha256_begin(struct as_sha256_stream *stream);
void as_sha256_add(struct as_sha256_stream *stream, const void *data, size_t size);
/* Empties the stream, whatever happens. */
AS_MUST_USE int as_sha256_end(struct as_sha256_stream *stream, unsigned char out[AS_SHA256_BYTES],
                              struct assay_error *err);

/* `size` bytes as lower-case hex with a closing NUL; `out` has 2 * size + 1. */
void as_hex(const unsigned char *bytes, size_t size, char *out);
/* Exactly `size` bytes from 2 * size digits, of either case; false for anything else. */
bool as_unhex(const char *text, size_t text_size, unsigned char *out, size_t size);

/* Lower-case hex of a digest. */
void as_sha256_hex(const unsigned char digest[AS_SHA256_BYTES], char out[AS_SHA256_HEX]);

#endif
