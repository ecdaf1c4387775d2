/* base/json/json_fields_write.c - structs as JSON, as rows of a table and as JSON Schema, by a
 * table of their fields. */
#include <stdio.h>
#include <string.h>

#include "base/json/json_fields.h"
#include "base/units.h"

enum { MAX_KEY = 128 };

static uint64_t whole_at(enum as_field_kind kind, const void *at)
{
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    uint8_t u8 = 0;

    switch (kind) {
    case AS_FIELD_U64:
    case AS_FIELD_KNOWN:
    case AS_FIELD_BYTES:
        memcpy(&u64, at, sizeof u64);
        return u64;
    case AS_FIELD_U8:
        memcpy(&u8, at, sizeof u8);
        return u8;
    default:
        memcpy(&u32, at, sizeof u32);
        return u32;
    }
}

static double real_at(const void *at)
{
    double x;

    memcpy(&x, at, sizeof x);
    return x;
}

static void write_signed(struct as_json_writer *w, bool wide, const void *at)
{
    int64_t i64 = 0;
    int i = 0;

    memcpy(wide ? (void *)&i64 : (void *)&i, at, wide ? sizeof i64 : sizeof i);
    as_json_i64(w, wide ? i64 : i);
}

static void write_text(struct as_json_writer *w, const void *at)
{
    const char *text;

    memcpy(&text, at, sizeof text);
    as_json_text(w, text);
}

static void write_scalar(struct as_json_writer *w, enum as_field_kind kind, const void *at)
{
    bool flag;

    switch (kind) {
    case AS_FIELD_F64:
        as_json_f64(w, real_at(at));
        break;
    case AS_FIELD_TEXT:
    case AS_FIELD_NAME:
        write_text(w, at);
        break;
    case AS_FIELD_CHARS:
        as_json_text(w, at);
        break;
    case AS_FIELD_BOOL:
        memcpy(&flag, at, sizeof flag);
        as_json_bool(w, flag);
        break;
    case AS_FIELD_I64:
    case AS_FIELD_INT:
        write_signed(w, kind == AS_FIELD_I64, at);
        break;
    default:
        if ((kind == AS_FIELD_KNOWN || kind == AS_FIELD_BYTES) && whole_at(kind, at) == UINT64_MAX)
            as_json_null(w);
        else
            as_json_u64(w, whole_at(kind, at));
    }
}

/* The value of a fact, or NULL and nothing written; else the reason why there is none. */
static const char *write_fact(struct as_json_writer *w, enum as_field_kind kind, const void *at)
{
    struct as_fact fact;
    struct as_fact_real real;
    struct as_limit limit;

    if (kind == AS_FIELD_FACT) {
        memcpy(&fact, at, sizeof fact);
        if (!fact.why)
            as_json_u64(w, fact.value);
        return fact.why;
    }
    if (kind == AS_FIELD_REAL) {
        memcpy(&real, at, sizeof real);
        if (!real.why)
            as_json_f64(w, real.value);
        return real.why;
    }
    memcpy(&limit, at, sizeof limit);
    if (limit.why || !limit.set)
        return limit.why ? limit.why : AS_NO_LIMIT;
    as_json_f64(w, limit.value);
    return NULL;
}

static size_t count_of(const struct as_json_field *f, const void *object)
{
    const char *at = (const char *)object + f->count_offset;
    uint32_t small = 0;
    size_t n = f->max;

    if (f->count_size == sizeof n) {
        memcpy(&n, at, sizeof n);
    } else if (f->count_size) {
        memcpy(&small, at, sizeof small);
        n = small;
    }
    return n < f->max ? n : f->max;
}

static void write_items(struct as_json_writer *w, const struct as_json_field *f, const void *object)
{
    const char *at = (const char *)object + f->offset;
    size_t n = count_of(f, object);

    if (f->kind == AS_FIELD_LIST)
        memcpy(&at, (const char *)object + f->offset, sizeof at);
    as_json_array(w);
    for (size_t i = 0; at && i < n; i++) {
        if (f->item == AS_FIELD_OBJECT)
            as_json_fields_write(w, f->shape, at + i * f->size);
        else if (f->names && whole_at(f->item, at + i * f->size) < f->n_names)
            as_json_text(w, f->names[whole_at(f->item, at + i * f->size)]);
        else
            write_scalar(w, f->item, at + i * f->size);
    }
    as_json_array_end(w);
}

