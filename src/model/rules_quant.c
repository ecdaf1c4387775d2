/* model/rules_quant.c - shape rules.
 * To be filled. */
#include "model/infer_rules.h"

const struct as_op_rule as_rules_quant[] = {
    {AS_OP_UNKNOWN, NULL, NULL},
};
