/* base/base64.c - bytes as text of RFC 4648, with padding and without line ends, by libcrypto. */
#include "base/base64.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK_BYTES = 768, CHUNK_TEXT = CHUNK_BYTES / 3 * 4 };

void as_base64_put(struct as_out *out, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint8_t text[CHUNK_TEXT + 1];

    for (size_t i = 0; i < size; i += CHUNK_BYTES) {
        size_t n = size - i < CHUNK_BYTES ? size - i : CHUNK_BYTES;

        as_out_put(out, text, (size_t)EVP_EncodeBlock(text, bytes + i, (int)n));
    }
}

bool as_base64_bytes(const char *text, size_t size, size_t *bytes)
{
    size_t pads = 0;

    if (size % 4 != 0)
        return false;
    while (pads < 2 && pads < size && text[size - 1 - pads] == '=')
        pads++;
    *bytes = size / 4 * 3 - pads;
    return true;
}

bool as_base64_read(const char *text, size_t size, void *out)
{
    uint8_t decoded[CHUNK_BYTES], again[CHUNK_TEXT + 1], *to = out;
    size_t left;

    if (!as_base64_bytes(text, size, &left))
        return false;
    for (size_t i = 0; i < size; i += CHUNK_TEXT) {
        size_t n_text = size - i < CHUNK_TEXT ? size - i : CHUNK_TEXT;
        size_t n = left < CHUNK_BYTES ? left : CHUNK_BYTES;

        /* The library is lenient about spaces and spare bits: encoding the bytes again is not. */
        if (EVP_DecodeBlock(decoded, (const uint8_t *)text + i, (int)n_text) < (int)n ||
            (size_t)EVP_EncodeBlock(again, decoded, (int)n) != n_text ||
            memcmp(again, text + i, n_text) != 0)
            return false;
        memcpy(to, decoded, n);
        to += n;
        left -= n;
    }
    return true;
}
