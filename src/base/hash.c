/* base/hash.c - SHA-256 through libcrypto.
 * Kept out of the recorder's library, which needs libc alone. */
#include "base/hash.h"

#include <openssl/evp.h>

int as_sha256(const void *data, size_t size, unsigned char out[AS_SHA256_BYTES],
              struct assay_error *err)
{
    if (EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL) != 1)
        return as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not compute a SHA-256");
    return ASSAY_OK;
}

void as_sha256_hex(const unsigned char digest[AS_SHA256_BYTES], char out[AS_SHA256_HEX])
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < AS_SHA256_BYTES; i++) {
        out[2 * i] = digit[digest[i] >> 4];
        out[2 * i + 1] = digit[digest[i] & 15];
    }
    out[AS_SHA256_HEX - 1] = '\0';
}
