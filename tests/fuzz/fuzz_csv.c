/* tests/fuzz/fuzz_csv.c - any bytes through the CSV reader.
 * Fields it gives, written again by the writer, must be read back the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/text/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes every row up to the end or the first error; returns how many. */
static size_t rewrite(const uint8_t *data, size_t size, bool undo, bool safe, struct as_out *out)
{
    struct as_csv_writer w = {.out = out, .safe = safe};
    struct as_csv_reader r;
    struct assay_error err;
    size_t n_rows = 0;
    int n;

    as_csv_reader_init(&r, data, size);
    r.undo_guard = undo;
    r.max_fields = 64;
    r.max_field_bytes = 4096;
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
        n_rows = rewrite(data, size, undo, safe, &out);
        csv = as_out_get(&out, &n);
        compare(data, size, undo, safe, csv, n, n_rows);
        as_out_drop(&out);
    }
    return 0;
}
