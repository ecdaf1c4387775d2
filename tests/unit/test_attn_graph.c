/* tests/unit/test_attn_graph.c - graphs of logits and minimum cuts, judged by trying every cut. */
#include "attn_kit.h"

#include "base/alloc.h"

enum { MOST_NODES = 9, MOST_EDGES = 60 };

static double cost_of(struct assay_edge *edges, size_t n_edges, size_t nodes, size_t s, size_t t)
{
    struct assay_attention_graph graph = {nodes, edges, n_edges};
    struct assay_cut_result cut;
    double cost;

    assert_int_equal(assay_attention_graph_min_cut(&graph, s, t, &cut, NULL), ASSAY_OK);
    cost = cut.cut_cost;
    assay_cut_result_fini(&cut);
    return cost;
}

static void known_cuts(void **state)
{
    struct assay_edge four[] = {{0, 1, 5}, {0, 2, 6}, {1, 2, 2}, {1, 3, 4}, {2, 3, 5}};
    struct assay_edge two[] = {{0, 1, 3.5F}};
    struct assay_edge away[] = {{1, 0, 3.5F}};
    struct assay_edge twice[] = {{0, 1, 1}, {0, 1, 2}, {1, 0, 9}, {0, 0, 7}};
    /* The way back over the middle edge must be found. */
    struct assay_edge back[] = {{0, 1, 1}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1}};
    struct assay_edge far[] = {{5, 999999999, 2}, {999999999, 7, 3}};

    (void)state;
    assert_true(cost_of(four, 5, 4, 0, 3) == 9);
    assert_true(cost_of(two, 1, 2, 0, 1) == 3.5);
    assert_true(cost_of(away, 1, 2, 0, 1) == 0);
    assert_true(cost_of(twice, 4, 2, 0, 1) == 3);
    assert_true(cost_of(back, 5, 4, 0, 3) == 2);
    assert_true(cost_of(NULL, 0, 2, 0, 1) == 0);
    assert_true(cost_of(far, 2, (size_t)1 << 40, 5, 7) == 2);
}

static void what_is_cut_is_told(void **state)
{
    struct assay_edge edges[] = {{0, 1, 4}, {1, 2, 1}, {2, 3, 4}, {3, 0, 9}, {1, 2, 2}};
    struct assay_attention_graph graph = {4, edges, 5};
    struct assay_cut_result cut;

    (void)state;
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 3, &cut, NULL), ASSAY_OK);
    assert_true(cut.cut_cost == 3);
    assert_int_equal(cut.n_edges, 5);
    assert_int_equal(cut.n_cut_edges, 2);
    assert_true(cut.cut_edges[0].src == 1 && cut.cut_edges[0].dst == 2);
    assert_true(cut.cut_edges[1].src == 1 && cut.cut_edges[1].dst == 2);
    for (size_t i = 0; i < 5; i++)
        assert_true(cut.keep_mask[i] == (i != 1 && i != 4));
    assay_cut_result_fini(&cut);
    assert_null(cut.keep_mask);
    assay_cut_result_fini(&cut);
    assay_cut_result_fini(NULL);
}

/* The cheapest of all ways to part the nodes, s on one side and t on the other. */
static double try_all(const struct assay_attention_graph *graph, size_t s, size_t t)
{
    double best = UNIT_INFINITY;

    for (unsigned side = 0; side < 1U << graph->nodes; side++) {
        double cost = 0;

        if (!(side >> s & 1) || side >> t & 1)
            continue;
        for (size_t i = 0; i < graph->n_edges; i++)
            if (side >> graph->edges[i].src & 1 && !(side >> graph->edges[i].dst & 1))
                cost += (double)graph->edges[i].weight;
        best = cost < best ? cost : best;
    }
    return best;
}

/* Removing the cut leaves no way from s to t. */
static bool connected(const struct assay_attention_graph *graph, const bool *keep, size_t s,
                      size_t t)
{
    unsigned seen = 1U << s;

    for (size_t round = 0; round < graph->nodes; round++)
        for (size_t i = 0; i < graph->n_edges; i++)
            if (keep[i] && graph->edges[i].weight > 0 && seen >> graph->edges[i].src & 1)
                seen |= 1U << graph->edges[i].dst;
    return seen >> t & 1;
}

