/* base/text/csv.c - comma-separated values, written and read as in RFC 4180, with \n after each
 * row. A safe writer puts an apostrophe before text that a spreadsheet could run as a formula. */
#include "base/text/csv.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text/text.h"
#include "base/text/utf8.h"
#include "base/vec.h"

#define AS_CSV_MAX_FIELDS      4096
#define AS_CSV_MAX_FIELD_BYTES ((size_t)1 << 20)

static const char byte_order_mark[] = "\xef\xbb\xbf";

static void begin_field(struct as_csv_writer *w, size_t size)
{
    if (w->n_fields > 0)
        as_out_char(w->out, ',');
    w->row_is_empty = w->n_fields == 0 && size == 0;
    w->n_fields++;
}

/* True for what a spreadsheet takes for a formula, with or without apostrophes before it. */
static bool is_formula(const char *text, size_t size)
{
    size_t i = 0;

    while (i < size && text[i] == '\'')
        i++;
    return i < size && text[i] && strchr("=+-@\t\r", text[i]);
}

/* It is not written as such, so no spreadsheet sees it. */
static bool begins_with_cr(const char *text, size_t size)
{
    size_t i = 0;

    while (i < size && text[i] == '\'')
        i++;
    return i < size && text[i] == '\r';
}

static bool needs_quotes(const char *text, size_t size)
{
    if (size == 0)
        return false;
    if (text[0] == ' ' || text[size - 1] == ' ')
        return true;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n')
            return true;
    }
    return false;
}

/* How many bytes from the start are written as they are. */
static size_t harmless_run(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && ((text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"') || text[n] == '\n' ||
                        text[n] == '\t'))
        n++;
    return n;
}

/* One code point, or a byte that is none; returns its bytes. */
static size_t put_special(struct as_out *out, const char *text, size_t size)
{
    char escaped[12];
    const char *piece;
    size_t n, used;

    if (*text == '"') {
        as_out_put(out, "\"\"", 2);
        return 1;
    }
    used = as_utf8_next_safe(text, size, escaped, &piece, &n);
    as_out_put(out, piece, n);
    return used;
}

void as_csv_text_n(struct as_csv_writer *w, const char *text, size_t size)
{
    bool quoted = needs_quotes(text, size);

    begin_field(w, size);
    if (quoted)
        as_out_char(w->out, '"');
    if (w->safe && is_formula(text, size) && !begins_with_cr(text, size))
        as_out_char(w->out, '\'');
    while (size > 0) {
        size_t n = harmless_run(text, size);

        as_out_put(w->out, text, n);
        if (n == 0)
            n = put_special(w->out, text, size);
        text += n;
        size -= n;
    }
    if (quoted)
        as_out_char(w->out, '"');
}

/* Numbers are written where they will stand. Room for a comma and the longest of them; NULL when
 * there is none. */
static inline char *begin_number(struct as_csv_writer *w)
{
    struct as_out *out = w->out;
    char *at;

    if (out->capacity - out->used < AS_TEXT_FLOAT + 1 && !as_out_reserve(out, AS_TEXT_FLOAT + 1))
        return NULL;
    at = out->buf + out->used;
    if (w->n_fields > 0)
        *at++ = ',';
    return at;
}

static inline void end_number(struct as_csv_writer *w, const char *at, size_t size)
{
    size_t written = size + (w->n_fields > 0);

    w->row_is_empty = at && w->n_fields == 0 && size == 0;
    w->n_fields++;
    w->out->used += at ? written : 0;
    w->out->total_bytes += at ? written : 0;
}

void as_csv_u64(struct as_csv_writer *w, uint64_t value)
{
    char *at = begin_number(w);

    end_number(w, at, at ? as_text_u64(at, value) : 0);
}

void as_csv_i64(struct as_csv_writer *w, int64_t value)
{
    char *at = begin_number(w);

    end_number(w, at, at ? as_text_i64(at, value) : 0);
}

