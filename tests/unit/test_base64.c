/* tests/unit/test_base64.c - bytes as base64 and back; one text for the same bytes. */
#include "unit.h"

#include "base/base64.h"

static void the_vectors_of_the_standard(void **state)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    struct as_out out = unit_out();

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(pairs); i++) {
        char back[8] = "";
        size_t bytes = 99;

        as_base64_put(&out, pairs[i][0], strlen(pairs[i][0]));
        assert_int_equal(out.used, as_base64_size(strlen(pairs[i][0])));
        unit_expect(&out, pairs[i][1]);
        assert_true(as_base64_bytes(pairs[i][1], strlen(pairs[i][1]), &bytes));
        assert_int_equal(bytes, strlen(pairs[i][0]));
        assert_true(as_base64_read(pairs[i][1], strlen(pairs[i][1]), back));
        assert_memory_equal(back, pairs[i][0], bytes);
    }
    as_out_drop(&out);
}

static void every_byte_comes_back(void **state)
{
    uint8_t bytes[2000], back[2000];
    struct as_out out = unit_out();

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 131 + i / 7);
    for (size_t n = 0; n <= sizeof bytes; n += n < 20 ? 1 : 97) {
        size_t size, found;
        const char *text;

        out.used = 0;
        as_base64_put(&out, bytes, n);
        text = as_out_get(&out, &size);
        assert_true(as_base64_bytes(text, size, &found) && found == n);
        assert_true(as_base64_read(text, size, back));
        assert_memory_equal(back, bytes, n);
    }
    as_out_drop(&out);
}

static void anything_else_is_refused(void **state)
{
    static const char *const wrong[] = {"Z",    "Zg",    "Zg=",      "Zh==",  "Zm9=", "Z===",
                                        "====", "Zm9v=", "Zg==Zg==", "Zm 9v", "Zm9-", "Zm\n="};
    char out[16];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(wrong); i++)
        assert_false(as_base64_read(wrong[i], strlen(wrong[i]), out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_the_standard),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