static void cuts_are_the_cheapest(void **state)
{
    struct assay_edge edges[MOST_EDGES];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 5);
    for (int round = 0; round < 2000; round++) {
        struct assay_attention_graph graph = {2 + as_rng_below(&rng, MOST_NODES - 1), edges,
                                              as_rng_below(&rng, MOST_EDGES)};
        size_t s = as_rng_below(&rng, graph.nodes);
        size_t t = (s + 1 + as_rng_below(&rng, graph.nodes - 1)) % graph.nodes;
        struct assay_cut_result cut;
        double right;

        for (size_t i = 0; i < graph.n_edges; i++)
            edges[i] = (struct assay_edge){
                as_rng_below(&rng, graph.nodes), as_rng_below(&rng, graph.nodes),
                round % 2 ? (float)as_rng_below(&rng, 5) : (float)as_rng_unit(&rng)};
        assert_int_equal(assay_attention_graph_min_cut(&graph, s, t, &cut, NULL), ASSAY_OK);
        right = try_all(&graph, s, t);
        assert_true(fabs(cut.cut_cost - right) <= 1e-12 * right);
        assert_false(connected(&graph, cut.keep_mask, s, t));
        assay_cut_result_fini(&cut);
    }
}

/* Weights 2^40 apart: the small one decides, and it is not lost. */
static void small_weights_count(void **state)
{
    struct assay_edge edges[] = {{0, 1, 0x1p20F}, {1, 2, 0x1p-20F}, {0, 2, 0x1p-19F}};
    struct assay_edge tiny[] = {{0, 1, 0x1p120F}, {1, 2, 0x1p-140F}};

    (void)state;
    assert_true(cost_of(edges, 3, 3, 0, 2) == 0x1p-20 + 0x1p-19);
    assert_true(cost_of(tiny, 2, 3, 0, 2) == 0x1p-140);
}

static void logits_become_edges(void **state)
{
    const float logits[] = {0.5F, -1, 2, 0, 1, 3, -0.5F, 4, 0};
    struct assay_attention_graph graph;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_attention_graph_init(logits, 9, 3, &graph, NULL), ASSAY_OK);
    assert_int_equal(graph.nodes, 3);
    assert_int_equal(graph.n_edges, 5);
    assert_true(graph.edges[1].src == 0 && graph.edges[1].dst == 2 && graph.edges[1].weight == 2);
    assert_true(graph.edges[4].src == 2 && graph.edges[4].dst == 1 && graph.edges[4].weight == 4);
    assay_attention_graph_fini(&graph);
    assert_true(graph.n_edges == 0 && !graph.edges);
    assert_int_equal(assay_attention_graph_init(logits, 8, 3, &graph, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "8 logits are not those of 3 tokens");
    assert_int_equal(assay_attention_graph_init(logits, 9, SIZE_MAX, &graph, &err),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_init(NULL, 0, 0, &graph, NULL), ASSAY_OK);
    assert_int_equal(assay_attention_graph_init(NULL, 4, 2, &graph, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_init(logits, 9, 3, NULL, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_init((const float[]){1, 2, NAN, 1}, 4, 2, &graph, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "the logit of row 1, column 0 is not a number");
    assay_attention_graph_fini(NULL);
}

static void wrong_graphs_are_refused(void **state)
{
    struct assay_edge edges[] = {{0, 1, 1}, {1, 2, 1}};
    struct assay_attention_graph graph = {3, edges, 2};
    struct assay_cut_result cut;
    struct assay_error err;

    (void)state;
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 0, &cut, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 3, &cut, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_min_cut(NULL, 0, 1, &cut, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 1, NULL, NULL), ASSAY_ERR_USAGE);
    edges[1].dst = 3;
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 1, &cut, &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "edge 1 goes from node 1 to 3 of 3");
    edges[1].dst = 2;
    edges[1].weight = -1;
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 1, &cut, &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "edge 1 weighs -1: it must be 0 or more");
    edges[1].weight = NAN;
    assert_int_equal(assay_attention_graph_min_cut(&graph, 0, 1, &cut, NULL), ASSAY_ERR_FORMAT);
}

static void every_allocation_may_fail(void **state)
{
    const float logits[] = {0, 3, 1, 2};
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    for (uint64_t nth = 1; rc < 0; nth++) {
        struct assay_attention_graph graph = {0};
        struct assay_cut_result cut = {0};
        uint8_t mask;

        as_alloc_fail_at(nth, 0);
        rc = assay_attention_graph_init(logits, 4, 2, &graph, NULL);
        if (rc == ASSAY_OK)
            rc = assay_attention_graph_min_cut(&graph, 0, 1, &cut, NULL);
        if (rc == ASSAY_OK)
            rc = assay_mincut_gate(logits, 2, 0.5F, 2, 0.01F, &mask, NULL, NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
        assert_true(rc < 0 || cut.cut_cost == 3);
        assay_cut_result_fini(&cut);
        assay_attention_graph_fini(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_cuts),
        cmocka_unit_test(what_is_cut_is_told),
        cmocka_unit_test(cuts_are_the_cheapest),
        cmocka_unit_test(small_weights_count),
        cmocka_unit_test(logits_become_edges),
        cmocka_unit_test(wrong_graphs_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
