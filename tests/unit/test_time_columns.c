/* tests/unit/test_time_columns.c - times, shares and dates as a report shows them. */
#include "unit.h"

#include "report/page/page.h"

static void a_column_takes_the_unit_of_its_largest_time(void **state)
{
    static const struct {
        double largest_ns;
        enum as_time_unit wanted, unit;
        unsigned decimals;
    } cases[] = {
        {5, AS_TIME_AUTO, AS_TIME_NS, 1},        {500, AS_TIME_AUTO, AS_TIME_NS, 0},
        {20e3, AS_TIME_AUTO, AS_TIME_US, 3},     {500e3, AS_TIME_AUTO, AS_TIME_US, 2},
        {5e6, AS_TIME_AUTO, AS_TIME_US, 1},      {50e6, AS_TIME_AUTO, AS_TIME_MS, 3},
        {5e9, AS_TIME_AUTO, AS_TIME_MS, 1},      {50e9, AS_TIME_AUTO, AS_TIME_S, 3},
        {50e9, AS_TIME_US, AS_TIME_US, 1},       {1, AS_TIME_S, AS_TIME_S, 3},
        {UNIT_NAN, AS_TIME_AUTO, AS_TIME_NS, 1},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct as_time_scale s = as_time_scale_for(cases[i].largest_ns, cases[i].wanted);

        assert_int_equal(s.unit, cases[i].unit);
        assert_int_equal(s.decimals, cases[i].decimals);
    }
}

static void expect_scaled(double ns, struct as_time_scale scale, const char *expected)
{
    char text[AS_TEXT_HUMAN];

    assert_int_equal(as_text_scaled(text, ns, scale), strlen(expected));
    assert_string_equal(text, expected);
}

static void a_time_that_is_not_zero_never_reads_as_zero(void **state)
{
    (void)state;
    expect_scaled(1234567, (struct as_time_scale){AS_TIME_MS, 3}, "1.235");
    expect_scaled(17, (struct as_time_scale){AS_TIME_MS, 3}, "0.00002");
    expect_scaled(0, (struct as_time_scale){AS_TIME_MS, 3}, "0.000");
    expect_scaled(499, (struct as_time_scale){AS_TIME_US, 1}, "0.5");
    expect_scaled(49, (struct as_time_scale){AS_TIME_US, 1}, "0.05");
}

static void a_time_that_cannot_be_had_is_a_dash(void **state)
{
    (void)state;
    expect_scaled(UNIT_NAN, (struct as_time_scale){AS_TIME_MS, 3}, "-");
    expect_scaled(UNIT_INFINITY, (struct as_time_scale){AS_TIME_NS, 0}, "-");
}

static void a_small_share_keeps_its_digits(void **state)
{
    static const struct {
        double share;
        const char *text;
    } cases[] = {
        {0.5, "50.0 %"},      {0.0002, "0.02 %"}, {0, "0.00 %"},
        {0.00001, "0.001 %"}, {1, "100.0 %"},     {UNIT_NAN, "-"},
    };
    char text[AS_TEXT_HUMAN];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        as_text_share(text, cases[i].share);
        assert_string_equal(text, cases[i].text);
    }
}

static void a_date_is_in_utc(void **state)
{
    char text[AS_TEXT_HUMAN];

    (void)state;
    as_text_date(text, 951782400000000000u);
    assert_string_equal(text, "2000-02-29 00:00:00 UTC");
    as_text_date(text, 0);
    assert_string_equal(text, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_takes_the_unit_of_its_largest_time),
        cmocka_unit_test(a_time_that_is_not_zero_never_reads_as_zero),
        cmocka_unit_test(a_time_that_cannot_be_had_is_a_dash),
        cmocka_unit_test(a_small_share_keeps_its_digits),
        cmocka_unit_test(a_date_is_in_utc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
