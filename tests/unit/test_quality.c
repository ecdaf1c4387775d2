/* tests/unit/test_quality.c - comparisons of vectors, lists and masks: known values, both signs,
 * and what is refused. */
#include "unit.h"

#include <assay/experiment/quality.h>

#define V(...)      ((const float[]){__VA_ARGS__})
#define NEAR(x, y)  assert_true(fabs((x) - (y)) <= 1e-9)
#define COUNT(list) UNIT_COUNT(list)

static double cosine(const float *a, const float *b, size_t n)
{
    double out = UNIT_NAN;

    assert_int_equal(assay_quality_cosine_similarity(a, n, b, n, &out, NULL), ASSAY_OK);
    return out;
}

static void cosines(void **state)
{
    (void)state;
    NEAR(cosine(V(1, 0), V(0, 1), 2), 0);
    assert_true(cosine(V(1, 2, 3), V(1, 2, 3), 3) == 1);
    assert_true(cosine(V(0.1F, 0.7F), V(0.1F, 0.7F), 2) == 1);
    assert_true(cosine(V(1, 2), V(-1, -2), 2) == -1);
    NEAR(cosine(V(1, 1), V(1, 0), 2), sqrt(0.5));
    assert_true(cosine(V(0, 0), V(0, 0), 2) == 1); /* nothing changed */
    assert_true(cosine(V(0, 0), V(1, 0), 2) == 0);
    assert_true(cosine(NULL, NULL, 0) == 1);
    /* Small and great numbers are no zeros and no infinities. */
    assert_true(cosine(V(1e-30F, 0), V(2e-30F, 0), 2) == 1);
    assert_true(cosine(V(1e-45F, 0), V(0, 1e-45F), 2) == 0);
    NEAR(cosine(V(3e38F, 3e38F), V(3e38F, 0), 2), sqrt(0.5));
}

static void distances(void **state)
{
    double out;

    (void)state;
    assert_int_equal(assay_quality_l2_distance(V(0, 0), 2, V(3, 4), 2, &out, NULL), ASSAY_OK);
    assert_true(out == 5);
    assert_int_equal(assay_quality_max_abs_error(V(1, -2, 3), 3, V(1, 2, 3.5F), 3, &out, NULL),
                     ASSAY_OK);
    assert_true(out == 4);
    assert_int_equal(assay_quality_max_abs_error(NULL, 0, NULL, 0, &out, NULL), ASSAY_OK);
    assert_true(out == 0);
    assert_int_equal(assay_quality_relative_error(V(3, 4), 2, V(3, 4.5F), 2, &out, NULL), ASSAY_OK);
    NEAR(out, 0.1);
    assert_int_equal(assay_quality_relative_error(V(0, 0), 2, V(0, 0), 2, &out, NULL), ASSAY_OK);
    assert_true(out == 0);
    assert_int_equal(assay_quality_relative_error(V(0, 0), 2, V(0, 1), 2, &out, NULL), ASSAY_OK);
    assert_true(isnan(out));
}

static void divergence(void **state)
{
    double out;

    (void)state;
    assert_int_equal(assay_quality_softmax_kl(V(1, 2, 3), 3, V(1, 2, 3), 3, &out, NULL), ASSAY_OK);
    assert_true(out == 0);
    assert_int_equal(assay_quality_softmax_kl(V(1, 2, 3), 3, V(11, 12, 13), 3, &out, NULL),
                     ASSAY_OK);
    NEAR(out, 0);
    /* Halves against a quarter and three: log 2 - log 3 / 2. */
    assert_int_equal(assay_quality_softmax_kl(V(0, 0), 2, V(0, (float)log(3)), 2, &out, NULL),
                     ASSAY_OK);
    assert_true(fabs(out - (log(2) - log(3) / 2)) < 1e-7);
    assert_int_equal(assay_quality_softmax_kl(V(1e30F, 0), 2, V(1e30F, 0), 2, &out, NULL),
                     ASSAY_OK);
    NEAR(out, 0);
    assert_int_equal(assay_quality_softmax_kl(NULL, 0, NULL, 0, &out, NULL), ASSAY_OK);
    assert_true(out == 0);
}

