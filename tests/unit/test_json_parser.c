/* tests/unit/test_json_parser.c - JSON token by token: what is taken, what is refused and where. */
#include "unit.h"

#include "base/alloc.h"
#include "base/json/json_parser.h"

/* Every token of a text, one letter each; '!' and the code's sign end it at an error. */
static void read_all(const char *json, size_t size, char *kinds, struct assay_error *err)
{
    static const char letter[] = {
        [AS_JSON_OBJECT] = '{',    [AS_JSON_OBJECT_END] = '}', [AS_JSON_ARRAY] = '[',
        [AS_JSON_ARRAY_END] = ']', [AS_JSON_KEY] = 'k',        [AS_JSON_STRING] = 's',
        [AS_JSON_NUMBER] = 'n',    [AS_JSON_TRUE] = 't',       [AS_JSON_FALSE] = 'f',
        [AS_JSON_NULL] = '0',
    };
    struct as_json_parser p;
    int kind;

    as_json_parser_init(&p, json, size);
    while ((kind = as_json_next(&p, err)) > 0)
        *kinds++ = letter[kind];
    if (kind < 0)
        *kinds++ = '!';
    *kinds = '\0';
    assert_int_equal(as_json_next(&p, err), kind);
    as_json_parser_fini(&p);
    as_json_parser_fini(&p);
}

static void tokens_come_in_order(void **state)
{
    static const struct {
        const char *json, *kinds;
    } cases[] = {
        {"{}", "{}"},
        {" [ ] ", "[]"},
        {"{\"a\":1,\"b\":[true,false,null,\"x\",-1.5e3],\"c\":{}}", "{knk[tf0sn]k{}}"},
        {"\t\r\n \"top\" \n", "s"},
        {"0", "n"},
        {"[[[]],[]]", "[[[]][]]"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        char kinds[64];

        read_all(cases[i].json, strlen(cases[i].json), kinds, NULL);
        assert_string_equal(kinds, cases[i].kinds);
    }
}

static void what_is_wrong_is_refused_at_its_byte(void **state)
{
    static const struct {
        const char *json;
        uint64_t offset;
        const char *words;
    } cases[] = {
        {"", 0, "empty"},
        {"  ", 2, "a value is expected"},
        {"[1,]", 3, "a value is expected"},
        {"{\"a\":1,}", 7, "a key in quotes"},
        {"{a:1}", 1, "a key in quotes"},
        {"{\"a\" 1}", 5, "a colon"},
        {"{\"a\":}", 5, "a value"},
        {"[1 2]", 3, "a comma or the end of the array"},
        {"{\"a\":1 \"b\"}", 7, "a comma or the end of the object"},
        {"[1}", 2, "a comma or the end of the array"},
        {"[", 1, "ends where a value"},
        {"{\"a\":1", 6, "a comma or the end of the object"},
        {"01", 1, "needless zero"},
        {"-01", 2, "needless zero"},
        {"-", 1, "minus"},
        {"1.", 2, "decimal point"},
        {".5", 0, "a value"},
        {"1e", 2, "exponent"},
        {"1e+", 3, "exponent"},
        {"+1", 0, "a value"},
        {"NaN", 0, "a value"},
        {"Infinity", 0, "a value"},
        {"-Infinity", 1, "minus"},
        {"0x10", 1, "follows the end"},
        {"tru", 0, "a value"},
        {"truex", 4, "follows the end"},
        {"nul", 0, "a value"},
        {"1 1", 2, "follows the end"},
        {"{} x", 3, "follows the end"},
        {"]", 0, "a value"},
        {"'a'", 0, "a value"},
        {"\"a", 2, "without an end"},
        {"\"a\n\"", 2, "control character"},
        {"\"\t\"", 1, "control character"},
        {"\"\\x\"", 2, "escape is not known"},
        {"\"\\", 2, "cut off"},
        {"\"\\u12", 5, "cut off"},
        {"\"\\u12g4\"", 5, "four hexadecimal digits"},
        {"\"\\ud800\"", 7, "surrogate"},
        {"\"\\udc00\"", 7, "surrogate"},
        {"\"\\ud800\\u0041\"", 13, "surrogate"},
        {"\"\\ud800\\n\"", 7, "surrogate"},
        {"\"\xff\"", 1, "UTF-8"},
        {"\"\xc0\x80\"", 1, "UTF-8"},
        {"\"\xed\xa0\x80\"", 1, "UTF-8"},
        {"\"12345678\xf4\x90\x80\x80\"", 9, "UTF-8"},
        {"\xef\xbb\xbf{}", 0, "a value"},
        {"// x\n1", 0, "a value"},
        {"[1,,2]", 3, "a value"},
        {"[,1]", 1, "a value"},
        {"{,}", 1, "a key"},
        {"\v1", 0, "a value"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct assay_error err = {0};
        char kinds[64];

        read_all(cases[i].json, strlen(cases[i].json), kinds, &err);
        assert_int_equal(kinds[strlen(kinds) - 1], '!');
        assert_int_equal(err.code, ASSAY_ERR_FORMAT);
        assert_int_equal(err.offset, cases[i].offset);
        if (!strstr(err.msg, cases[i].words))
            assert_string_equal(err.msg, cases[i].words);
    }
}

static void a_nul_byte_is_not_white_space(void **state)
{
    char kinds[8];

    (void)state;
    read_all("1\0", 2, kinds, NULL);
    assert_string_equal(kinds, "n!");
    read_all("\"\0\"", 3, kinds, NULL);
    assert_string_equal(kinds, "!");
}

static void check_string(const char *json, const char *text, size_t size, bool borrowed)
{
    struct as_json_parser p;

    as_json_parser_init(&p, json, strlen(json));
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_STRING);
    assert_int_equal(p.text_size, size);
    assert_memory_equal(p.text, text, size);
    assert_int_equal(p.text >= json && p.text <= json + strlen(json), borrowed);
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_END);
    as_json_parser_fini(&p);
}

