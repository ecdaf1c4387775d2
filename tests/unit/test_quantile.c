/* tests/unit/test_quantile.c - both definitions of a percentile.
 * Known values: numpy 1.24 percentile(), and its method inverted_cdf for "nearest_rank". */
#include "stats_near.h"

#include "stats/describe/quantile.h"
#include "stats/describe/sorted.h"

static void ten_to_a_hundred_has_two_medians(void **state)
{
    const uint64_t v[] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    struct as_sorted s = as_sorted_u64(v, 10);

    (void)state;
    assert_near(as_quantile_at(&s, 50, AS_QUANTILE_NEAREST_RANK), 50, 0);
    assert_near(as_quantile_at(&s, 50, AS_QUANTILE_LINEAR), 55, 0);
    assert_int_equal(as_quantile_nearest_u64(v, 10, 50), 50);
    assert_int_equal(as_quantile_nearest_u64(v, 10, 95), 100);
}

static void agrees_with_numpy(void **state)
{
    const uint64_t u[] = {1180, 1190, 1225, 1250, 1260, 1275, 1295, 1305, 1310, 1330, 1400, 9800};
    const double f[] = {-1.5, -0.5, 0.25, 2.125, 3.75, 4.5, 10.0};
    static const double want[][3] = {{25, 1243.75, 1225}, {50, 1285, 1275}, {75, 1315, 1310},
                                     {90, 1393, 1400},    {95, 5180, 9800}, {99, 8876, 9800},
                                     {99.9, 9707.6, 9800}};
    struct as_sorted s = as_sorted_u64(u, N_OF(u)), t = as_sorted_f64(f, N_OF(f));

    (void)state;
    for (size_t i = 0; i < N_OF(want); i++) {
        assert_near(as_quantile_at(&s, want[i][0], AS_QUANTILE_LINEAR), want[i][1], 1e-14);
        assert_near(as_quantile_at(&s, want[i][0], AS_QUANTILE_NEAREST_RANK), want[i][2], 0);
    }
    assert_near(as_quantile_at(&t, 90, AS_QUANTILE_LINEAR), 6.7, 1e-14);
    assert_near(as_quantile_at(&t, 99.9, AS_QUANTILE_LINEAR), 9.967, 1e-14);
}

static void the_rank_is_not_moved_by_rounding(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 2000; n++) {
        for (uint64_t tenth = 0; tenth <= 1000; tenth++) {
            uint64_t rank = (tenth * n + 999) / 1000; /* ceil(p / 100 * n) in whole numbers */

            rank = rank < 1 ? 1 : rank;
            assert_int_equal(as_quantile_rank(n, (double)tenth / 10), rank - 1);
        }
    }
}

static void a_percentage_is_held_inside(void **state)
{
    const uint64_t v[] = {3, 7};
    struct as_sorted s = as_sorted_u64(v, 2), none = as_sorted_u64(NULL, 0);

    (void)state;
    for (enum as_quantile_method m = 0; m < AS_QUANTILE_COUNT; m++) {
        assert_near(as_quantile_at(&s, -5, m), 3, 0);
        assert_near(as_quantile_at(&s, 0, m), 3, 0);
        assert_near(as_quantile_at(&s, 100, m), 7, 0);
        assert_near(as_quantile_at(&s, 1e300, m), 7, 0);
        assert_near(as_quantile_at(&s, (double)NAN, m), 3, 0);
        assert_true(isnan(as_quantile_at(&none, 50, m)));
    }
    assert_int_equal(as_quantile_rank(0, 50), 0);
    assert_true(as_quantile_rank(UINT64_MAX, 100) == UINT64_MAX - 1);
}

static void moves_and_scales_with_the_samples(void **state)
{
    static double v[101], w[101], scratch[101];
    struct as_sorted s = as_sorted_f64(v, N_OF(v)), t = as_sorted_f64(w, N_OF(w));

    (void)state;
    fill_normal(v, N_OF(v), 21);
    as_sort_f64(v, N_OF(v), scratch);
    for (size_t i = 0; i < N_OF(v); i++)
        w[i] = 3 * v[i] + 100;
    for (unsigned p = 0; p <= 100; p++) {
        for (enum as_quantile_method m = 0; m < AS_QUANTILE_COUNT; m++)
            assert_near(as_quantile_at(&t, p, m), 3 * as_quantile_at(&s, p, m) + 100, 1e-14);
    }
}

static void never_falls_as_the_percentage_rises(void **state)
{
    static uint64_t v[500], scratch[500];
    struct as_sorted s = as_sorted_u64(v, N_OF(v));

    (void)state;
    fill_durations(v, N_OF(v), 22);
    as_sort_u64(v, N_OF(v), scratch);
    for (enum as_quantile_method m = 0; m < AS_QUANTILE_COUNT; m++) {
        double before = 0;

        for (unsigned i = 0; i <= 10000; i++) {
            double now = as_quantile_at(&s, i / 100.0, m);

            assert_true(now >= before);
            before = now;
        }
    }
}

static void a_tail_needs_ten_samples_beyond(void **state)
{
    static const struct {
        double p;
        uint64_t n;
    } want[] = {{50, 1},      {75, 40},      {90, 100},       {95, 200}, {99, 1000},
                {99.5, 2000}, {99.9, 10000}, {99.99, 100000}, {10, 100}, {1, 1000}};

    (void)state;
    for (size_t i = 0; i < N_OF(want); i++) {
        assert_int_equal(as_quantile_needs(want[i].p), want[i].n);
        assert_true(as_quantile_supported(want[i].n, want[i].p));
        assert_false(as_quantile_supported(want[i].n - 1, want[i].p));
    }
    assert_false(as_quantile_supported(UINT64_MAX, 100));
    assert_false(as_quantile_supported(1000000, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_to_a_hundred_has_two_medians),
        cmocka_unit_test(agrees_with_numpy),
        cmocka_unit_test(the_rank_is_not_moved_by_rounding),
        cmocka_unit_test(a_percentage_is_held_inside),
        cmocka_unit_test(moves_and_scales_with_the_samples),
        cmocka_unit_test(never_falls_as_the_percentage_rises),
        cmocka_unit_test(a_tail_needs_ten_samples_beyond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
