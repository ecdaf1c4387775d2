/* report/page/page.c - headings, sentences and tables for a terminal and for Markdown. */
#include "report/page/page.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"

#define LINE_BYTES  2048
#define PAIR_WIDTH  13 /* of names, with the gap behind them */
#define PAIR_INDENT 2  /* before names: place for the mark of a warning */

void as_page_open(struct as_page *page, struct as_out *out, const struct as_term *term,
                  bool markdown)
{
    *page = (struct as_page){.out = out, .term = term, .markdown = markdown};
}

/* Ends a table of pairs in Markdown. */
static void end_pairs(struct as_page *page)
{
    if (page->in_pairs) {
        as_out_text(page->out, " |\n\n");
        page->blank = true;
    }
    page->in_pairs = false;
}

int as_page_close(struct as_page *page, struct assay_error *err)
{
    end_pairs(page);
    as_arena_fini(&page->arena);
    return page->nomem ? as_fail_nomem(err) : ASSAY_OK;
}

static bool is_ascii(const char *text)
{
    while (*text && (unsigned char)*text < 0x80)
        text++;
    return *text == '\0';
}

/* Every character past ASCII as \u00e9, and a byte that is not UTF-8 as '?'. */
static char *to_ascii(struct as_arena *arena, const char *text)
{
    size_t size = strlen(text), used = 0, capacity = 6 * size + 1;
    char *out = as_arena_alloc(arena, capacity);

    for (size_t i = 0; out && i < size;) {
        uint32_t code = '?';
        size_t n = as_utf8_decode(text + i, size - i, &code);

        if (code < 0x80)
            out[used++] = (char)code;
        else
            used += (size_t)snprintf(out + used, capacity - used,
                                     code > 0xffff ? "\\U%05x" : "\\u%04x", code);
        i += n ? n : 1;
    }
    if (out)
        out[used] = '\0';
    return out;
}

const char *as_page_name(struct as_page *page, const char *text)
{
    char *copy;

    if (!text)
        return "-";
    if (page->term->unicode || page->markdown || is_ascii(text))
        return text;
    copy = to_ascii(&page->arena, text);
    page->nomem |= !copy;
    return copy ? copy : "?";
}

const char *as_page_glyph(const struct as_page *page, enum as_glyph glyph)
{
    const struct as_term unicode = {.unicode = true};

    return as_term_glyph(page->markdown ? &unicode : page->term, glyph);
}

static void put_markdown(struct as_out *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_[]<>&|~$#", *text))
            as_out_char(out, '\\');
        as_out_char(out, *text);
    }
}

static void put_styled(struct as_page *page, enum as_style style, const char *text, size_t size)
{
    as_out_text(page->out, as_term_style(page->term, style));
    as_out_put(page->out, text, size);
    as_out_text(page->out, as_term_style_end(page->term, style));
}

/* Whether a word of `size` bytes is a unit that belongs to the number before it. */
static bool is_unit(const char *word, size_t size)
{
    static const char *const units[] = {
        "%",       "ns",    "us",     "ms",    "s",     "min",       "h",        "B",
        "KiB",     "MiB",   "GiB",    "TiB",   "k",     "M",         "G",        "FLOP",
        "MFLOP",   "GFLOP", "FLOP/s", "MMAC",  "GMAC",  "kMAC",      "kFLOP",    "MFLOP/s",
        "GFLOP/s", "GB/s",  "MB/s",   "CI",    "TFLOP", "GOP/s",     "TFLOP/s",  "FLOP/byte",
        "W",       "J",     "Hz",     "MHz",   "GHz",   "samples/s", "tokens/s", "MB",
        "GB",      "kB",    "B/s",    "KiB/s", "MiB/s",
    };

    while (size > 0 && strchr(",;:).", word[size - 1]))
        size--;
    for (size_t i = 0; i < AS_COUNT_OF(units); i++)
        if (strlen(units[i]) == size && memcmp(word, units[i], size) == 0)
            return true;
    return false;
}

/* The end of the line that begins at `at`: as many words as fit, at least one. A number and its
 * unit are one word. */
