/* tests/unit/test_outlier.c - scores, fences and the first run.
 * Known values: the fences from numpy 1.24 percentile(), the scores by hand. */
#include "stats_near.h"

#include "stats/describe/outlier.h"
#include "stats/describe/sorted.h"

static void one_slow_run_is_found_both_ways(void **state)
{
    const uint64_t v[] = {1180, 1190, 1225, 1250, 1260, 1275, 1295, 1305, 1310, 1330, 1400, 9800};
    struct as_sorted s = as_sorted_u64(v, N_OF(v));
    struct as_outliers out;
    struct as_fences f;

    (void)state;
    as_outlier_count(&out, &s, AS_OUTLIER_THRESHOLD);
    assert_near(out.scale.median, 1285, 0);
    assert_near(out.scale.unit, 40, 0);
    assert_false(out.scale.from_mean);
    assert_int_equal(out.n_low, 0);
    assert_int_equal(out.n_high, 1);
    assert_near(as_outlier_score(&out.scale, 9800), (9800.0 - 1285) / 40, 1e-15);
    as_outlier_count(&out, &s, 2.6); /* 1181 and 1389 are 2.6 away */
    assert_int_equal(out.n_low, 1);
    assert_int_equal(out.n_high, 2);
    as_outlier_fences(&f, &s);
    assert_near(f.mild_low, 1136.875, 0);
    assert_near(f.mild_high, 1421.875, 0);
    assert_near(f.severe_low, 1030, 0);
    assert_near(f.severe_high, 1528.75, 0);
    assert_int_equal(f.n_mild_low + f.n_mild_high + f.n_severe_low, 0);
    assert_int_equal(f.n_severe_high, 1);
}

static void mild_and_severe_are_counted_apart(void **state)
{
    const double v[] = {-40, -16, -7, -6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 18, 19, 26, 48};
    struct as_sorted s = as_sorted_f64(v, N_OF(v));
    struct as_fences f;

    (void)state;
    as_outlier_fences(&f, &s);
    assert_near(f.q1, 1.5, 0);
    assert_near(f.q3, 10.5, 0);
    assert_near(f.mild_low, -12, 0);
    assert_near(f.mild_high, 24, 0);
    assert_near(f.severe_low, -25.5, 0);
    assert_near(f.severe_high, 37.5, 0);
    assert_int_equal(f.n_mild_low, 1);
    assert_int_equal(f.n_severe_low, 1);
    assert_int_equal(f.n_mild_high, 1);
    assert_int_equal(f.n_severe_high, 1);
}

static void equal_samples_have_no_outlier(void **state)
{
    uint64_t v[50];
    struct as_sorted s = as_sorted_u64(v, 50), none = as_sorted_u64(v, 0);
    struct as_outliers out;
    struct as_fences f;

    (void)state;
    for (size_t i = 0; i < 50; i++)
        v[i] = 7;
    as_outlier_count(&out, &s, AS_OUTLIER_THRESHOLD);
    assert_int_equal(out.n_low + out.n_high, 0);
    assert_near(as_outlier_score(&out.scale, 7), 0, 0);
    assert_true(isinf(as_outlier_score(&out.scale, 8)));
    as_outlier_fences(&f, &s);
    assert_int_equal(f.n_mild_high + f.n_severe_high, 0);
    as_outlier_count(&out, &none, AS_OUTLIER_THRESHOLD);
    assert_int_equal(out.n_low + out.n_high, 0);
    as_outlier_fences(&f, &none);
    assert_true(isnan(f.q1));
    assert_int_equal(f.n_severe_low + f.n_severe_high, 0);
}

static void a_mad_of_zero_falls_back_to_the_mean_deviation(void **state)
{
    uint64_t v[100];
    struct as_sorted s = as_sorted_u64(v, 100);
    struct as_outliers out;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        v[i] = i < 60 ? 100 : 101; /* a clock that ticks too coarsely is not an outlier */
    as_outlier_count(&out, &s, AS_OUTLIER_THRESHOLD);
    assert_true(out.scale.from_mean && out.scale.unit > 0);
    assert_int_equal(out.n_low + out.n_high, 0);
    v[99] = 5000;
    as_outlier_count(&out, &s, AS_OUTLIER_THRESHOLD);
    assert_true(out.scale.from_mean);
    assert_int_equal(out.n_high, 1);
}

