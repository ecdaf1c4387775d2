/* tests/unit/test_name_index.c - names are found, and the first one given twice is told. */
#include "unit.h"

#include "base/name_index.h"

static void names_are_found_after_sorting(void **state)
{
    static const char *const names[] = {"b", "", "abc", "ab", "a"};
    struct as_name_index index = {0};

    (void)state;
    for (uint32_t i = 0; i < UNIT_COUNT(names); i++)
        assert_true(as_name_index_add(&index, names[i], strlen(names[i]), i));
    as_name_index_sort(&index);
    for (uint32_t i = 0; i < UNIT_COUNT(names); i++)
        assert_int_equal(as_name_index_find(&index, names[i], strlen(names[i]))->id, i);
    assert_null(as_name_index_find(&index, "abcd", 4));
    assert_null(as_name_index_find(&index, "c", 1));
    assert_null(as_name_index_twice(&index));
    as_name_index_fini(&index);
    assert_null(as_name_index_find(&index, "a", 1));
}

static void the_first_repeated_name_is_told(void **state)
{
    static const char *const names[] = {"z", "a", "z", "a", "a"};
    struct as_name_index index = {0};

    (void)state;
    for (uint32_t i = 0; i < UNIT_COUNT(names); i++)
        assert_true(as_name_index_add(&index, names[i], 1, i));
    as_name_index_sort(&index);
    assert_int_equal(as_name_index_twice(&index)->id, 2);
    as_name_index_fini(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_after_sorting),
        cmocka_unit_test(the_first_repeated_name_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
