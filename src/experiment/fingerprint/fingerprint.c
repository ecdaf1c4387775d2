/* experiment/fingerprint/fingerprint.c - facts sorted by key, their canonical text and its hash.
 * A fact is kept as the JSON it will be, so that the text is only put together. */
#include <assay/experiment/fingerprint.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/vec.h"
#include "experiment/fingerprint/canonical_json.h"

#define MAX_FACTS      10000
#define MAX_KEY_BYTES  128
#define MAX_TEXT_BYTES ((size_t)1 << 20)
#define WHY            "_why"

struct fact {
    char *key, *json;
    enum assay_fact_role role;
};

struct assay_fingerprint {
    struct fact *facts; /* by key */
    size_t n, capacity;
};

int assay_fingerprint_new(struct assay_fingerprint **out,
                          const struct assay_fingerprint_options *options, struct assay_error *err)
{
    struct assay_fingerprint_options o;
    int rc;

    if (!out)
        return as_fail(err, ASSAY_ERR_USAGE, "the pointer for the new fingerprint is NULL");
    *out = NULL;
    rc = as_sized_take(&o, sizeof o, options, "options of a fingerprint", err);
    if (rc < 0)
        return rc;
    *out = as_alloc_zero(1, sizeof **out);
    return *out ? ASSAY_OK : as_fail_nomem(err);
}

void assay_fingerprint_free(struct assay_fingerprint *fingerprint)
{
    if (!fingerprint)
        return;
    for (size_t i = 0; i < fingerprint->n; i++) {
        as_free(fingerprint->facts[i].key);
        as_free(fingerprint->facts[i].json);
    }
    as_free(fingerprint->facts);
    as_free(fingerprint);
}

void assay_fingerprint_text_free(char *text)
{
    as_free(text);
}

