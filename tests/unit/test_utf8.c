/* tests/unit/test_utf8.c - validity, width, cutting and the terminal escaper. */
#include "unit.h"

#include "base/alloc.h"
#include "base/text/utf8.h"

static size_t width_of(const char *text)
{
    return as_utf8_width(text, strlen(text));
}

static void every_code_point_survives_encoding(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char bytes[4];
        uint32_t back = 0;
        size_t n;

        if (code == 0xd800)
            code = 0xe000;
        n = as_utf8_encode(bytes, code);
        assert_int_equal(as_utf8_decode(bytes, n, &back), n);
        assert_int_equal(back, code);
        assert_int_equal(as_utf8_decode(bytes, n - 1, &back), 0);
    }
}

static void malformed_bytes_are_refused(void **state)
{
    static const char *const bad[] = {
        "\x80",             /* a continuation alone */
        "\xc0\x80",         /* overlong NUL */
        "\xc1\xbf",         /* overlong two bytes */
        "\xe0\x9f\xbf",     /* overlong three */
        "\xf0\x8f\xbf\xbf", /* overlong four */
        "\xed\xa0\x80",     /* a surrogate */
        "\xed\xbf\xbf",     /* the last surrogate */
        "\xf4\x90\x80\x80", /* past U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xe2\x82",     /* cut off */
        "\xe2\x28\xa1", /* a wrong continuation */
        "12345678\xff", /* after a run of eight plain bytes */
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        uint32_t code = 12345;

        assert_false(as_utf8_valid(bad[i], strlen(bad[i])));
        if ((unsigned char)bad[i][0] >= 0x80) {
            assert_int_equal(as_utf8_decode(bad[i], strlen(bad[i]), &code), 0);
            assert_int_equal(code, 12345);
        }
    }
    assert_true(as_utf8_valid("", 0));
    assert_true(as_utf8_valid("plain ascii text", 16));
    assert_true(as_utf8_valid("größe 寬 😀 \xf4\x8f\xbf\xbf", 21));
    assert_true(as_utf8_valid("a\0b", 3));
}

static void widths_follow_the_terminal(void **state)
{
    (void)state;
    assert_int_equal(width_of("conv1"), 5);
    assert_int_equal(width_of("größe"), 5);
    assert_int_equal(width_of("畳み込み"), 8);
    assert_int_equal(width_of("한글"), 4);
    assert_int_equal(width_of("e\xcc\x81"), 1); /* e and a combining acute */
    assert_int_equal(width_of("😀"), 2);
    assert_int_equal(width_of("│─█▏…→✓"), 7);
    assert_int_equal(width_of("\xef\xbc\xa1"), 2); /* full-width A */
    assert_int_equal(width_of("\xe2\x80\x8b"), 0); /* zero-width space */
    assert_int_equal(width_of("\xff\xfe"), 2);
    assert_int_equal(as_utf8_code_width('\n'), 0);
    assert_int_equal(as_utf8_code_width(0x9b), 0);
    assert_int_equal(as_utf8_code_width(0xa0), 1);
    assert_int_equal(as_utf8_code_width(0x1100), 2);
    assert_int_equal(as_utf8_code_width(0x1160), 0);
    assert_int_equal(as_utf8_code_width(0x20000), 2);
    assert_int_equal(as_utf8_code_width(0x10ffff), 1);
    assert_int_equal(as_utf8_code_width(0xad), 1);
}

static void cut_text(char *out, const char *text, size_t width)
{
    struct as_utf8_cut cut = as_utf8_cut(text, strlen(text), width, 1);

    out[0] = '\0';
    if (cut.width == 0)
        return;
    memcpy(out, text, cut.head);
    out[cut.head] = '\0';
    if (cut.head < cut.tail)
        memcpy(out + cut.head, "~", 2);
    memmove(out + strlen(out), text + cut.tail, strlen(text) - cut.tail + 1);
    assert_int_equal(cut.width, width_of(out));
    assert_true(cut.width <= width);
}

