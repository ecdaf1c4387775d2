/* tests/unit/test_arena.c - memory given back all at once. */
#include "unit.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "base/arena.h"

static void everything_is_aligned_and_apart(void **state)
{
    struct as_arena arena = {0};
    unsigned char *last = NULL;
    size_t last_size = 0;

    (void)state;
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *p = as_arena_alloc(&arena, size);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        memset(p, (int)(size & 255), size);
        if (last_size)
            assert_int_equal(last[last_size - 1], last_size & 255);
        last = p;
        last_size = size;
    }
    assert_true(arena.used_bytes > 0);
    as_arena_fini(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(as_arena_alloc(&arena, 1)); /* usable again */
    as_arena_fini(&arena);
    as_arena_fini(&arena);
}

static void more_than_a_block_is_given_whole(void **state)
{
    struct as_arena arena = {0};
    unsigned char *big = as_arena_alloc(&arena, 1000000);

    (void)state;
    assert_non_null(big);
    memset(big, 1, 1000000);
    as_arena_fini(&arena);
}

static void zeroed_memory_is_zero_and_its_product_checked(void **state)
{
    struct as_arena arena = {0};
    unsigned char *p = as_arena_zero(&arena, 100, 3);

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
    assert_null(as_arena_zero(&arena, SIZE_MAX / 2, 3));
    assert_null(as_arena_alloc(&arena, SIZE_MAX));
    assert_null(as_arena_text(&arena, "", SIZE_MAX));
    as_arena_fini(&arena);
}

static void text_is_copied_and_ended(void **state)
{
    struct as_arena arena = {0};
    char *text = as_arena_text(&arena, "layer1.conv", 6);

    (void)state;
    assert_non_null(text);
    assert_string_equal(text, "layer1");
    as_arena_fini(&arena);
}

static void the_limit_holds(void **state)
{
    struct as_arena arena = {.max_bytes = 64};

    (void)state;
    assert_non_null(as_arena_alloc(&arena, 48));
    assert_null(as_arena_alloc(&arena, 32));
    assert_non_null(as_arena_alloc(&arena, 16));
    assert_null(as_arena_alloc(&arena, 1));
    as_arena_fini(&arena);
    assert_non_null(as_arena_alloc(&arena, 64));
    as_arena_fini(&arena);
}

static void without_memory_it_gives_null(void **state)
{
    struct as_arena arena = {0};
    void *p;

    (void)state;
    as_alloc_fail_at(1, 1);
    p = as_arena_alloc(&arena, 16);
    if (as_alloc_count())
        assert_null(p);
    as_alloc_fail_at(0, 0);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_aligned_and_apart),
        cmocka_unit_test(more_than_a_block_is_given_whole),
        cmocka_unit_test(zeroed_memory_is_zero_and_its_product_checked),
        cmocka_unit_test(text_is_copied_and_ended),
        cmocka_unit_test(the_limit_holds),
        cmocka_unit_test(without_memory_it_gives_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
