/* base/json/json_parser.h - JSON pulled token by token out of a memory range, strictly RFC 8259.
 * The range must outlive the parser; a token's text is borrowed until the next call. */
#ifndef AS_BASE_JSON_JSON_PARSER_H
#define AS_BASE_JSON_JSON_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/error.h"

#define AS_JSON_MAX_DEPTH    64
#define AS_JSON_NUMBER_BYTES 64 /* a longer number is refused */

/* What as_json_next() found; a negative result is an error code instead. */
enum as_json_kind {
    AS_JSON_END = 0, /* the whole range was one value and is used up */
    AS_JSON_OBJECT,
    AS_JSON_OBJECT_END,
    AS_JSON_ARRAY,
    AS_JSON_ARRAY_END,
    AS_JSON_KEY,
    AS_JSON_STRING,
    AS_JSON_NUMBER,
    AS_JSON_TRUE,
    AS_JSON_FALSE,
    AS_JSON_NULL,
    AS_JSON_KIND_COUNT
};

struct as_json_parser {
    struct as_cursor in;
    const uint8_t *start;
    const char
        *text; /* of a key or string, decoded, or the digits of a number; not NUL-terminated */
    size_t text_size;         /* bytes of `text` */
    uint64_t token_at;        /* byte of the input where the token begins */
    uint64_t objects;         /* bit d: the container at depth d is an object */
    unsigned depth;           /* containers open, the one just begun included */
    unsigned max_depth;       /* at most AS_JSON_MAX_DEPTH, which is the default */
    int kind;                 /* of the token, or the error code */
    int expect;               /* private: what may come next */
    struct as_buffer decode;  /* used by strings with escapes only */
    struct assay_error fault; /* the first error; it stays */
};

/* Parses `size` bytes. Change max_depth, decode.max_bytes after this and before the first token. */
void as_json_parser_init(struct as_json_parser *p, const void *data, size_t size);

/* Accepts a parser already emptied. */
void as_json_parser_fini(struct as_json_parser *p);

/* The next token's enum as_json_kind, 0 at the end, or a negative code: ASSAY_ERR_FORMAT with the
 * byte to blame, ASSAY_ERR_LIMIT for too many levels or too long a number, ASSAY_ERR_NOMEM. The
 * same key twice is the caller's business. After an error every call repeats it. */
AS_MUST_USE int as_json_next(struct as_json_parser *p, struct assay_error *err);

/* Skips what belongs to the current token: after a key its value, after a begin everything up to
 * and including the matching end, after anything else nothing. What is skipped is checked all the
 * same. */
AS_MUST_USE int as_json_skip(struct as_json_parser *p, struct assay_error *err);

/* The next token, which must be of `kind`; otherwise ASSAY_ERR_FORMAT naming `what` and both kinds.
 */
AS_MUST_USE int as_json_expect(struct as_json_parser *p, enum as_json_kind kind, const char *what,
                               struct assay_error *err);

/* The current token as a number. Whole numbers are exact or refused: "1.0", "1e3" and what does not
 * fit are ASSAY_ERR_FORMAT, as is a token that is not a number. A float past the largest double is
 * refused too. */
AS_MUST_USE int as_json_get_u64(const struct as_json_parser *p, uint64_t *out,
                                struct assay_error *err);
AS_MUST_USE int as_json_get_i64(const struct as_json_parser *p, int64_t *out,
                                struct assay_error *err);
AS_MUST_USE int as_json_get_f64(const struct as_json_parser *p, double *out,
                                struct assay_error *err);

/* "a string", "the end of an object", for messages. */
const char *as_json_kind_name(int kind);

/* True when the current key or string is `word`. */
static inline bool as_json_text_is(const struct as_json_parser *p, const char *word)
{
    return p->text_size == strlen(word) && memcmp(p->text, word, p->text_size) == 0;
}

#endif