static void deltas_have_one_sign(void **state)
{
    struct assay_delta_metric d;

    (void)state;
    assert_int_equal(assay_quality_delta_behavior(V(1, 2), 2, V(1, 2), 2, &d, NULL), ASSAY_OK);
    assert_true(d.coherence_delta == 0 && d.coherence_loss == 0 && d.decision_flips == 0);
    assert_true(d.path_length_change == 0);
    assert_int_equal(assay_quality_delta_behavior(V(1, 0), 2, V(0, 2), 2, &d, NULL), ASSAY_OK);
    NEAR(d.coherence_delta, -1);
    NEAR(d.coherence_loss, 1);
    NEAR(d.path_length_change, 1);
    assert_int_equal(assay_quality_delta_behavior(V(1, -1, 0, 2), 4, V(-1, -1, 1, 0), 4, &d, NULL),
                     ASSAY_OK);
    assert_int_equal(d.decision_flips, 1);
    assert_int_equal(assay_quality_delta_behavior(V(0, 0), 2, V(0, 0), 2, &d, NULL), ASSAY_OK);
    assert_true(d.coherence_loss == 0 && d.path_length_change == 0);
    assert_int_equal(assay_quality_delta_behavior(V(0, 0), 2, V(0, 1), 2, &d, NULL), ASSAY_OK);
    assert_true(d.coherence_loss == 1 && isnan(d.path_length_change));
    assert_int_equal(assay_quality_delta_behavior(NULL, 0, NULL, 0, &d, NULL), ASSAY_OK);
    assert_true(d.coherence_delta == 0 && d.path_length_change == 0);
}

static void the_gate(void **state)
{
    struct assay_quality_result r;

    (void)state;
    assert_int_equal(assay_quality_check(V(3, 4), 2, V(3, 4), 2, 1, &r, NULL), ASSAY_OK);
    assert_true(r.passes_threshold && r.cosine_sim == 1 && r.l2_dist == 0);
    assert_int_equal(assay_quality_check(V(1, 0), 2, V(1, 1), 2, 0.8, &r, NULL), ASSAY_OK);
    assert_true(!r.passes_threshold && r.l2_dist == 1);
    assert_int_equal(assay_quality_check(V(1, 0), 2, V(1, 1), 2, 0.7, &r, NULL), ASSAY_OK);
    assert_true(r.passes_threshold);
    assert_int_equal(assay_quality_check(V(1), 1, V(1), 1, UNIT_NAN, &r, NULL), ASSAY_ERR_USAGE);
}

static void lists(void **state)
{
    const struct assay_vector a[] = {{V(1, 0), 2}, {V(0, 1), 2}, {V(1, 1), 2}, {V(1, 0), 2}};
    const struct assay_vector b[] = {{V(1, 1), 2}, {V(0, -1), 2}, {V(-1, 0), 2}, {V(0, 1), 2}};
    double out;

    (void)state;
    assert_int_equal(assay_quality_contradiction_rate(a, 4, b, 4, &out, NULL), ASSAY_OK);
    assert_true(out == 0.5); /* a product of 0 does not contradict */
    assert_int_equal(assay_quality_contradiction_rate(NULL, 0, NULL, 0, &out, NULL), ASSAY_OK);
    assert_true(out == 0);
    assert_int_equal(assay_quality_entailment_consistency(a, 4, &out, NULL), ASSAY_OK);
    NEAR(out, 2 * sqrt(0.5) / 3);
    assert_int_equal(assay_quality_entailment_consistency(a, 1, &out, NULL), ASSAY_OK);
    assert_true(out == 1);
    assert_int_equal(assay_quality_entailment_consistency(NULL, 0, &out, NULL), ASSAY_OK);
    assert_true(out == 1);
    assert_int_equal(assay_quality_contradiction_rate(a, 4, b, 3, &out, NULL), ASSAY_ERR_USAGE);
}

static void batches(void **state)
{
    /* Cosines 1, 0, -1 and 1: deltas 0, -1, -2 and 0. */
    const struct assay_vector base[] = {{V(1, 0), 2}, {V(1, 0), 2}, {V(1, 0), 2}, {V(1, 0), 2}};
    const struct assay_vector gated[] = {{V(2, 0), 2}, {V(0, 1), 2}, {V(-1, 0), 2}, {V(1, 0), 2}};
    double std = sqrt((0.75 * 0.75 * 2 + 0.25 * 0.25 + 1.25 * 1.25) / 3);
    struct assay_batch_result r;

    (void)state;
    assert_int_equal(assay_quality_evaluate_batch(base, 4, gated, 4, 0, &r, NULL), ASSAY_OK);
    assert_int_equal(r.n_samples, 4);
    NEAR(r.mean_coherence_delta, -0.75);
    NEAR(r.mean_coherence_loss, 0.75);
    NEAR(r.std_coherence_delta, std);
    /* Student's quantile of three degrees of freedom. */
    assert_true(fabs(r.ci_95_upper - (-0.75 + 3.182446305284263 * std / 2)) < 1e-8);
    assert_true(fabs(r.ci_95_lower - (-0.75 - 3.182446305284263 * std / 2)) < 1e-8);
    NEAR(r.pass_rate, 0.75);
    assert_int_equal(assay_quality_evaluate_batch(base, 1, gated, 1, 0.9, &r, NULL), ASSAY_OK);
    assert_true(r.mean_coherence_delta == 0 && r.pass_rate == 1);
    assert_true(isnan(r.std_coherence_delta) && isnan(r.ci_95_lower) && isnan(r.ci_95_upper));
    assert_int_equal(assay_quality_evaluate_batch(NULL, 0, NULL, 0, 0.9, &r, NULL), ASSAY_OK);
    assert_true(r.n_samples == 0 && isnan(r.mean_coherence_delta) && isnan(r.pass_rate));
}