static size_t line_size(const char *at, size_t width)
{
    size_t fits = 0, i = 0;

    while (at[i]) {
        size_t word = i + strcspn(at + i, " ");
        size_t next = word + strspn(at + word, " ");

        while (next == word + 1 && strpbrk(at + i, "0123456789") &&
               strpbrk(at + i, "0123456789") < at + word &&
               is_unit(at + next, strcspn(at + next, " "))) {
            word = next + strcspn(at + next, " ");
            next = word + strspn(at + word, " ");
        }
        if (fits > 0 && as_utf8_width(at, word) > width)
            return fits;
        fits = word;
        i = next;
    }
    return fits;
}

static void put_blanks(struct as_page *page, size_t n)
{
    while (n-- > 0)
        as_out_char(page->out, ' ');
}

/* `text` from column `indent` on, where the cursor stands. */
static void put_hanging(struct as_page *page, enum as_style style, const char *text, size_t indent)
{
    size_t width = page->wide ? SIZE_MAX : page->term->width;
    size_t fit = width > indent + AS_TERM_WIDTH_MIN / 2 ? width - indent : AS_TERM_WIDTH_MIN / 2;

    while (*text) {
        size_t size = line_size(text, fit);

        put_styled(page, style, text, size);
        as_out_char(page->out, '\n');
        text += size + strspn(text + size, " ");
        if (*text)
            put_blanks(page, indent);
    }
}

static void put_wrapped(struct as_page *page, enum as_style style, const char *text)
{
    size_t blanks = strspn(text, " "), mark = strcspn(text + blanks, " ");
    size_t indent = blanks;

    /* "! text" and other marks stand alone before what they mark. */
    put_blanks(page, blanks);
    text += blanks;
    if (mark > 0 && text[mark] == ' ' && as_utf8_width(text, mark) <= 2 &&
        !((unsigned char)text[0] < 0x80 && isalnum((unsigned char)text[0]))) {
        put_styled(page, style, text, mark + 1);
        indent += as_utf8_width(text, mark) + 1;
        text += mark + 1;
    }
    put_hanging(page, style, text, indent);
}

static void put_cut(struct as_page *page, enum as_style style, const char *text)
{
    const char *ellipsis = as_term_glyph(page->term, AS_GLYPH_ELLIPSIS);
    size_t size = strlen(text), width = page->wide ? SIZE_MAX : page->term->width;
    struct as_utf8_cut cut =
        as_utf8_cut(text, size, width, as_utf8_width(ellipsis, strlen(ellipsis)));

    as_out_text(page->out, as_term_style(page->term, style));
    as_out_put(page->out, text, cut.head);
    if (cut.head < cut.tail)
        as_out_text(page->out, ellipsis);
    as_out_put(page->out, text + cut.tail, size - cut.tail);
    as_out_text(page->out, as_term_style_end(page->term, style));
    as_out_char(page->out, '\n');
}

/* What `text` may be shown as; NULL without memory. */
static const char *make_safe(struct as_page *page, const char *text)
{
    const char *name = as_page_name(page, text);
    const char *safe = as_utf8_safe(&page->arena, name, strlen(name));

    page->nomem |= !safe;
    page->started = true;
    page->blank = false;
    return safe;
}

void as_page_title(struct as_page *page, const char *text)
{
    const char *safe = make_safe(page, text);

    if (!safe)
        return;
    end_pairs(page);
    if (page->markdown) {
        as_out_text(page->out, "# ");
        put_markdown(page->out, safe);
        as_out_text(page->out, "\n\n");
    } else {
        put_cut(page, AS_STYLE_HEADING, safe);
    }
}

void as_page_heading(struct as_page *page, const char *heading, const char *note)
{
    end_pairs(page);
    if (page->started && !page->blank)
        as_out_char(page->out, '\n');
    page->started = true;
    page->blank = page->markdown;
    if (page->markdown) {
        as_out_text(page->out, "## ");
        put_markdown(page->out, heading);
        if (note) {
            as_out_text(page->out, ", ");
            put_markdown(page->out, note);
        }
        as_out_text(page->out, "\n\n");
        return;
    }
    put_styled(page, AS_STYLE_HEADING, heading, strlen(heading));
    if (note && !page->wide &&
        strlen(heading) + 2 + as_utf8_width(note, strlen(note)) > page->term->width) {
        as_out_char(page->out, '\n');
        put_hanging(page, AS_STYLE_DIM, note, 0);
        return;
    }
    if (note) {
        as_out_text(page->out, "  ");
        put_styled(page, AS_STYLE_DIM, note, strlen(note));
    }
    as_out_char(page->out, '\n');
}

