/* tests/unit/test_series_interval.c - whether 95 % means 95 % when neighbors are alike.
 * Each series is made from a seed; the true median is known, so misses are counted. */
#include "stats_near.h"

#include <stdlib.h>

#include "stats/describe/sorted.h"
#include "stats/inference/interval.h"

enum { REPEATS = 500, LENGTH = 300 };

typedef void (*maker)(double *v, size_t n, struct as_rng *rng, double how);

static void independent(double *v, size_t n, struct as_rng *rng, double how)
{
    for (size_t i = 0; i < n; i++)
        v[i] = 100 + exp(how * as_rng_normal(rng));
}

/* AR(1): each value keeps `how` of the one before. */
static void forgetting(double *v, size_t n, struct as_rng *rng, double how)
{
    double x = as_rng_normal(rng) / sqrt(1 - how * how);

    for (size_t i = 0; i < n; i++) {
        v[i] = 100 + x;
        x = how * x + as_rng_normal(rng);
    }
}

/* Bursts of ten samples on average, in which everything takes longer; a quarter of the time. */
static void bursty(double *v, size_t n, struct as_rng *rng, double how)
{
    bool slow = as_rng_unit(rng) < 0.25;

    for (size_t i = 0; i < n; i++) {
        v[i] = 100 + as_rng_normal(rng) + (slow ? how : 0);
        slow = as_rng_unit(rng) < (slow ? 0.9 : 0.1 / 3);
    }
}

static double median_of(double *v, size_t n, double *scratch)
{
    struct as_sorted s = as_sorted_f64(v, n);

    as_sort_f64(v, n, scratch);
    return as_sorted_median(&s);
}

/* The share of series whose interval holds the true median. */
static double coverage(maker make, double how, double truth, double *mean_effective)
{
    double v[LENGTH], sorted[LENGTH], scratch[LENGTH];
    struct as_rng rng;
    int held = 0;

    as_rng_seed(&rng, 7);
    *mean_effective = 0;
    for (int r = 0; r < REPEATS; r++) {
        struct as_series_interval out;
        struct as_sorted s = as_sorted_f64(sorted, LENGTH);

        make(v, LENGTH, &rng, how);
        memcpy(sorted, v, sizeof v);
        as_sort_f64(sorted, LENGTH, scratch);
        assert_int_equal(as_series_interval(&out, v, &s, 0.95, NULL), 0);
        assert_true(out.interval.low <= as_sorted_median(&s));
        assert_true(out.interval.high >= as_sorted_median(&s));
        held += out.interval.low <= truth && truth <= out.interval.high;
        *mean_effective += (double)out.n_effective / REPEATS;
    }
    return (double)held / REPEATS;
}

/* By far more samples than the test uses. */
static double truth_of(maker make, double how)
{
    enum { MANY = 2000000 };
    double *v = malloc(2 * MANY * sizeof *v), truth;
    struct as_rng rng;

    assert_non_null(v);
    as_rng_seed(&rng, 99);
    make(v, MANY, &rng, how);
    truth = median_of(v, MANY, v + MANY);
    free(v);
    return truth;
}

static void independent_samples_count_fully(void **state)
{
    double effective;

    (void)state;
    assert_true(coverage(independent, 0.3, 101, &effective) >= 0.94);
    assert_true(effective > 0.6 * LENGTH);
}

static void noise_with_a_memory_is_covered(void **state)
{
    static const double keep[] = {0.3, 0.6, 0.9};

    (void)state;
    for (size_t i = 0; i < N_OF(keep); i++) {
        double effective, held = coverage(forgetting, keep[i], 100, &effective);

        if (held < 0.93)
            print_error("keeping %g: %.3f held\n", keep[i], held);
        assert_true(held >= 0.93);
        /* Theory: n (1 - keep) / (1 + keep) at most, for the signs somewhat more. */
        assert_true(effective < LENGTH * (1 - keep[i] * 0.5));
    }
}

static void bursts_are_covered(void **state)
{
    static const double shift[] = {1, 5, 50};

    (void)state;
    for (size_t i = 0; i < N_OF(shift); i++) {
        double effective, held = coverage(bursty, shift[i], truth_of(bursty, shift[i]), &effective);

        if (held < 0.9)
            print_error("bursts of %g: %.3f held\n", shift[i], held);
        assert_true(held >= 0.9);
    }
}

/* What the test before shows is not for free: the plain interval misses. */
static void the_plain_interval_misses(void **state)
{
    double v[LENGTH], scratch[LENGTH];
    struct as_rng rng;
    int held = 0;

    (void)state;
    as_rng_seed(&rng, 7);
    for (int r = 0; r < REPEATS; r++) {
        struct as_interval out;
        struct as_sorted s = as_sorted_f64(v, LENGTH);

        forgetting(v, LENGTH, &rng, 0.9);
        as_sort_f64(v, LENGTH, scratch);
        assert_int_equal(as_interval_median(&out, &s, 0.95, NULL), 0);
        held += out.low <= 100 && 100 <= out.high;
    }
    assert_true(held < 0.7 * REPEATS);
}

static void equal_samples_make_a_point(void **state)
{
    double v[50];
    struct as_sorted s = as_sorted_f64(v, 50);
    struct as_series_interval out;

    (void)state;
    for (size_t i = 0; i < 50; i++)
        v[i] = 5;
    assert_int_equal(as_series_interval(&out, v, &s, 0.95, NULL), 0);
    assert_true(out.interval.low == 5 && out.interval.high == 5 && out.interval.reached);
    assert_int_equal(out.n_effective, 50);
}

static void few_samples_say_so(void **state)
{
    const double v[] = {1, 2, 3};
    struct as_sorted s = as_sorted_f64(v, 3);
    struct as_series_interval out;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_series_interval(&out, v, &s, 0.95, NULL), 0);
    assert_false(out.interval.reached);
    assert_true(out.interval.low == 1 && out.interval.high == 3);
    s.n = 0;
    assert_int_equal(as_series_interval(&out, v, &s, 0.95, &err), ASSAY_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_samples_count_fully),
        cmocka_unit_test(noise_with_a_memory_is_covered),
        cmocka_unit_test(bursts_are_covered),
        cmocka_unit_test(the_plain_interval_misses),
        cmocka_unit_test(equal_samples_make_a_point),
        cmocka_unit_test(few_samples_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
