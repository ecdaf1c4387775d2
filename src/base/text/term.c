/* base/text/term.c - what the terminal can do, its styles and its glyphs. */
#include "base/text/term.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/units.h"

static bool is_set(const char *variable)
{
    return variable && *variable;
}

static bool choose_color(const struct as_term_inputs *in)
{
    if (in->color != AS_COLOR_AUTO)
        return in->color == AS_COLOR_ALWAYS;
    if (is_set(in->no_color))
        return false;
    if (is_set(in->clicolor_force) && strcmp(in->clicolor_force, "0") != 0)
        return true;
    return in->is_tty && is_set(in->term) && strcmp(in->term, "dumb") != 0;
}

static unsigned choose_width(const struct as_term_inputs *in)
{
    uint64_t width = in->width;
    uint64_t columns;

    if (!width && is_set(in->columns) && as_parse_u64(in->columns, strlen(in->columns), &columns))
        width = columns;
    if (!width)
        width = in->window_columns;
    if (!width)
        width = AS_TERM_WIDTH;
    if (width < AS_TERM_WIDTH_MIN)
        return AS_TERM_WIDTH_MIN;
    return width > AS_TERM_WIDTH_MAX ? AS_TERM_WIDTH_MAX : (unsigned)width;
}

struct as_term as_term_from(const struct as_term_inputs *in)
{
    return (struct as_term){
        .color = choose_color(in),
        .unicode = in->glyphs == AS_GLYPHS_AUTO ? in->utf8_locale : in->glyphs == AS_GLYPHS_UNICODE,
        .width = choose_width(in),
    };
}

static const char *const style_begin[] = {
    [AS_STYLE_NONE] = "",         [AS_STYLE_HEADING] = "\x1b[1m", [AS_STYLE_GOOD] = "\x1b[32m",
    [AS_STYLE_WARN] = "\x1b[33m", [AS_STYLE_BAD] = "\x1b[31m",    [AS_STYLE_DIM] = "\x1b[2m",
    [AS_STYLE_BAR] = "\x1b[36m",
};
_Static_assert(AS_COUNT_OF(style_begin) == AS_STYLE_COUNT, "give every style");

const char *as_term_style(const struct as_term *term, enum as_style style)
{
    return term->color && (unsigned)style < AS_STYLE_COUNT ? style_begin[style] : "";
}

const char *as_term_style_end(const struct as_term *term, enum as_style style)
{
    return *as_term_style(term, style) ? "\x1b[0m" : "";
}

static const struct {
    const char *unicode, *ascii;
} glyphs[] = {
    [AS_GLYPH_ELLIPSIS] = {"…", "..."},    [AS_GLYPH_CHECK] = {"✓", "ok"},
    [AS_GLYPH_CROSS] = {"✗", "x"},         [AS_GLYPH_ARROW] = {"→", "->"},
    [AS_GLYPH_BULLET] = {"•", "*"},        [AS_GLYPH_DASH] = {"─", "-"},
    [AS_GLYPH_TIMES] = {"×", "x"},         [AS_GLYPH_PLUSMINUS] = {"±", "+-"},
    [AS_GLYPH_TREE_MID] = {"├─ ", "|- "},  [AS_GLYPH_TREE_LAST] = {"└─ ", "`- "},
    [AS_GLYPH_TREE_PASS] = {"│  ", "|  "}, [AS_GLYPH_TREE_GAP] = {"   ", "   "},
};
_Static_assert(AS_COUNT_OF(glyphs) == AS_GLYPH_COUNT, "draw every glyph");

const char *as_term_glyph(const struct as_term *term, enum as_glyph glyph)
{
    if ((unsigned)glyph >= AS_GLYPH_COUNT)
        return "";
    return term->unicode ? glyphs[glyph].unicode : glyphs[glyph].ascii;
}

unsigned as_term_bar(const struct as_term *term, struct as_out *out, double share, unsigned width)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned steps = term->unicode ? 8 : 1; /* marks a column can tell apart */
    unsigned filled;

    if (!isfinite(share) || share <= 0 || width == 0)
        return 0;
    if (width > AS_TERM_WIDTH_MAX)
        width = AS_TERM_WIDTH_MAX;
    filled = share >= 1 ? width * steps : (unsigned)(share * width * steps + 0.5);
    if (filled == 0)
        filled = 1;
    for (unsigned i = 0; i < filled / steps; i++)
        as_out_text(out, term->unicode ? "█" : "#");
    as_out_text(out, part[filled % steps]);
    return (filled + steps - 1) / steps;
}

/* The mean of the finite values in column `i` of `n`; not finite when there is none. */
static double column_mean(const double *values, size_t n_values, size_t i, size_t n)
{
    size_t from = i * n_values / n, to = (i + 1) * n_values / n, n_finite = 0;
    double mean = 0;

    for (size_t k = from; k < to; k++)
        n_finite += isfinite(values[k]) ? 1 : 0;
    if (n_finite == 0)
        return AS_UNKNOWN;
    for (size_t k = from; k < to; k++)
        mean += isfinite(values[k]) ? values[k] / (double)n_finite : 0;
    return mean;
}

void as_term_spark(const struct as_term *term, struct as_out *out, const double *values,
                   size_t n_values, unsigned width)
{
    static const char *const block[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const mark[] = {".", ":", "-", "=", "+", "*", "#", "@"};
    size_t n = n_values < width ? n_values : width;
    double low = (double)INFINITY, high = -(double)INFINITY;

    for (size_t i = 0; i < n; i++) {
        double v = column_mean(values, n_values, i, n);

        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    for (size_t i = 0; i < n; i++) {
        double v = column_mean(values, n_values, i, n);
        /* Halves, because the distance between two finite numbers need not be finite. */
        double height = high > low ? (v / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
        size_t level;

        if (!isfinite(v)) {
            as_out_char(out, ' ');
            continue;
        }
        level = height > 0 ? (size_t)(height * 7 + 0.5) : 0;
        as_out_text(out, (term->unicode ? block : mark)[level < 8 ? level : 7]);
    }
}

void as_term_put(const struct as_term *term, struct as_out *out, enum as_style style,
                 const char *text)
{
    as_out_text(out, as_term_style(term, style));
    as_utf8_put_safe(out, text, strlen(text));
    as_out_text(out, as_term_style_end(term, style));
}
