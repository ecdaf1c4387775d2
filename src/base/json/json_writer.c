/* base/json/json_writer.c - JSON as a stream, straight into an as_out, never held as a tree. */
#include "base/json/json_writer.h"

#include <assert.h>

#include "base/text/text.h"
#include "base/text/utf8.h"

void as_json_writer_init(struct as_json_writer *w, struct as_out *out, unsigned indent)
{
    *w = (struct as_json_writer){.out = out, .indent = indent, .first = true};
}

int as_json_writer_finish(const struct as_json_writer *w, struct assay_error *err)
{
    if (w->too_deep)
        return as_fail(err, ASSAY_ERR_LIMIT, "JSON nested deeper than %d levels",
                       AS_JSON_WRITE_DEPTH);
    if (w->misused)
        return as_fail(err, ASSAY_ERR_STATE, "JSON was written in a wrong order");
    if (!w->done)
        return as_fail(err, ASSAY_ERR_STATE, "JSON was left unfinished, %u levels open", w->depth);
    return ASSAY_OK;
}

static void misuse(struct as_json_writer *w)
{
    /* What follows a too deep level is out of order through no fault of the caller. */
    assert(w->too_deep && "JSON calls out of order");
    w->misused = true;
}

static bool in_object(const struct as_json_writer *w)
{
    return w->depth > 0 && (w->objects >> (w->depth - 1) & 1);
}

static void new_line(struct as_json_writer *w)
{
    static const char spaces[] = "                                ";
    size_t left = (size_t)w->depth * w->indent;

    as_out_char(w->out, '\n');
    while (left > 0) {
        size_t n = left < sizeof spaces - 1 ? left : sizeof spaces - 1;

        as_out_put(w->out, spaces, n);
        left -= n;
    }
}

/* Comma and white space before a member or an element. */
static inline void separate(struct as_json_writer *w)
{
    if (!w->first)
        as_out_char(w->out, ',');
    if (w->indent && w->depth)
        new_line(w);
    w->first = false;
}

/* True when a value may be written here; then what must stand before it has been. */
static inline bool begin_value(struct as_json_writer *w)
{
    bool wanted = w->after_key || (!in_object(w) && !w->done);

    if (!wanted || w->misused || w->too_deep) {
        misuse(w);
        return false;
    }
    if (!w->after_key)
        separate(w);
    w->after_key = false;
    w->done = w->depth == 0;
    return true;
}

static void open_container(struct as_json_writer *w, char bracket, uint64_t is_object)
{
    if (w->depth == AS_JSON_WRITE_DEPTH)
        w->too_deep = true;
    if (!begin_value(w))
        return;
    as_out_char(w->out, bracket);
    w->objects = (w->objects & ~(UINT64_C(1) << w->depth)) | is_object << w->depth;
    w->depth++;
    w->first = true;
    w->done = false;
}

static void close_container(struct as_json_writer *w, char bracket, bool is_object)
{
    bool was_empty = w->first;

    if (w->depth == 0 || in_object(w) != is_object || w->after_key || w->misused || w->too_deep) {
        misuse(w);
        return;
    }
    w->depth--;
    if (w->indent && !was_empty)
        new_line(w);
    as_out_char(w->out, bracket);
    w->first = false;
    w->done = w->depth == 0;
}

void as_json_object(struct as_json_writer *w)
{
    open_container(w, '{', 1);
}

void as_json_object_end(struct as_json_writer *w)
{
    close_container(w, '}', true);
}

void as_json_array(struct as_json_writer *w)
{
    open_container(w, '[', 0);
}

void as_json_array_end(struct as_json_writer *w)
{
    close_container(w, ']', false);
}

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
}

/* A high bit in each byte that is_plain() refuses, perhaps in bytes above such a one too; the first
 * is exact. */
static inline uint64_t not_plain(uint64_t v)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\', less = v ^ ones * '<',
             del = v ^ ones * 0x7f;

    return (v | (v - ones * 0x20) | (quote - ones) | (backslash - ones) | (less - ones) |
            (del - ones)) &
           (ones * 0x80);
}

