/* tests/unit/test_sort.c - sorting by digits against sorting by comparison.
 * Every size around the switch from insertion to digits is tried. */
#include "stats_near.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stats/describe/sorted.h"

static int compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int compare_f64(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void check_u64(const uint64_t *v, size_t n)
{
    static uint64_t got[5000], want[5000], scratch[5000];

    memcpy(got, v, n * sizeof *v);
    memcpy(want, v, n * sizeof *v);
    as_sort_u64(got, n, scratch);
    qsort(want, n, sizeof *want, compare_u64);
    assert_memory_equal(got, want, n * sizeof *v);
}

static void sorts_every_size_and_every_width(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 10, 62, 63, 64, 65, 66, 100, 255, 1000, 4999};
    static uint64_t v[5000];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 7);
    for (unsigned bits = 1; bits <= 64; bits += 3) {
        for (size_t k = 0; k < N_OF(sizes); k++) {
            for (size_t i = 0; i < sizes[k]; i++)
                v[i] = as_rng_next(&rng) >> (64 - bits);
            check_u64(v, sizes[k]);
        }
    }
}

static void sorts_when_only_some_digits_vary(void **state)
{
    static const uint64_t masks[] = {0,
                                     1,
                                     0x8000000000000000,
                                     0xff00000000000000,
                                     0x00ff00ff00000001,
                                     0xffffffffffffffff,
                                     0x8000000000000001};
    static uint64_t v[1000];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 8);
    for (size_t k = 0; k < N_OF(masks); k++) {
        for (size_t i = 0; i < N_OF(v); i++)
            v[i] = (as_rng_next(&rng) & masks[k]) | (0x1234567812345678 & ~masks[k]);
        check_u64(v, N_OF(v));
    }
}

static void leaves_ordered_turns_reversed_and_takes_nothing(void **state)
{
    static uint64_t up[500], down[500];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        up[i] = i * i;
        down[i] = UINT64_MAX - i * 1000003;
    }
    check_u64(up, 500);
    check_u64(down, 500);
    as_sort_u64(NULL, 0, NULL);
    as_sort_f64(NULL, 0, NULL);
}

static void sorts_doubles_of_both_signs_and_all_sizes(void **state)
{
    static double v[3000], want[3000], scratch[3000];
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 9);
    for (size_t i = 0; i < N_OF(v); i++)
        v[i] = ldexp(as_rng_normal(&rng), (int)as_rng_below(&rng, 1800) - 900);
    v[17] = 0x1p-1074;
    v[18] = -0x1p-1074;
    memcpy(want, v, sizeof v);
    qsort(want, N_OF(want), sizeof *want, compare_f64);
    as_sort_f64(v, N_OF(v), scratch);
    assert_memory_equal(v, want, sizeof v);
}

static void puts_minus_zero_before_zero(void **state)
{
    double v[] = {0.0, 1.0, -0.0, -1.0, 0.0}, scratch[5];

    (void)state;
    as_sort_f64(v, 5, scratch);
    assert_true(v[0] == -1 && v[4] == 1);
    assert_true(signbit(v[1]) && !signbit(v[2]) && !signbit(v[3]));
}

static void a_key_keeps_the_order_and_comes_back(void **state)
{
    static const double v[] = {
        -(double)INFINITY, -1e300, -1, -1e-300, -0.0, 0.0, 1e-300, 1, 2, 1e300, (double)INFINITY};

    (void)state;
    for (size_t i = 0; i < N_OF(v); i++) {
        double back = as_sort_unkey(as_sort_key(v[i]));

        assert_memory_equal(&back, &v[i], sizeof back);
        assert_true(i == 0 || as_sort_key(v[i - 1]) < as_sort_key(v[i]));
    }
}

static void finds_what_is_not_finite(void **state)
{
    double v[] = {1, 2, 3, 4};

    (void)state;
    assert_int_equal(as_sort_find_bad(v, 4), 4);
    v[3] = (double)INFINITY;
    assert_int_equal(as_sort_find_bad(v, 4), 3);
    v[1] = (double)NAN;
    assert_int_equal(as_sort_find_bad(v, 4), 1);
    assert_int_equal(as_sort_find_bad(v, 0), 0);
}

/* The time is printed, not judged: this also runs under sanitizers and on busy machines. */
static void sorts_five_million_durations(void **state)
{
    const size_t n = 5000000;
    uint64_t *v = malloc(n * sizeof *v), *scratch = malloc(n * sizeof *v);
    struct timespec from, to;
    bool ordered = true;

    (void)state;
    assert_true(v && scratch);
    fill_durations(v, n, 1);
    memset(scratch, 1, n * sizeof *scratch);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    as_sort_u64(v, n, scratch);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    for (size_t i = 1; i < n; i++)
        ordered &= v[i - 1] <= v[i];
    assert_true(ordered);
    print_message("5 million durations sorted in %.1f ms of CPU time\n",
                  (double)(to.tv_sec - from.tv_sec) * 1e3 +
                      (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    free(v);
    free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_every_size_and_every_width),
        cmocka_unit_test(sorts_when_only_some_digits_vary),
        cmocka_unit_test(leaves_ordered_turns_reversed_and_takes_nothing),
        cmocka_unit_test(sorts_doubles_of_both_signs_and_all_sizes),
        cmocka_unit_test(puts_minus_zero_before_zero),
        cmocka_unit_test(a_key_keeps_the_order_and_comes_back),
        cmocka_unit_test(finds_what_is_not_finite),
        cmocka_unit_test(sorts_five_million_durations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
