/* tests/unit/test_crc32c.c - the checksum of blocks, by instruction and by table. */
#include "unit.h"

#include "base/crc32c.h"

/* One bit at a time, as the definition has it. */
static uint32_t by_definition(const unsigned char *p, size_t size)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void known_vectors_come_out(void **state)
{
    unsigned char bytes[32];

    (void)state;
    assert_int_equal(as_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(as_crc32c_portable(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(as_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(as_crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(as_crc32c(0, bytes, 32), 0x62a8ab43u);
    for (unsigned i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(as_crc32c(0, bytes, 32), 0x46dd794eu);
}

static void both_forms_agree_at_every_length_and_alignment(void **state)
{
    unsigned char bytes[300];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 167 + (i >> 3));
    for (size_t from = 0; from < 9; from++) {
        for (size_t size = 0; size + from <= sizeof bytes; size++) {
            uint32_t expected = by_definition(bytes + from, size);

            assert_int_equal(as_crc32c(0, bytes + from, size), expected);
            assert_int_equal(as_crc32c_portable(0, bytes + from, size), expected);
        }
    }
}

static void parts_give_the_checksum_of_the_whole(void **state)
{
    const char text[] = "one checksum made of several pieces";
    size_t size = sizeof text - 1;

    (void)state;
    for (size_t cut = 0; cut <= size; cut++) {
        uint32_t first = as_crc32c(0, text, cut);

        assert_int_equal(as_crc32c(first, text + cut, size - cut), as_crc32c(0, text, size));
        assert_int_equal(as_crc32c_portable(first, text + cut, size - cut),
                         as_crc32c(0, text, size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors_come_out),
        cmocka_unit_test(both_forms_agree_at_every_length_and_alignment),
        cmocka_unit_test(parts_give_the_checksum_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
