/* model/rules_sequence.c - shape rules.
 * To be filled. */
#include "model/infer_rules.h"

const struct as_op_rule as_rules_sequence[] = {
    {AS_OP_UNKNOWN, NULL, NULL},
};
