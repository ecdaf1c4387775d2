/* tests/unit/test_alloc.c - the door to the heap, and making it fail. */
#include "unit.h"

#include "base/alloc.h"
#include "base/vec.h"

static void nothing_asked_is_still_a_block(void **state)
{
    void *a = as_alloc(0), *b = as_alloc_zero(0, 8), *c = as_realloc(NULL, 0, 8);

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    as_free(a);
    as_free(b);
    as_free(c);
    as_free(NULL);
}

static void products_are_checked(void **state)
{
    volatile size_t huge = SIZE_MAX / 2; /* volatile, or the compiler warns of the very thing */
    char *old = as_alloc(4);

    (void)state;
    assert_non_null(old);
    memcpy(old, "abc", 4);
    assert_null(as_alloc_zero(huge, 3));
    assert_null(as_realloc(old, huge, 3));
    assert_string_equal(old, "abc");
    as_free(old);
}

static void zeroed_and_grown_memory_keeps_its_bytes(void **state)
{
    unsigned char *p = as_alloc_zero(10, 10);
    unsigned char *grown;

    (void)state;
    assert_non_null(p);
    for (int i = 0; i < 100; i++)
        assert_int_equal(p[i], 0);
    p[99] = 7;
    grown = as_realloc(p, 1000, 10);
    assert_non_null(grown);
    assert_int_equal(grown[99], 7);
    as_free(grown);
}

static void an_array_grows_by_doubling(void **state)
{
    size_t capacity = 0, full = 2, most = SIZE_MAX / 2 + 1;
    int *array = NULL, *kept;

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(AS_VEC_RESERVE(array, (size_t)i, capacity));
        array[i] = i;
        assert_true(capacity > (size_t)i && capacity % 16 == 0);
    }
    assert_int_equal(capacity, 128); /* 16, 32, 64, 128 */
    for (int i = 0; i < 100; i++)
        assert_int_equal(array[i], i);
    kept = array;
    assert_false(as_vec_reserve(&array, 2, &full, SIZE_MAX / 2));
    assert_false(as_vec_reserve(&array, most, &most, 1)); /* twice as many cannot be counted */
    assert_true(array == kept && full == 2);
    as_free(array);
}

static void a_copy_is_owned(void **state)
{
    char *copy = as_strdup("conv1");

    (void)state;
    assert_non_null(copy);
    assert_string_equal(copy, "conv1");
    as_free(copy);
}

static void the_nth_allocation_fails(void **state)
{
    void *block[4];

    (void)state;
    as_alloc_fail_at(2, 0);
    for (int i = 0; i < 4; i++)
        block[i] = as_alloc(8);
    if (as_alloc_count() == 0) {
        for (int i = 0; i < 4; i++)
            as_free(block[i]);
        skip(); /* a build without faults */
    }
    assert_int_equal(as_alloc_count(), 4);
    assert_non_null(block[0]);
    assert_null(block[1]);
    assert_non_null(block[2]);
    for (int i = 0; i < 4; i++)
        as_free(block[i]);

    as_alloc_fail_at(2, 1);
    block[0] = as_strdup("a");
    assert_non_null(block[0]);
    assert_null(as_strdup("b"));
    assert_null(as_alloc_zero(1, 1));
    assert_null(as_realloc(NULL, 1, 1));
    as_alloc_fail_at(0, 0);
    as_free(block[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_is_still_a_block),
        cmocka_unit_test(products_are_checked),
        cmocka_unit_test(zeroed_and_grown_memory_keeps_its_bytes),
        cmocka_unit_test(an_array_grows_by_doubling),
        cmocka_unit_test(a_copy_is_owned),
        cmocka_unit_test(the_nth_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
