/* base/json/json_shape.h - tables that describe structs, field by field. What follows from a table
 * is in base/json/json_fields.h. */
#ifndef AS_BASE_JSON_JSON_SHAPE_H
#define AS_BASE_JSON_JSON_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"
#include "base/json/json_parser.h"
#include "base/json/json_writer.h"

enum as_field_kind {
    AS_FIELD_U64,
    AS_FIELD_KNOWN, /* uint64_t; null: UINT64_MAX */
    AS_FIELD_BYTES, /* the same; objects have the MiB beside it: KEY_bytes and KEY_mb */
    AS_FIELD_I64,
    AS_FIELD_U32,
    AS_FIELD_U8,
    AS_FIELD_INT,
    AS_FIELD_F64,   /* null: NaN */
    AS_FIELD_TEXT,  /* const char *; null: NULL */
    AS_FIELD_NAME,  /* the same, but it has to be there */
    AS_FIELD_CHARS, /* char[max]; null: "" */
    AS_FIELD_BOOL,
    AS_FIELD_ENUM,   /* an unsigned number below `max`; with `names`, its name in JSON */
    AS_FIELD_FACT,   /* struct as_fact: a number, or null and KEY_reason */
    AS_FIELD_REAL,   /* struct as_fact_real: likewise */
    AS_FIELD_LIMIT,  /* struct as_limit: a number, or null and KEY_reason; "none" is no limit */
    AS_FIELD_OBJECT, /* a struct inside, described by `shape` */
    AS_FIELD_ARRAY,  /* `max` items inside, `item` each; the count beside it says how many */
    AS_FIELD_LIST,   /* a pointer to items, at most `max`, and a count beside it */
    AS_FIELD_REF,    /* a pointer to a struct described by `shape`; NULL is null. Written only */
    AS_FIELD_OWN, /* `read` and `write` do it; without `read` it follows from the other fields: it
                     is in objects, not in rows, and passed over when read */
    AS_FIELD_KIND_COUNT
};

struct as_json_shape;

struct as_json_field {
    const char *key;
    enum as_field_kind kind, item;   /* item: of ARRAY and LIST; OBJECT: described by `shape` */
    size_t offset, size;             /* of the member; of one item of ARRAY and LIST */
    size_t count_offset, count_size; /* of ARRAY and LIST; size 0: all of the array */
    size_t max;
    const struct as_json_shape *shape;
    const char *const *names; /* of ENUM, `max` of them; NULL: numbers */
    const char *reason; /* of documents: why it is null, when it is; NULL: nothing is reported */
    bool optional;      /* it may be left out; read, the member then stays 0 */
    size_t n_names;     /* of ARRAY of ENUM: how many `names` has */
    const char *unit, *help; /* for schemas; may be NULL */
    /* Of AS_FIELD_OWN: called after the key, takes the whole value. As as_json_fields_read(). */
    int (*read)(void *user, void *object, struct as_json_parser *p, struct assay_error *err);
    /* Writes the value after its key: of AS_FIELD_OWN, or in place of what the kind would do. */
    void (*write)(struct as_json_writer *w, const void *object);
    /* Of documents, which are written only. A value computed from the object: of F64, of TEXT. */
    double (*number)(const void *object);
    const char *(*text)(const void *object);
    bool (*truth)(const void *object); /* of BOOL */
    bool (*known)(const void *object); /* false: null; NULL: it always is */
};

struct as_json_shape {
    const struct as_json_field *field;
    size_t n;
    size_t size;   /* of the struct */
    uint64_t need; /* bit by field: without it the object is not taken; 0: every field is needed */
};

/* The reason of a limit that is known not to be set. */
#define AS_NO_LIMIT "no limit is set"

/* ---- making tables ---- */

#define AS_FIELD_KIND_OF(lvalue)                                                                   \
    _Generic((lvalue),                                                                             \
        uint64_t: AS_FIELD_U64,                                                                    \
        int64_t: AS_FIELD_I64,                                                                     \
        uint32_t: AS_FIELD_U32,                                                                    \
        uint8_t: AS_FIELD_U8,                                                                      \
        int: AS_FIELD_INT,                                                                         \
        double: AS_FIELD_F64,                                                                      \
        bool: AS_FIELD_BOOL,                                                                       \
        const char *: AS_FIELD_TEXT,                                                               \
        char *: AS_FIELD_CHARS,                                                                    \
        struct as_fact: AS_FIELD_FACT,                                                             \
        struct as_fact_real: AS_FIELD_REAL,                                                        \
        struct as_limit: AS_FIELD_LIMIT)

