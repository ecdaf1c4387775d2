/* tests/unit/test_infer_table.c - the table of shape rules has no holes and no operator twice. */
#include "model/infer/infer_rules.h"
#include "unit.h"

static void every_operator_of_onnx_has_a_rule(void **state)
{
    static struct as_op_rule rules[AS_OP_COUNT];

    (void)state;
    as_rules_collect(rules);
    for (int op = 1; op < AS_OP_COUNT; op++) {
        enum as_domain domain = as_op_domain((enum as_op)op);

        if (!rules[op].infer)
            fail_msg("%s.%s has no rule", as_domain_name(domain), as_op_name((enum as_op)op));
    }
}

static void no_operator_has_two_rules(void **state)
{
    static const struct as_op_rule *const families[] = {
#define X(name) as_rules_##name,
        AS_RULE_FAMILIES(X)
#undef X
    };
    static unsigned n_rules[AS_OP_COUNT];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(families); i++)
        for (const struct as_op_rule *rule = families[i]; rule->op != AS_OP_UNKNOWN; rule++)
            if (++n_rules[rule->op] > 1)
                fail_msg("%s has two rules", as_op_name(rule->op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_of_onnx_has_a_rule),
        cmocka_unit_test(no_operator_has_two_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
