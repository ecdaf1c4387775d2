/* base/text/csv.h - comma-separated values, written and read as in RFC 4180, with \n after each
 * row. A safe writer puts an apostrophe before text that a spreadsheet could run as a formula. */
#ifndef AS_BASE_TEXT_CSV_H
#define AS_BASE_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/output.h"

/* {.out = out} is a writer at the start of a row; `out` is borrowed. */
struct as_csv_writer {
    struct as_out *out;
    bool safe;         /* guard text that a spreadsheet would run as a formula */
    size_t n_fields;   /* in the row so far */
    bool row_is_empty; /* its one field has no bytes yet */
};

/* Quoted where needed. A table may be shown on a terminal: what as_utf8_put_safe() escapes is
 * escaped, but for the newline and TAB of quoted text. With `safe`, text that begins with = + - @
 * or TAB, after any number of apostrophes, gets one more apostrophe in front, so that undoing it
 * is exact. */
void as_csv_text_n(struct as_csv_writer *w, const char *text, size_t size);
void as_csv_u64(struct as_csv_writer *w, uint64_t value);
void as_csv_i64(struct as_csv_writer *w, int64_t value);

/* Empty when `value` is not finite. */
void as_csv_f64(struct as_csv_writer *w, double value);

/* Nanoseconds, rounded to 0.001: what lies below is not measured. Empty when not finite. */
void as_csv_ns(struct as_csv_writer *w, double value);

/* Whether the heading is that of a time in nanoseconds: it ends in "_ns". */
bool as_csv_is_ns(const char *key);

/* A field without a value: not available. */
void as_csv_empty(struct as_csv_writer *w);

/* Ends the row; a row of one empty field is written as "" so that it is not lost. */
void as_csv_row_end(struct as_csv_writer *w);

/* NULL is an empty field. */
static inline void as_csv_text(struct as_csv_writer *w, const char *text)
{
    as_csv_text_n(w, text ? text : "", text ? strlen(text) : 0);
}

struct as_csv_field {
    const char *text; /* NUL-terminated, though it may hold NUL itself */
    size_t size;
};

struct as_csv_reader {
    struct as_cursor in;
    const uint8_t *start;
    size_t max_fields;           /* in a row; 4096 unless set */
    size_t max_field_bytes;      /* 1 MiB unless set */
    bool undo_guard;             /* take away the apostrophe the writer put before a formula */
    uint64_t line;               /* where the row begins, from 1 */
    uint64_t next_line;          /* private: where the next one does */
    struct as_csv_field *fields; /* of the row, borrowed until the next one */
    size_t n_fields, capacity_fields;
    struct as_buffer bytes;   /* what the fields point into */
    struct assay_error fault; /* the first error; it stays */
};

/* Reads `size` bytes, which must outlive the reader. A byte order mark is passed over. Limits and
 * options may be set after this. */
void as_csv_reader_init(struct as_csv_reader *r, const void *data, size_t size);

/* Accepts a reader already emptied. */
void as_csv_reader_fini(struct as_csv_reader *r);

/* The number of fields of the next row, 0 at the end, or a negative code: ASSAY_ERR_FORMAT for a
 * quote out of place or a lone CR, ASSAY_ERR_LIMIT, ASSAY_ERR_NOMEM; the sentence has the line, the
 * error the byte. Rows end with LF or CRLF; empty lines are passed over. After an error every call
 * repeats it. */
AS_MUST_USE int as_csv_next(struct as_csv_reader *r, struct assay_error *err);

/* NULL is an empty field. */
void as_csv_name(struct as_csv_writer *w, const char *text);

#endif
