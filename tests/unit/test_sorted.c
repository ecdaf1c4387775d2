/* tests/unit/test_sorted.c - median and deviations of a sorted view, against the plain definitions.
 * The plain definitions need memory and a second sort, which is why the module does without. */
#include "stats_near.h"

#include "stats/describe/sorted.h"

static void empty_samples_have_no_median(void **state)
{
    struct as_sorted s = as_sorted_u64(NULL, 0);

    (void)state;
    assert_true(isnan(as_sorted_median(&s)));
    assert_true(isnan(as_sorted_mad(&s)));
    assert_true(isnan(as_sorted_mean_deviation(&s)));
    assert_int_equal(as_sorted_count_below(&s, 1), 0);
    assert_int_equal(as_sorted_count_above(&s, 1), 0);
}

static void mad_is_the_median_of_distances(void **state)
{
    static double v[300], d[300], scratch[300];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 3);
    for (size_t n = 1; n < 300; n++) {
        struct as_sorted s = as_sorted_f64(v, n), distances = as_sorted_f64(d, n);
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            v[i] = floor(as_rng_normal(&rng) * (n % 3 ? 1000 : 2)); /* with and without ties */
        as_sort_f64(v, n, scratch);
        for (size_t i = 0; i < n; i++) {
            d[i] = fabs(v[i] - as_sorted_median(&s));
            sum += d[i];
        }
        as_sort_f64(d, n, scratch);
        assert_near(as_sorted_mad(&s), as_sorted_median(&distances), 1e-15);
        assert_near(as_sorted_mean_deviation(&s), sum / (double)n, 1e-13);
    }
}

static void great_integers_keep_their_distances(void **state)
{
    const uint64_t top = UINT64_MAX;
    const uint64_t v[] = {top - 6, top - 4, top - 3, top};
    struct as_sorted s = as_sorted_u64(v, 4);

    (void)state;
    /* The median is top - 3.5, the distances 2.5, 0.5, 0.5, 3.5. */
    assert_near(as_sorted_mad(&s), 1.5, 0);
    assert_near(as_sorted_mean_deviation(&s), 1.75, 0);
}

static void counts_beyond_a_value(void **state)
{
    const uint64_t v[] = {1, 2, 2, 2, 5, 9};
    struct as_sorted s = as_sorted_u64(v, 6);

    (void)state;
    assert_int_equal(as_sorted_count_below(&s, 2), 1);
    assert_int_equal(as_sorted_count_above(&s, 2), 2);
    assert_int_equal(as_sorted_count_below(&s, 100), 6);
    assert_int_equal(as_sorted_count_above(&s, 100), 0);
    assert_int_equal(as_sorted_count_below(&s, -1), 0);
    assert_int_equal(as_sorted_count_above(&s, -1), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_samples_have_no_median),
        cmocka_unit_test(mad_is_the_median_of_distances),
        cmocka_unit_test(great_integers_keep_their_distances),
        cmocka_unit_test(counts_beyond_a_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
