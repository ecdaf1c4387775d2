/* tests/unit/test_teardown.c - the fall at the end of a program is found, and nothing else is
 * taken for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "watch/teardown.h"

/* One reading a second. */
static double fall_of(const uint64_t *bytes, size_t n)
{
    struct as_last_fall fall = {0};

    for (size_t i = 0; i < n; i++)
        as_last_fall_add(&fall, (double)i, bytes[i]);
    return as_last_fall_seconds(&fall);
}

static double fall_after(size_t n_growing, const uint64_t *last, size_t n)
{
    struct as_last_fall fall = {0};

    for (size_t i = 0; i < n_growing; i++)
        as_last_fall_add(&fall, (double)i, 1000 + i);
    for (size_t i = 0; i < n; i++)
        as_last_fall_add(&fall, (double)(n_growing + i), last[i]);
    return as_last_fall_seconds(&fall);
}

static void a_fall_at_the_end_is_found(void **state)
{
    const uint64_t torn[] = {900, 400, 400, 10}, at_once[] = {7};

    (void)state;
    assert_true(fall_after(200, torn, 4) == 199.5);
    assert_true(fall_after(200, at_once, 1) == 199.5);
    assert_true(fall_after(3, at_once, 1) == 2.5);
    assert_true(fall_after(100000, torn, 4) == 99999.5);
}

static void other_ends_are_left(void **state)
{
    const uint64_t kept[] = {5000, 5000, 5000}, again[] = {10, 20, 30};

    (void)state;
    assert_true(isnan(fall_of(kept, 0)));
    assert_true(isnan(fall_of(kept, 1)));
    assert_true(isnan(fall_of(kept, 3)));
    assert_true(isnan(fall_after(200, again, 3)));
}

/* Not more than the last twentieth is taken, however long it has fallen. */
static void a_long_decline_loses_little(void **state)
{
    struct as_last_fall fall = {0};

    (void)state;
    for (unsigned i = 0; i < 400; i++)
        as_last_fall_add(&fall, i, 1000 - i);
    assert_true(as_last_fall_seconds(&fall) == 379.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fall_at_the_end_is_found),
        cmocka_unit_test(other_ends_are_left),
        cmocka_unit_test(a_long_decline_loses_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
