/* tests/unit/test_text.c - numbers to text and back, and forms for people. */
#include "unit.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/text.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void u64_agrees_with_printf_at_every_length(void **state)
{
    char ours[AS_TEXT_INT], theirs[32];
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (unsigned shift = 0; shift < 64; shift++) {
        for (int i = 0; i < 200; i++) {
            uint64_t v = next_random(&seed) >> shift;

            snprintf(theirs, sizeof theirs, "%" PRIu64, v);
            assert_int_equal(as_text_u64(ours, v), strlen(theirs));
            assert_string_equal(ours, theirs);
        }
    }
    for (uint64_t power = 1;; power *= 10) {
        for (uint64_t v = power - 1; v <= power + 1; v++) {
            snprintf(theirs, sizeof theirs, "%" PRIu64, v);
            assert_int_equal(as_text_u64(ours, v), strlen(theirs));
            assert_string_equal(ours, theirs);
        }
        if (power == 10000000000000000000u)
            break;
    }
    assert_int_equal(as_text_u64(ours, UINT64_MAX), 20);
    assert_string_equal(ours, "18446744073709551615");
}

static void i64_writes_both_ends(void **state)
{
    char out[AS_TEXT_INT];

    (void)state;
    assert_int_equal(as_text_i64(out, INT64_MIN), 20);
    assert_string_equal(out, "-9223372036854775808");
    as_text_i64(out, INT64_MAX);
    assert_string_equal(out, "9223372036854775807");
    as_text_i64(out, -1);
    assert_string_equal(out, "-1");
    as_text_i64(out, 0);
    assert_string_equal(out, "0");
}

static void decimal_puts_the_point_exactly(void **state)
{
    char out[AS_TEXT_FLOAT];

    (void)state;
    as_text_decimal(out, 1234567, 3);
    assert_string_equal(out, "1234.567");
    as_text_decimal(out, 5, 3);
    assert_string_equal(out, "0.005");
    as_text_decimal(out, 42, 0);
    assert_string_equal(out, "42");
    as_text_decimal(out, UINT64_MAX, 18);
    assert_string_equal(out, "18.446744073709551615");
    as_text_decimal(out, UINT64_MAX, 99);
    assert_string_equal(out, "18.446744073709551615");
}

/* As documented: the first of 15, 16 or 17 digits that reads back. */
static void expect_as_printf(double value)
{
    char ours[AS_TEXT_FLOAT], theirs[64];
    size_t n = as_text_f64(ours, value);

    if (fabs(value) < 1e15 && value == floor(value))
        snprintf(theirs, sizeof theirs, "%.0f", value);
    else
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(theirs, sizeof theirs, "%.*g", digits, value);
            if (strtod(theirs, NULL) == value)
                break;
        }
    assert_string_equal(ours, theirs);
    assert_int_equal(n, strlen(ours));
}

static void f64_agrees_with_printf_and_reading_back(void **state)
{
    uint64_t seed = 0x9e3779b97f4a7c15u;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = next_random(&seed), digits = next_random(&seed) >> (bits % 60 + 4);
        double any, near, power = pow(10, (double)(bits % 20));

        /* Any mantissa, from 2^-20 to 2^60. */
        any = ldexp((double)(bits >> 11 | 1ull << 52), (int)(bits % 81) - 72);
        expect_as_printf(any);
        expect_as_printf(-any);
        near = (double)digits / power; /* few decimals, and the numbers beside them */
        expect_as_printf(near);
        expect_as_printf(nextafter(near, 0));
        expect_as_printf(nextafter(near, 1e300));
    }
    for (int e = -60; e < 60; e++) { /* where numbers lie denser below than above */
        expect_as_printf(ldexp(1, e));
        expect_as_printf(nextafter(ldexp(1, e), 0));
        expect_as_printf(nextafter(ldexp(1, e), 1e300));
    }
    for (int e = -8; e < 20; e++) {
        expect_as_printf(pow(10, e));
        expect_as_printf(nextafter(pow(10, e), 0));
        expect_as_printf(nextafter(pow(10, e), 1e300));
    }
}

