/* base/json/json_fields.c - objects of a data block into structs, by a table of keys. */
#include "base/json/json_fields.h"

#include <limits.h>
#include <string.h>

#include "base/fact.h"
#include "base/units.h"

#define NOT_TOLD "the run does not tell"

void as_json_fields_clear(const struct as_json_shape *shape, void *object)
{
    const double unknown = AS_UNKNOWN;
    const struct as_fact none = as_fact_none(NOT_TOLD);

    memset(object, 0, shape->size);
    for (size_t i = 0; i < shape->n; i++) {
        char *to = (char *)object + shape->field[i].offset;

        if (shape->field[i].kind == AS_FIELD_F64)
            memcpy(to, &unknown, sizeof unknown);
        else if (shape->field[i].kind == AS_FIELD_FACT)
            memcpy(to, &none, sizeof none);
    }
}

/* Whole numbers of all widths; false when the token is none that fits. */
static bool take_whole(const struct as_json_parser *p, enum as_field_kind kind, void *to)
{
    uint64_t u;
    int64_t i;

    if (kind == AS_FIELD_U64 || kind == AS_FIELD_U32) {
        uint32_t small;

        if (as_json_get_u64(p, &u, NULL) < 0 || (kind == AS_FIELD_U32 && u > UINT32_MAX))
            return false;
        small = (uint32_t)u;
        memcpy(to, kind == AS_FIELD_U64 ? (void *)&u : (void *)&small,
               kind == AS_FIELD_U64 ? sizeof u : sizeof small);
    } else {
        int small;

        if (as_json_get_i64(p, &i, NULL) < 0 ||
            (kind == AS_FIELD_INT && (i < INT_MIN || i > INT_MAX)))
            return false;
        small = (int)i;
        memcpy(to, kind == AS_FIELD_I64 ? (void *)&i : (void *)&small,
               kind == AS_FIELD_I64 ? sizeof i : sizeof small);
    }
    return true;
}

/* 1: taken; 0: of a wrong type; negative: no memory. */
static int take_text(const struct as_json_parser *p, struct as_arena *arena, void *to,
                     struct assay_error *err)
{
    const char *text;

    if (p->kind != AS_JSON_STRING)
        return p->kind == AS_JSON_NULL;
    text = as_arena_text(arena, p->text, p->text_size);
    if (!text)
        return as_fail_nomem(err);
    memcpy(to, &text, sizeof text);
    return 1;
}

static int take_fact(const struct as_json_parser *p, struct as_arena *arena, void *to,
                     struct assay_error *err)
{
    struct as_fact fact = {0};
    int rc;

    if (p->kind == AS_JSON_NUMBER) {
        if (as_json_get_u64(p, &fact.value, NULL) < 0)
            return 0;
        rc = 1;
    } else {
        rc = take_text(p, arena, &fact.why, err);
        if (rc != 1 || !fact.why)
            return rc;
    }
    memcpy(to, &fact, sizeof fact);
    return rc;
}

static bool take_number(const struct as_json_parser *p, void *to)
{
    double x = AS_UNKNOWN;

    if (p->kind != AS_JSON_NULL && as_json_get_f64(p, &x, NULL) < 0)
        return false;
    memcpy(to, &x, sizeof x);
    return true;
}

static int take_value(const struct as_json_field *f, void *object, struct as_arena *arena,
                      const struct as_json_parser *p, struct assay_error *err)
{
    void *to = (char *)object + f->offset;
    bool flag = p->kind == AS_JSON_TRUE;

    switch (f->kind) {
    case AS_FIELD_TEXT:
        return take_text(p, arena, to, err);
    case AS_FIELD_FACT:
        return take_fact(p, arena, to, err);
    case AS_FIELD_F64:
        return take_number(p, to);
    case AS_FIELD_BOOL:
        memcpy(to, &flag, sizeof flag);
        return flag || p->kind == AS_JSON_FALSE;
    default:
        return take_whole(p, f->kind, to);
    }
}

static const struct as_json_field *field_of(const struct as_json_shape *shape,
                                            const struct as_json_parser *p)
{
    for (size_t i = 0; i < shape->n; i++)
        if (as_json_text_is(p, shape->field[i].key))
            return &shape->field[i];
    return NULL;
}

