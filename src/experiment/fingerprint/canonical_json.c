/* experiment/fingerprint/canonical_json.c - JSON as hashes need it: compact, and each value in one
 * form only. */
#include "experiment/fingerprint/canonical_json.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text/float_text.h"
#include "base/text/text.h"
#include "base/text/utf8.h"

static const char *const short_escape[0x20] = {
    ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r",
};

static void put_byte(struct as_out *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char escape[] = "\\u0000";

    if (c == '"' || c == '\\') {
        as_out_char(out, '\\');
        as_out_char(out, (char)c);
    } else if (c >= 0x20) {
        as_out_char(out, (char)c);
    } else if (short_escape[c]) {
        as_out_text(out, short_escape[c]);
    } else {
        escape[4] = hex[c >> 4];
        escape[5] = hex[c & 15];
        as_out_text(out, escape);
    }
}

int as_canonical_text(struct as_out *out, const char *text, size_t size, struct assay_error *err)
{
    as_out_char(out, '"');
    for (size_t i = 0; i < size;) {
        uint32_t code;
        size_t n = as_utf8_decode(text + i, size - i, &code);

        if (n == 0)
            return as_fail_at(err, i, "text that is to be hashed is not UTF-8");
        if (n == 1)
            put_byte(out, (unsigned char)text[i]);
        else
            as_out_put(out, text + i, n);
        i += n;
    }
    as_out_char(out, '"');
    return ASSAY_OK;
}

void as_canonical_u64(struct as_out *out, uint64_t value)
{
    char digits[AS_TEXT_INT];
    size_t n = as_text_u64(digits, value);

    as_out_put(out, digits, n);
}

void as_canonical_f64(struct as_out *out, double value)
{
    char text[AS_FLOAT_TEXT];
    size_t n = as_float_text64(text, value);

    as_out_put(out, text, n);
}

void as_canonical_f32(struct as_out *out, float value)
{
    char text[AS_FLOAT_TEXT];
    size_t n = as_float_text32(text, value);

    as_out_put(out, text, n);
}

int as_canonical_take(struct as_out *out, char **text, size_t *size, struct assay_error *err)
{
    size_t n;
    const char *from = as_out_get(out, &n);
    char *copy;

    copy = as_out_ok(out) ? as_alloc(n + 1) : NULL;
    if (!copy)
        return as_fail_nomem(err);
    memcpy(copy, from, n + 1);
    *text = copy;
    if (size)
        *size = n;
    return ASSAY_OK;
}

int as_canonical_hash(struct as_out *out, char hex[65], struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    size_t n;
    const char *from = as_out_get(out, &n);
    int rc;

    if (!as_out_ok(out))
        return as_fail_nomem(err);
    rc = as_sha256(from, n, digest, err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    return rc;
}