static void put_line(struct as_page *page, enum as_style style, const char *text, bool cut)
{
    const char *safe = make_safe(page, text);

    if (!safe)
        return;
    end_pairs(page);
    if (page->markdown) {
        as_out_text(page->out, "- ");
        put_markdown(page->out, safe + strspn(safe, " "));
        as_out_char(page->out, '\n');
    } else if (cut) {
        put_cut(page, style, safe);
    } else {
        put_wrapped(page, style, safe);
    }
}

void as_page_line(struct as_page *page, enum as_style style, const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_line(page, style, text, false);
}

void as_page_cut_line(struct as_page *page, enum as_style style, const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_line(page, style, text, true);
}

/* A row of the table of pairs stays open: more of its value may follow. */
static void put_markdown_pair(struct as_page *page, const char *name, const char *value, bool blank)
{
    if (name || !page->in_pairs) {
        if (page->in_pairs)
            as_out_text(page->out, " |\n");
        else
            as_out_text(page->out, blank ? "| | |\n| :- | :- |\n" : "\n| | |\n| :- | :- |\n");
        as_out_text(page->out, "| ");
        put_markdown(page->out, name ? name : "");
        as_out_text(page->out, " | ");
    } else {
        as_out_text(page->out, "<br>");
    }
    put_markdown(page->out, value);
    page->in_pairs = true;
}

void as_page_pair(struct as_page *page, enum as_style style, const char *name, const char *fmt, ...)
{
    size_t width = page->pair_width ? page->pair_width : PAIR_WIDTH;
    bool warns = style == AS_STYLE_WARN || style == AS_STYLE_BAD,
         blank = !page->started || page->blank;
    char text[LINE_BYTES];
    const char *safe;
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    safe = make_safe(page, text);
    if (!safe)
        return;
    if (page->markdown) {
        put_markdown_pair(page, name, safe, blank);
        return;
    }
    as_out_text(page->out, warns && name ? "! " : "  ");
    as_out_text(page->out, name ? name : "");
    put_blanks(page, width > (name ? strlen(name) : 0) ? width - (name ? strlen(name) : 0) : 1);
    put_hanging(page, style, safe, PAIR_INDENT + width);
}

#define ITEM_INDENT 3

static void put_item(struct as_page *page, enum as_style style, const char *mark, const char *text)
{
    const char *safe = make_safe(page, text);

    if (!safe)
        return;
    end_pairs(page);
    as_out_text(page->out, mark);
    if (page->markdown) {
        put_markdown(page->out, safe);
        as_out_char(page->out, '\n');
    } else {
        put_hanging(page, style, safe, ITEM_INDENT);
    }
}

void as_page_item(struct as_page *page, enum as_style style, size_t number, const char *fmt, ...)
{
    char text[LINE_BYTES], mark[24];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)snprintf(mark, sizeof mark, "%zu. ", number);
    put_item(page, style, mark, text);
}

void as_page_item_more(struct as_page *page, enum as_style style, const char *fmt, ...)
{
    char text[LINE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_item(page, style, page->markdown ? "   - " : "   ", text);
}

void as_page_table(struct as_page *page, struct as_table *table)
{
    struct as_term term = *page->term;
    int rc;

    end_pairs(page);
    if (page->wide)
        term.width = AS_TERM_WIDTH_MAX;
    if (page->markdown) {
        if (page->started && !page->blank) /* else it would belong to the list above */
            as_out_char(page->out, '\n');
        rc = as_table_markdown(table, page->out, NULL);
        as_out_char(page->out, '\n');
    } else {
        rc = as_table_print(table, page->out, &term, NULL);
    }
    page->nomem |= rc < 0;
    page->started = true;
    page->blank = page->markdown;
    if (table->prefix)
        as_page_line(page, AS_STYLE_DIM, "names are below %s", table->prefix);
    as_table_fini(table);
}
