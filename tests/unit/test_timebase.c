/* tests/unit/test_timebase.c - ticks become nanoseconds, whatever the anchors are.
 * Slewed clocks, thinned anchors, one anchor, none. */
#include "unit.h"

#include "stats/describe/rng.h"
#include "trace/run/timebase.h"

#define SECOND ((uint64_t)1000000000)

static struct as_clock_anchor at(uint64_t ticks, uint64_t mono_ns)
{
    return (struct as_clock_anchor){
        .ticks = ticks, .width = 10, .mono_ns = mono_ns, .real_ns = mono_ns + 7};
}

static void time_is_linear_between_anchors(void **state)
{
    struct as_clock_anchor a[] = {at(1000, 5 * SECOND), at(1000 + 2 * SECOND, 6 * SECOND),
                                  at(1000 + 3 * SECOND, 7 * SECOND)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), false);
    assert_true(t.known);
    assert_int_equal(t.n_anchors, 3);
    assert_int_equal(t.origin_ns, 5 * SECOND);
    assert_int_equal(t.real_ns, 5 * SECOND + 7);
    assert_int_equal(as_timebase_ns(&t, 1000), 0);
    assert_int_equal(as_timebase_ns(&t, 1000 + SECOND), SECOND / 2); /* 2 ticks a ns, then 1 */
    assert_int_equal(as_timebase_ns(&t, 1000 + 2 * SECOND), SECOND);
    assert_int_equal(as_timebase_ns(&t, 1000 + 2 * SECOND + 500), SECOND + 500);
    assert_int_equal(as_timebase_ns(&t, 1000 + 3 * SECOND), 2 * SECOND);
    assert_int_equal(as_timebase_ns(&t, 1010), 5); /* and back again */
    assert_int_equal(as_timebase_ns(&t, 999), 0);  /* before the first */
    assert_int_equal(as_timebase_ns(&t, 0), 0);
}

static void past_the_last_anchor_the_mean_rate_holds(void **state)
{
    struct as_clock_anchor a[] = {at(0, 0), at(2 * SECOND, SECOND)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), false);
    assert_int_equal(as_timebase_ns(&t, 4 * SECOND), 2 * SECOND);
    assert_int_equal(as_timebase_ns(&t, 20 * SECOND), 10 * SECOND);
}

static void anchors_may_come_in_any_order_and_too_near(void **state)
{
    struct as_clock_anchor a[] = {at(3 * SECOND, 3 * SECOND), at(1000, 1000),     at(0, 0),
                                  at(2 * SECOND, 2 * SECOND), at(SECOND, SECOND), at(2000, 1900)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), false);
    assert_int_equal(t.n_anchors, 4); /* the jitter of the near ones is gone */
    for (uint64_t ticks = 0; ticks < 4 * SECOND; ticks += SECOND / 7)
        assert_int_equal(as_timebase_ns(&t, ticks), ticks);
}

static void the_last_anchor_is_kept_though_near(void **state)
{
    struct as_clock_anchor a[] = {at(0, 0), at(SECOND, SECOND), at(SECOND + 100, SECOND + 100)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), false);
    assert_true(t.known);
    assert_int_equal(as_timebase_ns(&t, SECOND + 100), SECOND + 100);
}

static void the_monotonic_clock_needs_one_anchor(void **state)
{
    struct as_clock_anchor a[] = {at(500, 500)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, 1, true);
    assert_true(t.known);
    assert_int_equal(as_timebase_ns(&t, 500), 0);
    assert_int_equal(as_timebase_ns(&t, 1500), 1000);
    assert_int_equal(as_timebase_ns(&t, 100), 0);
}

/* Reading the clock twice takes a few ns, which must not become a rate. */
static void the_monotonic_clock_is_its_own_measure(void **state)
{
    struct as_clock_anchor a[] = {at(500, 520), at(1500, 1490), at(2 * SECOND, 2 * SECOND + 30)};
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), true);
    assert_int_equal(as_timebase_ns(&t, 1000), 500);
    assert_int_equal(as_timebase_ns(&t, SECOND + 500), SECOND);
    assert_int_equal(as_timebase_ns(&t, 9 * SECOND + 500), 9 * SECOND);
}

static void one_anchor_of_a_counter_tells_nothing(void **state)
{
    struct as_clock_anchor a[] = {at(500, 500), at(500, 900),
                                  at(700, 400)}; /* the others contradict it */
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, a, UNIT_COUNT(a), false);
    assert_false(t.known);
    as_timebase_init(&t, NULL, 0, false);
    assert_false(t.known);
}

static void without_anchors_every_time_is_zero(void **state)
{
    struct as_timebase t;

    (void)state;
    as_timebase_init(&t, NULL, 0, true);
    assert_false(t.known);
    assert_int_equal(as_timebase_ns(&t, 0), 0);
    assert_int_equal(as_timebase_ns(&t, 12345), 0);
}

/* Hostile anchors may claim any rate; the result is held to what fits, and grows with the ticks. */
static void absurd_anchors_do_no_harm(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 3);
    for (int round = 0; round < 3000; round++) {
        struct as_clock_anchor a[5];
        struct as_timebase t;
        uint64_t last = 0, ticks = 0;

        for (size_t i = 0; i < UNIT_COUNT(a); i++)
            a[i] = at(as_rng_next(&rng) >> as_rng_below(&rng, 64),
                      as_rng_next(&rng) >> as_rng_below(&rng, 64));
        as_timebase_init(&t, a, UNIT_COUNT(a), as_rng_below(&rng, 2));
        for (int i = 0; i < 64; i++) {
            uint64_t ns = as_timebase_ns(&t, ticks);

            assert_true(ns >= last);
            last = ns;
            ticks = ticks * 2 + 1;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_between_anchors),
        cmocka_unit_test(past_the_last_anchor_the_mean_rate_holds),
        cmocka_unit_test(anchors_may_come_in_any_order_and_too_near),
        cmocka_unit_test(the_last_anchor_is_kept_though_near),
        cmocka_unit_test(the_monotonic_clock_needs_one_anchor),
        cmocka_unit_test(the_monotonic_clock_is_its_own_measure),
        cmocka_unit_test(one_anchor_of_a_counter_tells_nothing),
        cmocka_unit_test(without_anchors_every_time_is_zero),
        cmocka_unit_test(absurd_anchors_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
