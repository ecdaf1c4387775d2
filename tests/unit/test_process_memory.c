/* tests/unit/test_process_memory.c - what this process holds, from prepared files and for real. */
#include "root_kit.h"

#include <sys/resource.h>

#include "base/alloc.h"
#include "probe/process/process_memory.h"
#include "probe/system/root_file.h"

static void status_is_read(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_process_memory m;

    (void)state;
    as_process_memory_read(&m, root.path);
    assert_non_null(m.rss.why);
    assert_non_null(m.rss_peak.why);
    kit_root_put(&root, "/proc/self/status", "VmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\n");
    as_process_memory_read(&m, root.path);
    assert_null(m.rss.why);
    assert_int_equal(m.rss.value, 2000 * 1024);
    assert_int_equal(m.rss_peak.value, 3000 * 1024);
    assert_non_null(m.swapped.why);
    kit_root_put(&root, "/proc/self/status", "VmRSS:\t 18446744073709551615 kB\n");
    as_process_memory_read(&m, root.path);
    assert_non_null(m.rss.why);
    kit_root_fini(&root);
}

static void touched_memory_shows(void **state)
{
    const size_t size = (size_t)32 << 20;
    struct as_process_memory before, after;
    struct as_process_events a, b, between;
    char *block = as_alloc(size);

    (void)state;
    assert_non_null(block);
    as_process_memory_read(&before, "");
    as_process_events_read(&a, true);
    memset(block, 1, size);
    __asm__ __volatile__("" ::"r"(block) : "memory");
    as_process_events_read(&b, true);
    as_process_memory_read(&after, "");
    as_free(block);
    if (before.rss.why || a.minor_faults.why)
        return;
    assert_true(after.rss.value >= before.rss.value + size / 2);
    assert_true(after.rss_peak.value >= after.rss.value);
    between = as_process_events_between(&a, &b);
    assert_null(between.minor_faults.why);
    assert_true(between.minor_faults.value > 0);
}

static void the_peak_can_begin_anew(void **state)
{
    const size_t size = (size_t)32 << 20;
    struct kit_root root = kit_root_new();
    struct as_process_memory before, after;
    char *block = as_alloc_pages(size), text[8] = "";

    (void)state;
    assert_false(as_process_memory_reset_peak(root.path));
    kit_root_put(&root, "/proc/self/clear_refs", "-");
    assert_true(as_process_memory_reset_peak(root.path));
    assert_true(as_root_read(root.path, "/proc/self/clear_refs", text, sizeof text));
    assert_string_equal(text, "5");
    kit_root_fini(&root);
    assert_non_null(block);
    memset(block, 1, size);
    __asm__ __volatile__("" ::"r"(block) : "memory");
    as_process_memory_read(&before, "");
    as_free_pages(block, size);
    if (before.rss_peak.why || !as_process_memory_reset_peak(""))
        return;
    as_process_memory_read(&after, "");
    assert_true(after.rss_peak.value + size / 2 <= before.rss_peak.value);
}

static void what_lies_between_unknowns_is_unknown(void **state)
{
    struct as_process_events a = {.minor_faults.value = 5, .major_faults.why = "x"};
    struct as_process_events b = {.minor_faults.value = 3, .major_faults.value = 9};
    struct as_process_events between = as_process_events_between(&a, &b);

    (void)state;
    assert_non_null(between.minor_faults.why); /* backwards */
    assert_string_equal(between.major_faults.why, "x");
    assert_null(between.switches_voluntary.why);
}

static void the_container_may_leave_less(void **state)
{
    struct kit_root root = kit_root_new();
    struct as_container c = {.memory_bytes = {.value = 5000, .set = true},
                             .memory_used.value = 1000};
    struct as_memory_headroom headroom;

    (void)state;
    kit_root_put(&root, "/proc/meminfo",
                 "MemAvailable: 1000 kB\nSwapTotal: 30 kB\nSwapFree: 10 kB\n");
    as_memory_headroom_read(&headroom, root.path, NULL);
    assert_int_equal(headroom.left.value, 1000 * 1024);
    assert_int_equal(headroom.swap_used.value, 20 * 1024);
    as_memory_headroom_read(&headroom, root.path, &c);
    assert_int_equal(headroom.left.value, 4000);
    assert_int_equal(headroom.available.value, 1000 * 1024);
    c.memory_used.value = 9000; /* more than the limit: nothing is left, not a huge number */
    as_memory_headroom_read(&headroom, root.path, &c);
    assert_int_equal(headroom.left.value, 0);
    kit_root_fini(&root);
}

static void a_limit_of_addresses_may_leave_less(void **state)
{
    const uint64_t most = UINT64_C(1) << 46; /* more than any test holds, shadows of tools too */
    struct kit_root root = kit_root_new();
    struct as_memory_headroom headroom;
    struct rlimit before, now;

    (void)state;
    kit_root_put(&root, "/proc/meminfo", "MemAvailable: 1125899906842624 kB\n");
    kit_root_put(&root, "/proc/self/status", "VmSize:   1000 kB\n");
    as_memory_headroom_read(&headroom, root.path, NULL);
    assert_true(headroom.left.value > most);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    now = before;
    now.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    as_memory_headroom_read(&headroom, root.path, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(headroom.left.value == most - 1000 * 1024);
    kit_root_fini(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_is_read),
        cmocka_unit_test(touched_memory_shows),
        cmocka_unit_test(the_peak_can_begin_anew),
        cmocka_unit_test(what_lies_between_unknowns_is_unknown),
        cmocka_unit_test(the_container_may_leave_less),
        cmocka_unit_test(a_limit_of_addresses_may_leave_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
