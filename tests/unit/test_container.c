/* tests/unit/test_container.c - limits of control groups, versions 1 and 2, on prepared folders. */
#include "root_kit.h"

#include "probe/system/topology.h"

static void without_groups_nothing_is_known(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_container c;

    (void)state;
    as_container_read(&c, root.path);
    assert_int_equal(c.version, 0);
    assert_non_null(c.cpu_quota.why);
    assert_non_null(c.memory_bytes.why);
    assert_false(c.cpu_quota.set);
    kit_root_fini(&root);
}

static void version_2_takes_the_least_limit_on_the_way_up(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_container c;

    (void)state;
    kit_root_put(&root, "/proc/self/cgroup", "0::/a/b\n");
    kit_root_put(&root, "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 5\nnr_throttled 7\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/memory.max", "1000000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/memory.current", "900000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/b/memory.max", "500000\n");
    kit_root_put(&root, "/sys/fs/cgroup/a/b/memory.current", "1000\n");
    as_container_read(&c, root.path);
    assert_int_equal(c.version, 2);
    assert_true(c.cpu_quota.set);
    assert_true(c.cpu_quota.value > 1.499 && c.cpu_quota.value < 1.501);
    assert_null(c.throttled.why);
    assert_int_equal(c.throttled.value, 7);
    /* The group above has more, but less of it is left. */
    assert_true(c.memory_bytes.set);
    assert_int_equal((uint64_t)c.memory_bytes.value, 1000000);
    assert_int_equal(c.memory_used.value, 900000);
    kit_root_fini(&root);
}

static void version_2_at_the_top_has_no_limit(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_container c;

    (void)state;
    kit_root_put(&root, "/proc/self/cgroup", "0::/\n");
    kit_root_put(&root, "/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    as_container_read(&c, root.path);
    assert_null(c.cpu_quota.why);
    assert_false(c.cpu_quota.set);
    assert_null(c.memory_bytes.why);
    assert_false(c.memory_bytes.set);
    kit_root_fini(&root);
}

static void version_1_knows_no_limit_by_its_numbers(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_container c;

    (void)state;
    kit_root_put(&root, "/proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/c\n0::/\n");
    kit_root_put(&root, "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
    kit_root_put(&root, "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
    kit_root_put(&root, "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    as_container_read(&c, root.path);
    assert_int_equal(c.version, 1);
    assert_null(c.cpu_quota.why);
    assert_false(c.cpu_quota.set);
    assert_null(c.memory_bytes.why);
    assert_false(c.memory_bytes.set);
    kit_root_put(&root, "/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
    kit_root_put(&root, "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "4096\n");
    kit_root_put(&root, "/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "96\n");
    as_container_read(&c, root.path);
    assert_true(c.cpu_quota.set && c.cpu_quota.value > 0.499 && c.cpu_quota.value < 0.501);
    assert_int_equal((uint64_t)c.memory_bytes.value, 4096);
    assert_int_equal(c.memory_used.value, 96);
    kit_root_fini(&root);
}

static void odd_files_give_no_limit_and_no_crash(void **state)
{
    static const char *const groups[] = {
        "0::/../../outside\n",
        "0::relative\n",
        ":::\n",
        "0:",
        "::\n::\n",
        "1:cpu\n",
        "\n\n",
        "0::\n",
    };
    struct kit_root root = kit_root_new();
    struct as_container c;

    (void)state;
    kit_root_put(&root, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
    kit_root_put(&root, "/sys/fs/cgroup/cpu.max", "100000 0\n"); /* a divisor of nothing */
    kit_root_put(&root, "/sys/fs/cgroup/memory.max", "99999999999999999999999\n");
    for (size_t i = 0; i < UNIT_COUNT(groups); i++) {
        kit_root_put(&root, "/proc/self/cgroup", groups[i]);
        as_container_read(&c, root.path);
        assert_false(c.cpu_quota.set);
        assert_false(c.memory_bytes.set);
    }
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_groups_nothing_is_known),
        cmocka_unit_test(version_2_takes_the_least_limit_on_the_way_up),
        cmocka_unit_test(version_2_at_the_top_has_no_limit),
        cmocka_unit_test(version_1_knows_no_limit_by_its_numbers),
        cmocka_unit_test(odd_files_give_no_limit_and_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