static void f64_has_the_shortest_of_three_forms(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-17, "-17"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.5, "1.5"},
        {-2.125, "-2.125"},
        {0.001, "0.001"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {123456.789, "123456.789"},
        {999999999999999.0, "999999999999999"},
        {1e15, "1e+15"},
        {1e21, "1e+21"},
        {1.0 / 3, "0.3333333333333333"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {9007199254740993.0, "9007199254740992"},
        {UNIT_NAN, ""},
        {UNIT_INFINITY, ""},
        {-UNIT_INFINITY, ""},
    };
    char out[AS_TEXT_FLOAT];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_int_equal(as_text_f64(out, cases[i].value), strlen(cases[i].text));
        assert_string_equal(out, cases[i].text);
    }
}

static void f64_reads_back_as_the_same_number(void **state)
{
    uint64_t seed = 1;
    char out[AS_TEXT_FLOAT];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = next_random(&seed);
        double value, back;
        size_t n;

        memcpy(&value, &bits, sizeof value);
        if (i % 2)
            value = (double)(int64_t)(bits >> 20) / (i % 3 ? 1000 : 1 << 20);
        n = as_text_f64(out, value);
        if (!isfinite(value)) {
            assert_int_equal(n, 0);
            continue;
        }
        assert_true(n > 0 && n < AS_TEXT_FLOAT);
        assert_true(as_parse_f64(out, n, &back));
        assert_memory_equal(&back, &value, sizeof value);
    }
}

static void thousandths_are_what_printf_would_write(void **state)
{
    uint64_t seed = 7;
    char ours[AS_TEXT_FLOAT], theirs[64];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double value = (double)(next_random(&seed) >> (18 + i % 40)) / 1000;

        if (value < 1e-3 || value >= 1e11)
            continue;
        snprintf(theirs, sizeof theirs, "%.15g", value);
        as_text_f64(ours, value);
        assert_string_equal(ours, theirs);
    }
}

static void fixed_keeps_its_decimals(void **state)
{
    char out[AS_TEXT_FLOAT];

    (void)state;
    as_text_fixed(out, 3.14159, 2);
    assert_string_equal(out, "3.14");
    as_text_fixed(out, 2, 3);
    assert_string_equal(out, "2.000");
    as_text_fixed(out, -0.001, 2);
    assert_string_equal(out, "0.00");
    as_text_fixed(out, -1.5, 0);
    assert_string_equal(out, "-2");
    as_text_fixed(out, 1e300, 2);
    assert_string_equal(out, "1e+300");
    as_text_fixed(out, 123456789012345.0, 9);
    assert_string_equal(out, "123456789012345.000000000");
    as_text_fixed(out, 1.0, 40);
    assert_string_equal(out, "1.000000000");
    assert_int_equal(as_text_fixed(out, UNIT_NAN, 2), 0);
}

static void parsing_takes_the_whole_text_or_nothing(void **state)
{
    static const char *const bad_u64[] = {"",
                                          "-1",
                                          "+1",
                                          " 1",
                                          "1 ",
                                          "0x10",
                                          "1.",
                                          "1e3",
                                          "a",
                                          "18446744073709551616",
                                          "99999999999999999999999"};
    static const char *const bad_i64[] = {"-", "--1", "9223372036854775808", "-9223372036854775809",
                                          "+5"};
    static const char *const bad_f64[] = {"",      ".",  "-",  "e5",  "1e",    "1e+", "inf", "nan",
                                          "0x1p3", " 1", "1 ", "1,5", "1e999", "+1",  "1..2"};
    uint64_t u = 77;
    int64_t i = 77;
    double f = 77;

    (void)state;
    for (size_t k = 0; k < UNIT_COUNT(bad_u64); k++)
        assert_false(as_parse_u64(bad_u64[k], strlen(bad_u64[k]), &u));
    for (size_t k = 0; k < UNIT_COUNT(bad_i64); k++)
        assert_false(as_parse_i64(bad_i64[k], strlen(bad_i64[k]), &i));
    for (size_t k = 0; k < UNIT_COUNT(bad_f64); k++)
        assert_false(as_parse_f64(bad_f64[k], strlen(bad_f64[k]), &f));
    assert_true(u == 77 && i == 77 && f == 77);

    assert_true(as_parse_u64("18446744073709551615", 20, &u) && u == UINT64_MAX);
    assert_true(as_parse_u64("007", 3, &u) && u == 7);
    assert_true(as_parse_i64("-9223372036854775808", 20, &i) && i == INT64_MIN);
    assert_true(as_parse_i64("-0", 2, &i) && i == 0);
    assert_true(as_parse_f64("-1.5e-3", 7, &f) && f == -1.5e-3);
    assert_true(as_parse_f64(".5", 2, &f) && f == 0.5);
    assert_true(as_parse_f64("5.", 2, &f) && f == 5);
    assert_true(as_parse_f64("1e-999", 6, &f) && f == 0);
    assert_true(as_parse_f64("12345", 2, &f) && f == 12);
    assert_false(as_parse_f64("1\0", 2, &f));
}

