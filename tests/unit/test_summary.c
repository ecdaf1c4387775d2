/* tests/unit/test_summary.c - the usual figures, against numpy and against their properties.
 * Known values: numpy 1.24 std(), percentile(), scipy 1.10 stats.median_abs_deviation(). */
#include "stats_near.h"

#include <string.h>

#include "stats/describe/summary.h"

static void agrees_with_numpy_on_integers(void **state)
{
    uint64_t v[] = {1250, 1310, 1190, 1400, 1275, 1330, 1225, 9800, 1260, 1305, 1180, 1295};
    uint64_t scratch[N_OF(v)], sum;
    struct as_summary s;

    (void)state;
    as_summary_u64(&s, v, N_OF(v), scratch, AS_QUANTILE_LINEAR);
    assert_int_equal(s.n, 12);
    assert_near(s.sum, 23820, 0);
    assert_near(s.min, 1180, 0);
    assert_near(s.max, 9800, 0);
    assert_near(s.mean, 1985, 0);
    assert_near(s.std_population, 2357.0320320267183, 1e-15);
    assert_near(s.std_sample, 2461.8396668862383, 1e-15);
    assert_near(s.cv, 1.2402214946530168, 1e-15);
    assert_near(s.median, 1285, 0);
    assert_near(s.mad, 40, 0);
    assert_near(s.percentile[AS_SUMMARY_P25], 1243.75, 0);
    assert_near(s.percentile[AS_SUMMARY_P99], 8876, 1e-14);
    assert_true(s.supported[AS_SUMMARY_P50]);
    assert_false(s.supported[AS_SUMMARY_P90]);
    assert_true(as_total_sum(&s.total, &sum));
    assert_int_equal(sum, 23820);
}

static void agrees_with_numpy_on_doubles(void **state)
{
    double v[] = {0.25, -1.5, 3.75, 2.125, -0.5, 10.0, 4.5}, scratch[N_OF(v)];
    struct as_summary s;

    (void)state;
    assert_int_equal(as_summary_f64(&s, v, N_OF(v), scratch, AS_QUANTILE_LINEAR, NULL), 0);
    assert_near(s.sum, 18.625, 0);
    assert_near(s.mean, 2.6607142857142856, 1e-15);
    assert_near(s.std_population, 3.622051932825043, 1e-15);
    assert_near(s.std_sample, 3.9122632288010184, 1e-15);
    assert_near(s.median, 2.125, 0);
    assert_near(s.mad, 2.375, 0);
    assert_near(s.percentile[AS_SUMMARY_P90], 6.7, 1e-14);
    assert_int_equal(s.total.n, 0);
}

static void what_is_missing_is_not_zero(void **state)
{
    uint64_t one = 42, scratch;
    struct as_summary s;

    (void)state;
    as_summary_u64(&s, NULL, 0, NULL, AS_QUANTILE_NEAREST_RANK);
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.std_population));
    assert_true(isnan(s.std_sample) && isnan(s.cv) && isnan(s.median) && isnan(s.mad));
    assert_true(isnan(s.percentile[AS_SUMMARY_P50]));
    assert_false(s.supported[AS_SUMMARY_P50]);
    as_summary_u64(&s, &one, 1, &scratch, AS_QUANTILE_NEAREST_RANK);
    assert_near(s.mean, 42, 0);
    assert_near(s.std_population, 0, 0);
    assert_near(s.percentile[AS_SUMMARY_P99], 42, 0);
    assert_true(isnan(s.std_sample) && isnan(s.cv));
}

static void refuses_what_is_not_finite_and_leaves_it(void **state)
{
    double v[] = {3, 1, (double)NAN, 2}, scratch[4];
    struct assay_error err;
    struct as_summary s;

    (void)state;
    assert_int_equal(as_summary_f64(&s, v, 4, scratch, AS_QUANTILE_LINEAR, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "sample 2 is not a finite number");
    assert_true(v[0] == 3 && v[1] == 1 && v[3] == 2);
}

static void the_order_of_samples_is_irrelevant(void **state)
{
    static uint64_t v[777], scratch[777];
    struct as_summary first, again;

    (void)state;
    fill_durations(v, N_OF(v), 31);
    memset(&first, 0, sizeof first);
    memset(&again, 0, sizeof again);
    as_summary_u64(&first, v, N_OF(v), scratch, AS_QUANTILE_LINEAR);
    for (uint64_t seed = 0; seed < 10; seed++) {
        shuffle_u64(v, N_OF(v), seed);
        as_summary_u64(&again, v, N_OF(v), scratch, AS_QUANTILE_LINEAR);
        assert_true(first.mean == again.mean && first.std_sample == again.std_sample);
        assert_true(first.mad == again.mad && first.median == again.median);
        assert_memory_equal(first.percentile, again.percentile, sizeof first.percentile);
    }
}

static void moves_and_scales_with_the_samples(void **state)
{
    static double v[400], w[400], scratch[400];
    struct as_summary s, t;

    (void)state;
    fill_normal(v, N_OF(v), 32);
    for (size_t i = 0; i < N_OF(v); i++)
        w[i] = -2.5 * v[i] + 7;
    assert_int_equal(as_summary_f64(&s, v, N_OF(v), scratch, AS_QUANTILE_LINEAR, NULL), 0);
    assert_int_equal(as_summary_f64(&t, w, N_OF(w), scratch, AS_QUANTILE_LINEAR, NULL), 0);
    assert_near(t.mean, -2.5 * s.mean + 7, 1e-14);
    assert_near(t.median, -2.5 * s.median + 7, 1e-14);
    assert_near(t.min, -2.5 * s.max + 7, 1e-14);
    assert_near(t.std_population, 2.5 * s.std_population, 1e-14);
    assert_near(t.mad, 2.5 * s.mad, 1e-14);
    assert_near(t.percentile[AS_SUMMARY_P25], -2.5 * s.percentile[AS_SUMMARY_P75] + 7, 1e-14);
}

static void spread_survives_a_great_offset(void **state)
{
    uint64_t v[] = {1, 2, 3, 4, 5}, scratch[5], sum;
    struct as_summary s;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        v[i] += UINT64_MAX - 5;
    as_summary_u64(&s, v, 5, scratch, AS_QUANTILE_NEAREST_RANK);
    assert_near(s.std_population, sqrt(2), 1e-15);
    assert_near(s.mad, 1, 0);
    assert_false(as_total_sum(&s.total, &sum));
    assert_near(s.sum, 5 * 0x1p64, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_numpy_on_integers),
        cmocka_unit_test(agrees_with_numpy_on_doubles),
        cmocka_unit_test(what_is_missing_is_not_zero),
        cmocka_unit_test(refuses_what_is_not_finite_and_leaves_it),
        cmocka_unit_test(the_order_of_samples_is_irrelevant),
        cmocka_unit_test(moves_and_scales_with_the_samples),
        cmocka_unit_test(spread_survives_a_great_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
