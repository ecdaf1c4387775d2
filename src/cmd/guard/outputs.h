/* cmd/guard/outputs.h - the files and folders that a command line names to be written. */
#ifndef AS_CMD_GUARD_OUTPUTS_H
#define AS_CMD_GUARD_OUTPUTS_H

#include "cmd/common/options.h"

/* Whether the i-th option names one, and not standard output. */
bool as_output_is(const struct as_cmd_line *line, size_t i);

/* USAGE when two options name the same: the second would replace the first. */
AS_MUST_USE int as_outputs_check(const struct as_cmd_line *line, struct assay_error *err);

#endif