static void write_ref(struct as_json_writer *w, const struct as_json_field *f, const void *at)
{
    const void *object;

    memcpy(&object, at, sizeof object);
    if (object)
        as_json_fields_write(w, f->shape, object);
    else
        as_json_null(w);
}

/* Returns the reason when it is a fact without a value, of which nothing was written. */
static const char *write_value(struct as_json_writer *w, const struct as_json_field *f,
                               const void *object)
{
    const char *at = (const char *)object + f->offset;

    if (f->reason && as_json_field_cell(f, object).kind == AS_JSON_NULL)
        return f->reason;
    if (f->known && !f->known(object)) {
        as_json_null(w);
        return NULL;
    }
    if (f->write) {
        f->write(w, object);
        return NULL;
    }
    switch (f->kind) {
    case AS_FIELD_REF:
        write_ref(w, f, at);
        return NULL;
    case AS_FIELD_OBJECT:
        as_json_fields_write(w, f->shape, at);
        return NULL;
    case AS_FIELD_ARRAY:
    case AS_FIELD_LIST:
        write_items(w, f, object);
        return NULL;
    case AS_FIELD_FACT:
    case AS_FIELD_REAL:
    case AS_FIELD_LIMIT:
        return write_fact(w, f->kind, at);
    default:
        if (f->kind == AS_FIELD_ENUM && f->names && whole_at(f->kind, at) < f->max)
            as_json_text(w, f->names[whole_at(f->kind, at)]);
        else if (f->number)
            as_json_f64(w, f->number(object));
        else if (f->text)
            as_json_text(w, f->text(object));
        else if (f->truth)
            as_json_bool(w, f->truth(object));
        else
            write_scalar(w, f->kind, at);
        return NULL;
    }
}

const void *as_json_field_members(const struct as_json_field *f, const void *object)
{
    const char *at = (const char *)object + f->offset;
    const void *behind;

    if (f->kind != AS_FIELD_REF)
        return at;
    memcpy(&behind, at, sizeof behind);
    return behind;
}

/* KEY_mb beside KEY_bytes. */
static void put_mib(struct as_json_writer *w, const struct as_json_field *f, const void *object)
{
    uint64_t bytes = whole_at(f->kind, (const char *)object + f->offset);
    size_t stem = strlen(f->key) - strlen("bytes");
    char key[MAX_KEY];

    (void)snprintf(key, sizeof key, "%.*smb", (int)stem, f->key);
    as_json_kv_f64(w, key, bytes == UINT64_MAX ? AS_UNKNOWN : (double)bytes / AS_MIB);
}

void as_json_fields_put(struct as_json_writer *w, const struct as_json_shape *shape,
                        const void *object)
{
    char key[MAX_KEY];

    for (size_t i = 0; i < shape->n; i++) {
        const struct as_json_field *f = &shape->field[i];
        const char *why;

        if (!f->key) { /* fields of another struct among these */
            as_json_fields_put(w, f->shape, as_json_field_members(f, object));
            continue;
        }
        as_json_key(w, f->key);
        why = write_value(w, f, object);
        if (f->kind == AS_FIELD_BYTES)
            put_mib(w, f, object);
        if (!why)
            continue;
        as_json_null(w);
        (void)snprintf(key, sizeof key, "%s_reason", f->key);
        as_json_kv_text(w, key, why);
    }
}

void as_json_fields_write(struct as_json_writer *w, const struct as_json_shape *shape,
                          const void *object)
{
    as_json_object(w);
    as_json_fields_put(w, shape, object);
    as_json_object_end(w);
}

static bool is_key(const struct as_json_field *f, const char *key)
{
    return f->key && strcmp(f->key, key) == 0;
}

