/* base/text/utf8.h - UTF-8: is it valid, how wide is it on a screen, and how is it made safe to
 * show. Text from outside reaches a terminal only through as_utf8_put_safe() or as_utf8_safe(). */
#ifndef AS_BASE_TEXT_UTF8_H
#define AS_BASE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/output.h"

#define AS_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Decodes the code point `text` begins with and returns its bytes; 0 when there is none or it is
 * overlong, a surrogate, past U+10FFFF or cut off. `code` is untouched then. */
size_t as_utf8_decode(const char *text, size_t size, uint32_t *code);

/* Writes `code`, which must be a valid code point, and returns its bytes; no NUL is added. */
size_t as_utf8_encode(char out[4], uint32_t code);

bool as_utf8_valid(const char *text, size_t size);

/* Columns a code point takes on a terminal: 0 for combining marks and controls, 2 for wide ones, 1
 * for the rest. */
unsigned as_utf8_code_width(uint32_t code);

/* Columns of a text; a byte that is not UTF-8 counts as one. */
size_t as_utf8_width(const char *text, size_t size);

/* Which bytes to keep so that head, an ellipsis and tail fit in some columns: [0, head) and [tail,
 * size). */
struct as_utf8_cut {
    size_t head, tail; /* head == tail: nothing is left out, and no ellipsis is needed */
    size_t width;      /* columns of the result, the ellipsis included */
};

/* Cuts the middle out of `text`; no code point is split and no mark is parted from its base. When
 * there is no room even for the ellipsis nothing is kept: head is 0, tail is `size` and width is 0.
 */
struct as_utf8_cut as_utf8_cut(const char *text, size_t size, size_t max_width,
                               size_t ellipsis_width);

/* Writes `text` so that a terminal shows it and obeys nothing: controls, ESC, C1, line separators,
 * bidi marks and overrides, tags and other invisible codes become \n, \x1b or \u202e; bytes that
 * are not UTF-8 become U+FFFD. For the eye alone: a backslash is left as it is, so the text cannot
 * be read back. */
void as_utf8_put_safe(struct as_out *out, const char *text, size_t size);

/* What the escapers of all outputs go through, so that they agree on what is safe: the next piece
 * of `text`, a run of harmless ASCII or one code point. `*out` and `*n_out` are the bytes to show,
 * in `text` or in `escaped`; quoting of the output's own is the caller's. Returns the bytes used
 * up. */
size_t as_utf8_next_safe(const char *text, size_t size, char escaped[12], const char **out,
                         size_t *n_out);

/* A code point that as_utf8_put_safe() escapes. */
bool as_utf8_is_unsafe(uint32_t code);

/* The same as a NUL-terminated copy in `arena`, or NULL without memory. */
char *as_utf8_safe(struct as_arena *arena, const char *text, size_t size);

#endif
