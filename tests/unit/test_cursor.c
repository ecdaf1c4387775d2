/* tests/unit/test_cursor.c - what is taken was there. */
#include "unit.h"

#include "base/cursor.h"

static void fixed_widths_are_little_endian(void **state)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
    struct as_cursor c = as_cursor_over(bytes, sizeof bytes);
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    (void)state;
    assert_true(as_take_u16le(&c, &u16));
    assert_int_equal(u16, 0x0201);
    assert_true(as_take_u32le(&c, &u32));
    assert_int_equal(u32, 0x06050403);
    assert_true(as_take_u64le(&c, &u64));
    assert_true(u64 == 0x0e0d0c0b0a090807u);
    assert_true(as_take_u8(&c, &u8));
    assert_int_equal(u8, 255);
    assert_false(as_take_u8(&c, &u8));
}

static void too_little_moves_nothing(void **state)
{
    const uint8_t bytes[7] = {0};
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    const uint8_t *p;

    (void)state;
    for (size_t size = 0; size < 8; size++) {
        struct as_cursor c = as_cursor_over(bytes, size);

        if (size < 2)
            assert_false(as_take_u16le(&c, &u16));
        if (size < 4)
            assert_false(as_take_u32le(&c, &u32));
        assert_false(as_take_u64le(&c, &u64));
        assert_false(as_take_bytes(&c, size + 1, &p));
        assert_false(as_take_bytes(&c, SIZE_MAX, &p));
        assert_int_equal(as_cursor_left(&c), size);
        assert_true(as_take_bytes(&c, size, &p));
        assert_ptr_equal(p, bytes);
        assert_int_equal(as_cursor_left(&c), 0);
    }
}

static bool varint(const char *bytes, size_t size, uint64_t *out, size_t *used)
{
    struct as_cursor c = as_cursor_over(bytes, size);
    bool good = as_take_varint(&c, out);

    *used = size - as_cursor_left(&c);
    return good;
}

static void varints_end_within_ten_bytes_and_64_bits(void **state)
{
    uint64_t v = 0;
    size_t used;

    (void)state;
    assert_true(varint("\x00", 1, &v, &used) && v == 0 && used == 1);
    assert_true(varint("\x7f", 1, &v, &used) && v == 127);
    assert_true(varint("\xac\x02", 2, &v, &used) && v == 300 && used == 2);
    assert_true(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &v, &used));
    assert_true(v == UINT64_MAX && used == 10);
    assert_true(varint("\x80\x00", 2, &v, &used) && v == 0); /* long-winded, and allowed */

    v = 5;
    assert_false(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &v, &used)); /* bit 64 */
    assert_false(varint("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, &v, &used));
    assert_false(varint("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, &v, &used));
    assert_false(varint("\x80", 1, &v, &used));
    assert_false(varint("", 0, &v, &used));
    assert_int_equal(used, 0);
    assert_int_equal(v, 5);
}

static void sums_and_products_are_checked(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(as_mul_u64(UINT32_MAX, UINT32_MAX, &v) && v == 18446744065119617025u);
    assert_false(as_mul_u64(UINT64_MAX, 2, &v));
    assert_true(as_add_u64(UINT64_MAX, 0, &v) && v == UINT64_MAX);
    assert_false(as_add_u64(UINT64_MAX, 1, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_widths_are_little_endian),
        cmocka_unit_test(too_little_moves_nothing),
        cmocka_unit_test(varints_end_within_ten_bytes_and_64_bits),
        cmocka_unit_test(sums_and_products_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