/* The value after a key. As as_json_fields_read(). */
static int read_value(const struct as_json_field *f, void *object, void *user,
                      struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    int rc, skipped;

    if (f->kind == AS_FIELD_OWN)
        return f->read(user, object, p, err);
    rc = as_json_next(p, err);
    if (rc < 0)
        return rc;
    rc = take_value(f, object, arena, p, err);
    skipped = as_json_skip(p, err);
    return skipped < 0 ? skipped : rc;
}

int as_json_fields_read(const struct as_json_shape *shape, void *object, void *user,
                        struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    uint32_t seen = 0;
    bool good = true;
    int rc;

    as_json_fields_clear(shape, object);
    while ((rc = as_json_next(p, err)) == AS_JSON_KEY) {
        const struct as_json_field *f = field_of(shape, p);

        rc = f ? read_value(f, object, user, arena, p, err) : as_json_skip(p, err);
        if (rc < 0)
            return rc;
        if (f && rc == 0)
            good = false;
        if (f)
            seen |= 1u << ((size_t)(f - shape->field) % 32);
    }
    if (rc < 0)
        return rc;
    return good && (seen & shape->need) == shape->need;
}

void *as_rows_add(struct as_rows *rows)
{
    if (rows->n == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 16;
        void *grown = as_arena_zero(rows->arena, capacity, rows->size);

        if (!grown)
            return NULL;
        if (rows->n)
            memcpy(grown, rows->at, rows->n * rows->size);
        rows->at = grown;
        rows->capacity = capacity;
    }
    return (char *)rows->at + rows->n++ * rows->size;
}

int as_rows_read(struct as_rows *rows, const struct as_json_shape *shape, void *user,
                 struct as_json_parser *p, struct assay_error *err)
{
    int rc = as_json_next(p, err);

    if (rc != AS_JSON_ARRAY) {
        rows->passed_over++;
        return rc < 0 ? rc : as_json_skip(p, err);
    }
    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        if (rc != AS_JSON_OBJECT || rows->n >= rows->max) {
            rows->passed_over++;
            rc = as_json_skip(p, err);
        } else {
            void *row = as_rows_add(rows);

            if (!row)
                return as_fail_nomem(err);
            rc = as_json_fields_read(shape, row, user, rows->arena, p, err);
            if (rc <= 0) {
                rows->n--;
                rows->passed_over++;
            }
        }
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
}

/* Goes through the array that comes next: `take` is given each value, and whether there is room for
 * it. It answers 1 when it has taken it, 0 when not, or a negative code. */
static int read_values(struct as_rows *rows, struct as_json_parser *p,
                       int (*take)(struct as_rows *rows, const struct as_json_parser *p,
                                   struct assay_error *err),
                       struct assay_error *err)
{
    int rc = as_json_next(p, err);

    if (rc != AS_JSON_ARRAY) {
        rows->passed_over++;
        return rc < 0 ? rc : as_json_skip(p, err);
    }
    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        rc = rows->n < rows->max ? take(rows, p, err) : 0;
        if (rc == 0) {
            rows->passed_over++;
            rc = as_json_skip(p, err);
        }
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int add_number(struct as_rows *rows, const struct as_json_parser *p, struct assay_error *err)
{
    double x, *to;

    if (p->kind != AS_JSON_NUMBER || as_json_get_f64(p, &x, NULL) < 0)
        return 0;
    to = as_rows_add(rows);
    if (!to)
        return as_fail_nomem(err);
    *to = x;
    return 1;
}

static int add_text(struct as_rows *rows, const struct as_json_parser *p, struct assay_error *err)
{
    const char *text, **to;

    if (p->kind != AS_JSON_STRING)
        return 0;
    text = as_arena_text(rows->arena, p->text, p->text_size);
    to = text ? as_rows_add(rows) : NULL;
    if (!to)
        return as_fail_nomem(err);
    *to = text;
    return 1;
}

int as_rows_read_numbers(struct as_rows *rows, struct as_json_parser *p, struct assay_error *err)
{
    return read_values(rows, p, add_number, err);
}

int as_rows_read_texts(struct as_rows *rows, struct as_json_parser *p, struct assay_error *err)
{
    return read_values(rows, p, add_text, err);
}