static void masks(void **state)
{
    const uint8_t a[] = {0x0f, 0xff}, b[] = {0x3c, 0x01}, none[] = {0, 0xf0}, all[] = {0xff, 0x0f};
    struct assay_mask_comparison c;
    uint64_t flips;
    double out;

    (void)state;
    assert_int_equal(assay_mask_jaccard(a, 8, b, 8, &out, NULL), ASSAY_OK);
    NEAR(out, 2.0 / 6);
    assert_int_equal(assay_mask_count_flips(a, 12, b, 12, &flips, NULL), ASSAY_OK);
    assert_int_equal(flips, 4 + 3); /* bits past the twelfth do not count */
    assert_int_equal(assay_mask_jaccard(none, 12, none, 12, &out, NULL), ASSAY_OK);
    assert_true(out == 1);
    assert_int_equal(assay_mask_jaccard(NULL, 0, NULL, 0, &out, NULL), ASSAY_OK);
    assert_true(out == 1);
    assert_int_equal(assay_mask_compare(a, 12, b, 12, &c, NULL), ASSAY_OK);
    assert_int_equal(c.baseline_edges, 8);
    assert_int_equal(c.gated_edges, 5);
    assert_int_equal(c.edge_flips, 7);
    NEAR(c.jaccard, 3.0 / 10);
    NEAR(c.sparsity_ratio, (7.0 / 12) / (4.0 / 12));
    assert_int_equal(assay_mask_compare(all, 12, b, 12, &c, NULL), ASSAY_OK);
    NEAR(c.sparsity_ratio, 7.0 / 12);
    assert_int_equal(assay_mask_compare(all, 12, b, 11, &c, NULL), ASSAY_ERR_USAGE);
}

static void what_is_wrong_is_named(void **state)
{
    const struct assay_vector a[] = {{V(1, 0), 2}, {V(0, 1), 2}};
    const struct assay_vector b[] = {{V(1, 1), 2}, {V(0, NAN), 2}}, c[] = {{V(1), 1}, {V(1), 1}};
    struct assay_batch_result r;
    struct assay_delta_metric d;
    struct assay_error err;
    double out;

    (void)state;
    assert_int_equal(assay_quality_cosine_similarity(V(1, 2), 2, V(1), 1, &out, &err),
                     ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "vectors of 2 and 1 elements cannot be compared");
    assert_int_equal(assay_quality_l2_distance(V(1, NAN), 2, V(1, 1), 2, &out, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "element 1 of the first vector is not a number");
    assert_int_equal(assay_quality_delta_behavior(V(1, 1), 2, V(-INFINITY, 1), 2, &d, &err),
                     ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "element 0 of the second vector is infinite");
    assert_int_equal(assay_quality_evaluate_batch(a, 2, b, 2, 0.9, &r, &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "pair 1: element 1 of the second vector is not a number");
    assert_int_equal(assay_quality_contradiction_rate(a, 2, c, 2, &out, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "pair 0: vectors of 2 and 1 elements cannot be compared");
    assert_int_equal(assay_quality_cosine_similarity(NULL, 2, V(1, 1), 2, &out, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_quality_cosine_similarity(V(1), 1, V(1), 1, NULL, NULL),
                     ASSAY_ERR_USAGE);
    assert_int_equal(assay_quality_evaluate_batch(a, 2, NULL, 2, 0.9, &r, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_quality_evaluate_batch(a, 2, a, 2, UNIT_NAN, &r, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(assay_quality_evaluate_batch(a, 2, a, 2, 0, NULL, NULL), ASSAY_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cosines),
        cmocka_unit_test(distances),
        cmocka_unit_test(divergence),
        cmocka_unit_test(deltas_have_one_sign),
        cmocka_unit_test(the_gate),
        cmocka_unit_test(lists),
        cmocka_unit_test(batches),
        cmocka_unit_test(masks),
        cmocka_unit_test(what_is_wrong_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
