#include "cmd/cmd.h"
#include "cmd/console.h"
static int run_verify(const struct as_cmd_line *line, struct assay_error *err) {(void)line; return as_fail(err, ASSAY_ERR_UNSUPPORTED, "not yet");}
const struct as_cmd as_cmd_verify = {.name="verify",.summary="check",.usage="assay verify RUN",.operand="RUN",.min_operands=1,.max_operands=1,.run=run_verify};
