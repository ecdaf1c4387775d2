/* tests/unit/test_total.c - exact totals, past 64 bits too.
 * Merging parts must give what one pass over all would. */
#include "stats_near.h"

#include <string.h>

#include "stats/describe/moments.h"

static void an_empty_total_has_no_mean(void **state)
{
    struct as_total t = {0};
    uint64_t sum = 1;

    (void)state;
    assert_true(isnan(as_total_mean(&t)));
    assert_true(as_total_sum(&t, &sum));
    assert_int_equal(sum, 0);
}

static void keeps_the_extremes_even_when_zero(void **state)
{
    struct as_total t = {0};

    (void)state;
    as_total_add(&t, 5);
    as_total_add(&t, 0);
    as_total_add(&t, 7);
    assert_int_equal(t.min, 0);
    assert_int_equal(t.max, 7);
    assert_near(as_total_mean(&t), 4, 0);
}

static void says_when_the_sum_outgrows_64_bits(void **state)
{
    struct as_total t = {0};
    uint64_t sum;

    (void)state;
    as_total_add(&t, UINT64_MAX);
    assert_true(as_total_sum(&t, &sum));
    assert_true(sum == UINT64_MAX);
    as_total_add(&t, 1);
    assert_false(as_total_sum(&t, &sum));
    assert_true(sum == UINT64_MAX);
    assert_int_equal(t.sum_high, 1);
    assert_int_equal(t.sum_low, 0);
    assert_near(as_total_sum_f64(&t), 0x1p64, 0);
    assert_near(as_total_mean(&t), 0x1p63, 0);
}

static void a_merge_is_the_total_of_all(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 11);
    for (unsigned round = 0; round < 50; round++) {
        struct as_total all = {0}, part[2] = {{0}, {0}};

        for (unsigned i = 0; i < round; i++) {
            uint64_t v = as_rng_next(&rng);

            as_total_add(&all, v);
            as_total_add(&part[as_rng_below(&rng, 2)], v);
        }
        as_total_merge(&part[0], &part[1]);
        assert_memory_equal(&part[0], &all, sizeof all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_total_has_no_mean),
        cmocka_unit_test(keeps_the_extremes_even_when_zero),
        cmocka_unit_test(says_when_the_sum_outgrows_64_bits),
        cmocka_unit_test(a_merge_is_the_total_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
