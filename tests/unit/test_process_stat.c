/* tests/unit/test_process_stat.c - what /proc says of a process, with names that would mislead. */
#include <stdio.h>

#include "unit.h"

#include "probe/process/process_stat.h"

#define REST                                                                                       \
    " S 7 1 1 0 -1 4194304 11 12 13 14 15 16 17 18 20 -5 3 0 22 23000 24 18446744073709551615 1 "  \
    "1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 42 0 0"

static void a_line_is_read(void **state)
{
    struct as_process_stat s;

    (void)state;
    assert_true(as_process_stat_parse(&s, "9 (cat)" REST));
    assert_string_equal(s.comm, "cat");
    assert_int_equal(s.state, 'S');
    assert_int_equal(s.parent_pid, 7);
    assert_int_equal(s.minor_faults, 11);
    assert_int_equal(s.child_minor_faults, 12);
    assert_int_equal(s.major_faults, 13);
    assert_int_equal(s.user_ticks, 15);
    assert_int_equal(s.system_ticks, 16);
    assert_int_equal(s.n_threads, 3);
    assert_int_equal(s.start_ticks, 22);
    assert_int_equal(s.rss_pages, 24);
    assert_int_equal(s.block_wait_ticks, 42);
}

static void a_name_may_look_like_the_rest(void **state)
{
    static const char *const name[] = {"a) b (", ") R 1 2 3 4 5 6", "(", ")", "", "a\nb", "((()))"};
    char line[512];
    struct as_process_stat s;

    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        (void)snprintf(line, sizeof line, "9 (%s)%s", name[i], REST);
        assert_true(as_process_stat_parse(&s, line));
        assert_string_equal(s.comm, name[i]);
        assert_int_equal(s.parent_pid, 7);
        assert_int_equal(s.rss_pages, 24);
    }
}

static void a_long_name_is_cut(void **state)
{
    char name[301], line[600];
    struct as_process_stat s;

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(line, sizeof line, "9 (%s)%s", name, REST);
    assert_true(as_process_stat_parse(&s, line));
    assert_int_equal(strlen(s.comm), AS_COMM_BYTES - 1);
}

static void what_is_not_whole_is_refused(void **state)
{
    static const char *const line[] = {
        "",
        "9",
        "9 (cat",
        "9 cat) S 1",
        ")(",
        "9 (cat)",
        "9 (cat) ",
        "9 (cat) S",
        "9 (cat) S 7 1 1 0 -1",
        "9 (cat) S x",
        "9 (cat) S 7 1 1 0 -1 4194304 11 12 13 14 15 16 17 18 20 -5 3 0 22 23000",
        "9 (cat) S 7 1 1 0 -1 4194304 -11 12 13 14 15 16 17 18 20 -5 3 0 22 23000 24",
        "9 (cat) S 7 1 1 0 -1 4194304 99999999999999999999 12 13 14 15 16 17 18 20 0 3 0 22 2 24",
    };
    struct as_process_stat s;

    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        assert_false(as_process_stat_parse(&s, line[i]));
}

static void an_older_kernel_tells_less(void **state)
{
    struct as_process_stat s;

    (void)state;
    assert_true(as_process_stat_parse(
        &s, "9 (cat) S 7 1 1 0 -1 4194304 11 12 13 14 15 16 17 18 20 -5 3 0 22 23000 24 99"));
    assert_int_equal(s.rss_pages, 24);
    assert_int_equal(s.block_wait_ticks, 0);
}

static void status_and_io_are_read_or_unknown(void **state)
{
    struct as_process_status status;
    struct as_process_io io;

    (void)state;
    as_process_status_parse(&status, "Name:\tx\nVmHWM:\t 12 kB\nvoluntary_ctxt_switches:\t5\n"
                                     "nonvoluntary_ctxt_switches:\t6\n");
    assert_int_equal(status.rss_peak_bytes.value, 12 * 1024);
    assert_int_equal(status.switches_voluntary.value, 5);
    assert_int_equal(status.switches_involuntary.value, 6);
    as_process_status_parse(&status, "VmHWM: 18446744073709551615 kB\n");
    assert_non_null(status.rss_peak_bytes.why);
    assert_non_null(status.switches_voluntary.why);
    as_process_io_parse(&io, "rchar: 1\nread_bytes: 4096\nwrite_bytes: 0\n"
                             "cancelled_write_bytes: 7\n");
    assert_int_equal(io.read_bytes.value, 4096);
    assert_null(io.written_bytes.why);
    assert_int_equal(io.written_bytes.value, 0);
    as_process_io_parse(&io, "");
    assert_non_null(io.read_bytes.why);
    assert_non_null(io.written_bytes.why);
}

static void children_are_numbers(void **state)
{
    const char *at = "12 345 x 7";
    int64_t pid;

    (void)state;
    assert_true(as_process_next_child(&at, &pid));
    assert_int_equal(pid, 12);
    assert_true(as_process_next_child(&at, &pid));
    assert_int_equal(pid, 345);
    assert_false(as_process_next_child(&at, &pid));
    at = "0";
    assert_false(as_process_next_child(&at, &pid));
    at = "-3";
    assert_false(as_process_next_child(&at, &pid));
    at = "4294967296";
    assert_false(as_process_next_child(&at, &pid));
}

static void a_command_line_is_one_line(void **state)
{
    char text[16];

    (void)state;
    as_process_command_text(text, sizeof text, "ls\0-l\0a\nb\0", 10);
    assert_string_equal(text, "ls -l a?b");
    as_process_command_text(text, sizeof text, "0123456789abcdefgh", 18);
    assert_string_equal(text, "0123456789abcde");
    as_process_command_text(text, sizeof text, "\0\0", 2);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_read),
        cmocka_unit_test(a_name_may_look_like_the_rest),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(what_is_not_whole_is_refused),
        cmocka_unit_test(an_older_kernel_tells_less),
        cmocka_unit_test(status_and_io_are_read_or_unknown),
        cmocka_unit_test(children_are_numbers),
        cmocka_unit_test(a_command_line_is_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