struct as_json_shape as_json_shape_part(const struct as_json_shape *shape, const char *from,
                                        const char *until)
{
    struct as_json_shape part = {.field = shape->field, .size = shape->size};
    const struct as_json_field *end = shape->field + shape->n;

    while (from && part.field < end && !is_key(part.field, from))
        part.field++;
    while (part.field + part.n < end && !(until && is_key(&part.field[part.n], until)))
        part.n++;
    return part;
}

void as_json_fields_some(struct as_json_writer *w, const struct as_json_shape *shape,
                         const char *from, const char *until, const void *object)
{
    const struct as_json_shape part = as_json_shape_part(shape, from, until);

    as_json_fields_put(w, &part, object);
}

void as_json_raw_checked(struct as_json_writer *w, const char *json)
{
    struct as_json_parser p;
    size_t size = json ? strlen(json) : 0;
    int rc = 0;

    as_json_parser_init(&p, json ? json : "", size);
    if (size)
        rc = as_json_next(&p, NULL) > 0 && as_json_skip(&p, NULL) >= 0 &&
             as_json_next(&p, NULL) == AS_JSON_END;
    as_json_parser_fini(&p);
    if (rc)
        as_json_raw(w, json, size);
    else
        as_json_null(w);
}

void as_json_fields_list(struct as_json_writer *w, const char *key,
                         const struct as_json_shape *shape, const void *rows, size_t n)
{
    as_json_kv_array(w, key);
    for (size_t i = 0; i < n; i++)
        as_json_fields_write(w, shape, (const char *)rows + i * shape->size);
    as_json_array_end(w);
}

void as_json_fields_map(struct as_json_writer *w, const char *key,
                        const struct as_json_shape *shape, const void *rows, size_t n,
                        size_t name_offset)
{
    as_json_kv_object(w, key);
    for (size_t i = 0; i < n; i++) {
        const char *row = (const char *)rows + i * shape->size, *name;

        memcpy(&name, row + name_offset, sizeof name);
        as_json_key(w, name);
        as_json_fields_write(w, shape, row);
    }
    as_json_object_end(w);
}

static bool is_derived(const struct as_json_field *f)
{
    return f->kind == AS_FIELD_OWN && !f->read;
}

void as_json_fields_row(struct as_json_writer *w, const struct as_json_shape *shape,
                        const void *object)
{
    as_json_array(w);
    for (size_t i = 0; i < shape->n; i++) {
        const char *why =
            is_derived(&shape->field[i]) ? NULL : write_value(w, &shape->field[i], object);

        if (why)
            as_json_text(w, why);
    }
    as_json_array_end(w);
}

/* ---- outside of JSON ---- */

static struct as_json_cell text_cell(const char *text)
{
    return (struct as_json_cell){.kind = text ? AS_JSON_STRING : AS_JSON_NULL, .text = text};
}

static struct as_json_cell real_cell(double x)
{
    return (struct as_json_cell){.kind = x - x == 0 ? AS_JSON_NUMBER : AS_JSON_NULL, .real = x};
}

static struct as_json_cell whole_cell(uint64_t x)
{
    return (struct as_json_cell){.kind = AS_JSON_NUMBER, .is_whole = true, .whole = x};
}

static struct as_json_cell fact_cell(enum as_field_kind kind, const void *at)
{
    struct as_fact fact;
    struct as_fact_real real;
    struct as_limit limit;

    if (kind == AS_FIELD_FACT) {
        memcpy(&fact, at, sizeof fact);
        return fact.why ? text_cell(NULL) : whole_cell(fact.value);
    }
    if (kind == AS_FIELD_REAL) {
        memcpy(&real, at, sizeof real);
        return real.why ? text_cell(NULL) : real_cell(real.value);
    }
    memcpy(&limit, at, sizeof limit);
    return limit.why || !limit.set ? text_cell(NULL) : real_cell(limit.value);
}

static struct as_json_cell truth_cell(bool flag)
{
    return (struct as_json_cell){.kind = flag ? AS_JSON_TRUE : AS_JSON_FALSE};
}

struct as_json_cell as_json_field_cell(const struct as_json_field *f, const void *object)
{
    const char *at = (const char *)object + f->offset, *text;
    int64_t i64 = 0;
    int i = 0;

