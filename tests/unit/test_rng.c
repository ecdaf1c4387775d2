/* tests/unit/test_rng.c - the generator against published outputs and against its moments.
 * Known values: the authors' xoshiro256** from state 1, 2, 3, 4 and splitmix64 from seed 0. */
#include "stats_near.h"

static void gives_the_published_outputs(void **state)
{
    static const uint64_t want[] = {11520, 0, 1509978240, 1215971899390074240};
    struct as_rng rng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < N_OF(want); i++)
        assert_true(as_rng_next(&rng) == want[i]);
    as_rng_seed(&rng, 0);
    assert_true(rng.s[0] == 0xe220a8397b1dcdaf);
    assert_true(rng.s[1] == 0x6e789e6aa1b965f4);
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    struct as_rng a, b, c;
    unsigned same = 0;

    (void)state;
    as_rng_seed(&a, 99);
    as_rng_seed(&b, 99);
    as_rng_seed(&c, 100);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t x = as_rng_next(&a);

        assert_true(x == as_rng_next(&b));
        same += x == as_rng_next(&c);
    }
    assert_int_equal(same, 0);
}

static void all_values_below_a_bound_are_equally_likely(void **state)
{
    unsigned count[7] = {0};
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 1);
    for (unsigned i = 0; i < 70000; i++)
        count[as_rng_below(&rng, 7)]++;
    for (unsigned i = 0; i < 7; i++)
        assert_in_range(count[i], 9600, 10400); /* four standard deviations are 370 */
    assert_int_equal(as_rng_below(&rng, 0), 0);
    assert_int_equal(as_rng_below(&rng, 1), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_true(as_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

static void numbers_have_the_moments_of_their_distribution(void **state)
{
    const unsigned n = 200000;
    double unit = 0, first = 0, second = 0;
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 2);
    for (unsigned i = 0; i < n; i++) {
        double u = as_rng_unit(&rng), x = as_rng_normal(&rng);

        assert_true(u >= 0 && u < 1);
        unit += u / n;
        first += x / n;
        second += x * x / n;
    }
    assert_near(unit, 0.5, 0.005);
    assert_near(first, 0, 0.015);
    assert_near(second, 1, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_outputs),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(all_values_below_a_bound_are_equally_likely),
        cmocka_unit_test(numbers_have_the_moments_of_their_distribution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
