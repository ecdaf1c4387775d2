/* tests/unit/test_welch.c - Student's distribution and ratios of means.
 * The figures are from mpmath and SciPy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/inference/welch.h"

static void near(double got, double wanted, double relative)
{
    if (!(fabs(got - wanted) <= relative * fabs(wanted)))
        fail_msg("%.15g, not %.15g", got, wanted);
}

static void points_of_student_are_those_of_mpmath(void **state)
{
    (void)state;
    near(as_student_point(0.95, 9), 2.262157162798206, 1e-11);
    near(as_student_point(0.95, 1), 12.7062047361747, 1e-11);
    /* SciPy finds some of them to eight digits only. */
    near(as_student_point(0.99, 2.5), 7.163728138948786, 1e-11);
    near(as_student_point(0.9, 30), 1.697260886593958, 1e-11);
    near(as_student_point(0.95, 1000), 1.962339080826408, 1e-11);
    near(as_student_point(0.95, 1e6), 1.95996635681, 1e-9);
    near(as_student_point(0.95, 1e9), 1.95996398454, 1e-8);
    near(as_student_point(0.999, 5), 6.86882662588111, 1e-11);
}

static void tails_of_student_are_those_of_scipy(void **state)
{
    (void)state;
    near(as_student_two_sided(2.262, 9), 0.0500128455025, 1e-10);
    near(as_student_two_sided(0, 3), 1, 1e-12);
    near(as_student_two_sided(10, 1), 0.0634510348611, 1e-10);
    near(as_student_two_sided(1.5, 0.5), 0.507901790648, 1e-10);
    near(as_student_two_sided(3, 1e5), 0.00270046088406, 1e-9);
    near(as_student_two_sided(40, 3), 3.43806807892e-05, 1e-9);
    near(as_student_two_sided(-2, 7.3), 0.0839410393341, 1e-10);
    near(as_student_two_sided(5, 1e8), 5.73304110127e-07, 1e-5);
    near(as_student_two_sided((double)INFINITY, 4) + 1, 1, 0);
}

static void student_refuses_what_has_no_answer(void **state)
{
    (void)state;
    assert_true(isnan(as_student_two_sided(1, 0)));
    assert_true(isnan(as_student_two_sided((double)NAN, 3)));
    assert_true(isnan(as_student_point(1, 3)));
    assert_true(isnan(as_student_point(0, 3)));
    assert_true(isnan(as_student_point(0.95, -1)));
}

static void a_ratio_of_two_means_has_its_interval(void **state)
{
    struct as_mean_estimate above = {0}, below = {0};
    struct as_ratio_test test;

    (void)state;
    as_mean_estimate_add(&above, 1, 0.010, 0.001, 10);
    as_mean_estimate_add(&below, 1, 0.008, 0.001, 10);
    as_welch_ratio(&test, &above, &below, 0.95);
    near(test.ratio, 1.25, 1e-12);
    near(test.low, 1.1170052531, 1e-9);
    near(test.high, 1.3988295898, 1e-9);
    near(test.p, 0.000613441270353, 1e-9);
    near(test.degrees, 17.1725312145, 1e-9);
}

static void sums_of_means_add_their_errors(void **state)
{
    struct as_mean_estimate above = {0}, below = {0};
    struct as_ratio_test test;

    (void)state;
    as_mean_estimate_add(&above, 100, 0.010, 0.001, 100);
    as_mean_estimate_add(&above, 100, 0.004, 0.0005, 100);
    as_mean_estimate_add(&below, 100, 0.008, 0.001, 50);
    as_mean_estimate_add(&below, 100, 0.005, 0.0005, 50);
    as_welch_ratio(&test, &above, &below, 0.95);
    near(test.ratio, 1.07692307692, 1e-9);
    near(test.low, 1.04611537911, 1e-9);
    near(test.high, 1.10863804966, 1e-9);
    near(test.p, 1.41041493894e-06, 1e-7);
    near(test.degrees, 134.55791077, 1e-9);
}

static void what_does_not_vary_is_sure(void **state)
{
    struct as_mean_estimate above = {0}, below = {0};
    struct as_ratio_test test;

    (void)state;
    as_mean_estimate_add(&above, 1, 3, 0, 5);
    as_mean_estimate_add(&below, 1, 2, 0, 5);
    as_welch_ratio(&test, &above, &below, 0.95);
    near(test.low, 1.5, 1e-15);
    near(test.high, 1.5, 1e-15);
    assert_true(test.p <= 0);
    as_welch_ratio(&test, &above, &above, 0.95);
    near(test.p, 1, 0);
}

static void one_call_says_nothing_of_its_error(void **state)
{
    struct as_mean_estimate above = {0}, below = {0}, none = {0};
    struct as_ratio_test test;

    (void)state;
    as_mean_estimate_add(&above, 1, 3, 0.1, 1);
    as_mean_estimate_add(&below, 1, 2, 0.1, 5);
    as_welch_ratio(&test, &above, &below, 0.95);
    assert_true(isnan(test.low) && isnan(test.high) && isnan(test.p) && isnan(test.degrees));
    as_welch_ratio(&test, &below, &none, 0.95);
    assert_true(isnan(test.ratio) && isnan(test.p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_student_are_those_of_mpmath),
        cmocka_unit_test(tails_of_student_are_those_of_scipy),
        cmocka_unit_test(student_refuses_what_has_no_answer),
        cmocka_unit_test(a_ratio_of_two_means_has_its_interval),
        cmocka_unit_test(sums_of_means_add_their_errors),
        cmocka_unit_test(what_does_not_vary_is_sure),
        cmocka_unit_test(one_call_says_nothing_of_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