void as_csv_f64(struct as_csv_writer *w, double value)
{
    char *at = begin_number(w);

    end_number(w, at, at ? as_text_f64(at, value) : 0);
}

void as_csv_ns(struct as_csv_writer *w, double value)
{
    const double most = 1e12; /* beyond it a double has no such digits; NaN stays as it is */

    if (value > -most && value < most)
        value = (double)(int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5)) / 1000;
    as_csv_f64(w, value);
}

bool as_csv_is_ns(const char *key)
{
    size_t size = key ? strlen(key) : 0;

    return size > 3 && strcmp(key + size - 3, "_ns") == 0;
}

void as_csv_empty(struct as_csv_writer *w)
{
    begin_field(w, 0);
}

void as_csv_row_end(struct as_csv_writer *w)
{
    if (w->row_is_empty)
        as_out_put(w->out, "\"\"", 2);
    as_out_char(w->out, '\n');
    w->n_fields = 0;
    w->row_is_empty = false;
}

void as_csv_reader_init(struct as_csv_reader *r, const void *data, size_t size)
{
    *r = (struct as_csv_reader){
        .in = as_cursor_over(data, size),
        .start = data,
        .max_fields = AS_CSV_MAX_FIELDS,
        .max_field_bytes = AS_CSV_MAX_FIELD_BYTES,
        .next_line = 1,
    };
    if (size >= 3 && memcmp(data, byte_order_mark, 3) == 0)
        r->in.at += 3;
}

void as_csv_reader_fini(struct as_csv_reader *r)
{
    as_free(r->fields);
    as_buffer_fini(&r->bytes);
    *r = (struct as_csv_reader){0};
}

static uint64_t offset_of(const struct as_csv_reader *r)
{
    return (uint64_t)(r->in.at - r->start);
}

static int wrong(struct as_csv_reader *r, const char *what)
{
    return as_fail_at(&r->fault, offset_of(r), "CSV line %" PRIu64 ": %s", r->next_line, what);
}

static int too_much(struct as_csv_reader *r, const char *what, size_t limit)
{
    uint64_t offset = offset_of(r);
    int rc = as_fail(&r->fault, ASSAY_ERR_LIMIT, "CSV line %" PRIu64 ": %s than %zu", r->next_line,
                     what, limit);

    r->fault.offset = offset;
    return rc;
}

static bool next_is(const struct as_csv_reader *r, char c)
{
    return as_cursor_left(&r->in) > 0 && *r->in.at == (uint8_t)c;
}

/* Takes the end of a row if it stands here. */
static bool take_row_end(struct as_csv_reader *r)
{
    if (as_cursor_left(&r->in) >= 2 && r->in.at[0] == '\r' && r->in.at[1] == '\n')
        r->in.at += 2;
    else if (next_is(r, '\n'))
        r->in.at++;
    else
        return false;
    r->next_line++;
    return true;
}

/* Moves `n` bytes of the input into the field that began at `from` in the row's bytes. */
static int add_bytes(struct as_csv_reader *r, size_t from, size_t n)
{
    size_t have = r->bytes.size - from;

    if (have > r->max_field_bytes || n > r->max_field_bytes - have)
        return too_much(r, "a field has more bytes", r->max_field_bytes);
    if (!as_buffer_add(&r->bytes, r->in.at, n))
        return as_fail_nomem(&r->fault);
    r->in.at += n;
    return ASSAY_OK;
}

/* Bytes until one that means something where the field is not quoted. */
static size_t plain_run(const struct as_csv_reader *r)
{
    const uint8_t *p = r->in.at;

    while (p < r->in.end && *p != ',' && *p != '"' && *p != '\r' && *p != '\n')
        p++;
    return (size_t)(p - r->in.at);
}

static int read_plain(struct as_csv_reader *r, size_t from)
{
    int rc = add_bytes(r, from, plain_run(r));

    if (rc < 0)
        return rc;
    if (next_is(r, '"'))
        return wrong(r, "a quote inside a field that is not quoted");
    return ASSAY_OK;
}

