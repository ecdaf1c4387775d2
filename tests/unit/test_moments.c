/* tests/unit/test_moments.c - streaming mean and spread against those of the kept samples.
 * Values far from zero are the hard case, where squares cancel. */
#include "stats_near.h"

#include "stats/describe/moments.h"
#include "stats/describe/summary.h"

static void too_few_samples_have_no_spread(void **state)
{
    struct as_moments m = {0};

    (void)state;
    assert_true(isnan(as_moments_mean(&m)));
    assert_true(isnan(as_moments_std_population(&m)));
    as_moments_add(&m, 42);
    assert_near(as_moments_mean(&m), 42, 0);
    assert_near(as_moments_std_population(&m), 0, 0);
    assert_true(isnan(as_moments_std_sample(&m)));
}

static void agrees_with_the_summary_far_from_zero(void **state)
{
    static uint64_t v[2000], scratch[2000];

    (void)state;
    for (uint64_t offset = 0; offset < 1ull << 52; offset = offset * 16 + 1) {
        struct as_moments m = {0};
        struct as_summary s;

        fill_durations(v, N_OF(v), offset);
        for (size_t i = 0; i < N_OF(v); i++) {
            v[i] += offset;
            as_moments_add(&m, v[i]);
        }
        as_summary_u64(&s, v, N_OF(v), scratch, AS_QUANTILE_LINEAR);
        assert_near(as_moments_mean(&m), s.mean, 1e-15);
        assert_near(as_moments_std_population(&m), s.std_population, 1e-6);
        assert_near(as_moments_std_sample(&m), s.std_sample, 1e-6);
    }
}

static void a_merge_is_the_moments_of_all(void **state)
{
    static uint64_t v[999];

    (void)state;
    fill_durations(v, N_OF(v), 5);
    for (size_t cut = 0; cut <= N_OF(v); cut += 111) {
        struct as_moments all = {0}, left = {0}, right = {0};

        for (size_t i = 0; i < N_OF(v); i++) {
            as_moments_add(&all, v[i]);
            as_moments_add(i < cut ? &left : &right, v[i]);
        }
        as_moments_merge(&left, &right);
        assert_memory_equal(&left.total, &all.total, sizeof all.total);
        assert_near(left.mean, all.mean, 1e-13);
        assert_near(as_moments_std_sample(&left), as_moments_std_sample(&all), 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_few_samples_have_no_spread),
        cmocka_unit_test(agrees_with_the_summary_far_from_zero),
        cmocka_unit_test(a_merge_is_the_moments_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
