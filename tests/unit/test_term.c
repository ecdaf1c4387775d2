/* tests/unit/test_term.c - color, glyphs and width from what the caller found out. */
#include "unit.h"

#include <float.h>

#include "base/text/term.h"
#include "base/text/utf8.h"

static void color_follows_the_order_of_its_rules(void **state)
{
    static const struct {
        struct as_term_inputs in;
        bool color;
    } cases[] = {
        {{.is_tty = false}, false},
        {{.is_tty = true}, false},
        {{.is_tty = true, .term = ""}, false},
        {{.is_tty = true, .term = "dumb"}, false},
        {{.is_tty = true, .term = "xterm-256color"}, true},
        {{.is_tty = false, .term = "xterm"}, false},
        {{.is_tty = true, .term = "xterm", .no_color = "1"}, false},
        {{.is_tty = true, .term = "xterm", .no_color = ""}, true},
        {{.clicolor_force = "1"}, true},
        {{.clicolor_force = "0"}, false},
        {{.clicolor_force = ""}, false},
        {{.clicolor_force = "1", .no_color = "1"}, false},
        {{.color = AS_COLOR_ALWAYS, .no_color = "1"}, true},
        {{.color = AS_COLOR_NEVER, .clicolor_force = "1", .is_tty = true, .term = "xterm"}, false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(as_term_from(&cases[i].in).color, cases[i].color);
}

static void width_follows_the_order_of_its_rules(void **state)
{
    static const struct {
        struct as_term_inputs in;
        unsigned width;
    } cases[] = {
        {{.width = 0}, 80},
        {{.window_columns = 132}, 132},
        {{.window_columns = 132, .columns = "100"}, 100},
        {{.window_columns = 132, .columns = "100", .width = 60}, 60},
        {{.window_columns = 132, .columns = "wide"}, 132},
        {{.window_columns = 132, .columns = "0"}, 132},
        {{.columns = "-5"}, 80},
        {{.width = 1}, 20},
        {{.columns = "18446744073709551615"}, 1000},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(as_term_from(&cases[i].in).width, cases[i].width);
}

static void glyphs_follow_the_option_then_the_locale(void **state)
{
    (void)state;
    assert_false(as_term_from(&(struct as_term_inputs){0}).unicode);
    assert_true(as_term_from(&(struct as_term_inputs){.utf8_locale = true}).unicode);
    assert_true(as_term_from(&(struct as_term_inputs){.glyphs = AS_GLYPHS_UNICODE}).unicode);
    assert_false(
        as_term_from(&(struct as_term_inputs){.utf8_locale = true, .glyphs = AS_GLYPHS_ASCII})
            .unicode);
}

static void every_style_and_glyph_is_there(void **state)
{
    const struct as_term plain = {.width = 80};
    const struct as_term rich = {.color = true, .unicode = true, .width = 80};

    (void)state;
    for (int s = 0; s < AS_STYLE_COUNT; s++) {
        assert_string_equal(as_term_style(&plain, (enum as_style)s), "");
        assert_string_equal(as_term_style_end(&plain, (enum as_style)s), "");
        assert_int_equal(as_term_style(&rich, (enum as_style)s)[0], s ? '\x1b' : '\0');
        assert_string_equal(as_term_style_end(&rich, (enum as_style)s), s ? "\x1b[0m" : "");
    }
    for (int g = 0; g < AS_GLYPH_COUNT; g++) {
        const char *unicode = as_term_glyph(&rich, (enum as_glyph)g);
        const char *ascii = as_term_glyph(&plain, (enum as_glyph)g);

        assert_true(*unicode && *ascii);
        for (const char *p = ascii; *p; p++)
            assert_in_range(*p, 0x20, 0x7e);
        if (g >= AS_GLYPH_TREE_MID) {
            assert_int_equal(strlen(ascii), 3);
            assert_int_equal(as_utf8_width(unicode, strlen(unicode)), 3);
        }
    }
    assert_string_equal(as_term_style(&rich, (enum as_style)99), "");
    assert_string_equal(as_term_glyph(&rich, (enum as_glyph)99), "");
}

static void a_bar_is_as_long_as_its_share(void **state)
{
    const struct as_term ascii = {.width = 80}, unicode = {.unicode = true, .width = 80};
    struct as_out out = unit_out();

    (void)state;
    assert_int_equal(as_term_bar(&unicode, &out, 0.5, 10), 5);
    unit_expect(&out, "█████");
    assert_int_equal(as_term_bar(&unicode, &out, 0.55, 10), 6);
    unit_expect(&out, "█████▌");
    assert_int_equal(as_term_bar(&unicode, &out, 1e-9, 10), 1);
    unit_expect(&out, "▏");
    assert_int_equal(as_term_bar(&unicode, &out, 7, 3), 3);
    unit_expect(&out, "███");
    assert_int_equal(as_term_bar(&ascii, &out, 0.5, 10), 5);
    unit_expect(&out, "#####");
    assert_int_equal(as_term_bar(&ascii, &out, 1e-9, 10), 1);
    unit_expect(&out, "#");
    assert_int_equal(as_term_bar(&ascii, &out, 0, 10), 0);
    assert_int_equal(as_term_bar(&ascii, &out, -1, 10), 0);
    assert_int_equal(as_term_bar(&ascii, &out, UNIT_NAN, 10), 0);
    assert_int_equal(as_term_bar(&ascii, &out, UNIT_INFINITY, 10), 0);
    assert_int_equal(as_term_bar(&ascii, &out, 1, 0), 0);
    unit_expect(&out, "");
    as_out_drop(&out);
}

static void a_spark_line_shows_the_shape(void **state)
{
    const struct as_term ascii = {.width = 80}, unicode = {.unicode = true, .width = 80};
    const double rise[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const double gap[] = {1, UNIT_NAN, 3}, flat[] = {5, 5, 5}, extreme[] = {-DBL_MAX, DBL_MAX};
    const double halves[] = {0, 0, 10, 10, UNIT_NAN, UNIT_NAN, 4, 6};
    struct as_out out = unit_out();

    (void)state;
    as_term_spark(&unicode, &out, rise, 8, 20);
    unit_expect(&out, "▁▂▃▄▅▆▇█");
    as_term_spark(&ascii, &out, rise, 8, 20);
    unit_expect(&out, ".:-=+*#@");
    as_term_spark(&unicode, &out, gap, 3, 20);
    unit_expect(&out, "▁ █");
    as_term_spark(&unicode, &out, flat, 3, 20);
    unit_expect(&out, "▅▅▅");
    as_term_spark(&unicode, &out, extreme, 2, 20);
    unit_expect(&out, "▁█");
    as_term_spark(&unicode, &out, halves, 8, 4);
    unit_expect(&out, "▁█ ▅");
    as_term_spark(&unicode, &out, rise, 0, 4);
    as_term_spark(&unicode, &out, rise, 8, 0);
    unit_expect(&out, "");
    as_out_drop(&out);
}

static void styled_text_is_escaped(void **state)
{
    const struct as_term rich = {.color = true, .unicode = true, .width = 80};
    struct as_out out = unit_out();

    (void)state;
    as_term_put(&rich, &out, AS_STYLE_BAD, "a\x1b[2Jb");
    unit_expect(&out, "\x1b[31ma\\x1b[2Jb\x1b[0m");
    as_term_put(&rich, &out, AS_STYLE_NONE, "plain");
    unit_expect(&out, "plain");
    as_out_drop(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(color_follows_the_order_of_its_rules),
        cmocka_unit_test(width_follows_the_order_of_its_rules),
        cmocka_unit_test(glyphs_follow_the_option_then_the_locale),
        cmocka_unit_test(every_style_and_glyph_is_there),
        cmocka_unit_test(a_bar_is_as_long_as_its_share),
        cmocka_unit_test(a_spark_line_shows_the_shape),
        cmocka_unit_test(styled_text_is_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
