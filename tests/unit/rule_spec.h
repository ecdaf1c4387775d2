/* tests/unit/rule_spec.h - values and attributes of small graphs, written as text.
 * A SPEC is 2x3x?, scalar, ?, i64:4, i64{1,2}, i64=5 or f32{1,0.5}, the dtype first where it is not
 * f32; several in [] with | between are a sequence. */
#ifndef AS_TESTS_RULE_SPEC_H
#define AS_TESTS_RULE_SPEC_H

#include <stdio.h>
#include <stdlib.h>

#include "model/infer/infer.h"

#include "unit.h"

enum { KIT_NAMES = 128, KIT_DEPTH = 8, KIT_NODES = 32 };

struct rule_kit {
    struct as_model *model;
    struct as_graph *graphs[KIT_DEPTH]; /* the open ones */
    int depth;
    char names[KIT_NAMES][32];
    uint32_t ids[KIT_NAMES];
    int n_names;
    char bodies[KIT_DEPTH][32]; /* those that are closed, by name */
    struct as_graph *closed[KIT_DEPTH];
    int n_bodies;
    struct assay_error err;
};

/* The next of the words that any of `ends` separates, or NULL; the text is cut up. */
static inline char *kit_word(char **text, const char *ends)
{
    char *word;

    do
        word = *text ? strsep(text, ends) : NULL;
    while (word && !*word);
    return word;
}

static inline void *kit_capacity(struct rule_kit *k, size_t size)
{
    void *capacity = as_arena_zero(&k->model->arena, 1, size ? size : 1);

    assert_non_null(capacity);
    return capacity;
}

static inline uint32_t kit_find(const struct rule_kit *k, const char *name)
{
    for (int i = 0; i < k->n_names; i++)
        if (strcmp(k->names[i], name) == 0)
            return k->ids[i];
    return AS_NONE;
}

static inline struct as_value *kit_value(const struct rule_kit *k, const char *name)
{
    uint32_t id = kit_find(k, name);

    assert_int_not_equal(id, AS_NONE);
    return &k->model->values[id];
}

static inline uint32_t kit_name(struct rule_kit *k, const char *name)
{
    uint32_t id = kit_find(k, name);

    if (id != AS_NONE)
        return id;
    assert_true(k->n_names < KIT_NAMES);
    id = as_model_add_value(k->model, k->graphs[k->depth], name, strlen(name), &k->err);
    assert_int_not_equal(id, AS_NONE);
    snprintf(k->names[k->n_names], sizeof k->names[0], "%s", name);
    k->ids[k->n_names++] = id;
    return id;
}

/* Numbers between commas, up to `end`. */
static inline size_t kit_numbers(const char *text, char end, double *out, size_t capacity)
{
    size_t n = 0;

    while (*text && *text != end) {
        char *next;

        assert_true(n < capacity);
        out[n++] = strtod(text, &next);
        assert_ptr_not_equal(next, text);
        text = *next == ',' ? next + 1 : next;
    }
    return n;
}

static inline unsigned kit_dtype(const char **spec)
{
    for (unsigned i = 1; i < AS_DTYPE_COUNT; i++) {
        size_t size = strlen(as_dtype_name(i));

        if (strncmp(*spec, as_dtype_name(i), size) == 0 && strchr("{=:", (*spec)[size]) &&
            (*spec)[size]) {
            *spec += size + ((*spec)[size] == ':');
            return i;
        }
    }
    return AS_DTYPE_F32;
}

static inline void kit_dims(const char *text, struct as_dims *dims)
{
    dims->rank = 0;
    if (strncmp(text, "scalar", 6) == 0)
        return;
    for (;;) {
        char *next;

        assert_true(dims->rank < AS_MAX_RANK);
        if (*text == '?') {
            dims->at[dims->rank++] = AS_DIM_UNKNOWN;
            text++;
        } else {
            dims->at[dims->rank++] = strtoll(text, &next, 10);
            text = next;
        }
        if (*text != 'x')
            return;
        text++;
    }
}

