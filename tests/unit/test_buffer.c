/* tests/unit/test_buffer.c - bytes that grow up to a maximum. */
#include "unit.h"

#include "base/alloc.h"
#include "base/buffer.h"

static void bytes_grow_and_stay(void **state)
{
    struct as_buffer b = {0};

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        unsigned char byte = (unsigned char)(i * 31);

        assert_true(as_buffer_add(&b, &byte, 1));
    }
    assert_int_equal(b.size, 100000);
    for (unsigned i = 0; i < 100000; i++)
        assert_int_equal(b.data[i], (unsigned char)(i * 31));
    assert_false(b.failed);
    as_buffer_fini(&b);
    assert_null(b.data);
    as_buffer_fini(&b);
}

static void adding_nothing_needs_nothing(void **state)
{
    struct as_buffer b = {.max_bytes = 1};

    (void)state;
    assert_true(as_buffer_add(&b, NULL, 0));
    assert_null(b.data);
    as_buffer_fini(&b);
}

static void the_maximum_holds_and_is_remembered(void **state)
{
    struct as_buffer b = {.max_bytes = 10};

    (void)state;
    assert_true(as_buffer_add(&b, "12345678", 8));
    assert_false(as_buffer_add(&b, "abc", 3));
    assert_true(b.failed);
    assert_int_equal(b.size, 8);
    assert_memory_equal(b.data, "12345678", 8);
    assert_true(as_buffer_add(&b, "ab", 2));
    assert_null(as_buffer_reserve(&b, 1));
    assert_null(as_buffer_reserve(&b, SIZE_MAX));
    as_buffer_fini(&b);
    assert_int_equal(b.max_bytes, 10);
    assert_false(b.failed);
}

static void reserved_room_can_be_written(void **state)
{
    struct as_buffer b = {0};
    uint8_t *to = as_buffer_reserve(&b, 5000);

    (void)state;
    assert_non_null(to);
    memset(to, 'x', 5000);
    assert_int_equal(b.size, 0);
    b.size = 5000;
    assert_true(as_buffer_add(&b, "y", 1));
    assert_int_equal(b.data[4999], 'x');
    as_buffer_fini(&b);
}

static void without_memory_it_stays_as_it_was(void **state)
{
    struct as_buffer b = {0};

    (void)state;
    assert_true(as_buffer_add(&b, "keep", 4));
    as_alloc_fail_at(1, 1);
    if (!as_buffer_reserve(&b, 100000)) {
        assert_true(b.failed);
        assert_int_equal(b.size, 4);
        assert_memory_equal(b.data, "keep", 4);
    }
    as_alloc_fail_at(0, 0);
    as_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_grow_and_stay),
        cmocka_unit_test(adding_nothing_needs_nothing),
        cmocka_unit_test(the_maximum_holds_and_is_remembered),
        cmocka_unit_test(reserved_room_can_be_written),
        cmocka_unit_test(without_memory_it_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