static void too_long_a_float_is_refused(void **state)
{
    char text[200];
    double f;

    (void)state;
    memset(text, '1', sizeof text);
    assert_false(as_parse_f64(text, sizeof text, &f));
    assert_true(as_parse_f64(text, 127, &f));
}

static void times_have_four_digits_in_the_unit_that_fits(void **state)
{
    static const struct {
        double ns;
        enum as_time_unit unit;
        const char *text;
    } cases[] = {
        {0, AS_TIME_AUTO, "0 ns"},
        {1, AS_TIME_AUTO, "1 ns"},
        {999, AS_TIME_AUTO, "999 ns"},
        {3.25, AS_TIME_AUTO, "3.250 ns"},
        {0.035, AS_TIME_AUTO, "0.0350 ns"},
        {1000, AS_TIME_AUTO, "1.000 us"},
        {16421234, AS_TIME_AUTO, "16.42 ms"},
        {999949, AS_TIME_AUTO, "999.9 us"},
        {999960, AS_TIME_AUTO, "1.000 ms"},
        {999.97, AS_TIME_AUTO, "1.000 us"},
        {9999600, AS_TIME_AUTO, "10.00 ms"},
        {125e9, AS_TIME_AUTO, "125.0 s"},
        {86400e9, AS_TIME_AUTO, "86400 s"},
        {-16421234, AS_TIME_AUTO, "-16.42 ms"},
        {16421234, AS_TIME_MS, "16.421 ms"},
        {16421234, AS_TIME_NS, "16421234 ns"},
        {120, AS_TIME_MS, "0.000120 ms"},
        {0, AS_TIME_MS, "0.000 ms"},
        {1500, AS_TIME_S, "0.00000150 s"},
        {UNIT_NAN, AS_TIME_AUTO, "-"},
        {UNIT_INFINITY, AS_TIME_MS, "-"},
    };
    char out[AS_TEXT_HUMAN];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        size_t n = as_text_ns(out, cases[i].ns, cases[i].unit);

        assert_string_equal(out, cases[i].text);
        assert_int_equal(n, strlen(out));
    }
    assert_int_equal(as_time_unit_for(16421234), AS_TIME_MS);
    assert_int_equal(as_time_unit_for(UNIT_NAN), AS_TIME_NS);
    assert_string_equal(as_time_unit_name(AS_TIME_US), "us");
    assert_string_equal(as_time_unit_name((enum as_time_unit)99), "");
}

