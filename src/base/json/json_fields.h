/* base/json/json_fields.h - structs described by a table of their fields, and everything that
 * follows from it: JSON out, JSON in, rows of a table, JSON Schema. A field is named once.
 * Bytes read are hostile: what has a wrong type is left at its default and reported. */
#ifndef AS_BASE_JSON_JSON_FIELDS_H
#define AS_BASE_JSON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json/json_shape.h"

/* ---- writing ---- */

/* The fields as members of an object: with its braces, or into one that is open. */
void as_json_fields_write(struct as_json_writer *w, const struct as_json_shape *shape,
                          const void *object);
void as_json_fields_put(struct as_json_writer *w, const struct as_json_shape *shape,
                        const void *object);

/* Of a field without a key: the struct whose fields stand among the others. */
const void *as_json_field_members(const struct as_json_field *f, const void *object);

/* One value outside of JSON: a text, a number, a truth value, or nothing (AS_JSON_NULL). Of lists
 * their length; of facts the value. */
struct as_json_cell {
    enum as_json_kind kind;
    bool is_whole; /* the number is `whole`, else `real` */
    const char *text;
    uint64_t whole;
    double real;
};
struct as_json_cell as_json_field_cell(const struct as_json_field *f, const void *object);

/* Some of the fields, as as_json_shape_part() has them, into an object that is open. */
void as_json_fields_some(struct as_json_writer *w, const struct as_json_shape *shape,
                         const char *from, const char *until, const void *object);

/* Under a key: an array of structs; or an object with a member for each, whose key is the text at
 * `name_offset` of it. */
void as_json_fields_list(struct as_json_writer *w, const char *key,
                         const struct as_json_shape *shape, const void *rows, size_t n);
void as_json_fields_map(struct as_json_writer *w, const char *key,
                        const struct as_json_shape *shape, const void *rows, size_t n,
                        size_t name_offset);

/* The text when it is one JSON value, else null. */
void as_json_raw_checked(struct as_json_writer *w, const char *json);

/* The values as an array, in the order of the fields. */
void as_json_fields_row(struct as_json_writer *w, const struct as_json_shape *shape,
                        const void *object);

/* ["key", "type", "unit"] of each, as a member `columns`. */
void as_json_fields_columns(struct as_json_writer *w, const struct as_json_shape *shape);

/* The JSON Schema of the object: type, properties, required, additionalProperties. */
void as_json_fields_schema(struct as_json_writer *w, const struct as_json_shape *shape);
/* The same into an object that is open. */
void as_json_fields_schema_put(struct as_json_writer *w, const struct as_json_shape *shape);

/* ---- reading ---- */

/* Numbers are NaN, facts unknown, the rest 0. */
void as_json_fields_clear(const struct as_json_shape *shape, void *object);

/* Reads the object that the current token begins, up to its end. 1: fine; 0: a needed key is
 * missing or a value had a wrong type; negative: malformed JSON or no memory. Unknown keys are
 * passed over, texts and lists go into `arena`. */
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

/* Reads {"columns": ..., "rows": [[...]]} from its first brace on, which is the current token;
 * columns are found by their names, those not known are passed over. */
AS_MUST_USE int as_rows_read_table(struct as_rows *rows, const struct as_json_shape *shape,
                                   struct as_json_parser *p, struct assay_error *err);

/* Reads the array of numbers that comes next; what is no number is passed over. `rows` are
 * doubles. */
AS_MUST_USE int as_rows_read_numbers(struct as_rows *rows, struct as_json_parser *p,
                                     struct assay_error *err);

/* The same for texts: `rows` are const char *, the texts in its arena. */
AS_MUST_USE int as_rows_read_texts(struct as_rows *rows, struct as_json_parser *p,
                                   struct assay_error *err);

#endif
