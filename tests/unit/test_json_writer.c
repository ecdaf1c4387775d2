/* tests/unit/test_json_writer.c - JSON as a stream: escapes, numbers, nesting and misuse. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json/json_writer.h"

static void write_sample(struct as_json_writer *w)
{
    as_json_object(w);
    as_json_kv_text(w, "name", "conv1");
    as_json_kv_u64(w, "macs", 118013952);
    as_json_kv_i64(w, "delta", -5);
    as_json_kv_f64(w, "wall_ms", 16.42);
    as_json_kv_f64(w, "power_mw", UNIT_NAN);
    as_json_kv_bool(w, "fused", true);
    as_json_kv_null(w, "energy");
    as_json_kv_text(w, "reason", NULL);
    as_json_kv_array(w, "shape");
    as_json_u64(w, 1);
    as_json_u64(w, 64);
    as_json_array_end(w);
    as_json_kv_object(w, "none");
    as_json_object_end(w);
    as_json_kv_array(w, "empty");
    as_json_array_end(w);
    as_json_key(w, "raw");
    as_json_raw(w, "[1,2]", 5);
    as_json_key(w, "ts");
    as_json_decimal(w, 1234567, 3);
    as_json_kv_text_n(w, "cut", "abcdef", 3);
    as_json_object_end(w);
}

static void compact_has_no_white_space(void **state)
{
    struct as_out out = unit_out();
    struct as_json_writer w;

    (void)state;
    as_json_writer_init(&w, &out, 0);
    write_sample(&w);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    unit_expect(&out, "{\"name\":\"conv1\",\"macs\":118013952,\"delta\":-5,\"wall_ms\":16.42,"
                      "\"power_mw\":null,\"fused\":true,\"energy\":null,\"reason\":null,"
                      "\"shape\":[1,64],\"none\":{},\"empty\":[],\"raw\":[1,2],\"ts\":1234.567,"
                      "\"cut\":\"abc\"}");
    as_out_drop(&out);
}

static void indent_is_for_people(void **state)
{
    struct as_out out = unit_out();
    struct as_json_writer w;

    (void)state;
    as_json_writer_init(&w, &out, 2);
    as_json_array(&w);
    as_json_object(&w);
    as_json_kv_u64(&w, "a", 1);
    as_json_kv_array(&w, "b");
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_bool(&w, false);
    as_json_array_end(&w);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    unit_expect(&out, "[\n  {\n    \"a\": 1,\n    \"b\": []\n  },\n  false\n]");
    as_out_drop(&out);
}

static void expect_text(const char *text, size_t size, const char *json)
{
    struct as_out out = unit_out();
    struct as_json_writer w;

    as_json_writer_init(&w, &out, 0);
    as_json_text_n(&w, text, size);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    unit_expect(&out, json);
    as_out_drop(&out);
}

static void strings_are_escaped_for_html_and_scripts_too(void **state)
{
    (void)state;
    expect_text("", 0, "\"\"");
    expect_text("plain text of more than eight bytes", 35,
                "\"plain text of more than eight bytes\"");
    expect_text("\"\\/\b\f\n\r\t", 8, "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    expect_text("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    expect_text("</script>", 9, "\"\\u003c/script>\"");
    expect_text("\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\\u2028\\u2029\"");
    expect_text("\xe2\x80\xae\xe2\x81\xa6\xc2\x9b", 8, "\"\\u202e\\u2066\\u009b\"");
    expect_text("größe 畳 😀", 16, "\"größe 畳 😀\"");
    expect_text("a\xff\xc0\x80z", 5, "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
    expect_text("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Each special byte at each place of a word of eight, where the quick path could miss it. */
static void no_special_byte_slips_through_the_quick_path(void **state)
{
    static const char specials[] = {'"', '\\', '<', '\n', 0x1f, 0, (char)0x80, (char)0xff};

    (void)state;
    for (size_t s = 0; s < sizeof specials; s++) {
        for (size_t at = 0; at < 24; at++) {
            struct as_out out = unit_out();
            struct as_json_writer w;
            char text[24];
            size_t size;

            memset(text, 'x', sizeof text);
            text[at] = specials[s];
            as_json_writer_init(&w, &out, 0);
            as_json_text_n(&w, text, sizeof text);
            as_out_get(&out, &size);
            assert_true(size > sizeof text + 2);
            as_out_drop(&out);
        }
    }
}

