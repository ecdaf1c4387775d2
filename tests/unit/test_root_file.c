/* tests/unit/test_root_file.c - small files of the kernel: read, cut, and parsed whole or not. */
#include "root_kit.h"

#include "probe/system/root_file.h"

static void a_file_is_read_beneath_the_root(void **state)
{
    struct kit_root root = kit_root_new();
    char text[8];

    (void)state;
    kit_root_put(&root, "/proc/x", "hello\n");
    assert_true(as_root_read(root.path, "/proc/x", text, sizeof text));
    assert_string_equal(text, "hello");
    kit_root_put(&root, "/proc/x", "longer than the room\n");
    assert_true(as_root_read(root.path, "/proc/x", text, sizeof text));
    assert_string_equal(text, "longer ");
    kit_root_put(&root, "/proc/x", "");
    assert_false(as_root_read(root.path, "/proc/x", text, sizeof text));
    assert_false(as_root_read(root.path, "/proc/y", text, sizeof text));
    assert_string_equal(text, "");
    assert_false(as_root_read(root.path, "/proc", text, sizeof text)); /* a folder */
    kit_root_fini(&root);
}

static void a_number_is_all_of_the_file_or_none(void **state)
{
    static const struct {
        const char *text;
        bool known;
        uint64_t value;
    } cases[] = {
        {"17\n", true, 17},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"-1\n", false, 0},
        {"17 kB\n", false, 0},
        {"max\n", false, 0},
        {"\n", false, 0},
    };
    struct kit_root root = kit_root_new();

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_fact fact;

        kit_root_put(&root, "/n", cases[i].text);
        fact = as_root_u64(root.path, "/n", "no such number");
        assert_int_equal(fact.why == NULL, cases[i].known);
        if (cases[i].known)
            assert_true(fact.value == cases[i].value);
        else
            assert_string_equal(fact.why, "no such number");
    }
    kit_root_fini(&root);
}

static void a_field_is_found_by_its_whole_key(void **state)
{
    static const char text[] = "VmRSSx:\t1 kB\nVmRSS:\t 2048 kB\nempty:\nmodel\t\t: 207\n"
                               "model name\t: A CPU\nlast: 9";
    char out[16];
    uint64_t n;

    (void)state;
    assert_true(as_text_field_u64(text, "VmRSS", &n));
    assert_int_equal(n, 2048);
    assert_true(as_text_field_u64(text, "last", &n));
    assert_int_equal(n, 9);
    assert_true(as_text_field_copy(text, "model", out, sizeof out));
    assert_string_equal(out, "207");
    assert_true(as_text_field_copy(text, "model name", out, 4));
    assert_string_equal(out, "A C");
    assert_false(as_text_field_u64(text, "empty", &n)); /* not the number of the next line */
    assert_false(as_text_field_copy(text, "empty", out, sizeof out));
    assert_false(as_text_field_u64(text, "absent", &n));
    assert_false(as_text_field_u64("", "x", &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_beneath_the_root),
        cmocka_unit_test(a_number_is_all_of_the_file_or_none),
        cmocka_unit_test(a_field_is_found_by_its_whole_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