static void strings_are_borrowed_unless_escaped(void **state)
{
    (void)state;
    check_string("\"\"", "", 0, true);
    check_string("\"conv1.weight of a long layer\"", "conv1.weight of a long layer", 28, true);
    check_string("\"größe 畳 😀\"", "größe 畳 😀", 16, true);
    check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, false);
    check_string("\"a\\u0000b\"", "a\0b", 3, false);
    check_string("\"\\u00E9\\u20ac\\uD83D\\ude00\"", "é€😀", 9, false);
    check_string("\"before \\n after\"", "before \n after", 14, false);
}

static void numbers_are_exact_or_refused(void **state)
{
    static const struct {
        const char *json;
        bool is_u64, is_i64, is_f64;
    } cases[] = {
        {"0", true, true, true},
        {"-0", false, true, true},
        {"18446744073709551615", true, false, true},
        {"18446744073709551616", false, false, true},
        {"9223372036854775807", true, true, true},
        {"-9223372036854775808", false, true, true},
        {"-9223372036854775809", false, false, true},
        {"1.0", false, false, true},
        {"1e3", false, false, true},
        {"1e999", false, false, false},
        {"1e-999", false, false, true},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_json_parser p;
        struct assay_error err = {0};
        uint64_t u;
        int64_t s;
        double f;

        as_json_parser_init(&p, cases[i].json, strlen(cases[i].json));
        assert_int_equal(as_json_next(&p, NULL), AS_JSON_NUMBER);
        assert_true(as_json_text_is(&p, cases[i].json));
        assert_int_equal(as_json_get_u64(&p, &u, &err), cases[i].is_u64 ? 0 : ASSAY_ERR_FORMAT);
        assert_int_equal(as_json_get_i64(&p, &s, &err), cases[i].is_i64 ? 0 : ASSAY_ERR_FORMAT);
        assert_int_equal(as_json_get_f64(&p, &f, &err), cases[i].is_f64 ? 0 : ASSAY_ERR_FORMAT);
        as_json_parser_fini(&p);
    }
}

