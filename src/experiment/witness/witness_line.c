/* experiment/witness/witness_line.c - reads one line of a witness: an entry or the seal.
 * Checks the line alone, not its place in the chain. */
#include "experiment/witness/witness_entry.h"

#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/json/json_parser.h"
#include "base/text/float_text.h"

/* The next token must be the key `name`. */
static int take_key(struct as_json_parser *p, const char *name, struct assay_error *err)
{
    int rc = as_json_expect(p, AS_JSON_KEY, name, err);

    if (rc < 0)
        return rc;
    if (!as_json_text_is(p, name))
        return as_fail_at(err, p->token_at, "another key is in the place of %s", name);
    return ASSAY_OK;
}

static int take_hex(struct as_json_parser *p, const char *name, char *out, struct assay_error *err)
{
    int rc = as_json_expect(p, AS_JSON_STRING, name, err);

    if (rc < 0)
        return rc;
    if (p->text_size == ASSAY_WITNESS_HEX - 1) {
        memcpy(out, p->text, p->text_size);
        out[p->text_size] = '\0';
        if (as_witness_is_hex(out))
            return ASSAY_OK;
    }
    return as_fail_at(err, p->token_at, "%s is not 64 lower-case hex digits", name);
}

static int take_u64(struct as_json_parser *p, const char *name, uint64_t max, uint64_t *out,
                    struct assay_error *err)
{
    int rc = as_json_expect(p, AS_JSON_NUMBER, name, err);

    if (rc == ASSAY_OK)
        rc = as_json_get_u64(p, out, err);
    if (rc == ASSAY_OK && *out > max)
        rc = as_fail_at(err, p->token_at, "%s is greater than %llu", name, (unsigned long long)max);
    return rc;
}

/* True when `text` is how `value` is written. */
static bool reads_as(const struct as_json_parser *p, float value)
{
    char again[AS_FLOAT_TEXT];
    size_t size = as_float_text32(again, value);

    return size == p->text_size && memcmp(again, p->text, size) == 0;
}

/* A double on its way to a float is rounded twice, which may miss by one step. */
static int take_f32(struct as_json_parser *p, const char *name, float *out, struct assay_error *err)
{
    double wide;
    int rc = as_json_expect(p, AS_JSON_NUMBER, name, err);

    if (rc >= 0)
        rc = as_json_get_f64(p, &wide, err);
    if (rc < 0)
        return rc;
    *out = fabs(wide) <= 3.4028235677973366e38 ? (float)wide : INFINITY;
    if (isfinite(*out) && !reads_as(p, *out)) {
        float below = nextafterf(*out, -INFINITY), above = nextafterf(*out, INFINITY);

        *out = reads_as(p, below) ? below : above;
    }
    if (!isfinite(*out) || !reads_as(p, *out))
        return as_fail_at(err, p->token_at, "%s is not a float in its shortest form", name);
    return ASSAY_OK;
}

static int take_packed(struct as_witness_line *line, const struct as_json_parser *p,
                       struct assay_error *err)
{
    size_t bytes = 0;
    uint8_t *to;

    line->how = ASSAY_WITNESS_MASK_PACKED;
    if (!as_base64_bytes(p->text, p->text_size, &bytes))
        return as_fail_at(err, p->token_at, "keep_mask is not base64");
    to = as_buffer_reserve(&line->mask, bytes + 1);
    if (!to)
        return as_fail_nomem(err);
    if (!as_base64_read(p->text, p->text_size, to))
        return as_fail_at(err, p->token_at, "keep_mask is not base64");
    line->mask.size = bytes;
    return ASSAY_OK;
}

static int take_booleans(struct as_witness_line *line, struct as_json_parser *p,
                         struct assay_error *err)
{
    int kind;

    line->how = ASSAY_WITNESS_MASK_FULL;
    line->n_bits = 0;
    while ((kind = as_json_next(p, err)) == AS_JSON_TRUE || kind == AS_JSON_FALSE) {
        uint8_t bit = (uint8_t)((kind == AS_JSON_TRUE) << (line->n_bits % 8));

        if (line->n_bits % 8 != 0)
            line->mask.data[line->mask.size - 1] |= bit;
        else if (!as_buffer_add(&line->mask, &bit, 1))
            return as_fail_nomem(err);
        line->n_bits++;
    }
    if (kind >= 0 && kind != AS_JSON_ARRAY_END)
        return as_fail_at(err, p->token_at, "keep_mask has something other than true and false");
    return kind < 0 ? kind : ASSAY_OK;
}

static int take_mask(struct as_witness_line *line, struct as_json_parser *p,
                     struct assay_error *err)
{
    int kind = as_json_next(p, err);

    line->mask.size = 0;
    if (kind < 0)
        return kind;
    if (kind == AS_JSON_STRING)
        return take_packed(line, p, err);
    if (kind == AS_JSON_ARRAY)
        return take_booleans(line, p, err);
    line->how = ASSAY_WITNESS_MASK_HASH;
    if (kind != AS_JSON_NULL)
        return as_fail_at(err, p->token_at, "keep_mask is neither text, null nor an array");
    return ASSAY_OK;
}