    if (f->known && !f->known(object))
        return text_cell(NULL);
    switch (f->kind) {
    case AS_FIELD_F64:
        return real_cell(f->number ? f->number(object) : real_at(at));
    case AS_FIELD_TEXT:
    case AS_FIELD_NAME:
        if (f->text)
            return text_cell(f->text(object));
        memcpy(&text, at, sizeof text);
        return text_cell(text);
    case AS_FIELD_KNOWN:
    case AS_FIELD_BYTES:
        return whole_at(f->kind, at) == UINT64_MAX ? text_cell(NULL)
                                                   : whole_cell(whole_at(f->kind, at));
    case AS_FIELD_REF: /* whether there is one */
        memcpy(&text, at, sizeof text);
        return text ? truth_cell(true) : text_cell(NULL);
    case AS_FIELD_CHARS:
        return text_cell(*at ? at : NULL);
    case AS_FIELD_BOOL:
        return truth_cell(f->truth ? f->truth(object) : *at != 0);
    case AS_FIELD_I64:
    case AS_FIELD_INT:
        memcpy(f->kind == AS_FIELD_I64 ? (void *)&i64 : (void *)&i, at,
               f->kind == AS_FIELD_I64 ? sizeof i64 : sizeof i);
        return real_cell((double)(f->kind == AS_FIELD_I64 ? i64 : i));
    case AS_FIELD_FACT:
    case AS_FIELD_REAL:
    case AS_FIELD_LIMIT:
        return fact_cell(f->kind, at);
    case AS_FIELD_ARRAY:
    case AS_FIELD_LIST:
        return whole_cell(count_of(f, object));
    case AS_FIELD_ENUM:
        if (f->names && whole_at(f->kind, at) < f->max)
            return text_cell(f->names[whole_at(f->kind, at)]);
        return whole_cell(whole_at(f->kind, at));
    default:
        return whole_cell(whole_at(f->kind, at));
    }
}

/* ---- the description ---- */

static const char *const type_name[] = {
    [AS_FIELD_KNOWN] = "integer", [AS_FIELD_BYTES] = "integer", [AS_FIELD_NAME] = "string",
    [AS_FIELD_U64] = "integer",   [AS_FIELD_I64] = "integer",   [AS_FIELD_U32] = "integer",
    [AS_FIELD_U8] = "integer",    [AS_FIELD_INT] = "integer",   [AS_FIELD_F64] = "number",
    [AS_FIELD_TEXT] = "string",   [AS_FIELD_CHARS] = "string",  [AS_FIELD_BOOL] = "boolean",
    [AS_FIELD_ENUM] = "integer",  [AS_FIELD_FACT] = "integer",  [AS_FIELD_REAL] = "number",
    [AS_FIELD_LIMIT] = "number",  [AS_FIELD_OBJECT] = "object", [AS_FIELD_ARRAY] = "array",
    [AS_FIELD_LIST] = "array",    [AS_FIELD_REF] = "object",    [AS_FIELD_OWN] = "any",
};
_Static_assert(AS_COUNT_OF(type_name) == AS_FIELD_KIND_COUNT, "name every kind");

void as_json_fields_columns(struct as_json_writer *w, const struct as_json_shape *shape)
{
    as_json_kv_array(w, "columns");
    for (size_t i = 0; i < shape->n; i++) {
        if (is_derived(&shape->field[i]))
            continue;
        as_json_array(w);
        as_json_text(w, shape->field[i].key);
        as_json_text(w, shape->field[i].names ? "string" : type_name[shape->field[i].kind]);
        as_json_text(w, shape->field[i].unit);
        as_json_array_end(w);
    }
    as_json_array_end(w);
}

static bool may_be_null(enum as_field_kind kind)
{
    return kind == AS_FIELD_F64 || kind == AS_FIELD_TEXT || kind == AS_FIELD_KNOWN ||
           kind == AS_FIELD_BYTES || (kind >= AS_FIELD_FACT && kind <= AS_FIELD_LIMIT);
}

