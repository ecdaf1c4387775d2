/* base/json/json_fields.c - objects of JSON into structs, by a table of their fields. */
#include "base/json/json_fields.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define NOT_TOLD "the run does not report it"

static void clear_items(const struct as_json_field *f, char *to)
{
    const double unknown = AS_UNKNOWN;

    for (size_t i = 0; i < f->max; i++) {
        if (f->item == AS_FIELD_OBJECT)
            as_json_fields_clear(f->shape, to + i * f->size);
        else if (f->item == AS_FIELD_F64)
            memcpy(to + i * f->size, &unknown, sizeof unknown);
    }
}

void as_json_fields_clear(const struct as_json_shape *shape, void *object)
{
    const double unknown = AS_UNKNOWN;
    const struct as_fact none = as_fact_none(NOT_TOLD);
    const struct as_fact_real no_real = {.value = AS_UNKNOWN, .why = NOT_TOLD};
    const struct as_limit no_limit = {.why = NOT_TOLD};

    memset(object, 0, shape->size);
    for (size_t i = 0; i < shape->n; i++) {
        const struct as_json_field *f = &shape->field[i];
        char *to = (char *)object + f->offset;

        if (f->kind == AS_FIELD_F64)
            memcpy(to, &unknown, sizeof unknown);
        else if (f->kind == AS_FIELD_KNOWN || f->kind == AS_FIELD_BYTES)
            memset(to, 0xff, sizeof(uint64_t));
        else if (f->kind == AS_FIELD_FACT)
            memcpy(to, &none, sizeof none);
        else if (f->kind == AS_FIELD_REAL)
            memcpy(to, &no_real, sizeof no_real);
        else if (f->kind == AS_FIELD_LIMIT)
            memcpy(to, &no_limit, sizeof no_limit);
        else if (f->kind == AS_FIELD_OBJECT)
            as_json_fields_clear(f->shape, to);
        else if (f->kind == AS_FIELD_ARRAY)
            clear_items(f, to);
    }
}

static bool take_unsigned(const struct as_json_parser *p, uint64_t limit, size_t size, void *to)
{
    uint64_t u;
    uint32_t u32;
    uint8_t u8;

    if (as_json_get_u64(p, &u, NULL) < 0 || u > limit)
        return false;
    u32 = (uint32_t)u;
    u8 = (uint8_t)u;
    memcpy(to,
           size == sizeof u     ? (void *)&u
           : size == sizeof u32 ? (void *)&u32
                                : (void *)&u8,
           size);
    return true;
}