static void the_middle_is_cut_out(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        const char *cut;
    } cases[] = {
        {"layer1.conv", 11, "layer1.conv"},
        {"layer1.conv", 10, "layer~conv"},
        {"layer1.conv", 3, "l~v"},
        {"layer1.conv", 2, "l~"},
        {"layer1.conv", 1, "~"},
        {"layer1.conv", 0, ""},
        {"", 0, ""},
        {"畳み込み", 7, "畳~込み"},
        {"畳み込み", 6, "畳~み"},
        {"畳み込み", 2, "~"},
        {"ae\xcc\x81xxxxe\xcc\x81", 4, "ae\xcc\x81~e\xcc\x81"},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        cut_text(out, cases[i].text, cases[i].width);
        assert_string_equal(out, cases[i].cut);
    }
}

static void a_hostile_name_cannot_steer_the_terminal(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *shown;
    } cases[] = {
        {"conv 1 ~", 8, "conv 1 ~"},
        {"\x1b]0;owned\x07", 10, "\\x1b]0;owned\\x07"},
        {"\x1b[31m", 5, "\\x1b[31m"},
        {"a\nb\rc\td", 7, "a\\nb\\rc\\td"},
        {"\x7f\0", 2, "\\x7f\\x00"},
        {"\xc2\x9b"
         "31m",
         5, "\\x9b31m"}, /* CSI as C1 in UTF-8 */
        {"\x9b"
         "31m",
         4,
         "\xef\xbf\xbd"
         "31m"}, /* the bare byte */
        {"\xe2\x80\xae"
         "evil",
         7, "\\u202eevil"}, /* right-to-left override */
        {"\xe2\x81\xa6x\xe2\x81\xa9", 7, "\\u2066x\\u2069"},
        {"\xe2\x80\xa8", 3, "\\u2028"},
        {"\xef\xbb\xbf", 3, "\\ufeff"},
        {"\xf3\xa0\x81\x81", 4, "\\U000e0041"}, /* a tag */
        {"a\xc2\xad"
         "b",
         4, "a\\xadb"},                                    /* soft hyphen */
        {"\xe1\x85\x9f\xe1\x85\xa0", 6, "\\u115f\\u1160"}, /* letters of no width */
        {"\xe3\x85\xa4", 3, "\\u3164"},
        {"\xef\xb8\x80\xef\xb8\x8f", 6, "\\ufe00\\ufe0f"}, /* variation selectors */
        {"\xf3\xa0\x84\x80\xf3\xa0\x87\xaf", 8, "\\U000e0100\\U000e01ef"},
        {"größe 畳 😀", 16, "größe 畳 😀"},
        {"C:\\x1b", 6, "C:\\x1b"},
        {"", 0, ""},
    };
    struct as_arena arena = {0};
    struct as_out out = unit_out();

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const char *copy = as_utf8_safe(&arena, cases[i].text, cases[i].size);

        assert_non_null(copy);
        assert_string_equal(copy, cases[i].shown);
        as_utf8_put_safe(&out, cases[i].text, cases[i].size);
        unit_expect(&out, cases[i].shown);
    }
    as_arena_fini(&arena);
    as_out_drop(&out);
}

/* Whatever the bytes, what is shown has no control among its code points and is valid. */
static void no_byte_pair_gets_through(void **state)
{
    struct as_out out = unit_out();

    (void)state;
    for (unsigned pair = 0; pair < 65536; pair++) {
        char text[2] = {(char)(pair >> 8), (char)(pair & 255)};
        const char *shown;
        size_t size;

        out.used = 0;
        as_utf8_put_safe(&out, text, 2);
        shown = as_out_get(&out, &size);
        assert_true(as_utf8_valid(shown, size));
        for (size_t at = 0; at < size;) {
            uint32_t code = 0;

            at += as_utf8_decode(shown + at, size - at, &code);
            assert_true(code >= 0x20 && !(code >= 0x7f && code < 0xa0));
        }
    }
    as_out_drop(&out);
}

static void without_memory_there_is_no_copy(void **state)
{
    struct as_arena arena = {.max_bytes = 16};

    (void)state;
    assert_null(as_utf8_safe(&arena, "more than sixteen bytes", 23));
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_encoding),
        cmocka_unit_test(malformed_bytes_are_refused),
        cmocka_unit_test(widths_follow_the_terminal),
        cmocka_unit_test(the_middle_is_cut_out),
        cmocka_unit_test(a_hostile_name_cannot_steer_the_terminal),
        cmocka_unit_test(no_byte_pair_gets_through),
        cmocka_unit_test(without_memory_there_is_no_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
