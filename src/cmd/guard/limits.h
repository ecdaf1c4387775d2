/* cmd/guard/limits.h - bounds on what a command may take, whatever the file it reads asks for:
 * time by a timer, memory by a limit of the process. They hold inside every loop and kernel. */
#ifndef AS_CMD_GUARD_LIMITS_H
#define AS_CMD_GUARD_LIMITS_H

#include "cmd/common/options.h"

/* Once, before the command runs, for commands that have AS_OPTS_LIMITS; does nothing for others.
 * When the time is over, temporary files are removed and the program ends with one sentence and
 * status 3. Memory beyond the limit is an allocation that fails. USAGE for a size that is none. */
AS_MUST_USE int as_limits_set(const struct as_cmd_line *line, struct assay_error *err);

/* The limit on memory alone, for a command that may start others, once it is known that it does
 * not. */
AS_MUST_USE int as_limits_set_memory(const struct as_cmd_line *line, struct assay_error *err);

#endif
