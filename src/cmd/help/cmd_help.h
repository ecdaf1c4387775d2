/* cmd/help/cmd_help.h - explains a command, all of them, or a topic.
 * Every word comes from the tables of commands, options, columns and sections. */
#ifndef AS_CMD_HELP_CMD_HELP_H
#define AS_CMD_HELP_CMD_HELP_H

#include "cmd/common/options.h"

/* Explains `cmd`, as --help does. */
AS_MUST_USE int as_help_print(const struct as_cmd_line *line, const struct as_cmd *cmd,
                              struct assay_error *err);

#endif
