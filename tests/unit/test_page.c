/* tests/unit/test_page.c - lines, headings and tables for a terminal and for Markdown. */
#include "unit.h"

#include "base/alloc.h"
#include "report/page/page.h"

static const struct as_term plain = {.width = 20}, unicode = {.width = 20, .unicode = true},
                            color = {.width = 20, .color = true};

static void a_long_sentence_is_wrapped_between_words(void **state)
{
    struct as_out out = unit_out();
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &plain, false);
    as_page_line(&page, AS_STYLE_NONE, "one two three four five six");
    unit_expect(&out, "one two three four\nfive six\n");
    as_page_line(&page, AS_STYLE_NONE, "a-word-that-is-longer-than-the-line and more");
    unit_expect(&out, "a-word-that-is-longer-than-the-line\nand more\n");
    page.wide = true;
    as_page_line(&page, AS_STYLE_NONE, "one two three four five six");
    unit_expect(&out, "one two three four five six\n");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void a_line_too_long_loses_its_middle(void **state)
{
    struct as_out out = unit_out();
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &plain, false);
    as_page_cut_line(&page, AS_STYLE_NONE, "abcdefghijklmnopqrstuvwxyz");
    assert_int_equal(strlen(as_out_get(&out, NULL)), 21);
    assert_non_null(strstr(as_out_get(&out, NULL), "..."));
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void text_from_outside_is_harmless(void **state)
{
    struct as_out out = unit_out();
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &color, false);
    as_page_line(&page, AS_STYLE_BAD, "%s", "\x1b[2Jx\n");
    unit_expect(&out, "\x1b[31m\\x1b[2Jx\\n\x1b[0m\n");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_page_open(&page, &out, &plain, true);
    as_page_title(&page, "<b> *x* [y](z) \x1b");
    unit_expect(&out, "# \\<b\\> \\*x\\* \\[y\\](z) \\\\x1b\n\n");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void ascii_pages_hold_ascii_names(void **state)
{
    struct as_out out = unit_out();
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &plain, false);
    assert_string_equal(as_page_name(&page, "caf\xc3\xa9"), "caf\\u00e9");
    assert_string_equal(as_page_name(&page, "\xf0\x9f\x98\x80!"), "\\U1f600!");
    assert_string_equal(as_page_name(&page, "bad\xff"), "bad?");
    assert_string_equal(as_page_name(&page, "plain"), "plain");
    assert_string_equal(as_page_name(&page, NULL), "-");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_page_open(&page, &out, &unicode, false);
    assert_string_equal(as_page_name(&page, "caf\xc3\xa9"), "caf\xc3\xa9");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void a_heading_leaves_a_gap_above_unless_it_is_first(void **state)
{
    struct as_out out = unit_out();
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &plain, false);
    as_page_heading(&page, "One", NULL);
    as_page_heading(&page, "Two", "by size");
    unit_expect(&out, "One\n\nTwo  by size\n");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

static void a_table_is_printed_in_the_form_of_the_page(void **state)
{
    static const struct as_table_column columns[] = {{.title = "a"}};
    struct as_out out = unit_out();
    struct as_page page;
    struct as_table t;

    (void)state;
    as_page_open(&page, &out, &plain, true);
    as_table_init(&t, columns, 1);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, "x|y");
    as_page_table(&page, &t);
    unit_expect(&out, "| a    |\n| :--- |\n| x\\|y |\n\n");
    assert_int_equal(as_page_close(&page, NULL), ASSAY_OK);
    as_out_drop(&out);
}

#ifdef ASSAY_FAULTS
static void running_out_of_memory_is_told_at_the_end(void **state)
{
    struct as_out out = unit_out();
    struct assay_error err;
    struct as_page page;

    (void)state;
    as_page_open(&page, &out, &plain, false);
    as_alloc_fail_at(1, 1);
    as_page_line(&page, AS_STYLE_NONE, "lost");
    as_alloc_fail_at(0, 0);
    assert_int_equal(as_page_close(&page, &err), ASSAY_ERR_NOMEM);
    unit_expect(&out, "");
    as_out_drop(&out);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_sentence_is_wrapped_between_words),
        cmocka_unit_test(a_line_too_long_loses_its_middle),
        cmocka_unit_test(text_from_outside_is_harmless),
        cmocka_unit_test(ascii_pages_hold_ascii_names),
        cmocka_unit_test(a_heading_leaves_a_gap_above_unless_it_is_first),
        cmocka_unit_test(a_table_is_printed_in_the_form_of_the_page),
#ifdef ASSAY_FAULTS
        cmocka_unit_test(running_out_of_memory_is_told_at_the_end),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