static void describe_type(struct as_json_writer *w, enum as_field_kind kind, bool null)
{
    if (kind == AS_FIELD_OWN)
        return;
    if (!null && !may_be_null(kind)) {
        as_json_kv_text(w, "type", type_name[kind]);
        return;
    }
    as_json_kv_array(w, "type");
    as_json_text(w, type_name[kind]);
    as_json_text(w, "null");
    as_json_array_end(w);
}

static void describe_names(struct as_json_writer *w, const struct as_json_field *f)
{
    as_json_kv_array(w, "enum");
    for (size_t i = 0; i < f->max; i++)
        as_json_text(w, f->names[i]);
    as_json_array_end(w);
}

/* Of a key that may be null: why. */
static void describe_reason(struct as_json_writer *w, const struct as_json_field *f)
{
    char key[MAX_KEY];

    (void)snprintf(key, sizeof key, "%s_reason", f->key);
    as_json_kv_object(w, key);
    as_json_kv_text(w, "type", "string");
    as_json_object_end(w);
}

/* The object, or null. */
static void describe_ref(struct as_json_writer *w, const struct as_json_field *f)
{
    as_json_object(w);
    as_json_kv_array(w, "anyOf");
    as_json_fields_schema(w, f->shape);
    as_json_object(w);
    as_json_kv_text(w, "type", "null");
    as_json_object_end(w);
    as_json_array_end(w);
    as_json_object_end(w);
}

static void describe(struct as_json_writer *w, const struct as_json_field *f)
{
    as_json_key(w, f->key);
    if (f->kind == AS_FIELD_OBJECT && !f->known) {
        as_json_fields_schema(w, f->shape);
        return;
    }
    if (f->kind == AS_FIELD_OBJECT || f->kind == AS_FIELD_REF) {
        describe_ref(w, f);
        if (f->reason)
            describe_reason(w, f);
        return;
    }
    as_json_object(w);
    if (f->names && f->kind == AS_FIELD_ENUM)
        describe_names(w, f);
    else
        describe_type(w, f->kind, f->known || f->reason);
    if (f->help)
        as_json_kv_text(w, "description", f->help);
    if (f->unit)
        as_json_kv_text(w, "unit", f->unit);
    if (f->kind == AS_FIELD_ARRAY || f->kind == AS_FIELD_LIST) {
        as_json_key(w, "items");
        if (f->item == AS_FIELD_OBJECT) {
            as_json_fields_schema(w, f->shape);
        } else {
            as_json_object(w);
            describe_type(w, f->names ? AS_FIELD_TEXT : f->item, false);
            as_json_object_end(w);
        }
    }
    as_json_object_end(w);
    if (f->kind == AS_FIELD_BYTES) {
        char key[MAX_KEY];

        (void)snprintf(key, sizeof key, "%.*smb", (int)(strlen(f->key) - strlen("bytes")), f->key);
        as_json_kv_object(w, key);
        describe_type(w, AS_FIELD_F64, false);
        as_json_object_end(w);
    }
    if (f->reason || (f->kind >= AS_FIELD_FACT && f->kind <= AS_FIELD_LIMIT))
        describe_reason(w, f);
}

static void describe_all(struct as_json_writer *w, const struct as_json_shape *shape)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (shape->field[i].key)
            describe(w, &shape->field[i]);
        else
            describe_all(w, shape->field[i].shape);
    }
}

static void name_all(struct as_json_writer *w, const struct as_json_shape *shape)
{
    for (size_t i = 0; i < shape->n; i++) {
        if (shape->field[i].key && !shape->field[i].optional)
            as_json_text(w, shape->field[i].key);
        else if (!shape->field[i].key)
            name_all(w, shape->field[i].shape);
    }
}

void as_json_fields_schema(struct as_json_writer *w, const struct as_json_shape *shape)
{
    as_json_object(w);
    as_json_fields_schema_put(w, shape);
    as_json_object_end(w);
}

void as_json_fields_schema_put(struct as_json_writer *w, const struct as_json_shape *shape)
{
    as_json_kv_text(w, "type", "object");
    as_json_kv_object(w, "properties");
    describe_all(w, shape);
    as_json_object_end(w);
    as_json_kv_array(w, "required");
    name_all(w, shape);
    as_json_array_end(w);
    as_json_kv_bool(w, "additionalProperties", false);
}
