/* tests/unit/test_float_text.c - the pinned text of floats: fixed cases, and that every float comes
 * back. */
#include "unit.h"

#include <stdlib.h>

#include "base/text/float_text.h"
#include "stats/describe/rng.h"

static void check64(double value, const char *text)
{
    char out[AS_FLOAT_TEXT];

    assert_int_equal(as_float_text64(out, value), strlen(text));
    assert_string_equal(out, text);
}

static void check32(float value, const char *text)
{
    char out[AS_FLOAT_TEXT];

    assert_int_equal(as_float_text32(out, value), strlen(text));
    assert_string_equal(out, text);
}

static void doubles_have_the_pinned_text(void **state)
{
    (void)state;
    check64(0, "0.0");
    check64(-0.0, "-0.0");
    check64(1, "1.0");
    check64(-12.25, "-12.25");
    check64(0.1, "0.1");
    check64(1.0 / 3, "0.3333333333333333");
    check64(100, "100.0");
    check64(1e15, "1000000000000000.0");
    check64(1e16, "1e16");
    check64(1.5e20, "1.5e20");
    check64(0.00001, "0.00001");
    check64(0.000001, "1e-6");
    check64(0.0000123, "0.0000123");
    check64(5e-324, "5e-324");
    check64(1.7976931348623157e308, "1.7976931348623157e308");
    check64(9007199254740993.0, "9007199254740992.0");
    check64(9.5367431640625e-7, "9.5367431640625e-7");
    check64(2.2250738585072014e-308, "2.2250738585072014e-308"); /* a power of two */
    check64(UNIT_NAN, "");
    check64(-UNIT_INFINITY, "");
}

static void floats_have_the_pinned_text(void **state)
{
    (void)state;
    check32(0.5F, "0.5");
    check32(0.01F, "0.01");
    check32(0.3F, "0.3");
    check32(1e-6F, "1e-6");
    check32(16777216.0F, "16777216.0");
    check32(1e13F, "1e13");
    check32(3.4028235e38F, "3.4028235e38");
    check32(1e-45F, "1e-45");
    check32(-0.7F, "-0.7");
}

static void every_number_comes_back(void **state)
{
    struct as_rng rng;

    (void)state;
    as_rng_seed(&rng, 42);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = as_rng_next(&rng);
        uint32_t half = (uint32_t)bits;
        char out[AS_FLOAT_TEXT];
        double wide;
        float narrow;

        memcpy(&wide, &bits, sizeof wide);
        memcpy(&narrow, &half, sizeof narrow);
        if (isfinite(wide)) {
            assert_true(as_float_text64(out, wide) > 0);
            assert_true(strtod(out, NULL) == wide);
        }
        if (isfinite(narrow)) {
            assert_true(as_float_text32(out, narrow) > 0);
            assert_true(strtof(out, NULL) == narrow);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_have_the_pinned_text),
        cmocka_unit_test(floats_have_the_pinned_text),
        cmocka_unit_test(every_number_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
