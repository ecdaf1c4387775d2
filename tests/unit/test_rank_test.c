/* tests/unit/test_rank_test.c - Mann-Whitney, Cliff's delta and Hodges-Lehmann.
 * Known values: scipy 1.10 mannwhitneyu(after, before), numpy median of subtract.outer(). */
#include "stats_near.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "stats/describe/sorted.h"
#include "stats/inference/rank_test.h"

static struct as_rank_test run(const double *before, size_t n_before, const double *after,
                               size_t n_after)
{
    struct as_rank_test out;

    assert_int_equal(as_rank_test(&out, before, n_before, after, n_after, NULL), 0);
    return out;
}

static void small_sides_without_ties_are_exact(void **state)
{
    const double before[] = {19.8, 22, 16.5, 29.1, 23.4, 21.7, 30.2};
    const double after[] = {17.2, 12.9, 15.1, 25.3, 14.4, 18.6};
    struct as_rank_test t = run(before, N_OF(before), after, N_OF(after));

    (void)state;
    assert_true(t.exact && !t.ties && t.few);
    assert_near(t.u, 7, 0);
    assert_near(t.p, 0.05128205128205128, 1e-14);
    assert_near(erfc(fabs(t.z) / sqrt(2)), 0.05378408886239828, 1e-13);
    assert_near(t.probability, 7.0 / 42, 1e-15);
    assert_near(t.delta, -28.0 / 42, 1e-15);
    assert_near(t.shift, -5.8, 1e-14);
}

static void twenty_a_side_are_still_exact(void **state)
{
    double before[20], after[20];
    struct as_rank_test t;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        before[i] = i * 37 % 101 + 0.5;
        after[i] = (i * 53 + 7) % 103 + 20.25;
    }
    t = run(before, 20, after, 20);
    assert_true(t.exact && !t.few);
    assert_near(t.u, 268, 0);
    assert_near(t.p, 0.06750114507526123, 1e-14);
    assert_near(t.shift, 18.25, 0);
}

static void ties_are_corrected(void **state)
{
    const double before[] = {1, 2, 2, 3, 4, 4, 4, 5, 6, 7, 9};
    const double after[] = {2, 4, 5, 5, 6, 6, 7, 8, 8, 9, 10, 11};
    struct as_rank_test t = run(before, N_OF(before), after, N_OF(after));

    (void)state;
    assert_true(!t.exact && t.ties && !t.few);
    assert_near(t.u, 101.5, 0);
    assert_near(t.p, 0.030194532843861917, 1e-13);
    assert_near(t.shift, 3, 0);
}

static void greater_sides_use_the_normal_approximation(void **state)
{
    double before[30], after[30];
    struct as_rank_test t;

    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        before[i] = i * 37 % 101;
        after[i] = (i * 53 + 7) % 103 + 11;
    }
    t = run(before, 30, after, 30);
    assert_false(t.exact);
    assert_near(t.u, 591.5, 0);
    assert_near(t.p, 0.037086846691551406, 1e-13);
    assert_near(t.shift, 17, 0);
}

static void the_smallest_sides_cannot_be_significant(void **state)
{
    const double low[] = {1, 2, 3}, high[] = {4, 5, 6}, same[] = {5, 5, 5, 5};
    struct as_rank_test t = run(low, 3, high, 3);

    (void)state;
    assert_near(t.p, 0.1, 1e-15);
    assert_near(t.delta, 1, 0);
    assert_near(t.probability, 1, 0);
    t = run(low, 1, high, 1);
    assert_near(t.p, 1, 0);
    t = run(same, 4, same, 4);
    assert_near(t.p, 1, 0);
    assert_near(t.z, 0, 0);
    assert_near(t.delta, 0, 0);
    assert_near(t.shift, 0, 0);
}

