/* tests/unit/test_hash.c - SHA-256 and SHAKE-256 against the vectors of FIPS 180-4 and 202. */
#include "unit.h"

#include "base/hash.h"

static void check(const void *data, size_t size, const char *hex)
{
    unsigned char digest[AS_SHA256_BYTES];
    char text[AS_SHA256_HEX];

    assert_int_equal(as_sha256(data, size, digest, NULL), ASSAY_OK);
    as_sha256_hex(digest, text);
    assert_string_equal(text, hex);
}

static void standard_vectors_come_out(void **state)
{
    static char million[1000000];

    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(million, 'a', sizeof million);
    check(million, sizeof million,
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_make_the_same_digest(void **state)
{
    struct as_sha256_stream stream;
    unsigned char digest[AS_SHA256_BYTES];
    char text[AS_SHA256_HEX];

    (void)state;
    as_sha256_begin(&stream);
    as_sha256_add(&stream, "a", 1);
    as_sha256_add(&stream, "", 0);
    as_sha256_add(&stream, "bc", 2);
    assert_int_equal(as_sha256_end(&stream, digest, NULL), ASSAY_OK);
    as_sha256_hex(digest, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(as_sha256_end(&stream, digest, NULL) < 0); /* nothing was begun */
}

/* FIPS 202: SHAKE256 of nothing. */
static void shake_gives_as_many_bytes_as_asked(void **state)
{
    unsigned char out[32];
    char text[65];

    (void)state;
    assert_int_equal(as_shake256("", 0, out, 32, NULL), ASSAY_OK);
    as_hex(out, 32, text);
    assert_string_equal(text, "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f");
    assert_int_equal(as_shake256("", 0, out, 16, NULL), ASSAY_OK);
    as_hex(out, 16, text);
    assert_string_equal(text, "46b9dd2b0ba88d13233b3feb743eeb24");
}

static void hex_goes_there_and_back(void **state)
{
    unsigned char out[3];

    (void)state;
    assert_true(as_unhex("00fFa9", 6, out, 3));
    assert_memory_equal(out, "\x00\xff\xa9", 3);
    assert_false(as_unhex("00ffa", 5, out, 3));
    assert_false(as_unhex("00ffag", 6, out, 3));
    assert_false(as_unhex("00ff", 4, out, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_vectors_come_out),
        cmocka_unit_test(pieces_make_the_same_digest),
        cmocka_unit_test(shake_gives_as_many_bytes_as_asked),
        cmocka_unit_test(hex_goes_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
