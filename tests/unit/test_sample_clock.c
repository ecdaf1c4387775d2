/* tests/unit/test_sample_clock.c - the wall time and the CPU time of a sample, and that what
 * the clocks themselves cost is in neither. */
#include "unit.h"

#include <time.h>

#include "base/clock.h"
#include "experiment/bench/bench_sample.h"

static uint64_t thread_ns(void)
{
    uint64_t ns = 0;

    assert_true(as_clock_thread_cpu_ns(&ns));
    return ns;
}

static void work_is_counted_and_waiting_is_not(void **state)
{
    const struct timespec nap = {0, 20 * 1000 * 1000};
    struct as_sample_clock clock;
    uint64_t wall = 0, cpu = 0, from;

    (void)state;
    as_sample_clock_init(&clock, 1);
    as_sample_clock_start(&clock);
    nanosleep(&nap, NULL); /* what is measured, not a wait for anything */
    as_sample_clock_stop(&clock, &wall, &cpu);
    assert_true(wall >= 20 * 1000 * 1000);
    assert_true(cpu < wall / 2);

    as_sample_clock_start(&clock);
    from = thread_ns();
    while (thread_ns() - from < 5 * 1000 * 1000)
        ;
    as_sample_clock_stop(&clock, &wall, &cpu);
    assert_true(cpu >= 4 * 1000 * 1000);
}

/* What an empty sample costs was measured and is taken off: the cheapest of many has nothing left.
 */
static void an_empty_sample_used_nothing(void **state)
{
    uint64_t wall = 0, cpu = 0, least = UINT64_MAX;
    struct as_sample_clock clock;

    (void)state;
    as_sample_clock_init(&clock, 1);
    assert_true(clock.own_ns > 0);
    for (int i = 0; i < 1000; i++) {
        as_sample_clock_start(&clock);
        as_sample_clock_stop(&clock, &wall, &cpu);
        least = cpu < least ? cpu : least;
    }
    assert_true(least <= clock.own_ns / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_and_waiting_is_not),
        cmocka_unit_test(an_empty_sample_used_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