static void both_units_agree_on_normal_samples(void **state)
{
    static double v[20001], scratch[20001];
    struct as_sorted s = as_sorted_f64(v, N_OF(v));
    struct as_outlier_scale scale;

    (void)state;
    fill_normal(v, N_OF(v), 51);
    as_sort_f64(v, N_OF(v), scratch);
    as_outlier_scale(&scale, &s);
    assert_near(scale.unit * 1.4826, 1, 0.02);
    assert_near(as_sorted_mean_deviation(&s) * 1.2533141373155003, 1, 0.02);
}

static void scores_do_not_depend_on_unit_or_origin(void **state)
{
    static double v[99], w[99], scratch[99];
    struct as_sorted s = as_sorted_f64(v, N_OF(v)), t = as_sorted_f64(w, N_OF(w));
    struct as_outlier_scale a, b;

    (void)state;
    fill_normal(v, N_OF(v), 52);
    as_sort_f64(v, N_OF(v), scratch);
    for (size_t i = 0; i < N_OF(v); i++)
        w[i] = 1000 * v[i] + 5;
    as_outlier_scale(&a, &s);
    as_outlier_scale(&b, &t);
    for (size_t i = 0; i < N_OF(v); i++)
        assert_near(as_outlier_score(&b, w[i]), as_outlier_score(&a, v[i]), 1e-10);
}

static void the_first_run_is_judged_by_the_others(void **state)
{
    uint64_t v[] = {90000, 1010, 1000, 1020, 990, 1005, 1015}, scratch[2 * N_OF(v)];
    struct as_first_run first;

    (void)state;
    as_outlier_first_u64(&first, v, N_OF(v), AS_OUTLIER_THRESHOLD, scratch);
    assert_true(first.tested && first.outlier);
    /* The others have median 1007.5 and MAD 7.5. */
    assert_near(first.score, (90000 - 1007.5) / 7.5, 1e-14);
    assert_int_equal(v[0], 90000);
    assert_int_equal(v[1], 1010);
    v[0] = 1030;
    as_outlier_first_u64(&first, v, N_OF(v), AS_OUTLIER_THRESHOLD, scratch);
    assert_true(first.tested && !first.outlier);
    v[0] = 1;
    as_outlier_first_u64(&first, v, N_OF(v), AS_OUTLIER_THRESHOLD, scratch);
    assert_true(first.outlier && first.score < 0);
    as_outlier_first_u64(&first, v, AS_OUTLIER_MIN_REST, AS_OUTLIER_THRESHOLD, scratch);
    assert_true(!first.tested && !first.outlier && isnan(first.score));
}

static void a_first_run_unlike_equal_others_is_an_outlier(void **state)
{
    uint64_t v[] = {8, 7, 7, 7, 7}, scratch[2 * N_OF(v)];
    struct as_first_run first;

    (void)state;
    as_outlier_first_u64(&first, v, N_OF(v), AS_OUTLIER_THRESHOLD, scratch);
    assert_true(first.outlier && isinf(first.score));
    v[0] = 7;
    as_outlier_first_u64(&first, v, N_OF(v), AS_OUTLIER_THRESHOLD, scratch);
    assert_true(first.tested && !first.outlier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slow_run_is_found_both_ways),
        cmocka_unit_test(mild_and_severe_are_counted_apart),
        cmocka_unit_test(equal_samples_have_no_outlier),
        cmocka_unit_test(a_mad_of_zero_falls_back_to_the_mean_deviation),
        cmocka_unit_test(both_units_agree_on_normal_samples),
        cmocka_unit_test(scores_do_not_depend_on_unit_or_origin),
        cmocka_unit_test(the_first_run_is_judged_by_the_others),
        cmocka_unit_test(a_first_run_unlike_equal_others_is_an_outlier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
