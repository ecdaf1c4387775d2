/* tests/unit/test_heap_overlap.c - peaks add up only where their programs ran at one time. */
#include "analyze/watch/target_read.h"

#include "unit.h"

static void heaps_one_after_the_other_do_not_add_up(void **state)
{
    struct as_heap_span span[] = {{.from_ns = 10, .to_ns = 20, .peak_bytes = 100},
                                  {.from_ns = 20, .to_ns = 30, .peak_bytes = 300, .slack_bytes = 5},
                                  {.from_ns = 31, .to_ns = 40, .peak_bytes = 200}};
    uint64_t slack;

    (void)state;
    assert_int_equal(as_heap_overlap(span, 3, &slack), 300);
    assert_int_equal(slack, 5);
    assert_true(span[1].together && !span[0].together && !span[2].together);
}

static void heaps_at_one_time_add_up_and_may_be_lower(void **state)
{
    struct as_heap_span span[] = {{.from_ns = 1, .to_ns = 100, .peak_bytes = 7}, /* a shell */
                                  {.from_ns = 10, .to_ns = 30, .peak_bytes = 100},
                                  {.from_ns = 20, .to_ns = 40, .peak_bytes = 300},
                                  {.from_ns = 35, .to_ns = UINT64_MAX, .peak_bytes = 50}};
    uint64_t slack;

    (void)state;
    assert_int_equal(as_heap_overlap(span, 4, &slack), 407);
    assert_int_equal(slack, 107); /* the largest alone is sure */
    assert_true(span[0].together && span[1].together && span[2].together && !span[3].together);
}

/* Runs without times, or with such as make no sense, are summed. */
static void heaps_without_times_may_have_been_there_together(void **state)
{
    struct as_heap_span span[] = {{.to_ns = UINT64_MAX, .peak_bytes = 100, .slack_bytes = 200},
                                  {.from_ns = 50, .to_ns = 3, .peak_bytes = UINT64_MAX - 50}};
    uint64_t slack;

    (void)state;
    assert_int_equal(as_heap_overlap(span, 2, &slack), UINT64_MAX);
    assert_int_equal(slack, 50);
    assert_int_equal(as_heap_overlap(span, 0, &slack), 0);
    assert_int_equal(slack, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heaps_one_after_the_other_do_not_add_up),
        cmocka_unit_test(heaps_at_one_time_add_up_and_may_be_lower),
        cmocka_unit_test(heaps_without_times_may_have_been_there_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