static inline void kit_tensor(struct rule_kit *k, const char *spec, struct as_type *type,
                              struct as_data **data)
{
    unsigned dtype = kit_dtype(&spec);
    struct as_dims dims = {0, {0}};
    double numbers[64];
    size_t n;

    *data = NULL;
    if (*spec != '{' && *spec != '=') {
        bool open = strcmp(spec, "?") == 0;

        if (!open)
            kit_dims(spec, &dims);
        assert_true(as_type_tensor(type, &k->model->arena, dtype, open ? NULL : &dims));
        return;
    }
    n = kit_numbers(spec + 1, '}', numbers, UNIT_COUNT(numbers));
    if (*spec == '{')
        dims = (struct as_dims){1, {(int64_t)n}};
    assert_true(as_type_tensor(type, &k->model->arena, dtype, &dims));
    *data = as_data_new(&k->model->arena, dtype, n);
    assert_non_null(*data);
    for (size_t i = 0; i < n; i++)
        as_data_put_f64(*data, i, numbers[i]);
}

static inline void kit_spec(struct rule_kit *k, const char *spec, struct as_value *value)
{
    struct as_type *elems;
    char copy[256], *at, *next;

    if (*spec != '[') {
        kit_tensor(k, spec, &value->type, &value->data);
        return;
    }
    snprintf(copy, sizeof copy, "%s", spec + 1);
    assert_non_null(strchr(copy, ']'));
    *strchr(copy, ']') = 0;
    elems = kit_capacity(k, 16 * sizeof *elems);
    value->type = (struct as_type){.kind = AS_VALUE_SEQUENCE, .rank = -1, .elems = elems};
    for (at = copy; *at; at = next) {
        struct as_data *data;

        next = strchr(at, '|');
        next = next ? (*next = 0, next + 1) : at + strlen(at);
        kit_tensor(k, at, &elems[value->type.n_elems++], &data);
    }
}

/* 3 is a number, 3, a list of one, 0.5 a float, @name a body, anything else a word. */
static inline void kit_attr(struct rule_kit *k, const char *text, struct as_attr *attr)
{
    const char *value = strchr(text, '=') + 1;
    double numbers[64];
    char *name = kit_capacity(k, 64);

    snprintf(name, 64, "%.*s", (int)(value - 1 - text), text);
    attr->name = name;
    if (*value == '@') {
        attr->kind = AS_ATTR_GRAPH;
        for (int i = 0; i < k->n_bodies; i++)
            if (strcmp(k->bodies[i], value + 1) == 0)
                attr->graph = k->closed[i];
        assert_non_null(attr->graph);
    } else if ((*value < '0' || *value > '9') && *value != '-') {
        char *word = kit_capacity(k, strlen(value) + 1);

        memcpy(word, value, strlen(value));
        attr->kind = AS_ATTR_TEXT;
        attr->text = (struct as_text){word, strlen(value)};
    } else if (strchr(value, ',')) {
        int64_t *ints = kit_capacity(k, sizeof numbers);
        float *floats = kit_capacity(k, sizeof numbers);

        attr->n = (uint32_t)kit_numbers(value, 0, numbers, UNIT_COUNT(numbers));
        for (uint32_t i = 0; i < attr->n; i++) {
            ints[i] = (int64_t)numbers[i];
            floats[i] = (float)numbers[i];
        }
        attr->kind = strchr(value, '.') ? AS_ATTR_FLOATS : AS_ATTR_INTS;
        if (attr->kind == AS_ATTR_INTS)
            attr->ints = ints;
        else
            attr->floats = floats;
    } else if (strchr(value, '.')) {
        attr->kind = AS_ATTR_FLOAT;
        attr->f = strtod(value, NULL);
    } else {
        attr->kind = AS_ATTR_INT;
        attr->i = strtoll(value, NULL, 10);
    }
}

#endif
