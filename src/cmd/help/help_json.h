/* cmd/help/help_json.h - the tables of commands, options and topics as JSON, for programs that
 * drive assay. The same words as the help on the screen. */
#ifndef AS_CMD_HELP_HELP_JSON_H
#define AS_CMD_HELP_HELP_JSON_H

#include "base/output.h"
#include "cmd/cmd.h"

/* Everything, or one command when `only` is given. */
AS_MUST_USE int as_help_json(struct as_out *out, const struct as_cmd *only,
                             struct assay_error *err);

#endif
