/* report/page/page.h - headings, sentences and tables for a terminal and for Markdown.
 * Text from outside is made safe here; running out of memory is told by as_page_close(). */
#ifndef AS_REPORT_PAGE_PAGE_H
#define AS_REPORT_PAGE_PAGE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/output.h"
#include "base/text/table.h"
#include "base/text/term.h"

struct as_page {
    struct as_out *out;         /* borrowed */
    const struct as_term *term; /* borrowed */
    bool markdown;
    bool wide;    /* lines are neither cut nor wrapped */
    bool started; /* something stands above: a heading leaves a gap */
    bool blank;   /* an empty line stands above already */
    bool nomem;
    struct as_arena arena;
};

/* End with as_page_close(). */
void as_page_open(struct as_page *page, struct as_out *out, const struct as_term *term,
                  bool markdown);

/* ASSAY_ERR_NOMEM when something had to be left out. */
AS_MUST_USE int as_page_close(struct as_page *page, struct assay_error *err);

/* The name of the whole page, on one line. */
void as_page_title(struct as_page *page, const char *text);

/* Begins a section; `note` stands beside the heading and may be NULL. */
void as_page_heading(struct as_page *page, const char *heading, const char *note);

/* A sentence, wrapped at the width. */
AS_PRINTF(3, 4)
void as_page_line(struct as_page *page, enum as_style style, const char *fmt, ...);

/* The same on one line, cut in its middle where it is too long. */
AS_PRINTF(3, 4)
void as_page_cut_line(struct as_page *page, enum as_style style, const char *fmt, ...);

/* Prints and empties `table`. */
void as_page_table(struct as_page *page, struct as_table *table);

/* `text` as it may stand in a cell or a sentence: in ASCII mode other characters become \u00e9.
 * Borrowed from the page. NULL gives "-". */
const char *as_page_name(struct as_page *page, const char *text);

/* The glyph for that page. */
const char *as_page_glyph(const struct as_page *page, enum as_glyph glyph);

#endif
