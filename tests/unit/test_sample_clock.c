/* tests/unit/test_sample_clock.c - the wall time and the processor time of a sample, and that what
 * the clocks themselves cost is in neither. */
#include "unit.h"

#include <time.h>

#include "base/clock.h"
#include "experiment/sample_clock.h"

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

/* On one thread no sample uses more of a processor than there was time. */
static void an_empty_sample_costs_little(void **state)
{
    struct as_sample_clock clock;
    uint64_t wall = 0, cpu = 0;
    int over = 0;

    (void)state;
    as_sample_clock_init(&clock, 1);
    for (int i = 0; i < 1000; i++) {
        uint64_t from = as_clock_mono_ns();

        as_sample_clock_start(&clock);
        while (as_clock_mono_ns() - from < 20 * 1000)
            ;
        as_sample_clock_stop(&clock, &wall, &cpu);
        over += cpu > wall + 1000; /* an interrupt between the two clocks is counted in one */
    }
    assert_true(over < 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_and_waiting_is_not),
        cmocka_unit_test(an_empty_sample_costs_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
