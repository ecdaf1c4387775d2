/* tests/unit/test_table.c - one table for the terminal and for Markdown. */
#include "unit.h"

#include "base/alloc.h"
#include "base/text/table.h"
#include "base/text/utf8.h"

static const struct as_table_column layer_columns[] = {
    {.title = "layer", .may_shrink = true, .min_width = 6},
    {.title = "op", .drop = 1},
    {.title = "ms", .align = AS_ALIGN_RIGHT},
    {.title = "share", .min_width = 8, .drop = 2, .style = AS_STYLE_BAR},
};

static void fill_layers(struct as_table *t)
{
    as_table_init(t, layer_columns, UNIT_COUNT(layer_columns));
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, "backbone/layer1/conv1");
    as_table_text(t, AS_STYLE_NONE, "Conv");
    as_table_printf(t, AS_STYLE_NONE, "%.2f", 16.42);
    as_table_bar(t, AS_STYLE_NONE, 0.75);
    as_table_row(t);
    as_table_text(t, AS_STYLE_NONE, "fc");
    as_table_text(t, AS_STYLE_NONE, "Gemm");
    as_table_printf(t, AS_STYLE_NONE, "%.2f", 1.5);
    as_table_bar(t, AS_STYLE_NONE, 0.25);
    as_table_rule(t);
    as_table_row(t);
    as_table_text(t, AS_STYLE_GOOD, "total");
    as_table_empty(t);
    as_table_text(t, AS_STYLE_NONE, "17.92");
}

static void check_print(unsigned width, int n_dropped, const char *expected)
{
    const struct as_term term = {.unicode = true, .width = width};
    struct as_out out = unit_out();
    struct as_table t;

    fill_layers(&t);
    assert_int_equal(t.n_rows, 3);
    assert_int_equal(as_table_print(&t, &out, &term, NULL), n_dropped);
    unit_expect(&out, expected);
    as_table_fini(&t);
    as_table_fini(&t);
    as_out_drop(&out);
}

static void with_room_everything_is_shown(void **state)
{
    (void)state;
    check_print(80, 0,
                "layer                  op       ms  share\n"
                "─────────────────────  ────  ─────  ────────\n"
                "backbone/layer1/conv1  Conv  16.42  ██████\n"
                "fc                     Gemm   1.50  ██\n"
                "─────────────────────  ────  ─────  ────────\n"
                "total                        17.92\n");
}

static void names_lose_their_middle_first(void **state)
{
    (void)state;
    check_print(35, 0,
                "layer         op       ms  share\n"
                "────────────  ────  ─────  ────────\n"
                "backbo…conv1  Conv  16.42  ██████\n"
                "fc            Gemm   1.50  ██\n"
                "────────────  ────  ─────  ────────\n"
                "total               17.92\n");
}

static void then_columns_are_dropped(void **state)
{
    (void)state;
    check_print(28, 1,
                "layer            op       ms\n"
                "───────────────  ────  ─────\n"
                "backbon…1/conv1  Conv  16.42\n"
                "fc               Gemm   1.50\n"
                "───────────────  ────  ─────\n"
                "total                  17.92\n");
}

static void numbers_are_never_cut(void **state)
{
    (void)state;
    check_print(5, 2,
                "layer      ms\n"
                "──────  ─────\n"
                "bac…v1  16.42\n"
                "fc       1.50\n"
                "──────  ─────\n"
                "total   17.92\n");
}

static void markdown_has_the_same_cells(void **state)
{
    struct as_out out = unit_out();
    struct as_table t;

    (void)state;
    fill_layers(&t);
    assert_int_equal(as_table_markdown(&t, &out, NULL), ASSAY_OK);
    unit_expect(&out, "| layer                 | op   |    ms | share    |\n"
                      "| :-------------------- | :--- | ----: | :------- |\n"
                      "| backbone/layer1/conv1 | Conv | 16.42 | ██████   |\n"
                      "| fc                    | Gemm |  1.50 | ██       |\n"
                      "| total                 |      | 17.92 |          |\n");
    as_table_fini(&t);
    as_out_drop(&out);
}

static void check_cell(const char *text, const char *terminal, const char *markdown)
{
    static const struct as_table_column columns[] = {{.title = NULL}};
    const struct as_term term = {.unicode = true, .width = 80};
    struct as_out out = unit_out();
    struct as_table t;
    char *end;

    as_table_init(&t, columns, 1);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, text);
    assert_int_equal(as_table_print(&t, &out, &term, NULL), 0);
    as_out_get(&out, NULL);
    end = memchr(out.buf, '\n', out.used);
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(out.buf, terminal);
    out.used = 0;
    assert_int_equal(as_table_markdown(&t, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), markdown));
    as_table_fini(&t);
    as_out_drop(&out);
}

