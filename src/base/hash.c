/* base/hash.c - SHA-256 and SHAKE-256 through libcrypto, at once or piece by piece. */
#include "base/hash.h"

#include <openssl/evp.h>

int as_sha256(const void *data, size_t size, unsigned char out[AS_SHA256_BYTES],
              struct assay_error *err)
{
    if (EVP_Digest(data, size, out, NULL, EVP_sha256(), NULL) != 1)
        return as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not compute a SHA-256");
    return ASSAY_OK;
}

int as_shake256(const void *data, size_t size, unsigned char *out, size_t out_bytes,
                struct assay_error *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool done = ctx && EVP_DigestInit_ex(ctx, EVP_shake256(), NULL) == 1 &&
                EVP_DigestUpdate(ctx, data, size) == 1 &&
                EVP_DigestFinalXOF(ctx, out, out_bytes) == 1;

    EVP_MD_CTX_free(ctx);
    return done ? ASSAY_OK
                : as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not compute a SHAKE-256");
}

void as_sha256_begin(struct as_sha256_stream *stream)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    stream->ctx = ctx;
    if (ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        stream->ctx = NULL;
    }
}

void as_sha256_add(struct as_sha256_stream *stream, const void *data, size_t size)
{
    if (stream->ctx && EVP_DigestUpdate(stream->ctx, data, size) != 1) {
        EVP_MD_CTX_free(stream->ctx);
        stream->ctx = NULL;
    }
}

int as_sha256_end(struct as_sha256_stream *stream, unsigned char out[AS_SHA256_BYTES],
                  struct assay_error *err)
{
    bool done = stream->ctx && EVP_DigestFinal_ex(stream->ctx, out, NULL) == 1;

    EVP_MD_CTX_free(stream->ctx);
    stream->ctx = NULL;
    return done ? ASSAY_OK : as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not compute a SHA-256");
}

void as_hex(const unsigned char *bytes, size_t size, char *out)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digit[bytes[i] >> 4];
        out[2 * i + 1] = digit[bytes[i] & 15];
    }
    out[2 * size] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool as_unhex(const char *text, size_t text_size, unsigned char *out, size_t size)
{
    if (text_size / 2 != size || text_size % 2 != 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void as_sha256_hex(const unsigned char digest[AS_SHA256_BYTES], char out[AS_SHA256_HEX])
{
    as_hex(digest, AS_SHA256_BYTES, out);
}
