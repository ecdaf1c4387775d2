/* report/page/page.c - headings, sentences and tables for a terminal and for Markdown. */
#include "report/page/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

#define LINE_BYTES 2048

void as_page_open(struct as_page *page, struct as_out *out, const struct as_term *term,
                  bool markdown)
{
    *page = (struct as_page){.out = out, .term = term, .markdown = markdown};
}

int as_page_close(struct as_page *page, struct assay_error *err)
{
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

/* The end of the line that begins at `at`: as many words as fit, at least one. */
static size_t line_size(const char *at, size_t width)
{
    size_t fits = 0, i = 0;

    while (at[i]) {
        size_t word = i + strcspn(at + i, " ");

        if (fits > 0 && as_utf8_width(at, word) > width)
            return fits;
        fits = word;
        i = word + strspn(at + word, " ");
    }
    return fits;
}

static void put_wrapped(struct as_page *page, enum as_style style, const char *text)
{
    size_t width = page->wide ? SIZE_MAX : page->term->width;
    bool first = true;

    while (*text) {
        size_t indent = first ? 0 : 2;
        size_t size = line_size(text, width - indent);

        as_out_put(page->out, "  ", indent);
        put_styled(page, style, text, size);
        as_out_char(page->out, '\n');
        text += size + strspn(text + size, " ");
        first = false;
    }
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
    const char *safe =
        as_utf8_safe(&page->arena, as_page_name(page, text), strlen(as_page_name(page, text)));

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
    if (page->markdown) {
        as_out_text(page->out, "- ");
        put_markdown(page->out, safe);
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

void as_page_table(struct as_page *page, struct as_table *table)
{
    struct as_term term = *page->term;
    int rc;

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
    as_table_fini(table);
}
