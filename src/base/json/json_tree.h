/* base/json/json_tree.h - a small JSON document as a tree, for files that are read by many
 * questions. Costs some 40 bytes a value: documents of hundreds of megabytes want
 * base/json/json_parser.h. */
#ifndef AS_BASE_JSON_JSON_TREE_H
#define AS_BASE_JSON_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_writer.h"

enum as_json_type {
    AS_TYPE_NULL,
    AS_TYPE_BOOL,
    AS_TYPE_NUMBER,
    AS_TYPE_TEXT,
    AS_TYPE_ARRAY,
    AS_TYPE_OBJECT
};

/* Everything lives in the arena it was read into. */
struct as_json_value {
    enum as_json_type type;
    const char *key;  /* of a member of an object; NULL elsewhere */
    const char *text; /* of a text, and the digits of a number; NUL-terminated */
    size_t text_size;
    double number; /* of a number; 1 or 0 of a bool */
    const struct as_json_value *next;
    const struct as_json_value *first; /* of an array or object */
    size_t n;                          /* values in it */
};

/* Reads one value. FORMAT with the byte to blame; LIMIT past `max_values`. A key that stands twice
 * is kept twice; the first is found. */
AS_MUST_USE int as_json_tree_read(const struct as_json_value **out, struct as_arena *arena,
                                  const void *data, size_t size, size_t max_values,
                                  struct assay_error *err);

/* The member of that key; NULL when there is none, or `object` is none (NULL included). */
const struct as_json_value *as_json_get(const struct as_json_value *object, const char *key);

/* The member `inner` of the member `outer`. */
const struct as_json_value *as_json_path(const struct as_json_value *object, const char *outer,
                                         const char *inner);

/* NaN unless it is a number. */
double as_json_number(const struct as_json_value *value);

/* The whole number; false unless it is one that fits. */
bool as_json_whole(const struct as_json_value *value, uint64_t *out);

/* NULL unless it is a text. */
const char *as_json_words(const struct as_json_value *value);

bool as_json_is_true(const struct as_json_value *value);

/* The same value again, numbers digit by digit. */
void as_json_tree_write(struct as_json_writer *w, const struct as_json_value *value);

#endif
