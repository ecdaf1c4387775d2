/* cmd/common/forms.h - one result in every form: what --format prints and what --export-json,
 * --export-csv and --export-markdown write all come from the same value. */
#ifndef AS_CMD_COMMON_FORMS_H
#define AS_CMD_COMMON_FORMS_H

#include "base/text/csv_target.h"
#include "cmd/common/console.h"

/* How to print `of`. `page` and `json` answer 0, a positive number that is passed on, or a negative
 * code; `csv` the number of tables written. NULL: the result has no such form. */
struct as_forms {
    const void *of;
    int (*page)(const void *of, bool markdown, struct as_out *out, const struct as_term *term,
                struct assay_error *err);
    int (*json)(const void *of, struct as_out *out, struct assay_error *err);
    int (*csv)(const void *of, const struct as_csv_target *to, struct assay_error *err);
};

/* That exports can be written, as far as that is known before anything is measured. */
AS_MUST_USE int as_forms_check(const struct as_cmd_line *line, struct assay_error *err);

/* Whether the JSON document is printed or exported: nobody else needs its memory. */
bool as_forms_want_json(const struct as_cmd_line *line);

/* In the format of the command line, to an output that is open. */
AS_MUST_USE int as_forms_put(const struct as_forms *forms, const struct as_cmd_line *line,
                             struct as_out *out, const struct as_term *term,
                             struct assay_error *err);

/* Writes the files of the export options, with a note for each. */
AS_MUST_USE int as_forms_export(const struct as_forms *forms, const struct as_cmd_line *line,
                                struct assay_error *err);

/* Exports, then prints on standard output or into the file of --output; an export that fails does
 * not keep the rest from being printed. */
AS_MUST_USE int as_forms_print(const struct as_forms *forms, const struct as_cmd_line *line,
                               struct assay_error *err);

#endif
