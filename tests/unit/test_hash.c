/* tests/unit/test_hash.c - SHA-256 against the vectors of FIPS 180-4. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_vectors_come_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