static void a_getter_wants_a_number(void **state)
{
    struct as_json_parser p;
    struct assay_error err;
    uint64_t u;

    (void)state;
    as_json_parser_init(&p, " \"12\"", 5);
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_STRING);
    assert_int_equal(as_json_get_u64(&p, &u, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(err.offset, 1);
    assert_string_equal(err.msg, "JSON: a number is expected, but here is a string (byte 1)");
    as_json_parser_fini(&p);
}

static void a_number_has_at_most_64_characters(void **state)
{
    struct as_json_parser p;
    struct assay_error err;
    char digits[65];

    (void)state;
    memset(digits, '1', sizeof digits);
    as_json_parser_init(&p, digits, 64);
    assert_int_equal(as_json_next(&p, &err), AS_JSON_NUMBER);
    as_json_parser_fini(&p);
    as_json_parser_init(&p, digits, 65);
    assert_int_equal(as_json_next(&p, &err), ASSAY_ERR_LIMIT);
    as_json_parser_fini(&p);
}

static void depth_is_limited(void **state)
{
    struct as_json_parser p;
    struct assay_error err = {0};
    char nest[130];

    (void)state;
    memset(nest, '[', 65);
    memset(nest + 64, ']', 64);
    as_json_parser_init(&p, nest, 128);
    while (as_json_next(&p, &err) > 0)
        continue;
    assert_int_equal(p.kind, AS_JSON_END);
    as_json_parser_fini(&p);

    memset(nest, '[', sizeof nest);
    as_json_parser_init(&p, nest, sizeof nest);
    while (as_json_next(&p, &err) > 0)
        continue;
    assert_int_equal(p.kind, ASSAY_ERR_LIMIT);
    assert_int_equal(err.offset, 64);
    as_json_parser_fini(&p);

    as_json_parser_init(&p, "[[1]]", 5);
    p.max_depth = 1;
    assert_int_equal(as_json_next(&p, &err), AS_JSON_ARRAY);
    assert_int_equal(as_json_next(&p, &err), ASSAY_ERR_LIMIT);
    as_json_parser_fini(&p);
}

static void skip_leaves_out_one_value(void **state)
{
    const char json[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":3,\"c\":[[],4],\"d\":5}";
    struct as_json_parser p;
    uint64_t value = 0;

    (void)state;
    as_json_parser_init(&p, json, sizeof json - 1);
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_OBJECT);
    assert_int_equal(as_json_skip(&p, NULL), ASSAY_OK); /* the whole object */
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_END);
    as_json_parser_fini(&p);

    as_json_parser_init(&p, json, sizeof json - 1);
    assert_int_equal(as_json_next(&p, NULL), AS_JSON_OBJECT);
    while (as_json_next(&p, NULL) == AS_JSON_KEY) {
        if (as_json_text_is(&p, "d")) {
            assert_int_equal(as_json_next(&p, NULL), AS_JSON_NUMBER);
            assert_int_equal(as_json_get_u64(&p, &value, NULL), ASSAY_OK);
            assert_int_equal(as_json_skip(&p, NULL), ASSAY_OK); /* a number: nothing to skip */
        } else {
            assert_int_equal(as_json_skip(&p, NULL), ASSAY_OK);
        }
    }
    assert_int_equal(p.kind, AS_JSON_OBJECT_END);
    assert_int_equal(value, 5);
    as_json_parser_fini(&p);
}

static void skip_checks_what_it_passes(void **state)
{
    struct as_json_parser p;
    struct assay_error err;

    (void)state;
    as_json_parser_init(&p, "[[1,}]", 6);
    assert_int_equal(as_json_next(&p, &err), AS_JSON_ARRAY);
    assert_int_equal(as_json_skip(&p, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_json_skip(&p, &err), ASSAY_ERR_FORMAT);
    as_json_parser_fini(&p);
    as_json_parser_init(&p, "{\"a\":x}", 7);
    assert_int_equal(as_json_next(&p, &err), AS_JSON_OBJECT);
    assert_int_equal(as_json_next(&p, &err), AS_JSON_KEY);
    assert_int_equal(as_json_skip(&p, &err), ASSAY_ERR_FORMAT);
    as_json_parser_fini(&p);
}

static void expect_says_what_it_wanted(void **state)
{
    struct as_json_parser p;
    struct assay_error err;

    (void)state;
    as_json_parser_init(&p, "[1]", 3);
    assert_int_equal(as_json_expect(&p, AS_JSON_ARRAY, "a shape", &err), ASSAY_OK);
    assert_int_equal(as_json_expect(&p, AS_JSON_STRING, "a name", &err), ASSAY_ERR_FORMAT);
    assert_string_equal(err.msg, "JSON: a name must be a string, but here is a number (byte 1)");
    as_json_parser_fini(&p);
    assert_string_equal(as_json_kind_name(-3), "an error");
}

static void long_escaped_strings_meet_the_limit(void **state)
{
    struct as_json_parser p;
    struct assay_error err;

    (void)state;
    as_json_parser_init(&p, "\"\\n12345678\"", 12);
    p.decode.max_bytes = 4;
    assert_int_equal(as_json_next(&p, &err), ASSAY_ERR_LIMIT);
    as_json_parser_fini(&p);
}

static void running_out_of_memory_is_an_error(void **state)
{
    struct as_json_parser p;
    struct assay_error err;

    (void)state;
    as_alloc_fail_at(1, 1);
    as_json_parser_init(&p, "\"\\n\"", 4);
    if (as_json_next(&p, &err) >= 0) {
        as_alloc_fail_at(0, 0);
        as_json_parser_fini(&p);
        skip(); /* a build that cannot make allocations fail */
    }
    as_alloc_fail_at(0, 0);
    assert_int_equal(err.code, ASSAY_ERR_NOMEM);
    as_json_parser_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_in_order),
        cmocka_unit_test(what_is_wrong_is_refused_at_its_byte),
        cmocka_unit_test(a_nul_byte_is_not_white_space),
        cmocka_unit_test(strings_are_borrowed_unless_escaped),
        cmocka_unit_test(numbers_are_exact_or_refused),
        cmocka_unit_test(a_getter_wants_a_number),
        cmocka_unit_test(a_number_has_at_most_64_characters),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(skip_leaves_out_one_value),
        cmocka_unit_test(skip_checks_what_it_passes),
        cmocka_unit_test(expect_says_what_it_wanted),
        cmocka_unit_test(long_escaped_strings_meet_the_limit),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
