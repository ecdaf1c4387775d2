/* cmd/common/each_model.h - a command that takes one model, over several of them: one comparison
 * table at the end. */
#ifndef AS_CMD_COMMON_EACH_MODEL_H
#define AS_CMD_COMMON_EACH_MODEL_H

#include "cmd/common/options.h"
#include "report/profile/models_table.h"

/* Fills the row of the first operand of `line`. */
typedef int (*as_model_step)(const struct as_cmd_line *line, struct as_models_row *row,
                             struct assay_error *err);

/* Takes the step with every operand, one after the other, and prints the table. A model that fails
 * does not keep the others from being shown; the answer is then a negative code. Wrong use that
 * shows with the first model ends it at once. After an interruption the rows of the models that
 * were not measured say so. */
AS_MUST_USE int as_each_model(const struct as_cmd_line *line, const char *schema, bool profiled,
                              as_model_step step, struct assay_error *err);

/* Refuses options that only make sense with one model, NULL-terminated, when several were given. */
AS_MUST_USE int as_one_model_only(const struct as_cmd_line *line, const char *const *options,
                                  struct assay_error *err);

#endif