static bool take_signed(const struct as_json_parser *p, bool wide, void *to)
{
    int64_t i;
    int small;

    if (as_json_get_i64(p, &i, NULL) < 0 || (!wide && (i < INT_MIN || i > INT_MAX)))
        return false;
    small = (int)i;
    memcpy(to, wide ? (void *)&i : (void *)&small, wide ? sizeof i : sizeof small);
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

static bool take_chars(const struct as_json_parser *p, char *to, size_t capacity)
{
    if (p->kind != AS_JSON_STRING)
        return p->kind == AS_JSON_NULL;
    if (p->text_size >= capacity || memchr(p->text, 0, p->text_size))
        return false;
    memcpy(to, p->text, p->text_size);
    to[p->text_size] = '\0';
    return true;
}

static bool take_number(const struct as_json_parser *p, void *to)
{
    double x = AS_UNKNOWN;

    if (p->kind != AS_JSON_NULL && as_json_get_f64(p, &x, NULL) < 0)
        return false;
    memcpy(to, &x, sizeof x);
    return true;
}

/* A reason why there is no value; "none" as a limit's means that there is no limit. */
static int take_reason(enum as_field_kind kind, const struct as_json_parser *p,
                       struct as_arena *arena, void *to, struct assay_error *err)
{
    struct as_fact fact = {0};
    struct as_fact_real real = {.value = AS_UNKNOWN};
    struct as_limit limit = {0};
    const char *why = NULL;
    int rc = take_text(p, arena, &why, err);

    if (rc != 1 || !why)
        return rc;
    fact.why = real.why = limit.why = why;
    if (kind == AS_FIELD_FACT) {
        memcpy(to, &fact, sizeof fact);
    } else if (kind == AS_FIELD_REAL) {
        memcpy(to, &real, sizeof real);
    } else {
        if (strcmp(why, AS_NO_LIMIT) == 0)
            limit.why = NULL;
        memcpy(to, &limit, sizeof limit);
    }
    return 1;
}

/* A value, or in rows the reason in its place. */
static int take_fact(enum as_field_kind kind, const struct as_json_parser *p,
                     struct as_arena *arena, void *to, struct assay_error *err)
{
    struct as_fact fact = {0};
    struct as_fact_real real = {0};
    struct as_limit limit = {.set = true};

    if (p->kind != AS_JSON_NUMBER)
        return take_reason(kind, p, arena, to, err);
    if (kind == AS_FIELD_FACT) {
        if (as_json_get_u64(p, &fact.value, NULL) < 0)
            return 0;
        memcpy(to, &fact, sizeof fact);
        return 1;
    }
    if (!take_number(p, &real.value))
        return 0;
    limit.value = real.value;
    if (kind == AS_FIELD_REAL)
        memcpy(to, &real, sizeof real);
    else
        memcpy(to, &limit, sizeof limit);
    return 1;
}

static bool take_name(const struct as_json_field *f, const struct as_json_parser *p, void *to)
{
    size_t n = f->n_names ? f->n_names : f->max;

    for (uint32_t i = 0; p->kind == AS_JSON_STRING && i < n; i++) {
        if (!as_json_text_is(p, f->names[i]))
            continue;
        memcpy(to, &i, sizeof i);
        return true;
    }
    return false;
}

static int take_scalar(enum as_field_kind kind, size_t max, void *to, struct as_arena *arena,
                       const struct as_json_parser *p, struct assay_error *err)
{
    bool flag = p->kind == AS_JSON_TRUE;

    switch (kind) {
    case AS_FIELD_NAME:
        return p->kind == AS_JSON_NULL ? 0 : take_text(p, arena, to, err);
    case AS_FIELD_TEXT:
        return take_text(p, arena, to, err);
    case AS_FIELD_CHARS:
        return take_chars(p, to, max);
    case AS_FIELD_FACT:
    case AS_FIELD_REAL:
    case AS_FIELD_LIMIT:
        return take_fact(kind, p, arena, to, err);
    case AS_FIELD_F64:
        return take_number(p, to);
    case AS_FIELD_BOOL:
        memcpy(to, &flag, sizeof flag);
        return flag || p->kind == AS_JSON_FALSE;
    case AS_FIELD_KNOWN:
    case AS_FIELD_BYTES:
        return p->kind == AS_JSON_NULL || /* as it was cleared */
               take_unsigned(p, UINT64_MAX, sizeof(uint64_t), to);
    case AS_FIELD_U64:
        return take_unsigned(p, UINT64_MAX, sizeof(uint64_t), to);
    case AS_FIELD_U32:
        return take_unsigned(p, UINT32_MAX, sizeof(uint32_t), to);
    case AS_FIELD_U8:
        return take_unsigned(p, UINT8_MAX, sizeof(uint8_t), to);
    case AS_FIELD_ENUM:
        return max > 0 && take_unsigned(p, max - 1, sizeof(uint32_t), to);
    default:
        return take_signed(p, kind == AS_FIELD_I64, to);
    }
}

/* One value of a list, the current token, into `to`, up to its end. */
static int take_item(const struct as_json_field *f, void *to, void *user, struct as_arena *arena,
                     struct as_json_parser *p, struct assay_error *err)
{
    int rc, skipped;

    if (f->item == AS_FIELD_OBJECT && p->kind == AS_JSON_OBJECT)
        return as_json_fields_read(f->shape, to, user, arena, p, err);
    rc = f->item == AS_FIELD_OBJECT ? 0
         : f->names                 ? take_name(f, p, to)
                                    : take_scalar(f->item, f->size, to, arena, p, err);
    skipped = as_json_skip(p, err);
    return skipped < 0 ? skipped : rc;
}

static void set_count(const struct as_json_field *f, void *object, size_t n)
{
    uint32_t small = (uint32_t)n;
    char *to = (char *)object + f->count_offset;

    if (f->count_size == sizeof n)
        memcpy(to, &n, sizeof n);
    else if (f->count_size)
        memcpy(to, &small, sizeof small);
}

/* The array whose token is current. A bad item or one beyond the limit makes the whole a bad one,
 * and nothing after it is kept: a small file cannot cost much memory. */
static int take_items(const struct as_json_field *f, void *object, void *user,
                      struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    bool inside = f->kind == AS_FIELD_ARRAY, good = true;
    struct as_rows rows = {.arena = arena, .size = f->size, .max = f->max};
    char *at = (char *)object + f->offset;
    size_t n = 0;
    int rc;

    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        bool wanted = good && n < f->max;
        void *to = !wanted ? NULL : inside ? at + n * f->size : as_rows_add(&rows);

        if (!to && wanted)
            return as_fail_nomem(err);
        if (to && !inside)
            memset(to, 0, f->size);
        rc = to ? take_item(f, to, user, arena, p, err) : as_json_skip(p, err);
        if (rc < 0)
            return rc;
        good = good && to && rc > 0;
        n += to != NULL;
    }
    if (rc < 0)
        return rc;
    if (!inside)
        memcpy(at, &rows.at, sizeof rows.at);
    set_count(f, object, n);
    return good && (f->count_size || n == f->max);
}

