/* tests/unit/test_csv.c - rows written, rows read back, and what is refused. */
#include "unit.h"

#include "base/alloc.h"
#include "base/text/csv.h"

static void check_field(const char *text, size_t size, const char *csv)
{
    struct as_out out = unit_out();
    struct as_csv_writer w = {.out = &out, .safe = true};

    as_csv_text_n(&w, text, size);
    unit_expect(&out, csv);
    as_out_drop(&out);
}

static void text_is_quoted_where_needed(void **state)
{
    (void)state;
    check_field("plain", 5, "plain");
    check_field("a b", 3, "a b");
    check_field("a,b", 3, "\"a,b\"");
    check_field("say \"hi\"", 8, "\"say \"\"hi\"\"\"");
    check_field("two\nlines", 9, "\"two\nlines\"");
    check_field("cr\rhere", 7, "cr\\rhere");
    check_field("\x1b]52;c;eA==\a", 12, "\\x1b]52;c;eA==\\x07");
    check_field("del\x7f", 4, "del\\x7f");
    check_field("\xc2\x9b"
                "31m",
                5, "\\x9b31m");
    check_field("\x9b\xff", 2, "\xef\xbf\xbd\xef\xbf\xbd");
    check_field("\xe2\x80\xae", 3, "\\u202e");
    check_field(" lead", 5, "\" lead\"");
    check_field("trail ", 6, "\"trail \"");
    check_field("größe", 7, "größe");
    check_field("\xef\xbb\xbfx", 4, "\\ufeffx");
    check_field("", 0, "");
}

static void formulas_are_made_harmless(void **state)
{
    (void)state;
    check_field("=1+1", 4, "'=1+1");
    check_field("+1", 2, "'+1");
    check_field("-1", 2, "'-1");
    check_field("@SUM(A1)", 8, "'@SUM(A1)");
    check_field("\tx", 2, "'\tx");
    check_field("\rx", 2, "\\rx");
    check_field("=a,\"b\"", 6, "\"'=a,\"\"b\"\"\"");
    check_field("'=1", 3, "''=1");
    check_field("'quoted'", 8, "'quoted'");
    check_field("a=1", 3, "a=1");
    check_field("\0", 1, "\\x00");
}

static void numbers_are_not_touched(void **state)
{
    struct as_out out = unit_out();
    struct as_csv_writer w = {.out = &out, .safe = true};

    (void)state;
    as_csv_text(&w, "conv1");
    as_csv_u64(&w, UINT64_MAX);
    as_csv_i64(&w, -5);
    as_csv_f64(&w, -1.5);
    as_csv_f64(&w, UNIT_NAN);
    as_csv_empty(&w);
    as_csv_text(&w, NULL);
    as_csv_row_end(&w);
    unit_expect(&out, "conv1,18446744073709551615,-5,-1.5,,,\n");
    as_csv_f64(&w, UNIT_INFINITY);
    as_csv_row_end(&w);
    as_csv_u64(&w, 0);
    as_csv_row_end(&w);
    unit_expect(&out, "\"\"\n0\n");
    as_out_drop(&out);
}

static void check_row(struct as_csv_reader *r, size_t n, const char *const *fields)
{
    assert_int_equal(as_csv_next(r, NULL), n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(r->fields[i].text, fields[i]);
        assert_int_equal(r->fields[i].size, strlen(fields[i]));
    }
}

static void rows_are_read_with_all_their_liberties(void **state)
{
    const char csv[] = "\xef\xbb\xbfname,ms\r\n\"a,b\",\"two\r\nlines\"\n\n\"say \"\"hi\"\"\",\n"
                       "\"\"\n,,\n last , field ";
    struct as_csv_reader r;

    (void)state;
    as_csv_reader_init(&r, csv, sizeof csv - 1);
    check_row(&r, 2, (const char *const[]){"name", "ms"});
    assert_int_equal(r.line, 1);
    check_row(&r, 2, (const char *const[]){"a,b", "two\r\nlines"});
    assert_int_equal(r.line, 2);
    check_row(&r, 2, (const char *const[]){"say \"hi\"", ""});
    assert_int_equal(r.line, 5);
    check_row(&r, 1, (const char *const[]){""});
    check_row(&r, 3, (const char *const[]){"", "", ""});
    check_row(&r, 2, (const char *const[]){" last ", " field "});
    assert_int_equal(as_csv_next(&r, NULL), 0);
    assert_int_equal(as_csv_next(&r, NULL), 0);
    as_csv_reader_fini(&r);
    as_csv_reader_fini(&r);
}

