/* base/json/json_fields.h - objects of a data block into structs, by a table of keys.
 * The bytes are hostile: what has a wrong type is left at its default and told to the caller. */
#ifndef AS_BASE_JSON_JSON_FIELDS_H
#define AS_BASE_JSON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json/json_parser.h"

enum as_field_kind {
    AS_FIELD_U64,
    AS_FIELD_I64,
    AS_FIELD_U32,
    AS_FIELD_INT,
    AS_FIELD_F64,  /* null: NaN */
    AS_FIELD_TEXT, /* const char *; null: NULL */
    AS_FIELD_BOOL,
    AS_FIELD_FACT, /* struct as_fact: a number, or the text why there is none */
    AS_FIELD_OWN   /* `read` takes the value */
};

struct as_json_field {
    const char *key;
    enum as_field_kind kind;
    size_t offset;
    /* Of AS_FIELD_OWN: called after the key, takes the whole value. As as_json_fields_read(). */
    int (*read)(void *user, void *object, struct as_json_parser *p, struct assay_error *err);
};

struct as_json_shape {
    const struct as_json_field *field;
    size_t n;
    size_t size;   /* of the struct */
    uint32_t need; /* bit by field: without it the object is not taken */
};

/* Numbers are NaN, facts unknown, the rest 0. */
void as_json_fields_clear(const struct as_json_shape *shape, void *object);

/* Reads the object that the current token begins, up to its end. 1: fine; 0: a needed key is
 * missing or a value had a wrong type; negative: malformed JSON or no memory. Unknown keys are
 * passed over, texts go into `arena`. */
AS_MUST_USE int as_json_fields_read(const struct as_json_shape *shape, void *object, void *user,
                                    struct as_arena *arena, struct as_json_parser *p,
                                    struct assay_error *err);

/* Things of one size that grow in an arena, up to a limit. */
struct as_rows {
    struct as_arena *arena;
    void *at;
    size_t n, capacity, size, max;
    uint64_t passed_over; /* bad ones, and those beyond the limit */
};

/* One more, not cleared; NULL without memory. The caller looks at `max` first. */
void *as_rows_add(struct as_rows *rows);

/* Reads the array that comes next: each object a row, other values passed over. Negative as above.
 */
AS_MUST_USE int as_rows_read(struct as_rows *rows, const struct as_json_shape *shape, void *user,
                             struct as_json_parser *p, struct assay_error *err);

/* Reads the array of numbers that comes next; what is no number is passed over. `rows` are
 * doubles. */
AS_MUST_USE int as_rows_read_numbers(struct as_rows *rows, struct as_json_parser *p,
                                     struct assay_error *err);

/* The same for texts: `rows` are const char *, the texts in its arena. */
AS_MUST_USE int as_rows_read_texts(struct as_rows *rows, struct as_json_parser *p,
                                   struct assay_error *err);

#endif
