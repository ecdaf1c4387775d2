/* tests/unit/test_trend.c - Theil-Sen lines and Mann-Kendall tests.
 * Known values: scipy 1.10 theilslopes(method='joint'), kendalltau(), else the textbook sum. */
#include "stats_near.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "stats/inference/trend.h"

static const double spiked[] = {1.0, 2.9, 5.2, 6.8, 9.1, 11.2, 40.0, 14.9, 17.1, 19.0};

static struct as_trend_line line_of(const double *x, const double *y, size_t n)
{
    struct as_trend_line out;

    assert_int_equal(as_trend_line(&out, x, y, n, NULL), 0);
    return out;
}

static struct as_trend_test test_of(const double *y, size_t n)
{
    struct as_trend_test out;

    assert_int_equal(as_trend_test(&out, y, n, NULL), 0);
    return out;
}

static void a_spike_does_not_tilt_the_line(void **state)
{
    struct as_trend_line l = line_of(NULL, spiked, N_OF(spiked));

    (void)state;
    assert_near(l.slope, 2.0125, 1e-14);
    assert_near(l.intercept, 1.0, 1e-14);
    assert_true(l.exact);
    assert_int_equal(l.n_used, 10);
}

static void equal_times_are_passed_over(void **state)
{
    const double x[] = {0, 1, 1, 2.5, 4, 4, 7, 8, 11};
    const double y[] = {5, 4.5, 6, 3, 3.25, 1, 0.5, -2, -1};
    struct as_trend_line l = line_of(x, y, N_OF(x));

    (void)state;
    assert_near(l.slope, -0.725, 1e-14);
    assert_near(l.intercept, 5.225, 1e-14);
}

static void a_straight_line_is_found_exactly_or_by_blocks(void **state)
{
    static const size_t sizes[] = {2, 3, 999, 1000, 1001, 2500, 100000};
    double *y = malloc(100000 * sizeof *y);

    (void)state;
    assert_non_null(y);
    for (size_t i = 0; i < 100000; i++)
        y[i] = 3 - 0.25 * (double)i;
    for (size_t k = 0; k < N_OF(sizes); k++) {
        struct as_trend_line l = line_of(NULL, y, sizes[k]);

        assert_near(l.slope, -0.25, 1e-12);
        assert_near(l.intercept, 3, 1e-9);
        assert_true(l.exact == (sizes[k] <= AS_TREND_EXACT_MAX));
        assert_int_equal(l.n_used, l.exact ? sizes[k] : AS_TREND_EXACT_MAX);
    }
    free(y);
}

static void blocks_agree_with_all_pairs_and_resist_spikes(void **state)
{
    enum { N = 5000 };
    static double y[N], noise[N];
    struct as_trend_line l;

    (void)state;
    fill_normal(noise, N, 71);
    for (size_t i = 0; i < N; i++)
        y[i] = 0.01 * (double)i + noise[i] + (i % 50 == 0 ? 1000 : 0);
    l = line_of(NULL, y, N);
    assert_false(l.exact);
    assert_near(l.slope, 0.01, 1e-4);
    assert_near(l.intercept, 0, 0.2);
}

static void the_line_moves_and_scales_with_the_points(void **state)
{
    static double x[200], y[200], v[200], w[200];
    struct as_trend_line a, b;

    (void)state;
    fill_normal(y, N_OF(y), 72);
    for (size_t i = 0; i < N_OF(y); i++) {
        x[i] = (double)(i * i);
        v[i] = 4 * x[i] + 100;
        w[i] = 3 * y[i] - 5;
    }
    a = line_of(x, y, N_OF(y));
    b = line_of(v, w, N_OF(y));
    assert_near(b.slope, a.slope * 3 / 4, 1e-13);
    assert_near(b.intercept, 3 * a.intercept - 5 - 100 * b.slope, 1e-12);
}

static void the_test_agrees_with_the_textbook(void **state)
{
    const double ties[] = {3, 3, 1, 4, 4, 4, 2, 5, 6, 5, 5, 7, 6, 8, 8};
    struct as_trend_test t = test_of(spiked, N_OF(spiked));
    double y[60];

    (void)state;
    assert_int_equal(t.s, 39);
    assert_near(t.z, 3.3988233257996803, 1e-14);
    assert_near(t.p, 0.0006767641801210457, 1e-14);
    assert_near(t.tau, 0.8666666666666666, 1e-15);
    t = test_of(ties, N_OF(ties));
    assert_int_equal(t.s, 76);
    assert_near(t.z, 3.759410303378141, 1e-14);
    assert_near(t.p, 0.00017031432470875483, 1e-14);
    assert_near(t.tau, 0.756978119245116, 1e-14);
    for (unsigned i = 0; i < 60; i++)
        y[i] = i * 29 % 61 - 0.3 * i;
    t = test_of(y, 60);
    assert_int_equal(t.s, -532);
    assert_near(t.z, -3.3866797900008203, 1e-14);
    assert_near(t.p, 0.0007074390557358212, 1e-14);
    assert_near(t.tau, -0.30056497175141245, 1e-14);
}

