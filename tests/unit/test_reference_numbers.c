/* Numbers that textbooks and courses print, recomputed: sizes of models in memory, of their states
 * in training, least times. Counts of single layers are in test_model_api.c. */
#include <assay/model.h>

#include "analyze/model/inspect.h"
#include "unit.h"

static struct assay_model *new_model(void)
{
    struct assay_model *model;

    (void)assay_model_new(&model, NULL, NULL);
    return model;
}

static struct assay_model_counts dense(int64_t in, int64_t out, int64_t batch, bool bias)
{
    struct assay_model *model = new_model();
    const int64_t dims[] = {batch, in};
    struct assay_model_counts counts;
    struct assay_error err;
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 2, dims);

    assay_model_output(model, assay_model_linear(model, "fc", x, out, bias), "y");
    assert_int_equal(assay_model_count(model, &counts, &err), ASSAY_OK);
    assay_model_free(model);
    return counts;
}

static void layers_take_as_many_bytes_as_their_parameters(void **state)
{
    (void)state;
    assert_int_equal(dense(768, 3072, 1, true).parameter_bytes, 9449472);
    assert_int_equal(dense(1024, 512, 1, true).parameter_bytes, 2099200);
    assert_int_equal(dense(1024, 1024, 1, false).parameter_bytes, 4 * 1024 * 1024);
}

static void twelve_blocks_of_two_layers_add_up(void **state)
{
    struct assay_model *model = new_model();
    const int64_t dims[] = {1, 768};
    struct assay_model_counts counts;
    struct assay_error err;
    int x = assay_model_input(model, "x", ASSAY_DTYPE_F32, 2, dims);

    (void)state;
    for (int i = 0; i < 12; i++) {
        x = assay_model_linear(model, "up", x, 3072, true);
        x = assay_model_linear(model, "down", x, 768, true);
    }
    assay_model_output(model, x, "y");
    assert_int_equal(assay_model_count(model, &counts, &err), ASSAY_OK);
    assert_int_equal(counts.parameters, 12 * 4722432);
    assert_int_equal(counts.parameters, 56669184);
    assert_int_equal(counts.parameter_bytes, 226676736);
    assay_model_free(model);
}

static void a_batch_of_a_dense_layer_is_product_and_bias(void **state)
{
    struct assay_model_counts counts = dense(768, 3072, 32, true);

    (void)state;
    assert_int_equal(2 * counts.macs, 150994944);
    assert_int_equal(counts.elementwise, 98304);
    assert_int_equal(counts.flops, 151093248);
}

static void large_models_have_the_sizes_that_are_published(void **state)
{
    static const struct {
        uint64_t parameters, bytes;
    } cases[] = {
        {125000000, 500000000},  {175000000000, 700000000000}, {124000000, 496000000},
        {350000000, 1400000000}, {774000000, 3096000000},      {1500000000, 6000000000},
    };
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        assert_true(as_dtype_bytes(AS_DTYPE_F32, cases[i].parameters, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
    assert_int_equal((uint64_t)700000000000 >> 30, 651); /* 652 GiB, rounded */
}

/* Linear(512, 512), 64 samples, at 50 GFLOP/s. */
static void the_least_time_is_work_over_rate(void **state)
{
    struct assay_model_counts counts = dense(512, 512, 64, false);

    (void)state;
    assert_int_equal(counts.flops, 33554432);
    assert_true((double)counts.flops / 50e9 * 1e3 > 0.6710 &&
                (double)counts.flops / 50e9 * 1e3 < 0.6712);
    assert_int_equal(counts.flops / 64, 524288);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_take_as_many_bytes_as_their_parameters),
        cmocka_unit_test(twelve_blocks_of_two_layers_add_up),
        cmocka_unit_test(a_batch_of_a_dense_layer_is_product_and_bias),
        cmocka_unit_test(large_models_have_the_sizes_that_are_published),
        cmocka_unit_test(the_least_time_is_work_over_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
