/* experiment/bundle/rvf_key.c - Ed25519 keys from PEM files, through libcrypto.
 * Nobody is ever asked for a passphrase: a key that has one is refused. */
#include "experiment/bundle/rvf.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define MAX_PEM_BYTES 65536

static int no_passphrase(char *buf, int size, int rwflag, void *user)
{
    (void)rwflag;
    (void)user;
    if (size > 0)
        buf[0] = '\0';
    return -1;
}

/* The key in the text, or NULL. */
static EVP_PKEY *parse(const void *text, size_t size, bool is_private)
{
    BIO *bio = BIO_new_mem_buf(text, (int)size);
    EVP_PKEY *key = NULL;

    if (bio && is_private)
        key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    else if (bio)
        key = PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    return key;
}

int as_rvf_key_open(struct as_rvf_key *key, const char *path, bool is_private,
                    struct assay_error *err)
{
    size_t n = sizeof key->public_key;
    struct as_mapped_file file;
    int rc = as_rvf_map(&file, path, err);

    *key = (struct as_rvf_key){0};
    if (rc < 0)
        return rc;
    ERR_set_mark(); /* the program we are in may have errors of its own to tell */
    if (file.size > 0 && file.size <= MAX_PEM_BYTES)
        key->key = parse(file.bytes, (size_t)file.size, is_private);
    if (!key->key)
        rc =
            as_fail(err, ASSAY_ERR_FORMAT, "%s is not a %s key in PEM form, or it has a passphrase",
                    path, is_private ? "private" : "public");
    else if (EVP_PKEY_get_id(key->key) != EVP_PKEY_ED25519 ||
             EVP_PKEY_get_raw_public_key(key->key, key->public_key, &n) != 1 ||
             n != sizeof key->public_key)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "%s is not an Ed25519 key", path);
    ERR_pop_to_mark();
    as_mapped_file_close(&file);
    if (rc < 0)
        as_rvf_key_close(key);
    return rc;
}

void as_rvf_key_close(struct as_rvf_key *key)
{
    EVP_PKEY_free(key->key);
    key->key = NULL;
}

int as_rvf_key_sign(const struct as_rvf_key *key, const void *data, size_t size,
                    uint8_t out[AS_RVF_SIGNATURE_BYTES], struct assay_error *err)
{
    size_t n = AS_RVF_SIGNATURE_BYTES;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool done = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->key) == 1 &&
                EVP_DigestSign(ctx, out, &n, data, size) == 1 && n == AS_RVF_SIGNATURE_BYTES;

    EVP_MD_CTX_free(ctx);
    return done ? ASSAY_OK : as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not sign");
}

int as_rvf_signature_fits(const uint8_t public_key[AS_RVF_KEY_BYTES], const void *data, size_t size,
                          const uint8_t *signature, bool *fits, struct assay_error *err)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY *key;
    int rc = ASSAY_OK;

    ERR_set_mark();
    key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, AS_RVF_KEY_BYTES);
    *fits = false;
    if (!ctx || !key || EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) != 1)
        rc = as_fail(err, ASSAY_ERR_NOMEM, "libcrypto could not check a signature");
    else
        *fits = EVP_DigestVerify(ctx, signature, AS_RVF_SIGNATURE_BYTES, data, size) == 1;
    ERR_pop_to_mark();
    EVP_PKEY_free(key);
    EVP_MD_CTX_free(ctx);
    return rc;
}