static int take_field(struct as_witness_line *line, struct as_json_parser *p,
                      const struct as_witness_field *field, struct assay_error *err)
{
    char *at = (char *)&line->entry + field->at;
    uint64_t whole = 0;
    float number = 0;
    int rc = ASSAY_OK;

    switch (field->kind) {
    case AS_WITNESS_HEX:
        return take_hex(p, field->name, at, err);
    case AS_WITNESS_MASK:
        return take_mask(line, p, err);
    case AS_WITNESS_F32:
        rc = take_f32(p, field->name, &number, err);
        memcpy(at, &number, sizeof number);
        return rc;
    case AS_WITNESS_U32:
        rc = take_u64(p, field->name, UINT32_MAX, &whole, err);
        memcpy(at, &(uint32_t){(uint32_t)whole}, sizeof(uint32_t));
        return rc;
    case AS_WITNESS_U64:
        rc = take_u64(p, field->name, UINT64_MAX, &whole, err);
        memcpy(at, &whole, sizeof whole);
        return rc;
    }
    return rc;
}

/* The counts against each other and against the bytes that are there. */
static int check_mask(struct as_witness_line *line, struct assay_error *err)
{
    struct assay_witness_entry *e = &line->entry;
    bool there = line->how != ASSAY_WITNESS_MASK_HASH;

    if (e->mask_bits > ASSAY_WITNESS_MAX_BITS)
        return as_fail(err, ASSAY_ERR_FORMAT, "mask_bits is greater than %llu",
                       (unsigned long long)ASSAY_WITNESS_MAX_BITS);
    if (e->mask_kept > e->mask_bits)
        return as_fail(err, ASSAY_ERR_FORMAT, "mask_kept is greater than mask_bits");
    if ((there && line->mask.size != as_witness_mask_bytes(e->mask_bits)) ||
        (line->how == ASSAY_WITNESS_MASK_FULL && line->n_bits != e->mask_bits))
        return as_fail(err, ASSAY_ERR_FORMAT, "keep_mask does not have the bits mask_bits counts");
    e->mask = there ? line->mask.data : NULL;
    return ASSAY_OK;
}

static int read_seal(struct as_witness_line *line, struct as_json_parser *p,
                     struct assay_error *err)
{
    struct as_witness_seal *seal = &line->seal;
    uint64_t version = 0;
    int rc = take_u64(p, "seal", 1, &version, err);

    if (rc == ASSAY_OK && version != 1)
        rc = as_fail(err, ASSAY_ERR_FORMAT, "a seal of version %llu is unknown",
                     (unsigned long long)version);
    if (rc == ASSAY_OK)
        rc = take_key(p, "entries", err);
    if (rc == ASSAY_OK)
        rc = take_u64(p, "entries", UINT64_MAX, &seal->entries, err);
    if (rc == ASSAY_OK)
        rc = take_key(p, "head", err);
    if (rc == ASSAY_OK)
        rc = take_hex(p, "head", seal->head, err);
    if (rc == ASSAY_OK)
        rc = take_key(p, "file_hash", err);
    if (rc == ASSAY_OK)
        rc = take_hex(p, "file_hash", seal->file_hash, err);
    return rc;
}

/* The key that was just read is the first. */
static int read_entry(struct as_witness_line *line, struct as_json_parser *p,
                      struct assay_error *err)
{
    int rc = ASSAY_OK;

    if (!as_json_text_is(p, as_witness_fields[0].name))
        return as_fail_at(err, p->token_at, "another key is in the place of %s",
                          as_witness_fields[0].name);
    for (size_t i = 0; rc == ASSAY_OK && i < AS_N_WITNESS_FIELDS; i++) {
        if (i > 0)
            rc = take_key(p, as_witness_fields[i].name, err);
        if (rc == ASSAY_OK)
            rc = take_field(line, p, &as_witness_fields[i], err);
    }
    return rc;
}

int as_witness_line_read(struct as_witness_line *line, const char *text, size_t size,
                         struct assay_error *err)
{
    struct as_json_parser p;
    int rc;

    as_json_parser_init(&p, text, size);
    p.max_depth = 2;
    rc = as_json_expect(&p, AS_JSON_OBJECT, "the line", err);
    if (rc >= 0)
        rc = as_json_expect(&p, AS_JSON_KEY, "its first member", err);
    if (rc >= 0) {
        line->is_seal = as_json_text_is(&p, "seal");
        rc = line->is_seal ? read_seal(line, &p, err) : read_entry(line, &p, err);
    }
    if (rc >= 0)
        rc = as_json_expect(&p, AS_JSON_OBJECT_END, "the end of the line", err);
    if (rc >= 0)
        rc = as_json_next(&p, err); /* nothing may follow: 0, or an error */
    if (rc >= 0 && !line->is_seal)
        rc = check_mask(line, err);
    as_json_parser_fini(&p);
    return rc < 0 ? rc : ASSAY_OK;
}

void as_witness_line_fini(struct as_witness_line *line)
{
    as_buffer_fini(&line->mask);
}