/* The place of `key`, or where it would stand. */
static size_t place_of(const struct assay_fingerprint *f, const char *key, bool *there)
{
    size_t low = 0, high = f->n;

    *there = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(f->facts[mid].key, key);

        if (order == 0) {
            *there = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Takes `json`, even when it fails. */
static int put(struct assay_fingerprint *f, const char *key, char *json, enum assay_fact_role role,
               struct assay_error *err)
{
    bool there;
    size_t at = place_of(f, key, &there);
    char *copy = NULL;

    if (there) {
        as_free(f->facts[at].json);
        f->facts[at].json = json;
        f->facts[at].role = role;
        return ASSAY_OK;
    }
    if (f->n == MAX_FACTS) {
        as_free(json);
        return as_fail(err, ASSAY_ERR_LIMIT, "a fingerprint has at most %d facts", MAX_FACTS);
    }
    copy = as_strdup(key);
    if (!copy || !AS_VEC_RESERVE(f->facts, f->n, f->capacity)) {
        as_free(copy);
        as_free(json);
        return as_fail_nomem(err);
    }
    memmove(f->facts + at + 1, f->facts + at, (f->n - at) * sizeof *f->facts);
    f->facts[at] = (struct fact){.key = copy, .json = json, .role = role};
    f->n++;
    return ASSAY_OK;
}

static void take_away(struct assay_fingerprint *f, const char *key)
{
    bool there;
    size_t at = place_of(f, key, &there);

    if (!there)
        return;
    as_free(f->facts[at].key);
    as_free(f->facts[at].json);
    f->n--;
    memmove(f->facts + at, f->facts + at + 1, (f->n - at) * sizeof *f->facts);
}

enum kind { KIND_TEXT, KIND_U64, KIND_F64, KIND_F32, KIND_NULL };

struct value {
    enum kind kind;
    const char *text;
    uint64_t u64;
    double f64; /* f32 too */
};

static int put_value(struct as_out *out, const struct value *value, struct assay_error *err)
{
    switch (value->kind) {
    case KIND_TEXT:
        return as_canonical_text(out, value->text, strlen(value->text), err);
    case KIND_U64:
        as_canonical_u64(out, value->u64);
        break;
    case KIND_F64:
        as_canonical_f64(out, value->f64);
        break;
    case KIND_F32:
        as_canonical_f32(out, (float)value->f64);
        break;
    case KIND_NULL:
        as_out_text(out, "null");
        break;
    }
    return ASSAY_OK;
}

static int check(const struct assay_fingerprint *f, const char *key, const struct value *value,
                 struct assay_error *err)
{
    size_t size = key ? strlen(key) : 0;

    if (!f || size == 0 || (value->kind == KIND_TEXT && !value->text))
        return as_fail(err, ASSAY_ERR_USAGE, "a fingerprint, a key and a value are needed");
    if (size > MAX_KEY_BYTES)
        return as_fail(err, ASSAY_ERR_LIMIT, "a key of a fingerprint has at most %d bytes",
                       MAX_KEY_BYTES);
    if (value->kind == KIND_TEXT && strlen(value->text) > MAX_TEXT_BYTES)
        return as_fail(err, ASSAY_ERR_LIMIT, "%.80s: a text of a fingerprint has at most %zu bytes",
                       key, MAX_TEXT_BYTES);
    if (!isfinite(value->f64))
        return as_fail(err, ASSAY_ERR_USAGE, "%.80s is not a finite number", key);
    return ASSAY_OK;
}

static int set(struct assay_fingerprint *f, const char *key, const struct value *value,
               enum assay_fact_role role, struct assay_error *err)
{
    struct as_out out;
    char *json = NULL;
    int rc = check(f, key, value, err);

    if (rc < 0)
        return rc;
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = as_canonical_text(&out, key, strlen(key), err); /* is the key fit to be one? */
    out.used = 0;
    if (rc == ASSAY_OK)
        rc = put_value(&out, value, err);
    if (rc == ASSAY_OK)
        rc = as_canonical_take(&out, &json, NULL, err);
    as_out_drop(&out);
    return rc == ASSAY_OK ? put(f, key, json, role, err) : rc;
}

/* "<key>_why" of a key that was checked. */
static void name_why(char out[MAX_KEY_BYTES + sizeof WHY], const char *key)
{
    (void)snprintf(out, MAX_KEY_BYTES + sizeof WHY, "%s" WHY, key);
}

/* A value that is known needs no reason any more. */
static int set_known(struct assay_fingerprint *f, const char *key, struct value value,
                     enum assay_fact_role role, struct assay_error *err)
{
    char why[MAX_KEY_BYTES + sizeof WHY];
    int rc = set(f, key, &value, role, err);

    if (rc < 0)
        return rc;
    name_why(why, key);
    take_away(f, why);
    return ASSAY_OK;
}

int assay_fingerprint_set_text(struct assay_fingerprint *fingerprint, const char *key,
                               const char *text, enum assay_fact_role role, struct assay_error *err)
{
    return set_known(fingerprint, key, (struct value){.kind = KIND_TEXT, .text = text}, role, err);
}

int assay_fingerprint_set_u64(struct assay_fingerprint *fingerprint, const char *key,
                              uint64_t value, enum assay_fact_role role, struct assay_error *err)
{
    return set_known(fingerprint, key, (struct value){.kind = KIND_U64, .u64 = value}, role, err);
}

int assay_fingerprint_set_f64(struct assay_fingerprint *fingerprint, const char *key, double value,
                              enum assay_fact_role role, struct assay_error *err)
{
    return set_known(fingerprint, key, (struct value){.kind = KIND_F64, .f64 = value}, role, err);
}

int assay_fingerprint_set_f32(struct assay_fingerprint *fingerprint, const char *key, float value,
                              enum assay_fact_role role, struct assay_error *err)
{
    struct value v = {.kind = KIND_F32, .f64 = (double)value};

    return set_known(fingerprint, key, v, role, err);
}

int assay_fingerprint_set_unknown(struct assay_fingerprint *fingerprint, const char *key,
                                  const char *why, enum assay_fact_role role,
                                  struct assay_error *err)
{
    const struct value none = {.kind = KIND_NULL}, reason = {.kind = KIND_TEXT, .text = why};
    char name[MAX_KEY_BYTES + sizeof WHY];
    int rc = check(fingerprint, key, &reason, err);

    if (rc == ASSAY_OK && strlen(key) + sizeof WHY - 1 > MAX_KEY_BYTES)
        rc = as_fail(err, ASSAY_ERR_LIMIT, "a key of a fingerprint has at most %d bytes",
                     MAX_KEY_BYTES);
    if (rc < 0)
        return rc;
    name_why(name, key);
    rc = set(fingerprint, name, &reason, role, err);
    return rc == ASSAY_OK ? set(fingerprint, key, &none, role, err) : rc;
}

static int put_all(struct as_out *out, const struct assay_fingerprint *f,
                   enum assay_fingerprint_part part, struct assay_error *err)
{
    bool first = true;
    int rc = ASSAY_OK;

    as_out_char(out, '{');
    for (size_t i = 0; rc == ASSAY_OK && i < f->n; i++) {
        const struct fact *fact = &f->facts[i];

        if (part == ASSAY_FINGERPRINT_DECIDING && fact->role != ASSAY_FACT_DECIDES)
            continue;
        if (!first)
            as_out_char(out, ',');
        first = false;
        rc = as_canonical_text(out, fact->key, strlen(fact->key), err);
        as_out_char(out, ':');
        as_out_text(out, fact->json);
    }
    as_out_char(out, '}');
    return rc;
}

int assay_fingerprint_json(const struct assay_fingerprint *fingerprint,
                           enum assay_fingerprint_part part, char **text, size_t *size,
                           struct assay_error *err)
{
    struct as_out out;
    int rc;

    if (!fingerprint || !text)
        return as_fail(err, ASSAY_ERR_USAGE, "a fingerprint and room for its text are needed");
    *text = NULL;
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = put_all(&out, fingerprint, part, err);
    if (rc == ASSAY_OK)
        rc = as_canonical_take(&out, text, size, err);
    as_out_drop(&out);
    return rc;
}

int assay_fingerprint_hash(const struct assay_fingerprint *fingerprint,
                           enum assay_fingerprint_part part, char hex[ASSAY_HASH_HEX],
                           struct assay_error *err)
{
    struct as_out out;
    int rc;

    if (!fingerprint || !hex)
        return as_fail(err, ASSAY_ERR_USAGE, "a fingerprint and room for its hash are needed");
    hex[0] = '\0';
    rc = as_out_memory(&out, err);
    if (rc < 0)
        return rc;
    rc = put_all(&out, fingerprint, part, err);
    if (rc == ASSAY_OK)
        rc = as_canonical_hash(&out, hex, err);
    as_out_drop(&out);
    return rc;
}
