/* report/page/page.h - headings, sentences and tables for a terminal and for Markdown.
 * Text from outside is made safe here; running out of memory is told by as_page_close(). */
#ifndef AS_REPORT_PAGE_PAGE_H
#define AS_REPORT_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/finding.h"
#include "base/output.h"
#include "base/text/table.h"
#include "base/text/term.h"
#include "base/text/text.h"

/* ---- time_columns.c ---- */

struct as_time_scale {
    enum as_time_unit unit;
    unsigned decimals;
};

/* What suits a column whose largest time is that; `wanted` other than AS_TIME_AUTO sets the unit.
 */
struct as_time_scale as_time_scale_for(double largest_ns, enum as_time_unit wanted);

/* The number alone: the unit stands in the column's title. Not finite: "-". */
size_t as_text_scaled(char out[AS_TEXT_HUMAN], double ns, struct as_time_scale scale);

/* "0.02 %": two digits also of a small share. Not finite: "-". */
size_t as_text_share(char out[AS_TEXT_HUMAN], double share);

/* "2026-11-15 20:47:25 UTC" of nanoseconds since 1970; "-" when it cannot be told. */
size_t as_text_date(char out[AS_TEXT_HUMAN], uint64_t real_ns);

/* ---- page.c ---- */

struct as_page {
    struct as_out *out;         /* borrowed */
    const struct as_term *term; /* borrowed */
    bool markdown;
    bool wide;           /* lines are neither cut nor wrapped */
    bool started;        /* something stands above: a heading leaves a gap */
    bool blank;          /* an empty line stands above already */
    bool in_pairs;       /* Markdown: a row of a table of pairs is open */
    unsigned pair_width; /* columns before the values of pairs; 0: the usual ones */
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

/* A sentence, wrapped at the width; lines that follow begin where its text does, after blanks. */
AS_PRINTF(3, 4)
void as_page_line(struct as_page *page, enum as_style style, const char *fmt, ...);

/* "latency      p50 7.96 ms": a name and its value, wrapped below the value's beginning; a warning
 * has a mark. A NULL name continues the value above. Markdown gets a table of two columns. */
AS_PRINTF(4, 5)
void as_page_pair(struct as_page *page, enum as_style style, const char *name, const char *fmt,
                  ...);

/* "1. Try --threads 1": an item of a list, wrapped below its text; more of it follows below. */
AS_PRINTF(4, 5)
void as_page_item(struct as_page *page, enum as_style style, size_t number, const char *fmt, ...);
AS_PRINTF(3, 4)
void as_page_item_more(struct as_page *page, enum as_style style, const char *fmt, ...);

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

/* ---- findings.c ---- */

/* Recommendations under a heading, in their order: what to do, why, how sure. Nothing without any.
 */
void as_page_findings(struct as_page *page, const char *heading,
                      const struct assay_finding *findings, size_t n);

/* ---- cells.c ---- */

/* A right-aligned column of times; its title is kept in `text`. */
struct as_time_column {
    struct as_time_scale scale;
    char text[40];
};

/* Chooses the unit by the largest time and writes the title "self ms". */
struct as_table_column as_column_time(struct as_time_column *column, const char *title,
                                      double largest_ns, enum as_time_unit unit);

void as_cell_time(struct as_table *t, const struct as_time_column *column, double ns);

/* The same, dim and with a mark when too few samples carry it. */
void as_cell_tail(struct as_table *t, const struct as_time_column *column, double ns,
                  bool supported);
void as_cell_count(struct as_table *t, uint64_t n);
void as_cell_share(struct as_table *t, double share);

/* Values of any unit, all with the decimals that suit them together. */
void as_cell_values(struct as_table *t, const double *value, size_t n);

#endif
