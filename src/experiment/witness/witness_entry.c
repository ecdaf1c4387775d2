/* experiment/witness/witness_entry.c - one entry of a witness: its keys, its hash, its line. */
#include "experiment/witness/witness_entry.h"

#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/json/json_writer.h"
#include "base/text/float_text.h"
#include "base/text/text.h"

#define FIELD(member, what)                                                                        \
    {                                                                                              \
#member, what, offsetof(struct assay_witness_entry, member), false                         \
    }
#define UNBOUND(text, member, what)                                                                \
    {                                                                                              \
        text, what, offsetof(struct assay_witness_entry, member), true                             \
    }

const struct as_witness_field as_witness_fields[AS_N_WITNESS_FIELDS] = {
    FIELD(q_hash, AS_WITNESS_HEX),
    FIELD(k_hash, AS_WITNESS_HEX),
    UNBOUND("keep_mask", mask, AS_WITNESS_MASK),
    FIELD(cut_cost, AS_WITNESS_F32),
    FIELD(lambda, AS_WITNESS_F32),
    FIELD(tau, AS_WITNESS_U32),
    FIELD(eps, AS_WITNESS_F32),
    UNBOUND("timestamp", timestamp_ns, AS_WITNESS_U64),
    FIELD(index, AS_WITNESS_U64),
    FIELD(sample_id, AS_WITNESS_U64),
    FIELD(seq_len, AS_WITNESS_U64),
    FIELD(v_hash, AS_WITNESS_HEX),
    FIELD(output_hash, AS_WITNESS_HEX),
    FIELD(config_hash, AS_WITNESS_HEX),
    FIELD(mask_bits, AS_WITNESS_U64),
    FIELD(mask_kept, AS_WITNESS_U64),
    FIELD(mask_hash, AS_WITNESS_HEX),
    FIELD(prev_hash, AS_WITNESS_HEX),
    UNBOUND("entry_hash", entry_hash, AS_WITNESS_HEX),
};

const char as_witness_genesis[ASSAY_WITNESS_HEX] =
    "0000000000000000000000000000000000000000000000000000000000000000";

bool as_witness_is_hex(const char text[ASSAY_WITNESS_HEX])
{
    for (size_t i = 0; i + 1 < ASSAY_WITNESS_HEX; i++)
        if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    return text[ASSAY_WITNESS_HEX - 1] == '\0';
}

bool as_witness_count(const struct assay_witness_entry *entry, uint64_t *kept)
{
    size_t size = as_witness_mask_bytes(entry->mask_bits), i = 0;
    unsigned past = (unsigned)(entry->mask_bits % 8);
    uint64_t n = 0;

    for (; size - i >= 8; i += 8) {
        uint64_t word;

        memcpy(&word, entry->mask + i, 8);
        n += (uint64_t)__builtin_popcountll(word);
    }
    for (; i < size; i++)
        n += (uint64_t)__builtin_popcount(entry->mask[i]);
    *kept = n;
    return past == 0 || entry->mask[size - 1] >> past == 0;
}

int as_witness_mask_hash(const struct assay_witness_entry *entry, char hex[ASSAY_WITNESS_HEX],
                         struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES];
    size_t size = as_witness_mask_bytes(entry->mask_bits);
    int rc = as_sha256(size ? (const void *)entry->mask : "", size, digest, err);

    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    return rc;
}

/* Room for the value of any field but the mask. */
#define VALUE_CAPACITY 72
_Static_assert(VALUE_CAPACITY >= ASSAY_WITNESS_HEX && VALUE_CAPACITY >= AS_FLOAT_TEXT,
               "room for a value");

static size_t value_text(char out[VALUE_CAPACITY], const struct assay_witness_entry *entry,
                         const struct as_witness_field *field)
{
    const char *at = (const char *)entry + field->at;
    uint64_t whole;
    uint32_t word;
    float number;

    switch (field->kind) {
    case AS_WITNESS_U64:
        memcpy(&whole, at, sizeof whole);
        return as_text_u64(out, whole);
    case AS_WITNESS_U32:
        memcpy(&word, at, sizeof word);
        return as_text_u64(out, word);
    case AS_WITNESS_F32:
        memcpy(&number, at, sizeof number);
        return as_float_text32(out, number);
    case AS_WITNESS_HEX:
        memcpy(out, at, ASSAY_WITNESS_HEX);
        return ASSAY_WITNESS_HEX - 1;
    case AS_WITNESS_MASK:
        break;
    }
    out[0] = '\0';
    return 0;
}

