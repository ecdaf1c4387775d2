/* tests/unit/test_json_tree.c - JSON read as a tree, asked, and written again. */
#include "unit.h"

#include <math.h>

#include "base/json/json_tree.h"

static const struct as_json_value *read_text(struct as_arena *arena, const char *text)
{
    const struct as_json_value *v;
    struct assay_error err;

    if (as_json_tree_read(&v, arena, text, strlen(text), 1000, &err) < 0)
        fail_msg("%s", err.msg);
    return v;
}

static void values_are_found(void **state)
{
    struct as_arena arena = {0};
    const struct as_json_value *v = read_text(
        &arena, "{\"a\":{\"b\":[1,2.5,-3]},\"t\":true,\"f\":false,\"n\":null,\"s\":\"x\\u0000y\"}");
    uint64_t whole;

    (void)state;
    assert_int_equal(v->n, 5);
    assert_int_equal(as_json_path(v, "a", "b")->n, 3);
    assert_true(as_json_number(as_json_path(v, "a", "b")->first->next) == 2.5);
    assert_true(isnan(as_json_number(as_json_get(v, "t"))));
    assert_true(isnan(as_json_number(as_json_get(v, "nothing"))));
    assert_true(as_json_is_true(as_json_get(v, "t")));
    assert_false(as_json_is_true(as_json_get(v, "f")));
    assert_int_equal(as_json_get(v, "s")->text_size, 3);
    assert_true(as_json_whole(as_json_path(v, "a", "b")->first, &whole));
    assert_int_equal(whole, 1);
    assert_false(as_json_whole(as_json_path(v, "a", "b")->first->next, &whole));
    assert_null(as_json_get(as_json_path(v, "a", "b"), "c"));
    assert_null(as_json_get(NULL, "a"));
    assert_null(as_json_words(as_json_get(v, "n")));
    as_arena_fini(&arena);
}

static void what_was_read_is_written_again(void **state)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "[[],{},[[]]]",
        "12.50",
        "null",
        "\"a\\\"b\"",
        "{\"a\":[1e400000000000,{\"b\":{}}],\"c\":{\"d\":[true,false]},\"e\":0.1}",
        "[{\"a\":{\"b\":{\"c\":[1]}}},2]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct as_json_value *v;
        struct as_arena arena = {0};
        struct assay_error err;
        struct as_json_writer w;
        struct as_out out;

        if (as_json_tree_read(&v, &arena, texts[i], strlen(texts[i]), 1000, &err) < 0) {
            as_arena_fini(&arena);
            continue; /* past the largest double */
        }
        assert_int_equal(as_out_memory(&out, &err), ASSAY_OK);
        as_json_writer_init(&w, &out, 0);
        as_json_tree_write(&w, v);
        assert_int_equal(as_json_writer_finish(&w, &err), ASSAY_OK);
        assert_string_equal(as_out_get(&out, NULL), texts[i]);
        as_out_drop(&out);
        as_arena_fini(&arena);
    }
}

static void broken_and_huge_documents_are_refused(void **state)
{
    struct as_arena arena = {0};
    const struct as_json_value *v;
    struct assay_error err;

    (void)state;
    assert_int_equal(as_json_tree_read(&v, &arena, "[1,2", 4, 1000, &err), ASSAY_ERR_FORMAT);
    assert_null(v);
    assert_int_equal(as_json_tree_read(&v, &arena, "", 0, 1000, &err), ASSAY_ERR_FORMAT);
    assert_int_equal(as_json_tree_read(&v, &arena, "[1,2,3]", 7, 3, &err), ASSAY_ERR_LIMIT);
    as_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found),
        cmocka_unit_test(what_was_read_is_written_again),
        cmocka_unit_test(broken_and_huge_documents_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