static void any_scalar_may_be_the_whole_text(void **state)
{
    struct as_out out = unit_out();
    struct as_json_writer w;

    (void)state;
    as_json_writer_init(&w, &out, 2);
    as_json_i64(&w, INT64_MIN);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);
    unit_expect(&out, "-9223372036854775808");
    as_out_drop(&out);
}

static void sixty_four_levels_are_the_limit(void **state)
{
    struct as_out out = unit_out();
    struct as_json_writer w;
    struct assay_error err;

    (void)state;
    as_json_writer_init(&w, &out, 0);
    for (int i = 0; i < AS_JSON_WRITE_DEPTH; i++)
        as_json_array(&w);
    for (int i = 0; i < AS_JSON_WRITE_DEPTH; i++)
        as_json_array_end(&w);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_OK);

    as_json_writer_init(&w, &out, 0);
    for (int i = 0; i <= AS_JSON_WRITE_DEPTH; i++)
        as_json_array(&w);
    for (int i = 0; i <= AS_JSON_WRITE_DEPTH; i++)
        as_json_array_end(&w);
    assert_int_equal(as_json_writer_finish(&w, &err), ASSAY_ERR_LIMIT);
    as_out_drop(&out);
}

static void what_is_left_open_is_told(void **state)
{
    struct as_out out = unit_out();
    struct as_json_writer w;
    struct assay_error err;

    (void)state;
    as_json_writer_init(&w, &out, 0);
    assert_int_equal(as_json_writer_finish(&w, &err), ASSAY_ERR_STATE);
    as_json_object(&w);
    assert_int_equal(as_json_writer_finish(&w, &err), ASSAY_ERR_STATE);
    as_json_key(&w, "a");
    assert_int_equal(as_json_writer_finish(&w, &err), ASSAY_ERR_STATE);
    as_out_drop(&out);
}

static void misuse_two_values(struct as_json_writer *w)
{
    as_json_null(w);
    as_json_null(w);
}

static void misuse_value_without_key(struct as_json_writer *w)
{
    as_json_object(w);
    as_json_u64(w, 1);
}

static void misuse_key_in_array(struct as_json_writer *w)
{
    as_json_array(w);
    as_json_key(w, "a");
}

static void misuse_key_twice(struct as_json_writer *w)
{
    as_json_object(w);
    as_json_key(w, "a");
    as_json_key(w, "b");
}

static void misuse_key_without_value(struct as_json_writer *w)
{
    as_json_object(w);
    as_json_key(w, "a");
    as_json_object_end(w);
}

static void misuse_wrong_end(struct as_json_writer *w)
{
    as_json_object(w);
    as_json_array_end(w);
}

static void misuse_end_of_nothing(struct as_json_writer *w)
{
    as_json_object_end(w);
}

typedef void (*misuse_call)(struct as_json_writer *w);

/* With asserts the program stops, so a child makes the mistake; without them it is recorded. */
static void expect_misuse(misuse_call call)
{
    struct as_out out = unit_out();
    struct as_json_writer w;

    as_json_writer_init(&w, &out, 0);
#ifdef NDEBUG
    call(&w);
    assert_true(w.misused);
    assert_int_equal(as_json_writer_finish(&w, NULL), ASSAY_ERR_STATE);
#else
    pid_t child;
    int status = 0;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fclose(stderr);
        signal(SIGABRT, SIG_DFL);
        call(&w);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
#endif
    as_out_drop(&out);
}

static void every_wrong_order_is_noticed(void **state)
{
    static const misuse_call calls[] = {
        misuse_two_values,        misuse_value_without_key, misuse_key_in_array,   misuse_key_twice,
        misuse_key_without_value, misuse_wrong_end,         misuse_end_of_nothing,
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(calls); i++)
        expect_misuse(calls[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_has_no_white_space),
        cmocka_unit_test(indent_is_for_people),
        cmocka_unit_test(strings_are_escaped_for_html_and_scripts_too),
        cmocka_unit_test(no_special_byte_slips_through_the_quick_path),
        cmocka_unit_test(any_scalar_may_be_the_whole_text),
        cmocka_unit_test(sixty_four_levels_are_the_limit),
        cmocka_unit_test(what_is_left_open_is_told),
        cmocka_unit_test(every_wrong_order_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