/* The value whose token is current, up to its end. */
static int take_value(const struct as_json_field *f, void *object, void *user,
                      struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    void *to = (char *)object + f->offset;
    int rc, skipped;

    if (f->kind == AS_FIELD_OBJECT && p->kind == AS_JSON_OBJECT)
        return as_json_fields_read(f->shape, to, user, arena, p, err);
    if ((f->kind == AS_FIELD_ARRAY || f->kind == AS_FIELD_LIST) && p->kind == AS_JSON_ARRAY)
        return take_items(f, object, user, arena, p, err);
    if (f->kind == AS_FIELD_OBJECT || f->kind == AS_FIELD_ARRAY || f->kind == AS_FIELD_LIST)
        rc = 0;
    else if (f->names)
        rc = take_name(f, p, to);
    else
        rc = take_scalar(f->kind, f->max, to, arena, p, err);
    skipped = as_json_skip(p, err);
    return skipped < 0 ? skipped : rc;
}

static bool key_is(const struct as_json_parser *p, const char *key, size_t size, const char *end)
{
    size_t n = strlen(end);

    return p->text_size == size + n && memcmp(p->text, key, size) == 0 &&
           memcmp(p->text + size, end, n) == 0;
}

/* The field of a key; `reason` when it is KEY_reason of a fact. */
static const struct as_json_field *field_of(const struct as_json_shape *shape,
                                            const struct as_json_parser *p, bool *reason)
{
    *reason = false;
    for (size_t i = 0; i < shape->n; i++) {
        const struct as_json_field *f = &shape->field[i];
        size_t size = strlen(f->key);

        if (key_is(p, f->key, size, ""))
            return f;
        if (f->kind >= AS_FIELD_FACT && f->kind <= AS_FIELD_LIMIT &&
            key_is(p, f->key, size, "_reason")) {
            *reason = true;
            return f;
        }
    }
    return NULL;
}

/* The value after a key. As as_json_fields_read(). */
static int read_value(const struct as_json_field *f, bool reason, void *object, void *user,
                      struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    int rc, skipped;

    if (f->kind == AS_FIELD_OWN && f->read)
        return f->read(user, object, p, err);
    if (f->kind == AS_FIELD_OWN)
        return (rc = as_json_skip(p, err)) < 0 ? rc : 1;
    rc = as_json_next(p, err);
    if (rc < 0)
        return rc;
    if (!reason)
        return take_value(f, object, user, arena, p, err);
    rc = take_reason(f->kind, p, arena, (char *)object + f->offset, err);
    skipped = as_json_skip(p, err);
    return skipped < 0 ? skipped : rc;
}

static uint64_t needed(const struct as_json_shape *shape)
{
    uint64_t all = shape->n < 64 ? (UINT64_C(1) << shape->n) - 1 : UINT64_MAX;

    for (size_t i = 0; i < shape->n && i < 64; i++)
        if ((shape->field[i].kind == AS_FIELD_OWN && !shape->field[i].read) ||
            shape->field[i].optional)
            all &= ~(UINT64_C(1) << i); /* it follows from the others, or came later */
    return shape->need ? shape->need : all;
}

