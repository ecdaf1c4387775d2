/* report/page/layer_rows.h - the one table of layers: rows of any kind under columns that say how
 * their figures are shown. What a row has in a column is asked of the caller. */
#ifndef AS_REPORT_PAGE_LAYER_ROWS_H
#define AS_REPORT_PAGE_LAYER_ROWS_H

#include "report/page/page.h"

/* How a figure is shown; the first three stand at the left. */
enum as_shown {
    AS_SHOWN_TEXT,
    AS_SHOWN_BAR,
    AS_SHOWN_SPARK, /* made by the caller */
    AS_SHOWN_COUNT,
    AS_SHOWN_TIME,     /* nanoseconds */
    AS_SHOWN_INTERVAL, /* two of them, made by the caller */
    AS_SHOWN_SHARE,    /* 0 to 1, or above for a coefficient of variation */
    AS_SHOWN_NUMBER,   /* any other, in SI steps */
    AS_SHOWN_SI,       /* a count, whole below a thousand */
    AS_SHOWN_BYTES,
    AS_SHOWN_RATE, /* in 10^9 a second */
    AS_SHOWN_PLAIN /* with the decimals that suit it */
};

struct as_row_column {
    unsigned id;       /* the caller's */
    const char *title; /* the unit of times is added */
    enum as_shown shown;
    unsigned drop, min_width; /* as in struct as_table_column */
    bool may_shrink, identity;
    enum as_style style;
    struct as_time_scale scale; /* of times */
};

/* Begins as an unknown number: "-". */
struct as_row_cell {
    const char *text; /* shown instead of the number */
    double number;
    enum as_style style; /* AS_STYLE_NONE: the column's */
    bool doubtful;       /* too few samples carry it: dim, with a mark */
    char line[512];      /* room for text that has to be made */
};

struct as_layer_rows {
    const struct as_row_column *column;
    size_t n_columns, n_rows;
    size_t rule_at; /* a line stands above this row; 0: none */
    void *user;
    void (*get)(void *user, size_t row, const struct as_row_column *column,
                struct as_row_cell *cell);
};

/* "BatchNorm+Relu": an operator and what is fused into it, with the usual short names. */
void as_op_short(char *out, size_t capacity, const char *op, const char *fused);

/* Rows of a page, without those from rule_at on: a page of more is read by nobody and takes memory
 * for every cell. CSV and JSON are written row by row and have all. */
enum { AS_PAGE_ROWS_MAX = 5000 };

/* Rows above AS_PAGE_ROWS_MAX are left out, with a sentence that says so. */
void as_page_rows(struct as_page *page, const struct as_layer_rows *rows);

#endif
