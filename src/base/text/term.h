/* base/text/term.h - what the terminal can do, its styles and its glyphs.
 * A pure function of what the caller found out: nothing here reads the environment. */
#ifndef AS_BASE_TEXT_TERM_H
#define AS_BASE_TEXT_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

#define AS_TERM_WIDTH     80 /* when nobody knows */
#define AS_TERM_WIDTH_MIN 20
#define AS_TERM_WIDTH_MAX 1000

enum as_color_choice { AS_COLOR_AUTO, AS_COLOR_ALWAYS, AS_COLOR_NEVER };
enum as_glyph_choice { AS_GLYPHS_AUTO, AS_GLYPHS_UNICODE, AS_GLYPHS_ASCII };

/* {0} is a file or a pipe in a plain locale. The texts are values of variables, NULL when unset. */
struct as_term_inputs {
    bool is_tty;
    bool utf8_locale;            /* decides the glyphs when `glyphs` is auto */
    const char *no_color;        /* NO_COLOR: counts when not empty */
    const char *clicolor_force;  /* CLICOLOR_FORCE: counts when neither empty nor "0" */
    const char *term;            /* TERM: no color when unset, empty or "dumb" */
    const char *columns;         /* COLUMNS */
    unsigned window_columns;     /* what the terminal says; 0 when it does not */
    enum as_color_choice color;  /* --color: wins over all of them */
    enum as_glyph_choice glyphs; /* --glyphs */
    unsigned width;              /* --width; 0 when not given */
};

struct as_term {
    bool color, unicode;
    unsigned width; /* columns, within the limits above */
};

/* Color: --color, then NO_COLOR, then CLICOLOR_FORCE, then a terminal that is not dumb.
 * Width: --width, then COLUMNS, then the window, then AS_TERM_WIDTH. */
struct as_term as_term_from(const struct as_term_inputs *in);

enum as_style {
    AS_STYLE_NONE,
    AS_STYLE_HEADING,
    AS_STYLE_GOOD,
    AS_STYLE_WARN,
    AS_STYLE_BAD,
    AS_STYLE_DIM,
    AS_STYLE_BAR,
    AS_STYLE_COUNT
};

/* The escape sequence that begins a style; "" without color. */
const char *as_term_style(const struct as_term *term, enum as_style style);

/* The one that ends it. */
const char *as_term_style_end(const struct as_term *term, enum as_style style);

enum as_glyph {
    AS_GLYPH_ELLIPSIS,
    AS_GLYPH_CHECK,
    AS_GLYPH_CROSS,
    AS_GLYPH_ARROW,
    AS_GLYPH_BULLET,
    AS_GLYPH_DASH,  /* a horizontal rule is made of these */
    AS_GLYPH_TIMES, /* 2.1x */
    AS_GLYPH_PLUSMINUS,
    AS_GLYPH_TREE_MID,  /* a branch with more below it */
    AS_GLYPH_TREE_LAST, /* the last branch */
    AS_GLYPH_TREE_PASS, /* beside the children of a branch with more below it */
    AS_GLYPH_TREE_GAP,  /* beside the children of the last branch */
    AS_GLYPH_COUNT
};

/* Never NULL; the four of the tree take three columns each. */
const char *as_term_glyph(const struct as_term *term, enum as_glyph glyph);

/* A bar from the left, `width` columns for a `share` of 1 (held to 0 to 1; not finite: nothing).
 * Anything above 0 shows at least the smallest mark. Returns the columns written; blanks up to
 * `width` are the caller's. */
unsigned as_term_bar(const struct as_term *term, struct as_out *out, double share, unsigned width);

/* At most `width` columns, one for each value or for the mean of several, between the least and the
 * greatest; a value that is not finite is a blank. Equal values give a line at half height. */
void as_term_spark(const struct as_term *term, struct as_out *out, const double *values,
                   size_t n_values, unsigned width);

/* `text`, which may come from outside, in a style. */
void as_term_put(const struct as_term *term, struct as_out *out, enum as_style style,
                 const char *text);

#endif