#define AS_MEMBER_(type, member) (((type *)0)->member)

/* A number, truth value, text or fact, by its C type, under a key of its own. Enumerations: see
 * AS_FIELD_ENUM, which checks what it reads. */
#define AS_FIELD_KEY(type, name, member, of_unit, text)                                            \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_KIND_OF(AS_MEMBER_(type, member)),                         \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, member),                 \
        .max = sizeof AS_MEMBER_(type, member), .unit = (of_unit), .help = (text)                  \
    }
/* Under the member's own name. */
#define AS_FIELD(type, member)                  AS_FIELD_KEY(type, #member, member, NULL, NULL)
#define AS_FIELD_HELP(type, member, unit, help) AS_FIELD_KEY(type, #member, member, unit, help)

/* One that older runs do not have. */
#define AS_FIELD_LATER(type, member)                                                               \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_KIND_OF(AS_MEMBER_(type, member)),                        \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, member),                 \
        .max = sizeof AS_MEMBER_(type, member), .optional = true                                   \
    }

/* The same as another kind than its C type has: NAME, KNOWN, BYTES. */
#define AS_FIELD_AS(type, name, member, of_kind)                                                   \
    {                                                                                              \
        .key = (name), .kind = (of_kind), .offset = offsetof(type, member),                        \
        .size = sizeof AS_MEMBER_(type, member), .max = sizeof AS_MEMBER_(type, member)            \
    }

#define AS_FIELD_ENUM(type, member, limit)                                                         \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_ENUM, .offset = offsetof(type, member), .max = (limit)    \
    }
/* The same by its name in JSON, from an array with one for each value. */
#define AS_FIELD_KEY_NAMED(type, name, member, array)                                              \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_ENUM, .offset = offsetof(type, member),                    \
        .max = sizeof(array) / sizeof *(array), .names = (array)                                   \
    }
#define AS_FIELD_NAMED(type, member, array) AS_FIELD_KEY_NAMED(type, #member, member, array)
#define AS_FIELD_OBJECT(type, member, described)                                                   \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_OBJECT, .offset = offsetof(type, member),                 \
        .size = sizeof AS_MEMBER_(type, member), .shape = (described)                              \
    }
/* Items behind a pointer, `count` of them: structs. At most `limit` are read. */
#define AS_FIELD_LIST(type, member, count, described, limit)                                       \
    AS_FIELD_KEY_LIST(type, #member, member, count, described, limit)
#define AS_FIELD_KEY_LIST(type, name, member, count, described, limit)                             \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_LIST, .item = AS_FIELD_OBJECT,                             \
        .offset = offsetof(type, member), .size = sizeof *AS_MEMBER_(type, member),                \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .shape = (described), .max = (limit)                                                       \
    }
/* Numbers or texts behind a pointer. */
#define AS_FIELD_VALUES(type, member, count, limit)                                                \
    AS_FIELD_KEY_VALUES(type, #member, member, count, limit)
#define AS_FIELD_KEY_VALUES(type, name, member, count, limit)                                      \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_LIST, .item = AS_FIELD_KIND_OF(*AS_MEMBER_(type, member)), \
        .offset = offsetof(type, member), .size = sizeof *AS_MEMBER_(type, member),                \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .max = (limit)                                                                             \
    }
/* The same that older runs do not have. */
#define AS_FIELD_VALUES_LATER(type, member, count, limit)                                          \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_LIST,                                                     \
        .item = AS_FIELD_KIND_OF(*AS_MEMBER_(type, member)), .offset = offsetof(type, member),     \
        .size = sizeof *AS_MEMBER_(type, member), .count_offset = offsetof(type, count),           \
        .count_size = sizeof AS_MEMBER_(type, count), .max = (limit), .optional = true             \
    }
/* Structs behind a pointer that older runs lack. */
#define AS_FIELD_LIST_LATER(type, member, count, described, limit)                                 \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_LIST, .item = AS_FIELD_OBJECT,                            \
        .offset = offsetof(type, member), .size = sizeof *AS_MEMBER_(type, member),                \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .shape = (described), .max = (limit), .optional = true                                     \
    }
/* Structs inside, of which `count` are used. */
#define AS_FIELD_ARRAY(type, member, count, described)                                             \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_ARRAY, .item = AS_FIELD_OBJECT,                           \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, member)[0],              \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .shape = (described),                                                                      \
        .max = sizeof AS_MEMBER_(type, member) / sizeof AS_MEMBER_(type, member)[0]                \
    }
