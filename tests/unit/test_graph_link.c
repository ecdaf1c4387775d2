/* tests/unit/test_graph_link.c - the order of nodes after linking: that of the file where it can be
 * kept, and else as near to it as what needs what allows. */
#include "rule_kit.h"

static void nodes_are(const char *text, const char *expected)
{
    struct as_infer_options options = {.keep_unknown = true};
    struct rule_kit k;
    char order[200] = "";
    size_t size = 0;

    if (kit_infer(&k, 17, text, &options) < 0)
        fail_msg("%s: %s", text, k.err.msg);
    for (uint32_t i = 0; i < k.model->main->n_nodes; i++)
        size += (size_t)snprintf(order + size, sizeof order - size, "%s%s", i ? " " : "",
                                 k.model->main->nodes[i].op_name);
    assert_string_equal(order, expected);
    for (uint32_t i = 0; i < k.model->main->n_nodes; i++)
        assert_int_equal(k.model->values[k.model->main->nodes[i].outputs[0]].producer, i);
    kit_free(&k);
}

static void the_order_of_the_file_is_kept(void **state)
{
    (void)state;
    nodes_are("in x 4; Exp x -> a; Relu a -> b; Log x -> c; Add b,c -> d", "Exp Relu Log Add");
}

/* One node that comes too early moves behind what it needs; all others stay where they are. */
static void only_what_must_move_moves(void **state)
{
    (void)state;
    nodes_are("in x 4; Relu a -> b; Exp x -> a; Sin x -> c; Cos c -> d; Log d -> e; Abs b -> f",
              "Exp Relu Sin Cos Log Abs");
    nodes_are("in x 4; Sum f,b,d -> g; Exp x -> a; Relu a -> b; Sin x -> c; Cos c -> d; "
              "Log d -> e; Abs e -> f; Neg g -> h",
              "Exp Relu Sin Cos Log Abs Sum Neg");
    nodes_are("in x 4; Abs e -> f; Log d -> e; Cos c -> d; Sin x -> c", "Sin Cos Log Abs");
}

static void a_circle_is_refused(void **state)
{
    struct rule_kit k;

    (void)state;
    assert_int_equal(kit_infer(&k, 17, "in x 4; Exp x -> q; Add x,b -> a; Relu a -> b", NULL),
                     ASSAY_ERR_FORMAT);
    assert_non_null(strstr(k.err.msg, "circle"));
    kit_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_the_file_is_kept),
        cmocka_unit_test(only_what_must_move_moves),
        cmocka_unit_test(a_circle_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
