/* base/json/json_writer.h - JSON as a stream, straight into an as_out, never held as a tree.
 * A wrong order of calls stops a debug build; elsewhere as_json_writer_finish() tells it. */
#ifndef AS_BASE_JSON_JSON_WRITER_H
#define AS_BASE_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/output.h"

#define AS_JSON_WRITE_DEPTH 64

/* Begun by as_json_writer_init(); holds no memory of its own. */
struct as_json_writer {
    struct as_out *out;
    uint64_t objects; /* bit d: the container at depth d is an object */
    unsigned depth;   /* containers open */
    unsigned indent;  /* spaces a level; 0 writes no white space at all */
    bool first;       /* nothing was written yet in the open container */
    bool after_key;   /* a key waits for its value */
    bool done;        /* the one top-level value is complete */
    bool misused;     /* calls came in an order that is not JSON; nothing more is written */
    bool too_deep;    /* more than AS_JSON_WRITE_DEPTH containers; nothing more is written */
};

/* Writes one value to `out`, which is borrowed. `indent` 0 is compact, 2 is for people. */
void as_json_writer_init(struct as_json_writer *w, struct as_out *out, unsigned indent);

/* ASSAY_ERR_STATE after misuse or with something left open, ASSAY_ERR_LIMIT after too many levels.
 * Failures of the output itself are reported by as_out_close(). */
AS_MUST_USE int as_json_writer_finish(const struct as_json_writer *w, struct assay_error *err);

void as_json_object(struct as_json_writer *w);
void as_json_object_end(struct as_json_writer *w);
void as_json_array(struct as_json_writer *w);
void as_json_array_end(struct as_json_writer *w);

/* Keys and strings are escaped: bytes that are not UTF-8 become U+FFFD, '<' becomes \u003c so that
 * JSON can stand in HTML, U+2028 and U+2029 are escaped so that it can stand in a script, C1
 * controls and bidi marks so that it can stand on a screen. */
void as_json_key_n(struct as_json_writer *w, const char *key, size_t size);
void as_json_text_n(struct as_json_writer *w, const char *text, size_t size);

void as_json_u64(struct as_json_writer *w, uint64_t value);
void as_json_i64(struct as_json_writer *w, int64_t value);

/* null when `value` is not finite. */
void as_json_f64(struct as_json_writer *w, double value);

/* `value` divided by ten to the power of `decimals`, exactly: nanoseconds as microseconds with 3.
 */
void as_json_decimal(struct as_json_writer *w, uint64_t value, unsigned decimals);
void as_json_bool(struct as_json_writer *w, bool value);
void as_json_null(struct as_json_writer *w);

/* `size` bytes that are one JSON value already; copied as they are. */
void as_json_raw(struct as_json_writer *w, const char *json, size_t size);

static inline void as_json_key(struct as_json_writer *w, const char *key)
{
    as_json_key_n(w, key, strlen(key));
}

/* NULL is written as null. */
static inline void as_json_text(struct as_json_writer *w, const char *text)
{
    if (text)
        as_json_text_n(w, text, strlen(text));
    else
        as_json_null(w);
}

static inline void as_json_kv_object(struct as_json_writer *w, const char *key)
{
    as_json_key(w, key);
    as_json_object(w);
}

static inline void as_json_kv_array(struct as_json_writer *w, const char *key)
{
    as_json_key(w, key);
    as_json_array(w);
}

static inline void as_json_kv_text(struct as_json_writer *w, const char *key, const char *text)
{
    as_json_key(w, key);
    as_json_text(w, text);
}

static inline void as_json_kv_text_n(struct as_json_writer *w, const char *key, const char *text,
                                     size_t size)
{
    as_json_key(w, key);
    as_json_text_n(w, text, size);
}

static inline void as_json_kv_u64(struct as_json_writer *w, const char *key, uint64_t value)
{
    as_json_key(w, key);
    as_json_u64(w, value);
}

static inline void as_json_kv_i64(struct as_json_writer *w, const char *key, int64_t value)
{
    as_json_key(w, key);
    as_json_i64(w, value);
}

static inline void as_json_kv_f64(struct as_json_writer *w, const char *key, double value)
{
    as_json_key(w, key);
    as_json_f64(w, value);
}

static inline void as_json_kv_bool(struct as_json_writer *w, const char *key, bool value)
{
    as_json_key(w, key);
    as_json_bool(w, value);
}

static inline void as_json_kv_null(struct as_json_writer *w, const char *key)
{
    as_json_key(w, key);
    as_json_null(w);
}

#ifdef __cppcheck__ /* it crashes on the selections below */
#define AS_JSON_FIELDS(w, object, ...) as_json_kv_null(w, (object) ? "" : "")
#else
/* A member by its C type: numbers, truth values and texts. */
#define AS_JSON_KV(w, key, value)                                                                  \
    _Generic((value),                                                                              \
        double: as_json_kv_f64,                                                                    \
        float: as_json_kv_f64,                                                                     \
        bool: as_json_kv_bool,                                                                     \
        char *: as_json_kv_text,                                                                   \
        const char *: as_json_kv_text,                                                             \
        int: as_json_kv_i64,                                                                       \
        long: as_json_kv_i64,                                                                      \
        unsigned char: as_json_kv_u64,                                                             \
        unsigned short: as_json_kv_u64,                                                            \
        unsigned: as_json_kv_u64,                                                                  \
        unsigned long: as_json_kv_u64)(w, key, value)

/* Writes members of a struct under their own names, in this order: AS_JSON_FIELDS(w, s, calls,
 * mean_ns). At most 16. */
#define AS_JSON_FIELDS(w, object, ...)                                                             \
    AS_JSON_PICK_(__VA_ARGS__, AS_JSON_16_, AS_JSON_15_, AS_JSON_14_, AS_JSON_13_, AS_JSON_12_,    \
                  AS_JSON_11_, AS_JSON_10_, AS_JSON_9_, AS_JSON_8_, AS_JSON_7_, AS_JSON_6_,        \
                  AS_JSON_5_, AS_JSON_4_, AS_JSON_3_, AS_JSON_2_, AS_JSON_1_, 0)                   \
    (w, object, __VA_ARGS__)
#define AS_JSON_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define AS_JSON_1_(w, s, f)                                                      AS_JSON_KV(w, #f, (s)->f)
#define AS_JSON_2_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_1_(w, s, __VA_ARGS__)
#define AS_JSON_3_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_2_(w, s, __VA_ARGS__)
#define AS_JSON_4_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_3_(w, s, __VA_ARGS__)
#define AS_JSON_5_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_4_(w, s, __VA_ARGS__)
#define AS_JSON_6_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_5_(w, s, __VA_ARGS__)
#define AS_JSON_7_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_6_(w, s, __VA_ARGS__)
#define AS_JSON_8_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_7_(w, s, __VA_ARGS__)
#define AS_JSON_9_(w, s, f, ...)                                                 AS_JSON_1_(w, s, f), AS_JSON_8_(w, s, __VA_ARGS__)
#define AS_JSON_10_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_9_(w, s, __VA_ARGS__)
#define AS_JSON_11_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_10_(w, s, __VA_ARGS__)
#define AS_JSON_12_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_11_(w, s, __VA_ARGS__)
#define AS_JSON_13_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_12_(w, s, __VA_ARGS__)
#define AS_JSON_14_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_13_(w, s, __VA_ARGS__)
#define AS_JSON_15_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_14_(w, s, __VA_ARGS__)
#define AS_JSON_16_(w, s, f, ...)                                                AS_JSON_1_(w, s, f), AS_JSON_15_(w, s, __VA_ARGS__)
#endif

#endif
