/* tests/unit/test_system_load.c - load and stolen time from prepared files. */
#include "root_kit.h"

#include "probe/system/system_load.h"

static struct as_system_load load_of(const struct kit_root *root, const char *loadavg,
                                     const char *stat)
{
    struct as_system_load load;

    kit_root_put(root, "/proc/loadavg", loadavg);
    kit_root_put(root, "/proc/stat", stat);
    as_system_load_read(&load, root->path);
    return load;
}

static void load_and_tasks_are_read(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_system_load load = load_of(&root, "1.50 0.60 1.15 3/86 9689\n", "cpu x\n");

    (void)state;
    assert_null(load.load_1.why);
    assert_true(fabs(load.load_1.value - 1.5) < 1e-12);
    assert_true(fabs(load.load_15.value - 1.15) < 1e-12);
    assert_int_equal(load.runnable.value, 3);
    assert_int_equal(load.tasks.value, 86);
    assert_non_null(load.total_ticks.why);
    load = load_of(&root, "nonsense", "");
    assert_non_null(load.load_1.why);
    assert_non_null(load.runnable.why);
    kit_root_fini(&root);
}

static void shares_lie_between_two_readings(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_system_load a = load_of(&root, "", "cpu  100 0 100 1000 0 0 0 10 0 0\ncpu0 1 2\n");
    struct as_system_load b = load_of(&root, "", "cpu  140 0 110 1040 0 0 0 20 0 0\ncpu0 1 2\n");
    struct as_load_shares s = as_system_load_between(&a, &b);

    (void)state;
    assert_null(s.busy.why);
    assert_true(fabs(s.busy.value - 0.5) < 1e-12);
    assert_true(fabs(s.steal.value - 0.1) < 1e-12);
    assert_non_null(as_system_load_between(&a, &a).busy.why);
    assert_non_null(as_system_load_between(&b, &a).busy.why);
    b.total_ticks.why = "gone";
    assert_string_equal(as_system_load_between(&a, &b).steal.why, "gone");
    kit_root_fini(&root);
}

static void counters_that_run_over_are_unknown(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_system_load load = load_of(&root, "", "cpu  18446744073709551615 1 1 1 1 1 1 1\n");

    (void)state;
    assert_non_null(load.total_ticks.why);
    assert_non_null(load.busy_ticks.why);
    load = load_of(&root, "", "cpu  1 1 1 1 1 1 1\n"); /* an old kernel without steal */
    assert_non_null(load.steal_ticks.why);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_and_tasks_are_read),
        cmocka_unit_test(shares_lie_between_two_readings),
        cmocka_unit_test(counters_that_run_over_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