static void the_last_field_may_be_empty_without_a_newline(void **state)
{
    struct as_csv_reader r;

    (void)state;
    as_csv_reader_init(&r, "a,", 2);
    check_row(&r, 2, (const char *const[]){"a", ""});
    assert_int_equal(as_csv_next(&r, NULL), 0);
    as_csv_reader_fini(&r);
    as_csv_reader_init(&r, "", 0);
    assert_int_equal(as_csv_next(&r, NULL), 0);
    as_csv_reader_fini(&r);
}

static void what_is_wrong_is_told_with_line_and_byte(void **state)
{
    static const struct {
        const char *csv;
        uint64_t offset;
        const char *msg;
    } cases[] = {
        {"a\nb\"c\n", 3, "CSV line 2: a quote inside a field that is not quoted (byte 3)"},
        {"\"a\"b\n", 3, "CSV line 1: text after the closing quote (byte 3)"},
        {"x\n\"a\nb", 6, "CSV line 2: a quoted field without an end (byte 6)"},
        {"a\rb\n", 1, "CSV line 1: a carriage return without a newline (byte 1)"},
        {"\"a\"\rb\n", 3, "CSV line 1: a carriage return without a newline (byte 3)"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_csv_reader r;
        struct assay_error err = {0};

        as_csv_reader_init(&r, cases[i].csv, strlen(cases[i].csv));
        while (as_csv_next(&r, &err) > 0)
            continue;
        assert_int_equal(err.code, ASSAY_ERR_FORMAT);
        assert_int_equal(err.offset, cases[i].offset);
        assert_string_equal(err.msg, cases[i].msg);
        assert_int_equal(r.n_fields, 0);
        assert_int_equal(as_csv_next(&r, NULL), ASSAY_ERR_FORMAT);
        as_csv_reader_fini(&r);
    }
}

static void limits_hold(void **state)
{
    struct as_csv_reader r;
    struct assay_error err;

    (void)state;
    as_csv_reader_init(&r, "a,b,c\n", 6);
    r.max_fields = 2;
    assert_int_equal(as_csv_next(&r, &err), ASSAY_ERR_LIMIT);
    assert_string_equal(err.msg, "CSV line 1: a row has more fields than 2");
    assert_int_equal(err.offset, 4);
    as_csv_reader_fini(&r);

    as_csv_reader_init(&r, "abcd,\"ab\"\"cd\"\n", 14);
    r.max_field_bytes = 4;
    assert_int_equal(as_csv_next(&r, &err), ASSAY_ERR_LIMIT);
    as_csv_reader_fini(&r);
    as_csv_reader_init(&r, "abcd,\"a\"\"b\"\n", 12);
    r.max_field_bytes = 4;
    assert_int_equal(as_csv_next(&r, &err), 2);
    as_csv_reader_fini(&r);
}

static void the_guard_is_undone_exactly(void **state)
{
    static const char *const texts[] = {"=1", "'=1", "''=1", "'",  "''", "'a",  "-",
                                        "+x", "@",   "\tx",  "\t", "",   "a",   "\"",
                                        ",",  "'\n", " =1",  "= ", "\n", "\n\n"};
    struct as_out out = unit_out();
    struct as_csv_writer w = {.out = &out, .safe = true};
    struct as_csv_reader r;
    const char *csv;
    size_t size;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        as_csv_text(&w, texts[i]);
        as_csv_row_end(&w);
    }
    csv = as_out_get(&out, &size);
    as_csv_reader_init(&r, csv, size);
    r.undo_guard = true;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        check_row(&r, 1, &texts[i]);
    assert_int_equal(as_csv_next(&r, NULL), 0);
    as_csv_reader_fini(&r);

    as_csv_reader_init(&r, csv, size);
    check_row(&r, 1, (const char *const[]){"'=1"});
    as_csv_reader_fini(&r);
    as_out_drop(&out);
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth < 4; nth++) {
        struct as_csv_reader r;
        struct assay_error err = {0};

        as_alloc_fail_at(nth, 1);
        as_csv_reader_init(&r, "a,b\n", 4);
        if (as_csv_next(&r, &err) < 0)
            assert_int_equal(err.code, ASSAY_ERR_NOMEM);
        as_alloc_fail_at(0, 0);
        as_csv_reader_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_quoted_where_needed),
        cmocka_unit_test(formulas_are_made_harmless),
        cmocka_unit_test(numbers_are_not_touched),
        cmocka_unit_test(rows_are_read_with_all_their_liberties),
        cmocka_unit_test(the_last_field_may_be_empty_without_a_newline),
        cmocka_unit_test(what_is_wrong_is_told_with_line_and_byte),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(the_guard_is_undone_exactly),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
