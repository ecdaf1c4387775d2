/* tests/unit/test_name_fit.c - names of layers in few columns: what is abbreviated, and that names
 * which differ are not shown alike. */
#include "base/text/name_fit.h"

#include "unit.h"

static void fits(const char *name, size_t width, const char *expected)
{
    struct as_arena arena = {0};

    assert_string_equal(as_name_fit(&arena, name, width, "..."), expected);
    as_arena_fini(&arena);
}

static void every_word_of_a_leading_segment_leaves_its_initial(void **state)
{
    (void)state;
    fits("encoder/layer_0/self_attention/Softmax", 40, "encoder/layer_0/self_attention/Softmax");
    fits("encoder/layer_0/self_attention/Softmax", 24, "e/l0/sa/Softmax");
    fits("features.12.conv.0.weight", 20, "f.12.conv.0.weight");
    fits("If_0_then_branch__Inline_0__/stft/Conv", 24, "I0tbI0/stft/Conv");
    fits("If_0_else_branch__Inline_0__/stft/Conv", 24, "I0ebI0/stft/Conv");
}

static void initials_of_all_words_give_way_to_the_first_one(void **state)
{
    (void)state;
    fits("a_b_c_d_e_f/x", 8, "abcdef/x");
    fits("a_b_c_d_e_f/x", 7, "a/x");
}

static void blanks_before_a_name_stay(void **state)
{
    (void)state;
    fits("    branch_one/Conv", 12, "    bo/Conv");
}

static void the_middle_goes_when_nothing_else_can(void **state)
{
    (void)state;
    fits("a_very_long_single_name", 12, "a_ver...name");
}

static void names_that_differ_are_given_the_width_for_it(void **state)
{
    static const char *const names[] = {"If_0_then_branch/encoder/Conv",
                                        "If_0_else_branch/encoder/Conv"};
    size_t width = as_name_least_width(names, 2, 4, 29, "...");
    struct as_arena arena = {0};

    (void)state;
    assert_true(width < 20);
    assert_string_not_equal(as_name_fit(&arena, names[0], width, "..."),
                            as_name_fit(&arena, names[1], width, "..."));
    as_arena_fini(&arena);
}

static void of_a_list_of_names_the_last_is_brief(void **state)
{
    static const char *const names[] = {"m/act/Relu;m/c1/BiasAdd;m/c1/Conv2D", "m/flatten/Reshape",
                                        "m/act_1/Relu;m/c2/Conv2D", "ends;in;", "ends;in;"};
    const char *brief[5];

    (void)state;
    assert_int_equal(as_names_brief(names, 5, brief), 0);
    assert_string_equal(brief[0], "m/c1/Conv2D");
    assert_string_equal(brief[1], "m/flatten/Reshape");
    assert_string_equal(brief[2], "m/c2/Conv2D");
    assert_string_equal(brief[3], "ends;in;");
    assert_string_equal(brief[4], "ends;in;");
}

static void names_with_the_same_last_name_stay_whole(void **state)
{
    static const char *const names[] = {"a;c", "b;c", "d;e", "e", "f;c", "x;y", "x;y"};
    const char *brief[7];

    (void)state;
    assert_int_equal(as_names_brief(names, 7, brief), 0);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(brief[i], names[i]);
    assert_string_equal(brief[5], "y"); /* the same layer twice */
    assert_string_equal(brief[6], "y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_of_a_leading_segment_leaves_its_initial),
        cmocka_unit_test(initials_of_all_words_give_way_to_the_first_one),
        cmocka_unit_test(blanks_before_a_name_stay),
        cmocka_unit_test(the_middle_goes_when_nothing_else_can),
        cmocka_unit_test(names_that_differ_are_given_the_width_for_it),
        cmocka_unit_test(of_a_list_of_names_the_last_is_brief),
        cmocka_unit_test(names_with_the_same_last_name_stay_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
