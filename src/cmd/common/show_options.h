/* cmd/common/show_options.h - how a run is shown: the options that measuring commands share with
 * `assay report`, and printing. */
#ifndef AS_CMD_COMMON_SHOW_OPTIONS_H
#define AS_CMD_COMMON_SHOW_OPTIONS_H

#include "cmd/common/console.h"
#include "cmd/common/forms.h"
#include "report/run/show.h"

/* Reads those of the display options that the command has: section, columns, sort, top, unit, wide,
 * thread, scope-depth, format, classic. USAGE for two forms at once, and
 * whatever stands against writing the run. */
AS_MUST_USE int as_show_read(struct as_show *show, const struct as_cmd_line *line,
                             struct assay_error *err);

/* Where the run goes: the file of --output when it ends in ".assay"; NULL: it is kept in memory,
 * and --output takes the page. */
const char *as_show_run_path(const struct as_cmd_line *line);

/* Prints the run in the format asked for, on standard output or into the file of --output, and
 * writes the exports. */
AS_MUST_USE int as_show_print(struct as_run *run, const struct as_show *show,
                              const struct as_cmd_line *line, struct assay_error *err);

/* The run, as as_forms_put() prints it. */
struct as_shown_run {
    struct as_run *run;
    const struct as_show *show;
};
struct as_forms as_show_forms(const struct as_shown_run *shown);

/* Completes the run that a command has made, and prints it. */
AS_MUST_USE int as_show_finish(struct as_run_maker *maker, const struct as_show *show,
                               const struct as_cmd_line *line, struct assay_error *err);

#endif