/* Enumerations inside by their names, of which `count` are used. */
#define AS_FIELD_NAMED_ARRAY(type, name, member, count, array)                                     \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_ARRAY, .item = AS_FIELD_ENUM,                              \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, member)[0],              \
        .count_offset = offsetof(type, count), .count_size = sizeof AS_MEMBER_(type, count),       \
        .names = (array), .n_names = sizeof(array) / sizeof *(array),                              \
        .max = sizeof AS_MEMBER_(type, member) / sizeof AS_MEMBER_(type, member)[0]                \
    }
/* Structs inside, all used, whatever its dimensions: `first` is the first of them. */
#define AS_FIELD_ALL(type, member, first, described)                                               \
    {                                                                                              \
        .key = #member, .kind = AS_FIELD_ARRAY, .item = AS_FIELD_OBJECT,                           \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, first),                  \
        .shape = (described),                                                                      \
        .max = sizeof AS_MEMBER_(type, member) / sizeof AS_MEMBER_(type, first)                    \
    }
/* Numbers inside, all used. */
#define AS_FIELD_NUMBERS(type, member, first) AS_FIELD_KEY_NUMBERS(type, #member, member, first)
#define AS_FIELD_KEY_NUMBERS(type, name, member, first)                                            \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_ARRAY, .item = AS_FIELD_KIND_OF(AS_MEMBER_(type, first)),  \
        .offset = offsetof(type, member), .size = sizeof AS_MEMBER_(type, first),                  \
        .max = sizeof AS_MEMBER_(type, member) / sizeof AS_MEMBER_(type, first)                    \
    }
#define AS_FIELD_CUSTOM(name, reader, writer)                                                      \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_OWN, .read = (reader), .write = (writer)                   \
    }

/* ---- of documents ---- */

/* A value made by a function of the object. */
#define AS_FIELD_NUMBER(name, function, of_unit, about)                                            \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_F64, .number = (function), .unit = (of_unit),              \
        .help = (about)                                                                            \
    }
#define AS_FIELD_WORDS(name, function, about)                                                      \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_TEXT, .text = (function), .help = (about)                  \
    }
#define AS_FIELD_TRUTH(name, function)                                                             \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_BOOL, .truth = (function)                                  \
    }
/* A member that the system may not tell: "" or NaN is null with that reason. */
#define AS_FIELD_OR(type, name, member, why, of_unit)                                              \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_KIND_OF(AS_MEMBER_(type, member)),                         \
        .offset = offsetof(type, member), .max = sizeof AS_MEMBER_(type, member), .reason = (why), \
        .unit = (of_unit)                                                                          \
    }
/* A member that is null unless the function says that it is known. */
#define AS_FIELD_IF(type, name, member, test)                                                      \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_KIND_OF(AS_MEMBER_(type, member)),                         \
        .offset = offsetof(type, member), .max = sizeof AS_MEMBER_(type, member), .known = (test)  \
    }
/* Fields of the same object under a key of their own. */
#define AS_FIELD_PART(name, described)                                                             \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_OBJECT, .shape = (described)                               \
    }
/* The fields of a struct inside, among those of this one. */
#define AS_FIELD_MEMBERS(type, member, described)                                                  \
    {                                                                                              \
        .kind = AS_FIELD_OBJECT, .offset = offsetof(type, member), .shape = (described)            \
    }
/* The same of the struct behind a pointer, which is not NULL. */
#define AS_FIELD_INLINE(type, member, described)                                                   \
    {                                                                                              \
        .kind = AS_FIELD_REF, .offset = offsetof(type, member), .shape = (described)               \
    }
/* The struct behind a pointer. */
#define AS_FIELD_BEHIND(type, name, member, described)                                             \
    {                                                                                              \
        .key = (name), .kind = AS_FIELD_REF, .offset = offsetof(type, member),                     \
        .shape = (described)                                                                       \
    }
/* A value that a function writes. */
#define AS_FIELD_DERIVED(name, writer) AS_FIELD_CUSTOM(name, NULL, writer)

#define AS_SHAPE(type, table)                                                                      \
    {                                                                                              \
        .field = (table), .n = sizeof(table) / sizeof *(table), .size = sizeof(type)               \
    }

/* The fields of a shape from one key on until before another; NULL: from the first, to the last. */
struct as_json_shape as_json_shape_part(const struct as_json_shape *shape, const char *from,
                                        const char *until);

#endif
