/* cmd/common/operand_hint.h - what to type instead, when an operand is a file of another kind. */
#ifndef AS_CMD_COMMON_OPERAND_HINT_H
#define AS_CMD_COMMON_OPERAND_HINT_H

#include "cmd/common/options.h"

/* Adds the right command or name to the message of a command that failed: a run given as a model, a
 * model given as a run, a built-in model without "zoo:". Leaves other messages as they are. */
void as_operand_hint(const struct as_cmd_line *line, struct assay_error *err);

#endif
