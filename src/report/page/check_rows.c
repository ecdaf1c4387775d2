/* report/page/check_rows.c - what was checked, as one CSV table. */
#include "report/page/check_rows.h"

#include "base/units.h"

void as_check_rows_begin(const struct as_check_rows *rows)
{
    static const char *const columns[] = {"path", "kind", "check", "result", "sentence"};

    for (size_t i = 0; i < AS_COUNT_OF(columns); i++)
        as_csv_text(rows->w, columns[i]);
    as_csv_row_end(rows->w);
}

void as_check_row(const struct as_check_rows *rows, const char *check, enum as_check_result result,
                  const char *sentence)
{
    static const char *const words[] = {
        [AS_CHECK_OK] = "ok",
        [AS_CHECK_WARNING] = "warning",
        [AS_CHECK_FAILED] = "failed",
        [AS_CHECK_UNCHECKED] = "unchecked",
    };

    as_csv_name(rows->w, rows->path);
    as_csv_name(rows->w, rows->kind);
    as_csv_text(rows->w, check);
    as_csv_text(rows->w, words[result]);
    as_csv_name(rows->w, sentence);
    as_csv_row_end(rows->w);
}
