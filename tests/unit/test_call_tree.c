/* tests/unit/test_call_tree.c - who called what, found by hash and put in order.
 * Trees are small enough to be written down, or large enough to reach the limit. */
#include "unit.h"

#include "analyze/run/layer_collect.h"
#include "stats/describe/rng.h"

static void count(struct as_call_tree *tree, uint32_t node, uint64_t ns)
{
    tree->node[node].calls++;
    tree->node[node].inclusive_ns += ns;
}

static void the_same_way_is_the_same_node(void **state)
{
    struct as_call_tree tree = {0};
    uint32_t a = as_call_tree_child(&tree, 0, 1), ab = as_call_tree_child(&tree, a, 2);

    (void)state;
    assert_int_equal(as_call_tree_child(&tree, 0, 1), a);
    assert_int_equal(as_call_tree_child(&tree, a, 2), ab);
    assert_true(as_call_tree_child(&tree, 0, 2) != ab);
    assert_int_equal(as_call_tree_child(&tree, a, 2), ab);
    assert_int_equal(tree.n_nodes, 4); /* with the root */
    as_call_tree_fini(&tree);
    as_call_tree_fini(&tree); /* already empty */
}

static void an_empty_tree_has_no_nodes(void **state)
{
    struct as_call_tree tree = {0};
    struct as_arena arena = {0};
    struct as_tree_node *node;
    size_t n;

    (void)state;
    assert_int_equal(as_call_tree_order(&tree, &arena, &node, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 0);
    as_arena_fini(&arena);
}

static void nodes_come_depth_first_and_largest_first(void **state)
{
    /* root { a 30 { c 5, d 20 { c 1 } }, b 50 { a 7 } } */
    static const struct {
        uint32_t site, depth, parent, n_below;
        uint64_t inclusive_ns;
    } want[] = {{0, 0, 0, 6, 0},  {2, 1, 0, 1, 50}, {1, 2, 1, 0, 7}, {1, 1, 0, 3, 30},
                {4, 2, 3, 1, 20}, {3, 3, 4, 0, 1},  {3, 2, 3, 0, 5}};
    struct as_call_tree tree = {0};
    struct as_arena arena = {0};
    struct as_tree_node *node;
    uint32_t a = as_call_tree_child(&tree, 0, 1), b = as_call_tree_child(&tree, 0, 2);
    uint32_t ac = as_call_tree_child(&tree, a, 3), ad = as_call_tree_child(&tree, a, 4);
    size_t n;

    (void)state;
    count(&tree, a, 30);
    count(&tree, b, 50);
    count(&tree, ac, 5);
    count(&tree, ad, 20);
    count(&tree, as_call_tree_child(&tree, ad, 3), 1);
    count(&tree, as_call_tree_child(&tree, b, 1), 7);
    assert_int_equal(as_call_tree_order(&tree, &arena, &node, &n, NULL), ASSAY_OK);
    assert_int_equal(n, UNIT_COUNT(want));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(node[i].site, want[i].site);
        assert_int_equal(node[i].depth, want[i].depth);
        assert_int_equal(node[i].parent, want[i].parent);
        assert_int_equal(node[i].n_below, want[i].n_below);
        assert_int_equal(node[i].inclusive_ns, want[i].inclusive_ns);
    }
    as_call_tree_fini(&tree);
    as_arena_fini(&arena);
}

static void a_random_tree_is_told_whole(void **state)
{
    struct as_call_tree tree = {0};
    struct as_arena arena = {0};
    struct as_tree_node *node;
    uint64_t sum = 0, told = 0;
    struct as_rng rng;
    size_t n;

    (void)state;
    as_rng_seed(&rng, 8);
    for (int i = 0; i < 20000; i++) {
        uint32_t parent = tree.n_nodes ? (uint32_t)as_rng_below(&rng, tree.n_nodes) : 0;
        uint32_t child = as_call_tree_child(&tree, parent, 1 + (uint32_t)as_rng_below(&rng, 5));
        uint64_t ns = as_rng_below(&rng, 100);

        assert_true(child != UINT32_MAX && child != 0);
        assert_int_equal(tree.node[child].parent, parent);
        count(&tree, child, ns);
        sum += ns;
    }
    assert_int_equal(as_call_tree_order(&tree, &arena, &node, &n, NULL), ASSAY_OK);
    assert_int_equal(n, tree.n_nodes);
    for (size_t i = 1; i < n; i++) {
        assert_true(node[i].parent < i);
        assert_int_equal(node[i].depth, node[node[i].parent].depth + 1);
        assert_true(i <= node[i].parent + node[node[i].parent].n_below);
        assert_true(i + node[i].n_below < n);
        told += node[i].inclusive_ns;
    }
    assert_int_equal(node[0].n_below, n - 1);
    assert_int_equal(told, sum);
    as_call_tree_fini(&tree);
    as_arena_fini(&arena);
}

static void past_the_limit_calls_go_to_the_parent(void **state)
{
    struct as_call_tree tree = {0};
    uint32_t a = as_call_tree_child(&tree, 0, 1);

    (void)state;
    for (uint32_t site = 1; tree.n_nodes < AS_TREE_MAX_NODES; site++)
        assert_true(as_call_tree_child(&tree, a, site) != UINT32_MAX);
    assert_false(tree.truncated);
    assert_int_equal(as_call_tree_child(&tree, a, UINT32_MAX), a);
    assert_true(tree.truncated);
    assert_int_equal(as_call_tree_child(&tree, a, UINT32_MAX), a); /* and again */
    assert_int_equal(as_call_tree_child(&tree, 0, 1), a);
    as_call_tree_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_way_is_the_same_node),
        cmocka_unit_test(an_empty_tree_has_no_nodes),
        cmocka_unit_test(nodes_come_depth_first_and_largest_first),
        cmocka_unit_test(a_random_tree_is_told_whole),
        cmocka_unit_test(past_the_limit_calls_go_to_the_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
