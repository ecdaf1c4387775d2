/* tests/unit/test_growth.c - whether a series keeps growing, or only rose once, swung or was noise.
 * Random arrays come from seeds, so a failure repeats. */
#include "stats_near.h"

#include "base/alloc.h"
#include "stats/inference/growth.h"

#define N 275

static const struct as_growth_rule rule = {.p = 0.001, .min_rise = 0.5};

static struct as_growth test_of(const double *y, size_t n)
{
    struct as_growth out;

    assert_int_equal(as_growth_test(&out, y, n, &rule, NULL), 0);
    return out;
}

static void a_line_grows(void **state)
{
    double y[N];
    struct as_growth g;

    (void)state;
    for (size_t i = 0; i < N; i++)
        y[i] = 7 + 0.5 * (double)i;
    g = test_of(y, N);
    assert_true(g.grows);
    assert_near(g.slope, 0.5, 1e-12);
    assert_near(g.floor_rise, 69, 1e-12); /* from value 0 to value 138 */
    assert_true(g.p < 1e-6);
    g = test_of(y, AS_GROWTH_MIN);
    assert_true(g.grows);
}

static void a_fall_does_not(void **state)
{
    double y[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        y[i] = 700 - 0.5 * (double)i;
    assert_false(test_of(y, N).grows);
    for (size_t i = 0; i < N; i++)
        y[i] = 700;
    assert_false(test_of(y, N).grows);
}

static void one_or_two_steps_do_not(void **state)
{
    double y[N];

    (void)state;
    for (size_t at = 40; at < N; at += 20) {
        fill_normal(y, N, at);
        for (size_t i = 0; i < N; i++)
            y[i] += i < at ? 0 : 30;
        assert_false(test_of(y, N).grows);
        for (size_t i = 0; i < N; i++)
            y[i] += i < N / 2 ? 0 : 20;
        assert_false(test_of(y, N).grows);
    }
}

static void stairs_do(void **state)
{
    double y[N];

    (void)state;
    fill_normal(y, N, 3);
    for (size_t i = 0; i < N; i++)
        y[i] += 10 * floor((double)i / 25);
    assert_true(test_of(y, N).grows);
}

static void swings_do_not(void **state)
{
    double y[N];

    (void)state;
    for (size_t period = 5; period <= 130; period += 5) {
        fill_normal(y, N, period);
        for (size_t i = 0; i < N; i++)
            y[i] += 40 * (double)((i + period / 3) % period) / (double)period;
        assert_false(test_of(y, N).grows);
    }
}

static void what_fades_does_not(void **state)
{
    double y[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        y[i] = 1000 * (1 - exp(-(double)i / 40));
    assert_false(test_of(y, N).grows);
}

/* Of 400 series of AR(1) with 0.8 a test that takes values as independent calls over a hundred
 * rising. */
static void neighbors_that_are_alike_count_as_fewer(void **state)
{
    double y[N], inflation = 0;
    unsigned grows = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct as_growth g;

        fill_normal(y, N, 1000 + seed);
        for (size_t i = 1; i < N; i++)
            y[i] += 0.8 * y[i - 1];
        grows += test_of(y, N).grows;
        assert_int_equal(as_growth_measure(&g, y, N, NULL), 0);
        inflation += g.inflation / 400;
    }
    assert_in_range(grows, 0, 2);
    /* (1 + 0.8) / (1 - 0.8) is 9. */
    assert_true(inflation > 5 && inflation < 12);
}

static void measure_takes_any_length(void **state)
{
    static double y[5000];
    struct as_growth g;

    (void)state;
    for (size_t i = 0; i < N_OF(y); i++)
        y[i] = 2 * (double)i;
    assert_int_equal(as_growth_measure(&g, y, N_OF(y), NULL), 0);
    assert_near(g.slope, 2, 1e-12);
    assert_near(g.tau, 1, 0);
}

static void wrong_use_is_refused(void **state)
{
    double y[AS_GROWTH_MAX + 1] = {0};
    struct as_growth g;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_growth_test(&g, y, AS_GROWTH_MIN - 1, &rule, &err), ASSAY_ERR_USAGE);
    assert_string_equal(err.msg, "growth is judged from 12 to 1000 values, 11 given");
    assert_int_equal(as_growth_test(&g, y, AS_GROWTH_MAX + 1, &rule, &err), ASSAY_ERR_USAGE);
    y[4] = (double)NAN;
    assert_int_equal(as_growth_test(&g, y, 20, &rule, &err), ASSAY_ERR_USAGE);
}

static void running_out_of_memory_is_told(void **state)
{
    double y[40];
    struct as_growth g;

    (void)state;
    for (size_t i = 0; i < 40; i++)
        y[i] = (double)i;
#ifdef ASSAY_FAULTS
    for (uint64_t nth = 1; nth <= 8; nth++) {
        as_alloc_fail_at(nth, 0);
        assert_int_equal(as_growth_test(&g, y, 40, &rule, NULL), ASSAY_ERR_NOMEM);
    }
    as_alloc_fail_at(0, 0);
#endif
    assert_int_equal(as_growth_test(&g, y, 40, &rule, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_grows),
        cmocka_unit_test(a_fall_does_not),
        cmocka_unit_test(one_or_two_steps_do_not),
        cmocka_unit_test(stairs_do),
        cmocka_unit_test(swings_do_not),
        cmocka_unit_test(what_fades_does_not),
        cmocka_unit_test(neighbors_that_are_alike_count_as_fewer),
        cmocka_unit_test(measure_takes_any_length),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