/* How many bytes from the start need no escape. */
static inline size_t plain_run(const char *text, size_t size)
{
    size_t n = 0;

    while (size - n >= 8) {
        uint64_t eight;

        memcpy(&eight, text + n, 8);
        if (not_plain(eight))
            break;
        n += 8;
    }
    while (n < size && is_plain((unsigned char)text[n]))
        n++;
    return n;
}

/* Whatever a terminal must not get, and '<'. */
static bool must_escape(uint32_t code)
{
    return code == '<' || as_utf8_is_unsafe(code);
}

static void put_unit(struct as_out *out, uint32_t unit)
{
    char escape[6] = {'\\', 'u'};

    for (unsigned i = 0; i < 4; i++)
        escape[2 + i] = "0123456789abcdef"[unit >> (12 - 4 * i) & 15];
    as_out_put(out, escape, 6);
}

/* Writes the one code point `text` begins with, escaped, and returns its bytes. */
static size_t put_special(struct as_out *out, const char *text, size_t size)
{
    static const char letter[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                  ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    char escape[2] = {'\\', 0};
    uint32_t code = 0;
    size_t n = as_utf8_decode(text, size, &code);

    if (n == 0) {
        as_out_text(out, AS_UTF8_REPLACEMENT);
        return 1;
    }
    if (code < sizeof letter && letter[code]) {
        escape[1] = letter[code];
        as_out_put(out, escape, 2);
    } else if (must_escape(code)) {
        if (code >= 0x10000) /* two halves, as JSON has it */
            put_unit(out, 0xd800 + ((code - 0x10000) >> 10));
        put_unit(out, code < 0x10000 ? code : 0xdc00 + (code & 0x3ff));
    } else {
        as_out_put(out, text, n);
    }
    return n;
}

static void put_escaped(struct as_out *out, const char *text, size_t size)
{
    size_t at = 0;

    while (at < size) {
        size_t n = plain_run(text + at, size - at);

        as_out_put(out, text + at, n);
        at += n;
        if (at < size)
            at += put_special(out, text + at, size - at);
    }
}

static inline void put_string(struct as_out *out, const char *text, size_t size)
{
    as_out_char(out, '"');
    put_escaped(out, text, size);
    as_out_char(out, '"');
}

void as_json_key_n(struct as_json_writer *w, const char *key, size_t size)
{
    if (!in_object(w) || w->after_key || w->misused || w->too_deep) {
        misuse(w);
        return;
    }
    separate(w);
    put_string(w->out, key, size);
    as_out_put(w->out, ": ", w->indent ? 2 : 1);
    w->after_key = true;
}

void as_json_text_n(struct as_json_writer *w, const char *text, size_t size)
{
    if (begin_value(w))
        put_string(w->out, text, size);
}

void as_json_u64(struct as_json_writer *w, uint64_t value)
{
    char digits[AS_TEXT_INT];
    size_t n = as_text_u64(digits, value);

    if (begin_value(w))
        as_out_put(w->out, digits, n);
}

void as_json_i64(struct as_json_writer *w, int64_t value)
{
    char digits[AS_TEXT_INT];
    size_t n = as_text_i64(digits, value);

    if (begin_value(w))
        as_out_put(w->out, digits, n);
}

void as_json_f64(struct as_json_writer *w, double value)
{
    char digits[AS_TEXT_FLOAT];
    size_t n = as_text_f64(digits, value);

    if (n == 0)
        as_json_null(w);
    else if (begin_value(w))
        as_out_put(w->out, digits, n);
}

void as_json_decimal(struct as_json_writer *w, uint64_t value, unsigned decimals)
{
    char digits[AS_TEXT_FLOAT];
    size_t n = as_text_decimal(digits, value, decimals);

    if (begin_value(w))
        as_out_put(w->out, digits, n);
}

void as_json_bool(struct as_json_writer *w, bool value)
{
    if (begin_value(w))
        as_out_text(w->out, value ? "true" : "false");
}

void as_json_null(struct as_json_writer *w)
{
    if (begin_value(w))
        as_out_put(w->out, "null", 4);
}

void as_json_raw(struct as_json_writer *w, const char *json, size_t size)
{
    if (begin_value(w))
        as_out_put(w->out, json, size);
}