int as_witness_entry_hash(const struct assay_witness_entry *entry, char hex[ASSAY_WITNESS_HEX],
                          struct assay_error *err)
{
    static const char first[] = "assay.witness 1\n";
    unsigned char digest[AS_SHA256_BYTES];
    struct as_sha256_stream stream;
    int rc;

    as_sha256_begin(&stream);
    as_sha256_add(&stream, first, sizeof first - 1);
    for (size_t i = 0; i < AS_N_WITNESS_FIELDS; i++) {
        const struct as_witness_field *field = &as_witness_fields[i];
        char value[VALUE_CAPACITY];
        size_t size = value_text(value, entry, field);

        if (field->unbound)
            continue;
        as_sha256_add(&stream, field->name, strlen(field->name));
        as_sha256_add(&stream, "=", 1);
        as_sha256_add(&stream, value, size);
        as_sha256_add(&stream, "\n", 1);
    }
    rc = as_sha256_end(&stream, digest, err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    return rc;
}

/* Whether every field is in order; those that assay_witness_hash() fills only when `complete`. */
static int check_fields(const struct assay_witness_entry *entry, bool complete,
                        struct assay_error *err)
{
    for (size_t i = 0; i < AS_N_WITNESS_FIELDS; i++) {
        const struct as_witness_field *field = &as_witness_fields[i];
        const char *at = (const char *)entry + field->at;
        float number;

        if (!complete && (at == entry->mask_hash || at == entry->entry_hash))
            continue;
        if (field->kind == AS_WITNESS_HEX && !as_witness_is_hex(at))
            return as_fail(err, ASSAY_ERR_USAGE,
                           "the %s of a witness entry must be 64 lower-case hex digits",
                           field->name);
        if (field->kind != AS_WITNESS_F32)
            continue;
        memcpy(&number, at, sizeof number);
        if (!isfinite(number))
            return as_fail(err, ASSAY_ERR_USAGE, "the %s of a witness entry must be finite",
                           field->name);
    }
    if (entry->mask_bits > ASSAY_WITNESS_MAX_BITS)
        return as_fail(err, ASSAY_ERR_LIMIT, "a witness mask of %llu bits; at most %llu may be",
                       (unsigned long long)entry->mask_bits,
                       (unsigned long long)ASSAY_WITNESS_MAX_BITS);
    return ASSAY_OK;
}

int assay_witness_hash(struct assay_witness_entry *entry, struct assay_error *err)
{
    int rc;

    if (!entry)
        return as_fail(err, ASSAY_ERR_USAGE, "no witness entry was given");
    if (entry->prev_hash[0] == '\0')
        memcpy(entry->prev_hash, as_witness_genesis, sizeof entry->prev_hash);
    rc = check_fields(entry, false, err);
    if (rc < 0)
        return rc;
    if (entry->mask_bits > 0 && !entry->mask)
        return as_fail(err, ASSAY_ERR_USAGE, "a witness entry counts %llu mask bits but has none",
                       (unsigned long long)entry->mask_bits);
    if (!as_witness_count(entry, &entry->mask_kept))
        return as_fail(err, ASSAY_ERR_USAGE,
                       "the last byte of a witness mask has bits set past its %llu bits",
                       (unsigned long long)entry->mask_bits);
    rc = as_witness_mask_hash(entry, entry->mask_hash, err);
    return rc < 0 ? rc : as_witness_entry_hash(entry, entry->entry_hash, err);
}

/* The array of booleans goes past the JSON writer: it may be a million of them. */
static void put_booleans(struct as_out *out, const struct assay_witness_entry *entry)
{
    as_out_char(out, '[');
    for (uint64_t i = 0; entry->mask && i < entry->mask_bits && as_out_ok(out); i++) {
        if (i > 0)
            as_out_char(out, ',');
        as_out_text(out, entry->mask[i / 8] >> (i % 8) & 1 ? "true" : "false");
    }
    as_out_char(out, ']');
}

static void put_mask(struct as_json_writer *w, const struct assay_witness_entry *entry,
                     enum assay_witness_mask how)
{
    as_json_raw(w, "", 0); /* the value itself follows, straight into the output */
    if (how == ASSAY_WITNESS_MASK_HASH) {
        as_out_text(w->out, "null");
    } else if (how == ASSAY_WITNESS_MASK_FULL) {
        put_booleans(w->out, entry);
    } else {
        as_out_char(w->out, '"');
        as_base64_put(w->out, entry->mask, as_witness_mask_bytes(entry->mask_bits));
        as_out_char(w->out, '"');
    }
}

/* Bytes of the mask in that form at most, and some for the rest of the line. */
static bool fits_line(const struct assay_witness_entry *entry, enum assay_witness_mask how)
{
    static const unsigned bits_each[] = {[ASSAY_WITNESS_MASK_PACKED] = 2,
                                         [ASSAY_WITNESS_MASK_HASH] = 0,
                                         [ASSAY_WITNESS_MASK_FULL] = 48};

    return entry->mask_bits * bits_each[how] / 8 < ASSAY_WITNESS_MAX_LINE - 4096;
}

int as_witness_put(const struct assay_witness_entry *entry, enum assay_witness_mask how,
                   struct as_out *out, struct assay_error *err)
{
    struct as_json_writer w;
    int rc;