static void refuses_empty_sides_and_wrong_values(void **state)
{
    const double fine[] = {1, 2}, wrong[] = {1, (double)NAN};
    struct as_rank_test out;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_rank_test(&out, fine, 0, fine, 2, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "no values before the change");
    assert_int_equal(as_rank_test(&out, fine, 2, fine, 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_rank_test(&out, fine, 2, wrong, 2, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "value 1 after the change is not a finite number");
}

static void running_out_of_memory_is_told(void **state)
{
    const double v[] = {1, 2};
    struct as_rank_test out;

    (void)state;
#ifdef ASSAY_FAULTS
    as_alloc_fail_at(1, 0);
    assert_int_equal(as_rank_test(&out, v, 2, v, 2, NULL), ASSAY_ERR_NOMEM);
    as_alloc_fail_at(0, 0);
#endif
    assert_int_equal(as_rank_test(&out, v, 2, v, 2, NULL), 0);
}

static void exchanging_the_sides_turns_the_sign(void **state)
{
    static double a[60], b[60];

    (void)state;
    fill_normal(a, N_OF(a), 61);
    fill_normal(b, N_OF(b), 62);
    for (size_t n = 1; n <= 60; n++) {
        struct as_rank_test t = run(a, n, b, 61 - n), r = run(b, 61 - n, a, n);

        assert_near(t.p, r.p, 1e-14);
        assert_near(t.z, -r.z, 1e-14);
        assert_near(t.delta, -r.delta, 1e-14);
        assert_near(t.probability, 1 - r.probability, 1e-14);
        assert_near(t.shift, -r.shift, 1e-14);
    }
}

static void the_shift_is_the_median_of_all_differences(void **state)
{
    static double a[40], b[40], d[1600], scratch[1600];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 63);
    for (unsigned round = 0; round < 300; round++) {
        size_t n = 1 + (size_t)as_rng_below(&rng, 40), m = 1 + (size_t)as_rng_below(&rng, 40);
        struct as_sorted s = as_sorted_f64(d, n * m);
        double greater = 0;
        struct as_rank_test t;

        for (size_t i = 0; i < 40; i++) {
            a[i] = as_rng_normal(&rng) * 10;
            b[i] = as_rng_normal(&rng) * 10 + 3;
            if (round % 2) { /* many ties */
                a[i] = floor(a[i] / 4);
                b[i] = floor(b[i] / 4);
            }
        }
        for (size_t i = 0; i < n * m; i++) {
            d[i] = b[i % m] - a[i / m];
            greater += d[i] > 0 ? 1 : d[i] == 0 ? 0.5 : 0;
        }
        as_sort_f64(d, n * m, scratch);
        t = run(a, n, b, m);
        assert_near(t.shift, as_sorted_median(&s), 1e-15);
        assert_near(t.u, greater, 0);
    }
}

static void moves_and_scales_with_the_samples(void **state)
{
    static double a[25], b[30], c[25], d[30];
    struct as_rank_test t, r;

    (void)state;
    fill_normal(a, N_OF(a), 64);
    fill_normal(b, N_OF(b), 65);
    for (size_t i = 0; i < 30; i++) {
        c[i % 25] = 2 * a[i % 25] + 9;
        d[i] = 2 * b[i] + 9 + 4;
    }
    t = run(a, 25, b, 30);
    r = run(c, 25, d, 30);
    assert_near(r.shift, 2 * t.shift + 4, 1e-14);
    for (size_t i = 0; i < 30; i++)
        d[i] -= 4;
    r = run(c, 25, d, 30);
    assert_near(r.p, t.p, 1e-15);
    assert_near(r.u, t.u, 0);
}

/* Without a difference, one test in twenty is below 0.05, exact or not. */
static void false_alarms_are_as_rare_as_promised(void **state)
{
    static double v[80];
    const unsigned rounds = 4000;

    (void)state;
    for (size_t n = 10; n <= 40; n += 30) {
        unsigned alarms = 0;

        for (unsigned round = 0; round < rounds; round++) {
            fill_normal(v, 2 * n, round * 7919 + n);
            alarms += run(v, n, v + n, n).p < 0.05;
        }
        assert_near((double)alarms / rounds, 0.047, 0.012);
    }
}

static void a_hundred_thousand_a_side_are_compared(void **state)
{
    const size_t n = 100000;
    double *v = malloc(2 * n * sizeof *v);
    struct as_rank_test t;

    (void)state;
    assert_non_null(v);
    fill_normal(v, 2 * n, 66);
    for (size_t i = n; i < 2 * n; i++)
        v[i] += 0.1;
    t = run(v, n, v + n, n);
    assert_near(t.shift, 0.1, 0.02);
    assert_near(t.probability, 0.528186, 0.005); /* of normals 0.1 apart: Phi(0.1 / sqrt 2) */
    assert_true(t.p < 1e-50);
    free(v);
}

/* Judged by counting all placements of small sides, and by sorting all differences. */
static void the_interval_of_the_shift_inverts_the_test(void **state)
{
    const double few_before[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    const double few_after[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    const double tiny[] = {1, 2, 3}, above[] = {4, 5, 6};
    double before[60], after[50];
    struct as_interval i;

    (void)state;
    assert_int_equal(as_rank_shift_interval(&i, few_before, 5, few_after, 10, 0.95, NULL), 0);
    assert_near(i.low, -0.15, 1e-14);
    assert_near(i.high, 0.76, 1e-14);
    assert_near(i.coverage, 0.9600399600399601, 1e-14);
    assert_true(i.reached);
    assert_int_equal(as_rank_shift_interval(&i, tiny, 3, above, 3, 0.95, NULL), 0);
    assert_false(i.reached);
    assert_near(i.low, 1, 0);
    assert_near(i.high, 5, 0);
    for (unsigned k = 0; k < 60; k++)
        before[k] = k * 37 % 101 + 0.5;
    for (unsigned k = 0; k < 50; k++)
        after[k] = (k * 53 + 7) % 103 + 20.25;
    assert_int_equal(as_rank_shift_interval(&i, before, 60, after, 50, 0.95, NULL), 0);
    assert_near(i.low, 6.75, 0);
    assert_near(i.high, 30.75, 0);
    assert_near(i.coverage, 0.9500018995160685, 1e-12);
    assert_int_equal(as_rank_shift_interval(&i, tiny, 3, above, 0, 0.95, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(as_rank_shift_interval(&i, tiny, 3, above, 3, 1, NULL), ASSAY_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sides_without_ties_are_exact),
        cmocka_unit_test(twenty_a_side_are_still_exact),
        cmocka_unit_test(ties_are_corrected),
        cmocka_unit_test(greater_sides_use_the_normal_approximation),
        cmocka_unit_test(the_smallest_sides_cannot_be_significant),
        cmocka_unit_test(refuses_empty_sides_and_wrong_values),
        cmocka_unit_test(running_out_of_memory_is_told),
        cmocka_unit_test(exchanging_the_sides_turns_the_sign),
        cmocka_unit_test(the_shift_is_the_median_of_all_differences),
        cmocka_unit_test(moves_and_scales_with_the_samples),
        cmocka_unit_test(false_alarms_are_as_rare_as_promised),
        cmocka_unit_test(a_hundred_thousand_a_side_are_compared),
        cmocka_unit_test(the_interval_of_the_shift_inverts_the_test),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
