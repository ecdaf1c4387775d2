/* tests/unit/test_grid.c - axes, their combinations, names and patterns. */
#include "unit.h"

#include "experiment/bench/grid.h"

static void expect_usage(struct as_grid *grid, const char *text, const char *words)
{
    struct assay_error err = {0};

    assert_int_equal(as_grid_add(grid, text, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, words));
}

static void the_last_axis_varies_fastest(void **state)
{
    struct as_grid grid = {0};
    char name[AS_GRID_NAME];
    size_t at = 0;

    (void)state;
    as_grid_name(&grid, 0, name);
    assert_string_equal(name, "all");
    assert_int_equal(as_grid_count(&grid), 1);
    assert_int_equal(as_grid_add(&grid, "threads=1,2", NULL), ASSAY_OK);
    assert_int_equal(as_grid_add(&grid, "mode=a,b,c", NULL), ASSAY_OK);
    assert_int_equal(as_grid_count(&grid), 6);
    as_grid_name(&grid, 4, name);
    assert_string_equal(name, "threads=2,mode=b");
    assert_int_equal(as_grid_find(&grid, "mode=c,threads=1", &at, NULL), ASSAY_OK);
    assert_int_equal(at, 2);
    assert_int_equal(as_grid_find(&grid, "mode=c", &at, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(as_grid_find(&grid, "mode=d,threads=1", &at, NULL), ASSAY_ERR_USAGE);
    assert_int_equal(as_grid_find(&grid, "mode", &at, NULL), ASSAY_ERR_USAGE);
    as_grid_fini(&grid);
}

static void what_is_no_axis_is_refused(void **state)
{
    struct as_grid grid = {0};

    (void)state;
    expect_usage(&grid, "threads", "threads=1,2,4");
    expect_usage(&grid, "=1,2", "threads=1,2,4");
    expect_usage(&grid, "1x=1", "threads=1,2,4");
    expect_usage(&grid, "x=", "empty value");
    expect_usage(&grid, "x=1,,2", "empty value");
    expect_usage(&grid, "x=1,2,1", "twice");
    assert_int_equal(as_grid_add(&grid, "x=1,2", NULL), ASSAY_OK);
    expect_usage(&grid, "x=3", "twice");
    assert_int_equal(as_grid_add(&grid, "y=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", NULL),
                     ASSAY_OK);
    expect_usage(&grid, "z=1,2,3,4,5,6,7,8,9", "at most 256 settings");
    assert_int_equal(as_grid_count(&grid), 32);
    as_grid_fini(&grid);
}

static void patterns_are_filled_in(void **state)
{
    struct as_grid grid = {0};
    struct assay_error err = {0};
    const char *text = NULL;

    (void)state;
    assert_int_equal(as_grid_add(&grid, "n=7,8", NULL), ASSAY_OK);
    assert_int_equal(as_grid_fill(&grid, 1, "--n={n} {n}{n} {{n} {print $1}", &text, NULL),
                     ASSAY_OK);
    assert_string_equal(text, "--n=8 88 {n} {print $1}");
    assert_int_equal(as_grid_fill(&grid, 0, "", &text, NULL), ASSAY_OK);
    assert_string_equal(text, "");
    assert_int_equal(as_grid_fill(&grid, 0, "{m}", &text, &err), ASSAY_ERR_USAGE);
    assert_non_null(strstr(err.msg, "{m} is not an axis"));
    assert_int_equal(as_grid_fill(&grid, 0, "a{", &text, NULL), ASSAY_OK);
    assert_string_equal(text, "a{");
    assert_true(as_grid_uses("x{n}", "n"));
    assert_false(as_grid_uses("x{{n}", "n"));
    assert_false(as_grid_uses("x{nn}", "n"));
    as_grid_fini(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_axis_varies_fastest),
        cmocka_unit_test(what_is_no_axis_is_refused),
        cmocka_unit_test(patterns_are_filled_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
