/* cmd/common/show_options.h - how a run is shown: the options that measuring commands share with
 * `assay report`, and printing. */
#ifndef AS_CMD_COMMON_SHOW_OPTIONS_H
#define AS_CMD_COMMON_SHOW_OPTIONS_H

#include "cmd/common/console.h"
#include "report/run/show.h"

#define AS_OPT_CSV                                                                                 \
    {                                                                                              \
        .name = "csv", .group = AS_GROUP_OUTPUT, .kind = AS_OPT_FOLDER, .argument = "DIR",         \
        .help = "write one CSV file for each table into the folder DIR"                            \
    }

/* Reads those of the display options that the command has: section, columns, sort, top, unit, wide,
 * thread, scope-depth, json, markdown, classic, csv. USAGE for two forms at once, and
 * whatever stands against writing the run. */
AS_MUST_USE int as_show_read(struct as_show *show, const struct as_cmd_line *line,
                             struct assay_error *err);

/* Where the run goes: the file of --output when it ends in ".assay"; NULL: it is kept in memory,
 * and --output takes the page. */
const char *as_show_run_path(const struct as_cmd_line *line);

/* Prints the run in the form asked for: as CSV files, JSON, or a page, on standard output or into
 * the file of --output. */
AS_MUST_USE int as_show_print(struct as_run *run, const struct as_show *show,
                              const struct as_cmd_line *line, struct assay_error *err);

/* Completes the run that a command has made, and prints it. */
AS_MUST_USE int as_show_finish(struct as_run_maker *maker, const struct as_show *show,
                               const struct as_cmd_line *line, struct assay_error *err);

#endif