static int read_quoted(struct as_csv_reader *r, size_t from)
{
    uint64_t opened_line = r->next_line;

    r->in.at++;
    for (;;) {
        const uint8_t *quote =
            as_cursor_left(&r->in) ? memchr(r->in.at, '"', as_cursor_left(&r->in)) : NULL;
        size_t n = quote ? (size_t)(quote - r->in.at) : as_cursor_left(&r->in);
        const uint8_t *text = r->in.at;
        int rc = add_bytes(r, from, n);

        if (rc < 0)
            return rc;
        for (size_t i = 0; i < n; i++)
            r->next_line += text[i] == '\n';
        if (!quote) {
            r->next_line = opened_line;
            return wrong(r, "a quoted field without an end");
        }
        r->in.at++;
        if (!next_is(r, '"'))
            return ASSAY_OK;
        rc = add_bytes(r, from, 1); /* two quotes stand for one */
        if (rc < 0)
            return rc;
    }
}

static int add_field(struct as_csv_reader *r, size_t from)
{
    if (!AS_VEC_RESERVE(r->fields, r->n_fields, r->capacity_fields))
        return as_fail_nomem(&r->fault);
    /* The bytes may move while the row grows, so the pointer is set when it is complete. */
    r->fields[r->n_fields++] = (struct as_csv_field){.size = r->bytes.size - from};
    return as_buffer_add(&r->bytes, "", 1) ? ASSAY_OK : as_fail_nomem(&r->fault);
}

static void point_fields(struct as_csv_reader *r)
{
    const char *at = (const char *)r->bytes.data;

    for (size_t i = 0; i < r->n_fields; i++) {
        struct as_csv_field *f = &r->fields[i];

        f->text = at;
        at += f->size + 1;
        if (r->undo_guard && f->size > 1 && f->text[0] == '\'' && is_formula(f->text, f->size)) {
            f->text++;
            f->size--;
        }
    }
}

static int read_field(struct as_csv_reader *r)
{
    size_t from = r->bytes.size;
    int rc;

    if (r->n_fields >= r->max_fields)
        return too_much(r, "a row has more fields", r->max_fields);
    rc = next_is(r, '"') ? read_quoted(r, from) : read_plain(r, from);
    return rc < 0 ? rc : add_field(r, from);
}

static int read_row(struct as_csv_reader *r)
{
    while (take_row_end(r))
        continue;
    if (as_cursor_left(&r->in) == 0)
        return 0;
    r->line = r->next_line;
    for (;;) {
        int rc = read_field(r);

        if (rc < 0)
            return rc;
        if (next_is(r, ',')) {
            r->in.at++;
            continue;
        }
        if (!take_row_end(r) && as_cursor_left(&r->in) > 0)
            return wrong(r, next_is(r, '\r') ? "a carriage return without a newline"
                                             : "text after the closing quote");
        return (int)r->n_fields;
    }
}

int as_csv_next(struct as_csv_reader *r, struct assay_error *err)
{
    int rc = r->fault.code;

    r->n_fields = 0;
    r->bytes.size = 0;
    if (r->max_fields > INT_MAX)
        r->max_fields = INT_MAX;
    if (rc == ASSAY_OK)
        rc = read_row(r);
    if (rc < 0 && err)
        *err = r->fault;
    if (rc < 0)
        r->n_fields = 0;
    point_fields(r);
    return rc;
}

static bool is_harmless(const char *text)
{
    while (*text >= 0x20 && *text < 0x7f)
        text++;
    return *text == '\0';
}

/* Text from outside: a CSV file is looked at on terminals too. NULL is an empty field. */
void as_csv_name(struct as_csv_writer *w, const char *text)
{
    struct as_arena scratch = {0};
    const char *safe;

    if (!text || is_harmless(text)) {
        as_csv_text(w, text);
        return;
    }
    safe = as_utf8_safe(&scratch, text, strlen(text));
    w->out->nomem |= !safe;
    as_csv_text(w, safe);
    as_arena_fini(&scratch);
}
