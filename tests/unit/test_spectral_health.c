/* tests/unit/test_spectral_health.c - graphs whose eigenvalues and resistances are known. */
#include "unit.h"

#include <assay/experiment/quality.h>

#include "base/alloc.h"

enum { MOST = 64 };

static struct assay_edge edges[MOST * MOST];

static struct assay_spectral_health health(size_t nodes, size_t n_edges)
{
    struct assay_attention_graph graph = {nodes, edges, n_edges};
    struct assay_spectral_options options = {.size = sizeof(struct assay_spectral_options)};
    struct assay_spectral_health h;

    options.max_iterations = 5000;
    options.tolerance = 1e-13;
    options.max_pairs = MOST * MOST;
    assert_int_equal(assay_attention_graph_health(&graph, &options, &h, NULL), ASSAY_OK);
    return h;
}

static size_t complete(size_t n, float weight)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            edges[at++] = (struct assay_edge){i, j, weight};
    return at;
}

static void near(double got, double right, double tolerance)
{
    if (!(fabs(got - right) <= tolerance * fabs(right)))
        fail_msg("%.12g, not %.12g", got, right);
}

static void a_complete_graph_is_as_good_as_it_gets(void **state)
{
    struct assay_spectral_health h = health(6, complete(6, 2));

    (void)state;
    near(h.fiedler_value, 12, 1e-9);
    near(h.largest_value, 12, 1e-9);
    near(h.mean_resistance, 2.0 / 12, 1e-9);
    assert_int_equal(h.n_pairs, 15);
    assert_int_equal(h.n_parts, 1);
    near(h.composite, 1, 1e-8);
    assert_true(h.converged && h.alerts == 0 && !h.rebuild);
}

static void a_path_is_not(void **state)
{
    enum { N = 30 };
    struct assay_spectral_health h;
    double pi = acos(-1), sum = 0;

    (void)state;
    for (size_t i = 0; i + 1 < N; i++)
        edges[i] = (struct assay_edge){i + 1, i, 1};
    h = health(N, N - 1);
    near(h.fiedler_value, 2 - 2 * cos(pi / N), 1e-7);
    near(h.largest_value, 2 + 2 * cos(pi / N), 1e-6);
    for (int d = 1; d < N; d++) /* resistances are lengths */
        sum += d * (N - d);
    near(h.mean_resistance, sum / (N * (N - 1) / 2), 1e-8);
    near(h.gap_ratio, h.fiedler_value / h.largest_value, 1e-12);
    assert_true(h.converged);
    assert_int_equal(h.alerts, ASSAY_SPECTRAL_ALERT_FIEDLER | ASSAY_SPECTRAL_ALERT_GAP |
                                   ASSAY_SPECTRAL_ALERT_COMPOSITE);
    assert_true(h.rebuild);
}

/* A ring with chords in both directions, and edges that do not count. */
static void edges_add_up_in_both_directions(void **state)
{
    struct assay_spectral_health once, twice;
    size_t n = complete(5, 3);

    (void)state;
    once = health(5, n);
    n = complete(5, 1);
    for (size_t i = 0; i < n; i++)
        edges[n + i] = (struct assay_edge){edges[i].dst, edges[i].src, 2};
    edges[2 * n] = (struct assay_edge){3, 3, 100};
    edges[2 * n + 1] = (struct assay_edge){0, 4, 0};
    twice = health(5, 2 * n + 2);
    near(twice.fiedler_value, once.fiedler_value, 1e-9);
    near(twice.mean_resistance, once.mean_resistance, 1e-9);
    near(twice.composite, once.composite, 1e-9);
}

static void what_falls_apart_is_told(void **state)
{
    struct assay_spectral_health h;

    (void)state;
    edges[0] = (struct assay_edge){0, 1, 1};
    edges[1] = (struct assay_edge){2, 3, 1};
    h = health(5, 2);
    assert_int_equal(h.n_parts, 3);
    assert_true(h.fiedler_value == 0 && h.gap_ratio == 0);
    assert_true(isinf(h.mean_resistance) && h.resistance_score == 1);
    assert_int_equal(h.alerts, 15);
    assert_true(h.rebuild);
    h = health(3, 0);
    assert_true(h.n_parts == 3 && h.largest_value == 0 && h.composite == 0);
}

static void pairs_are_sampled(void **state)
{
    struct assay_attention_graph graph = {20, edges, complete(20, 1)};
    struct assay_spectral_health h;

    (void)state;
    assert_int_equal(assay_attention_graph_health(&graph, NULL, &h, NULL), ASSAY_OK);
    assert_int_equal(h.n_pairs, 32);
    near(h.mean_resistance, 0.1, 1e-9);
}

static void wrong_use_and_no_memory(void **state)
{
    struct assay_attention_graph graph = {4, edges, complete(4, 1)};
    struct assay_spectral_options options = {.size = sizeof(struct assay_spectral_options)};
    struct assay_spectral_health h;
    int rc = ASSAY_ERR_NOMEM;

    (void)state;
    assert_int_equal(assay_attention_graph_health(NULL, NULL, &h, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_attention_graph_health(&graph, NULL, NULL, NULL), ASSAY_ERR_USAGE);
    options.tolerance = UNIT_NAN;
    assert_int_equal(assay_attention_graph_health(&graph, &options, &h, NULL), ASSAY_ERR_USAGE);
    graph.nodes = 1;
    assert_int_equal(assay_attention_graph_health(&graph, NULL, &h, NULL), ASSAY_ERR_USAGE);
    graph.nodes = SIZE_MAX;
    assert_int_equal(assay_attention_graph_health(&graph, NULL, &h, NULL), ASSAY_ERR_LIMIT);
    graph.nodes = 3;
    assert_int_equal(assay_attention_graph_health(&graph, NULL, &h, NULL), ASSAY_ERR_FORMAT);
    graph.nodes = 4;
    edges[2].weight = NAN;
    assert_int_equal(assay_attention_graph_health(&graph, NULL, &h, NULL), ASSAY_ERR_FORMAT);
    edges[2].weight = 1;
    for (uint64_t nth = 1; rc < 0; nth++) {
        as_alloc_fail_at(nth, 0);
        rc = assay_attention_graph_health(&graph, NULL, &h, NULL);
        as_alloc_fail_at(0, 0);
        assert_true(rc == ASSAY_OK || rc == ASSAY_ERR_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_graph_is_as_good_as_it_gets),
        cmocka_unit_test(a_path_is_not),
        cmocka_unit_test(edges_add_up_in_both_directions),
        cmocka_unit_test(what_falls_apart_is_told),
        cmocka_unit_test(pairs_are_sampled),
        cmocka_unit_test(wrong_use_and_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