static void hostile_text_is_escaped_in_both(void **state)
{
    (void)state;
    check_cell("a\x1b[31mb", "a\\x1b[31mb", "| a\\\\x1b\\[31mb |");
    check_cell("two\nlines", "two\\nlines", "| two\\\\nlines |");
    check_cell("a|b", "a|b", "| a\\|b |");
    check_cell("c:\\dir", "c:\\dir", "| c:\\\\dir |");
    check_cell("<img src=x>", "<img src=x>", "| &lt;img src=x&gt; |");
    check_cell("a&lt;b", "a&lt;b", "| a&amp;lt;b |");
    check_cell("*bold* `code` [l](u) ~~s~~ $x$", "*bold* `code` [l](u) ~~s~~ $x$",
               "| \\*bold\\* \\`code\\` \\[l\\](u) \\~\\~s\\~\\~ \\$x\\$ |");
    check_cell("snake_case_name", "snake_case_name", "| snake_case_name |");
    check_cell("__init__", "__init__", "| \\_\\_init\\_\\_ |");
    check_cell("\xff", "\xef\xbf\xbd", "| \xef\xbf\xbd ");
    check_cell("畳み込み", "畳み込み", "| 畳み込み |");
}

static void titles_are_escaped_too(void **state)
{
    const struct as_table_column columns[] = {{.title = "run \x1b[31m|"}};
    const struct as_term term = {.width = 80};
    struct as_out out = unit_out();
    struct as_table t;

    (void)state;
    as_table_init(&t, columns, 1);
    assert_int_equal(as_table_print(&t, &out, &term, NULL), 0);
    unit_expect(&out, "run \\x1b[31m|\n-------------\n");
    assert_int_equal(as_table_markdown(&t, &out, NULL), ASSAY_OK);
    assert_non_null(strstr(as_out_get(&out, NULL), "| run \\\\x1b\\[31m\\| |"));
    as_table_fini(&t);
    as_out_drop(&out);
}

static void styles_surround_text_and_not_blanks(void **state)
{
    const struct as_table_column columns[] = {{.title = "n", .align = AS_ALIGN_RIGHT},
                                              {.title = "name", .style = AS_STYLE_DIM}};
    const struct as_term term = {.color = true, .unicode = true, .width = 80};
    struct as_out out = unit_out();
    struct as_table t;

    (void)state;
    as_table_init(&t, columns, 2);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_BAD, "12");
    as_table_text(&t, AS_STYLE_NONE, "x");
    assert_int_equal(as_table_print(&t, &out, &term, NULL), 0);
    unit_expect(&out, " \x1b[1mn\x1b[0m  \x1b[1mname\x1b[0m\n"
                      "\x1b[2m──\x1b[0m  \x1b[2m────\x1b[0m\n"
                      "\x1b[31m12\x1b[0m  \x1b[2mx\x1b[0m\n");
    as_table_fini(&t);
    as_out_drop(&out);
}

static void wide_characters_keep_columns_straight(void **state)
{
    const struct as_table_column columns[] = {{.title = "name"}, {.title = "v"}};
    const struct as_term term = {.unicode = true, .width = 80};
    struct as_out out = unit_out();
    struct as_table t;

    (void)state;
    as_table_init(&t, columns, 2);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, "畳み込み");
    as_table_text(&t, AS_STYLE_NONE, "1");
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, "e\xcc\x81");
    as_table_text(&t, AS_STYLE_NONE, "2");
    assert_int_equal(as_table_print(&t, &out, &term, NULL), 0);
    unit_expect(&out, "name      v\n"
                      "────────  ─\n"
                      "畳み込み  1\n"
                      "e\xcc\x81         2\n");
    as_table_fini(&t);
    as_out_drop(&out);
}

/* For each width, a table that can shrink and drop enough never has a longer line. */
static void lines_keep_within_every_width(void **state)
{
    const struct as_table_column columns[] = {
        {.title = "a name", .may_shrink = true, .min_width = 4},
        {.title = "another name", .may_shrink = true},
        {.title = "count", .align = AS_ALIGN_RIGHT, .max_width = 12},
        {.title = "bar", .min_width = 10, .drop = 1},
        {.title = "note", .may_shrink = true, .drop = 3},
    };
    struct as_out out = unit_out();

    (void)state;
    for (unsigned width = 28; width < 140; width++) {
        const struct as_term term = {.unicode = true, .width = width};
        struct as_table t;

        as_table_init(&t, columns, 5);
        for (int i = 0; i < 4; i++) {
            as_table_row(&t);
            as_table_text(&t, AS_STYLE_NONE, "a/long/name/with/畳み込み/in/it");
            as_table_text(&t, AS_STYLE_NONE, "short");
            as_table_text(&t, AS_STYLE_NONE, "a text that is not a number at all");
            as_table_bar(&t, AS_STYLE_NONE, i / 3.0);
            as_table_text(&t, AS_STYLE_NONE, "a remark that nobody will miss");
        }
        out.used = 0;
        assert_true(as_table_print(&t, &out, &term, NULL) >= 0);
        for (const char *line = as_out_get(&out, NULL); *line;) {
            size_t n = strcspn(line, "\n");

            assert_true(as_utf8_width(line, n) <= width);
            assert_true(n == 0 || line[n - 1] != ' ');
            line += n + 1;
        }
        as_table_fini(&t);
    }
    as_out_drop(&out);
}

