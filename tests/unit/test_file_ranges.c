/* tests/unit/test_file_ranges.c - pieces that overlap are found, also across empty ones. */
#include "unit.h"

#include "base/alloc.h"
#include "format/mapped_file.h"

static bool overlap(const uint64_t (*places)[2], size_t n, uint32_t *id, uint32_t *other)
{
    struct as_model *model;
    struct as_file_range *spans;
    bool found;
    size_t count;

    assert_int_equal(as_model_new(&model, 0, NULL), ASSAY_OK);
    assert_non_null(as_graph_new(model, NULL, "", NULL));
    for (size_t i = 0; i < n; i++) {
        uint32_t value = as_model_add_value(model, model->main, "t", 1, NULL);

        model->values[value].data = as_data_over(&model->arena, AS_DTYPE_U8, places[i][1], NULL);
        model->values[value].data->offset = places[i][0];
    }
    spans = as_file_ranges_new(model, 0, &count);
    assert_non_null(spans);
    assert_int_equal(count, n);
    found = as_file_ranges_overlap(spans, count, id, other);
    as_free(spans);
    as_model_free(model);
    return found;
}

static void neighbors_do_not_overlap(void **state)
{
    static const uint64_t places[][2] = {{8, 8}, {0, 8}, {16, 0}, {16, 4}, {4, 0}};
    uint32_t id, other;

    (void)state;
    assert_false(overlap(places, UNIT_COUNT(places), &id, &other));
    assert_false(overlap(places, 0, &id, &other));
}

static void an_empty_one_hides_nothing(void **state)
{
    static const uint64_t places[][2] = {{40, 8}, {0, 64}, {32, 0}};
    uint32_t id = 9, other = 9;

    (void)state;
    assert_true(overlap(places, UNIT_COUNT(places), &id, &other));
    assert_int_equal(id, 0);
    assert_int_equal(other, 1);
}

static void the_same_place_twice_overlaps(void **state)
{
    static const uint64_t places[][2] = {{0, 4}, {UINT64_MAX - 4, 4}, {UINT64_MAX - 4, 4}};
    uint32_t id, other;

    (void)state;
    assert_true(overlap(places, UNIT_COUNT(places), &id, &other));
    assert_int_equal(id + other, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbors_do_not_overlap),
        cmocka_unit_test(an_empty_one_hides_nothing),
        cmocka_unit_test(the_same_place_twice_overlaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