int as_json_fields_read(const struct as_json_shape *shape, void *object, void *user,
                        struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    uint64_t seen = 0, need = needed(shape);
    bool good = true;
    int rc;

    as_json_fields_clear(shape, object);
    while ((rc = as_json_next(p, err)) == AS_JSON_KEY) {
        bool reason;
        const struct as_json_field *f = field_of(shape, p, &reason);

        rc = f ? read_value(f, reason, object, user, arena, p, err) : as_json_skip(p, err);
        if (rc < 0)
            return rc;
        if (f && rc == 0)
            good = false;
        if (f)
            seen |= UINT64_C(1) << ((size_t)(f - shape->field) % 64);
    }
    if (rc < 0)
        return rc;
    return good && (seen & need) == need;
}

/* ---- tables ---- */

#define MAX_COLUMNS 96

struct table {
    const struct as_json_field *column[MAX_COLUMNS]; /* NULL: not known here */
    size_t n;
};

/* ["name", "type", "unit"] after the bracket of one column. */
static int read_column(struct table *t, const struct as_json_shape *shape, struct as_json_parser *p,
                       struct assay_error *err)
{
    bool reason, first = true;
    int rc;

    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        if (first && t->n < MAX_COLUMNS)
            t->column[t->n++] = rc == AS_JSON_STRING ? field_of(shape, p, &reason) : NULL;
        first = false;
        rc = as_json_skip(p, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int read_columns(struct table *t, const struct as_json_shape *shape,
                        struct as_json_parser *p, struct assay_error *err)
{
    int rc = as_json_next(p, err);

    if (rc != AS_JSON_ARRAY)
        return rc < 0 ? rc : as_json_skip(p, err);
    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        rc = rc == AS_JSON_ARRAY ? read_column(t, shape, p, err) : as_json_skip(p, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
}

static int read_row(const struct table *t, const struct as_json_shape *shape, void *row,
                    struct as_arena *arena, struct as_json_parser *p, struct assay_error *err)
{
    bool good = true;
    size_t i = 0;
    int rc;

    as_json_fields_clear(shape, row);
    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        const struct as_json_field *f = i < t->n ? t->column[i] : NULL;

        rc = f && f->kind != AS_FIELD_OWN ? take_value(f, row, NULL, arena, p, err)
                                          : as_json_skip(p, err);
        if (rc < 0)
            return rc;
        good = good && (!f || rc > 0);
        i++;
    }
    return rc < 0 ? rc : good && i == t->n;
}

/* Whether every needed field has a column. Without that check rows of nothing would be taken, each
 * for some bytes of the file and the whole size of a struct. */
static bool is_complete(const struct table *t, const struct as_json_shape *shape)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < t->n; i++)
        if (t->column[i])
            seen |= UINT64_C(1) << ((size_t)(t->column[i] - shape->field) % 64);
    return (seen & needed(shape)) == needed(shape);
}

static int read_table_rows(struct as_rows *rows, const struct table *t,
                           const struct as_json_shape *shape, struct as_json_parser *p,
                           struct assay_error *err)
{
    bool complete = is_complete(t, shape);
    int rc = as_json_next(p, err);

    if (rc != AS_JSON_ARRAY)
        return rc < 0 ? rc : as_json_skip(p, err);
    while ((rc = as_json_next(p, err)) > 0 && rc != AS_JSON_ARRAY_END) {
        bool wanted = complete && rc == AS_JSON_ARRAY && rows->n < rows->max;
        void *row = wanted ? as_rows_add(rows) : NULL;

        if (!row && wanted)
            return as_fail_nomem(err);
        rc = row ? read_row(t, shape, row, rows->arena, p, err) : as_json_skip(p, err);
        if (rc < 0)
            return rc;
        if (!row || rc == 0) {
            rows->n -= row != NULL;
            rows->passed_over++;
        }
    }
    return rc < 0 ? rc : ASSAY_OK;
}

int as_rows_read_table(struct as_rows *rows, const struct as_json_shape *shape,
                       struct as_json_parser *p, struct assay_error *err)
{
    struct table t = {.n = 0};
    int rc;

    while ((rc = as_json_next(p, err)) == AS_JSON_KEY) {
        if (as_json_text_is(p, "columns"))
            rc = read_columns(&t, shape, p, err);
        else if (as_json_text_is(p, "rows"))
            rc = read_table_rows(rows, &t, shape, p, err);
        else
            rc = as_json_skip(p, err);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : ASSAY_OK;
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
