/* cmd/cmd_table.h - the one list of commands.
 * Adding a command is a new file and one line in cmd_table.c. */
#ifndef AS_CMD_CMD_TABLE_H
#define AS_CMD_CMD_TABLE_H

#include "cmd/cmd.h"

/* The i-th command, in the order of the help; NULL after the last. */
const struct as_cmd *as_cmd_at(size_t i);
const char *as_cmd_name_at(size_t i);

/* The command of that name, or NULL. */
const struct as_cmd *as_cmd_find(const char *name);

/* An option of `cmd`, its own first, then the common ones; NULL after the last. */
const struct as_opt *as_cmd_opt_at(const struct as_cmd *cmd, size_t i);

#endif
