/* model/infer/infer_table.c - puts the families of shape rules together.
 * The last table that names an operator wins; a test checks that none does twice. */
#include "model/infer/infer_rules.h"

#include <string.h>

static const struct as_op_rule *const families[] = {
#define X(name) as_rules_##name,
    AS_RULE_FAMILIES(X)
#undef X
        NULL,
};

void as_rules_collect(struct as_op_rule rules[AS_OP_COUNT])
{
    memset(rules, 0, AS_OP_COUNT * sizeof *rules);
    for (size_t i = 0; families[i]; i++)
        for (const struct as_op_rule *rule = families[i]; rule->op != AS_OP_UNKNOWN; rule++)
            rules[rule->op] = *rule;
}
