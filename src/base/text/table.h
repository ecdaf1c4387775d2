/* base/text/table.h - one table, printed for a terminal or as Markdown from the same cells.
 * Running out of memory while filling it is remembered and told when it is printed. */
#ifndef AS_BASE_TEXT_TABLE_H
#define AS_BASE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/output.h"
#include "base/text/term.h"

#define AS_TABLE_MAX_COLUMNS 64

enum as_align { AS_ALIGN_LEFT, AS_ALIGN_RIGHT };

struct as_table_column {
    const char *title; /* may come from outside too; NULL: none */
    enum as_align align;
    unsigned min_width; /* columns it has at least; a shrinkable one is not cut below it (0: 8) */
    unsigned max_width; /* longer text is cut, also without need; 0: no maximum */
    bool may_shrink;    /* text may lose its middle to make the table fit */
    bool identity;      /* may shrink too, but rows that differ stay different: segments of a path
                           are abbreviated from the left, and optional columns go first */
    unsigned
        drop; /* 0: always shown; otherwise the highest goes first when the table does not fit */
    enum as_style style; /* of cells that have none of their own */
};

struct as_table_cell;
struct as_table_row;

/* Filled by as_table_init(); the columns are borrowed, titles and text of cells are copied. */
struct as_table {
    const struct as_table_column *columns;
    size_t n_columns;
    struct as_table_cell *titles;
    struct as_table_row *first, *last;
    size_t n_rows; /* rules not counted */
    size_t n_cells_in_row;
    struct as_arena arena;
    const char *prefix; /* set by as_table_print(): what all names began with and lost; or NULL */
    bool nomem;
};

/* At most AS_TABLE_MAX_COLUMNS columns. */
void as_table_init(struct as_table *t, const struct as_table_column *columns, size_t n_columns);

/* Accepts a table already emptied. */
void as_table_fini(struct as_table *t);

/* Begins a row; cells then fill it from the left, and those not given stay empty. */
void as_table_row(struct as_table *t);

/* A horizontal line between rows; Markdown has none and leaves it out. */
void as_table_rule(struct as_table *t);

/* One cell; `text` may come from outside and is escaped when printed. AS_STYLE_NONE means the
 * column's. */
void as_table_text(struct as_table *t, enum as_style style, const char *text);
void as_table_text_n(struct as_table *t, enum as_style style, const char *text, size_t size);
AS_PRINTF(3, 4)
void as_table_printf(struct as_table *t, enum as_style style, const char *fmt, ...);

/* A horizontal bar for a share of 0 to 1; as wide as its column's min_width (0: 10). */
void as_table_bar(struct as_table *t, enum as_style style, double share);
void as_table_empty(struct as_table *t);

/* Prints within term->width: first shrinkable columns are cut down to their least width, then
 * columns are dropped, and only then do lines grow too long, for a number is never cut. Names of
 * layers that do not fit lose the prefix that they share. Returns how many columns were dropped, or
 * ASSAY_ERR_NOMEM. */
AS_MUST_USE int as_table_print(struct as_table *t, struct as_out *out, const struct as_term *term,
                               struct assay_error *err);

/* The same cells, whole, as a GitHub table; what Markdown or HTML would take for markup is escaped.
 */
AS_MUST_USE int as_table_markdown(const struct as_table *t, struct as_out *out,
                                  struct assay_error *err);

#endif
