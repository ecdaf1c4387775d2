/* tests/unit/test_noise.c - the noise floor of made-up times, and a short real one. */
#include "unit.h"

#include "measure/latency/noise.h"
#include "stats/describe/rng.h"

static void equal_times_have_no_noise(void **state)
{
    double a[20], b[20];
    struct as_noise n;

    (void)state;
    for (size_t i = 0; i < 20; i++)
        a[i] = b[i] = 1000;
    assert_int_equal(as_noise_from(&n, a, b, 20, NULL), ASSAY_OK);
    assert_true(fabs(n.kernel_ns - 1000) < 1e-9);
    assert_true(fabs(n.median_share) < 1e-12 && fabs(n.cv) < 1e-12);
    assert_true(fabs(n.resolvable_share) < 1e-12);
    assert_true(isnan(n.p95_share)); /* twenty pairs do not carry it */
}

/* Differences are normal with a known spread, so the figures are known too. */
static void known_noise_is_found(void **state)
{
    enum { N = 2000 };
    static double a[N], b[N];
    const double sigma = 0.01;
    struct as_rng rng;
    struct as_noise n;

    (void)state;
    as_rng_seed(&rng, 7);
    for (size_t i = 0; i < N; i++) {
        a[i] = 1e6 * (1 + sigma * as_rng_normal(&rng));
        b[i] = 1e6 * (1 + sigma * as_rng_normal(&rng));
    }
    assert_int_equal(as_noise_from(&n, a, b, N, NULL), ASSAY_OK);
    assert_true(fabs(n.cv - sigma) < 0.1 * sigma);
    /* |A - B| of two such has the median 0.6745 * sqrt(2) * sigma, and 95 % lie below 1.96 of it.
     */
    assert_true(fabs(n.median_share - 0.9539 * sigma) < 0.1 * sigma);
    assert_true(fabs(n.p95_share - 2.772 * sigma) < 0.3 * sigma);
    assert_true(n.interval.low < 0.001 && n.interval.high > -0.001);
    assert_true(n.resolvable_share > 0 && n.resolvable_share < 0.2 * sigma);
    assert_true(n.interval.coverage >= 0.95);
}

static void a_real_difference_would_show(void **state)
{
    enum { N = 200 };
    static double a[N], b[N];
    struct as_rng rng;
    struct as_noise n;

    (void)state;
    as_rng_seed(&rng, 9);
    for (size_t i = 0; i < N; i++) {
        a[i] = 1e6 * (1 + 0.005 * as_rng_normal(&rng));
        b[i] = 1.03e6 * (1 + 0.005 * as_rng_normal(&rng));
    }
    assert_int_equal(as_noise_from(&n, a, b, N, NULL), ASSAY_OK);
    assert_true(n.interval.low > 0.02 && n.interval.high < 0.04);
    assert_true(fabs(n.shift_share - 0.03) < 0.005);
    assert_true(n.p < 1e-6);
}

static void times_that_are_none_are_refused(void **state)
{
    double zero[8] = {0}, odd[8] = {1, 1, 1, UNIT_NAN, 1, 1, 1, 1};
    struct as_noise n;

    (void)state;
    assert_int_equal(as_noise_from(&n, zero, zero, 8, NULL), ASSAY_ERR_STATE);
    assert_int_not_equal(as_noise_from(&n, zero, odd, 8, NULL), ASSAY_OK);
}

static void a_short_measurement_has_all_figures(void **state)
{
    struct as_noise n;

    (void)state;
    assert_int_equal(as_noise_measure(&n, 1000000, 50000, NULL), ASSAY_OK);
    assert_true(n.n_pairs >= 8);
    assert_true(n.kernel_ns > 0 && n.cv >= 0 && n.median_share >= 0);
    assert_true(n.p >= 0 && n.p <= 1);
    assert_true(n.interval.low <= n.interval.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_times_have_no_noise),
        cmocka_unit_test(known_noise_is_found),
        cmocka_unit_test(a_real_difference_would_show),
        cmocka_unit_test(times_that_are_none_are_refused),
        cmocka_unit_test(a_short_measurement_has_all_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