static void print_fused(struct as_out *out, unsigned width, const char *const *names)
{
    static const struct as_table_column columns[] = {{.title = "layer", .identity = true},
                                                     {.title = "n", .align = AS_ALIGN_RIGHT}};
    const struct as_term term = {.width = width};
    struct as_table t;

    as_table_init(&t, columns, 2);
    for (size_t i = 0; names[i]; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, names[i]);
        as_table_text(&t, AS_STYLE_NONE, "1");
    }
    out->used = 0;
    assert_int_equal(as_table_print(&t, out, &term, NULL), 0);
    as_table_fini(&t);
}

/* Where the list of all names does not fit: a wide page has them whole. */
static void of_a_fused_layer_the_last_name_is_shown(void **state)
{
    static const char *const names[] = {"m/act/Relu;m/conv/BiasAdd;m/conv/Conv2D",
                                        "  m/act_1/Relu;m/conv_1/Conv2D", "m/pool/AvgPool", NULL};
    static const char *const alike[] = {"m/act/Relu;m/conv/Conv2D", "m/act_1/Relu;m/conv/Conv2D",
                                        NULL};
    struct as_out out = unit_out();

    (void)state;
    print_fused(&out, 30, names);
    unit_expect(&out, "layer              n\n"
                      "-----------------  -\n"
                      "m/conv/Conv2D      1\n"
                      "  m/conv_1/Conv2D  1\n"
                      "m/pool/AvgPool     1\n");
    print_fused(&out, 80, names);
    assert_non_null(strstr(as_out_get(&out, NULL), "m/act/Relu;m/conv/BiasAdd;m/conv/Conv2D  1"));
    print_fused(&out, 24, alike);
    assert_non_null(strstr(as_out_get(&out, NULL), "m/a/"));
    assert_non_null(strstr(as_out_get(&out, NULL), "m/a1/"));
    as_out_drop(&out);
}

static void a_monstrous_name_does_not_pad_every_row(void **state)
{
    static char name[200000];
    const struct as_table_column columns[] = {{.title = "name"}, {.title = "n"}};
    const struct as_term term = {.width = 80};
    struct as_out out = unit_out();
    struct as_table t;

    (void)state;
    memset(name, 'x', sizeof name - 1);
    as_table_init(&t, columns, 2);
    as_table_row(&t);
    as_table_text(&t, AS_STYLE_NONE, name);
    for (int i = 0; i < 100; i++) {
        as_table_row(&t);
        as_table_text(&t, AS_STYLE_NONE, "short");
        as_table_text(&t, AS_STYLE_NONE, "1");
    }
    assert_int_equal(as_table_print(&t, &out, &term, NULL), 0);
    assert_true(out.total_bytes < 200000);
    assert_int_equal(as_table_markdown(&t, &out, NULL), ASSAY_OK);
    assert_true(out.total_bytes < 500000);
    as_table_fini(&t);
    as_out_drop(&out);
}

static void running_out_of_memory_is_told_when_printed(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth < 3; nth++) {
        const struct as_term term = {.width = 80};
        struct as_out out = unit_out();
        struct assay_error err = {0};
        struct as_table t;

        as_alloc_fail_at(nth, 1);
        fill_layers(&t);
        as_alloc_fail_at(0, 0);
        if (t.nomem) {
            assert_int_equal(as_table_print(&t, &out, &term, &err), ASSAY_ERR_NOMEM);
            assert_int_equal(as_table_markdown(&t, &out, &err), ASSAY_ERR_NOMEM);
        }
        as_table_fini(&t);
        as_out_drop(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_everything_is_shown),
        cmocka_unit_test(names_lose_their_middle_first),
        cmocka_unit_test(then_columns_are_dropped),
        cmocka_unit_test(numbers_are_never_cut),
        cmocka_unit_test(markdown_has_the_same_cells),
        cmocka_unit_test(hostile_text_is_escaped_in_both),
        cmocka_unit_test(titles_are_escaped_too),
        cmocka_unit_test(styles_surround_text_and_not_blanks),
        cmocka_unit_test(wide_characters_keep_columns_straight),
        cmocka_unit_test(lines_keep_within_every_width),
        cmocka_unit_test(of_a_fused_layer_the_last_name_is_shown),
        cmocka_unit_test(a_monstrous_name_does_not_pad_every_row),
        cmocka_unit_test(running_out_of_memory_is_told_when_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
