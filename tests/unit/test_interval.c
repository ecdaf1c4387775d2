/* tests/unit/test_interval.c - intervals of the median: coverage by scipy, and coverage in fact.
 * Known values: scipy 1.10, binom.cdf(n-k, n, .5) - binom.cdf(k-1, n, .5), greatest fitting k. */
#include "stats_near.h"

#include <stdlib.h>

#include "stats/describe/sorted.h"
#include "stats/inference/interval.h"

static void the_ranks_and_the_coverage_are_those_of_scipy(void **state)
{
    static const struct {
        size_t n;
        double level;
        size_t k;
        double coverage;
    } want[] = {
        {1, 0.95, 1, 0},
        {2, 0.95, 1, 0.5},
        {5, 0.95, 1, 0.9375},
        {6, 0.95, 1, 0.96875},
        {7, 0.99, 1, 0.984375},
        {10, 0.95, 2, 0.978515625},
        {10, 0.99, 1, 0.998046875},
        {11, 0.95, 2, 0.98828125},
        {25, 0.95, 8, 0.9567147493362427},
        {25, 0.99, 6, 0.9959226846694946},
        {100, 0.95, 40, 0.9647997997822952},
        {101, 0.99, 38, 0.9906649518793551},
        {1000, 0.95, 469, 0.9537088026395018},
        {1001, 0.95, 470, 0.9500154764972457},
        {2001, 0.99, 943, 0.9905080960317636},
        {50000, 0.95, 24781, 0.9503860063767076},
        {100001, 0.95, 49691, 0.9500751139879056},
        {100001, 0.99, 49593, 0.9901319164371325},
    };
    static double v[100001];

    (void)state;
    for (size_t i = 0; i < N_OF(v); i++)
        v[i] = (double)(i + 1);
    for (size_t i = 0; i < N_OF(want); i++) {
        struct as_sorted s = as_sorted_f64(v, want[i].n);
        struct as_interval got;

        assert_int_equal(as_interval_median(&got, &s, want[i].level, NULL), 0);
        assert_near(got.low, (double)want[i].k, 0);
        assert_near(got.high, (double)(want[i].n - want[i].k + 1), 0);
        assert_near(got.coverage, want[i].coverage, 1e-11);
        assert_true(got.reached == (want[i].coverage >= want[i].level));
    }
}

static void refuses_what_has_no_interval(void **state)
{
    double v[] = {1, 2, 3};
    struct as_sorted s = as_sorted_f64(v, 3), none = as_sorted_f64(v, 0);
    struct assay_error err;
    struct as_interval out;

    (void)state;
    assert_int_equal(as_interval_median(&out, &none, 0.95, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_interval_median(&out, &s, 0, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_interval_median(&out, &s, 1, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_interval_median(&out, &s, (double)NAN, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_interval_median(&out, &s, 0.95, &err), 0);
    assert_false(out.reached); /* three samples cannot */
    assert_near(out.coverage, 0.75, 0);
}

/* Half of all samples are below 0, whose interval must hold 0 as often as it says. */
static void the_exact_interval_covers_as_often_as_it_says(void **state)
{
    static const size_t sizes[] = {6, 9, 20, 41};
    const unsigned rounds = 20000;
    double v[41], scratch[41];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 4);
    for (size_t k = 0; k < N_OF(sizes); k++) {
        struct as_sorted s = as_sorted_f64(v, sizes[k]);
        struct as_interval got = {0};
        unsigned hits = 0;

        for (unsigned round = 0; round < rounds; round++) {
            for (size_t i = 0; i < sizes[k]; i++) {
                double x = as_rng_normal(&rng);

                v[i] = x < 0 ? x : exp(3 * x) - 1; /* as skewed as latencies */
            }
            as_sort_f64(v, sizes[k], scratch);
            assert_int_equal(as_interval_median(&got, &s, 0.95, NULL), 0);
            hits += got.low <= 0 && got.high >= 0;
        }
        assert_near((double)hits / rounds, got.coverage, 0.006);
    }
}

static void moves_and_scales_with_the_samples(void **state)
{
    double v[40], w[40], scratch[400];
    struct as_sorted s = as_sorted_f64(v, 40), t = as_sorted_f64(w, 40);
    struct as_interval a, b;

    (void)state;
    fill_normal(v, 40, 42);
    as_sort_f64(v, 40, scratch);
    for (size_t i = 0; i < 40; i++)
        w[i] = 4 * v[i] - 3;
    assert_int_equal(as_interval_median(&a, &s, 0.95, NULL), 0);
    assert_int_equal(as_interval_median(&b, &t, 0.95, NULL), 0);
    assert_near(b.low, 4 * a.low - 3, 1e-14);
    assert_near(b.high, 4 * a.high - 3, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ranks_and_the_coverage_are_those_of_scipy),
        cmocka_unit_test(refuses_what_has_no_interval),
        cmocka_unit_test(the_exact_interval_covers_as_often_as_it_says),
        cmocka_unit_test(moves_and_scales_with_the_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
