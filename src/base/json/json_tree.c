/* base/json/json_tree.c - a small JSON document as a tree, for files that are read by many
 * questions. */
#include "base/json/json_tree.h"

#include <string.h>

#include "base/json/json_parser.h"
#include "base/text/text.h"
#include "base/units.h"

struct reader {
    struct as_json_parser parser;
    struct as_arena *arena;
    struct as_json_value *open[AS_JSON_MAX_DEPTH], *last[AS_JSON_MAX_DEPTH];
    unsigned depth;
    size_t n_values, max_values;
    const char *key; /* that waits for its value */
    const struct as_json_value *root;
};

static const enum as_json_type type_of[AS_JSON_KIND_COUNT] = {
    [AS_JSON_OBJECT] = AS_TYPE_OBJECT, [AS_JSON_ARRAY] = AS_TYPE_ARRAY,
    [AS_JSON_STRING] = AS_TYPE_TEXT,   [AS_JSON_NUMBER] = AS_TYPE_NUMBER,
    [AS_JSON_TRUE] = AS_TYPE_BOOL,     [AS_JSON_FALSE] = AS_TYPE_BOOL,
    [AS_JSON_NULL] = AS_TYPE_NULL,
};

static void append(struct reader *r, struct as_json_value *value)
{
    struct as_json_value *parent = r->depth ? r->open[r->depth - 1] : NULL;

    if (!parent) {
        r->root = value;
        return;
    }
    if (r->last[r->depth - 1])
        r->last[r->depth - 1]->next = value;
    else
        parent->first = value;
    r->last[r->depth - 1] = value;
    parent->n++;
}

static int add_value(struct reader *r, int kind, struct assay_error *err)
{
    struct as_json_value *value;
    int rc = ASSAY_OK;

    if (++r->n_values > r->max_values)
        return as_fail(err, ASSAY_ERR_LIMIT, "more than %zu values", r->max_values);
    value = as_arena_zero(r->arena, 1, sizeof *value);
    if (!value)
        return as_fail_nomem(err);
    value->type = type_of[kind];
    value->key = r->key;
    r->key = NULL;
    if (kind == AS_JSON_STRING || kind == AS_JSON_NUMBER) {
        value->text_size = r->parser.text_size;
        value->text = as_arena_text(r->arena, r->parser.text, r->parser.text_size);
        if (!value->text)
            return as_fail_nomem(err);
    }
    if (kind == AS_JSON_NUMBER)
        rc = as_json_get_f64(&r->parser, &value->number, err);
    value->number = kind == AS_JSON_TRUE ? 1 : value->number;
    append(r, value);
    if (kind == AS_JSON_OBJECT || kind == AS_JSON_ARRAY) {
        r->open[r->depth] = value; /* the parser holds the depth to its limit, which is ours */
        r->last[r->depth++] = NULL;
    }
    return rc;
}

static int take_token(struct reader *r, int kind, struct assay_error *err)
{
    if (kind == AS_JSON_OBJECT_END || kind == AS_JSON_ARRAY_END) {
        r->depth--;
        return ASSAY_OK;
    }
    if (kind != AS_JSON_KEY)
        return add_value(r, kind, err);
    r->key = as_arena_text(r->arena, r->parser.text, r->parser.text_size);
    return r->key ? ASSAY_OK : as_fail_nomem(err);
}

int as_json_tree_read(const struct as_json_value **out, struct as_arena *arena, const void *data,
                      size_t size, size_t max_values, struct assay_error *err)
{
    struct reader r = {.arena = arena, .max_values = max_values};
    int kind, rc = ASSAY_OK;

    *out = NULL;
    as_json_parser_init(&r.parser, data, size);
    while (rc == ASSAY_OK && (kind = as_json_next(&r.parser, err)) != AS_JSON_END)
        rc = kind < 0 ? kind : take_token(&r, kind, err);
    as_json_parser_fini(&r.parser);
    if (rc == ASSAY_OK)
        *out = r.root;
    return rc;
}

const struct as_json_value *as_json_get(const struct as_json_value *object, const char *key)
{
    if (!object || object->type != AS_TYPE_OBJECT)
        return NULL;
    for (const struct as_json_value *v = object->first; v; v = v->next) {
        if (strcmp(v->key, key) == 0)
            return v;
    }
    return NULL;
}

const struct as_json_value *as_json_path(const struct as_json_value *object, const char *outer,
                                         const char *inner)
{
    return as_json_get(as_json_get(object, outer), inner);
}

double as_json_number(const struct as_json_value *value)
{
    return value && value->type == AS_TYPE_NUMBER ? value->number : AS_UNKNOWN;
}

bool as_json_whole(const struct as_json_value *value, uint64_t *out)
{
    return value && value->type == AS_TYPE_NUMBER &&
           as_parse_u64(value->text, value->text_size, out);
}

const char *as_json_words(const struct as_json_value *value)
{
    return value && value->type == AS_TYPE_TEXT ? value->text : NULL;
}

bool as_json_is_true(const struct as_json_value *value)
{
    return value && value->type == AS_TYPE_BOOL && value->number != 0;
}

static void write_plain(struct as_json_writer *w, const struct as_json_value *v)
{
    switch (v->type) {
    case AS_TYPE_NULL:
        as_json_null(w);
        break;
    case AS_TYPE_BOOL:
        as_json_bool(w, v->number != 0);
        break;
    case AS_TYPE_NUMBER:
        as_json_raw(w, v->text, v->text_size);
        break;
    case AS_TYPE_TEXT:
        as_json_text_n(w, v->text, v->text_size);
        break;
    case AS_TYPE_ARRAY:
        as_json_array(w);
        break;
    case AS_TYPE_OBJECT:
        as_json_object(w);
        break;
    }
}

static void write_end(struct as_json_writer *w, const struct as_json_value *v)
{
    if (v->type == AS_TYPE_ARRAY)
        as_json_array_end(w);
    else
        as_json_object_end(w);
}

static bool is_open(const struct as_json_value *v)
{
    return v->type == AS_TYPE_ARRAY || v->type == AS_TYPE_OBJECT;
}

/* Depth is what the parser allowed: a stack of that size suffices. */
void as_json_tree_write(struct as_json_writer *w, const struct as_json_value *value)
{
    const struct as_json_value *open[AS_JSON_MAX_DEPTH], *at = value;
    unsigned depth = 0;

    while (at) {
        if (at->key && at != value)
            as_json_key(w, at->key);
        write_plain(w, at);
        if (is_open(at) && at->first && depth < AS_JSON_MAX_DEPTH) {
            open[depth++] = at;
            at = at->first;
            continue;
        }
        if (is_open(at))
            write_end(w, at);
        while (depth && !at->next) {
            at = open[--depth];
            write_end(w, at);
            if (at == value)
                return;
        }
        at = at == value ? NULL : at->next;
    }
}
