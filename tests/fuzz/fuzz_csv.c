/* tests/fuzz/fuzz_csv.c - any bytes through the CSV reader.
 * Fields it gives, written again by the writer, must be read back the same, but for what a terminal
 * must not get: that is escaped, and stays as it is from then on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes every row up to the end or the first error; returns how many. */
static size_t rewrite(const void *data, size_t size, bool undo, bool safe, size_t most,
                      struct as_out *out)
{
    struct as_csv_writer w = {.out = out, .safe = safe};
    struct as_csv_reader r;
    struct assay_error err;
    size_t n_rows = 0;
    int n;

    as_csv_reader_init(&r, data, size);
    r.undo_guard = undo;
    r.max_fields = 64;
    r.max_field_bytes = most;
    while ((n = as_csv_next(&r, &err)) > 0) {
        for (int i = 0; i < n; i++) {
            if (r.fields[i].text[r.fields[i].size] != '\0')
                abort();
            as_csv_text_n(&w, r.fields[i].text, r.fields[i].size);
        }
        as_csv_row_end(&w);
        n_rows++;
    }
    if (n < 0 && (err.msg[0] == '\0' || err.offset > size))
        abort();
    as_csv_reader_fini(&r);
    return n_rows;
}

static bool is_plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((text[i] < 0x20 || text[i] > 0x7e) && text[i] != '\n' && text[i] != '\t')
            return false;
    }
    return true;
}

static void compare(const uint8_t *data, size_t size, bool undo, bool safe, const char *csv,
                    size_t csv_size, size_t n_rows)
{
    struct as_csv_reader r, s;

    as_csv_reader_init(&r, data, size);
    as_csv_reader_init(&s, csv, csv_size);
    r.undo_guard = undo;
    s.undo_guard = safe;
    r.max_fields = 64;
    for (size_t row = 0; row < n_rows; row++) {
        int n = as_csv_next(&r, NULL);

        if (n <= 0 || n != as_csv_next(&s, NULL))
            abort();
        for (int i = 0; i < n; i++) {
            if (!is_plain(r.fields[i].text, r.fields[i].size))
                continue;
            if (r.fields[i].size != s.fields[i].size ||
                memcmp(r.fields[i].text, s.fields[i].text, r.fields[i].size) != 0)
                abort();
        }
    }
    if (as_csv_next(&s, NULL) != 0)
        abort();
    as_csv_reader_fini(&r);
    as_csv_reader_fini(&s);
}

/* What was written once is written the same again. */
static void check_stable(const char *csv, size_t csv_size, bool safe)
{
    struct as_out out;
    const char *again;
    size_t n;

    if (as_out_memory(&out, NULL) < 0)
        return;
    (void)rewrite(csv, csv_size, safe, safe, SIZE_MAX, &out);
    again = as_out_get(&out, &n);
    if (n != csv_size || memcmp(csv, again, n) != 0)
        abort();
    as_out_drop(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[1];

    if (size == 0)
        data = nothing;                    /* no pointer arithmetic on NULL */
    for (int form = 0; form < 4; form++) { /* with and without the guard, on both sides */
        const bool undo = form & 1, safe = form & 2;
        struct as_out out;
        const char *csv;
        size_t n_rows, n;

        if (as_out_memory(&out, NULL) < 0)
            return 0;
        n_rows = rewrite(data, size, undo, safe, 4096, &out);
        csv = as_out_get(&out, &n);
        compare(data, size, undo, safe, csv, n, n_rows);
        check_stable(csv, n, safe);
        as_out_drop(&out);
    }
    return 0;
}