static void counts_every_pair_of_any_length(void **state)
{
    double y[70];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 73);
    for (size_t n = 3; n <= 70; n++) {
        int64_t s = 0;

        for (size_t i = 0; i < n; i++)
            y[i] = (double)as_rng_below(&rng, n % 2 ? 8 : 100000);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = i + 1; j < n; j++)
                s += (y[j] > y[i]) - (y[j] < y[i]);
        }
        assert_int_equal(test_of(y, n).s, s);
    }
}

static void the_test_sees_order_and_nothing_else(void **state)
{
    static double y[100], z[100], r[100];
    struct as_trend_test a, b;

    (void)state;
    fill_normal(y, N_OF(y), 74);
    for (size_t i = 0; i < N_OF(y); i++) {
        z[i] = exp(3 * y[i]) + 7;
        r[N_OF(y) - 1 - i] = y[i];
    }
    a = test_of(y, N_OF(y));
    b = test_of(z, N_OF(y));
    assert_true(a.s == b.s && a.p == b.p);
    b = test_of(r, N_OF(y));
    assert_true(a.s == -b.s && a.p == b.p && a.z == -b.z);
}

static void a_level_series_has_no_trend(void **state)
{
    const double y[] = {4, 4, 4, 4, 4};
    struct as_trend_test t = test_of(y, 5);

    (void)state;
    assert_int_equal(t.s, 0);
    assert_near(t.p, 1, 0);
    assert_true(isnan(t.tau));
    assert_near(line_of(NULL, y, 5).slope, 0, 0);
}

static void refuses_what_has_no_trend(void **state)
{
    const double x[] = {1, 3, 2}, same[] = {2, 2, 2}, y[] = {1, 2, (double)INFINITY};
    struct as_trend_line line;
    struct as_trend_test test;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_trend_line(&line, NULL, x, 1, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_trend_line(&line, same, x, 3, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_trend_line(&line, x, same, 3, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "time 2 of the series is before the last");
    assert_int_equal(as_trend_line(&line, NULL, y, 3, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_trend_line(&line, y, same, 3, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_trend_test(&test, x, 2, &err), ASSAY_ERR_USAGE);
    assert_int_equal(as_trend_test(&test, y, 3, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "value 2 of the series is not a finite number");
}

/* So few times differ that no block's median does. */
static void nearly_equal_times_are_refused_too(void **state)
{
    static double x[10000], y[10000];
    struct as_trend_line line;

    (void)state;
    x[9999] = 1;
    assert_int_equal(as_trend_line(&line, x, y, 10000, NULL), ASSAY_ERR_USAGE);
}

static void running_out_of_memory_is_told(void **state)
{
    struct as_trend_line line;
    struct as_trend_test test;

    (void)state;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth <= 2; nth++) {
        as_alloc_fail_at(nth, 0);
        assert_int_equal(as_trend_line(&line, NULL, spiked, 10, NULL), ASSAY_ERR_NOMEM);
    }
    as_alloc_fail_at(1, 0);
    assert_int_equal(as_trend_test(&test, spiked, 10, NULL), ASSAY_ERR_NOMEM);
    as_alloc_fail_at(0, 0);
#endif
    assert_int_equal(as_trend_line(&line, NULL, spiked, 10, NULL), 0);
    assert_int_equal(as_trend_test(&test, spiked, 10, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spike_does_not_tilt_the_line),
        cmocka_unit_test(equal_times_are_passed_over),
        cmocka_unit_test(a_straight_line_is_found_exactly_or_by_blocks),
        cmocka_unit_test(blocks_agree_with_all_pairs_and_resist_spikes),
        cmocka_unit_test(the_line_moves_and_scales_with_the_points),
        cmocka_unit_test(the_test_agrees_with_the_textbook),
        cmocka_unit_test(counts_every_pair_of_any_length),
        cmocka_unit_test(the_test_sees_order_and_nothing_else),
        cmocka_unit_test(a_level_series_has_no_trend),
        cmocka_unit_test(refuses_what_has_no_trend),
        cmocka_unit_test(nearly_equal_times_are_refused_too),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