static void bytes_counts_and_shares_read_well(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {1572864, "1.50 MiB"},
        {1048575, "1.00 MiB"},
        {12.5, "12.5 B"},
        {1e30, "867361737988 EiB"},
        {-2048, "-2.00 KiB"},
        {UNIT_NAN, "-"},
        {10485760, "10.0 MiB"},
        {104857600, "100 MiB"},
        {1072693248, "1023 MiB"},
    };
    char out[AS_TEXT_HUMAN];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
        as_text_bytes(out, sizes[i].bytes);
        assert_string_equal(out, sizes[i].text);
    }
    as_text_count(out, 1234567);
    assert_string_equal(out, "1,234,567");
    as_text_count(out, 999);
    assert_string_equal(out, "999");
    as_text_count(out, 1000);
    assert_string_equal(out, "1,000");
    as_text_count(out, UINT64_MAX);
    assert_string_equal(out, "18,446,744,073,709,551,615");
    as_text_si(out, 25557032, NULL);
    assert_string_equal(out, "25.6 M");
    as_text_si(out, 4.09e9, "FLOP/s");
    assert_string_equal(out, "4.09 GFLOP/s");
    as_text_si(out, 999.9, "B");
    assert_string_equal(out, "1.00 kB");
    as_text_si(out, 0.5, "FLOP/byte");
    assert_string_equal(out, "0.50 FLOP/byte");
    as_text_si(out, 12, NULL);
    assert_string_equal(out, "12");
    as_text_si(out, 1.25e-9, "J");
    assert_string_equal(out, "1.25e-09 J");
    as_text_si(out, 1e3, "a unit of more than sixteen bytes");
    assert_string_equal(out, "1.00 ka unit of more t");
    as_text_si(out, UNIT_NAN, NULL);
    assert_string_equal(out, "-");
    as_text_percent(out, 0.1234);
    assert_string_equal(out, "12.3 %");
    as_text_percent(out, UNIT_NAN);
    assert_string_equal(out, "-");
}

static void nearest_finds_what_was_meant(void **state)
{
    static const char *const commands[] = {"inspect", "profile", "sweep",  "compare", "bench",
                                           "machine", "cluster", "report", "diff",    "runs"};
    char longest[100];

    (void)state;
#define NEAREST(word) as_text_nearest(word, commands, UNIT_COUNT(commands))
    assert_string_equal(NEAREST("profiel"), "profile");
    assert_string_equal(NEAREST("prof"), "profile");
    assert_string_equal(NEAREST("dif"), "diff");
    assert_string_equal(NEAREST("idff"), "diff");
    assert_string_equal(NEAREST("BENCH"), "bench");
    assert_string_equal(NEAREST("repotr"), "report");
    assert_string_equal(NEAREST("runs"), "runs");
    assert_null(NEAREST("xyzzy"));
    assert_null(NEAREST(""));
    assert_null(NEAREST("zz"));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(NEAREST(longest));
    assert_null(as_text_nearest("a", NULL, 0));
#undef NEAREST
}

/* Where a locale with a decimal comma is installed; elsewhere nothing can go wrong. */
static void a_decimal_comma_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "ps_AF.UTF-8"};
    char out[AS_TEXT_FLOAT];
    double value = 0;
    bool found = false;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names) && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    as_text_f64(out, 1.0 / 3);
    assert_string_equal(out, "0.3333333333333333");
    as_text_fixed(out, 2.5, 2);
    assert_string_equal(out, "2.50");
    assert_true(as_parse_f64("2.5", 3, &value) && value == 2.5);
    assert_false(as_parse_f64("2,5", 3, &value));
    setlocale(LC_ALL, "C");
    if (!found)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(u64_agrees_with_printf_at_every_length),
        cmocka_unit_test(i64_writes_both_ends),
        cmocka_unit_test(decimal_puts_the_point_exactly),
        cmocka_unit_test(f64_has_the_shortest_of_three_forms),
        cmocka_unit_test(f64_agrees_with_printf_and_reading_back),
        cmocka_unit_test(f64_reads_back_as_the_same_number),
        cmocka_unit_test(thousandths_are_what_printf_would_write),
        cmocka_unit_test(fixed_keeps_its_decimals),
        cmocka_unit_test(parsing_takes_the_whole_text_or_nothing),
        cmocka_unit_test(too_long_a_float_is_refused),
        cmocka_unit_test(times_have_four_digits_in_the_unit_that_fits),
        cmocka_unit_test(bytes_counts_and_shares_read_well),
        cmocka_unit_test(nearest_finds_what_was_meant),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