    if (!fits_line(entry, how))
        return as_fail(err, ASSAY_ERR_LIMIT, "%llu mask bits in this form make too long a line",
                       (unsigned long long)entry->mask_bits);
    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    for (size_t i = 0; i < AS_N_WITNESS_FIELDS; i++) {
        const struct as_witness_field *field = &as_witness_fields[i];
        char value[VALUE_CAPACITY];
        size_t size = value_text(value, entry, field);

        as_json_key(&w, field->name);
        if (field->kind == AS_WITNESS_MASK)
            put_mask(&w, entry, how);
        else if (field->kind == AS_WITNESS_HEX)
            as_json_text_n(&w, value, size);
        else
            as_json_raw(&w, value, size);
    }
    as_json_object_end(&w);
    as_out_char(out, '\n');
    rc = as_json_writer_finish(&w, err);
    return rc == ASSAY_OK && !as_out_ok(out) ? as_fail_nomem(err) : rc;
}

int as_witness_put_seal(const struct as_witness_seal *seal, struct as_out *out,
                        struct assay_error *err)
{
    struct as_json_writer w;
    int rc;

    as_json_writer_init(&w, out, 0);
    as_json_object(&w);
    as_json_kv_u64(&w, "seal", 1);
    AS_JSON_FIELDS(&w, seal, entries, head, file_hash);
    as_json_object_end(&w);
    as_out_char(out, '\n');
    rc = as_json_writer_finish(&w, err);
    return rc == ASSAY_OK && !as_out_ok(out) ? as_fail_nomem(err) : rc;
}

int assay_witness_log(const struct assay_witness_entry *entry, enum assay_witness_mask how,
                      char *out, size_t capacity, size_t *size, struct assay_error *err)
{
    struct as_out line;
    const char *text;
    size_t n = 0;
    int rc;

    if (!entry || (unsigned)how >= ASSAY_WITNESS_MASK_COUNT || (!out && capacity > 0))
        return as_fail(err, ASSAY_ERR_USAGE, "a witness line needs an entry, a form and room");
    rc = check_fields(entry, true, err);
    if (rc == ASSAY_OK && how != ASSAY_WITNESS_MASK_HASH && entry->mask_bits && !entry->mask)
        rc = as_fail(err, ASSAY_ERR_USAGE, "this form of a witness line needs the mask itself");
    if (rc == ASSAY_OK)
        rc = as_out_memory(&line, err);
    if (rc < 0)
        return rc;
    rc = as_witness_put(entry, how, &line, err);
    if (rc == ASSAY_OK) {
        text = as_out_get(&line, &n);
        if (size)
            *size = n;
        if (!as_out_ok(&line))
            rc = as_fail_nomem(err);
        else if (n >= capacity)
            rc = as_fail(err, ASSAY_ERR_LIMIT, "the witness line takes %zu bytes, room is for %zu",
                         n + 1, capacity);
        else
            memcpy(out, text, n + 1);
    }
    as_out_drop(&line);
    return rc;
}

int assay_witness_hash_tensor(const float *data, size_t n, char hex[ASSAY_WITNESS_HEX],
                              struct assay_error *err)
{
    unsigned char digest[AS_SHA256_BYTES], bytes[4096];
    struct as_sha256_stream stream;
    int rc;

    if ((!data && n > 0) || !hex)
        return as_fail(err, ASSAY_ERR_USAGE, "no tensor to hash was given");
    as_sha256_begin(&stream);
    for (size_t i = 0; i < n;) {
        size_t used = 0;

        for (; i < n && used < sizeof bytes; i++, used += 4) {
            uint32_t bits;

            memcpy(&bits, &data[i], sizeof bits);
            for (unsigned k = 0; k < 4; k++)
                bytes[used + k] = (unsigned char)(bits >> (8 * k));
        }
        as_sha256_add(&stream, bytes, used);
    }
    rc = as_sha256_end(&stream, digest, err);
    if (rc == ASSAY_OK)
        as_sha256_hex(digest, hex);
    return rc;
}
