/* tests/unit/test_leak_series.c - how often the leak detector is right about series whose truth is
 * known: at most 1 % of each harmless kind told at any time, at least 99 % of drifts by the time
 * three windows (of 100 steps) of drift are in. leak_kit.h says how they are made. */
#include "unit.h"

#include "leak_kit.h"

#define SERIES 200
#define SEED   1

static void told_at_most(enum leak_kind kind, unsigned most)
{
    int told = leak_kit_rate(kind, SEED, SERIES);

    assert_true(told >= 0);
    assert_in_range((unsigned)told, 0, most);
}

static void level_series_are_no_leaks(void **state)
{
    (void)state;
    told_at_most(LEAK_FLAT, SERIES / 100);
}

static void a_sawtooth_is_no_leak(void **state)
{
    (void)state;
    told_at_most(LEAK_SAWTOOTH, SERIES / 100);
}

static void warm_up_is_no_leak(void **state)
{
    (void)state;
    told_at_most(LEAK_WARM_UP, SERIES / 100);
}

static void a_late_step_or_spike_is_no_leak(void **state)
{
    (void)state;
    told_at_most(LEAK_SPIKE, SERIES / 100);
}

static void slow_drift_is_found_within_three_windows(void **state)
{
    (void)state;
    assert_in_range((unsigned)leak_kit_rate(LEAK_DRIFT, SEED, SERIES), SERIES - SERIES / 100,
                    SERIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_series_are_no_leaks),
        cmocka_unit_test(a_sawtooth_is_no_leak),
        cmocka_unit_test(warm_up_is_no_leak),
        cmocka_unit_test(a_late_step_or_spike_is_no_leak),
        cmocka_unit_test(slow_drift_is_found_within_three_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
